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
    case LinkProtocol::nvls: return "NVLS";
    case LinkProtocol::collnet: return "CollNet";
  }
  return "unknown";
}

double share_of_data(LinkProtocol protocol) {
  switch (protocol) {
    case LinkProtocol::ll:
    case LinkProtocol::p2p_ll: return 4.0 / 8;
    case LinkProtocol::ll128: return 120.0 / 128;
    default: return 1;
  }
}

Time ProtocolCost::flight_of(Bytes bytes, LinkProtocol protocol) const {
  constexpr double few = 2 << 10, slice = 64 << 10;
  const auto n = static_cast<double>(bytes);
  const double grown = [&] {
    switch (protocol) {
      case LinkProtocol::p2p_ll:
      case LinkProtocol::p2p_simple: return n / few;
      case LinkProtocol::simple: return n / (n + slice);
      default: return n / (n + few);
    }
  }();
  return rounded_picoseconds(static_cast<double>(hop.ps()) * (1 + growth * grown));
}

double ProtocolCost::rate_with(Bytes chunk) const {
  if (per_chunk == 0 || chunk <= 0) return rate;
  return rate / (1 + static_cast<double>(per_chunk) / static_cast<double>(chunk));
}

bool Topology::carries(LinkProtocol protocol, bool by_network) const {
  if (links().empty() || (by_network && !network_adds())) return false;
  for (const Link& link : links()) {
    const bool adds = by_network && leads_to_adding_network(link);
    if (!adds && !cost_of(protocols_of(link), protocol)) return false;
  }
  return true;
}

std::optional<LinkId> Topology::link_to_adding_switch(Rank rank) const {
  const auto& links = parts_->to_adding_switch;
  return rank.index() < links.size() ? links[rank.index()] : std::nullopt;
}

Topology Topology::under(LinkProtocol protocol, Bytes bytes, bool by_network) const {
  Parts parts = *parts_;
  for (std::size_t id = 0; id < parts.links.size(); ++id) {
    Link& link = parts.links[id];
    const bool adds = by_network && leads_to_adding_network(link);
    const std::optional<ProtocolCost>& cost =
        cost_of(protocols_of(link), adds ? LinkProtocol::collnet : protocol);
    if (!cost)
      throw_error(ErrorCode::invalid_argument,
                  "link " + name(LinkId(id)) + " does not carry protocol " + to_string(protocol));
    const double bandwidth =
        cost->rate_with(bytes) * static_cast<double>(link.bandwidth.bytes_per_second());
    link.bandwidth = Bandwidth(std::max<std::int64_t>(1, std::llround(bandwidth)));
    link.latency = cost->flight_of(bytes, protocol);
    link.startup = Time{};
    link.segments = 0;
  }
  return Topology(std::move(parts));
}

}  // namespace collsim
