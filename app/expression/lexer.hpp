// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "collectives/cost/units.hpp"

namespace collsim {

// A mistake in an expression, at these bytes of it.
struct ExpressionError {
  std::string code;  // syntax, unknown-name, dimension, not-swept, unavailable, too-long, or one of
                     // those of quantities
  std::string message;
  std::string suggestion;
  std::string hint;
  std::size_t begin = 0, end = 0;
};

// For messages: "a \"b\"", not longer than a line.
[[nodiscard]] std::string in_quotes(std::string_view text);

struct Token {
  enum class Kind : std::uint8_t { number, name, symbol, end } kind = Kind::end;
  std::size_t begin = 0, end = 0;
  std::string_view text;
  // Of a number.
  double value = 0;
  Units units{};
  bool percent = false;

  [[nodiscard]] bool is(char wanted) const { return kind == Kind::symbol && text[0] == wanted; }
};

// Cuts an expression into numbers (with their units), names, and the symbols + - * / ^ ( ) ,
// Throws ExpressionError for what is none of these.
class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  [[nodiscard]] std::string_view text() const { return text_; }
  [[nodiscard]] Token next();
  // All up to the next of these characters or the end, without blanks around it; for what is no
  // expression (a path).
  [[nodiscard]] Token raw_until(std::string_view stops);

 private:
  void skip_blanks();
  [[nodiscard]] Token number();
  void attach_unit(Token& token, std::size_t digits_end);
  [[noreturn]] void unexpected() const;

  std::string_view text_;
  std::size_t position_ = 0;
};

}  // namespace collsim
