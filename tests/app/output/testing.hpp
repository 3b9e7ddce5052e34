// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sstream>
#include <string>
#include <vector>

#include "app/output/format.hpp"
#include "tests/app/study/testing.hpp"

namespace collsim::testing {

// The lecture's sweep: a chain broadcast of 64 MiB, cut into more and more messages.
inline Results lecture_results(const std::vector<int>& chunks = {1, 16, 57, 64, 4096}) {
  Results results;
  results.file = "ring-broadcast.json";
  results.name = "ring-broadcast";
  results.description = "chain broadcast of 64 MiB; chain of 8 ranks, 25 GB/s, 5 us per message";
  results.axes = {"collective.chunks"};
  results.points = chunks.size();
  results.scenario = JsonValue::object();
  for (const int count : chunks) {
    CaseResult row = run_case(lecture_case(count));
    row.params = {{"collective.chunks", JsonValue(count)}};
    results.rows.push_back(row);
  }
  return results;
}

inline std::string written(const Results& results, Format format, const TableStyle& style = {}) {
  std::ostringstream out;
  write(out, results, format, style);
  return out.str();
}

inline std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

}  // namespace collsim::testing
