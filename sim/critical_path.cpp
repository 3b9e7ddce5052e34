// SPDX-License-Identifier: Apache-2.0
#include "sim/critical_path.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "sim/connections.hpp"
#include "sim/serial_hops.hpp"

namespace collsim {

namespace {

using Kind = CriticalPath::Kind;

// A message's crossings, one way after the other: how many ways.
std::size_t parts_of(const Topology& topology, std::span<const Crossing> crossings) {
  std::size_t parts = 1;
  for (std::size_t i = 1; i < crossings.size(); ++i)
    if (topology.link(crossings[i].link).from != topology.link(crossings[i - 1].link).to) ++parts;
  return parts;
}

// What each rank has on each fair link, and when.
class OwnTraffic {
 public:
  OwnTraffic(const Topology& topology, const Programs& programs, const Timeline& timeline) {
    for (const Step& step : timeline.steps) {
      const std::span<const Crossing> crossings = timeline.crossings_of(step);
      const double bytes = static_cast<double>(step.instruction.count) *
                           static_cast<double>(programs.element_size()) /
                           static_cast<double>(parts_of(topology, crossings));
      for (const Crossing& crossing : crossings)
        if (topology.link(crossing.link).sharing == Sharing::fair)
          of_[key(step.rank, topology.link(crossing.link).resource)].add(
              {crossing.begun, crossing.ended, bytes});
    }
    for (auto& [key, passages] : of_) passages.sort();
  }

  // Bytes of the rank that pass a link between two moments, each message evenly.
  [[nodiscard]] double bytes(Rank rank, LinkId link, Time from, Time to) const {
    const auto found = of_.find(key(rank, link));
    return found == of_.end() ? 0 : found->second.bytes(from, to);
  }

 private:
  struct Passage {
    Time begun, ended;
    double bytes;
  };
  struct Passages {
    std::vector<Passage> all;  // sorted by when they begin
    Time longest{};

    void add(const Passage& passage) {
      all.push_back(passage);
      longest = std::max(longest, passage.ended - passage.begun);
    }
    void sort() {
      std::sort(all.begin(), all.end(),
                [](const Passage& a, const Passage& b) { return a.begun < b.begun; });
    }
    [[nodiscard]] double bytes(Time from, Time to) const {
      const Time earliest = from - std::min(from, longest);
      auto passage = std::partition_point(all.begin(), all.end(),
                                          [&](const Passage& one) { return one.begun < earliest; });
      double sum = 0;
      for (; passage != all.end() && passage->begun < to; ++passage) {
        const Time overlap = std::min(to, passage->ended) - std::max(from, passage->begun);
        const Time whole = passage->ended - passage->begun;
        if (overlap > Time{})
          sum +=
              passage->bytes * static_cast<double>(overlap.ps()) / static_cast<double>(whole.ps());
      }
      return sum;
    }
  };
  static std::uint64_t key(Rank rank, LinkId link) {
    return (std::uint64_t{rank.index()} << 32U) | std::uint64_t{link.index()};
  }

  std::unordered_map<std::uint64_t, Passages> of_;
};

// Walks from the end to the start, always to what delayed the current moment.
class Walk {
 public:
  Walk(const Topology& topology, const Programs& programs, const Timeline& timeline)
      : timeline_(timeline),
        steps_(timeline.steps),
        crossings_(timeline.crossings),
        topology_(topology),
        programs_(programs) {}

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
    if (earlier < now_)
      path_.segments.push_back(
          {kind, earlier, now_, current_, is_on_link(kind) ? crossing_number(place_) : Step::none});
    now_ = std::min(now_, earlier);
  }
  [[nodiscard]] const Step& step() const { return steps_[current_]; }

  void enter_last_step() {
    for (std::uint32_t i = 0; i < steps_.size(); ++i) {
      if (steps_[i].ended == now_) return go_to(i, &Walk::at_end_of_instruction);
      if (has_left_now(i)) return leave_sender(i);
    }
    go_to(Step::none, &Walk::at_start);  // a rank without instructions is the last to start
  }

  // The last byte of its message left the sender at this moment ...
  [[nodiscard]] bool has_left_now(std::uint32_t step) const {
    return sends(steps_[step].instruction.op) && steps_[step].left == now_;
  }
  // ... where the path comes from.
  void leave_sender(std::uint32_t step) {
    go_to(step, &Walk::on_link);
    find_part([this] { return crossing(first_place()).ended == now_; });
    place_ = first_place();
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
      if (here.instruction.op == Op::drain) {
        std::uint32_t sender = current_ - 1;
        while (steps_[sender].lane == here.lane && !has_left_now(sender)) --sender;
        return leave_sender(sender);
      }
      COLLSIM_CHECK(here.slot_freed_by != Step::none, "a step began late for no recorded reason");
      return go_to(here.slot_freed_by, &Walk::at_end_of_instruction);
    }
    if (here.index == 0) return go_to(current_, &Walk::at_start);
    go_to(current_ - 1, &Walk::at_end_of_instruction);
  }

  void at_arrival() {
    find_part([this] { return arrival_of_part() == now_; });
    if (route_.empty()) {  // between two lanes in one switch
      next_ = &Walk::at_end_of_instruction;
      return;
    }
    place_ = slowest_place();
    spend_until(crossing(place_).ended, Kind::flight);
    next_ = &Walk::on_link;
  }

  // A message arrives at the latest of what its links say: their end, and the latencies from there
  // on.  Fair links come last, wherever they are on the route.
  [[nodiscard]] std::size_t slowest_place() const {
    Time onward{};
    std::size_t slowest = route_.size();
    for (std::size_t i = 0; i < route_.size(); ++i) {
      if (!is_fair(i)) continue;
      slowest = i;
      onward += link(i).latency;
    }
    for (std::size_t i = route_.size(); i-- > 0;) {
      if (is_fair(i)) continue;
      onward += cost_on(i).latency;
      if (crossing(i).ended + onward == now_) slowest = i;
    }
    COLLSIM_CHECK(slowest < route_.size(), "no link says why a message arrived so late");
    return slowest;
  }

  void on_link() {
    const Time begun = crossing(place_).begun;
    if (is_fair(place_)) {
      spend_until(begun + own_time_on_fair_links(begun), Kind::sharing);
      spend_until(begun, Kind::wire);
    } else {
      spend_until(begun + cost_on(place_).startup, Kind::wire);
      spend_until(begun, Kind::startup);
    }
    next_ = &Walk::where_link_began;
  }

  void where_link_began() {
    const Crossing& here = crossing(place_);
    if (here.begun > here.asked) {
      if (here.queued_behind != Step::none) return follow_queue(here.queued_behind);
      spend_until(here.asked, Kind::queue);
    }
    if (is_fair(place_)) spend_until(here.asked - startup_of_fair_links(), Kind::startup);
    const auto before = exclusive_place_before(is_fair(place_) ? route_.size() : place_);
    if (!before) {
      next_ = &Walk::at_end_of_instruction;
      return;
    }
    place_ = *before;
    spend_until(crossing(place_).begun, Kind::flight);
  }

  void follow_queue(std::uint32_t message) {
    const LinkId shared = link(place_).resource;
    go_to(message, &Walk::on_link);
    const auto place_of_shared = [&] {
      place_ = 0;
      while (place_ < route_.size() && link(place_).resource != shared) ++place_;
      return place_ < route_.size();
    };
    // Of several parts that crossed it the one that held it; on fair links they do not say so.
    const Time held_until = now_;
    if (!find_part([&] { return place_of_shared() && crossing(place_).ended == held_until; }))
      find_part(place_of_shared);
  }

  // The first part of the message for which something holds; else the last one, and false.  Most
  // messages are whole: one part.
  template <class Predicate>
  bool find_part(const Predicate& holds) {
    std::size_t begin = 0;
    while (true) {
      route_.clear();
      first_crossing_ = step().first_crossing + begin;
      for (std::size_t i = begin; i < step().links; ++i) {
        const LinkId id = crossings_.at(step().first_crossing + i).link;
        if (!route_.empty() && topology_.link(id).from != link(route_.size() - 1).to) break;
        route_.push_back(id);
      }
      if (route_.empty()) return false;
      if (holds()) return true;
      begin += route_.size();
      if (begin == step().links) return false;
    }
  }
  // Fair links come last.
  [[nodiscard]] Time arrival_of_part() const {
    Time fair{};
    bool any_fair = false;
    Time exclusive{};
    for (std::size_t i = 0; i < route_.size(); ++i) {
      if (is_fair(i)) {
        any_fair = true;
        fair = std::max(fair, crossing(i).ended) + link(i).latency;
      } else {
        exclusive = std::max(exclusive, crossing(i).ended) + cost_on(i).latency;
      }
    }
    return any_fair ? fair : exclusive;
  }
  [[nodiscard]] const Link& link(std::size_t place) const {
    return topology_.link(route_.at(place));
  }
  // What this message costs on an exclusive link.
  [[nodiscard]] LinkSegment cost_on(std::size_t place) const {
    const Link& on = link(place);
    return topology_.cost_on(on, on.segments == 0 ? 0 : bytes_of_part());
  }
  [[nodiscard]] Bytes bytes_of_part() const {
    return bytes_of_crossing(topology_, timeline_.crossings_of(step()),
                             first_crossing_ - step().first_crossing,
                             step().instruction.count * programs_.element_size());
  }
  [[nodiscard]] bool is_fair(std::size_t place) const {
    return link(place).sharing == Sharing::fair;
  }
  [[nodiscard]] std::uint32_t crossing_number(std::size_t place) const {
    return static_cast<std::uint32_t>(first_crossing_ + place);
  }
  [[nodiscard]] const Crossing& crossing(std::size_t place) const {
    return crossings_.at(crossing_number(place));
  }
  [[nodiscard]] std::optional<std::size_t> exclusive_place_before(std::size_t place) const {
    while (place-- > 0)
      if (!is_fair(place)) return place;
    return std::nullopt;
  }
  // The one that a message leaves the sender by.
  [[nodiscard]] std::size_t first_place() const {
    for (std::size_t place = 0; place < route_.size(); ++place)
      if (!is_fair(place)) return place;
    return 0;
  }
  [[nodiscard]] Time startup_of_fair_links() const {
    Time startup{};
    for (std::size_t i = 0; i < route_.size(); ++i)
      if (is_fair(i)) startup = std::max(startup, link(i).startup);
    return startup;
  }
  [[nodiscard]] Time alone_on_fair_links() const {
    Bandwidth bandwidth = Path::unlimited;
    for (std::size_t i = 0; i < route_.size(); ++i)
      if (is_fair(i)) bandwidth = std::min(bandwidth, link(i).bandwidth);
    return transfer_time(bytes_of_part(), bandwidth);
  }

  // Of the time since then what the sender's own messages take on the fair links, at full
  // bandwidth: where they fill a link it is not shared with anybody.
  [[nodiscard]] Time own_time_on_fair_links(Time begun) {
    if (!own_traffic_) own_traffic_.emplace(topology_, programs_, timeline_);
    const Time whole = now_ - begun;
    double own = alone_on_fair_links().seconds();
    for (std::size_t i = 0; i < route_.size(); ++i)
      if (is_fair(i))
        own = std::max(own, own_traffic_->bytes(step().rank, link(i).resource, begun, now_) /
                                static_cast<double>(link(i).bandwidth.bytes_per_second()));
    constexpr double rounding = 1 - 1e-6;  // of rates
    return own >= rounding * whole.seconds() ? whole : from_seconds(own);
  }

  [[nodiscard]] Time arrival_of(std::uint32_t step) const { return steps_[step].arrived; }

  const Timeline& timeline_;
  const std::vector<Step>& steps_;
  const std::vector<Crossing>& crossings_;
  std::optional<OwnTraffic> own_traffic_;  // where links are shared
  const Topology& topology_;
  const Programs& programs_;
  CriticalPath path_;
  Time now_{};
  std::uint32_t current_ = 0;
  // While it follows a message, or a part of it: its route, the number of its first crossing, and
  // the place of a link on the route.
  std::vector<LinkId> route_;
  std::size_t first_crossing_ = 0;
  std::size_t place_ = 0;
  State next_ = nullptr;
};

}  // namespace

std::string_view to_string(CriticalPath::Kind kind) {
  switch (kind) {
    case Kind::start: return "start";
    case Kind::work: return "work";
    case Kind::startup: return "startup";
    case Kind::wire: return "wire";
    case Kind::hop: return "serial hops";
    case Kind::sharing: return "sharing";
    case Kind::flight: return "flight";
    case Kind::queue: return "queue";
  }
  return "unknown";
}

bool is_on_link(CriticalPath::Kind kind) {
  return kind == Kind::startup || kind == Kind::wire || kind == Kind::hop || kind == Kind::sharing;
}

Time CriticalPath::total(Kind kind) const {
  Time sum{};
  for (const Segment& segment : segments)
    if (segment.kind == kind) sum += segment.to - segment.from;
  return sum;
}

CriticalPath critical_path(const Topology& topology, const Programs& programs,
                           const Simulation& simulation) {
  if (!simulation.timeline)
    throw_error(ErrorCode::invalid_argument,
                "the critical path needs a simulation with Recording::full");
  CriticalPath path = Walk(topology, programs, *simulation.timeline).back_from(simulation.time);
  mark_serial_hops(topology, *simulation.timeline, path);
  return path;
}

Bytes bytes_of_crossing(const Topology& topology, std::span<const Crossing> crossings,
                        std::size_t place, Bytes whole) {
  const auto parts = static_cast<Bytes>(parts_of(topology, crossings));
  const std::size_t up_to_it = std::min(place + 1, crossings.size());
  const bool is_of_first = parts_of(topology, crossings.first(up_to_it)) == 1;
  return whole / parts + (is_of_first ? whole % parts : 0);
}

// Walks back with the message that waits.
Time waiting_for_others(const Timeline& timeline, const CriticalPath& path) {
  Time sum{};
  const Crossing* waiting = nullptr;
  std::uint32_t waiter = Step::none;
  const CriticalPath::Segment* later = nullptr;  // the message segment seen last
  for (auto segment = path.segments.rbegin(); segment != path.segments.rend(); ++segment) {
    if (!is_on_link(segment->kind)) {
      // Only along a queue does the path lead from one message straight to another.
      waiter = Step::none;
      later = nullptr;
      continue;
    }
    const Step& here = timeline.steps[segment->step];
    if (waiter == Step::none && later != nullptr && later->step != segment->step) {
      const Crossing& next = timeline.crossings[later->crossing];
      if (next.queued_behind == segment->step && timeline.steps[later->step].rank != here.rank) {
        waiter = later->step;
        waiting = &next;
      }
    }
    if (waiter != Step::none && timeline.steps[waiter].rank == here.rank) waiter = Step::none;
    if (waiter != Step::none && segment->to > waiting->asked)
      sum += segment->to - std::max(waiting->asked, segment->from);
    later = &*segment;
  }
  return sum;
}

}  // namespace collsim
