// SPDX-License-Identifier: Apache-2.0
#include "collectives/checker/interpreter.hpp"

#include <algorithm>
#include <limits>
#include <type_traits>

namespace collsim::checker {

// --- the run loop, and what instructions do -----------------------------------------------------

template <class Values>
Interpreter<Values>::Interpreter(const Schedule& schedule, const CheckOptions& options,
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
CheckReport Interpreter<Values>::run() {
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
void Interpreter<Values>::run_lane(std::uint32_t id) {
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
bool Interpreter<Values>::is_ready(std::uint32_t id) {
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
void Interpreter<Values>::execute(std::uint32_t id) {
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
void Interpreter<Values>::signal_or_wait(std::uint32_t id) {
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
bool Interpreter<Values>::receive(std::uint32_t id) {
  const LaneState& lane = lanes_[id];
  const std::int64_t sent_at = queues_.front(*inbox_).step;
  knowledge_.learn(id, queues_.pop(*inbox_, value_));
  if (slots_) wake(lane.from, Waiting::for_slot, id);
  std::int64_t count = 0;
  for (const auto& piece : value_) count += piece.count;
  return count == lane.current->count || refuse_size(id, count, sent_at);
}

template <class Values>
bool Interpreter<Values>::load(std::uint32_t id, const Span& span, Pieces& pieces) {
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
bool Interpreter<Values>::combine(std::uint32_t id) {
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
bool Interpreter<Values>::store(std::uint32_t id) {
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
bool Interpreter<Values>::note_access(std::uint32_t id, const Span& span, bool writes) {
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
void Interpreter<Values>::send(std::uint32_t id) {
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

// --- what is refused before an instruction runs, and when no lane can go on ---------------------

template <class Values>
bool Interpreter<Values>::accept(std::uint32_t id) {
  LaneState& lane = lanes_[id];
  const Instruction& instruction = *lane.current;
  const Op op = instruction.op;
  if (lane.step >= options_.max_instructions) return refuse_length(id);
  if (!exists(op) || instruction.source_buffer > Buffer::scratch ||
      instruction.destination_buffer > Buffer::scratch)
    return refuse_instruction(id);
  if (op == Op::signal || op == Op::wait) return accept_signal(id);
  if (receives(op) && lane.from_peer != instruction.from &&
      !accept_peer(id, instruction.from, lane.from_peer, lane.from))
    return false;
  if (sends(op) && lane.to_peer != instruction.to &&
      !accept_peer(id, instruction.to, lane.to_peer, lane.to))
    return false;
  return accept_spans(id);
}

template <class Values>
bool Interpreter<Values>::accept_signal(std::uint32_t id) {
  LaneState& lane = lanes_[id];
  const bool signals = lane.current->op == Op::signal;
  const Endpoint& other = signals ? lane.current->to : lane.current->from;
  const auto number = layout_.find(other);
  if (!number || *number == id || layout_.position_of(*number) != layout_.position_of(id))
    return fault(
        FaultKind::bad_peer, current(id), "another lane of the same rank", name_of(other),
        concat("is for ", name_of(other), ", but signals go to another lane of the same rank, of ",
               schedule_.lanes()));
  (signals ? lane.to : lane.from) = *number;
  (signals ? lane.to_peer : lane.from_peer).reset();
  return true;
}

template <class Values>
bool Interpreter<Values>::accept_peer(std::uint32_t id, const Endpoint& peer,
                                      std::optional<Endpoint>& accepted, std::uint32_t& number) {
  const auto found = layout_.find(peer);
  if (found && layout_.position_of(*found) != layout_.position_of(id)) [[likely]] {
    accepted = peer;
    number = *found;
    return true;
  }
  const std::string why =
      found ? "is the rank itself"
            : concat("is not among the ", schedule_.size(), " ranks of the group with ",
                     schedule_.lanes(), " lanes each");
  return fault(FaultKind::bad_peer, current(id), "a lane of another rank of the group",
               name_of(peer), "names " + name_of(peer) + ", which " + why);
}

template <class Values>
bool Interpreter<Values>::accept_spans(std::uint32_t id) {
  const Instruction& instruction = *lanes_[id].current;
  const Op op = instruction.op;
  const std::uint32_t position = layout_.position_of(id);
  const Span source = instruction.source();
  const Span destination = instruction.destination();
  if (reads(op) && !layout_.lies_inside(position, source)) return refuse_span(id, source, "reads ");
  if (!stores(op)) return true;
  if (!layout_.lies_inside(position, destination)) return refuse_span(id, destination, "writes ");
  if (!layout_.is_writable(position, destination)) return refuse_write(id);
  if (!reads(op)) return true;
  const Area from = layout_.area(position, source);
  const Area to = layout_.area(position, destination);
  const bool overlaps = from.region == to.region && from.begin != to.begin && from.begin < to.end &&
                        to.begin < from.end;
  return !overlaps || refuse_overlap(id);
}

template <class Values>
bool Interpreter<Values>::refuse_length(std::uint32_t id) {
  const std::string most = std::to_string(options_.max_instructions) + " instructions";
  return fault(FaultKind::too_long, current(id), "an end of the program", "more than " + most,
               "has not ended after " + most);
}

template <class Values>
bool Interpreter<Values>::refuse_instruction(std::uint32_t id) {
  const Instruction& instruction = *lanes_[id].current;
  const auto number = [](auto code) { return std::to_string(static_cast<unsigned>(code)); };
  const std::string found = "operation " + number(instruction.op) + " on buffers " +
                            number(instruction.source_buffer) + " and " +
                            number(instruction.destination_buffer);
  return fault(FaultKind::bad_instruction, current(id), "an operation and buffers that exist",
               found, "is no instruction: " + found);
}

template <class Values>
bool Interpreter<Values>::refuse_span(std::uint32_t id, const Span& span, const char* verb) {
  const std::string size =
      std::to_string(layout_.size_of(layout_.position_of(id), span.buffer)) + " elements";
  const std::string buffer = to_string(span.buffer);
  return fault(FaultKind::bad_span, current(id), "a stretch of the " + size + " of " + buffer,
               name_of(span), verb + name_of(span) + ", but " + buffer + " has " + size);
}

template <class Values>
bool Interpreter<Values>::refuse_write(std::uint32_t id) {
  const std::string where = name_of(lanes_[id].current->destination());
  return fault(FaultKind::input_write, current(id), "writes to output and scratch only", where,
               "writes " + where + ", which is not also part of the output");
}

template <class Values>
bool Interpreter<Values>::refuse_overlap(std::uint32_t id) {
  const Instruction& instruction = *lanes_[id].current;
  return fault(FaultKind::overlap, current(id), "the same memory or disjoint memory",
               name_of(instruction.source()) + " and " + name_of(instruction.destination()),
               "reads and writes memory that overlaps in part");
}

template <class Values>
bool Interpreter<Values>::refuse_unwritten(std::uint32_t id, const Span& span) {
  return fault(FaultKind::unwritten_read, current(id), "data in " + name_of(span),
               "unwritten memory", "reads " + name_of(span) + ", which was never written");
}

template <class Values>
bool Interpreter<Values>::refuse_size(std::uint32_t id, std::int64_t count, std::int64_t sent_at) {
  const LaneState& lane = lanes_[id];
  const std::string wanted = std::to_string(lane.current->count) + " elements";
  return fault(FaultKind::size_mismatch, current(id), wanted, std::to_string(count) + " elements",
               concat("expects ", wanted, ", but the message, sent at step ", sent_at, " of ",
                      name_of(endpoint(lane.from)), ", holds ", count));
}

template <class Values>
bool Interpreter<Values>::refuse_race(std::uint32_t id, const Span& span, bool writes,
                                      const RaceDetector::Conflict& conflict) {
  const Area area = layout_.area(layout_.position_of(id), span);
  const std::string where =
      name_of(span.sub(conflict.begin - area.begin, conflict.end - conflict.begin));
  const std::string other =
      concat("lane ", layout_.lane_of(conflict.earlier.lane).index(), " step ",
             conflict.earlier.step, (conflict.earlier_wrote ? " writes" : " reads"));
  return fault(FaultKind::race, current(id), "a signal and a wait between the two lanes",
               other + " the same memory",
               std::string(writes ? "writes " : "reads ") + where + ", which " + other +
                   " too, and no signal and wait order the two");
}

template <class Values>
bool Interpreter<Values>::refuse_sum(std::uint32_t id, const AddFault& wrong, const Value& left,
                                     const Value& right) {
  if (wrong.kind == FaultKind::double_contribution) {
    const std::string whose =
        concat("rank ", schedule_.rank(wrong.position).index(), "'s contribution");
    return fault(wrong.kind, current(id), "each contribution once", whose + " twice",
                 "adds " + whose + " a second time");
  }
  const std::string mixture = "adds " + Values::contributors(schedule_, right) + " to " +
                              Values::contributors(schedule_, left);
  return fault(wrong.kind, current(id), "the same element of every input", mixture, mixture);
}

template <class Values>
std::string Interpreter<Values>::waits_for(const LaneState& lane) const {
  const std::string other = name_of(endpoint(lane.awaited));
  if (lane.waiting == Waiting::for_message) return "waits for a message from " + other;
  if (lane.waiting == Waiting::for_signal) return "waits for a signal from " + other;
  return "waits for a free slot to " + other;
}

// Follows who waits for whom from the first lane that has not ended: to a lane that has, which can
// never be what is waited for, or around a cycle.
template <class Values>
void Interpreter<Values>::judge_waiting() {
  std::uint32_t id = 0;
  while (id < layout_.all_lanes() && lanes_[id].ended) ++id;
  if (id == layout_.all_lanes()) return;
  std::vector<bool> seen(layout_.all_lanes());
  while (!seen[id]) {
    seen[id] = true;
    const LaneState& lane = lanes_[id];
    if (lanes_[lane.awaited].ended) {
      const std::string other = name_of(endpoint(lane.awaited));
      const FaultKind kind = lane.waiting == Waiting::for_message  ? FaultKind::missing_message
                             : lane.waiting == Waiting::for_signal ? FaultKind::missing_signal
                                                                   : FaultKind::unreceived_message;
      fault(kind, current(id), waits_for(lane), other + " has ended",
            concat(waits_for(lane), ", which has ended after ", lanes_[lane.awaited].step + 1,
                   " instructions"));
      return;
    }
    id = lane.awaited;
  }
  report_cycle(id);
}

template <class Values>
void Interpreter<Values>::report_cycle(std::uint32_t id) {
  std::uint32_t first = id;
  std::size_t length = 0;
  std::uint32_t member = id;
  do {
    first = std::min(first, member);
    ++length;
    member = lanes_[member].awaited;
  } while (member != id);
  constexpr std::size_t shown = 8;
  std::string cycle = waits_for(lanes_[first]);
  member = lanes_[first].awaited;
  for (std::size_t i = 1; i < std::min(shown, length); ++i, member = lanes_[member].awaited) {
    cycle += concat(", which at step ", lanes_[member].step, " (", name_of(*lanes_[member].current),
                    ") ", waits_for(lanes_[member]));
  }
  if (length > shown) cycle += concat(", and so on in a cycle of ", length, " lanes");
  fault(FaultKind::deadlock, current(first), "lanes that do not wait for each other",
        concat("a cycle of ", length, " lanes"), "deadlock: " + cycle);
}

template <class Values>
void Interpreter<Values>::judge_leftovers() {
  const auto* queue = queues_.any_left();
  if (!queue) return;
  const auto source = static_cast<std::uint32_t>(queue->key >> 32);
  const auto target = static_cast<std::uint32_t>(queue->key & 0xffffffffU);
  const std::int64_t step = queues_.front(*queue).step;
  const Blame blame{source, step, instruction_at(source, step)};
  const std::string other = name_of(endpoint(target));
  if (layout_.position_of(source) == layout_.position_of(target))
    fault(FaultKind::unreceived_signal, blame, "a wait of " + other, "none",
          "signals " + other + ", which never waits for it");
  else
    fault(FaultKind::unreceived_message, blame, "a receive of " + other, "none",
          "sends a message to " + other + " that is never received");
}

template <class Values>
void Interpreter<Values>::judge_results() {
  for (std::uint32_t position = 0; position < memory_.size(); ++position)
    for (const Requirement& required :
         requirements(schedule_.collective(), static_cast<int>(position)))
      if (!judge_stretch(position, required)) return;
}

template <class Values>
bool Interpreter<Values>::judge_stretch(std::uint32_t position, const Requirement& required) {
  const Span span{Buffer::output, required.output_offset, required.count};
  const Area area = layout_.area(position, span);
  const Value wanted = required.from ? values_.input(*required.from, required.input_offset)
                                     : values_.reduced(required.input_offset);
  memory_[position].output.visit(
      area.begin, area.end, [&](std::int64_t from, std::int64_t to, const auto* segment) {
        const Value here = Values::advanced(wanted, from - area.begin);
        const Value held =
            segment ? Values::advanced(segment->value, from - segment->begin) : Value{};
        if (report_.fault || (segment && Values::same(held, here))) return;
        Blame blame{layout_.lane_number(position, 0)};
        std::string stored;
        if (const auto writer = segment ? Values::writer(held) : std::nullopt) {
          blame = {writer->lane, writer->step, instruction_at(writer->lane, writer->step)};
          stored = " stores in";
        }
        const Span where = span.sub(from - area.begin, to - from);
        const std::string expected = Values::contributors(schedule_, here);
        const std::string found = segment ? Values::contributors(schedule_, held) : "nothing";
        const std::string sentence =
            name_of(where) + " must start with " + expected + " but " +
            (segment ? "starts with " + found : std::string("it was never written"));
        fault(segment ? FaultKind::wrong_result : FaultKind::unwritten_output, blame, expected,
              found, (stored.empty() ? "" : "stores a wrong result: ") + sentence);
      });
  return !report_.fault;
}

template <class Values>
void Interpreter<Values>::judge_exits() {
  if (schedule_.collective().operation != Operation::barrier) return;
  for (int position = 0; position < schedule_.size(); ++position) {
    const auto missing = knowledge_.not_awaited_by(position);
    if (!missing) continue;
    const std::string other = "rank " + std::to_string(schedule_.rank(*missing).index());
    fault(FaultKind::early_exit, {layout_.lane_number(static_cast<std::uint32_t>(position), 0)},
          "an end that follows the start of " + other, "no chain of messages from it",
          "may leave the barrier before " + other + " has come");
    return;
  }
}

// Every program made for a lane yields the same instructions: no need to store them.
template <class Values>
std::optional<Instruction> Interpreter<Values>::instruction_at(std::uint32_t id,
                                                               std::int64_t step) const {
  LaneProgram program =
      schedule_.program(static_cast<int>(layout_.position_of(id)), layout_.lane_of(id));
  const Instruction* instruction = program.next();
  while (instruction && step-- > 0) instruction = program.next();
  return instruction ? std::optional(*instruction) : std::nullopt;
}

template <class Values>
bool Interpreter<Values>::fault(FaultKind kind, const Blame& blame, std::string expected,
                                std::string found, const std::string& sentence) {
  if (report_.fault) return false;
  const Endpoint where = endpoint(blame.lane);
  std::string text = blame.step < 0 ? "rank " + std::to_string(where.rank.index()) : name_of(where);
  if (blame.step >= 0) text += " step " + std::to_string(blame.step);
  if (blame.instruction && kind != FaultKind::bad_instruction)
    text += " (" + name_of(*blame.instruction) + ")";
  report_.fault = Fault{kind,
                        where.rank,
                        where.lane,
                        blame.step,
                        blame.instruction,
                        std::move(expected),
                        std::move(found),
                        text + ": " + sentence};
  return false;
}

template class Interpreter<LinearForms>;
template class Interpreter<ContributorLists>;
template class Interpreter<NoValues>;

}  // namespace collsim::checker
