// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "collectives/algorithms.hpp"
#include "collectives/cost/formula.hpp"
#include "collectives/cost/uniform_network.hpp"

namespace collsim {

// What the literature says an algorithm costs: the formula, its value, and where it comes from. The
// simulator does not use it; it stands beside every prediction, and tests compare the two.
//
// Formulas are in the language of cost/formula.hpp, which says what their symbols are.
//
// The model is the simulator's ideal one (Hockney's alpha-beta model and LogGP's L): links are
// exclusive, sends are posted, a rank's lane is busy while it reduces, all else is free, all start
// together.
struct ClosedForm {
  double seconds = 0;
  std::string formula;     // "(K-2+S)*tau(N/S) + (K-1)*L"
  bool in_words = false;   // not a formula but a sentence about one, because links or levels differ
  bool by_levels = false;  // in words: K and N are those of a level, and "; " separates its parts
  FormulaSymbols symbols;  // what they are here; in words alpha, B and L are left out
  std::string reference;   // "Patarasuk, Yuan, J. Parallel Distrib. Comput. 69 (2009)"
  // The vector divides evenly into what the formula takes for even.  Then it holds but for
  // rounding: the simulator rounds the time of each message and of each reduction up to a
  // picosecond, so that it may be later than the formula, by less than a picosecond for each of
  // them that follow one another.  Otherwise it is an approximation.
  bool exact = false;
  // The real number of chunks for which the formula is smallest, at least 1.  Nothing when the
  // formula does not depend on S like that (alpha == 0: the more the better).
  std::optional<double> best_chunks;
};

// Nothing when no formula is known to hold for exactly this case: channels > 1, slots that could
// make a sender wait, a number of ranks for which only a bound is known, a group that is not the
// whole chain or ring in order, a network that is not uniform.  Never a guess.
//
// Error, the same as make_schedule's, when the collective or the choice is not valid, and
// Error{invalid_argument} when a rank of the group is not in the network.
//
// `choice.name` is looked up as in make_schedule: an alias will do, empty means the default.
// `choice.chunks` is what Schedule::chunks() says, `choice.chunk_size` is not looked at.
[[nodiscard]] std::optional<ClosedForm> closed_form(
    const Collective& collective, const AlgorithmChoice& choice, const UniformNetwork& network,
    std::optional<Bandwidth> reduce_bandwidth = std::nullopt);

// The same for a topology: a uniform network; for algorithms that work level by level
// (hierarchical, torus) one whose rings on every level are free of contention; for a chain's
// broadcast, a ring and send-recv any on which their messages never share a link, however unequal
// the links are.  Routes are not searched for on graphs of more than 1,024 ranks.
[[nodiscard]] std::optional<ClosedForm> closed_form(
    const Collective& collective, const AlgorithmChoice& choice, const Topology& topology,
    std::optional<Bandwidth> reduce_bandwidth = std::nullopt);

}  // namespace collsim
