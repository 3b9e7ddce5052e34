// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "collectives/collective.hpp"
#include "collectives/cost/divisions.hpp"
#include "topo/topology.hpp"

namespace collsim {

// What the members of a group see of the network next to them, whatever lies between them.
struct Surroundings {
  std::uint32_t most_out = 0;  // links of one member
  std::uint32_t most_in = 0;
  bool exclusive = true;         // all links at members are
  bool fair = true;              // likewise
  bool adding_switches = false;  // every member is behind one
  Time startup_out;              // the least of a link out of a member
  Time startup_in;
  Time latency;  // the least that a message from one member to another can have
};

// The cuts of a network that lower bounds are made of, for one group of ranks.  They depend on
// neither the size nor the algorithm, so whoever asks for many bounds keeps them.
//
// From the beginning they are those of structural_divisions().  search() adds the tightest of all
// cuts for one operation.  With X any set of devices, |X| the members in it, and B+(X) and B-(X)
// the bandwidths out of and into it, that is the one with
//
//   all-gather      the least B+(X) / |X|, X without some member   gather   X without the root
//   reduce-scatter  the least B-(X) / |X|, X without some member   scatter  X without the root
//   broadcast       the least B+(X), X with the root and without some member
//   reduce          the least B-(X), X with the root and without some member
//   all-reduce      the least B+(X), X with some members and without some
//
// The pieces of the members in X must cross its border at least once each, so no schedule, whatever
// its routes and relays, is faster than they are at that ratio.  Without startups and in the limit
// of fine pieces some schedule is as fast, where as much bandwidth leads into every switch as out
// of it: the trees along which pieces travel then fit into the network (Edmonds 1973; Zhao et al.
// 2024, ForestColl).  Of an all-reduce that is not known.  Ranks that are no members relay.
//
// It is found by Newton's method: while some member cannot be brought as much as the best ratio so
// far says, by maximum flow, the cut in its way has a lower one.  All arithmetic is on integers.
// Members that pass are sources from then on, so that most flows are short.  For networks of some
// thousand devices that takes some hundredths of a second; what would take more than most_work
// stops, and keeps the best cut so far.
class NetworkCuts {
 public:
  // Error{invalid_argument} when the topology lacks a rank of the group.
  NetworkCuts(const Topology& topology, std::span<const Rank> group);

  // The ratio: `capacity` bytes per second for the pieces of `members` (1 for broadcast, reduce and
  // all-reduce).  Exact: there is no tighter cut; otherwise it was too much to search.
  struct Rate {
    std::int64_t capacity = 0;
    std::int64_t members = 1;
    bool exact = false;
  };
  // Nothing for other operations, for one member, where some member cannot be reached at all, and
  // where bandwidths add up to more than 64 bits hold.  A root is a position.  Asking again costs
  // as much again.
  std::optional<Rate> search(Operation operation, int root);
  static constexpr std::uint64_t most_work = 20'000'000;  // arcs looked at

  [[nodiscard]] const Topology& topology() const { return topology_; }
  [[nodiscard]] std::span<const Rank> group() const { return group_; }
  // The members' own cuts come first.
  [[nodiscard]] std::span<const Division> divisions() const { return divisions_; }
  [[nodiscard]] const Surroundings& around() const { return around_; }

 private:
  struct Question;
  class Search;
  [[nodiscard]] Rate tightest_known(const Question& question) const;
  std::optional<Rate> answer(const Question& question);

  Topology topology_;
  std::vector<Rank> group_;
  std::vector<Division> divisions_;
  Surroundings around_;
};

}  // namespace collsim
