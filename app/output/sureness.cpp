// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "app/output/format.hpp"
#include "app/output/writers.hpp"

namespace collsim {
namespace {

std::string sizes_text(const ErrorClass& of) {
  if (of.up_to != 0) return "up to " + bytes_to_text(of.up_to);
  return of.above == 0 ? "any size" : "above " + bytes_to_text(of.above);
}

std::string percent(double part) {
  return fmt::format("{:.0f}%", 100 * part);
}

// "+-7% half of the time and +-39% in 95% of cases up to 64 KiB, ..."
std::string errors_text(const std::vector<ErrorClass>& ranges) {
  std::string text;
  for (const ErrorClass& range : ranges)
    text += fmt::format("{}{}: within {} half of the time, {} in 95 of 100 cases",
                        text.empty() ? "" : "; ", sizes_text(range), percent(range.half),
                        percent(range.most));
  return text;
}

}  // namespace

std::vector<std::string> sureness_lines(const Results& results) {
  std::map<std::string, std::vector<ErrorClass>> by_machines;
  for (const CaseResult& row : results.rows) {
    if (!row.error_class) continue;
    std::vector<ErrorClass>& ranges = by_machines[row.error_class->machines];
    if (std::find(ranges.begin(), ranges.end(), *row.error_class) == ranges.end())
      ranges.push_back(*row.error_class);
  }
  std::vector<std::string> lines;
  for (auto& [machines, ranges] : by_machines) {
    std::sort(ranges.begin(), ranges.end(),
              [](const ErrorClass& a, const ErrorClass& b) { return a.above < b.above; });
    if (ranges.front().tables == 0) {
      lines.push_back(
          fmt::format("how sure: no measurements of such machines ({}) are published; "
                      "it may be far off",
                      machines));
      continue;
    }
    std::int64_t tables = 0;
    for (const ErrorClass& range : ranges) tables = std::max(tables, range.tables);
    lines.push_back(fmt::format("how sure ({}, fitted to {} published table{}): {}", machines,
                                tables, tables == 1 ? "" : "s", errors_text(ranges)));
  }
  return lines;
}

}  // namespace collsim
