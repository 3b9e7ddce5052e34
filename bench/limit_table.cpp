// SPDX-License-Identifier: Apache-2.0
#include "bench/limit_table.hpp"

#include <algorithm>
#include <array>
#include <cstdio>

namespace collsim::bench {

namespace {

std::string text(double value, const std::string& unit) {
  std::array<char, 32> digits{};
  std::snprintf(digits.data(), digits.size(), "%.3g", value);
  return digits.data() + (" " + unit);
}

std::string time_text(double seconds) {
  return seconds < 1 ? text(seconds * 1e3, "ms") : text(seconds, "s");
}

std::string rate_text(double per_second, std::string_view item) {
  if (per_second < 1e9) return text(per_second * 1e-6, "M " + std::string(item) + "/s");
  if (per_second < 1e12) return text(per_second * 1e-9, "G " + std::string(item) + "/s");
  return text(per_second * 1e-12, "T " + std::string(item) + "/s");
}

void append(std::string& list, const std::string& text) {
  list += (list.empty() ? "" : ", ") + text;
}

}  // namespace

LimitTable::LimitTable(const std::vector<Case>& cases) : ConsoleReporter(OO_None), cases_(cases) {}

void LimitTable::ReportRuns(const std::vector<Run>& runs) {
  ConsoleReporter::ReportRuns(runs);
  const auto counter = [](const Run& run, const char* name) {
    const auto found = run.counters.find(name);
    return found == run.counters.end() ? 0.0 : found->second.value;
  };
  for (const Run& run : runs)
    if (run.run_type == Run::RT_Iteration)
      runs_[run.run_name.function_name].push_back(
          {run.real_accumulated_time / static_cast<double>(run.iterations),
           counter(run, "items_per_second"), counter(run, "loops"), counter(run, "instructions"),
           counter(run, "peak_MiB") * mebibyte});
}

LimitTable::Measured LimitTable::measured(std::string_view name) const {
  std::vector<Measured> runs = runs_.find(name)->second;
  const auto middle = runs.begin() + static_cast<std::ptrdiff_t>(runs.size() / 2);
  std::nth_element(runs.begin(), middle, runs.end(),
                   [](const Measured& a, const Measured& b) { return a.seconds < b.seconds; });
  return *middle;
}

LimitTable::Row LimitTable::row(const Case& one) const {
  const Measured got = measured(one.name);
  const Limit& limit = one.limit;
  Row row;
  // Says the value and, where there is a limit, what it is and whether it is kept.
  const auto say = [&row](double value, const std::optional<double>& most,
                          const std::string& unit) {
    append(row.measured, text(value, unit));
    if (!most) return;
    append(row.limit, text(*most, unit));
    row.asked = true;
    row.ok = row.ok && value <= *most;
  };
  append(row.measured, time_text(got.seconds));
  append(row.measured, rate_text(got.items_per_second, one.item));
  if (limit.loops) say(got.loops, limit.loops, "loops");
  if (got.instructions > 0)
    say(got.instructions, limit.instructions,
        "instructions/" + std::string(one.item.substr(0, one.item.size() - 1)));
  if (limit.peak_bytes) say(got.peak_bytes / mebibyte, *limit.peak_bytes / mebibyte, "MiB");
  if (limit.times_slower_than && runs_.contains(limit.other_case))
    say(got.seconds / measured(limit.other_case).seconds, limit.times_slower_than,
        "x " + std::string(limit.other_case));
  return row;
}

std::string LimitTable::markdown() const {
  std::string table = "| case | today | limit | ok |\n|---|---|---|---|\n";
  for (const Case& one : cases_) {
    if (!ran(one)) continue;
    const Row line = row(one);
    table += "| " + std::string(one.name) + " | " + line.measured + " | " + line.limit + " | ";
    table += !line.asked ? "" : line.ok ? "yes" : "**no**";
    table += " |\n";
  }
  return table;
}

bool LimitTable::all_ok() const {
  return std::all_of(cases_.begin(), cases_.end(),
                     [this](const Case& one) { return !ran(one) || row(one).ok; });
}

}  // namespace collsim::bench
