// SPDX-License-Identifier: Apache-2.0
#include "sim/link_queues.hpp"

namespace collsim {

// Networks have a few kinds of links, unless every link was given a cost of its own: then looking
// for an equal one would take longer than it saves.
std::uint32_t LinkQueues::kind_of(const Link& link) {
  constexpr std::size_t few = 64;
  for (std::size_t i = 0; i < std::min(few, kinds_.size()); ++i) {
    const Kind& kind = kinds_[i];
    if (kind.startup == link.startup && kind.latency == link.latency &&
        kind.bandwidth == link.bandwidth)
      return static_cast<std::uint32_t>(i);
  }
  kinds_.push_back({link.startup, link.latency, link.bandwidth});
  return static_cast<std::uint32_t>(kinds_.size() - 1);
}

void LinkQueues::change_size(Kind& kind, Bytes bytes) {
  kind.occupation = kind.startup + transfer_time(bytes, kind.bandwidth);
  kind.bytes = bytes;
}

}  // namespace collsim
