// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

namespace collsim {

// A line, by number, or so many rounds of several.
struct FoldedLine {
  int number = 0;
  std::int64_t rounds = 0;  // 0: a line
  std::vector<FoldedLine> body = {};
};

// Writes what repeats as loops, also within loops: from front to back, each time the loop that
// saves most lines.  A round has at most 500 lines.
[[nodiscard]] std::vector<FoldedLine> folded(const std::vector<int>& lines);

}  // namespace collsim
