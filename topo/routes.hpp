// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <random>
#include <span>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "topo/topology.hpp"

namespace collsim {

// Routes through a topology.  The ways from one rank to another are equal when they have the fewest
// hops and, among those, the largest smallest bandwidth.  Other ranks relay only if no other way
// exists, and no way crosses a link that is down.  Shapes number their equal ways (EqualWays);
// those of other graphs are searched and numbered likewise, each of several parallel cables making
// a way of its own.
//
// Routing says which way messages take.  A hash is of the two ranks' numbers and the seed, and each
// way is as likely as any other; names of devices do not matter.  Routing::first is the way whose
// links have the smallest ids, compared from the start.
//
// Where only parallel cables make the difference, hash and first are the same: lane n of a rank
// takes the n-th of them, starting over after the last.  So parallel channels use parallel cables.
// On any other way lane n takes the n-th after the one of that way.
//
// A way of a shape that crosses a link that is down is replaced by one that does not: the messages
// that took it are shared out evenly among those (`first`: by the smallest number), and all others
// stay where they are.  Where there is none, the way is a searched one.
//
// A Router is the mutable companion of an immutable topology: it searches once per device to which
// targets are attached (a switch) and once per target that only relaying ranks reach, and caches
// the result; beyond 64 MB each new search evicts another.  Shapes that compute their routes are
// searched only where links are down.
class Router {
 public:
  explicit Router(Topology topology);

  // The way of all messages of a lane of one rank to another.  Where each message chooses anew
  // (chooses_per_message()), the one that the hash would take.  Empty when from == to.
  //
  // Error{no_route} names both ends if no way exists, or says who is cut off by links that are
  // down; Error{invalid_argument} names a rank that does not exist.  The span is valid until the
  // next call.
  [[nodiscard]] std::span<const LinkId> route(Rank from, Rank to, Lane lane = Lane(0)) {
    check_ranks(from, to);
    route_.clear();
    if (from == to) return route_;
    if (always_usual_ == nullptr) return chosen_route(from, to, lane);
    always_usual_->append(from, to, always_usual_->usual(from, to), route_);
    return route_;
  }

  // What messages may choose among: all equal ways, in order of their numbers, or 64 evenly chosen
  // ones of more; for Routing::ugal then the detours, likewise.  But for Routing::spray the order
  // begins with the source's number, so that sources to which all ways look alike take different
  // ones.  At least one; valid until the next call.
  static constexpr std::uint64_t most_choices = 64;
  struct Choices {
    std::vector<std::vector<LinkId>> ways;
    std::size_t detours = 0;  // so many of them, the last ones
  };
  [[nodiscard]] const Choices& choices(Rank from, Rank to);

  // Routing::first by searching, even if the shape computes its routes; tests compare the two.
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
  // How many ways (16 bytes each) the caches hold.
  static constexpr std::size_t max_remembered = std::size_t{1} << 22;

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
  void check_ranks(Rank from, Rank to) const {
    if (from.index() >= topology_.rank_count() || to.index() >= topology_.rank_count()) [[unlikely]]
      report_no_rank(from, to);
  }
  [[noreturn]] void report_no_rank(Rank from, Rank to) const;
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

  // How many cables of at least this width join two devices, and the n-th of them.
  [[nodiscard]] std::uint64_t count_cables(NodeId from, NodeId to, std::int64_t width) const;
  [[nodiscard]] LinkId cable(NodeId from, NodeId to, std::int64_t width, std::uint64_t n) const;

  // Each puts one way into route_.  A way of the shape may be down; then false.
  bool take_numbered(Rank from, Rank to, std::uint64_t way);
  bool take_detour(Rank from, Rank to, std::uint64_t detour);
  [[nodiscard]] std::span<const LinkId> chosen_route(Rank from, Rank to, Lane lane);
  bool take_shape_route(Rank from, Rank to);
  void take_hashed(Rank from, Rank to, Lane lane);
  void take_searched(Rank from, Rank to, std::uint64_t number);
  [[nodiscard]] bool is_alive(std::span<const LinkId> route) const;
  [[nodiscard]] std::uint64_t hash(Rank from, Rank to) const;

  // Counts the equal ways by searching; route_ gets the first of them, endings_ how they end.
  // Beyond 2^62 some are left out.
  std::uint64_t find_equal_ways(Rank from, Rank to);
  // Those of at least this width, by the node they start from.
  using Counts = std::vector<std::uint64_t>;
  const Counts& counts_to(NodeId target, bool through_ranks, std::int64_t width);
  [[nodiscard]] std::uint64_t cables_alike() const;  // ways like route_ but for parallel cables
  [[noreturn]] void report_no_route(NodeId from, NodeId to) const;
  [[nodiscard]] std::string ranks_in_words(const std::vector<Rank>& ranks) const;

  bool take_direct_link(NodeId from, NodeId to);
  bool take_switches(NodeId from, NodeId to);
  bool take_relays(NodeId from, NodeId to);
  void spread_over_cables(Lane lane);

  // Among equal ways those with the same last devices: the devices backwards from the target, where
  // there is no choice but of cables, to the one that was searched.
  struct Ending {
    std::vector<NodeId> tail;
    bool through_ranks = false;
    std::uint64_t cables = 1;  // ways along the tail
    std::uint64_t ways = 0;    // in all
  };

  // Fills last_devices_: the devices other than ranks with links to the target.
  void find_last_devices(NodeId target);
  // Fills tail_: the target, its neighbour, and so on backwards, as long as only one device
  // precedes.
  void follow_private_devices(NodeId target, NodeId neighbour);

  const Ways& ways_to(NodeId target, bool through_ranks);
  [[nodiscard]] Ways search_from(NodeId target, bool through_ranks) const;
  [[nodiscard]] bool may_relay(NodeId node, NodeId target, bool through_ranks) const;
  // Whether a link begins a way of the fewest hops and of at least this width.
  [[nodiscard]] bool leads_on(LinkId id, NodeId target, std::int64_t width, bool through_ranks,
                              const Ways& ways) const;
  // Appends the links of the first way of at least this width.
  void walk(NodeId from, NodeId target, std::int64_t width, bool through_ranks, const Ways& ways,
            std::vector<LinkId>& route) const;

  Topology topology_;
  bool any_down_ = false;
  const EqualWays* always_usual_ = nullptr;  // the shape's, where its own rule decides alone
  Adjacency entering_, leaving_;
  std::vector<LinkId> route_, candidate_;
  std::vector<NodeId> last_devices_, tail_;
  std::unordered_map<std::uint64_t, Ways> ways_;
  std::vector<std::uint64_t> keys_;  // of ways_
  std::vector<Ending> endings_;
  std::int64_t width_ = 0;  // of the equal ways
  std::map<std::tuple<NodeId, bool, std::int64_t>, Counts> counts_;
  Choices choices_;
  std::minstd_rand random_;
};

// The same network with another routing.  Symmetry is lost where routes go by hash or by load.
[[nodiscard]] Topology with_routing(const Topology& topology, Routing routing, std::uint64_t seed);

// Whether the messages of one lane to another take several ways: spray, adaptive, ugal.
[[nodiscard]] bool chooses_per_message(const Topology& topology);

}  // namespace collsim
