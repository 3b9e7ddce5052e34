// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "app/measured/measured_file.hpp"

namespace collsim::testing {

struct ReadTables {
  std::vector<MeasuredTable> tables;
  std::string mistakes;  // as a user sees them

  // The only one.
  [[nodiscard]] const MeasuredTable& only() const {
    static const MeasuredTable none;
    EXPECT_EQ(tables.size(), 1U) << mistakes;
    return tables.empty() ? none : tables.front();
  }
};

inline ReadTables read_tables(const std::string& text, const std::string& name = "run.log") {
  Sources sources;
  Diagnostics diagnostics;
  const std::uint32_t source = sources.add(Sources::Kind::file, name, text);
  ReadTables result{read_measurements(source, sources, diagnostics), {}};
  if (!diagnostics.empty()) result.mistakes = to_text(diagnostics, sources);
  return result;
}

// The lines one below the other.
template <class... Lines>
std::string paste(const Lines&... lines) {
  std::string text;
  ((text += std::string(lines) + "\n"), ...);
  return text;
}

// What nccl-tests has printed since 2022.
inline const std::string header_line =
    "#       size         count      type   redop    root     time   algbw   busbw #wrong     time "
    "  algbw   busbw #wrong";
inline const std::string unit_line =
    "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us) "
    " (GB/s)  (GB/s)       ";
inline const std::string row_1m =
    "     1048576        262144     float     sum      -1    27.37   38.31   67.04      0    26.93 "
    " "
    " 38.94   68.14      0";
inline const std::string row_2m =
    "     2097152        524288     float     sum      -1    42.21   49.68   86.94      0    42.09 "
    " "
    " 49.83   87.20      0";
inline const std::string out_of_bounds_line = "# Out of bounds values : 0 OK";
inline const std::string average_line = "# Avg bus bandwidth    : 77.33 ";

inline std::string whole_run() {
  return paste(header_line, unit_line, row_1m, row_2m, out_of_bounds_line, average_line);
}

inline std::string notes_of(const MeasuredTable& table) {
  std::string all;
  for (const std::string& note : table.notes) all += note + "\n";
  return all;
}

}  // namespace collsim::testing
