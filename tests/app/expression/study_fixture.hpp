// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "app/expression/expectation.hpp"
#include "app/expression/expression.hpp"
#include "app/json/diagnostics.hpp"
#include "app/json/sources.hpp"
#include "app/results/case_result.hpp"
#include "app/scenario/scenario.hpp"

namespace collsim::test {

// A scenario made by hand from JSON: its sweep may have lists and zipped paths, nothing is checked
// and no default is filled in.
Scenario make_scenario(std::string_view json, Sources& sources);

// A chain broadcast, by its formula: K = 8, N = 64 MiB, B = 25 GB/s, alpha = 5 us, S swept.
// `expect` is the JSON of the expectations.
std::string chain_scenario(std::string_view expect);

// A row of that chain at a point of the scenario; what the sweep changes is taken from it.
CaseResult chain_row(const Scenario& scenario, std::size_t point);

struct Study {
  explicit Study(
      std::string_view json, const std::function<void(CaseResult&, std::size_t)>& change =
                                 [](CaseResult&, std::size_t) {});
  Sources sources;
  Diagnostics diagnostics;
  Scenario scenario;
  Expectations expectations;
  std::vector<CaseResult> rows;

  [[nodiscard]] std::vector<ExpectationOutcome> outcomes() const {
    return expectations.check(rows);
  }
  // The only expectation's.
  [[nodiscard]] ExpectationOutcome outcome() const { return outcomes().at(0); }
  // As people see them.
  [[nodiscard]] std::string mistakes() const { return to_text(diagnostics, sources); }
};

// The message of the one mistake of an expectation of the chain; empty: it has none.
std::string mistake_of(std::string_view expectation);

}  // namespace collsim::test
