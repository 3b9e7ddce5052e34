// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <vector>

#include "collectives/cost/cost_model.hpp"
#include "collectives/programs.hpp"
#include "sim/connections.hpp"
#include "sim/resting_messages.hpp"
#include "sim/simulate.hpp"

namespace collsim {

// Internal to sim/: the state of a simulation, whichever engine runs it.
struct LaneState {
  LaneProgram program;
  // The one to execute next; null before the start and after the end.
  const Instruction* instruction = nullptr;
  Time clock{};
  std::uint64_t hash = 0;  // see fingerprint.hpp
  Time left_at{};          // when the last message left over a connection that is not `out`

  // The connections used last, and their peers.
  Connection* in = nullptr;
  Connection* out = nullptr;
  Endpoint in_from{};
  Endpoint out_to{};

  // The last instruction that was decoded, and what it costs.
  Endpoint from{};
  Endpoint to{};
  std::int64_t count = -1;  // there is none
  Time work{};
  Op op{};

  enum class Progress : std::uint8_t { not_started, started, finished };
  Progress progress = Progress::not_started;
  Lane lane{};
  std::uint32_t position = 0;
  Rank rank{};
};

struct Lanes {
  // Lanes for this many ranks, in order of position; they start at `launch`.
  Lanes(const Programs& programs, const CostModel& costs, std::size_t ranks);

  void place(LaneState& lane, std::uint32_t position) const {
    lane.position = position;
    lane.rank = programs.rank(static_cast<int>(position));
  }
  [[nodiscard]] static Endpoint endpoint_of(const LaneState& lane) {
    return {lane.rank, lane.lane};
  }
  [[nodiscard]] Endpoint endpoint_of(LaneNumber lane) const { return endpoint_of(all[lane]); }
  void wake_all();
  [[nodiscard]] LaneNumber next_runnable() {
    const LaneNumber lane = runnable.back();
    runnable.pop_back();
    return lane;
  }
  [[nodiscard]] bool all_finished() const { return finished == all.size(); }
  [[nodiscard]] bool all_received() const;
  // Messages sent from now on have this many elements.
  void set_message_size(Connection& connection, std::int64_t count) {
    if (connection.queue.sent > 0) count_elements(connection, connection.message_size - count);
    connection.message_size = count;
  }
  // When the messages that a lane has sent so far left it, as far as that is known.
  [[nodiscard]] Time left_at(LaneNumber lane) const {
    const LaneState& state = all[lane];
    return state.out == nullptr ? state.left_at : std::max(state.left_at, state.out->left_at);
  }
  void note_left(const Connection& connection) {
    Time& left_at = all[connection.source].left_at;
    left_at = std::max(left_at, connection.left_at);
  }
  // Forgets an empty connection that no lane will use soon.
  void close(Connection& connection);
  // Closes a connection that has had one message, not yet received, which rests from now on.
  [[nodiscard]] RestingMessages::Number close_with_message(Connection& connection);
  // Takes back a message that rests into a new connection between its ends.
  void reopen(Connection& connection, const RestingMessages::Message& message);

  // The part of the result common to all engines: counts, with each simulated rank standing for
  // `ranks` ranks, and the time at which each has finished, by position.  Error{bad_schedule} when
  // messages were never received, unless lanes wait for ever.
  [[nodiscard]] Simulation result(Engine engine, std::uint64_t ranks);
  // Error{deadlock}, naming the lanes that wait for each other.
  [[noreturn]] void report_stuck() const;

  const Programs& programs;
  const CostModel& costs;
  const Bytes element_size;
  const std::size_t per_rank;
  std::vector<LaneState> all;
  std::vector<LaneNumber> runnable;  // may be able to go on
  ConnectionTable connections;
  RestingMessages resting;

  std::uint64_t instructions = 0;
  std::atomic<std::uint64_t>* executed = nullptr;  // SimulationOptions::executed
  std::uint64_t messages_of_closed = 0;
  std::size_t finished = 0;

 private:
  __extension__ using Elements = __int128;

  void count_elements(const Connection& connection, std::int64_t of_each);

  // All that was sent is this and, of every open connection, its messages times the size of the
  // latest: nearly all of one connection have one size.
  Elements elements_sent_ = 0;
};

inline void Lanes::close(Connection& connection) {
  count_elements(connection, connection.message_size);
  if (connection.path.kinds != Path::within_rank) messages_of_closed += connection.queue.sent;
  note_left(connection);
  connections.close(connection);
}

}  // namespace collsim
