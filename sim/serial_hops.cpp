// SPDX-License-Identifier: Apache-2.0
#include "sim/serial_hops.hpp"

#include <algorithm>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

namespace collsim {

namespace {

using Kind = CriticalPath::Kind;
using Segment = CriticalPath::Segment;

struct Interval {
  Time begun, ended;
};

// When something crosses a link.
class BusyTimes {
 public:
  void add(Time begun, Time ended) { spans_.push_back({begun, ended}); }

  // Brings them in order, apart from each other.
  void merge() {
    std::sort(spans_.begin(), spans_.end(),
              [](const Interval& a, const Interval& b) { return a.begun < b.begun; });
    std::size_t last = 0;
    for (const Interval& span : spans_) {
      if (span.begun <= spans_[last].ended)
        spans_[last].ended = std::max(spans_[last].ended, span.ended);
      else
        spans_[++last] = span;
    }
    spans_.resize(last + 1);
    for (const Interval& span : spans_) altogether_ += span.ended - span.begun;
  }

  [[nodiscard]] Time altogether() const { return altogether_; }

  // Those that end later than a moment.
  [[nodiscard]] std::span<const Interval> after(Time moment) const {
    return {std::partition_point(spans_.begin(), spans_.end(),
                                 [&](const Interval& one) { return one.ended <= moment; }),
            spans_.end()};
  }

 private:
  std::vector<Interval> spans_;
  Time altogether_{};
};

class SerialHops {
 public:
  SerialHops(const Topology& topology, const Timeline& timeline, CriticalPath& path)
      : topology_(topology), timeline_(timeline), path_(path) {}

  void mark() {
    if (path_.total(Kind::wire) == Time{}) return;
    find_longest();
    const std::vector<Segment> before = std::exchange(path_.segments, {});
    path_.segments.reserve(before.size());
    for (const Segment& segment : before)
      if (segment.kind == Kind::wire && !crosses_longest(segment))
        split(segment);
      else
        path_.segments.push_back(segment);
  }

 private:
  // Both directions of a half-duplex link are one.
  [[nodiscard]] LinkId link_of(const Crossing& crossing) const {
    return topology_.link(crossing.link).resource;
  }

  // The links that a segment's message, or its part, crosses one after the other.
  [[nodiscard]] std::span<const Crossing> route_of(const Segment& segment) const {
    const std::span<const Crossing> all = timeline_.crossings_of(timeline_.steps[segment.step]);
    const auto follow = [&](std::size_t i) {
      return topology_.link(all[i - 1].link).to == topology_.link(all[i].link).from;
    };
    const auto here = static_cast<std::size_t>(&timeline_.crossings[segment.crossing] - all.data());
    std::size_t begin = here, end = here + 1;
    while (begin > 0 && follow(begin)) --begin;
    while (end < all.size() && follow(end)) ++end;
    return all.subspan(begin, end - begin);
  }

  [[nodiscard]] bool crosses_longest(const Segment& segment) const {
    const std::span<const Crossing> route = route_of(segment);
    return std::any_of(route.begin(), route.end(), [this](const Crossing& crossing) {
      return link_of(crossing) == *path_.longest_on;
    });
  }

  void find_longest() {
    std::vector<Time> on_path(topology_.links().size());
    for (const Segment& segment : path_.segments)
      if (is_on_link(segment.kind))
        for (const Crossing& crossing : route_of(segment))
          on_path[link_of(crossing).index()] += segment.to - segment.from;
    const Time most = *std::max_element(on_path.begin(), on_path.end());
    // Where very many are equal they are alike.
    constexpr std::size_t most_compared = 64;
    std::unordered_map<std::size_t, BusyTimes> longest;
    for (std::size_t link = 0; link < on_path.size() && longest.size() < most_compared; ++link)
      if (on_path[link] == most) longest.try_emplace(link);
    for (const Crossing& crossing : timeline_.crossings)
      if (const auto found = longest.find(link_of(crossing).index()); found != longest.end())
        found->second.add(crossing.begun, crossing.ended);
    std::size_t busiest = on_path.size();
    for (auto& [link, busy] : longest) {
      busy.merge();
      if (busiest == on_path.size() || busy.altogether() > longest[busiest].altogether() ||
          (busy.altogether() == longest[busiest].altogether() && link < busiest))
        busiest = link;
    }
    path_.longest_on = LinkId(busiest);
    busy_ = std::move(longest[busiest]);
  }

  void split(const Segment& segment) {
    const auto add = [&](Kind kind, Time from, Time to) {
      if (from < to) path_.segments.push_back({kind, from, to, segment.step, segment.crossing});
    };
    Time now = segment.from;
    for (const Interval& busy : busy_.after(now)) {
      if (busy.begun >= segment.to) break;
      add(Kind::hop, now, busy.begun);
      add(Kind::wire, std::max(now, busy.begun), std::min(busy.ended, segment.to));
      now = busy.ended;
    }
    add(Kind::hop, now, segment.to);
  }

  const Topology& topology_;
  const Timeline& timeline_;
  CriticalPath& path_;
  BusyTimes busy_;  // of the link that it is on longest
};

}  // namespace

void mark_serial_hops(const Topology& topology, const Timeline& timeline, CriticalPath& path) {
  SerialHops(topology, timeline, path).mark();
}

}  // namespace collsim
