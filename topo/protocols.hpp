// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "topo/units.hpp"

namespace collsim {

// How one GPU hands bytes to the next.  NCCL's protocols: LL and LL128 send a flag with every 8 and
// 128 bytes, Simple a counter after every slice; send/recv has transfers of its own.
// Under NVLS, a link to a switch leads to one that adds what GPUs send and multicasts what one
// sends; the protocol on that link is what says that the switch can.
// CollNet says the same of a link to a switch of the network, and is what that link costs then; on
// all others a message is one of Simple or NVLS.
enum class LinkProtocol : std::uint8_t { ll, ll128, simple, p2p_ll, p2p_simple, nvls, collnet };
inline constexpr std::array all_protocols = {
    LinkProtocol::ll,         LinkProtocol::ll128, LinkProtocol::simple, LinkProtocol::p2p_ll,
    LinkProtocol::p2p_simple, LinkProtocol::nvls,  LinkProtocol::collnet};
// "LL", "LL128", "Simple", "p2p-LL", "p2p-Simple", "NVLS", "CollNet"
[[nodiscard]] const char* to_string(LinkProtocol protocol);
// Of the bytes on a wire, the part that is data and no flag.
[[nodiscard]] double share_of_data(LinkProtocol protocol);

// What a message costs on a link under a protocol, in place of the link's own latency and startup.
struct ProtocolCost {
  // Flight of a message; keeps no link busy.  That of n bytes is hop * (1 + growth * g):
  //   LL, LL128        g = n / (n + 2 KiB): longer messages take more threads
  //   Simple           g = n / (n + 64 KiB): longer ones fill the slices that are passed on whole
  //   p2p-LL, -Simple  g = n / 2 KiB: send/recv passes the bytes to one peer through few channels,
  //                    however many they are
  Time hop{};
  double growth = 0;
  // Bytes occupy the link for n / (rate * bandwidth), and those of a message in chunks of c bytes,
  // each of which costs as much as `per_chunk` bytes more, for (1 + per_chunk / c) times that.
  double rate = 1;
  Bytes per_chunk = 0;

  [[nodiscard]] Time flight_of(Bytes bytes, LinkProtocol protocol) const;
  [[nodiscard]] double rate_with(Bytes chunk) const;
  bool operator==(const ProtocolCost&) const = default;
};

// By protocol; nothing: the link does not carry it.
using Protocols = std::array<std::optional<ProtocolCost>, all_protocols.size()>;

[[nodiscard]] inline const std::optional<ProtocolCost>& cost_of(const Protocols& protocols,
                                                                LinkProtocol protocol) {
  return protocols[static_cast<std::size_t>(protocol)];
}

}  // namespace collsim
