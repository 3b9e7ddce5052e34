// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "sim/fingerprint.hpp"
#include "sim/lanes.hpp"
#include "sim/participants.hpp"
#include "sim/recorder.hpp"
#include "sim/slowed_work.hpp"

namespace collsim {

// Internal to sim/: how one lane executes its program, shared by all engines.

enum class Direction : std::uint8_t { out, in };

// When an instruction began and ended, and the message that it received arrived (0: none).
struct InstructionTimes {
  Time arrived{};
  Time began{};
  Time ended{};
};

// What an engine adds: who is connected to whom, and what happens to messages on the way.
//
//   arrivals_are_known   Slot::time is never never(): a message's arrival is known when it is
//                        posted
//   connect              the connection between a lane and its peer, opened the first time;
//                        nullptr: this engine does not apply after all, and nothing more will run
//   set_duration         messages of so many bytes will be posted
//   release              the lane has turned to another connection in that direction
//   may_post             this message, now; if not, the engine calls post_and_run() when the
//                        message's turn has come
//   post                 puts a connection's latest message on its way: sets the time of its slot
//                        to its arrival, not before `ready`, or to never(); a signal is there at
//                        once
//   wake                 this lane may be able to continue; the engine runs it eventually
//   wake_receiver        the lane that receives from a connection, or stands for it
//   all_left             when the last message of this lane so far left it; never(): not known yet,
//                        and the lane will be woken
//   end_of_work          when work of this lane ends that begins then; never(): as above
//   note_call            a lane of a communicator began or ended its part of a collective
template <class N>
concept Network = requires(N network, LaneNumber lane, Endpoint peer, Connection& connection,
                           Slot& slot, Time ready, const InstructionTimes& times) {
  std::bool_constant<N::arrivals_are_known>();
  { network.connect(lane, peer, Direction::out) } -> std::same_as<Connection*>;
  { network.may_post(lane, connection, times) } -> std::same_as<bool>;
  network.set_duration(connection, Bytes{});
  network.release(connection, Direction::out);
  network.post(connection, slot, ready);
  network.wake(lane);
  network.wake_receiver(connection);
  { network.all_left(lane) } -> std::same_as<Time>;
  { network.end_of_work(lane, ready, ready) } -> std::same_as<Time>;
  network.note_call(lane, bool{}, ready);
};

template <Network N, class Recorder>
class LaneMachine {
 public:
  LaneMachine(Lanes& lanes, N& network, Recorder& recorder)
      : lanes_(lanes),
        network_(network),
        recorder_(recorder),
        most_elements_(std::numeric_limits<std::int64_t>::max() / lanes.element_size),
        free_instructions_(lanes.costs.instructions_are_free()),
        order_is_free_(free_instructions_ && lanes.programs.exchanges_in_rounds()),
        slows_work_(SlowedWork::matters(lanes.programs, lanes.costs)) {}

  // Executes instructions of one lane until it ends or has to wait for something.
  void run(LaneNumber number);
  // Ends the instruction for which may_post() said no, with the times given there, and continues:
  // no message is executed twice.
  void post_and_run(LaneNumber number, const InstructionTimes& times);

 private:
  void go_on(LaneNumber number, LaneState& lane);
  // False when the lane has to wait.
  [[nodiscard]] bool execute(LaneNumber number, LaneState& lane, const Instruction& instruction);
  template <bool takes, bool gives>
  [[nodiscard]] bool execute_parts(LaneNumber number, LaneState& lane,
                                   const Instruction& instruction);
  template <bool takes, bool gives>
  void end(LaneState& lane, const Instruction& instruction, const InstructionTimes& times,
           Slot* received);
  void send(Connection& out, std::int64_t count, Time ready);
  [[gnu::noinline]] void note_call(const LaneState& lane, const Instruction& instruction);

  [[nodiscard]] bool decode(LaneNumber number, LaneState& lane, const Instruction& instruction);
  [[nodiscard]] bool connect(LaneNumber number, Connection*& connection, Endpoint peer,
                             Direction direction);
  void check_unusual(const LaneState& lane, const Instruction& instruction) const;
  [[nodiscard]] Time work(const Instruction& instruction) const;
  // Moves `began` to when all messages of the lane had left; false when that is not known yet.
  [[nodiscard, gnu::noinline]] bool is_drained(LaneNumber number, Time& began) const {
    const Time left = network_.all_left(number);
    began = std::max(began, left);
    return left != Time::never();
  }

  Lanes& lanes_;
  N& network_;
  Recorder& recorder_;
  const std::int64_t most_elements_;  // whose bytes can be counted
  const bool free_instructions_;
  const bool order_is_free_;
  const bool slows_work_;  // collectives do
};

template <Network N, class Recorder>
void LaneMachine<N, Recorder>::run(LaneNumber number) {
  LaneState& lane = lanes_.all[number];
  if (lane.progress == LaneState::Progress::finished) return;
  if (lane.progress == LaneState::Progress::not_started) {
    lane.progress = LaneState::Progress::started;
    lane.program = lanes_.programs.program(static_cast<int>(lane.position), lane.lane);
    lane.instruction = lane.program.next();
  }
  go_on(number, lane);
}

template <Network N, class Recorder>
void LaneMachine<N, Recorder>::post_and_run(LaneNumber number, const InstructionTimes& times) {
  LaneState& lane = lanes_.all[number];
  if (takes_from_lane(lane.instruction->op)) {
    Queue& in = lane.in->queue;
    end<true, true>(lane, *lane.instruction, times, &in.slot(in.received));
  } else {
    end<false, true>(lane, *lane.instruction, times, nullptr);
  }
  lane.instruction = lane.program.next();
  ++lanes_.instructions;
  go_on(number, lane);
}

template <Network N, class Recorder>
void LaneMachine<N, Recorder>::go_on(LaneNumber number, LaneState& lane) {
  const Instruction* instruction = lane.instruction;
  std::uint64_t executed = 0;
  while (instruction != nullptr) {
    const bool like_the_last = instruction->op == lane.op && instruction->count == lane.count &&
                               instruction->from == lane.from && instruction->to == lane.to;
    if (!like_the_last && !decode(number, lane, *instruction)) [[unlikely]]
      break;
    bool alike = true;
    while (execute(number, lane, *instruction)) {
      ++executed;
      alike = lane.program.next_alike();
      if (!alike) [[likely]]
        break;
    }
    if (alike) break;
    instruction = lane.program.next();
  }
  lane.instruction = instruction;
  lanes_.instructions += executed;
  if (lanes_.executed != nullptr) [[unlikely]]
    lanes_.executed->store(lanes_.instructions, std::memory_order_relaxed);
  if (instruction != nullptr) return;
  lane.program = LaneProgram();  // no longer needed: a million ranks need not exist at once
  lane.progress = LaneState::Progress::finished;
  ++lanes_.finished;
}

template <Network N, class Recorder>
inline bool LaneMachine<N, Recorder>::execute(LaneNumber number, LaneState& lane,
                                              const Instruction& instruction) {
  const bool gives = gives_to_lane(lane.op);
  if (takes_from_lane(lane.op))
    return gives ? execute_parts<true, true>(number, lane, instruction)
                 : execute_parts<true, false>(number, lane, instruction);
  return gives ? execute_parts<false, true>(number, lane, instruction)
               : execute_parts<false, false>(number, lane, instruction);
}

template <Network N, class Recorder>
template <bool takes, bool gives>
inline bool LaneMachine<N, Recorder>::execute_parts(LaneNumber number, LaneState& lane,
                                                    const Instruction& instruction) {
  InstructionTimes times{Time{}, lane.clock, lane.clock};
  Slot* received = nullptr;
  if constexpr (takes) {
    Queue& in = lane.in->queue;
    received = &in.slot(in.received);
    if (in.empty() || (!N::arrivals_are_known && received->time == Time::never())) {
      in.receiver_waits = true;
      return false;
    }
    if (received->count != lane.count && !orders_lanes(instruction.op)) [[unlikely]]
      report_size_mismatch(lanes_.endpoint_of(lane), instruction, received->count);
    times.arrived = received->time;
    times.began = std::max(times.began, times.arrived);
  }
  if constexpr (gives) {
    Queue& out = lane.out->queue;
    if (out.waiting() >= out.room && !lanes_.connections.make_room(out)) {
      out.sender_waits = true;
      return false;
    }
    if (out.sent >= out.limit)
      times.began = std::max(times.began, out.slot(out.sent - out.limit).time);
  }
  if constexpr (!takes && !gives) {
    if (lane.op == Op::drain && !is_drained(number, times.began)) [[unlikely]]
      return false;
  }
  times.ended = times.began + lane.work;
  if constexpr (!takes && !gives) {
    if (slows_work_ && lane.op == Op::work) [[unlikely]]
      times.ended = network_.end_of_work(number, times.began, lane.work);
    if (times.ended == Time::never()) [[unlikely]]
      return false;
  }
  if (gives && !network_.may_post(number, *lane.out, times)) return false;
  end<takes, gives>(lane, instruction, times, received);
  return true;
}

template <Network N, class Recorder>
template <bool takes, bool gives>
inline void LaneMachine<N, Recorder>::end(LaneState& lane, const Instruction& instruction,
                                          const InstructionTimes& times, Slot* received) {
  if constexpr (Recorder::enabled)
    recorder_.step(lanes_.endpoint_of(lane), lane.position, instruction,
                   {lane.clock, times.began, times.ended}, takes ? lane.in : nullptr,
                   gives ? lane.out : nullptr);
  if constexpr (gives) send(*lane.out, lane.count, times.ended);
  if constexpr (takes) {
    Queue& in = lane.in->queue;
    received->time = times.ended;
    ++in.received;
    if (in.sender_waits) {
      in.sender_waits = false;
      network_.wake(lane.in->source);
    }
  }
  lane.clock = times.ended;
  if constexpr (takes != gives)
    if (slows_work_) [[unlikely]]
      note_call(lane, instruction);
  // Programs that exchange in rounds do not receive and send at once.
  if (!(takes && gives) && order_is_free_) [[unlikely]]
    lane.hash = Fingerprint::add(lane.hash, times.arrived);
  else
    lane.hash = Fingerprint::fold(lane.hash, times.ended, times.arrived);
}

// What streams and the lanes of communicators say to each other are collectives.
template <Network N, class Recorder>
void LaneMachine<N, Recorder>::note_call(const LaneState& lane, const Instruction& instruction) {
  const auto streams = static_cast<std::size_t>(lanes_.programs.streams());
  if (lane.lane.index() < streams || !orders_lanes(instruction.op)) return;
  const bool begins = instruction.op == Op::wait;
  const Lane other = begins ? instruction.from.lane : instruction.to.lane;
  if (other.index() < streams)
    network_.note_call(static_cast<LaneNumber>(&lane - lanes_.all.data()), begins, lane.clock);
}

template <Network N, class Recorder>
inline void LaneMachine<N, Recorder>::send(Connection& out, std::int64_t count, Time ready) {
  Queue& queue = out.queue;
  Slot& slot = queue.slot(queue.sent++);
  slot.count = count;
  network_.post(out, slot, ready);
  if (queue.receiver_waits && (N::arrivals_are_known || slot.time != Time::never())) {
    queue.receiver_waits = false;
    network_.wake_receiver(out);
  }
}

// What follows from an instruction's operation, peers and length.  Most instructions equal the
// previous one in these, and then none of this is repeated.
template <Network N, class Recorder>
[[gnu::always_inline]] inline bool LaneMachine<N, Recorder>::decode(
    LaneNumber number, LaneState& lane, const Instruction& instruction) {
  const bool countable =
      instruction.count >= 0 && (instruction.count <= most_elements_ || instruction.op == Op::work);
  if (!countable || !exists(instruction.op)) [[unlikely]]
    check_unusual(lane, instruction);
  lane.count = -1;  // not decoded, if this throws or the lane is stopped
  const bool orders = orders_lanes(instruction.op);
  bool misused = false;
  if (takes_from_lane(instruction.op)) {
    if ((lane.in == nullptr || lane.in_from != instruction.from) &&
        !connect(number, lane.in, instruction.from, Direction::in))
      return false;
    lane.in_from = instruction.from;
    misused = (lane.in->path.kinds == Path::within_rank) != orders;
  }
  if (gives_to_lane(instruction.op)) {
    if ((lane.out == nullptr || lane.out_to != instruction.to) &&
        !connect(number, lane.out, instruction.to, Direction::out))
      return false;
    lane.out_to = instruction.to;
    misused = misused || (lane.out->path.kinds == Path::within_rank) != orders;
    if (!orders && lane.out->message_size != instruction.count) {
      lanes_.set_message_size(*lane.out, instruction.count);
      network_.set_duration(*lane.out, instruction.count * lanes_.element_size);
    }
  }
  if (misused) [[unlikely]]
    report_signal_misuse(lanes_.endpoint_of(lane), instruction);
  if (!free_instructions_ || takes_time_only(instruction.op) || takes_time_only(lane.op))
      [[unlikely]] {
    lane.work = work(instruction);
    COLLSIM_CHECK(lane.work >= Time{}, "an instruction would end before it begins");
  }
  lane.from = instruction.from;
  lane.to = instruction.to;
  lane.count = instruction.count;
  lane.op = instruction.op;
  return true;
}

template <Network N, class Recorder>
[[gnu::always_inline]] inline bool LaneMachine<N, Recorder>::connect(LaneNumber number,
                                                                     Connection*& connection,
                                                                     Endpoint peer,
                                                                     Direction direction) {
  Connection* const before = connection;
  connection = network_.connect(number, peer, direction);
  if (before != nullptr && before != connection) network_.release(*before, direction);
  return connection != nullptr;
}

// Signals have no size, so theirs does not matter.
template <Network N, class Recorder>
void LaneMachine<N, Recorder>::check_unusual(const LaneState& lane,
                                             const Instruction& instruction) const {
  if (!exists(instruction.op)) report_bad_operation(lanes_.endpoint_of(lane), instruction);
  if (!orders_lanes(instruction.op)) report_bad_count(lanes_.endpoint_of(lane), instruction);
}

template <Network N, class Recorder>
Time LaneMachine<N, Recorder>::work(const Instruction& instruction) const {
  const CostModel& costs = lanes_.costs;
  if (instruction.op == Op::work) return Time(instruction.count);
  if (takes_time_only(instruction.op)) return Time{};
  if (orders_lanes(instruction.op)) return costs.instruction_overhead;
  const bool local = costs.local_bandwidth && !exchanges(instruction.op);
  const auto& rate = local                     ? costs.local_bandwidth
                     : reduces(instruction.op) ? costs.reduce_bandwidth
                                               : costs.copy_bandwidth;
  const Bytes bytes = instruction.count * lanes_.element_size;
  Time cost = costs.instruction_overhead;
  if (rate) cost += transfer_time(bytes, *rate);
  if (costs.second_write_bandwidth && stores(instruction.op) && sends(instruction.op))
    cost += transfer_time(bytes, *costs.second_write_bandwidth);
  return cost;
}

}  // namespace collsim
