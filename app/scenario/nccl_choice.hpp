// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "topo/protocols.hpp"

namespace collsim {

// NCCL's algorithms by NCCL's names; "p2p" is what NCCL makes of sends and receives.
enum class NcclAlgorithm : std::uint8_t {
  tree,
  ring,
  collnet_direct,
  collnet_chain,
  nvls,
  nvls_tree,
  pat,
  p2p
};
// "Ring", "Tree", ...: as NCCL's tuning log spells them
[[nodiscard]] const char* to_string(NcclAlgorithm algorithm);
[[nodiscard]] constexpr bool is_collnet(NcclAlgorithm algorithm) {
  return algorithm == NcclAlgorithm::collnet_direct || algorithm == NcclAlgorithm::collnet_chain;
}
// "LL", "LL128", "Simple": NVLS and send/recv have no protocol of their own there.
[[nodiscard]] LinkProtocol nccl_protocol_of(LinkProtocol protocol);
// "Ring LL"
[[nodiscard]] std::string nccl_text(NcclAlgorithm algorithm, LinkProtocol protocol);

// What a user leaves NCCL to choose from: NCCL_ALGO, NCCL_PROTO, and how it chooses.
struct NcclChoice {
  static constexpr std::size_t algorithm_count = 7;  // that NCCL_ALGO knows
  static constexpr std::size_t protocol_count = 3;
  std::array<bool, algorithm_count> algorithms{true, true, true, true, true, true, true};
  std::array<bool, protocol_count> protocols{true, true, true};
  std::string algo_text, proto_text;  // as written; empty: not written
  std::string tuner;                  // the version of NCCL; empty: the fastest is taken

  // All of them allow p2p, which NCCL_ALGO does not know.
  [[nodiscard]] bool allows(NcclAlgorithm algorithm, LinkProtocol protocol) const;
};

// "^NVLS": all but these.
[[nodiscard]] bool leaves_out(std::string_view list);

// Reads a list in the syntax of NCCL_ALGO or NCCL_PROTO: names without regard to case, with commas
// between; after a '^' all but these.  Gives what is wrong with it, or nothing ("").
[[nodiscard]] std::string read_nccl_algorithms(std::string_view list, NcclChoice& choice);
[[nodiscard]] std::string read_nccl_protocols(std::string_view list, NcclChoice& choice);

}  // namespace collsim
