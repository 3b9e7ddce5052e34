// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/json/value.hpp"
#include "app/scenario/object_reader.hpp"
#include "collectives/cost/formula_language.hpp"

namespace collsim {

// Letters, digits and _, no digit first.
[[nodiscard]] bool is_program_name(std::string_view word);

// What an expression of a program can name: numbers ("rank", "K", loop variables), and buffers,
// where it says what to do with each of their elements.
struct ProgramNames {
  std::vector<std::string> numbers = {"rank", "K"};
  const std::vector<std::string>* buffers = nullptr;  // null: none may be named
  // Empty: there can be another number of this name.
  [[nodiscard]] std::string why_no_other(const std::string& name) const;
};

// An expression in a program: the language of formulas (collectives/cost/formula_language.hpp)
// with these names, exp(x), and numbers with units of time.
class ProgramExpression {
 public:
  ProgramExpression() : ProgramExpression(0) {}
  explicit ProgramExpression(double constant) : constant_(constant) {}
  // A mistake is reported at the value; what must be a time has to be one, all else a plain number.
  [[nodiscard]] static ProgramExpression read(const JsonValue& written, std::string_view text,
                                              const std::string& pointer, const ProgramNames& names,
                                              bool is_time, Diagnostics& diagnostics);

  struct Value {
    std::optional<double> number;
    std::string why_not;
  };
  // With the numbers in the order of their names.
  [[nodiscard]] Value operator()(std::span<const double> numbers) const;
  // With element(buffer) for the buffers that it names.
  using Element = std::function<double(std::size_t buffer)>;
  [[nodiscard]] Value operator()(std::span<const double> numbers, const Element& element) const;

  [[nodiscard]] bool names(std::size_t number) const;
  [[nodiscard]] std::vector<std::size_t> buffers() const;

 private:
  std::optional<double> constant_;
  FormulaTree tree_ = {};
};

// "rank % 2 == 1", "rank < K / 2": one comparison.
class ProgramCondition {
 public:
  [[nodiscard]] static std::optional<ProgramCondition> read(const JsonValue& written,
                                                            const std::string& pointer,
                                                            Diagnostics& diagnostics);
  [[nodiscard]] ProgramExpression::Value operator()(std::span<const double> numbers) const;

 private:
  ProgramExpression left_, right_;
  std::string_view comparison_;
};

}  // namespace collsim
