// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "collectives/cost_model.hpp"
#include "collectives/schedule.hpp"
#include "sim/connections.hpp"
#include "sim/fingerprint.hpp"
#include "sim/participants.hpp"
#include "sim/recorder.hpp"

namespace collsim {

// Internal to sim/: what all engines share, how one lane executes its program.
//
// Engine (the deriving class) decides the rest:
//
//   Connection& connection(lane, peer, direction)
//       which queue that is; opens it the first time
//   bool may_post(lane, connection, ready)
//       now; if not, the engine calls run(lane) again when it may
//   void post(connection, message, ready)
//       puts a message on its way; sets the time of its slot to its arrival, or to never() until
//       that is known
//   void wake(lane)
//       this lane may be able to go on
//   bool stopped()
//       give up: the engine does not apply
//   void left_behind(connection)
//       a lane has turned to another connection
enum class Direction : std::uint8_t { out, in };

template <class Engine, class Recorder>
class LaneMachine {
 public:
  struct LaneState {
    Program program;
    const Instruction* instruction =
        nullptr;  // the one to execute next; null before the start and after the end
    Time clock{};
    Time left{};  // when the last message over a forgotten connection left
    std::uint64_t hash = 0;
    Connection* out = nullptr;  // the last ones used, and with whom
    Connection* in = nullptr;
    Endpoint out_to{};
    Endpoint in_from{};
    std::uint32_t position = 0;
    Lane lane{};
    bool started = false;
    bool finished = false;
  };

  LaneMachine(const Schedule& schedule, const CostModel& costs, std::size_t positions,
              Recorder& recorder)
      : schedule_(schedule),
        costs_(costs),
        recorder_(recorder),
        element_size_(size_of(schedule.collective().type)),
        free_instructions_(costs.instructions_are_free()),
        most_elements_(std::numeric_limits<std::int64_t>::max() / element_size_),
        lanes_per_rank_(static_cast<std::size_t>(schedule.lanes())) {
    constexpr std::size_t most_lanes = std::size_t{1} << 28U;
    if (positions > most_lanes / lanes_per_rank_)
      throw_error(ErrorCode::too_large, std::to_string(positions) + " ranks with " +
                                            std::to_string(lanes_per_rank_) +
                                            " lanes each are more than 268,435,456 lanes");
    lanes_.resize(positions * lanes_per_rank_);
    for (std::size_t number = 0; number < lanes_.size(); ++number) {
      lanes_[number].position = static_cast<std::uint32_t>(number / lanes_per_rank_);
      lanes_[number].lane = Lane(number % lanes_per_rank_);
      lanes_[number].clock = costs.launch;
    }
  }

  void start_late(std::size_t seat, Time late) {
    for (std::size_t lane = 0; lane < lanes_per_rank_; ++lane)
      lanes_[seat * lanes_per_rank_ + lane].clock = costs_.launch + late;
  }

  [[nodiscard]] Endpoint endpoint_of(const LaneState& lane) const {
    return {schedule_.rank(static_cast<int>(lane.position)), lane.lane};
  }
  // Executes instructions of one lane until it ends or has to wait for something.
  void run(LaneNumber number);

 protected:
  [[nodiscard]] Engine& engine() { return static_cast<Engine&>(*this); }

  // True when the instruction was executed, false when the lane has to wait.
  bool execute(LaneNumber number, LaneState& lane, const Instruction& instruction);
  [[nodiscard]] Time work(const Instruction& instruction) const;
  [[nodiscard]] Connection* outgoing(LaneState& lane, const Instruction& instruction);
  [[nodiscard]] Connection* incoming(LaneState& lane, const Instruction& instruction);
  [[nodiscard]] bool message_is_there(const LaneState& lane, Connection& in,
                                      const Instruction& instruction, Time& arrived) const;
  void check_unusual(const LaneState& lane, const Instruction& instruction) const;
  [[nodiscard]] bool slot_is_free(Connection& out, Time& freed) const;
  // Messages have the schedule's slots; signals need none.
  void limit(Connection& connection) {
    if (schedule_.slots())
      connections_.set_limit(connection, static_cast<std::uint64_t>(*schedule_.slots()));
  }
  void give(Connection& out, const Instruction& instruction, Time ready);
  void forget(Connection& connection, std::uint64_t key);
  // never() stands for "not yet known" and cannot be a time of its own.
  [[nodiscard]] static Time arrival(Time left, Time latency) {
    const Time arrived = left + latency;
    if (arrived == Time::never()) [[unlikely]]
      throw_error(ErrorCode::overflow, "a message arrives later than 64 bits of picoseconds hold");
    return arrived;
  }
  [[nodiscard]] Bytes bytes_sent(std::int64_t ranks) const;

  const Schedule& schedule_;
  const CostModel& costs_;
  Recorder& recorder_;
  const Bytes element_size_;
  const bool free_instructions_;
  const std::int64_t most_elements_;  // whose bytes can be counted
  const std::size_t lanes_per_rank_;
  std::vector<LaneState> lanes_;
  ConnectionTable connections_;
  std::uint64_t instructions_ = 0;
  std::uint64_t forgotten_messages_ = 0;
  std::int64_t elements_sent_ = 0;
  std::size_t finished_lanes_ = 0;
};

template <class Engine, class Recorder>
Connection* LaneMachine<Engine, Recorder>::outgoing(LaneState& lane,
                                                    const Instruction& instruction) {
  if (lane.out == nullptr || lane.out_to != instruction.to) {
    Connection* const before = lane.out;
    lane.out = &engine().connection(lane, instruction.to, Direction::out);
    lane.out_to = instruction.to;
    lane.out->source_at_hand = true;
    if (before != nullptr && before != lane.out) {
      before->source_at_hand = false;
      engine().left_behind(*before);
    }
    if (engine().stopped()) return nullptr;
  }
  if (lane.out->within_rank != orders_lanes(instruction.op)) [[unlikely]]
    report_signal_misuse(endpoint_of(lane), instruction);
  return lane.out;
}

template <class Engine, class Recorder>
Connection* LaneMachine<Engine, Recorder>::incoming(LaneState& lane,
                                                    const Instruction& instruction) {
  if (lane.in == nullptr || lane.in_from != instruction.from) {
    Connection* const before = lane.in;
    lane.in = &engine().connection(lane, instruction.from, Direction::in);
    lane.in_from = instruction.from;
    lane.in->target_at_hand = true;
    if (before != nullptr && before != lane.in) {
      before->target_at_hand = false;
      engine().left_behind(*before);
    }
    if (engine().stopped()) return nullptr;
  }
  if (lane.in->within_rank != orders_lanes(instruction.op)) [[unlikely]]
    report_signal_misuse(endpoint_of(lane), instruction);
  return lane.in;
}

template <class Engine, class Recorder>
Time LaneMachine<Engine, Recorder>::work(const Instruction& instruction) const {
  if (orders_lanes(instruction.op)) return costs_.instruction_overhead;
  const auto& rate = reduces(instruction.op) ? costs_.reduce_bandwidth : costs_.copy_bandwidth;
  const Bytes bytes = instruction.count * element_size_;
  Time cost = costs_.instruction_overhead;
  if (rate) cost += transfer_time(bytes, *rate);
  if (costs_.second_write_bandwidth && stores(instruction.op) && sends(instruction.op))
    cost += transfer_time(bytes, *costs_.second_write_bandwidth);
  return cost;
}

template <class Engine, class Recorder>
void LaneMachine<Engine, Recorder>::run(LaneNumber number) {
  LaneState& lane = lanes_[number];
  if (lane.finished) return;
  if (!lane.started) {
    lane.started = true;
    lane.program = schedule_.program(static_cast<int>(lane.position), lane.lane);
    lane.instruction = lane.program.next();
  }
  const Instruction* instruction = lane.instruction;
  std::uint64_t executed = 0;
  while (instruction != nullptr && execute(number, lane, *instruction)) {
    ++executed;
    instruction = lane.program.next();
  }
  instructions_ += executed;
  lane.instruction = instruction;
  if (instruction != nullptr) return;
  lane.program = Program();  // not needed any more: a million ranks need not exist at once
  lane.finished = true;
  ++finished_lanes_;
}

// Whether the message to receive is there, and since when.
template <class Engine, class Recorder>
bool LaneMachine<Engine, Recorder>::message_is_there(const LaneState& lane, Connection& in,
                                                     const Instruction& instruction,
                                                     Time& arrived) const {
  const Slot& slot = in.slot(in.received);
  if (in.empty() || slot.time == Time::never()) {
    in.receiver_waits = true;
    return false;
  }
  if (slot.count != instruction.count && !in.within_rank) [[unlikely]]
    report_size_mismatch(endpoint_of(lane), instruction, slot.count);
  arrived = slot.time;
  return true;
}

// Whether there is a slot for the message to send, and since when.
template <class Engine, class Recorder>
bool LaneMachine<Engine, Recorder>::slot_is_free(Connection& out, Time& freed) const {
  if (out.sent < out.limit) return true;
  if (out.waiting() >= out.limit) {
    out.sender_waits = true;
    return false;
  }
  freed = out.slot(out.sent - out.limit).time;
  return true;
}

// Signals have no size, so theirs does not matter.
template <class Engine, class Recorder>
void LaneMachine<Engine, Recorder>::check_unusual(const LaneState& lane,
                                                  const Instruction& instruction) const {
  if (!exists(instruction.op)) report_bad_operation(endpoint_of(lane), instruction);
  if (!orders_lanes(instruction.op)) report_bad_count(endpoint_of(lane), instruction);
}

template <class Engine, class Recorder>
void LaneMachine<Engine, Recorder>::give(Connection& out, const Instruction& instruction,
                                         Time ready) {
  connections_.make_room(out);
  const std::uint64_t message = out.sent++;
  out.slot(message).count = instruction.count;
  if (!out.within_rank &&
      __builtin_add_overflow(elements_sent_, instruction.count, &elements_sent_)) [[unlikely]]
    throw_error(ErrorCode::overflow, "more elements are sent in all than 64 bits can count");
  engine().post(out, message, ready);
  if (out.receiver_waits && out.slot(message).time != Time::never()) {
    out.receiver_waits = false;
    engine().wake(out.target);
  }
}

// By as many ranks as each simulated one stands for.
template <class Engine, class Recorder>
Bytes LaneMachine<Engine, Recorder>::bytes_sent(std::int64_t ranks) const {
  Bytes sum = 0;
  if (__builtin_mul_overflow(elements_sent_, element_size_, &sum) ||
      __builtin_mul_overflow(sum, ranks, &sum))
    throw_error(ErrorCode::overflow, "more bytes are sent in all than 64 bits can count");
  return sum;
}

template <class Engine, class Recorder>
void LaneMachine<Engine, Recorder>::forget(Connection& connection, std::uint64_t key) {
  if (!connection.within_rank) forgotten_messages_ += connection.sent;
  Time& left = lanes_[connection.source].left;
  left = std::max(left, connection.left);
  connections_.close(key);
}

template <class Engine, class Recorder>
bool LaneMachine<Engine, Recorder>::execute(LaneNumber number, LaneState& lane,
                                            const Instruction& instruction) {
  const bool countable = instruction.count >= 0 && instruction.count <= most_elements_;
  if (!countable || !exists(instruction.op)) [[unlikely]]
    check_unusual(lane, instruction);
  const bool takes = takes_from_lane(instruction.op);
  const bool gives = gives_to_lane(instruction.op);
  Connection* in = nullptr;
  Connection* out = nullptr;
  Time arrived{};
  Time freed{};
  if (takes) {
    in = incoming(lane, instruction);
    if (in == nullptr || !message_is_there(lane, *in, instruction, arrived)) return false;
  }
  if (gives) {
    out = outgoing(lane, instruction);
    if (out == nullptr || !slot_is_free(*out, freed)) return false;
  }
  const Time began = std::max({lane.clock, arrived, freed});
  const Time ended = free_instructions_ ? began : began + work(instruction);
  if (gives && !engine().may_post(number, *out, ended)) return false;
  if constexpr (Recorder::enabled)
    recorder_.step(endpoint_of(lane), lane.position, instruction, {lane.clock, began, ended}, in,
                   out);
  if (gives) give(*out, instruction, ended);
  if (takes) {
    in->slot(in->received++).time = ended;
    if (in->sender_waits) {
      in->sender_waits = false;
      engine().wake(in->source);
    }
  }
  lane.clock = ended;
  lane.hash = Fingerprint::fold(lane.hash, ended, arrived);
  return true;
}

}  // namespace collsim
