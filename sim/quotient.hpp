// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "collectives/cost/cost_model.hpp"
#include "collectives/programs.hpp"
#include "topo/topology.hpp"
#include "topo/turns.hpp"

namespace collsim {

// Internal to sim/: a case in which turns of the ranks (topo/turns.hpp) change nothing, seen once
// for all ranks that can be turned into each other.
//
//   representatives   one rank of every orbit; only their lanes are simulated
//   peers             the message from a to b is, turned, one from a's representative: so a
//                     connection is named by a representative and whom it sends to
//   links             one for every orbit of links.  Where several turns leave a link where it is,
//                     a message that crosses it does so together with as many copies of itself, so
//                     it has only that part of the bandwidth; where that is no whole number of
//                     bytes per second, flows share all of it and count as often (copies()).
class Quotient {
 public:
  // Nothing where there are no such turns, a rank is late, or part of the machine stays out.
  [[nodiscard]] static std::optional<Quotient> of(const Topology& topology,
                                                  const Programs& programs, const CostModel& costs);

  // How many ranks a representative stands for.
  [[nodiscard]] std::size_t order() const { return turns_.order(); }
  [[nodiscard]] const std::vector<Rank>& representatives() const { return representatives_; }
  // The representative's number, for any rank.
  [[nodiscard]] std::uint32_t number_of(Rank rank) const { return numbers_[rank.index()]; }

  [[nodiscard]] Rank representative(Rank rank) const { return representatives_[number_of(rank)]; }

  struct Ends {
    std::uint32_t source;  // number of a representative
    Rank target;           // seen from it
  };
  [[nodiscard]] Ends ends(Rank from, Rank to) const {
    return {number_of(from), turns_.turned(to, from)};
  }

  // One link for each orbit; as many ranks as the machine has, but no routes.
  [[nodiscard]] const Topology& topology() const { return *topology_; }
  [[nodiscard]] LinkId orbit(LinkId link) const { return orbits_[link.index()]; }
  // Who a rank is to a link, if that is turned to where its orbit's is.
  [[nodiscard]] Rank seen_from(LinkId link, Rank rank) const {
    return turns_.turned(rank, places_[link.index()]);
  }
  // How often each message on a link of topology() crosses it; 1 where its bandwidth is divided.
  [[nodiscard]] std::uint32_t copies(LinkId link) const { return copies_[link.index()]; }

 private:
  Quotient(const Topology& topology, const Topology::Turning& turning, Turns turns);
  [[nodiscard]] Rank first_of_orbit(Rank rank) const {
    return order() == numbers_.size() ? Rank(0) : turns_.representative(rank);
  }
  // False when an exclusive link is crossed by copies of a message.
  [[nodiscard]] bool find_orbits(const Topology& topology, const Topology::Turning& turning);
  [[nodiscard]] std::uint32_t turns_that_keep(const LinkPlace& place) const;

  Turns turns_;
  std::vector<Rank> representatives_;
  std::vector<std::uint32_t> numbers_;  // by rank
  std::vector<LinkId> orbits_;          // by link
  std::vector<Rank> places_;            // of links: LinkPlace::at
  std::vector<std::uint32_t> copies_;   // by link of topology_
  std::optional<Topology> topology_;
};

}  // namespace collsim
