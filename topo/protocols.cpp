// SPDX-License-Identifier: Apache-2.0
#include "topo/protocols.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "topo/topology.hpp"

namespace collsim {

const char* to_string(LinkProtocol protocol) {
  switch (protocol) {
    case LinkProtocol::ll: return "LL";
    case LinkProtocol::ll128: return "LL128";
    case LinkProtocol::simple: return "Simple";
    case LinkProtocol::p2p_ll: return "p2p-LL";
    case LinkProtocol::p2p_simple: return "p2p-Simple";
  }
  return "unknown";
}

Time ProtocolCost::hop_of(Bytes bytes) const {
  constexpr double knee = 2048;
  const auto n = static_cast<double>(bytes);
  return rounded_picoseconds(static_cast<double>(hop.ps()) * (1 + growth * n / (n + knee)));
}

bool Topology::carries(LinkProtocol protocol) const {
  for (const Link& link : links())
    if (!cost_of(protocols_of(link), protocol)) return false;
  return true;
}

Topology Topology::under(LinkProtocol protocol, Bytes bytes) const {
  Parts parts = *parts_;
  for (std::size_t id = 0; id < parts.links.size(); ++id) {
    Link& link = parts.links[id];
    const std::optional<ProtocolCost>& cost = cost_of(protocols_of(link), protocol);
    if (!cost)
      throw_error(ErrorCode::invalid_argument,
                  "link " + name(LinkId(id)) + " does not carry protocol " + to_string(protocol));
    const double bandwidth = cost->rate * static_cast<double>(link.bandwidth.bytes_per_second());
    link.bandwidth = Bandwidth(std::max<std::int64_t>(1, std::llround(bandwidth)));
    link.latency = cost->hop_of(bytes);
    link.startup = Time{};
  }
  return Topology(std::move(parts));
}

}  // namespace collsim
