// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "topo/topology.hpp"

namespace collsim {

// Internal to sim/: by link, whether it is exclusive, costs latency, and leaves a device with one
// neighbour only, which does not use it too (half duplex).  No route passes through such a device,
// so only a rank there asks for the link, and its messages ask for the next one at a later instant.
[[nodiscard]] std::vector<char> links_into_the_network(const Topology& topology);

// Internal to sim/: exclusive links, each a queue of its own.
//
// A message asks for every link of its route when its head gets there.  A link serves in the order
// of asking, so when it begins is settled when it is asked, and all that it must remember is when
// it is free again.
class LinkQueues {
 public:
  explicit LinkQueues(const Topology& topology);

  [[nodiscard]] bool is_exclusive(LinkId number) const {
    return links_[number.index()].kind != not_exclusive;
  }

  [[nodiscard]] bool all_are_exclusive() const { return all_are_exclusive_; }

  struct Service {
    Time begun;
    Time ended;    // the link is free again
    Time latency;  // from begun until the head is at the next link
  };
  Service ask(LinkId number, Bytes bytes, Time now) {
    const OneLink& link = links_[number.index()];
    Kind& kind = kinds_[link.kind];
    if (kind.bytes != bytes) [[unlikely]]
      change_size(kind, bytes);
    Time& free_at = links_[link.resource].free_at;
    const Time begun = std::max(now, free_at);
    free_at = begun + kind.occupation;
    return {begun, free_at, kind.latency};
  }
  [[nodiscard]] Time free_at(LinkId number) const {
    return links_[links_[number.index()].resource].free_at;
  }
  // Messages that did not ask here hold it until then.
  void hold(LinkId number, Time until) {
    Time& free_at = links_[links_[number.index()].resource].free_at;
    free_at = std::max(free_at, until);
  }

 private:
  static constexpr std::uint32_t not_exclusive = ~std::uint32_t{0};

  struct OneLink {
    Time free_at{};  // of a resource
    std::uint32_t kind = not_exclusive;
    std::uint32_t resource = 0;
  };
  // Links that cost the same.  Nearly all messages have the size of the one before.
  struct Kind {
    Time startup, latency;
    Bandwidth bandwidth;
    const LinkSegments* segments = nullptr;  // instead, where there are any
    Bytes bytes = -1;
    Time occupation{};  // by a message of so many bytes
  };

  std::uint32_t kind_of(const Link& link, const LinkSegments& segments);
  static void change_size(Kind& kind, Bytes bytes);

  bool all_are_exclusive_ = true;
  std::vector<OneLink> links_;
  std::vector<Kind> kinds_;
};

}  // namespace collsim
