// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "app/json/screen_text.hpp"
#include "app/output/writers.hpp"

namespace collsim {
namespace {

using LineKind = ExpectationLine::Kind;

std::string worst_text(double worst) {
  constexpr double worth_saying = 0.00005;  // what two decimals show
  return worst >= worth_saying ? fmt::format(", worst {:.2f}%", 100 * worst) : "";
}

std::string left_out_text(const ExpectationOutcome& one) {
  if (one.left_out == 0) return "";
  return fmt::format("; {} left out, {}{}", one.left_out, printable(one.why_left_out),
                     one.left_out > 1 ? " ..." : "");
}

}  // namespace

std::vector<ExpectationLine> expectation_lines(const Results& results) {
  std::vector<ExpectationLine> lines;
  for (const ExpectationOutcome& one : results.expect) {
    const std::string id = printable(one.id);
    if (!one.skipped.empty()) {
      lines.push_back({LineKind::skipped, fmt::format("{}: {}", id, printable(one.skipped))});
    } else if (one.ok) {
      lines.push_back({LineKind::ok, fmt::format("{} ({}{}{})", id, rows_text(one.checked),
                                                 worst_text(one.worst), left_out_text(one))});
    } else {
      const std::string rows =
          one.checked > 1 ? fmt::format(" (in {} of {})", one.failed, rows_text(one.checked)) : "";
      lines.push_back(
          {LineKind::failed, fmt::format("{}{}: {}", id, rows, printable(one.failure))});
      if (!one.why.empty()) lines.push_back({LineKind::more, "why: " + printable(one.why)});
    }
  }
  return lines;
}

std::string expectation_summary(const Results& results) {
  const auto count = [&](const auto& predicate) {
    return std::count_if(results.expect.begin(), results.expect.end(), predicate);
  };
  const auto ok = count([](const ExpectationOutcome& one) { return one.ok; });
  const auto skipped = count([](const ExpectationOutcome& one) { return !one.skipped.empty(); });
  return fmt::format("{} of {} expectation{} hold{}{}", ok, results.expect.size(),
                     results.expect.size() == 1 ? "" : "s", results.expect.size() == 1 ? "s" : "",
                     skipped > 0 ? fmt::format(", {} not checked", skipped) : "");
}

}  // namespace collsim
