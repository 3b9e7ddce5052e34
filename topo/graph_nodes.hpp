// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <variant>

#include "topo/shapes.hpp"
#include "topo/topology.hpp"

namespace collsim {

// `nodes` copies of a machine that is a graph, such as a preset, joined by a network whose ends are
// their NICs in order.  Rank = node * ranks of a node + rank in the node.
//
// Inside a node messages take the first of equal ways, as they do in one such machine alone.  A
// message to another node leaves by the nearest NIC, several equally near ones being taken in turn
// by the ranks, and comes in by that of its target.  Rails and `pxn` are as in NodesShape.
//
// Devices: those of the nodes but the NICs ("gpu<rank>", "node3.nvswitch"), then all NICs, then the
// switches of the network by their level ("leaf0").
struct GraphNodes {
  Topology node;
  std::size_t nodes = 1;
  std::variant<TreeShape, DragonflyShape> network;  // its first link is that of the NICs
  bool pxn = false;
};
[[nodiscard]] Topology make_graph_nodes(const GraphNodes& shape);

// `nodes` copies of a machine made of cables, whose NICs one non-blocking switch, "network", joins
// by cables that are all alike.  Ranks are arranged as {nodes, ranks of a node}; one node is the
// machine alone, without the switch.
//
// Devices: those of the nodes in turn, with the NICs ("gpu<rank>", "node3.nvswitch", "node3.nic0"),
// then the switch.
[[nodiscard]] Topology make_switched_copies(const Topology& node, std::size_t nodes,
                                            const LinkParameters& nic_link);

}  // namespace collsim
