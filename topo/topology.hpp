// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_set>
#include <vector>

#include "topo/equal_ways.hpp"
#include "topo/ids.hpp"
#include "topo/node_names.hpp"
#include "topo/protocols.hpp"
#include "topo/turns.hpp"
#include "topo/units.hpp"

namespace collsim {

// How a link serves messages that want it at the same time.
//   exclusive: one message at a time, first in first out, in order of the time at which they ask
//              for it.  A message asks for each link of its route when its head gets there, and
//              waits for it without holding any other.
//   fair:      max-min sharing between connections, first in first out within one connection.
enum class Sharing : std::uint8_t { exclusive, fair };

// Which of several equal ways messages take from one rank to another.
//   usual            by the shape's own rule (EqualWays::usual); what has none: hash
//   first            the widest, then the smallest link ids; lane n takes the n-th parallel cable
//   hash             one for all messages of a pair of ranks, by the ranks and the seed
//   d_mod_k          by the target's number, where the shape has levels
//   dimension_order  one dimension after the other, in grids
//   spray            every message is split evenly over all of them
//   adaptive         each message the one that is least loaded when it is sent
//   valiant          dragonfly: through a third group, by the ranks and the seed
//   ugal             dragonfly: each message the shortest or a detour, by load when it is sent
enum class Routing : std::uint8_t {
  usual,
  first,
  hash,
  d_mod_k,
  dimension_order,
  spray,
  adaptive,
  valiant,
  ugal
};

// A row of what a link costs by the size of messages: up to so many bytes; the last row's are for
// all longer ones too.
struct LinkSegment {
  Bytes up_to = 0;
  Bandwidth bandwidth;
  Time latency{};
  Time startup{};
  bool operator==(const LinkSegment&) const = default;
};
using LinkSegments = std::vector<LinkSegment>;  // by rising up_to
// Of those, of which there are some, that of messages of so many bytes.
[[nodiscard]] const LinkSegment& row_for(const LinkSegments& segments, Bytes bytes);

// What a cable can do in one direction.  A message of n bytes occupies it for startup + n /
// bandwidth and arrives `latency` later.  On a fair link the startup only delays the start and
// occupies nothing.  Neither time may be negative or longer than half of Time::never() (53 days).
struct LinkParameters {
  Bandwidth bandwidth;
  Time latency{};  // L: delays the message, does not occupy the link
  Time startup{};  // alpha: startup of every message, occupies the link
  Sharing sharing = Sharing::exclusive;
  bool half_duplex = false;  // both directions are one resource
  bool down = false;         // it is not there: routes go around it
  Protocols protocols{};     // see Topology::under()
  // Of exclusive links.  Where there are any, bandwidth, latency and startup are the best of them,
  // so that bounds hold: see take_best_of_segments().
  LinkSegments segments{};
  bool operator==(const LinkParameters&) const = default;
};
void take_best_of_segments(LinkParameters& parameters);

// One direction of a cable.
struct Link {
  NodeId from;
  NodeId to;
  LinkId resource;  // what is occupied: itself, or for half duplex the first of both directions
  Sharing sharing = Sharing::exclusive;
  bool half_duplex = false;
  bool down = false;
  std::uint16_t protocols = 0;  // in Topology::Parts
  std::uint16_t segments = 0;   // likewise; 0: none
  Bandwidth bandwidth;
  Time latency;
  Time startup;
};

enum class NodeKind : std::uint8_t { gpu, network_switch, nic, cpu };
[[nodiscard]] const char* to_string(NodeKind kind);

// Where bytes can flow: devices and the directed links between them.  Immutable; made by the
// functions of shapes.hpp or by TopologyBuilder, and shared freely between threads and simulations.
// Ranks are the devices of kind gpu, in order: rank i is the i-th of them.
class Topology {
 public:
  [[nodiscard]] const std::string& shape() const { return parts_->shape; }
  [[nodiscard]] std::size_t rank_count() const { return parts_->rank_nodes.size(); }
  [[nodiscard]] std::size_t node_count() const { return parts_->kinds.size(); }
  [[nodiscard]] std::span<const Link> links() const { return parts_->links; }
  // The id must come from this topology; unchecked, because simulations call this too often.
  [[nodiscard]] const Link& link(LinkId id) const { return parts_->links[id.index()]; }
  // These, and name(), throw Error{unknown_name} for an id that does not exist.
  [[nodiscard]] LinkParameters parameters(LinkId id) const;  // what the link was made with
  [[nodiscard]] NodeId node_of(Rank rank) const {
    if (rank.index() >= rank_count()) [[unlikely]]
      no_such("rank", rank.index(), rank_count());
    return parts_->rank_nodes[rank.index()];
  }
  [[nodiscard]] NodeKind kind(NodeId node) const {
    if (node.index() >= node_count()) [[unlikely]]
      no_such("node", node.index(), node_count());
    return parts_->kinds[node.index()];
  }
  [[nodiscard]] std::optional<Rank> rank_at(NodeId node) const;

  // "gpu3", "switch0", "spine2" where switches have levels, or the name given to the builder.
  // find_node also finds switches of levels by their number among all: "switch0".
  [[nodiscard]] std::string name(NodeId node) const;
  [[nodiscard]] std::string name(LinkId link) const;  // "gpu3->switch0"
  [[nodiscard]] std::optional<NodeId> find_node(const std::string& name) const;
  // All links from one device to another, in order of their ids.
  [[nodiscard]] std::vector<LinkId> links_between(NodeId from, NodeId to) const;

  // How ranks are arranged, slowest dimension first: {nodes, gpus per node} or the sizes of a torus
  // or mesh; empty for others.
  [[nodiscard]] const std::vector<int>& dims() const { return parts_->dims; }

  // Which turns of the ranks leave this network and its routes unchanged, and where each link lies
  // as they see it.  There may be several such groups, or none; and never any where a link is half
  // duplex or down, so that every link is a resource of its own.
  struct Turning {
    std::vector<TurnDigit> digits;  // slowest first
    std::function<LinkPlace(LinkId)> place;
  };
  [[nodiscard]] const std::vector<Turning>& turnings() const { return parts_->turnings; }

  // The same topology except for some links ("one slow link").  Keeps symmetry where all links of a
  // kind change alike, and its routes if only startup or latency changed; else recomputes them (but
  // the fixed routes of `nodes`, fat-tree and dragonfly never change, as in real fabrics).
  //
  // Changes apply in order. half_duplex given for one direction holds for both, and the last change
  // wins: full duplex for one direction followed by the old, half-duplex parameters() for the other
  // leaves the cable half duplex.
  //
  // Error for a link that does not exist, negative or too long times, half duplex without an
  // opposite link, or half duplex with different sharing or bandwidth.
  struct LinkChange {
    LinkId link;
    LinkParameters parameters;
  };
  [[nodiscard]] Topology with_changed_links(std::span<const LinkChange> changes) const;

  // The same network as a protocol of NCCL uses it, when messages have about this many bytes: every
  // link with the rate and the hop that its protocols say, and no startup.  Keeps routes and
  // symmetry.  Error{invalid_argument} when a link does not carry it.
  // `by_network`: its switches add, so that links to and from them cost what they say of CollNet.
  [[nodiscard]] Topology under(LinkProtocol protocol, Bytes bytes, bool by_network = false) const;
  [[nodiscard]] bool carries(LinkProtocol protocol, bool by_network = false) const;
  // A rank's widest link to a switch under LinkProtocol::nvls: that switch adds and multicasts what
  // ranks send.  Nothing where there is none.
  [[nodiscard]] std::optional<LinkId> link_to_adding_switch(Rank rank) const;
  // Whether a link joins a NIC, or a rank without one, to a switch that adds and multicasts what
  // nodes send; whether some link does.
  [[nodiscard]] bool leads_to_adding_network(const Link& link) const {
    return cost_of(protocols_of(link), LinkProtocol::collnet).has_value();
  }
  [[nodiscard]] bool network_adds() const { return parts_->network_adds; }
  [[nodiscard]] const Protocols& protocols_of(const Link& link) const {
    return parts_->protocols[link.protocols];
  }

  // Whether any link's cost is another for messages of another size.
  [[nodiscard]] bool has_segments() const { return parts_->segments.size() > 1; }
  [[nodiscard]] const LinkSegments& segments_of(const Link& link) const {
    return parts_->segments[link.segments];
  }
  // What a message of so many bytes costs there: bandwidth, latency and startup.
  [[nodiscard]] LinkSegment cost_on(const Link& link, Bytes bytes) const;

  // Shapes compute their routes and orbits; everything else searches.  See routes.hpp.
  struct Parts {
    std::string shape;
    std::vector<NodeKind> kinds;
    std::vector<Link> links;
    std::vector<Protocols> protocols = {Protocols{}};       // the few kinds that links have
    std::vector<LinkSegments> segments = {LinkSegments{}};  // likewise
    std::vector<NodeId> rank_nodes;
    NodeNames names;  // empty: named by kind and number, nodes sorted by kind
    std::vector<int> dims;
    // Switches by level, lowest first ("leaf", "spine"); empty: all are called "switch<n>".
    struct Level {
      std::string name;
      NodeId first;  // of `count` neighbouring ids
      std::size_t count = 0;
    };
    std::vector<Level> levels = {};
    // Neighbouring links of one purpose, both directions, in order of their ids: "leaf" leads from
    // below up to the leaves.  All links, or empty where a shape has no such names.
    struct LinkLevel {
      std::string name;
      std::size_t count = 0;
    };
    std::vector<LinkLevel> link_levels = {};
    std::shared_ptr<const EqualWays> ways = {};  // nullptr: search the graph
    bool routes_ignore_bandwidth = false;        // `ways` stand when a bandwidth changes
    Routing routing = Routing::usual;
    std::uint64_t routing_seed = 0;
    std::vector<Turning> turnings = {};
    // By rank, its link to a switch that adds; empty where there is none.  Set by the constructor.
    std::vector<std::optional<LinkId>> to_adding_switch = {};
    bool network_adds = false;  // likewise
  };
  explicit Topology(Parts parts);  // checks that it is consistent
  [[nodiscard]] const Parts& parts() const { return *parts_; }

 private:
  [[noreturn]] static void no_such(const char* what, std::size_t number, std::size_t count);

  std::shared_ptr<const Parts> parts_;
};

// Builds an explicit graph, device by device and cable by cable.  Every mistake throws an Error
// that names the device: unknown node, link to itself, name used twice, negative time, no gpu at
// all.  A node without a name gets its kind and number ("gpu3" is the fourth gpu).
class TopologyBuilder {
 public:
  NodeId add_node(NodeKind kind, const std::string& name = {});
  // Both directions of a cable (returns the first, from -> to; the other has the next id).
  LinkId connect(NodeId from, NodeId to, const LinkParameters& parameters);
  // One direction only; half duplex makes no sense here and is an Error.
  LinkId connect_one_way(NodeId from, NodeId to, const LinkParameters& parameters);
  [[nodiscard]] Topology build(const std::string& shape = "explicit") const;

 private:
  [[nodiscard]] std::string name_of(NodeId node) const;
  void check_ends(NodeId from, NodeId to, const LinkParameters& parameters) const;

  Topology::Parts parts_;
  std::unordered_set<std::string> names_;
  std::array<std::size_t, 4> count_of_kind_{};
};

}  // namespace collsim
