// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "app/json/screen_text.hpp"
#include "app/output/format.hpp"
#include "app/output/writers.hpp"

namespace collsim {
namespace {

std::string sizes_text(const ErrorClass& of) {
  if (of.up_to != 0) return "up to " + bytes_to_text(of.up_to);
  return of.above == 0 ? "any size" : "above " + bytes_to_text(of.above);
}

// "half of the times within 2% (9%), 95% within 13% (54%)"
std::string errors_text(const ErrorClass& range) {
  const auto both = [](double seen, const std::optional<double>& unseen) {
    return whole_percent(seen) + (unseen ? " (" + whole_percent(*unseen) + ")" : "");
  };
  return fmt::format("half of the times within {}, 95% within {}",
                     both(range.half, range.unseen_half), both(range.most, range.unseen_most));
}

std::string heading_text(const std::vector<ErrorClass>& ranges) {
  const ErrorClass& first = ranges.front();
  std::int64_t tables = 0;
  for (const ErrorClass& range : ranges) tables = std::max(tables, range.tables);
  return fmt::format("how sure: {}, fitted to {} published table{}{}{}", first.machines, tables,
                     tables == 1 ? "" : "s", first.forced ? ", in which NCCL chose freely" : "",
                     first.unseen_half ? "; in brackets: owners left out of the fit" : "");
}

}  // namespace

std::vector<std::string> sureness_lines(const Results& results) {
  std::map<std::pair<std::string, bool>, std::vector<ErrorClass>> by_machines;
  for (const CaseResult& row : results.rows) {
    if (!row.error_class) continue;
    std::vector<ErrorClass>& ranges =
        by_machines[{row.error_class->machines, row.error_class->forced}];
    if (std::find(ranges.begin(), ranges.end(), *row.error_class) == ranges.end())
      ranges.push_back(*row.error_class);
  }
  std::vector<std::string> lines;
  for (auto& [key, ranges] : by_machines) {
    std::sort(ranges.begin(), ranges.end(),
              [](const ErrorClass& a, const ErrorClass& b) { return a.above < b.above; });
    if (ranges.front().tables == 0) {
      lines.push_back(
          fmt::format("how sure: unknown, because no published table of such machines ({}) was "
                      "used; it may be far off",
                      key.first));
      continue;
    }
    lines.push_back(heading_text(ranges));
    for (const ErrorClass& range : ranges)
      lines.push_back(fmt::format("  {}: {}", sizes_text(range), errors_text(range)));
  }
  return lines;
}

}  // namespace collsim
