// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <random>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "topo/topology.hpp"

namespace collsim {

// Which links a message crosses from one rank to another: the fewest hops; among those the widest
// (largest smallest bandwidth); among those the one whose links have the smallest ids, compared
// from the start.  Other ranks relay only if no other way exists.  Shapes with many equal ways
// choose by target instead of by id (fat-tree), as real fabrics do; shapes.hpp says which.
//
// Where several cables of the same bandwidth join the same two devices, lane n of a rank takes the
// n-th of them, starting over after the last: this is how parallel channels use parallel cables.
//
// A Router is the mutable companion of an immutable topology: it searches once per device to which
// targets are attached (a switch) and once per target that only relaying ranks reach, and caches
// the result; beyond 64 MB each new search evicts another.  Shapes that compute their routes are
// never searched.
class Router {
 public:
  explicit Router(Topology topology) : topology_(std::move(topology)) {}

  // Empty when from == to.  Error{no_route} names both ends if no way exists,
  // Error{invalid_argument} a rank that does not exist.  The span is valid until the next call.
  [[nodiscard]] std::span<const LinkId> route(Rank from, Rank to, Lane lane = Lane(0));

  // The same by searching, even if the shape computes its routes; tests compare the two.
  [[nodiscard]] std::span<const LinkId> searched_route(Rank from, Rank to);

 private:
  // How a node reaches one target with the fewest hops: the largest width of such ways, and the
  // smallest link with which one of that width starts.
  struct Way {
    std::int64_t width = 0;  // bytes per second; 0: there is no way
    std::uint32_t hops = 0;
    LinkId next;
  };
  using Ways = std::vector<Way>;  // per node

  // The links that enter or leave each node, in order of their ids.
  struct Adjacency {
    std::vector<std::size_t> first;  // per node, and one more
    std::vector<LinkId> links;
    [[nodiscard]] std::span<const LinkId> of(NodeId node) const {
      const std::size_t begin = first[node.index()];
      return {links.data() + begin, first[node.index() + 1] - begin};
    }
  };

  [[nodiscard]] Adjacency adjacency(NodeId Link::*end) const;
  void find_neighbours();
  void check_ranks(Rank from, Rank to) const;
  [[nodiscard]] std::int64_t bandwidth_of(LinkId id) const {
    return topology_.link(id).bandwidth.bytes_per_second();
  }

  // A range of links that contains all from the one device to the other.
  [[nodiscard]] std::span<const LinkId> candidates(NodeId from, NodeId to) const;
  [[nodiscard]] bool joins(LinkId id, NodeId from, NodeId to) const;
  // The bandwidth of the widest link between two devices, 0: there is none; and the smallest id of
  // at least that bandwidth.
  [[nodiscard]] std::int64_t widest_cable(NodeId from, NodeId to) const;
  [[nodiscard]] LinkId first_cable(NodeId from, NodeId to, std::int64_t width) const;

  bool take_direct_link(NodeId from, NodeId to);
  bool take_switches(NodeId from, NodeId to);
  bool take_relays(NodeId from, NodeId to);
  void spread_over_cables(Lane lane);

  // Fills last_devices_: the devices other than ranks with links to the target.
  void find_last_devices(NodeId target);
  // Fills tail_: the target, its neighbour, and so on backwards, as long as only one device
  // precedes.
  void follow_private_devices(NodeId target, NodeId neighbour);

  const Ways& ways_to(NodeId target, bool through_ranks);
  [[nodiscard]] Ways search_from(NodeId target, bool through_ranks) const;
  [[nodiscard]] bool may_relay(NodeId node, NodeId target, bool through_ranks) const;
  // Appends the links of the first way of at least this width.
  void walk(NodeId from, NodeId target, std::int64_t width, bool through_ranks, const Ways& ways,
            std::vector<LinkId>& route) const;

  Topology topology_;
  Adjacency entering_, leaving_;
  std::vector<LinkId> route_, candidate_;
  std::vector<NodeId> last_devices_, tail_;
  std::unordered_map<std::uint64_t, Ways> ways_;
  std::vector<std::uint64_t> keys_;  // of ways_
  std::minstd_rand random_;
};

}  // namespace collsim
