// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "app/json/sources.hpp"
#include "app/results/case_result.hpp"
#include "app/scenario/scenario.hpp"
#include "sim/simulate.hpp"
#include "topo/error.hpp"

namespace collsim {

class Workload;

// A program that does not fit together, and where the first of its ranks is written.
class MisfitError : public Error {
 public:
  MisfitError(const std::string& message, std::optional<SourceRange> place)
      : Error(ErrorCode::deadlock, message), place_(place) {}
  [[nodiscard]] const std::optional<SourceRange>& place() const { return place_; }

 private:
  std::optional<SourceRange> place_;
};

// The row of a case that is a training step.  Throws Error.
[[nodiscard]] CaseResult run_step(const Case& one_case);

// Its run with what the ranks did (RankActivity, when they give up), also when it never ends:
// Simulation::hangs.  Throws Error.
[[nodiscard]] Simulation run_until_it_hangs(const Case& one_case);

// Its run with every step recorded.  Throws Error, {too_large} where there are more steps.
[[nodiscard]] Simulation record_step(const Case& one_case, std::uint64_t max_steps);
// Throws what that throws there: for callers that know sooner.
[[noreturn]] void refuse_to_record(const Case& one_case, std::uint64_t max_steps);
[[nodiscard]] const Workload& workload_of(const Case& one_case);

// The stream called "host", whose work launches what the others do and hides no collective.
[[nodiscard]] std::optional<int> host_of(const Workload& workload);

}  // namespace collsim
