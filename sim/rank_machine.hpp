// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "sim/lane_machine.hpp"
#include "sim/wiring.hpp"
#include "topo/routes.hpp"

namespace collsim {

// Internal to sim/: a LaneMachine in which every rank is simulated, joined by the topology's
// routes.
//
// Engine (the deriving class) adds to what LaneMachine asks:
//   void opened(connection)          a connection was opened; takes note of the links it will use
//   bool run_all()                   everything; false when the engine turns out not to apply
template <class Engine, class Recorder>
class RankMachine : public LaneMachine<Engine, Recorder> {
  using Base = LaneMachine<Engine, Recorder>;

 public:
  using LaneState = typename Base::LaneState;

  RankMachine(const Topology& topology, const Schedule& schedule, const CostModel& costs,
              const SimulationOptions& options, Recorder& recorder)
      : Base(schedule, costs, static_cast<std::size_t>(schedule.size()), recorder),
        topology_(topology),
        router_(topology),
        participants_(topology, schedule) {
    for (std::size_t number = 0; number < this->lanes_.size(); ++number)
      this->lanes_[number].position = participants_.position_at(number / this->lanes_per_rank_);
    for (const auto& [rank, late] : options.late) {
      const std::uint32_t seat = participants_.seat_of(rank);
      if (seat != Participants::absent) this->start_late(seat, late);
    }
  }

  [[nodiscard]] Connection& connection(const LaneState& lane, Endpoint peer, Direction direction) {
    const std::uint32_t seat = participants_.seat_of(peer.rank);
    if (seat == Participants::absent || peer.lane.index() >= this->lanes_per_rank_)
      report_bad_peer(this->schedule_, this->endpoint_of(lane), peer);
    const auto mine = static_cast<LaneNumber>(&lane - this->lanes_.data());
    const auto other = static_cast<LaneNumber>(seat * this->lanes_per_rank_ + peer.lane.index());
    if (mine == other) report_talks_to_itself(peer);
    const LaneNumber source = direction == Direction::out ? mine : other;
    const LaneNumber target = direction == Direction::out ? other : mine;
    const std::uint64_t key = key_of(source, target);
    if (Connection* const known = this->connections_.find(key)) return *known;
    return open(key, source, target);
  }

  // The result, once run_all has succeeded.
  [[nodiscard]] Simulation result(enum collsim::Engine engine);
  [[noreturn]] void report_stuck();

 protected:
  [[nodiscard]] static std::uint64_t key_of(LaneNumber source, LaneNumber target) {
    return (static_cast<std::uint64_t>(source) << 32U) | target;
  }

  const Topology& topology_;
  Router router_;
  Participants participants_;

 private:
  Connection& open(std::uint64_t key, LaneNumber source, LaneNumber target) {
    Connection& connection = this->connections_.open(key);
    connection.source = source;
    connection.target = target;
    const Rank from = this->endpoint_of(this->lanes_[source]).rank;
    const Rank to = this->endpoint_of(this->lanes_[target]).rank;
    connection.within_rank = from == to;
    if (from != to) {
      this->limit(connection);
      set_route(connection, topology_, router_.route(from, to, this->lanes_[source].lane),
                resources_);
      this->connections_.set_links(connection, resources_);
      this->engine().opened(connection);
    }
    return connection;
  }

  std::vector<LinkId> resources_;
};

template <class Engine, class Recorder>
Simulation RankMachine<Engine, Recorder>::result(enum collsim::Engine engine) {
  Simulation result;
  result.engine = engine;
  result.finished.resize(static_cast<std::size_t>(this->schedule_.size()));
  Fingerprint fingerprint;
  for (const LaneState& lane : this->lanes_) {
    Time& finished = result.finished[lane.position];
    finished = std::max({finished, lane.clock, lane.left});
    fingerprint.add_lane(this->endpoint_of(lane).rank.index(), lane.lane.index(), lane.hash);
  }
  result.messages = this->forgotten_messages_;
  for (std::size_t number = 0; number < this->connections_.size(); ++number) {
    const Connection& connection = this->connections_[number];
    if (!connection.empty())
      report_left_over(this->endpoint_of(this->lanes_[connection.source]),
                       this->endpoint_of(this->lanes_[connection.target]), connection.waiting());
    if (!connection.within_rank) result.messages += connection.sent;
    Time& finished = result.finished[this->lanes_[connection.source].position];
    finished = std::max(finished, connection.left);
  }
  for (const Time finished : result.finished) result.time = std::max(result.time, finished);
  result.instructions = this->instructions_;
  result.wire_bytes = this->bytes_sent(1);
  result.fingerprint = fingerprint.value();
  if constexpr (Recorder::enabled) this->recorder_.finish(result);
  return result;
}

template <class Engine, class Recorder>
void RankMachine<Engine, Recorder>::report_stuck() {
  std::vector<WaitingLane> waiting;
  for (const LaneState& lane : this->lanes_) {
    if (lane.finished) continue;
    const Instruction& instruction = *lane.instruction;
    WaitingLane stuck{this->endpoint_of(lane), instruction.from, WaitingLane::For::message,
                      instruction};
    const bool takes = takes_from_lane(instruction.op);
    if (!takes || !this->connection(lane, instruction.from, Direction::in).empty()) {
      stuck.reason = WaitingLane::For::slot;
      stuck.other = instruction.to;
    } else if (instruction.op == Op::wait) {
      stuck.reason = WaitingLane::For::signal;
    }
    waiting.push_back(stuck);
  }
  report_deadlock(waiting, this->schedule_.slots());
}

// Runs an engine with the recorder the options ask for.
template <template <class> class Machine>
std::optional<Simulation> run_machine(Engine engine, const Topology& topology,
                                      const Schedule& schedule, const CostModel& costs,
                                      const SimulationOptions& options) {
  if (options.recording == Recording::off) {
    NoRecorder recorder;
    Machine<NoRecorder> machine(topology, schedule, costs, options, recorder);
    if (!machine.run_all()) return std::nullopt;
    return machine.result(engine);
  }
  TimelineRecorder recorder(topology, schedule, options);
  Machine<TimelineRecorder> machine(topology, schedule, costs, options, recorder);
  if (!machine.run_all()) return std::nullopt;
  return machine.result(engine);
}

}  // namespace collsim
