// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "app/study/warnings.hpp"

namespace collsim {
namespace {

template <class Get>
bool is_shared(const std::vector<Row>& rows, const Get& get) {
  return std::all_of(rows.begin(), rows.end(),
                     [&](const Row& row) { return get(row) == get(rows.front()); });
}

std::string what_is_done(const std::vector<Row>& rows) {
  const Row& first = rows.front();
  std::string text;
  if (is_shared(rows, [](const Row& row) { return row.algorithm; })) text += first.algorithm + " ";
  if (is_shared(rows, [](const Row& row) { return row.operation; }))
    text += to_string(first.operation);
  else
    text += "collectives";
  if (is_shared(rows, [](const Row& row) { return row.size; }) &&
      first.operation != Operation::barrier)
    text += " of " + bytes_to_text(first.size);
  if (is_shared(rows, [](const Row& row) { return row.chunks; }) && first.chunks > 1)
    text += fmt::format(" in {} chunks", first.chunks);
  if (is_shared(rows, [](const Row& row) { return row.channels; }) && first.channels > 1)
    text += fmt::format(" over {} channels", first.channels);
  return text;
}

}  // namespace

std::string description_of(const Results& results, const Notes& notes) {
  if (results.rows.empty()) return "";
  const std::vector<Row>& rows = results.rows;
  std::string text = what_is_done(rows);
  if (is_shared(rows, [](const Row& row) { return row.ranks; }) && notes.machine_ranks() > 0 &&
      static_cast<std::size_t>(rows.front().ranks) < notes.machine_ranks())
    text += fmt::format(" among {} of {} ranks", rows.front().ranks, notes.machine_ranks());
  if (const std::string cluster = notes.cluster(); !cluster.empty()) text += "; " + cluster;
  if (is_shared(rows, [](const Row& row) { return row.gamma; }) && rows.front().gamma > 0)
    text += fmt::format(", adds at {}", to_text(Bandwidth(std::llround(1 / rows.front().gamma))));
  return text;
}

}  // namespace collsim
