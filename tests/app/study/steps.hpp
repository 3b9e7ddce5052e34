// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "tests/app/study/scenarios.hpp"

namespace collsim::testing {

inline const std::string four_stages =
    R"("shape": "chain", "ranks": 4, "link": {"bandwidth": "25GB/s"})";

inline std::string step_scenario(const std::string& cluster, const std::string& workload,
                                 const std::string& more = "") {
  return "{\"scenario\": 1, \"cluster\": {" + cluster + "}, \"workload\": {" + workload + "}" +
         (more.empty() ? "" : ", " + more) + "}";
}

inline CaseResult row_of(const std::string& scenario) {
  return results_of(scenario).results->rows.front();
}

}  // namespace collsim::testing
