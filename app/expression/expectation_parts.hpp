// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/expression/condition.hpp"
#include "app/expression/expression.hpp"

namespace collsim {

// One expectation, read; what its parts mean is in expectation.hpp.
struct Expectation {
  enum class Kind : std::uint8_t { equals, at_least, at_most, between };

  std::string id;
  std::string why;
  Condition condition;
  std::optional<Expression> metric;
  Evaluator::TimeMeans meaning = Evaluator::TimeMeans::simulated;
  Kind kind = Kind::equals;
  std::vector<Expression> limits;    // one, of `between` two; none for a word
  std::optional<std::string> word;   // as written
  std::vector<char> word_fits;       // for each of the metric's words
  std::optional<Expression> within;  // absolute
  std::string within_text;           // as written; empty: the default
  double tolerance = 1e-9;           // relative, when there is no `within`
  // The axes whose rows are one group, smallest first.
  std::vector<std::size_t> collapsed;
  std::shared_ptr<const Grid> grid;
};

}  // namespace collsim
