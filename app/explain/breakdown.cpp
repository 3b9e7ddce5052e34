// SPDX-License-Identifier: Apache-2.0
//
// A critical path of up to millions of segments, told in a dozen lines: segments of one step become
// an event, events of one kind a line, lines that repeat are told once.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "app/explain/explanation_internal.hpp"
#include "app/study/run_case.hpp"

namespace collsim {
namespace {

using Kind = CriticalPath::Kind;
using Shape = PathLine::Shape;

struct End {
  std::uint32_t rank = 0;
  Programs::Place place{};
  friend bool operator==(const End&, const End&) = default;
};

// A message with the work before it, work alone, or a late start.
struct Event {
  bool message = false;
  bool start = false;
  End from, to;  // alike without a message
  Bytes bytes = 0;
  bool waited_for_others = false;
  bool queued = false;  // it follows the event before only because that held its link
  TimeShares shares;
  Time begin, end;
};

class EventReader {
 public:
  EventReader(const Case& one_case, const Programs& programs, const Timeline& timeline)
      : one_case_(one_case), programs_(programs), timeline_(timeline) {}

  std::vector<Event> read(const CriticalPath& path) {
    for (const CriticalPath::Segment& segment : path.segments) take(segment);
    return std::move(events_);
  }

 private:
  void take(const CriticalPath::Segment& segment) {
    const bool message = segment.kind != Kind::work && segment.kind != Kind::start;
    if (message ? !continues_message(segment) : true) begin_event(segment, message);
    Event& event = events_.back();
    TimeShares shares = shares_of(segment, timeline_, one_case_.costs);
    shares.wire += std::exchange(shares.hops, Time{});  // its line says from which rank to which
    event.shares += shares;
    event.waited_for_others |= waited_for_others(segment);
    event.end = segment.to;
    last_step_ = segment.step;
    last_was_message_ = message;
    last_was_work_ = segment.kind == Kind::work;
  }

  // The message goes on, or the work before was the instruction that sends it.
  [[nodiscard]] bool continues_message(const CriticalPath::Segment& segment) {
    if (events_.empty() || last_step_ != segment.step) return false;
    if (last_was_message_) return true;
    if (!last_was_work_) return false;
    become_message(events_.back(), segment.step);
    return true;
  }

  void begin_event(const CriticalPath::Segment& segment, bool message) {
    Event event;
    event.begin = segment.from;
    event.start = segment.kind == Kind::start;
    event.queued = message && waited_for_last(segment);
    if (segment.step != Step::none) {
      const Step& step = timeline_.steps[segment.step];
      event.from = event.to = end_of({step.rank, step.lane});
      if (message) become_message(event, segment.step);
    } else {
      event.from = event.to = End{.rank = last_to_start()};
    }
    events_.push_back(event);
  }

  void become_message(Event& event, std::uint32_t number) {
    const Step& step = timeline_.steps[number];
    event.message = true;
    event.from = end_of({step.rank, step.lane});
    event.to = end_of(step.instruction.to);
    event.bytes = step.instruction.count * size_of(one_case_.collective.type);
  }

  [[nodiscard]] bool waited_for_others(const CriticalPath::Segment& segment) const {
    if (segment.crossing == Step::none) return false;
    const std::uint32_t behind = timeline_.crossings[segment.crossing].queued_behind;
    return behind != Step::none &&
           timeline_.steps[behind].rank != timeline_.steps[segment.step].rank;
  }

  // On any link, since a queue may be for one whose crossing is not on the path.
  [[nodiscard]] bool waited_for_last(const CriticalPath::Segment& segment) const {
    const auto crossings = timeline_.crossings_of(timeline_.steps[segment.step]);
    return last_step_ != Step::none &&
           std::ranges::find(crossings, last_step_, &Crossing::queued_behind) != crossings.end();
  }

  [[nodiscard]] std::uint32_t last_to_start() const {
    Rank last = one_case_.collective.group.front();
    Time latest{};
    for (const auto& [rank, late] : late_ranks(*one_case_.cluster, one_case_.collective.group))
      if (late > latest) {
        latest = late;
        last = rank;
      }
    return rank_of(last);
  }
  [[nodiscard]] End end_of(Endpoint lane) const {
    return {rank_of(lane.rank), programs_.place(lane.lane)};
  }
  static std::uint32_t rank_of(Rank rank) { return static_cast<std::uint32_t>(rank.index()); }

  const Case& one_case_;
  const Programs& programs_;
  const Timeline& timeline_;
  std::vector<Event> events_;
  std::uint32_t last_step_ = Step::none;
  bool last_was_message_ = false;
  bool last_was_work_ = false;
};

// --- lines --------------------------------------------------------------------------------------

bool nearly(Time a, Time b) {
  const auto difference = static_cast<double>(std::abs(a.ps() - b.ps()));
  return difference <= 2 || difference <= 0.01 * static_cast<double>(std::max(a, b).ps());
}

bool cost_alike(const TimeShares& a, const TimeShares& b) {
  return nearly(a.start, b.start) && nearly(a.reduction, b.reduction) && nearly(a.copy, b.copy) &&
         nearly(a.instructions, b.instructions) && nearly(a.startup, b.startup) &&
         nearly(a.wire, b.wire) && nearly(a.sharing, b.sharing) && nearly(a.queue, b.queue);
}
// Of messages that queue for a link only the last one's flight is on the path.
bool cost_alike(const TimeShares& a, const TimeShares& b, Shape shape) {
  return cost_alike(a, b) && (shape != Shape::relay || nearly(a.flight, b.flight));
}

// The line on which an event goes on after another; nothing: it begins a line of its own.
std::optional<Shape> following(const Event& before, const Event& event) {
  if (before.start || event.start || before.message != event.message) return std::nullopt;
  if (!event.message) {
    if (before.from != event.from) return std::nullopt;
    return Shape::work;
  }
  if (before.from == event.from) return before.to == event.to ? Shape::train : Shape::fan_out;
  if (before.to == event.from && !event.queued) return Shape::relay;
  if (before.to == event.to) return Shape::fan_in;
  return std::nullopt;
}

Shape alone(const Event& event) {
  return event.start ? Shape::start : event.message ? Shape::train : Shape::work;
}

void put_end(PathLine& line, const End& end) {
  line.ranks.push_back(end.rank);
  line.places.push_back(end.place);
}

void put_first_ends(PathLine& line, const Event& event) {
  const bool fans_in = line.shape == Shape::fan_in;
  put_end(line, fans_in ? event.to : event.from);
  if (event.message) put_end(line, fans_in ? event.from : event.to);
}

// The route of a message, or all ends it concerns, each once.
void show_end(PathLine& line, const End& end) {
  if (line.shape != Shape::relay)
    for (std::size_t i = 1; i < line.ranks.size(); ++i)
      if (End{line.ranks[i], line.places[i]} == end) return;
  if (line.ranks.size() < max_ranks_shown) return put_end(line, end);
  line.ranks.back() = end.rank;
  line.places.back() = end.place;
  line.more_ranks = true;
}

void absorb(PathLine& line, const Event& event, Shape shape) {
  if (shape == Shape::relay || shape == Shape::fan_out) show_end(line, event.to);
  if (shape == Shape::fan_in) show_end(line, event.from);
  ++line.count;
  line.smallest = std::min(line.smallest, event.bytes);
  line.largest = std::max(line.largest, event.bytes);
  line.waited_for_others = line.waited_for_others || event.waited_for_others;
  line.shares += event.shares;
  line.to = event.end;
}

PathLine line_of(const Event& event, Shape shape) {
  PathLine line;
  line.shape = shape;
  put_first_ends(line, event);
  line.count = 1;
  line.smallest = line.largest = event.bytes;
  line.waited_for_others = event.waited_for_others;
  line.shares = event.shares;
  line.from = event.begin;
  line.to = event.end;
  return line;
}

// `alike_only`: events of a line cost the same.
std::vector<PathLine> grouped(const std::vector<Event>& events, bool alike_only) {
  std::vector<PathLine> lines;
  for (std::size_t i = 0; i < events.size();) {
    const auto joins = [&](std::size_t next, Shape shape) {
      return following(events[next - 1], events[next]) == shape &&
             (!alike_only || cost_alike(events[next - 1].shares, events[next].shares, shape));
    };
    Shape shape = alone(events[i]);
    if (i + 1 < events.size())
      if (const auto next = following(events[i], events[i + 1]); next && joins(i + 1, *next))
        shape = *next;
    PathLine line = line_of(events[i], shape);
    std::size_t next = i + 1;
    while (next < events.size() && joins(next, shape)) {
      line.alike = line.alike && cost_alike(events[next - 1].shares, events[next].shares, shape);
      absorb(line, events[next++], shape);
    }
    lines.push_back(std::move(line));
    i = next;
  }
  return lines;
}

bool repeats(const PathLine& a, const PathLine& b) {
  return a.shape == b.shape && a.count == b.count && a.smallest == b.smallest &&
         a.largest == b.largest && a.alike == b.alike &&
         cost_alike(a.shares, b.shares, Shape::relay);
}

// The most periods of `length` lines that follow one another from `at` on.
std::size_t periods_at(const std::vector<PathLine>& lines, std::size_t at, std::size_t length) {
  std::size_t same = 0;
  while (at + length + same < lines.size() && repeats(lines[at + same], lines[at + length + same]))
    ++same;
  return 1 + same / length;
}

std::vector<PathLine> folded(const std::vector<PathLine>& lines) {
  std::vector<PathLine> result;
  for (std::size_t i = 0; i < lines.size();) {
    std::size_t best_length = 0;
    std::size_t best_periods = 1;
    for (std::size_t length = 1; length <= 4; ++length) {
      const std::size_t periods = periods_at(lines, i, length);
      if (periods >= 3 && length * periods > best_length * best_periods) {
        best_length = length;
        best_periods = periods;
      }
    }
    if (best_length == 0) {
      result.push_back(lines[i++]);
      continue;
    }
    const std::size_t end = i + best_length * best_periods;
    PathLine rest;
    rest.shape = Shape::repeated;
    rest.count = static_cast<std::int64_t>(best_periods) - 1;
    rest.period = static_cast<int>(best_length);
    for (std::size_t k = i; k < end; ++k) {
      if (k < i + best_length)
        result.push_back(lines[k]);
      else
        rest.shares += lines[k].shares;
    }
    rest.from = lines[i + best_length].from;
    rest.to = lines[end - 1].to;
    result.push_back(rest);
    i = end;
  }
  return result;
}

// The beginning and the end tell most.
std::vector<PathLine> shortened(const std::vector<PathLine>& lines) {
  if (lines.size() <= max_path_lines) return lines;
  const std::size_t head = max_path_lines / 2;
  const std::size_t tail = max_path_lines - head - 1;
  std::vector<PathLine> result(lines.begin(), lines.begin() + static_cast<std::ptrdiff_t>(head));
  PathLine skipped;
  skipped.shape = Shape::skipped;
  skipped.from = lines[head].from;
  skipped.to = lines[lines.size() - tail - 1].to;
  for (std::size_t i = head; i < lines.size() - tail; ++i) {
    skipped.count += lines[i].shape == Shape::repeated ? lines[i].count * lines[i].period : 1;
    skipped.shares += lines[i].shares;
  }
  result.push_back(skipped);
  result.insert(result.end(), lines.end() - static_cast<std::ptrdiff_t>(tail), lines.end());
  return result;
}

constexpr double max_summarised_instructions = 60e6;

// Whether the message of the later segment waited for that of the one before it, of another rank,
// though both had asked for the link at once.
bool is_tie(const Timeline& timeline, const CriticalPath::Segment& segment,
            const CriticalPath::Segment& later) {
  if (!is_on_link(segment.kind) || !is_on_link(later.kind) || later.step == segment.step)
    return false;
  const Crossing& held = timeline.crossings[segment.crossing];
  const Crossing& waiting = timeline.crossings[later.crossing];
  return waiting.queued_behind == segment.step && waiting.asked == held.asked &&
         timeline.steps[later.step].rank != timeline.steps[segment.step].rank;
}

std::optional<BusiestLink::Rate> rate_under_protocol(const Case& one_case, LinkId id) {
  const Topology& topology = one_case.cluster->topology;
  const Link& link = topology.link(id);
  if (!one_case.protocol) return std::nullopt;
  const std::optional<ProtocolCost>& cost =
      cost_of(topology.protocols_of(link), *one_case.protocol);
  if (!cost || cost->per_chunk != 0 || cost->rate == 1) return std::nullopt;
  const double own = static_cast<double>(link.bandwidth.bytes_per_second()) / cost->rate;
  return BusiestLink::Rate{*one_case.protocol, link.bandwidth, Bandwidth(std::llround(own))};
}

std::optional<BusiestLink> busiest_link(const Case& one_case, const Simulation& simulation) {
  const Topology& topology = one_case.cluster->topology;
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
  result.in_parts = topology.parts().routing == Routing::spray;
  result.bytes = busiest->bytes;
  result.busy = busiest->busy;
  result.equally_busy = equal;
  result.rate = rate_under_protocol(one_case, LinkId(at));
  // The other direction of a half duplex link keeps it busy too, and is counted by itself.
  if (!simulation.timeline || topology.link(LinkId(at)).half_duplex) return result;

  // A sprayed message crosses it in several parts.
  Time first = Time::never();
  Time last{};
  result.in_parts = false;
  for (const Step& step : simulation.timeline->steps) {
    std::size_t parts = 0;
    for (const Crossing& crossing : simulation.timeline->crossings_of(step)) {
      if (crossing.link != LinkId(at)) continue;
      result.in_parts = result.in_parts || ++parts > 1;
      first = std::min(first, crossing.begun);
      last = std::max(last, crossing.ended);
    }
  }
  result.fill = first;
  // Fair rates are rounded: a link may be "busy" a little longer than its messages took.
  result.gaps = std::max(Time{}, last - first - busiest->busy);
  result.drain = simulation.time - last;
  return result;
}

void add_path(const Case& one_case, const Schedule& schedule, const Simulation& simulation,
              const CriticalPath& path, Breakdown& result) {
  const Timeline& timeline = *simulation.timeline;
  std::uint32_t last_message = Step::none;
  for (const CriticalPath::Segment& segment : path.segments) {
    const TimeShares shares = shares_of(segment, timeline, one_case.costs);
    result.path += shares;
    if (shares.reduction > Time{}) ++result.reductions;
    if ((is_on_link(segment.kind) || segment.kind == Kind::flight) &&
        segment.step != last_message) {
      ++result.messages;
      last_message = segment.step;
    }
  }
  for (std::size_t i = 1; i < path.segments.size(); ++i) {
    const CriticalPath::Segment& held = path.segments[i - 1];
    const CriticalPath::Segment& waiting = path.segments[i];
    if (!is_tie(timeline, held, waiting) || result.ties++ > 0) continue;
    const Crossing& crossing = timeline.crossings[waiting.crossing];
    result.first_tie = {one_case.cluster->topology.name(crossing.link), crossing.asked,
                        timeline.steps[held.step].rank, timeline.steps[waiting.step].rank};
  }
  result.launch = std::min(one_case.costs.launch, result.path.start);
  result.waiting_for_others = waiting_for_others(timeline, path);
  if (path.longest_on) result.idle_in_hops = one_case.cluster->topology.name(*path.longest_on);
  result.lines = path_lines(one_case, schedule, timeline, path);
}

}  // namespace

std::vector<PathLine> path_lines(const Case& one_case, const Programs& programs,
                                 const Timeline& timeline, const CriticalPath& path) {
  const std::vector<Event> events = EventReader(one_case, programs, timeline).read(path);
  std::vector<PathLine> exact = folded(grouped(events, true));
  if (exact.size() <= max_path_lines) return exact;
  std::vector<PathLine> rough = folded(grouped(events, false));
  return shortened(rough.size() < exact.size() ? rough : exact);
}

Time TimeShares::total() const {
  return start + reduction + copy + instructions + startup + wire + hops + sharing + flight + queue;
}

TimeShares& TimeShares::operator+=(const TimeShares& other) {
  start += other.start;
  reduction += other.reduction;
  copy += other.copy;
  instructions += other.instructions;
  startup += other.startup;
  wire += other.wire;
  hops += other.hops;
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
    case Kind::hop: shares.hops = time; break;
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

Simulation recorded_run(const Case& one_case, const Schedule& schedule, const CaseResult& row) {
  SimulationOptions how;
  how.late = one_case.cluster->late;
  const Topology& topology = one_case.cluster->topology;
  const double estimate = effort_of(one_case, schedule).instructions;
  if (estimate <= 2.0 * static_cast<double>(max_explained_instructions)) {
    how.recording = Recording::full;
    how.max_recorded_steps = max_explained_instructions;
    try {
      return simulate(topology, schedule, one_case.costs, how);
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
  return simulate(topology, schedule, one_case.costs, how);
}

Breakdown explain_breakdown(const Case& one_case, const Schedule& schedule,
                            const Simulation& simulation) {
  Breakdown result;
  result.instructions = simulation.instructions;
  result.busiest = busiest_link(one_case, simulation);
  result.every_step_recorded = simulation.timeline.has_value();
  if (result.every_step_recorded)
    add_path(one_case, schedule, simulation,
             critical_path(one_case.cluster->topology, schedule, simulation), result);
  return result;
}

}  // namespace collsim
