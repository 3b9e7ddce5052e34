// SPDX-License-Identifier: Apache-2.0
#include "app/report/stored_rows.hpp"

#include <algorithm>

namespace collsim {

const Value::Array& rows_of(const StoredResults& results) {
  return results.document.find("rows")->items();
}

const Value& at(const Value& object, std::string_view key) {
  return *object.find(key);
}

bool is_about(const Value& row, const Scenario& scenario, std::size_t point) {
  Value params = Value::object();
  for (const auto& [path, value] : scenario.params(point)) params.set(path, value);
  return params == at(row, "params");
}

std::optional<std::size_t> point_of(const Scenario& scenario, const Value& row,
                                    std::size_t number) {
  constexpr std::size_t most_missing = 100'000;
  const std::size_t end = std::min(scenario.points(), number + most_missing);
  for (std::size_t point = number; point < end; ++point)
    if (is_about(row, scenario, point)) return point;
  return std::nullopt;
}

}  // namespace collsim
