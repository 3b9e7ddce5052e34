// SPDX-License-Identifier: Apache-2.0
#include "bench/floor_table.hpp"

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

FloorTable::FloorTable(const std::vector<Case>& cases) : ConsoleReporter(OO_None), cases_(cases) {}

void FloorTable::ReportRuns(const std::vector<Run>& runs) {
  ConsoleReporter::ReportRuns(runs);
  const auto counter = [](const Run& run, const char* name) {
    const auto found = run.counters.find(name);
    return found == run.counters.end() ? 0.0 : found->second.value;
  };
  for (const Run& run : runs)
    if (run.run_type == Run::RT_Iteration)
      runs_[run.run_name.function_name].push_back(
          {run.real_accumulated_time / static_cast<double>(run.iterations),
           counter(run, "items_per_second"), counter(run, "peak_MiB") * mebibyte});
}

FloorTable::Measured FloorTable::measured(std::string_view name) const {
  std::vector<Measured> runs = runs_.find(name)->second;
  const auto middle = runs.begin() + static_cast<std::ptrdiff_t>(runs.size() / 2);
  std::nth_element(runs.begin(), middle, runs.end(),
                   [](const Measured& a, const Measured& b) { return a.seconds < b.seconds; });
  return *middle;
}

FloorTable::Row FloorTable::row(const Case& one) const {
  const Measured got = measured(one.name);
  const Floor& floor = one.floor;
  Row row;
  const auto ask = [&row](const std::string& what, bool met) {
    append(row.floor, what);
    row.asked = true;
    row.ok = row.ok && met;
  };
  append(row.measured, time_text(got.seconds));
  append(row.measured, rate_text(got.items_per_second, one.item));
  if (floor.seconds) ask(time_text(*floor.seconds), got.seconds <= *floor.seconds);
  if (floor.items_per_second)
    ask(rate_text(*floor.items_per_second, one.item),
        got.items_per_second >= *floor.items_per_second);
  if (floor.peak_bytes) {
    append(row.measured, text(got.peak_bytes / mebibyte, "MiB"));
    ask(text(*floor.peak_bytes / mebibyte, "MiB"), got.peak_bytes < *floor.peak_bytes);
  }
  if (floor.times_slower_than && runs_.contains(floor.other_case)) {
    const double times = got.seconds / measured(floor.other_case).seconds;
    append(row.measured, text(times, "x"));
    ask(text(*floor.times_slower_than, "x " + std::string(floor.other_case)),
        times <= *floor.times_slower_than);
  }
  return row;
}

std::string FloorTable::markdown() const {
  std::string table = "| case | measured | floor | ok |\n|---|---|---|---|\n";
  for (const Case& one : cases_) {
    if (!ran(one)) continue;
    const Row line = row(one);
    table += "| " + std::string(one.name) + " | " + line.measured + " | " + line.floor + " | ";
    table += !line.asked ? "" : line.ok ? "yes" : "**no**";
    table += " |\n";
  }
  return table;
}

bool FloorTable::all_ok() const {
  return std::all_of(cases_.begin(), cases_.end(),
                     [this](const Case& one) { return !ran(one) || row(one).ok; });
}

}  // namespace collsim::bench
