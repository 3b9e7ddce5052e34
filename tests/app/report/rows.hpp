// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "app/json/value.hpp"
#include "tests/app/study/scenarios.hpp"

namespace collsim::testing {

inline Studied loaded(const std::string& text) {
  Studied studied;
  load(studied, text);
  static_cast<void>(studied.scenario.value());  // ends the test where there is none
  return studied;
}

// A row of results as if every point had a closed form; `ranks`: that take part.
inline JsonValue row_of(const Scenario& scenario, std::size_t point, std::int64_t ranks,
                        const std::string& algorithm) {
  JsonValue row = JsonValue::object(), params = JsonValue::object();
  row.set("chunks", std::int64_t{1});
  for (const auto& [path, value] : scenario.params(point)) {
    params.set(path, value);
    if (path == "collective.chunks") row.set("chunks", value);
  }
  row.set("params", std::move(params));
  row.set("ranks", ranks);
  row.set("algorithm", algorithm);
  row.set("analytic_s", 1.0);
  return row;
}

inline JsonValue::Array rows_of_all_points(const Scenario& scenario, std::int64_t ranks,
                                           const std::string& algorithm) {
  JsonValue::Array rows;
  for (std::size_t point = 0; point < scenario.points(); ++point)
    rows.push_back(row_of(scenario, point, ranks, algorithm));
  return rows;
}

}  // namespace collsim::testing
