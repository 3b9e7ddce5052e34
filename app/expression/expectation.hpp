// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "app/json/diagnostics.hpp"
#include "app/json/value.hpp"
#include "app/results/results.hpp"
#include "app/scenario/scenario.hpp"

namespace collsim {

struct Expectation;

// "expect" of a scenario, parsed: a list of
//
//   id        slug; "expect-1", ... when absent
//   when      {path: value or list of values}: which rows it is about.  A path is swept, or stands
//             in the resolved scenario.  Values compare by what they mean: "1MiB" is "1024KiB".
//   metric    an expression (their language is in expression.hpp)
//   of        what time, algbw and busbw mean in the metric (in limits they are simulated):
//             simulated (default); analytic: the closed form's, and a row that has none fails;
//             measured: the median of real runs.  Rows that were not measured, or too noisily, are
//             left out; when that is all of them (`collsim run` measures nothing) it is skipped
//   equals, at_least, at_most, between [low, high]
//             exactly one; numbers, quantities, expressions.  For argmin over words, equals is one
//             of the words: "equals": "ring".
//   within    how far off is fine: "0.1%" of the limit, or a quantity ("2ns"; an expression) of the
//             metric's unit.  Default one part in 10^9, for the rounding of computers.
//   why       shown when it fails
//
// With argmin or argmax the rows along that axis have one value together, and are checked once.
class Expectations {
 public:
  // Reports everything that can be known without running: syntax, unknown names, units that do not
  // fit, a `when` on a path that neither is swept nor in the scenario, ids used twice.
  [[nodiscard]] static Expectations read(const Scenario& scenario, Diagnostics& diagnostics);

  [[nodiscard]] bool needs_bottleneck_bandwidth() const;
  // All rows of the scenario in order (or none at all).  An expectation that matches no row fails.
  [[nodiscard]] std::vector<ExpectationOutcome> check(std::span<const CaseResult> rows) const;

 private:
  std::shared_ptr<const std::vector<Expectation>> all_;
};

}  // namespace collsim
