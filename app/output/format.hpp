// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <ostream>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "app/results/results.hpp"
#include "app/scenario/scenario.hpp"

namespace collsim {

enum class Format : std::uint8_t { table, json, jsonl, csv, markdown, nccl_tests };

[[nodiscard]] std::string_view to_string(Format format);
[[nodiscard]] std::optional<Format> parse_format(std::string_view name);
[[nodiscard]] std::optional<Format> format_of_suffix(std::string_view file);  // "a.csv" -> csv

struct TableStyle {
  bool colour = false;
  bool quiet = false;  // rows only
};

// The results in a format; ends with a newline.
void write(std::ostream& out, const Results& results, Format format, const TableStyle& style = {});

// By path, what a sweep sets: columns of CSV depend on it.
using SweptValues = std::map<std::string, std::set<std::string>>;
[[nodiscard]] SweptValues swept_values(const std::vector<Axis>& axes);
[[nodiscard]] SweptValues swept_values(const std::vector<CaseResult>& rows);

// JSON lines or CSV, row by row, as a sweep comes along; not what was measured, in CSV.
class RowWriter {
 public:
  RowWriter(std::ostream& out, Format format, SweptValues swept);

  void write(const CaseResult& row);
  // After the last row: says if some are missing, so that what was interrupted does not look whole.
  void finish(const Results& results);

 private:
  std::ostream& out_;
  Format format_;
  SweptValues swept_;
  std::vector<std::string> columns_;  // of CSV
};

// The results file (scenario format, section 5).
[[nodiscard]] JsonValue to_value(const Results& results);

}  // namespace collsim
