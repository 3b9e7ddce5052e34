// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <variant>
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
// A link per dimension.  Routes stay as they are, whichever dimension is narrower.
[[nodiscard]] Topology make_torus(const std::vector<int>& dims,
                                  const std::vector<LinkParameters>& links);

// The torus without its wrap-around cables.
[[nodiscard]] Topology make_mesh(const std::vector<int>& dims, const LinkParameters& link);
[[nodiscard]] Topology make_mesh(const std::vector<int>& dims,
                                 const std::vector<LinkParameters>& links);

// 2^d ranks, neighbours differ in one bit; routes correct the highest differing bit first.
[[nodiscard]] Topology make_hypercube(std::size_t ranks, const LinkParameters& link);

// Switches in two or three levels, each of which meets every switch of the level above (in its pod,
// where there are pods).  The ends, which are ranks or the NICs of nodes, are on leaves in blocks:
// end e is on leaf e / ends_per_leaf.  With rails, the ends of a node are on as many leaves: end e
// is on leaf e % rails of the unit of `rails` leaves that ends_per_leaf nodes share.
//
// Two levels are called "leaf" and "spine"; `spines` is then their number.  Three are called
// "edge", "aggregation" and "core": a pod has leaves_per_pod edge and `spines` aggregation
// switches, and the n-th aggregation switch of every pod meets the same `cores` core switches.  The
// last leaf and the last pod may be partly filled.
//
// Equal ways: any cable up, in three levels any core switch, and any of the parallel cables down.
// The usual one is chosen by the target's number (d-mod-k), as in real fabrics, so that ways share
// the load: end t, counted leaf by leaf, is reached over the t-th cable up (mod their number), and
// the (t / that number)-th core switch.  Cables of a leaf are counted spine by spine, then parallel
// ones.
struct TreeShape {
  std::string name = "leaf-spine";  // of the topology
  std::size_t ends = 1;
  std::size_t ends_per_leaf = 1;
  std::size_t rails = 1;
  std::size_t spines = 1;
  std::size_t cables = 1;          // between a leaf and each of its spines
  std::size_t leaves_per_pod = 0;  // 0: two levels
  std::size_t cores = 0;
  std::vector<LinkParameters> links;  // by level, that of the ends first
};
[[nodiscard]] Topology make_tree(const TreeShape& shape);

// The fat-tree of switches of `ports` ports.  With oversubscription o an edge switch has u =
// ports / (1 + o) ports up and o u down, rounded down, and likewise an aggregation switch; where
// the links above are faster than those below, bandwidths count instead of ports.  Two levels have
// at most `ports` leaves, three at most `ports` pods; where `ranks` are fewer than fit, the last
// switches are missing, and no switch above them.
struct FatTreeShape {
  int levels = 3;
  int ports = 2;
  std::size_t ranks = 0;                      // 0: as many as fit
  std::vector<double> oversubscription = {};  // by level, lowest first; missing ones are 1
  std::vector<LinkParameters> links;          // `levels` of them
};
[[nodiscard]] TreeShape tree_of(const FatTreeShape& shape);

// That of three levels without oversubscription (Al-Fares, Loukissas, Vahdat 2008): k pods of k/2
// edge and k/2 aggregation switches, (k/2)^2 core switches, k^3/4 ranks; k even.  Rank t = (pod *
// k/2 + edge) * k/2 + i is reached over aggregation switch i and core switch (i, edge).  2 links
// within an edge switch, 4 within a pod, 6 else.
[[nodiscard]] Topology make_fat_tree(int ports, const LinkParameters& link);

// Groups of routers, fully connected inside a group (Kim, Dally, Scott, Abts 2008),
// ranks_per_router ranks on each, and `cables` cables between every two groups.  The m-th cable
// between groups g and h sits on router (((h - g - 1) mod groups) * cables + m) mod routers of g.
// The switches are called "router0" ...; the links' levels "terminal", "local" and "global".
// Routes are minimal in the paper's sense: local, global, local, with at most one global cable,
// even where two would take fewer hops.  Equal ways: any cable between the two groups, so some have
// a local link more than others; the usual one is the target's number, modulo.  Detours: through a
// third group, over any cables.
struct DragonflyShape {
  int groups = 2;
  int routers_per_group = 1;
  int ranks_per_router = 1;
  LinkParameters link;                                         // of the ranks
  std::optional<LinkParameters> local_link, global_link = {};  // as that of the ranks
  int cables = 1;
};
[[nodiscard]] Topology make_dragonfly(const DragonflyShape& shape);

// `nodes` machines of `gpus_per_node` ranks (rank = node * gpus_per_node + gpu), joined by one
// non-blocking switch, or by a network whose ends are the NICs in order. Inside, the ranks form one
// of the shapes above.  With as many NICs as GPUs every rank has its own port into the network
// (rail i of node n is rank (n, i)'s); with fewer, gpus_per_node / nics_per_node neighbouring ranks
// share a NIC device, reached over an attachment that adds no cost to the NIC's own port: full
// duplex, the port's bandwidth, no latency, no startup.  Messages between ranks of one node never
// leave it and take the route of its shape, even where searching would find a shorter way through
// the NICs. Switches: of the nodes in order ("switch<n>", when intra is a switch), then those
// between them.
//
// A network of rails (TreeShape::rails, one per NIC of a node) joins the n-th NICs of all nodes at
// the n-th leaf: messages between different rails cross a spine.  With `pxn` (NCCL's word) they
// first move inside the node to the rank whose number in its node is the target's, and then stay on
// its rail.
struct NodesShape {
  enum class Intra { chain, ring, fully_connected, network_switch, mesh, torus, hypercube };
  int nodes = 1;
  int gpus_per_node = 1;
  int nics_per_node = 1;
  Intra intra = Intra::network_switch;
  std::vector<int> intra_dims = {};  // mesh and torus only
  LinkParameters intra_link;
  LinkParameters inter_link;  // of NICs
  // What they lead to instead of one switch; its ends, and its link to them, are those above.
  std::variant<std::monostate, TreeShape, DragonflyShape> network = {};
  bool pxn = false;
};
[[nodiscard]] Topology make_nodes(const NodesShape& shape);

}  // namespace collsim
