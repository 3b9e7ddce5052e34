// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "collectives/collective.hpp"
#include "collectives/cost/cuts.hpp"
#include "topo/topology.hpp"

namespace collsim {

// What no schedule can beat: lower bounds on the time of a collective on any topology, under the
// simulator's model.  A simulated time below one of them is a bug of the simulator.
//
// Symbols: K ranks, N bytes (Collective::bytes()); X a set of devices, x the members of the group
// in it, B+(X) and B-(X) the sums of the bandwidths of the links that leave and enter it, alpha the
// least startup of these links, L the least latency that a message between members can have.
// K = 1: everything is 0.
//
// Bandwidth.  If b bytes must leave X, some link out of it is busy for at least alpha + b/B+(X)
// (the links' shares of b add up to b), whatever the routes and whoever relays, and its messages
// fly for L besides; the same for bytes that must enter, over B-(X), and, without L, for both
// together, where some links are half duplex.  (Where members have fair and exclusive links, L
// may pass while others flow, and does not count.)  What must leave X and enter it, where it has
// some members and not all:
//   broadcast       N leave an X with the root, N enter one without
//   reduce          N enter an X with the root, N leave one without
//   all-reduce      N leave and N enter
//   all-gather      the blocks of the members in X leave, the other blocks enter
//   reduce-scatter  the pieces of the members outside leave, summed up, those of members in X enter
//   scatter         the pieces of the members on the side without the root go there
//   gather          they come from there
//   all-to-all      x pieces for every member outside leave, K - x for every member in X enter
//   send-recv       the messages between a member in X and one outside
// Which sets X are looked at: cuts.hpp.  For an all-reduce, moreover, M sets that have no device in
// common and together all members send each other 2(M-1) N: M persons who tell each other
// everything need that many one-way messages (Harary, Schwenk 1974; Patarasuk, Yuan 2009), over the
// sum of all B+ (of all B-).  One rank each, this is 2(K-1) N.  It does not hold where switches
// between these sets add and multicast (Topology::link_to_adding_switch, network_adds); within a
// set they may.
//
// Latency.  One rank must reach all others (or all others one: the same backwards in time).  On
// exclusive links a rank starts at most P messages per alpha, P = the most links out of (into) one
// member's device, alpha the least of these links.  Within time t a rank reaches at most 1 + sum
// over j >= 1 of P^j C(i, j) ranks with i = floor((t - j L) / alpha), those j messages away
// (Bar-Noy, Kipnis 1994); the bound is the smallest t for which that is K, with L = 0
// ceil(log_(P+1) K) alpha.  Startups on fair links occupy nothing: one message, alpha + L.  Pieces
// of 0 bytes need not be sent, except in a barrier.
//
// Compute.  To add K vectors, (K-1) N bytes (+) are done, by K ranks with `lanes` instruction
// streams each, and none before a first message has come: alpha + L + (K-1)/K N gamma / lanes, with
// the least startup out of a member or that into one, whichever is larger.
struct LowerBounds {
  Time bandwidth;
  Time latency;
  Time compute;
  Time startup;        // alpha, part of `bandwidth`
  Time flight;         // L, part of `bandwidth`
  Time first_startup;  // alpha, part of `compute`
  Time first_flight;   // L, part of `compute`
  [[nodiscard]] Time largest() const;
  bool operator==(const LowerBounds&) const = default;
};

// Rounded down to picoseconds, as simulated messages and reductions are rounded up.  O(K) for every
// division of the cuts, which are of the collective's group.  The collective is one that validate()
// accepts, as every schedule's is.  Error{invalid_argument} when `lanes` is less than 1.
[[nodiscard]] LowerBounds lower_bounds(const Collective& collective, const NetworkCuts& cuts,
                                       std::optional<Bandwidth> reduce_bandwidth = std::nullopt,
                                       int lanes = 1);
// With the cuts that the structure of the network suggests, which are found anew by every call; all
// ranks of a ring, torus, hypercube or switch with equal links are not looked at one by one.
[[nodiscard]] LowerBounds lower_bounds(const Collective& collective, const Topology& topology,
                                       std::optional<Bandwidth> reduce_bandwidth = std::nullopt,
                                       int lanes = 1);

// Bytes of one collective that must leave X and enter it, where `positions` are those of its
// members in X; none of a send-recv.
struct CutTraffic {
  double out = 0;
  double in = 0;
};
[[nodiscard]] CutTraffic traffic_across(const Collective& collective,
                                        std::span<const int> positions);

// Bytes leave X, or enter it, or both over links that carry one direction at a time.
enum class CutDirection : std::uint8_t { out, in, both };
[[nodiscard]] const char* to_string(CutDirection direction);  // "out", ...

// The cut that the bandwidth bound is about: the first for which it is largest.
struct NarrowestLinks {
  Division::Kind kind{};
  bool together = false;       // all blocks send each other bytes; else a block is X
  std::vector<int> positions;  // the members in X, or in the first block
  std::size_t blocks = 0;      // of the division
  NodeId device;               // of a subtree
  std::size_t dimension = 0;   // of a line, which has the places from `from` to `to`
  std::size_t from = 0;
  std::size_t to = 0;
  CutDirection direction{};
  Bytes bytes = 0;              // that must pass
  double bytes_per_second = 0;  // of these links together
  std::uint32_t links = 0;      // of X
};
// Nothing where LowerBounds::bandwidth is 0.
[[nodiscard]] std::optional<NarrowestLinks> narrowest_links(const Collective& collective,
                                                            const NetworkCuts& cuts);

// The seconds that a reduce-scatter and an all-gather after it take at the best rates that the
// network has for them, without startups: no faster all-reduce is known, nor proved impossible.
// Nothing where those rates were not found (NetworkCuts::search, which this calls), nor where
// switches add, which may be faster.
[[nodiscard]] std::optional<double> best_known_all_reduce(const Collective& collective,
                                                          NetworkCuts& cuts);

[[nodiscard]] inline Time lower_bound(const Collective& collective, const Topology& topology,
                                      std::optional<Bandwidth> reduce_bandwidth = std::nullopt,
                                      int lanes = 1) {
  return lower_bounds(collective, topology, reduce_bandwidth, lanes).largest();
}

}  // namespace collsim
