// SPDX-License-Identifier: Apache-2.0
#include "collectives/names.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <vector>

namespace collsim {

int edit_distance(std::string_view a, std::string_view b) {
  // rows[i][j]: distance of the first i letters of a to the first j of b
  std::vector<std::vector<int>> rows(a.size() + 1, std::vector<int>(b.size() + 1));
  std::iota(rows[0].begin(), rows[0].end(), 0);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    rows[i][0] = static_cast<int>(i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const int changed = rows[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      rows[i][j] = std::min({changed, rows[i - 1][j] + 1, rows[i][j - 1] + 1});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        rows[i][j] = std::min(rows[i][j], rows[i - 2][j - 2] + 1);
    }
  }
  return rows[a.size()][b.size()];
}

namespace {

// The only name that begins so.
std::string_view completed_name(std::string_view begun, std::span<const std::string_view> allowed) {
  constexpr std::size_t shortest_worth_completing = 3;
  if (begun.size() < shortest_worth_completing) return {};
  const auto begins = [&](std::string_view candidate) { return candidate.starts_with(begun); };
  const auto found = std::find_if(allowed.begin(), allowed.end(), begins);
  if (found == allowed.end() || std::any_of(found + 1, allowed.end(), begins)) return {};
  return *found;
}

}  // namespace

std::string_view nearest_name(std::string_view name, std::span<const std::string_view> allowed) {
  constexpr std::size_t longest_worth_comparing = 64;
  if (name.size() > longest_worth_comparing) return {};
  std::string_view nearest;
  int smallest = std::max(1, static_cast<int>(name.size()) / 2) + 1;
  for (std::string_view candidate : allowed) {
    const int distance = edit_distance(name, candidate);
    if (distance >= smallest) continue;
    smallest = distance;
    nearest = candidate;
  }
  return nearest.empty() ? completed_name(name, allowed) : nearest;
}

void throw_unknown_name(std::string_view what, std::string_view name,
                        std::span<const std::string_view> allowed) {
  std::string message = "there is no " + std::string(what) + " '" + std::string(name) + "'";
  const std::string_view nearest = nearest_name(name, allowed);
  if (!nearest.empty()) message += "; did you mean '" + std::string(nearest) + "'?";
  message += nearest.empty() ? ". Known: " : " Known: ";
  for (std::size_t i = 0; i < allowed.size(); ++i) {
    if (i > 0) message += ", ";
    message += allowed[i];
  }
  throw_error(ErrorCode::unknown_name, message);
}

}  // namespace collsim
