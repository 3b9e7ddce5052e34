// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "validate/backend.hpp"

namespace collsim {
namespace {

// Linear between the two nearest of a sorted list.
double quantile(const std::vector<double>& sorted, double q) {
  const double at = q * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(std::floor(at));
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  const double part = at - std::floor(at);
  return sorted[below] * (1 - part) + sorted[above] * part;
}

}  // namespace

Summary summary_of(std::vector<double> times_s) {
  if (times_s.empty()) return {};
  std::sort(times_s.begin(), times_s.end());
  Summary summary;
  summary.median_s = quantile(times_s, 0.5);
  summary.min_s = times_s.front();
  summary.max_s = times_s.back();
  if (summary.median_s > 0)
    summary.spread = (quantile(times_s, 0.75) - quantile(times_s, 0.25)) / summary.median_s;
  return summary;
}

}  // namespace collsim
