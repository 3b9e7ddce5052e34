// SPDX-License-Identifier: Apache-2.0
#include "sim/lanes.hpp"

#include <algorithm>
#include <limits>
#include <string>

#include "sim/participants.hpp"
#include "topo/error.hpp"

namespace collsim {

Lanes::Lanes(const Programs& the_programs, const CostModel& the_costs, std::size_t ranks)
    : programs(the_programs),
      costs(the_costs),
      element_size(the_programs.element_size()),
      per_rank(static_cast<std::size_t>(the_programs.lanes())),
      connections(the_programs.slots()) {
  constexpr std::size_t most_lanes = std::size_t{1} << 28U;
  if (ranks > most_lanes / per_rank)
    throw_error(ErrorCode::too_large, std::to_string(ranks) + " ranks with " +
                                          std::to_string(per_rank) +
                                          " lanes each are more than 268,435,456 lanes");
  all.resize(ranks * per_rank);
  for (std::size_t number = 0; number < all.size(); ++number) {
    place(all[number], static_cast<std::uint32_t>(number / per_rank));
    all[number].lane = Lane(number % per_rank);
    all[number].clock = costs.launch;
  }
}

void Lanes::wake_all() {
  for (std::size_t lane = all.size(); lane-- > 0;)
    runnable.push_back(static_cast<LaneNumber>(lane));
}

// Of all its messages so far.  Where their size changes the difference counts, so that in the end
// all may count with the last one.
void Lanes::count_elements(const Connection& connection, std::int64_t of_each) {
  if (connection.path.kinds == Path::within_rank) return;
  elements_sent_ += Elements{of_each} * static_cast<std::int64_t>(connection.queue.sent);
}

RestingMessages::Number Lanes::close_with_message(Connection& connection) {
  const RestingMessages::Number number =
      resting.add(connection.source, connection.target, connection.queue.slot(0).count);
  connection.queue.received = connection.queue.sent;
  close(connection);
  return number;
}

// The message has been counted, as one of a closed connection.
void Lanes::reopen(Connection& connection, const RestingMessages::Message& message) {
  Queue& queue = connection.queue;
  queue.slot(queue.sent++) = {message.is_under_way() ? Time::never() : message.arrival(),
                              message.count};
  connection.message_size = message.count;
  elements_sent_ -= message.count;
  --messages_of_closed;
}

bool Lanes::all_received() const {
  if (!resting.empty()) return false;
  for (std::size_t number = 0; number < connections.size(); ++number)
    if (!connections[number].queue.empty()) return false;
  return true;
}

Simulation Lanes::result(Engine engine, std::uint64_t ranks) {
  Simulation result;
  result.engine = engine;
  result.hangs = !all_finished();
  result.finished.resize(static_cast<std::size_t>(programs.size()));
  for (const LaneState& lane : all) {
    Time& finished_at = result.finished[lane.position];
    finished_at = std::max({finished_at, lane.clock, lane.left_at});
  }
  const RestingMessages::Message* const message = resting.any();
  if (message != nullptr && !result.hangs)
    report_left_over(endpoint_of(message->source), endpoint_of(message->target), 1);
  std::uint64_t messages = messages_of_closed;
  for (std::size_t number = 0; number < connections.size(); ++number) {
    const Connection& connection = connections[number];
    count_elements(connection, connection.message_size);
    if (!connection.queue.empty() && !result.hangs)
      report_left_over(endpoint_of(connection.source), endpoint_of(connection.target),
                       connection.queue.waiting());
    if (connection.path.kinds != Path::within_rank) messages += connection.queue.sent;
    Time& finished_at = result.finished[all[connection.source].position];
    finished_at = std::max(finished_at, connection.left_at);
  }
  for (const Time finished_at : result.finished) result.time = std::max(result.time, finished_at);
  if (result.time == Time::never())  // which stands for "not yet known"
    throw_error(ErrorCode::overflow,
                "a message arrives later than 64 bits of picoseconds can hold");
  result.instructions = ranks * instructions;
  result.messages = ranks * messages;
  if (elements_sent_ > std::numeric_limits<std::int64_t>::max())
    throw_error(ErrorCode::overflow, "more elements are sent in all than 64 bits can count");
  const auto elements = static_cast<std::int64_t>(elements_sent_);
  if (__builtin_mul_overflow(elements, element_size, &result.wire_bytes) ||
      __builtin_mul_overflow(result.wire_bytes, ranks, &result.wire_bytes))
    throw_error(ErrorCode::overflow, "more bytes are sent in all than 64 bits can count");
  return result;
}

void Lanes::report_stuck() const {
  std::vector<WaitingLane> waiting;
  for (const LaneState& lane : all) {
    if (lane.progress == LaneState::Progress::finished) continue;
    const Instruction& instruction = *lane.instruction;
    WaitingLane stuck{endpoint_of(lane), instruction.from, WaitingLane::For::message, instruction};
    const bool takes = takes_from_lane(instruction.op);
    if (!takes || !lane.in->queue.empty()) {
      stuck.reason = WaitingLane::For::slot;
      stuck.other = instruction.to;
    } else if (instruction.op == Op::wait) {
      stuck.reason = WaitingLane::For::signal;
    }
    waiting.push_back(stuck);
  }
  report_deadlock(waiting, programs.slots());
}

}  // namespace collsim
