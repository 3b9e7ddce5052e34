// SPDX-License-Identifier: Apache-2.0
#include "app/show/buffer_steps.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <string>
#include <tuple>

namespace collsim {

ShownBuffer in_pieces(const Numbers& numbers, const std::vector<std::int64_t>& lengths) {
  ShownBuffer shown;
  shown.in_pieces = lengths.size() != 1;
  auto from = numbers.begin();
  for (const std::int64_t length : lengths) {
    shown.pieces.emplace_back(from, from + length);
    from += length;
  }
  return shown;
}

namespace {

std::vector<std::int64_t> even_pieces(const Collective& collective) {
  std::vector<std::int64_t> lengths;
  lengths.reserve(static_cast<std::size_t>(collective.size()));
  const Span whole{Buffer::input, 0, collective.count};
  for (int i = 0; i < collective.size(); ++i)
    lengths.push_back(whole.piece(i, collective.size()).count);
  return lengths;
}

}  // namespace

std::vector<std::int64_t> input_pieces(const Collective& collective, int position) {
  switch (collective.operation) {
    case Operation::scatter:
      if (position != collective.root) break;
      return even_pieces(collective);
    case Operation::reduce_scatter:
    case Operation::all_to_all: return even_pieces(collective);
    default: break;
  }
  return {input_count(collective, position)};
}

std::vector<std::int64_t> output_pieces(const Collective& collective, int position) {
  const auto size = static_cast<std::size_t>(collective.size());
  switch (collective.operation) {
    case Operation::gather:
      if (position != collective.root) break;
      return even_pieces(collective);
    case Operation::all_gather: return even_pieces(collective);
    case Operation::all_to_all:  // from every rank: this rank's piece
      return std::vector<std::int64_t>(size,
                                       even_pieces(collective)[static_cast<std::size_t>(position)]);
    default: break;
  }
  return {output_count(collective, position)};
}

Numbers to_numbers(ElementType type, const std::vector<std::byte>& bytes) {
  Numbers numbers;
  const auto element = static_cast<std::size_t>(size_of(type));
  for (std::size_t at = 0; at < bytes.size(); at += element)
    numbers.emplace_back(to_number(type, bytes.data() + at));
  return numbers;
}

BufferStepRecorder::BufferStepRecorder(const Schedule& schedule,
                                       const std::vector<Bytestring>& inputs,
                                       std::vector<Numbers> outputs)
    : schedule_(schedule),
      type_(schedule.collective().type),
      outputs_(std::move(outputs)),
      lanes_(static_cast<std::size_t>(schedule.size()) *
             static_cast<std::size_t>(schedule.lanes())) {
  for (int position = 0; position < schedule.size(); ++position)
    memory_.emplace_back(schedule, position, inputs[static_cast<std::size_t>(position)]);
}

void BufferStepRecorder::executed(const ExecutedStep& step) {
  const Instruction& instruction = step.instruction;
  const Op op = instruction.op;
  const Endpoint me{schedule_.rank(step.position), step.lane};
  LaneState& lane =
      lanes_[static_cast<std::size_t>(step.position) * static_cast<std::size_t>(schedule_.lanes()) +
             step.lane.index()];
  if (orders_lanes(op)) return order_lanes(instruction, me, lane);

  RankMemory& memory = memory_[static_cast<std::size_t>(step.position)];
  Record record;
  record.position = step.position;
  record.shown.op = op;
  record.shown.rank = me.rank;
  record.shown.place = schedule_.place(me.lane);
  Bytestring value;
  if (receives(op)) take_message(instruction, me, lane, record, value);
  if (op == Op::local_reduce) value = memory.copy_of(instruction.destination());
  if (op == Op::local_reduce) record.shown.message = to_numbers(type_, value);
  if (reduces(op)) {
    const Bytestring own = memory.copy_of(instruction.source());
    record.shown.own = to_numbers(type_, own);
    reduce_elements(type_, schedule_.collective().reduction, value.data(), own.data(),
                    instruction.count);
    record.shown.result = to_numbers(type_, value);
  } else if (reads(op)) {
    value = memory.copy_of(instruction.source());
    record.shown.message = to_numbers(type_, value);
  }
  if (stores(op)) {
    record.stored = instruction.destination();
    record.value = to_numbers(type_, step.memory.copy_of(record.stored));
    if (!value.empty())
      std::memcpy(memory.at(record.stored), step.memory.at(record.stored), value.size());
  }
  record.shown.step = lane.step;
  if (op != Op::send) records_.push_back(std::move(record));
  if (records_.size() > max_buffer_steps)
    throw_error(ErrorCode::too_large, "more than " + std::to_string(max_buffer_steps) +
                                          " steps to show; use fewer ranks, chunks or channels");
  if (sends(op)) send_message(instruction, me, lane, std::move(value));
}

void BufferStepRecorder::order_lanes(const Instruction& instruction, Endpoint me, LaneState& lane) {
  if (instruction.op == Op::signal) {
    signals_[{me, instruction.to}].push_back(lane.step);
    return;
  }
  auto& given = signals_[{instruction.from, me}];
  lane.step = std::max(lane.step, given.front());
  given.pop_front();
}

void BufferStepRecorder::take_message(const Instruction& instruction, Endpoint me, LaneState& lane,
                                      Record& record, Bytestring& value) {
  ConnectionState& connection = connections_[{instruction.from, me}];
  Message& message = connection.messages.front();
  lane.step = std::max({lane.step, message.step, lane.last_taken + 1});
  lane.last_taken = lane.step;
  value = std::move(message.value);
  connection.messages.pop_front();
  if (schedule_.slots()) connection.freed.push_back(lane.step);
  record.shown.from = instruction.from.rank;
  record.shown.from_place = schedule_.place(instruction.from.lane);
  record.shown.message = to_numbers(type_, value);
}

void BufferStepRecorder::send_message(const Instruction& instruction, Endpoint me, LaneState& lane,
                                      Bytestring value) {
  ConnectionState& connection = connections_[{me, instruction.to}];
  std::int64_t before = std::max(lane.step, lane.last_sent);
  if (schedule_.slots() && connection.sent++ >= *schedule_.slots()) {
    before = std::max(before, connection.freed.front());
    connection.freed.pop_front();
  }
  lane.last_sent = before + 1;
  connection.messages.push_back({std::move(value), lane.last_sent});
}

// Input and output may be the same memory; scratch is never shown.
void BufferStepRecorder::write_to_output(const Record& record, Numbers& output) const {
  std::int64_t at = record.stored.offset;
  if (record.stored.buffer == Buffer::input) {
    const Aliasing shared = aliasing(schedule_.collective(), record.position);
    at += shared.input_at - shared.output_at;
  }
  for (std::size_t i = 0; i < record.value.size(); ++i) {
    const std::int64_t place = at + static_cast<std::int64_t>(i);
    if (place >= 0 && place < static_cast<std::int64_t>(output.size()))
      output[static_cast<std::size_t>(place)] = record.value[i];
  }
}

std::vector<BufferStep> BufferStepRecorder::take_steps(std::int64_t& last_step) {
  // Within a rank the order of execution is kept: later values overwrite earlier ones.
  std::vector<std::size_t> order(records_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [this](std::size_t a, std::size_t b) {
    return std::tie(records_[a].shown.step, records_[a].position) <
           std::tie(records_[b].shown.step, records_[b].position);
  });
  const Collective& collective = schedule_.collective();
  std::vector<BufferStep> steps;
  std::size_t numbers = 0;
  last_step = 0;
  for (const std::size_t index : order) {
    Record& record = records_[index];
    const bool visible =
        record.stored.count > 0 &&
        (record.stored.buffer == Buffer::output ||
         (record.stored.buffer == Buffer::input && aliasing(collective, record.position).shared));
    Numbers& output = outputs_[static_cast<std::size_t>(record.position)];
    if (visible) {
      numbers += output.size();
      if (numbers > static_cast<std::size_t>(max_shown_numbers))
        throw_error(ErrorCode::too_large,
                    "too many elements and steps to show; use fewer elements, ranks or chunks");
      write_to_output(record, output);
      record.shown.after = in_pieces(output, output_pieces(collective, record.position));
    }
    last_step = std::max(last_step, record.shown.step);
    steps.push_back(std::move(record.shown));
  }
  records_.clear();
  return steps;
}

}  // namespace collsim
