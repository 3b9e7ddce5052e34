// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "app/results/case_result.hpp"
#include "app/scenario/scenario.hpp"
#include "sim/simulate.hpp"

namespace collsim {

// The fastest of a case's candidates: the case that says so, and its row.
struct Chosen {
  Case one_case;
  CaseResult row;
};

// Simulates a case whose algorithm is known.  An engine other than `automatic` that cannot do it is
// Error{engine_not_applicable}.
using SimulateCase = std::function<CaseResult(const Case&, Engine)>;

// What "auto" takes: the fastest of the candidates (auto_candidates.hpp), the first of equals.
//
// 1. A candidate takes no less than the lower bound of its collective, than its own traffic keeps
//    one link busy (LinkLoad; of all links where only reading its programs takes much less than
//    simulating), than its closed form where that is exact, than a c-th of what it took with c
//    times fewer chunks, and than a chain of its messages that wait for each other.
// 2. The candidate with the least closed form, exact or not, is simulated first, the others in
//    order of effort.  Whose bound does not beat the best so far is ruled out.
// 3. At last finer numbers of chunks around the winner's, and the best by its closed form.
//
// So no candidate is faster, with two exceptions, both reported.  Beyond a tenth of a second's work
// a candidate is also left out when it could win less than 1 %, or when the last doubling of its
// chunks won less.  And what would take more than about 3 seconds or 1 GB is not simulated: it is
// named in Search::too_large.
//
// Error when no candidate works, with the reasons.
[[nodiscard]] Chosen search_fastest(const Case& asked, const SimulateCase& simulate);

}  // namespace collsim
