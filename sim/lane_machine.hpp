// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "collectives/schedule.hpp"
#include "sim/connections.hpp"
#include "sim/cost_model.hpp"
#include "sim/fingerprint.hpp"
#include "sim/participants.hpp"
#include "sim/recorder.hpp"

namespace collsim {

// Internal to sim/: what all engines share, how one lane executes its program.
//
// Engine (the deriving class) decides the rest:
//   Connection& connection(lane, peer, direction)  which queue that is; opens it the first time
//   bool may_post(lane, connection, ready)         now; if not, call run(lane) again when it may
//   void post(connection, message, ready)          puts a message on its way and sets its slot's
//   arrival time void wake(lane)                                this lane may be able to go on bool
//   stopped()                                 give up (the engine does not apply)
enum class Direction : std::uint8_t { out, in };

template <class Engine, class Recorder>
class LaneMachine {
 public:
  struct LaneState {
    Program program;
    const Instruction* instruction =
        nullptr;  // the one to execute next; null before the start and after the end
    Time clock{};
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
        slots_(schedule.slots() ? static_cast<std::uint64_t>(*schedule.slots()) : 0),
        free_instructions_(costs.instructions_are_free()),
        lanes_per_rank_(static_cast<std::size_t>(schedule.lanes())),
        lanes_(positions * lanes_per_rank_) {
    for (std::size_t number = 0; number < lanes_.size(); ++number) {
      lanes_[number].position = static_cast<std::uint32_t>(number / lanes_per_rank_);
      lanes_[number].lane = Lane(number % lanes_per_rank_);
      lanes_[number].clock = costs.launch;
    }
  }

  void start_late(std::size_t position, Time late) {
    for (std::size_t lane = 0; lane < lanes_per_rank_; ++lane)
      lanes_[position * lanes_per_rank_ + lane].clock = costs_.launch + late;
  }

  [[nodiscard]] Endpoint endpoint_of(const LaneState& lane) const {
    return {schedule_.rank(static_cast<int>(lane.position)), lane.lane};
  }
  // Executes instructions of one lane until it ends or has to wait for something.
  void run(LaneNumber number);

  [[nodiscard]] std::vector<LaneState>& lanes() { return lanes_; }
  [[nodiscard]] ConnectionTable& connections() { return connections_; }
  [[nodiscard]] std::uint64_t instructions() const { return instructions_; }
  [[nodiscard]] std::uint64_t messages() const { return messages_; }
  [[nodiscard]] std::int64_t elements_sent() const { return elements_sent_; }
  [[nodiscard]] std::size_t finished_lanes() const { return finished_lanes_; }
  [[nodiscard]] const Schedule& schedule() const { return schedule_; }
  [[nodiscard]] Bytes element_size() const { return element_size_; }

 protected:
  [[nodiscard]] Engine& engine() { return static_cast<Engine&>(*this); }

  // True when the instruction was executed, false when the lane has to wait.
  bool execute(LaneNumber number, LaneState& lane, const Instruction& instruction);
  void advance(LaneState& lane);
  [[nodiscard]] Time work(const Instruction& instruction) const;
  [[nodiscard]] Connection& outgoing(LaneState& lane, const Instruction& instruction);
  [[nodiscard]] Connection& incoming(LaneState& lane, const Instruction& instruction);
  void record(const LaneState& lane, const Instruction& instruction, const Connection* in,
              const Connection* out, Time began, Time ended) {
    recorder_.step(endpoint_of(lane), lane.position, instruction, {lane.clock, began, ended}, in,
                   out);
  }

  const Schedule& schedule_;
  const CostModel& costs_;
  Recorder& recorder_;
  const Bytes element_size_;
  const std::uint64_t slots_;  // 0: unlimited
  const bool free_instructions_;
  const std::size_t lanes_per_rank_;
  std::vector<LaneState> lanes_;
  ConnectionTable connections_;
  std::uint64_t instructions_ = 0;
  std::uint64_t messages_ = 0;
  std::int64_t elements_sent_ = 0;
  std::size_t finished_lanes_ = 0;
};

template <class Engine, class Recorder>
Connection& LaneMachine<Engine, Recorder>::outgoing(LaneState& lane,
                                                    const Instruction& instruction) {
  if (lane.out == nullptr || lane.out_to != instruction.to) {
    lane.out = &engine().connection(lane, instruction.to, Direction::out);
    lane.out_to = instruction.to;
  }
  if (lane.out->within_rank != (instruction.op == Op::signal)) [[unlikely]]
    report_signal_misuse(endpoint_of(lane), instruction);
  return *lane.out;
}

template <class Engine, class Recorder>
Connection& LaneMachine<Engine, Recorder>::incoming(LaneState& lane,
                                                    const Instruction& instruction) {
  if (lane.in == nullptr || lane.in_from != instruction.from) {
    lane.in = &engine().connection(lane, instruction.from, Direction::in);
    lane.in_from = instruction.from;
  }
  if (lane.in->within_rank != (instruction.op == Op::wait)) [[unlikely]]
    report_signal_misuse(endpoint_of(lane), instruction);
  return *lane.in;
}

template <class Engine, class Recorder>
Time LaneMachine<Engine, Recorder>::work(const Instruction& instruction) const {
  if (instruction.op == Op::wait || instruction.op == Op::signal)
    return costs_.instruction_overhead;
  const auto& rate = reduces(instruction.op) ? costs_.reduce_bandwidth : costs_.copy_bandwidth;
  if (!rate) return costs_.instruction_overhead;
  return costs_.instruction_overhead + transfer_time(instruction.count * element_size_, *rate);
}

template <class Engine, class Recorder>
void LaneMachine<Engine, Recorder>::advance(LaneState& lane) {
  lane.instruction = lane.program.next();
  if (lane.instruction != nullptr) return;
  lane.program =
      Program();  // its coroutine is not needed any more: a million ranks need not exist at once
  lane.finished = true;
  ++finished_lanes_;
}

template <class Engine, class Recorder>
void LaneMachine<Engine, Recorder>::run(LaneNumber number) {
  LaneState& lane = lanes_[number];
  if (!lane.started) {
    lane.started = true;
    lane.program = schedule_.program(static_cast<int>(lane.position), lane.lane);
    advance(lane);
  }
  while (!lane.finished && !engine().stopped() && execute(number, lane, *lane.instruction))
    advance(lane);
}

template <class Engine, class Recorder>
bool LaneMachine<Engine, Recorder>::execute(LaneNumber number, LaneState& lane,
                                            const Instruction& instruction) {
  const bool takes = receives(instruction.op) || instruction.op == Op::wait;
  const bool gives = sends(instruction.op) || instruction.op == Op::signal;
  Time began = lane.clock;
  Time arrived{};
  Connection* in = nullptr;
  Connection* out = nullptr;
  if (takes) {
    in = &incoming(lane, instruction);
    if (in->empty() || in->slot(in->received).time == Time::never()) {
      in->receiver_waits = true;
      return false;
    }
    const Slot& slot = in->slot(in->received);
    if (slot.count != instruction.count) [[unlikely]]
      report_size_mismatch(endpoint_of(lane), instruction, slot.count);
    arrived = slot.time;
    if (arrived > began) began = arrived;
  }
  const bool limited = slots_ != 0 && instruction.op != Op::signal;
  if (gives) {
    out = &outgoing(lane, instruction);
    if (limited && out->sent >= slots_) {
      if (out->received + slots_ <= out->sent) {
        out->sender_waits = true;
        return false;
      }
      const Time freed = out->slot(out->sent - slots_).time;
      if (freed > began) began = freed;
    }
  }
  const Time ended = free_instructions_ ? began : began + work(instruction);
  if (gives) {
    if (!engine().may_post(number, *out, ended)) return false;
    connections_.make_room(*out,
                           !limited ? out->received : out->sent - std::min(out->sent, slots_ - 1));
    if constexpr (Recorder::enabled) record(lane, instruction, in, out, began, ended);
    const std::uint64_t message = out->sent++;
    out->slot(message).count = instruction.count;
    engine().post(*out, message, ended);
    if (instruction.op != Op::signal) {
      ++messages_;
      elements_sent_ += instruction.count;
    }
    if (out->receiver_waits && out->slot(message).time != Time::never()) {
      out->receiver_waits = false;
      engine().wake(out->target);
    }
  } else if constexpr (Recorder::enabled) {
    record(lane, instruction, in, out, began, ended);
  }
  if (takes) {
    in->slot(in->received++).time = ended;
    if (in->sender_waits) {
      in->sender_waits = false;
      engine().wake(in->source);
    }
  }
  lane.clock = ended;
  lane.hash = Fingerprint::fold(lane.hash, ended, arrived);
  ++instructions_;
  return true;
}

}  // namespace collsim
