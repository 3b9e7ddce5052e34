// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "topo/ids.hpp"

namespace collsim {

// Max-min fair sharing (Bertsekas and Gallager, Data Networks, 6.5.2), kept up to date as variables
// are added and removed.  It knows constraints and variables, not links and flows.
//
//   capacity_c   of constraint c, positive (bytes per second)
//   rate_v       of variable v, wanted; 0 < rate_v <= bound_v (no bound: infinity)
//   users(c)     the variables that use constraint c
//
// Rates are feasible when    sum of rate_v over users(c)  <=  capacity_c    for every c.
// They are max-min fair when they are feasible and every v has rate_v == bound_v or a bottleneck:
// a saturated constraint on which no variable has a larger rate.  There is exactly one such
// assignment: no rate can grow without shrinking one that is not larger.
//
// Progressive filling, per connected component of the graph of constraints and variables:
//
//   remaining_c = capacity_c;  open_c = number of users of c        all variables open
//   while some variable is open:
//     level = min(remaining_c / open_c over c with open_c > 0,  bound_v over open v)
//     close with rate = level: the open users of every c whose share equals level, and every open
//                              v whose bound equals level
//     for every constraint c that lost m open users: open_c -= m;  remaining_c -= m * level
//
// Cost: O(edges + constraints log constraints + touched log touched); solve() looks only at
// components touched since the last solve, so a variable alone on its constraints costs O(1).
//
// Rounding.  A level closes all its variables at once, with one subtraction per constraint, and a
// share is never below the level that last changed it.  So k equal variables get exactly
// capacity / k, a variable alone gets exactly the smallest of its capacities and its bound, levels
// never fall, and the sum on a constraint exceeds its capacity by rounding only (relative 1e-9).
// Every rate depends on the capacities, the bounds and the graph alone: not on ids, not on the
// order of calls, not on what happened before.  Solving step by step gives the bits of solving
// once.
class MaxMin {
 public:
  struct ConstraintTag {
    static constexpr const char* name = "constraint";
  };
  struct VariableTag {
    static constexpr const char* name = "variable";
  };
  using ConstraintId = Index<ConstraintTag, std::uint32_t>;
  using VariableId = Index<VariableTag, std::uint32_t>;

  static constexpr double unbounded = std::numeric_limits<double>::infinity();

  // Constraints are numbered 0, 1, 2, ... and stay.  capacity must be positive and finite.
  ConstraintId add_constraint(double capacity);

  // A variable that uses each of `constraints` (m-fold one that is named m times) and never exceeds
  // `bound`; one without constraints must have a finite bound.  Its rate is 0 until the next
  // solve().  Ids are dense and used again, the last removed first, so that callers can keep arrays
  // beside them.
  VariableId add_variable(std::span<const ConstraintId> constraints, double bound = unbounded);
  void remove_variable(VariableId variable);

  // Recomputes what the changes since the last solve() touched.  Returns the variables whose rate
  // is not bit for bit what it was, each once, in an order that depends on the sequence of calls
  // only; valid until the next call.
  [[nodiscard]] std::span<const VariableId> solve();

  // As of the last solve().
  [[nodiscard]] double rate(VariableId variable) const { return rates_[variable.index()]; }

 private:
  static constexpr std::size_t few = 6;  // constraints that a variable keeps without an allocation

  // A variable's use of a constraint, as the variable sees it ...
  struct Use {
    std::uint32_t constraint;
    std::uint32_t place;  // in the constraint's users
  };
  // ... and as the constraint sees it.
  struct User {
    std::uint32_t variable;
    std::uint32_t use;  // in the variable's uses
  };
  struct Variable {
    double bound = unbounded;
    std::uint32_t use_count = 0;
    std::uint32_t found = 0;   // last round in which discover() met it
    std::uint32_t closed = 0;  // last round in which it got its rate
    bool alive = false;
    std::array<Use, few> few_uses{};
    std::unique_ptr<Use[]> many_uses;
    [[nodiscard]] Use* uses() { return many_uses ? many_uses.get() : few_uses.data(); }
  };
  struct Constraint {
    double capacity = 0;
    double remaining = 0;
    double share = 0;  // remaining / open, but never below the level that last changed it
    std::uint32_t open = 0;
    std::uint32_t closing = 0;  // users closed at the present level
    std::uint32_t found = 0;
    std::vector<User> users;
  };
  using Candidate = std::pair<double, std::uint32_t>;  // share or bound, constraint or variable

  void begin_round();
  void touch(std::uint32_t constraint);
  void discover(std::uint32_t constraint);
  void fill_component();
  [[nodiscard]] double lowest_share();
  void close_users_at(double level);
  void close(std::uint32_t variable, double level);
  void settle(double level);

  std::vector<Constraint> constraints_;
  std::vector<Variable> variables_;
  std::vector<double> rates_;
  std::vector<std::uint32_t> free_variables_;
  std::uint32_t round_ = 0;  // solves so far

  std::vector<std::uint32_t> touched_constraints_;  // by changes since the last solve
  std::vector<std::uint32_t> lone_variables_;       // added since, without constraints
  std::vector<VariableId> changed_;

  // Of the component being filled.
  std::vector<std::uint32_t> component_;
  std::vector<Candidate> shares_;  // heap; keys may be out of date, that is: too small
  std::vector<Candidate> bounds_;  // sorted
  std::size_t next_bound_ = 0;
  std::vector<std::uint32_t> losing_;  // constraints with closing > 0
  std::size_t open_variables_ = 0;
};

}  // namespace collsim
