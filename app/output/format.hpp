// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "app/results/results.hpp"

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

// JSON lines or CSV, row by row, as a sweep comes along.
class RowWriter {
 public:
  // compared: rows have what was measured.
  RowWriter(std::ostream& out, Format format, bool compared = false);

  void write(const CaseResult& row);
  // After the last row: says if some are missing, so that what was interrupted does not look whole.
  void finish(const Results& results);

 private:
  std::ostream& out_;
  Format format_;
  bool compared_;
  std::vector<std::string> columns_;  // of CSV
};

// The results file (scenario format, section 5).
[[nodiscard]] JsonValue to_value(const Results& results);

}  // namespace collsim
