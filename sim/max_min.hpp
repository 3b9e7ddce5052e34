// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "topo/ids.hpp"

namespace collsim {

// Max-min fair sharing (Bertsekas and Gallager, Data Networks, 6.5.2), kept up to date as variables
// are started and stopped.  It knows constraints and variables, not links and flows.
//
//   capacity_c   of constraint c, positive (bytes per second)
//   rate_v       of variable v, wanted; positive
//   users(c)     the started variables that use constraint c
//
// Rates are feasible when    sum of rate_v over users(c)  <=  capacity_c    for every c.
// They are max-min fair when they are feasible and every v has a bottleneck: a saturated constraint
// on which no variable has a larger rate.  There is exactly one such assignment: no rate can grow
// without shrinking one that is not larger.
//
// Progressive filling, per connected component of the graph of constraints and variables:
//
//   remaining_c = capacity_c;  open_c = number of users of c        all variables open
//   while some variable is open:
//     level = min(remaining_c / open_c over c with open_c > 0)
//     close with rate = level: the open users of every c whose share equals level
//     for every constraint c that lost m open users: open_c -= m;  remaining_c -= m * level
//
// Cost: O(edges + constraints log constraints + touched log touched); solve() looks only at
// components touched since the last solve, so a variable alone on its constraints costs O(1).  In a
// large component it looks only at what may move, if that is little (max_min_repair.cpp).
//
// Rounding.  A level closes all its variables at once, with one subtraction per constraint, and a
// share is never below the level that last changed it.  So k equal variables get exactly
// capacity / k, a variable alone gets exactly the smallest of its capacities, levels never fall,
// and the sum on a constraint exceeds its capacity by rounding only (relative 1e-9).  Every rate
// depends on the capacities and the graph alone: not on ids, not on the order of calls, not on what
// happened before.  Solving step by step gives the bits of solving once.
//
// When only variables have stopped, and on each of their constraints all that still run are slower
// than those that stopped, then nobody's rate changes.  Such a constraint c was no bottleneck of
// those that run: while one of them was open, share_c was above the level, and without those that
// stopped it is larger still.  So every level closes what it closed before.  Where equal amounts
// start together it is always like this, because the fastest end first; then solve() looks at the
// constraints of what stopped only.
//
// A variable that stops and starts again before the next solve() changes no graph and so no rate:
// the next message of a connection behind the one that ended.
//
// There may be millions of variables: one takes 24 bytes, and 8 for each of its constraints.
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

  // Constraints are numbered 0, 1, 2, ... and stay.  capacity must be positive and finite.  Each
  // user counts as so many that are alike.
  ConstraintId add_constraint(double capacity, std::uint32_t copies = 1);

  // A variable that uses each of `constraints`, of which there are some (m-fold one that is named m
  // times).  Ids are dense and used again, so that callers can keep arrays beside them.
  VariableId add_variable(std::span<const ConstraintId> constraints);
  // It takes part from now on; it has a rate from the next solve() on.
  void start(VariableId variable);
  // It takes no part any more.
  void stop(VariableId variable);
  // One that takes no part.
  void remove_variable(VariableId variable);

  // Recomputes what the changes since the last solve() touched.  Returns the variables that have
  // started or whose rate is not bit for bit what it was, each once, in an order that depends on
  // the sequence of calls only; valid until the next call.
  [[nodiscard]] std::span<const VariableId> solve();

  // As of the last solve().
  [[nodiscard]] double rate(VariableId variable) const { return rates_[variable.index()]; }

 private:
  static constexpr std::uint32_t most_uses = (std::uint32_t{1} << 27U) - 1;
  struct Variable {
    std::uint32_t first_use = 0;  // in uses_
    std::uint32_t stamp = 0;      // when it was last found(), closed() or held()
    std::uint32_t use_count : 27 = 0;
    std::uint32_t started : 1 = 0;   // takes part
    std::uint32_t enlisted : 1 = 0;  // among the users of its constraints, or will be
    std::uint32_t removed : 1 = 0;
    std::uint32_t stopped : 1 = 0;  // since the last solve
    std::uint32_t resumed : 1 = 0;  // and started again
  };
  struct Constraint {
    double capacity = 0;
    double remaining = 0;
    double share = 0;           // remaining / open, but never below the level that last changed it
    double level = 0;           // at which it was a bottleneck in the last solve; else infinite
    std::int64_t open = 0;      // times copies
    double settled = 0;         // the last level that closed some
    double before = 0;          // remaining before it
    std::int64_t closed = 0;    // at it, times copies
    std::uint32_t closing = 0;  // users closed at the present level
    std::uint32_t copies = 1;
    std::uint32_t found = 0;
    std::uint32_t started = 0;         // users that take part
    std::uint32_t coming = 0;          // users still to be enlisted
    bool touched = false;              // by changes since the last solve
    bool joined = false;               // by variables started since the last solve
    bool sorted = false;               // its users are, by rate
    bool late = false;                 // a bottleneck by what its own level closed elsewhere
    double slowest_stopped = 0;        // rate of those stopped since the last solve
    std::vector<std::uint32_t> users;  // variables; until the next solve also those that stopped
  };
  using Candidate = std::pair<double, std::uint32_t>;  // share, constraint

  [[nodiscard]] Variable& known(VariableId variable);
  [[nodiscard]] std::span<const std::uint32_t> uses(const Variable& variable) const {
    return {uses_.data() + variable.first_use, variable.use_count};
  }
  std::uint32_t room_for_uses(std::size_t count);
  void forget(std::uint32_t variable);
  void change(std::uint32_t constraint);
  void note_stopped();
  void enlist_started();
  [[nodiscard]] bool changes_nothing(Constraint& constraint);
  void fill_touched_components();
  void strike_stopped();
  void report_resumed();

  // Stamps of this round.
  [[nodiscard]] std::uint32_t found() const { return 3 * round_; }
  [[nodiscard]] std::uint32_t closed() const { return 3 * round_ + 1; }
  [[nodiscard]] std::uint32_t held() const { return 3 * round_ + 2; }
  void begin_round();
  void touch(std::uint32_t constraint);
  void discover(std::uint32_t constraint);
  void fill_component();
  double close_lowest_of_all();
  double close_lowest_of_heap();
  void begin_pass(double level);
  void make_heap_of_shares();
  [[nodiscard]] double lowest_share();
  void close_users(std::uint32_t constraint, double level);
  void close(std::uint32_t variable, double level);
  void settle(double level);
  static void settle_one(Constraint& constraint, double level);

  // Only near what was touched; false, with the rates as before, where that is too much.
  [[nodiscard]] bool may_repair();
  [[nodiscard]] bool repair();
  void repair_level(double level);
  void hold_those_at(double level);
  [[nodiscard]] double lowest_held() const;
  void let_go_of_doubtful(double level);
  void close_in_region(std::uint32_t variable, double level);
  void count_closed(std::uint32_t variable);
  void join_region(std::uint32_t constraint, double level);

  std::vector<Constraint> constraints_;
  std::vector<Variable> variables_;
  std::vector<double> rates_;
  std::vector<std::uint32_t> free_variables_;
  std::vector<std::uint32_t> uses_;                    // constraints, by variable
  std::vector<std::vector<std::uint32_t>> free_uses_;  // places in uses_, by how many fit there
  std::uint32_t round_ = 0;                            // solves so far

  // Since the last solve.
  std::vector<std::uint32_t> touched_constraints_;
  std::vector<std::uint32_t> started_;
  std::vector<std::uint32_t> stopped_;
  std::vector<std::uint32_t> resumed_;
  std::vector<VariableId> changed_;

  // Of the component being filled.
  std::vector<std::uint32_t> component_;  // constraints; while it is filled, the open ones
  std::vector<std::uint32_t> lowest_;     // constraints with the lowest share
  std::vector<Candidate> shares_;         // heap; keys may be out of date, that is: too small
  std::vector<std::uint32_t> losing_;     // constraints with closing > 0
  std::size_t open_variables_ = 0;
  double last_level_ = 0;
  bool late_ = false;      // that level has closed some before
  std::size_t edges_ = 0;  // from the constraints filled last to their users

  // Of the region being repaired.
  std::vector<Candidate> held_;                          // heap of rates and variables
  std::vector<std::uint32_t> doubtful_;                  // held at this level by nothing outside
  std::vector<std::pair<std::uint32_t, double>> moved_;  // variables, with the rates they had
  double passed_ = 0;                                    // level
  bool circular_ = false;  // one is held by a bottleneck that is one because of it, perhaps
  std::size_t looked_at_ = 0;
  std::uint32_t solves_to_skip_ = 0;  // after regions that grew too large
  std::uint32_t last_skip_ = 0;
};

}  // namespace collsim
