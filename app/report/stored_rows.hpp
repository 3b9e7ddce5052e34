// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "app/json/value.hpp"
#include "app/report/results_file.hpp"
#include "app/scenario/scenario.hpp"

namespace collsim {

// Rows of results whose keys were checked (read_results()).
[[nodiscard]] const Value::Array& rows_of(const StoredResults& results);

// A key that must be there.
[[nodiscard]] const Value& at(const Value& object, std::string_view key);

// Whether a row is the result of this point of the sweep.
[[nodiscard]] bool is_about(const Value& row, const Scenario& scenario, std::size_t point);

// The point of the sweep that the row with this number is about.  When the run was interrupted, some
// before it are missing; that many are looked for, whatever the file says.
[[nodiscard]] std::optional<std::size_t> point_of(const Scenario& scenario, const Value& row,
                                                  std::size_t number);

}  // namespace collsim
