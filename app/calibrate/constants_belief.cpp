// SPDX-License-Identifier: Apache-2.0
#include "app/calibrate/constants_belief.hpp"

namespace collsim {
namespace {

constexpr double us = 1e-6, kib = 1024;
// Of networks less is known than of GPUs.
constexpr double of_all_networks = 0.6;
constexpr double network_rate = 0.89;
// LL carries a flag with every four bytes of data, so that its rate cannot be far from one half;
// and a kernel starts in some microseconds.  Where tables would have it otherwise they show
// something else: how a machine was driven, or that it was busy.
constexpr double narrow = 0.12, of_all_bases = 0.15;

// "Demystifying NCCL" (2025) measured hops of 1, 2 and 6 us; rates are those of NCCL 2.28's tuner;
// the rest are round numbers from a first fit in few constants, to most of the same tables.
Belief belief_in_gpu(Quantity quantity, std::optional<LinkProtocol> protocol) {
  // To one peer send/recv under LL carries 6 GB/s, otherwise hundreds.
  if (quantity == Quantity::growth && protocol == LinkProtocol::p2p_ll) return {0.3, 0.4};
  if (quantity == Quantity::growth && protocol == LinkProtocol::p2p_simple) return {6e-4, 1};
  if (quantity == Quantity::growth) return {0.23, 0};
  if (quantity == Quantity::per_chunk) return {9.7 * kib, 0.4};
  // As of all networks.
  if (quantity == Quantity::network_rate) return {network_rate, 0.25, narrow};
  const bool hop = quantity == Quantity::hop;
  if (protocol == LinkProtocol::ll)
    return hop ? Belief{1.15 * us, 0.25} : Belief{0.48, narrow, narrow};
  if (protocol == LinkProtocol::ll128) return hop ? Belief{2.9 * us, 0.25} : Belief{0.71, 0.2};
  if (protocol == LinkProtocol::simple) return hop ? Belief{6.7 * us, 0.2} : Belief{1.05, 0.15};
  if (protocol == LinkProtocol::p2p_ll) return hop ? Belief{1.1 * us, 0.5} : Belief{0.48, 0.3};
  if (protocol == LinkProtocol::nvls) return hop ? Belief{25 * us, 0.2} : Belief{0.81, 0.2};
  if (protocol) return hop ? Belief{6.8 * us, 0.3} : Belief{0.93, 0.2};
  switch (quantity) {
    case Quantity::base: return {6.4 * us, narrow, of_all_bases};
    case Quantity::host: return {4.9 * us, 0.3};
    case Quantity::pair: return {0.82 * us, 0.4};
    case Quantity::local_rate: return {2.6, 0.15, 0.15};
    default: return {0.42 * us, 0.5};  // per_peer
  }
}

Belief belief_in_network(Quantity quantity, LinkProtocol protocol) {
  // Of Simple: what a whole slice takes more than a few bytes.
  if (quantity == Quantity::growth) return {3, 0.5, 1};
  const bool hop = quantity == Quantity::hop;
  const double value = [&] {
    switch (protocol) {
      case LinkProtocol::ll: return hop ? 6.3 * us : 0.27;
      case LinkProtocol::ll128: return hop ? 8.7 * us : 0.88;
      case LinkProtocol::p2p_ll: return hop ? 7.4 * us : 0.27;
      case LinkProtocol::p2p_simple: return hop ? 21.2 * us : network_rate;
      case LinkProtocol::nvls: return hop ? 20 * us : network_rate;
      default: return hop ? 14.4 * us : network_rate;
    }
  }();
  // Simple sends next to nothing besides the data, so that any NIC carries most of what it could;
  // and what its slices take is its growth.
  if (protocol == LinkProtocol::simple) return {value, 0.25, hop ? 0.25 : narrow};
  return {value, 0.25, of_all_networks};
}

}  // namespace

Belief belief_in(Constant constant, bool of_network) {
  return of_network ? belief_in_network(constant.quantity, *constant.protocol)
                    : belief_in_gpu(constant.quantity, constant.protocol);
}

// By NCCL 2.28's tuner a hop over PCIe takes 1.0, 2.5 and 5.7 us where NVLink takes 0.6, 1.9 and
// 3.4 us.  Over TCP protocols differ less from each other than over InfiniBand.
double usual_multiple(const std::string& kind, Constant constant) {
  if (constant.quantity != Quantity::hop) return 1;
  if (kind == "tcp") {
    if (constant.protocol == LinkProtocol::ll128) return 0.6;
    if (constant.protocol == LinkProtocol::p2p_simple) return 0.4;
    const bool pieces_at_once =
        constant.protocol == LinkProtocol::simple || constant.protocol == LinkProtocol::nvls;
    return pieces_at_once ? 0.3 : 1;
  }
  if (kind != "pcie" && kind != "host-memory") return 1;
  if (constant.protocol == LinkProtocol::ll) return 1.0 / 0.6;
  if (constant.protocol == LinkProtocol::ll128) return 2.5 / 1.9;
  return constant.protocol == LinkProtocol::simple ? 5.7 / 3.4 : 1;
}

// EFA's one-way latency is some 15 us where InfiniBand's is 2.  Of TCP there is no table to fit to;
// the sizes that Google prints for a3-mega and AWS for sockets show hops of 30 to 50 us under LL.
double usual_hops(const std::string& network) {
  if (network == "efa") return 4;
  return network == "tcp" ? 10 : 1;
}

}  // namespace collsim
