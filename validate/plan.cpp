// SPDX-License-Identifier: Apache-2.0
#include "validate/plan.hpp"

#include <algorithm>
#include <cstdio>
#include <map>
#include <span>
#include <utility>

#include "validate/plan_layout.hpp"

namespace collsim {
namespace {

constexpr std::uint64_t slot_alignment = 128;

constexpr std::uint64_t rounded_up(std::uint64_t bytes, std::uint64_t to) {
  return (bytes + to - 1) / to * to;
}

std::uint64_t wire_bytes(std::uint64_t bytes, Protocol protocol) {
  if (protocol == Protocol::simple) return bytes;
  const std::uint64_t lines =
      std::max<std::uint64_t>(1, (bytes + low_latency_data - 1) / low_latency_data);
  return lines * sizeof(LowLatencyLine);
}

std::string name(const Endpoint& end) {
  return "rank " + std::to_string(end.rank.index()) + " lane " + std::to_string(end.lane.index());
}

// What a stream is doing, as its author would say it.
std::string text_of(const Workload& workload, const PlannedLine& planned) {
  const Action& action = planned.line.action;
  const auto stream = [&](std::size_t number) { return workload.stream_names()[number]; };
  std::string text = "stream " + stream(action.stream) + ", ";
  switch (action.kind) {
    case Action::Kind::work: return text + "work";
    case Action::Kind::drain: return text + "drain";
    case Action::Kind::update: return text + "set";
    case Action::Kind::send: return text + "send to rank " + std::to_string(action.peer.index());
    case Action::Kind::receive:
      return text + "receive from rank " + std::to_string(action.peer.index());
    case Action::Kind::record: return text + "record for stream " + stream(action.other);
    case Action::Kind::wait: return text + "wait for stream " + stream(action.other);
    case Action::Kind::collective: break;
  }
  return text + std::string(to_string(action.call.operation)) + " of " +
         workload.communicators()[action.communicator].name + " (call " +
         std::to_string(planned.call) + ")";
}

// The lane of a step: "rank 3 stream compute", "rank 3 communicator world".
std::string name(const Workload& workload, const Endpoint& end) {
  std::string text = "rank " + std::to_string(end.rank.index());
  const auto streams = static_cast<std::size_t>(workload.streams());
  if (end.lane.index() < streams)
    return text + " stream " + workload.stream_names()[end.lane.index()];
  std::size_t lanes = streams;
  for (const Communicator& communicator : workload.communicators()) {
    lanes += static_cast<std::size_t>(communicator.lanes);
    if (end.lane.index() < lanes) return text + " communicator " + communicator.name;
  }
  return text;
}

// "rank 3 stream comm, all-reduce of world (call 2)": what a lane is doing that is at a step.
std::string name(const Workload& workload, const Endpoint& end, std::span<const PlannedLine> lines,
                 std::uint32_t step) {
  for (const PlannedLine& line : lines)
    if (line.first <= step && step < line.end)
      return "rank " + std::to_string(end.rank.index()) + " " + text_of(workload, line);
  return name(workload, end);
}

// Pulls every program once and lays it out.
class Planner {
 public:
  template <class Kind>
  Planner(const Kind& programs, Protocol protocol, const PlanLimits& limits)
      : limits_(limits),
        element_(static_cast<std::uint64_t>(programs.element_size())),
        layout_(layout_of(programs)),
        plan_{.programs = programs, .protocol = protocol} {}

  Plan plan(std::optional<Schedule> schedule, std::optional<Workload> workload) {
    plan_.schedule = std::move(schedule);
    plan_.workload = std::move(workload);
    const Programs& programs = plan_.programs;
    std::uint64_t bytes = 0;
    for (int position = 0; position < programs.size(); ++position)
      positions_[programs.rank(position)] = position;
    for (int position = 0; position < programs.size(); ++position) {
      plan_.memory.push_back(layout_->begin_rank(position));
      bytes += plan_.memory.back().bytes;
      if (bytes > limits_.bytes) too_much_memory();
      for (int lane = 0; lane < programs.lanes(); ++lane) add_lane(position, lane);
    }
    size_wires();
    if (plan_.bytes() > limits_.bytes) too_much_memory();
    return std::move(plan_);
  }

 private:
  // The two ends of a wire count its messages as they come along.
  struct Ends {
    std::uint32_t wire = 0;
    std::uint32_t sent = 0, received = 0;
    bool signals = false;
    std::vector<std::uint64_t> sizes;  // of messages, as the first end to come along says
  };

  void add_lane(int position, int lane) {
    lane_ = PlannedLane{static_cast<std::uint32_t>(position), static_cast<std::uint32_t>(lane),
                        static_cast<std::uint32_t>(plan_.steps.size()), 0};
    const Lane id{static_cast<std::size_t>(lane)};
    me_ = {plan_.programs.rank(position), id};
    layout_->begin_lane(id);
    LaneProgram program = plan_.programs.program(position, id);
    while (const Instruction* instruction = program.next()) {
      add_step(*instruction);
      ++lane_.step_count;
    }
    const std::vector<PlannedLine> lines = layout_->take_lines();
    lane_.first_line = static_cast<std::uint32_t>(plan_.lines.size());
    lane_.line_count = static_cast<std::uint32_t>(lines.size());
    plan_.lines.insert(plan_.lines.end(), lines.begin(), lines.end());
    if (lane_.step_count == 0 && lines.empty()) return;
    numbers_[me_] = static_cast<std::uint32_t>(plan_.lanes.size());
    plan_.lanes.push_back(lane_);
  }

  void add_step(const Instruction& instruction) {
    if (plan_.steps.size() >= limits_.steps)
      throw_error(ErrorCode::too_large,
                  "a real run is limited to " + std::to_string(limits_.steps) +
                      " instructions; this schedule has more: use fewer ranks or chunks");
    const Op op = instruction.op;
    if (!exists(op)) refuse("is not an instruction");
    const PlanLayout::Place& place = layout_->next(instruction);
    LaneStep step;
    step.op = op;
    step.type = place.type;
    step.reduction = place.reduction;
    if (takes_time_only(op)) {
      step.bytes = static_cast<std::uint64_t>((instruction.count + 500) / 1000);  // ps
    } else if (!orders_lanes(op)) {
      step.bytes = static_cast<std::uint64_t>(instruction.count) * element_;
      if (reads(op)) step.source = place_of(instruction.source(), place);
      if (stores(op)) step.destination = place_of(instruction.destination(), place);
    }
    if (takes_from_lane(op)) {
      Ends& ends = ends_of(instruction.from, me_, op == Op::wait);
      step.from = ends.wire;
      step.from_message = take_size(ends, ends.received++, step.bytes);
    }
    if (gives_to_lane(op)) {
      Ends& ends = ends_of(me_, instruction.to, op == Op::signal);
      step.to = ends.wire;
      step.to_message = take_size(ends, ends.sent++, step.bytes);
    }
    plan_.steps.push_back(step);
    plan_.instructions.push_back(instruction);
  }

  [[nodiscard]] std::string name_of(const Endpoint& end) const {
    return plan_.workload ? name(*plan_.workload, end) : name(end);
  }
  [[noreturn]] void refuse(const std::string& why) const {
    const std::string who =
        plan_.workload ? name(*plan_.workload, me_, layout_->take_lines(), lane_.step_count)
                       : name(me_);
    throw_error(ErrorCode::bad_schedule,
                who + " step " + std::to_string(lane_.step_count) + " " + why);
  }

  [[nodiscard]] std::uint64_t place_of(const Span& span, const PlanLayout::Place& place) const {
    const PlannedMemory& buffers = place.buffers;
    std::uint64_t bytes = 0, begin = place.at;
    switch (span.buffer) {
      case Buffer::input: bytes = buffers.input_bytes, begin += buffers.input; break;
      case Buffer::output: bytes = buffers.output_bytes, begin += buffers.output; break;
      case Buffer::scratch: bytes = buffers.scratch_bytes, begin += buffers.scratch; break;
    }
    const auto count = static_cast<std::int64_t>(bytes / element_);
    if (span.offset < 0 || span.count < 0 || span.offset > count ||
        span.count > count - span.offset)
      refuse("leaves its " + std::string(to_string(span.buffer)));
    return begin + static_cast<std::uint64_t>(span.offset) * element_;
  }

  Ends& ends_of(const Endpoint& from, const Endpoint& to, bool signals) {
    const Endpoint& other = from == me_ ? to : from;
    if (!positions_.contains(other.rank) ||
        other.lane.index() >= static_cast<std::size_t>(plan_.programs.lanes()))
      refuse("names " + name_of(other) + ", which does not exist");
    if ((other.rank == me_.rank) != signals || other == me_)
      refuse(signals ? "orders lanes of different ranks" : "sends to a lane of the same rank");
    const auto [at, is_new] = ends_.try_emplace({from, to});
    if (is_new) {
      at->second.wire = static_cast<std::uint32_t>(wires_.size());
      at->second.signals = signals;
      wires_.push_back(&*at);
    }
    return at->second;
  }

  std::uint32_t take_size(Ends& ends, std::uint32_t number, std::uint64_t bytes) const {
    if (number < ends.sizes.size()) {
      if (ends.sizes[number] != bytes)
        refuse("has " + std::to_string(bytes) + " bytes, but the other end of its message " +
               std::to_string(ends.sizes[number]));
    } else {
      ends.sizes.push_back(bytes);
    }
    return number;
  }

  void size_wires() {
    for (const auto* entry : wires_) {
      const Ends& ends = entry->second;
      PlannedWire wire;
      wire.sender = number_of(entry->first.first);
      wire.receiver = number_of(entry->first.second);
      wire.messages = std::max(ends.sent, ends.received);
      if (!ends.signals) {
        const auto wanted = static_cast<std::uint32_t>(
            plan_.programs.slots().value_or(static_cast<int>(wire.messages)));
        wire.slots = std::clamp<std::uint32_t>(wanted, 1, std::max(1U, wire.messages));
        const std::uint64_t largest = *std::max_element(ends.sizes.begin(), ends.sizes.end());
        wire.slot_bytes = rounded_up(wire_bytes(largest, plan_.protocol), slot_alignment);
      }
      plan_.wires.push_back(wire);
    }
  }

  // A peer without instructions never answers: report it to the lanes that wait for it.
  [[nodiscard]] std::uint32_t number_of(const Endpoint& end) const {
    const auto at = numbers_.find(end);
    if (at == numbers_.end())
      throw_error(ErrorCode::bad_schedule,
                  name_of(end) + " is the peer of a lane but has no instructions");
    return at->second;
  }

  [[noreturn]] void too_much_memory() const {
    throw_error(
        ErrorCode::too_large,
        "a real run is limited to " + std::to_string(limits_.bytes >> 20U) +
            " MiB for the buffers and slots of all ranks; this one needs more: use a smaller "
            "size or fewer ranks, or limit the slots of a connection (\"slots\")");
  }

  PlanLimits limits_;
  std::uint64_t element_;
  std::unique_ptr<PlanLayout> layout_;
  Plan plan_;
  std::map<Rank, int> positions_;
  std::map<std::pair<Endpoint, Endpoint>, Ends> ends_;
  std::vector<const std::pair<const std::pair<Endpoint, Endpoint>, Ends>*> wires_;  // by number
  std::map<Endpoint, std::uint32_t> numbers_;
  PlannedLane lane_;
  Endpoint me_{};
};

Endpoint end_of(const Plan& plan, std::uint32_t number) {
  const PlannedLane& lane = plan.lanes[number];
  return {plan.programs.rank(static_cast<int>(lane.position)), Lane(lane.lane)};
}

Time time_after(std::uint64_t ns, std::uint64_t start) {
  return ns <= start ? Time{} : nanoseconds(static_cast<std::int64_t>(ns - start));
}

}  // namespace

std::uint64_t Plan::bytes() const {
  std::uint64_t bytes = 0;
  for (const PlannedMemory& rank : memory) bytes += rank.bytes;
  for (const PlannedWire& wire : wires) bytes += wire.slots * wire.slot_bytes;
  return bytes;
}

Plan make_plan(const Schedule& schedule, Protocol protocol, const PlanLimits& limits) {
  return Planner(schedule, protocol, limits).plan(schedule, {});
}

Plan make_plan(const Workload& workload, Protocol protocol, const PlanLimits& limits) {
  return Planner(workload, protocol, limits).plan({}, workload);
}

std::string describe(const Trouble& trouble, const Plan& plan, double waited_s) {
  const auto name_of = [&plan](std::uint32_t lane) {
    const Endpoint end = end_of(plan, lane);
    return plan.workload ? name(*plan.workload, end) : name(end);
  };
  const PlannedLane& lane = plan.lanes[trouble.lane];
  const std::span<const PlannedLine> lines =
      std::span(plan.lines).subspan(lane.first_line, lane.line_count);
  const std::string me = plan.workload
                             ? name(*plan.workload, end_of(plan, trouble.lane), lines, trouble.step)
                             : name_of(trouble.lane);
  char waited[32];
  const bool for_signal = trouble.kind == WaitKind::signal;
  std::snprintf(waited, sizeof waited, "%.3g s", for_signal ? 2 * waited_s : waited_s);
  if (trouble.kind == WaitKind::start)
    return me + " waited " + waited +
           " for the other lanes to start: " + std::to_string(trouble.seen) + " of " +
           std::to_string(trouble.wanted) + " had come";
  const LaneStep& step = plan.steps[lane.first_step + trouble.step];
  std::string text = me + " step " + std::to_string(trouble.step) + " (" + to_string(step.op) +
                     ") waited " + waited;
  if (trouble.kind == WaitKind::links) return text + " for the emulated links";
  if (trouble.kind == WaitKind::gpu) return text + " for its GPU";
  if (trouble.wire == no_wire) return me + " gave up";
  const PlannedWire& wire = plan.wires[trouble.wire];
  const std::string sender = " from " + name_of(wire.sender);
  const std::string receiver = name_of(wire.receiver);
  const std::string received = std::to_string(step.from_message) + sender;
  // Counters go on from run to run.
  const auto in_this_run = [&](std::uint64_t before) {
    return std::to_string(trouble.seen - std::min(before, trouble.seen));
  };
  const std::uint64_t came_before = trouble.wanted - 1 - step.from_message;
  const std::uint64_t left_before = trouble.wanted - 1 + wire.slots - step.to_message;
  switch (trouble.kind) {
    case WaitKind::message:
      return text + " for message " + received + ": " + in_this_run(came_before) + " had come";
    case WaitKind::lines: return text + " for message " + received;
    case WaitKind::signal:
      return text + " for signal " + received + ": " + in_this_run(came_before) + " had come";
    default:
      return text + " for one of " + std::to_string(wire.slots) + " slots to " + receiver +
             " to send message " + std::to_string(step.to_message) + ": " +
             in_this_run(left_before) + " had been taken out";
  }
}

std::string name_of_line(const Plan& plan, int position, const PlannedLine& line) {
  return "rank " + std::to_string(plan.programs.rank(position).index()) + " " +
         text_of(*plan.workload, line);
}

Timeline measured_timeline(const Plan& plan, const std::vector<StepTimes>& times,
                           const std::vector<std::uint64_t>& starts) {
  Timeline timeline;
  timeline.steps.reserve(plan.steps.size());
  for (std::size_t number = 0; number < plan.lanes.size(); ++number) {
    const PlannedLane& lane = plan.lanes[number];
    const Endpoint me = end_of(plan, static_cast<std::uint32_t>(number));
    for (std::uint32_t i = 0; i < lane.step_count; ++i) {
      const StepTimes& measured = times[lane.first_step + i];
      Step step;
      step.rank = me.rank;
      step.lane = me.lane;
      step.index = i;
      step.instruction = plan.instructions[lane.first_step + i];
      step.reached = time_after(measured.reached, starts[number]);
      step.began = time_after(measured.began, starts[number]);
      step.ended = time_after(measured.ended, starts[number]);
      if (gives_to_lane(step.instruction.op)) {
        const bool paced = measured.arrives != 0;
        step.departed = paced ? time_after(measured.departed, starts[number]) : step.ended;
        step.arrived = paced ? time_after(measured.arrives, starts[number]) : step.ended;
        step.left = paced ? time_after(measured.left, starts[number]) : step.ended;
      }
      timeline.steps.push_back(step);
    }
  }
  std::stable_sort(timeline.steps.begin(), timeline.steps.end(), [](const Step& a, const Step& b) {
    return std::pair(a.rank, a.lane) < std::pair(b.rank, b.lane);
  });
  return timeline;
}

}  // namespace collsim
