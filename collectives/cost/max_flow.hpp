// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace collsim {

// How much can flow through a directed graph into one node, and if that is too little, which arcs
// are in the way.  Dinic's algorithm, run backwards from the target: where what flows in comes from
// near by, only the neighbourhood is looked at, and only what was touched is reset.
//
// Flow comes out of nodes with a supply.  The order of arcs decides which of several largest flows
// is found; their size, and the cut, do not depend on it.
class MaxFlow {
 public:
  struct Arc {
    std::uint32_t from;
    std::uint32_t to;
    std::int64_t capacity;
  };
  MaxFlow(std::size_t nodes, std::vector<Arc> arcs);

  // Every capacity is worth this many times as much from now on.  False: one does not fit 64 bits.
  [[nodiscard]] bool scale(std::int64_t factor);
  static constexpr std::int64_t unlimited = INT64_MAX;
  void supply(std::size_t node, std::int64_t units) { supply_[node] = units; }

  // Whether `needed` units can reach the target at a time, beside its own supply; unknown: finding
  // out would take more than `most_work`.
  enum class Answer : std::uint8_t { yes, no, unknown };
  [[nodiscard]] Answer brings(std::size_t target, std::int64_t needed, std::uint64_t most_work);
  // After a no: the nodes from which no more can come.  All arcs from the others to these are
  // full, and are the smallest cut.
  [[nodiscard]] bool behind_cut(std::size_t node) const { return seen_[node] == search_; }
  [[nodiscard]] std::int64_t capacity_of_cut() const;  // not scaled; saturates

  // All nodes that arcs lead to or from, whichever way, the nearest first.
  [[nodiscard]] std::vector<std::uint32_t> nodes_by_distance(std::size_t from) const;

  // Arcs looked at so far: a measure of time that is the same everywhere.
  [[nodiscard]] std::uint64_t work() const { return work_; }

 private:
  // Arc a goes one way with number 2a and its residue the other way with 2a + 1.
  struct Half {
    std::uint32_t to;
    std::int64_t rest;
  };
  void reset();
  // On the way from the target outwards: what it was asked for and has got so far.
  struct Step {
    std::uint32_t node;
    std::int64_t wanted;
    std::int64_t got;
  };
  [[nodiscard]] bool find_levels(std::size_t target, std::int64_t wanted);
  std::int64_t push_along_levels(std::size_t target, std::int64_t wanted);
  std::int64_t take_supply(std::uint32_t node, std::int64_t wanted);

  std::vector<Arc> arcs_;
  std::vector<Half> halves_;
  std::vector<std::uint32_t> first_;  // per node, and one more: into leaving_
  std::vector<std::uint32_t> leaving_;
  std::vector<std::int64_t> supply_;
  std::int64_t factor_ = 1;

  // Of the search at hand; a node's values count where seen_ is the number of the search.
  std::uint32_t search_ = 0;
  std::vector<std::uint32_t> seen_, level_, next_;
  std::vector<std::int64_t> width_;     // of the way to the target
  std::vector<std::uint32_t> reached_;  // in order
  std::vector<Step> steps_;
  std::vector<std::uint32_t> touched_;                         // arcs
  std::vector<std::pair<std::uint32_t, std::int64_t>> drawn_;  // from supplies
  std::uint64_t work_ = 0;
};

}  // namespace collsim
