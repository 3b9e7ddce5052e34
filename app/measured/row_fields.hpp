// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "app/measured/log_run.hpp"

namespace collsim {

// The name by which a field is known, from what was written: "time_us"; empty: nobody knows it.
// It lives as long as the program.
[[nodiscard]] std::string_view field_of(std::string_view written);

// A row whose numbers have names, as in CSV and JSON, whoever wrote it.
//
// Names are compared by their letters and digits: "time (us)", "time_us" and "out_of_place.time"
// are one; "busbw (GB/s)" and "bus_bw" another.  A time without a unit is in us, a bandwidth in
// GB/s.
class RowFields {
 public:
  void add(std::string_view name, std::string value) { put(field_of(name), std::move(value)); }
  void put(std::string_view field, std::string value);  // a field_of()
  void clear() { fields_.clear(); }

  [[nodiscard]] std::optional<double> number(std::string_view field) const;
  [[nodiscard]] std::string_view text(std::string_view field) const;  // as long as this
  [[nodiscard]] std::optional<std::int64_t> integer(std::string_view field) const;

  // As a row of a log, times in us.  Nothing without a size and a time, or a rate in its place.
  [[nodiscard]] std::optional<LogRow> row() const;
  // What is said about the whole run: op, ranks, nodes, gpu, ...
  void describe(LogRun& run) const;

 private:
  std::vector<std::pair<std::string_view, std::string>> fields_;  // by the names in row_fields.cpp
};

// Rows with names, put together to runs: those that say the same of op, ranks, nodes, gpu, ...
class NamedRuns {
 public:
  // `all`: what holds for every run, where a row does not say otherwise.
  explicit NamedRuns(LogRun all = {}) : all_(std::move(all)) { all_.has_names = true; }

  // `shown`: how messages call it, asked only when there is one.
  void take(const RowFields& fields, std::uint32_t line, const std::function<std::string()>& shown);
  [[nodiscard]] std::vector<LogRun> runs() &&;

 private:
  LogRun all_;
  std::map<std::string, LogRun> runs_;  // by what their rows say alike
  std::vector<LogRun*> order_;
  std::string key_, last_key_;
  LogRun* last_ = nullptr;  // which the next row most likely belongs to, too
};

}  // namespace collsim
