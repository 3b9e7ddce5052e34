// SPDX-License-Identifier: Apache-2.0
#include "sim/link_queues.hpp"

#include <optional>

namespace collsim {

std::vector<char> links_into_the_network(const Topology& topology) {
  struct Device {
    std::optional<NodeId> neighbour;
    bool has_several = false;
    void note(NodeId other) {
      has_several = has_several || neighbour.value_or(other) != other;
      neighbour = other;
    }
  };
  std::vector<Device> devices(topology.node_count());
  for (const Link& link : topology.links()) {
    devices[link.from.index()].note(link.to);
    devices[link.to.index()].note(link.from);
  }
  std::vector<char> result;
  for (const Link& link : topology.links())
    result.push_back(link.sharing == Sharing::exclusive && link.latency > Time{} &&
                             !link.half_duplex && !devices[link.from.index()].has_several
                         ? 1
                         : 0);
  return result;
}

LinkQueues::LinkQueues(const Topology& topology) : links_(topology.links().size()) {
  for (std::size_t number = 0; number < links_.size(); ++number) {
    const Link& link = topology.link(LinkId(number));
    if (link.sharing != Sharing::exclusive) {
      all_are_exclusive_ = false;
      continue;
    }
    links_[number].kind = kind_of(link, topology.segments_of(link));
    links_[number].resource = static_cast<std::uint32_t>(link.resource.index());
  }
}

// Networks have a few kinds of links, unless every link was given a cost of its own: then looking
// for an equal one would take longer than it saves.
std::uint32_t LinkQueues::kind_of(const Link& link, const LinkSegments& segments) {
  constexpr std::size_t few = 64;
  for (std::size_t i = 0; i < std::min(few, kinds_.size()); ++i) {
    const Kind& kind = kinds_[i];
    const bool equal = segments.empty()
                           ? kind.segments == nullptr && kind.startup == link.startup &&
                                 kind.latency == link.latency && kind.bandwidth == link.bandwidth
                           : kind.segments == &segments;
    if (equal) return static_cast<std::uint32_t>(i);
  }
  kinds_.push_back(
      {link.startup, link.latency, link.bandwidth, segments.empty() ? nullptr : &segments});
  return static_cast<std::uint32_t>(kinds_.size() - 1);
}

void LinkQueues::change_size(Kind& kind, Bytes bytes) {
  if (kind.segments != nullptr) {
    const LinkSegment& row = row_for(*kind.segments, bytes);
    kind.startup = row.startup;
    kind.latency = row.latency;
    kind.bandwidth = row.bandwidth;
  }
  kind.occupation = kind.startup + transfer_time(bytes, kind.bandwidth);
  kind.bytes = bytes;
}

}  // namespace collsim
