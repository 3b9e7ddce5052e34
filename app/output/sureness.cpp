// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "app/json/screen_text.hpp"
#include "app/output/format.hpp"
#include "app/output/writers.hpp"
#include "app/scenario/fitted.hpp"

namespace collsim {
namespace {

std::string sizes_text(const ErrorClass& of) {
  if (of.up_to != 0) return "up to " + bytes_to_text(of.up_to);
  return of.above == 0 ? "any size" : "above " + bytes_to_text(of.above);
}

std::string whole(double part, const std::optional<double>& other) {
  return whole_percent(part) + (other ? " (" + whole_percent(*other) + ")" : "");
}

// "half of the times within 2% (9%), 95% within 13% (54%)"; outside of what was measured only of
// owners left out.
std::string errors_text(const ErrorClass& range) {
  const bool unseen_only = !range.outside.empty() && range.unseen_half;
  const std::string half =
      unseen_only ? whole_percent(*range.unseen_half) : whole(range.half, range.unseen_half);
  const std::string most =
      unseen_only ? whole_percent(*range.unseen_most) : whole(range.most, range.unseen_most);
  return fmt::format("half of the times within {}, 95% within {}", half, most);
}

// " (5 of 2 nodes, 1 of 4)": most tables of several nodes are of two.
std::string nodes_of_tables(const ErrorClass& of) {
  if (!of.between_nodes) return {};
  std::string text;
  for (const JsonValue::Member& network : fitted_constants().find("networks")->members()) {
    if (network.value.find("title")->string() != of.machines) continue;
    const JsonValue* const counts =
        fitted_constants().find("accuracy")->find("tables_of_nodes")->find(network.key);
    if (counts == nullptr) continue;
    for (const JsonValue::Member& one : counts->members())
      text += fmt::format("{}{} of {}{}", text.empty() ? " (" : ", ", *one.value.integer(), one.key,
                          text.empty() ? " nodes" : "");
  }
  return text.empty() ? text : text + ")";
}

std::string heading_text(const std::vector<ErrorClass>& ranges) {
  const ErrorClass& first = ranges.front();
  if (first.tables == 0)
    return fmt::format(
        "how sure: unknown, because {}; it may be far off",
        first.outside.empty()
            ? fmt::format("no published table of such machines ({}) was used", first.machines)
            : first.outside);
  if (first.own_logs)
    return fmt::format(
        "how sure: calibrated from {}, {}: {} of them; other collectives and sizes may be further "
        "off",
        count_text(first.tables, "log"), count_text(first.rows, "row"), errors_text(first));
  if (!first.outside.empty())
    return fmt::format(
        "how sure: outside of what was measured: {}; likely further off than {}{}:", first.outside,
        first.machines, first.unseen_half ? " with owners left out of the fit" : "");
  std::int64_t tables = 0;
  for (const ErrorClass& range : ranges) tables = std::max(tables, range.tables);
  return fmt::format(
      "how sure: {}, fitted to {} published table{}{}{}{}", first.machines, tables,
      tables == 1 ? "" : "s", nodes_of_tables(first),
      first.forced ? ", in which NCCL chose freely, so that none shows what it would not choose"
                   : "",
      first.unseen_half ? "; in brackets: owners left out of the fit" : "");
}

}  // namespace

std::vector<std::string> sureness_lines(const Results& results) {
  std::map<std::tuple<std::string, std::string, bool>, std::vector<ErrorClass>> by_machines;
  for (const CaseResult& row : results.rows) {
    if (!row.error_class) continue;
    std::vector<ErrorClass>& ranges =
        by_machines[{row.error_class->machines, row.error_class->outside, row.error_class->forced}];
    if (std::find(ranges.begin(), ranges.end(), *row.error_class) == ranges.end())
      ranges.push_back(*row.error_class);
  }
  std::vector<std::string> lines;
  for (auto& [key, ranges] : by_machines) {
    std::sort(ranges.begin(), ranges.end(),
              [](const ErrorClass& a, const ErrorClass& b) { return a.above < b.above; });
    lines.push_back(heading_text(ranges));
    if (ranges.front().tables == 0 || ranges.front().own_logs) continue;
    for (const ErrorClass& range : ranges)
      lines.push_back(fmt::format("  {}: {}", sizes_text(range), errors_text(range)));
  }
  return lines;
}

}  // namespace collsim
