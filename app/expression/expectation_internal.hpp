// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/expression/expression.hpp"
#include "app/expression/scenario_facts.hpp"
#include "app/json/diagnostics.hpp"

namespace collsim {

// Which points of a sweep an expectation is about ("when"): all conditions must hold.
struct Condition {
  // For an axis: which of its points.  An axis may stand here more than once.
  std::vector<std::pair<std::size_t, std::vector<char>>> allowed;
  bool never = false;  // a path that is not swept has another value
  std::string text;    // "collective.chunks = 1 or 2, cluster.ranks = 8"; empty: no condition

  // For every point of the grid.
  [[nodiscard]] std::vector<char> matches(const Grid& grid) const;
};

// Reports paths that are neither swept nor in the resolved scenario, and values that can never be
// at their path because they are of another kind.
[[nodiscard]] Condition read_condition(const JsonValue& when, const std::string& pointer,
                                       const ScenarioFacts& facts, Diagnostics& diagnostics);

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
