// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "app/json/value.hpp"
#include "app/report/results_file.hpp"

namespace collsim {

// "pictures" for the page: of the row that was asked for, else of the first and the fastest, each
// simulated again:
//   [{row, step_s, kinds, streams: [{name, ranks, boxes: [{begin_s, end_s, kind, number, text}]}]}]
// with the streams of one rank for all that do the same; `kinds` is how many such ranks there are,
// `ranks` how many each stands for.
void add_step_pictures(const StoredResults& results, const Scenario& scenario,
                       const std::optional<std::size_t>& asked_point, JsonValue& data);
// Of the rows of results of training steps.
[[nodiscard]] JsonValue step_columns(const StoredResults& results);

}  // namespace collsim
