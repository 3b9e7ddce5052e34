// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <limits>
#include <type_traits>

#include "collectives/checker/engine.hpp"

// Engine's run loop and what its instructions do.
namespace collsim::checker {

template <class Values>
Engine<Values>::Engine(const Schedule& schedule, const CheckOptions& options,
                       std::optional<int> slots)
    : schedule_(schedule),
      options_(options),
      slots_(slots),
      element_bytes_(size_of(schedule.collective().type)),
      layout_(schedule),
      values_(schedule.size(), options.seed),
      knowledge_(schedule.size(), schedule.lanes(),
                 Values::follows_data && schedule.collective().operation == Operation::barrier),
      lanes_(layout_.all_lanes()) {
  const auto positions = static_cast<std::uint32_t>(schedule.size());
  if constexpr (Values::follows_data) {
    memory_.resize(positions);
    if (knowledge_.orders_lanes()) races_.resize(positions);
    for (std::uint32_t position = 0; position < positions; ++position) {
      if (!layout_.is_input_shared(position)) continue;
      const Area area =
          layout_.area(position, {Buffer::input, 0, layout_.size_of(position, Buffer::input)});
      memory_[position].output.write(area.begin, area.end,
                                     values_.input(static_cast<int>(position), 0));
    }
  }
}

template <class Values>
CheckReport Engine<Values>::run() {
  for (std::uint32_t id = 0; id < layout_.all_lanes() && !report_.fault; ++id) {
    lanes_[id].program =
        schedule_.program(static_cast<int>(layout_.position_of(id)), layout_.lane_of(id));
    run_lane(id);
  }
  std::vector<std::uint32_t> batch;
  while (!woken_.empty() && !report_.fault) {
    batch.clear();
    batch.swap(woken_);
    for (std::size_t i = 0; i < batch.size() && !report_.fault; ++i) run_lane(batch[i]);
  }
  if (!report_.fault) judge_waiting();
  if (!report_.fault) judge_leftovers();
  if constexpr (Values::follows_data) {
    if (!report_.fault) judge_results();
    if (!report_.fault) judge_exits();
  }
  report_.ok = !report_.fault;
  return std::move(report_);
}

template <class Values>
void Engine<Values>::run_lane(std::uint32_t id) {
  LaneState& lane = lanes_[id];
  while (!report_.fault) {
    if (!lane.current) {
      lane.current = lane.program.next();
      if (!lane.current) {
        lane.ended = true;
        lane.program = LaneProgram();
        return;
      }
      ++lane.step;
      if (!accept(id)) return;
    }
    if (!is_ready(id)) return;
    execute(id);
    ++report_.instructions;
    if (!report_.fault) lane.current = nullptr;
  }
}

template <class Values>
bool Engine<Values>::is_ready(std::uint32_t id) {
  LaneState& lane = lanes_[id];
  const Op op = lane.current->op;
  if (receives(op) || op == Op::wait) {
    inbox_ = queues_.find(queues_.key(lane.from, id));
    if (!inbox_ || inbox_->messages == 0) {
      block(lane, op == Op::wait ? Waiting::for_signal : Waiting::for_message, lane.from);
      return false;
    }
  }
  if (sends(op) && slots_) {
    const auto* queue = queues_.find(queues_.key(id, lane.to));
    if (queue && queue->messages >= static_cast<std::uint32_t>(*slots_)) {
      block(lane, Waiting::for_slot, lane.to);
      return false;
    }
  }
  return true;
}

template <class Values>
void Engine<Values>::execute(std::uint32_t id) {
  const Instruction& instruction = *lanes_[id].current;
  const Op op = instruction.op;
  if (op == Op::signal || op == Op::wait) return signal_or_wait(id);
  value_.clear();
  if (receives(op) && !receive(id)) return;
  if constexpr (Values::follows_data) {
    if (op == Op::local_reduce && !load(id, instruction.destination(), value_)) return;
    if (reduces(op)) {
      source_.clear();
      if (!load(id, instruction.source(), source_) || !combine(id)) return;
    } else if (reads(op) && !load(id, instruction.source(), value_)) {
      return;
    }
    if (stores(op) && !store(id)) return;
  }
  if (sends(op)) send(id);
}

template <class Values>
void Engine<Values>::signal_or_wait(std::uint32_t id) {
  const LaneState& lane = lanes_[id];
  if (lane.current->op == Op::signal) {
    value_.assign(1, {0, Value{}});
    queues_.push(queues_.key(id, lane.to), value_, lane.step, knowledge_.at_signal(id));
    wake(lane.to, Waiting::for_signal, id);
  } else {
    value_.clear();
    knowledge_.learn(id, queues_.pop(*inbox_, value_));
  }
}

template <class Values>
bool Engine<Values>::receive(std::uint32_t id) {
  const LaneState& lane = lanes_[id];
  const std::int64_t sent_at = queues_.front(*inbox_).step;
  knowledge_.learn(id, queues_.pop(*inbox_, value_));
  if (slots_) wake(lane.from, Waiting::for_slot, id);
  std::int64_t count = 0;
  for (const auto& piece : value_) count += piece.count;
  return count == lane.current->count || refuse_size(id, count, sent_at);
}

template <class Values>
bool Engine<Values>::load(std::uint32_t id, const Span& span, Pieces& pieces) {
  if (span.count == 0) return true;
  const std::uint32_t position = layout_.position_of(id);
  const Area area = layout_.area(position, span);
  if (area.region == Region::input) {
    pieces.push_back({span.count, values_.input(static_cast<int>(position), span.offset)});
    return true;
  }
  if (!note_access(id, span, false)) return false;
  const auto& memory =
      area.region == Region::output ? memory_[position].output : memory_[position].scratch;
  std::int64_t gap = -1;
  std::int64_t gap_end = -1;
  memory.visit(area.begin, area.end, [&](std::int64_t from, std::int64_t to, const auto* segment) {
    if (segment)
      pieces.push_back({to - from, Values::advanced(segment->value, from - segment->begin)});
    else if (gap < 0)
      gap = from, gap_end = to;
  });
  return gap < 0 || refuse_unwritten(id, span.sub(gap - area.begin, gap_end - gap));
}

// value_ := value_ (+) source_, wherever either of them changes.
template <class Values>
bool Engine<Values>::combine(std::uint32_t id) {
  if (lanes_[id].current->count == 0) return true;
  if (value_.size() == 1 && source_.size() == 1) [[likely]] {
    const auto wrong = Values::add(value_[0].value, source_[0].value);
    return !wrong || refuse_sum(id, *wrong, value_[0].value, source_[0].value);
  }
  sum_.clear();
  std::size_t left = 0;
  std::size_t right = 0;
  std::int64_t left_used = 0;
  std::int64_t right_used = 0;
  while (left < value_.size()) {
    const std::int64_t count =
        std::min(value_[left].count - left_used, source_[right].count - right_used);
    Value value = Values::advanced(value_[left].value, left_used);
    const Value added = Values::advanced(source_[right].value, right_used);
    if (const auto wrong = Values::add(value, added)) return refuse_sum(id, *wrong, value, added);
    sum_.push_back({count, std::move(value)});
    left_used += count;
    right_used += count;
    if (left_used == value_[left].count) ++left, left_used = 0;
    if (right_used == source_[right].count) ++right, right_used = 0;
  }
  value_.swap(sum_);
  return true;
}

template <class Values>
bool Engine<Values>::store(std::uint32_t id) {
  const Span span = lanes_[id].current->destination();
  const std::uint32_t position = layout_.position_of(id);
  const Area area = layout_.area(position, span);
  if (!note_access(id, span, true)) return false;
  auto& memory =
      area.region == Region::output ? memory_[position].output : memory_[position].scratch;
  std::int64_t begin = area.begin;
  for (const auto& piece : value_) {
    memory.write(begin, begin + piece.count,
                 Values::with_writer(piece.value, {id, lanes_[id].step}));
    begin += piece.count;
  }
  return true;
}

template <class Values>
bool Engine<Values>::note_access(std::uint32_t id, const Span& span, bool writes) {
  if (!knowledge_.orders_lanes() || span.count == 0) return true;
  const std::uint32_t position = layout_.position_of(id);
  const Area area = layout_.area(position, span);
  RaceDetector& races =
      area.region == Region::output ? races_[position].output : races_[position].scratch;
  const LaneState& lane = lanes_[id];
  // Steps would keep neighbouring stretches apart: only the run that explains remembers them.
  constexpr bool explains = std::is_same_v<Values, ContributorLists>;
  const Epoch now = knowledge_.now(id, explains ? lane.step : -1);
  const auto conflict = writes ? races.write(knowledge_, now, area.begin, area.end)
                               : races.read(knowledge_, now, area.begin, area.end);
  return !conflict || refuse_race(id, span, writes, *conflict);
}

template <class Values>
void Engine<Values>::send(std::uint32_t id) {
  const LaneState& lane = lanes_[id];
  const std::int64_t count = lane.current->count;
  if (value_.empty()) value_.push_back({count, Value{}});
  const std::uint32_t queued =
      queues_.push(queues_.key(id, lane.to), value_, lane.step, knowledge_.at_send(id));
  report_.most_queued = std::max(report_.most_queued, std::int64_t{queued});
  ++report_.messages;
  Bytes bytes = 0;
  if (__builtin_mul_overflow(count, element_bytes_, &bytes) ||
      __builtin_add_overflow(report_.wire_bytes, bytes, &report_.wire_bytes))
    report_.wire_bytes = std::numeric_limits<Bytes>::max();
  wake(lane.to, Waiting::for_message, id);
}

}  // namespace collsim::checker
