// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <limits>
#include <string>
#include <vector>

#include "app/expression/expectation_parts.hpp"

namespace collsim {

// How one row (or group) stands to an expectation.
struct Judgement {
  std::size_t row = 0;
  bool ok = false;
  double metric = 0;
  std::vector<double> limits{};
  double distance = 0;      // relative
  std::string why_not{};    // there is no value, and why
  bool unmeasured = false;  // ... which is nobody's fault

  // Which failure is shown: what has no value comes before what is far off.
  [[nodiscard]] double rank() const {
    return why_not.empty() ? distance : std::numeric_limits<double>::infinity();
  }
};

// "collective.chunks = 16: time is 3.801 ms, expected 3.9 ms within 0.1% ((K-1)*(alpha+N/B))"; with
// as many digits as it takes to see the difference.
[[nodiscard]] std::string failure_text(const Expectation& expectation, const Row& row,
                                       const Judgement& judgement);

}  // namespace collsim
