// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "collectives/collective.hpp"
#include "topo/topology.hpp"

namespace collsim {

// What no schedule can beat: lower bounds on the time of a collective on any topology, under the
// simulator's model.  A simulated time below one of them is a bug of the simulator.
//
// Symbols: K ranks, N bytes (Collective::bytes()), e_r / i_r = sum of the bandwidths of the links
// out of / into rank r's device, alpha = the least startup of these links, L = the least latency
// that a message between members can have.  K = 1: everything is 0.
//
// Bandwidth.  Every message that leaves a rank crosses one of the links out of its device and keeps
// it busy for alpha + n/B, then flies for L.  If b bytes must leave rank r, some link is busy for
// at least alpha + b/e_r (the links' shares of b add up to b), and the last byte arrives L later;
// the same for bytes that must enter, over i_r.  (Where members have fair and exclusive links, L
// may pass while others flow, and does not count.)  What must leave and enter, element by element:
//   broadcast       N leave the root, N enter every other rank
//   reduce          N enter the root, N leave every other rank
//   all-reduce      N leave and N enter every rank; 2(K-1) N in all, over the sum of all e_r (of
//                   all i_r): K ranks that tell each other everything need 2(K-1) one-way messages
//                   (Harary, Schwenk 1974; Patarasuk, Yuan 2009)
//   all-gather      every rank's block leaves it, the other blocks enter
//   reduce-scatter  all but a rank's own piece leaves, the sum's piece enters
//   scatter         all but the root's own piece leaves the root, every piece enters its rank
//   gather          all but the root's own piece enters the root, every piece leaves its rank
//   all-to-all      all but the own piece leaves and enters
//   send-recv       the message
// Behind switches that add and multicast (Topology::link_to_adding_switch) ranks need not tell each
// other everything, so for an all-reduce only N per rank remain.
//
// Latency.  One rank must reach all others (or all others one: the same backwards in time).  On
// exclusive links a rank starts at most P messages per alpha, P = the most links out of (into) one
// member's device.  Within time t a rank reaches at most 1 + sum over j >= 1 of P^j C(i, j) ranks
// with i = floor((t - j L) / alpha), those j messages away (Bar-Noy, Kipnis 1994); the bound is the
// smallest t for which that is K, with L = 0 ceil(log_(P+1) K) alpha.  Startups on fair links
// occupy nothing: one message, alpha + L.  Pieces of 0 bytes need not be sent, except in a barrier.
//
// Compute.  To add K vectors, (K-1) N bytes (+) are done, none before a first message has arrived,
// by K ranks with `lanes` instruction streams each: alpha + L + (K-1)/K N gamma / lanes.
struct LowerBounds {
  Time bandwidth;
  Time latency;
  Time compute;
  // What every message costs at least, alpha and L: part of `bandwidth` and of `compute`.
  Time startup;
  Time flight;
  [[nodiscard]] Time largest() const;
};

// Rounded down to picoseconds, as simulated messages and reductions are rounded up.  O(links + K).
// The collective is one that validate() accepts, as every schedule's is.  Error{invalid_argument}
// when a rank of its group is not in the topology, and when `lanes` is less than 1.
[[nodiscard]] LowerBounds lower_bounds(const Collective& collective, const Topology& topology,
                                       std::optional<Bandwidth> reduce_bandwidth = std::nullopt,
                                       int lanes = 1);

// Whose links the bandwidth bound is about: the first position for which it is largest, or all
// positions together.
struct NarrowestLinks {
  std::optional<int> position;  // none: 2(K-1) N of an all-reduce through the links of all
  bool sends = false;           // else it receives
  Bytes bytes = 0;              // that must pass
  double bytes_per_second = 0;  // of these links together
  std::uint32_t links = 0;      // of the position
};
// Nothing where LowerBounds::bandwidth is 0.  The same errors.
[[nodiscard]] std::optional<NarrowestLinks> narrowest_links(const Collective& collective,
                                                            const Topology& topology);

[[nodiscard]] inline Time lower_bound(const Collective& collective, const Topology& topology,
                                      std::optional<Bandwidth> reduce_bandwidth = std::nullopt,
                                      int lanes = 1) {
  return lower_bounds(collective, topology, reduce_bandwidth, lanes).largest();
}

}  // namespace collsim
