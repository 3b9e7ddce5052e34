// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/json/diagnostics.hpp"
#include "app/json/sources.hpp"
#include "app/json/value.hpp"
#include "app/scenario/scenario.hpp"

namespace collsim {

// Results of one scenario as `collsim run -o results.json` wrote them, whose keys, types and
// numbers were checked.
struct StoredResults {
  std::string file;          // as the user wrote it, or <stdin>
  JsonValue document;        // the whole of it, but for rows beyond the first most_stored_rows
  std::size_t left_out = 0;  // that many
};

// What a page shows of one scenario; drawing more takes long and shows no more.
inline constexpr std::size_t most_stored_rows = 5000;
inline constexpr std::size_t max_results_bytes = std::size_t{1} << 30U;

// Reads a file of results ("-": standard input), of one scenario or of several.  Reports what is
// wrong: no results, another version of the format, keys that are missing, values of another type,
// times below zero.  Empty when something was.
[[nodiscard]] std::vector<StoredResults> read_results(const std::string& file, Sources& sources,
                                                      Diagnostics& diagnostics);
[[nodiscard]] std::vector<StoredResults> read_results(std::uint32_t source, Sources& sources,
                                                      Diagnostics& diagnostics);

// Rows of results whose keys were checked (read_results()).
[[nodiscard]] const JsonValue::Array& rows_of(const StoredResults& results);

// Whether these are results of training steps, which have rows of their own.
[[nodiscard]] bool are_steps(const JsonValue& document);

// A key that must be there.
[[nodiscard]] const JsonValue& at(const JsonValue& object, std::string_view key);

// Whether a row is the result of this point of the sweep.
[[nodiscard]] bool is_about(const JsonValue& row, const Scenario& scenario, std::size_t point);

// The point of the sweep that the row with this number is about.  When the run was interrupted,
// some before it are missing; that many are looked for, whatever the file says.
[[nodiscard]] std::optional<std::size_t> point_of(const Scenario& scenario, const JsonValue& row,
                                                  std::size_t number);

}  // namespace collsim
