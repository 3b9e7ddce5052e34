// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "app/explain/explanation_internal.hpp"
#include "app/study/effort.hpp"
#include "topo/routes.hpp"

namespace collsim {
namespace {

using Kind = CriticalPath::Kind;

constexpr double max_summarised_instructions = 60e6;

bool is_message(const CriticalPath::Segment& segment) {
  return segment.kind == Kind::startup || segment.kind == Kind::wire ||
         segment.kind == Kind::sharing;
}

// Time of the path during which the message that the path came to later was ready and waited for
// links that messages of other ranks held.  Walks back with the message that waits.
Time waiting_for_others(const Timeline& timeline, const CriticalPath& path) {
  Time sum{};
  Time ready{};
  std::uint32_t waiter = Step::none;
  std::uint32_t later = Step::none;  // the message whose segments were seen last
  for (auto segment = path.segments.rbegin(); segment != path.segments.rend(); ++segment) {
    if (!is_message(*segment)) {
      // Only along a queue does the path lead from one message straight to another.
      waiter = later = Step::none;
      continue;
    }
    const Step& here = timeline.steps[segment->step];
    if (later != Step::none && later != segment->step) {
      const Step& next = timeline.steps[later];
      if (waiter == Step::none && next.queued_behind == segment->step && next.rank != here.rank) {
        waiter = later;
        ready = next.ended;
      }
    }
    if (waiter != Step::none && timeline.steps[waiter].rank == here.rank) waiter = Step::none;
    if (waiter != Step::none && segment->to > ready)
      sum += segment->to - std::max(ready, segment->from);
    later = segment->step;
  }
  return sum;
}

// Which messages crossed a link, in a recorded run.
class Crossings {
 public:
  explicit Crossings(const Topology& topology) : router_(topology), topology_(topology) {}

  [[nodiscard]] bool crosses(const Step& step, LinkId link) {
    if (!sends(step.instruction.op) || gives_no_message(step)) return false;
    const auto key = std::make_tuple(step.rank, step.instruction.to.rank, step.lane);
    const auto known = known_.find(key);
    if (known != known_.end()) return known->second;
    const auto route = router_.route(step.rank, step.instruction.to.rank, step.lane);
    const bool found = std::any_of(route.begin(), route.end(), [&](LinkId id) {
      return topology_.link(id).resource == topology_.link(link).resource;
    });
    known_.emplace(key, found);
    return found;
  }

 private:
  static bool gives_no_message(const Step& step) { return orders_lanes(step.instruction.op); }

  Router router_;
  const Topology& topology_;
  std::map<std::tuple<Rank, Rank, Lane>, bool> known_;
};

std::optional<BusiestLink> busiest_link(const Topology& topology, const Simulation& simulation) {
  const LinkUsage* busiest = nullptr;
  std::size_t at = 0;
  std::size_t equal = 0;
  for (std::size_t i = 0; i < simulation.links.size(); ++i) {
    const LinkUsage& usage = simulation.links[i];
    if (usage.messages == 0) continue;
    if (busiest == nullptr || usage.busy > busiest->busy) {
      busiest = &usage;
      at = i;
      equal = 0;
    } else if (usage.busy == busiest->busy) {
      ++equal;
    }
  }
  if (busiest == nullptr) return std::nullopt;
  BusiestLink result;
  result.name = topology.name(LinkId(at));
  result.messages = busiest->messages;
  result.bytes = busiest->bytes;
  result.busy = busiest->busy;
  result.equally_busy = equal;
  // The other direction of a half duplex link keeps it busy too, and is counted by itself.
  if (!simulation.timeline || topology.link(LinkId(at)).half_duplex) return result;

  Crossings crossings(topology);
  Time first = Time::never();
  Time last{};
  for (const Step& step : simulation.timeline->steps) {
    if (!crossings.crosses(step, LinkId(at))) continue;
    first = std::min(first, step.departed);
    last = std::max(last, step.left);
  }
  result.fill = first;
  // Fair rates are rounded: a link may be "busy" a little longer than its messages took.
  result.gaps = std::max(Time{}, last - first - busiest->busy);
  result.drain = simulation.time - last;
  return result;
}

void add_path(const Case& point, const Simulation& simulation, const CriticalPath& path,
              Breakdown& result) {
  const Timeline& timeline = *simulation.timeline;
  std::uint32_t last_message = Step::none;
  for (const CriticalPath::Segment& segment : path.segments) {
    const TimeShares shares = shares_of(segment, timeline, point.costs);
    result.path += shares;
    if (shares.reduction > Time{}) ++result.reductions;
    if ((is_message(segment) || segment.kind == Kind::flight) && segment.step != last_message) {
      ++result.messages;
      last_message = segment.step;
    }
  }
  result.launch = std::min(point.costs.launch, result.path.start);
  result.waiting_for_others = waiting_for_others(timeline, path);
  result.lines = path_lines(point, timeline, path);
}

}  // namespace

Time TimeShares::total() const {
  return start + reduction + copy + instructions + startup + wire + sharing + flight + queue;
}

TimeShares& TimeShares::operator+=(const TimeShares& other) {
  start += other.start;
  reduction += other.reduction;
  copy += other.copy;
  instructions += other.instructions;
  startup += other.startup;
  wire += other.wire;
  sharing += other.sharing;
  flight += other.flight;
  queue += other.queue;
  return *this;
}

TimeShares shares_of(const CriticalPath::Segment& segment, const Timeline& timeline,
                     const CostModel& costs) {
  TimeShares shares;
  const Time time = segment.to - segment.from;
  switch (segment.kind) {
    case Kind::start: shares.start = time; break;
    case Kind::startup: shares.startup = time; break;
    case Kind::wire: shares.wire = time; break;
    case Kind::sharing: shares.sharing = time; break;
    case Kind::flight: shares.flight = time; break;
    case Kind::queue: shares.queue = time; break;
    case Kind::work: {
      shares.instructions = std::min(time, costs.instruction_overhead);
      const Time rest = time - shares.instructions;
      (reduces(timeline.steps[segment.step].instruction.op) ? shares.reduction : shares.copy) =
          rest;
      break;
    }
  }
  return shares;
}

Simulation recorded_run(const Case& point, const Schedule& schedule, const Row& row) {
  SimulationOptions how;
  how.late = point.cluster->late;
  const Topology& topology = point.cluster->topology;
  const double estimate = effort_of(point, schedule).instructions;
  if (estimate <= 2.0 * static_cast<double>(max_explained_instructions)) {
    how.recording = Recording::full;
    how.max_recorded_steps = max_explained_instructions;
    try {
      return simulate(topology, schedule, point.costs, how);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::too_large) throw;
    }
  }
  if (estimate > max_summarised_instructions) {
    Simulation unrecorded;
    unrecorded.time = row.time;
    unrecorded.instructions = static_cast<std::uint64_t>(std::llround(std::min(estimate, 1e18)));
    return unrecorded;
  }
  how.recording = Recording::summary;
  return simulate(topology, schedule, point.costs, how);
}

Breakdown explain_breakdown(const Case& point, const Schedule& schedule,
                            const Simulation& simulation) {
  Breakdown result;
  result.instructions = simulation.instructions;
  result.busiest = busiest_link(point.cluster->topology, simulation);
  result.every_step_recorded = simulation.timeline.has_value();
  if (result.every_step_recorded)
    add_path(point, simulation, critical_path(point.cluster->topology, schedule, simulation),
             result);
  return result;
}

}  // namespace collsim
