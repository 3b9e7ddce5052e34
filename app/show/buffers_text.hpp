// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <ostream>

#include "app/json/value.hpp"
#include "app/show/buffers.hpp"

namespace collsim {

struct BuffersStyle {
  // A limited number of ranks and steps, and long lists only with their first and last numbers;
  // what is left out is said.
  bool all = false;
  std::size_t max_ranks = 16;
  std::size_t max_steps = 200;  // lines
};

// A table of what every rank holds before and after, the steps where they were recorded, and
// whether the result is right.  "-" stands for memory that holds nothing yet.
void write_buffers(std::ostream& out, const Buffers& buffers, const BuffersStyle& style = {});

// For programs, everything:
// {"op", "algorithm", "dtype", "reduction", "root", "elements", "notes", "right", "problem",
//  "ranks": [{"rank", "taking_part", "before", "after", "unchanged", "must_be"}],
//  "steps": [{"step", "rank", "from", "does", "message", "own", "result", "after"}]}
// Buffers are lists of numbers, or of lists where there is one piece per rank; null: no buffer, or
// an unwritten element.  Numbers JSON has not are strings: "inf", "-inf", "nan".
[[nodiscard]] JsonValue to_value(const Buffers& buffers);

// As short as the element type allows: 6, 0.1, 3e+20.
[[nodiscard]] std::string number_text(ElementType type, double number);

}  // namespace collsim
