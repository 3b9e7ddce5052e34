// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>
#include <optional>
#include <vector>

#include "app/json/value.hpp"
#include "app/report/results_file.hpp"
#include "app/scenario/make_case.hpp"
#include "app/scenario/scenario.hpp"

namespace collsim {

// The scenario in a file of results; nothing when this collsim does not take it, and `why_not` says
// why.  It has the points of which the rows are the results.
[[nodiscard]] std::optional<Scenario> stored_scenario(const StoredResults& results,
                                                      std::string& why_not);

// What the page gets of the results of one scenario: rows as columns, and what rows do not hold
// (timeline, links, where the time goes) simulated again: of the point that was asked for, else of
// a few rows of moderate size.
[[nodiscard]] JsonValue report_data(const StoredResults& results,
                                    const std::optional<std::size_t>& asked_point);

// Writes the page of plots/report/ with these data (report_data(), one for each scenario) in it.
// Whatever the texts in them say, they stay data: "<" never appears.
void write_report(std::ostream& out, std::vector<JsonValue> results);

// What the links of the machines of these rows carry in one direction:
//   [{"name": "gpu to nvswitch", "bytes_per_s": 450e9}, ...]
// Without links that no route between ranks has, such as those to the NICs of a single node.
// Empty unless all rows have the same machine but for its number of devices, whose links come in at
// most three kinds; nor for more than 64 machines, or one of more than 1,024 ranks or 100,000
// links.
[[nodiscard]] JsonValue link_rates(const JsonValue::Array& rows, const Scenario& scenario,
                                   ClusterCache& clusters);

}  // namespace collsim
