// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "app/expression/expression.hpp"

namespace collsim {

// Recursive descent over
//
//   sum     = product (("+" | "-") product)*
//   product = signed (("*" | "/") signed)*
//   signed  = ("+" | "-") signed | power
//   power   = primary ("^" signed)?
//   primary = number | name | function "(" ... ")" | "(" sum ")"
//
// which checks units and emits the program in one pass.  Throws ExpressionError.
class ExpressionParser {
 public:
  ExpressionParser(std::string_view text, const ScenarioFacts& facts);
  [[nodiscard]] Expression parse();

 private:
  using Code = ExpressionStep::Code;
  // What is known of a part that has been read; its steps are at the end of the program.
  struct Part {
    std::size_t begin = 0, end = 0;
    Units units{};
    bool zero = false;              // a bare 0
    std::optional<double> value{};  // of a constant
    std::vector<Comparable> words{};
  };

  [[nodiscard]] Part sum();
  [[nodiscard]] Part product();
  [[nodiscard]] Part signed_part();
  [[nodiscard]] Part power();
  [[nodiscard]] Part primary();
  [[nodiscard]] Part number();
  [[nodiscard]] Part name();
  [[nodiscard]] Part function(const Token& name);
  [[nodiscard]] Part min_or_max(const Token& name);
  [[nodiscard]] Part of_one(const Token& name);
  [[nodiscard]] Part selection(const Token& name);
  [[nodiscard]] Part relative_error(const Token& name);

  void close_call();  // takes the ")"
  // The swept path named next (up to one of `stops`), and the value named next.
  [[nodiscard]] ScenarioFacts::SweptPath axis(const Token& function, std::string_view stops);
  [[nodiscard]] std::size_t value_on(ScenarioFacts::SweptPath swept);
  void set_values(ExpressionSelection& selection, Part& part, ScenarioFacts::SweptPath swept);

  void advance() { token_ = lexer_.next(); }
  void emit(Code code, const Part& part) { emit({.code = code}, part); }
  void emit(ExpressionStep step, const Part& part);
  // Joins two parts by an operator, whose units have been seen to.
  [[nodiscard]] Part joined(Code code, const Part& left, const Part& right, Units units);
  [[nodiscard]] Part combined(Code code, const Part& left, const Part& right);
  [[nodiscard]] Part raised(const Part& base, const Part& exponent);
  void must_be_number(const Part& part) const;
  void must_be_available(const NameEntry& entry, const Token& token) const;

  [[nodiscard]] std::string quote(const Part& part) const;
  [[noreturn]] void fail(std::size_t begin, std::size_t end, std::string code, std::string message,
                         std::string suggestion = {}, std::string hint = {}) const;
  [[noreturn]] void unknown_name(const Token& token, bool called) const;
  [[noreturn]] void unexpected(std::string_view wanted) const;

  Lexer lexer_;
  const ScenarioFacts* facts_;
  Token token_;
  Expression result_;
  ExpressionProgram* program_;
  int depth_ = 0;
};

}  // namespace collsim
