// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <optional>

#include "app/scenario/object_reader.hpp"
#include "topo/topology.hpp"

namespace collsim {

class Workload;

// Which of NCCL's protocols the messages of a training step are sent under: "protocol".  Links of
// presets say what a protocol costs on them, instead of their own latency and overhead.  One
// protocol serves all messages of a step.
//
//   LL, LL128, Simple   that one
//   none                the links' own latency and overhead
//
// By default, where the links carry some, the one under which what a few ranks send takes least in
// all, by chain_seconds(); none elsewhere.
struct ProtocolWish {
  bool none = false;
  std::optional<LinkProtocol> forced = {};
};
// A protocol that the cluster's links do not carry is a mistake.
[[nodiscard]] ProtocolWish read_protocol_wish(ObjectReader& workload, const Topology* network);

// Under which protocol, and of how many bytes the messages are in the mean.
struct StepProtocol {
  LinkProtocol protocol = LinkProtocol::simple;
  Bytes message = 0;
};
[[nodiscard]] std::optional<StepProtocol> protocol_of(const ProtocolWish& wish,
                                                      const Workload& workload,
                                                      const Topology& network);

// NCCL's for all but sends and receives, and switches that add.
inline constexpr std::array ring_protocols = {LinkProtocol::ll, LinkProtocol::ll128,
                                              LinkProtocol::simple};

// The way of long messages from one rank to another under a protocol.
struct ProtocolWay {
  double flight = 0;  // seconds
  double rate = 0;    // bytes/s; 0: there is no such way
};
[[nodiscard]] ProtocolWay way_between(const Topology& network, Rank from, Rank to,
                                      LinkProtocol protocol);

// About how long so many messages take, each sent when the one before has come; a share of them
// goes to another node, and those in a node have one of so many shares of its links:
//
//   messages max(mean of (flight + b/B), the longest b/B)
[[nodiscard]] double chain_seconds(double messages, double bytes, double crossing, double shares,
                                   const ProtocolWay& inside, const ProtocolWay& between);

// About how long a ring with n bytes takes for so many steps, each with a block of n / ranks, where
// `members` of its ranks share a node, and each of them has a channel that enters there.
[[nodiscard]] double ring_seconds(double steps, double n, double ranks, double members,
                                  const ProtocolWay& inside, const ProtocolWay& between);

}  // namespace collsim
