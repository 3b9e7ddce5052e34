// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "topo/topology.hpp"

namespace collsim {

// The regular networks of textbooks and machine rooms.  Each takes the number of ranks (or
// dimensions) and the parameters of its links; each throws Error when the number makes no sense (0,
// too many, not a power of two ...) or a link has a negative or too long time.  Rank i is node i
// ("gpu<i>"); switches, then NICs come after the ranks.  All links exist in both directions.
//
// Every shape computes its routes.  Unless stated below they are those that Router would find by
// searching; a suitable order of link ids makes ties come out the same.

// 0 - 1 - 2 - ... - K-1
[[nodiscard]] Topology make_chain(std::size_t ranks, const LinkParameters& link);

// The chain closed: 0 - 1 - ... - K-1 - 0.  Two ranks are joined by one cable, one rank by none.
// A message to a rank that is not a neighbour goes the shorter way round; if both are equally long,
// in increasing direction (i to i+1) for every rank, so that no rank differs from another.
[[nodiscard]] Topology make_ring(std::size_t ranks, const LinkParameters& link);

// A link of its own for every ordered pair.  At most 8,192 ranks.
[[nodiscard]] Topology make_fully_connected(std::size_t ranks, const LinkParameters& link);

// One full-duplex port per rank into a non-blocking switch: link 2r is rank r's way out, 2r+1 its
// way in.
[[nodiscard]] Topology make_switch(std::size_t ranks, const LinkParameters& port);

// Wrap-around rings in every dimension, slowest first; a dimension of 2 has one cable, of 1 none.
// Routes correct the slowest dimension first, each the shorter way round; if both are equally long,
// sources whose coordinates (in dimensions of even size above 2) add up to an odd number go in
// decreasing direction, the others in increasing one.
[[nodiscard]] Topology make_torus(const std::vector<int>& dims, const LinkParameters& link);

// The torus without its wrap-around cables.
[[nodiscard]] Topology make_mesh(const std::vector<int>& dims, const LinkParameters& link);

// 2^d ranks, neighbours differ in one bit; routes correct the highest differing bit first.
[[nodiscard]] Topology make_hypercube(std::size_t ranks, const LinkParameters& link);

// `nodes` machines of `gpus_per_node` ranks (rank = node * gpus_per_node + gpu), joined by one
// non-blocking switch. Inside, the ranks form one of the shapes above.  With as many NICs as GPUs
// every rank has its own port into the switch (rail i of node n is rank (n, i)'s); with fewer,
// gpus_per_node / nics_per_node neighbouring ranks share a NIC device, reached over an attachment
// that adds no cost to the NIC's own port: full duplex, the port's bandwidth, no latency, no
// startup.  Messages between ranks of one node never leave it and take the route of its shape,
// even where searching would find a shorter way through the NICs.  Switches: of the nodes in order
// ("switch<n>", when intra is a switch), then the one that joins them.
struct NodesShape {
  enum class Intra { chain, ring, fully_connected, network_switch, mesh, torus, hypercube };
  int nodes = 1;
  int gpus_per_node = 1;
  int nics_per_node = 1;
  Intra intra = Intra::network_switch;
  std::vector<int> intra_dims;  // mesh and torus only
  LinkParameters intra_link;
  LinkParameters inter_link;
};
[[nodiscard]] Topology make_nodes(const NodesShape& shape);

// The three-level fat-tree of k-port switches (Al-Fares, Loukissas, Vahdat 2008): k pods of k/2
// edge and k/2 aggregation switches, (k/2)^2 core switches, k^3/4 ranks; k even.  Every way up is
// chosen by the target's number (D-mod-k), as in real fabrics, so that equal ways share the load:
// rank t = (pod * k/2 + edge) * k/2 + i is reached over aggregation switch i and core switch (i,
// edge).  2 links within an edge switch, 4 within a pod, 6 else.
[[nodiscard]] Topology make_fat_tree(int ports, const LinkParameters& link);

// Groups of routers, fully connected inside a group, one cable between every two groups (Kim,
// Dally, Scott, Abts 2008), ranks_per_router ranks on each.  The cable between groups g and h sits
// on router ((h - g - 1) mod groups) mod routers of g. Routes are minimal in the paper's sense:
// local, global, local, with at most one global cable, even where two would take fewer hops.
struct DragonflyShape {
  int groups = 2;
  int routers_per_group = 1;
  int ranks_per_router = 1;
  LinkParameters link;
};
[[nodiscard]] Topology make_dragonfly(const DragonflyShape& shape);

}  // namespace collsim
