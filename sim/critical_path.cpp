// SPDX-License-Identifier: Apache-2.0
#include "sim/critical_path.hpp"

#include <algorithm>

#include "sim/connections.hpp"
#include "sim/message_router.hpp"

namespace collsim {

namespace {

using Kind = CriticalPath::Kind;

// Walks from the end to the start, always to what delayed the current moment.
class Walk {
 public:
  Walk(const Topology& topology, const Schedule& schedule, const Timeline& timeline)
      : steps_(timeline.steps),
        router_(topology, schedule),
        topology_(topology),
        schedule_(schedule) {}

  CriticalPath back_from(Time end) {
    now_ = end;
    enter_last_step();
    while (now_ > Time{}) (this->*next_)();
    std::reverse(path_.segments.begin(), path_.segments.end());
    return std::move(path_);
  }

 private:
  using State = void (Walk::*)();

  void go_to(std::uint32_t step, State state) {
    current_ = step;
    next_ = state;
  }
  void spend_until(Time earlier, Kind kind) {
    if (earlier < now_) path_.segments.push_back({kind, earlier, now_, current_});
    now_ = std::min(now_, earlier);
  }
  [[nodiscard]] const Step& step() const { return steps_[current_]; }

  void enter_last_step() {
    for (std::uint32_t i = 0; i < steps_.size(); ++i) {
      if (steps_[i].ended == now_) return go_to(i, &Walk::at_end_of_instruction);
      if (sends(steps_[i].instruction.op) && steps_[i].left == now_)
        return go_to(i, &Walk::at_end_of_wire);
    }
    go_to(Step::none, &Walk::at_start);  // a rank without instructions is the last to start
  }

  void at_start() { spend_until(Time{}, Kind::start); }

  void at_end_of_instruction() {
    spend_until(step().began, Kind::work);
    const Step& here = step();
    if (here.began > here.reached) {
      if (here.message_from != Step::none && arrival_of(here.message_from) == here.began)
        return go_to(here.message_from, steps_[here.message_from].instruction.op == Op::signal
                                            ? &Walk::at_end_of_instruction
                                            : &Walk::at_arrival);
      COLLSIM_CHECK(here.slot_freed_by != Step::none, "a step began late for no recorded reason");
      return go_to(here.slot_freed_by, &Walk::at_end_of_instruction);
    }
    if (here.index == 0) return go_to(current_, &Walk::at_start);
    go_to(current_ - 1, &Walk::at_end_of_instruction);
  }

  void at_arrival() {
    spend_until(step().left, Kind::flight);
    next_ = &Walk::at_end_of_wire;
  }

  void at_end_of_wire() {
    Path path;
    for (const LinkId link : router_.route({step().rank, step().lane}, step().instruction.to))
      path.add(topology_.link(link));
    const Time alone = transfer_time(
        step().instruction.count * size_of(schedule_.collective().type), path.bandwidth);
    const bool delays_only = !path.crosses(Path::exclusive);
    const Time flow_begins = delays_only ? step().departed : step().departed + path.startup;
    spend_until(std::min(now_, flow_begins + alone), Kind::sharing);
    spend_until(flow_begins, Kind::wire);
    if (!delays_only) spend_until(step().departed, Kind::startup);
    const Time ready = step().ended + (delays_only ? path.startup : Time{});
    if (now_ > ready && step().queued_behind != Step::none)
      return go_to(step().queued_behind, &Walk::at_end_of_wire);
    spend_until(ready, Kind::queue);
    spend_until(step().ended, Kind::startup);
    next_ = &Walk::at_end_of_instruction;
  }

  [[nodiscard]] Time arrival_of(std::uint32_t step) const { return steps_[step].arrived; }

  const std::vector<Step>& steps_;
  MessageRouter router_;
  const Topology& topology_;
  const Schedule& schedule_;
  CriticalPath path_;
  Time now_{};
  std::uint32_t current_ = 0;
  State next_ = nullptr;
};

}  // namespace

std::string_view to_string(CriticalPath::Kind kind) {
  switch (kind) {
    case Kind::start: return "start";
    case Kind::work: return "work";
    case Kind::startup: return "startup";
    case Kind::wire: return "wire";
    case Kind::sharing: return "sharing";
    case Kind::flight: return "flight";
    case Kind::queue: return "queue";
  }
  return "unknown";
}

Time CriticalPath::total(Kind kind) const {
  Time sum{};
  for (const Segment& segment : segments)
    if (segment.kind == kind) sum += segment.to - segment.from;
  return sum;
}

CriticalPath critical_path(const Topology& topology, const Schedule& schedule,
                           const Simulation& simulation) {
  if (!simulation.timeline)
    throw_error(ErrorCode::invalid_argument,
                "the critical path needs a simulation with Recording::full");
  return Walk(topology, schedule, *simulation.timeline).back_from(simulation.time);
}

}  // namespace collsim
