// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "collectives/algorithms.hpp"
#include "collectives/collective.hpp"
#include "topo/topology.hpp"

namespace collsim {

// How long an algorithm keeps links next to some of its ranks busy: what it takes at least, for any
// number of chunks, found without simulating it.
//
// The programs of five ranks, lanes in switches included, are read in one chunk, and in two where
// startups add up.  A message that one of them sends, or gets, keeps the first, or the last, link
// of its route busy for startup + n/B (a fair link for n/B); of m messages in one chunk and m' in
// two, S chunks make m + (S-1)(m'-m).  All of a link's messages come one after the other, and the
// last arrives the link's latency later.
//
// Reading stops after some 200,000 instructions or links of routes, or where the routes to ever
// more peers would have to be searched in a large network; and nothing is read where messages
// choose among ways one by one.  The bound is then smaller, not wrong.
class LinkLoad {
 public:
  // The collective and the choice must be valid and its messages have routes, or Error;
  // `choice.chunks` does not matter.
  LinkLoad(const Collective& collective, const AlgorithmChoice& choice, const Topology& topology);

  // The same of all links of all routes, read from the programs of all ranks, however long that
  // takes: long routes meet in the middle of a network, not next to any rank.
  [[nodiscard]] static LinkLoad of_all_links(const Collective& collective,
                                             const AlgorithmChoice& choice,
                                             const Topology& topology);

  // No run in so many chunks takes less.
  [[nodiscard]] Time at_least(int chunks) const;

 private:
  LinkLoad() = default;
  struct Load {
    double fixed = 0;      // seconds: bytes/B, latency, startups of one chunk
    double per_chunk = 0;  // startups that every further chunk adds
  };
  void add(const Link& link, double messages, double bytes, double more_per_chunk);

  std::vector<Load> loads_;
};

}  // namespace collsim
