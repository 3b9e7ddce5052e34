// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "app/output/text_table.hpp"
#include "app/results/results.hpp"

namespace collsim {

// Predicted beside measured, as a readable table.

struct TableColumn {
  std::string heading;
  TextTable::Align align = TextTable::Align::right;
  std::vector<std::string> cells;
};

// formula (where there is one), predicted, measured, [min .. max], error, data.  All times in one
// unit.
void add_comparison_columns(std::vector<TableColumn>& columns, const std::vector<CaseResult>& rows);

// Behind each row: why there is no verdict, or that it is off by too much.
[[nodiscard]] std::vector<std::string> comparison_remarks(const Results& results);

// "measured on host, paced (links emulated), protocol simple: median of 20 runs"
[[nodiscard]] std::string how_it_was_measured(const Comparison& how);

// The same for results; "nothing was measured" when that is so.
[[nodiscard]] std::string how_it_was_measured(const Results& results);

// Below the rows: all of them in a sentence, then devices, notes and reasons, each once.
struct ComparisonLine {
  enum class Kind { sentence, detail, bad } kind;
  std::string text;
};
[[nodiscard]] std::vector<ComparisonLine> comparison_lines(const Results& results);

// Where busbw is less, or more, than what NCCL reaches on 95% of such machines, at three or more
// sizes in a row: by how much, and what to check.  Only on presets whose errors are known.
enum class ClassSide { below, above };
[[nodiscard]] std::vector<std::string> beyond_class(const Results& results, ClassSide side);

}  // namespace collsim
