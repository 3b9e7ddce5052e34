// SPDX-License-Identifier: Apache-2.0
#include "sim/serial_hops.hpp"

#include <algorithm>
#include <unordered_map>
#include <vector>

namespace collsim {

namespace {

using Kind = CriticalPath::Kind;

// What the path does on one link until it goes on to another.
struct Stay {
  LinkId link;
  std::size_t first, last;  // segments of the path
  Time from, to;
};

// When something crosses a link.
class BusyTimes {
 public:
  BusyTimes(const Topology& topology, const Timeline& timeline, LinkId link) {
    for (const Crossing& crossing : timeline.crossings)
      if (topology.link(crossing.link).resource == link)
        spans_.push_back({crossing.begun, crossing.ended, Time{}});
    std::sort(spans_.begin(), spans_.end(),
              [](const Span& a, const Span& b) { return a.begun < b.begun; });
    std::size_t last = 0;
    for (const Span& span : spans_) {
      Span& before = spans_[last];
      if (span.begun <= before.ended)
        before.ended = std::max(before.ended, span.ended);
      else
        spans_[++last] = {span.begun, span.ended, before.before + (before.ended - before.begun)};
    }
    spans_.resize(last + 1);
  }

  [[nodiscard]] Time between(Time from, Time to) const { return until(to) - until(from); }

 private:
  struct Span {
    Time begun, ended;
    Time before;  // how long it was busy until then
  };

  [[nodiscard]] Time until(Time when) const {
    const auto after = std::partition_point(spans_.begin(), spans_.end(),
                                            [&](const Span& span) { return span.begun < when; });
    if (after == spans_.begin()) return Time{};
    const Span& span = *std::prev(after);
    return span.before + (std::min(when, span.ended) - span.begun);
  }

  std::vector<Span> spans_;  // in order, apart from each other
};

// Both directions of a half-duplex link are one.
LinkId link_of(const CriticalPath::Segment& segment, const Topology& topology,
               const Timeline& timeline) {
  return topology.link(timeline.crossings[segment.crossing].link).resource;
}

std::vector<Stay> stays_of(const CriticalPath& path, const Topology& topology,
                           const Timeline& timeline) {
  std::vector<Stay> stays;
  for (std::size_t i = 0; i < path.segments.size(); ++i) {
    const CriticalPath::Segment& segment = path.segments[i];
    if (!is_on_link(segment.kind)) continue;
    const LinkId link = link_of(segment, topology, timeline);
    if (stays.empty() || stays.back().link != link) stays.push_back({link, i, i, segment.from, {}});
    stays.back().last = i;
    stays.back().to = segment.to;
  }
  return stays;
}

LinkId longest_on(const CriticalPath& path, const Topology& topology, const Timeline& timeline) {
  std::unordered_map<std::size_t, Time> wire;
  LinkId longest;
  Time most{};
  for (const CriticalPath::Segment& segment : path.segments)
    if (segment.kind == Kind::wire)
      wire[link_of(segment, topology, timeline).index()] += segment.to - segment.from;
  for (const CriticalPath::Segment& segment : path.segments) {
    if (segment.kind != Kind::wire) continue;
    const LinkId link = link_of(segment, topology, timeline);
    if (wire[link.index()] <= most) continue;
    most = wire[link.index()];
    longest = link;
  }
  return longest;
}

}  // namespace

void mark_serial_hops(const Topology& topology, const Timeline& timeline, CriticalPath& path) {
  const std::vector<Stay> stays = stays_of(path, topology, timeline);
  if (stays.size() < 2 || path.total(Kind::wire) == Time{}) return;
  path.longest_on = longest_on(path, topology, timeline);
  const BusyTimes busy(topology, timeline, *path.longest_on);
  for (const Stay& stay : stays) {
    if (stay.link == *path.longest_on) continue;
    if (2 * busy.between(stay.from, stay.to).ps() >= (stay.to - stay.from).ps()) continue;
    for (std::size_t k = stay.first; k <= stay.last; ++k)
      if (path.segments[k].kind == Kind::wire) path.segments[k].kind = Kind::hop;
  }
}

}  // namespace collsim
