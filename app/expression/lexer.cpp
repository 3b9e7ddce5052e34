// SPDX-License-Identifier: Apache-2.0
#include "app/expression/lexer.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "app/expression/names.hpp"
#include "app/json/screen_text.hpp"
#include "app/json/write_json.hpp"
#include "app/scenario/quantities.hpp"

namespace collsim {

namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool starts_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

// The two letters that look like a mu: the micro sign and the Greek one.
std::size_t mu_at(std::string_view text) {
  return text.starts_with("\u00b5") || text.starts_with("\u03bc") ? 2 : 0;
}

std::size_t name_length(std::string_view text) {
  std::size_t length = mu_at(text);
  if (length == 0 && (text.empty() || !starts_name(text[0]))) return 0;
  while (length < text.size() && (starts_name(text[length]) || is_digit(text[length]))) ++length;
  return length;
}

bool is_time_unit(std::string_view unit) {
  return unit == "s" || unit == "ms" || unit == "us" || unit == "ns" || unit == "\u00b5s" ||
         unit == "\u03bcs";
}

std::size_t character_length(std::string_view text) {
  std::size_t length = 1;
  while (length < text.size() && (static_cast<unsigned char>(text[length]) & 0xC0U) == 0x80U)
    ++length;
  return length;
}

// What people write for what an expression has another sign for.
constexpr std::array<std::pair<std::string_view, std::string_view>, 10> other_signs{
    {{"\u03b1", "alpha"},
     {"\u03b3", "gamma"},
     {"\u03b2", "B"},
     {"\u00d7", "*"},
     {"\u00b7", "*"},
     {"\u2212", "-"},
     {"\u2013", "-"},
     {"\u00f7", "/"},
     {"\u221a", "sqrt"},
     {"\u00b2", "^2"}}};

template <class T, class Convert>
void take(Token& token, const Parsed<T>& parsed, Units units, Convert convert) {
  if (!parsed.value)
    throw ExpressionError{parsed.error.code, parsed.error.message, parsed.error.suggestion,
                          parsed.error.hint, token.begin,          token.end};
  token.value = convert(*parsed.value);
  token.units = units;
}

}  // namespace

std::string in_quotes(std::string_view text) {
  return quoted(shortened(text));
}

void Lexer::skip_blanks() {
  while (position_ < text_.size() && is_blank(text_[position_])) ++position_;
}

Token Lexer::next() {
  skip_blanks();
  if (position_ == text_.size())
    return {.kind = Token::Kind::end, .begin = position_, .end = position_, .text = {}};
  const char first = text_[position_];
  if (is_digit(first)) return number();
  Token token{.begin = position_, .text = {}};
  if (starts_name(first)) {
    token.kind = Token::Kind::name;
    position_ += name_length(text_.substr(position_));
  } else {
    if (std::string_view("+-*/^(),").find(first) == std::string_view::npos) unexpected();
    token.kind = Token::Kind::symbol;
    ++position_;
  }
  token.end = position_;
  token.text = text_.substr(token.begin, token.end - token.begin);
  return token;
}

Token Lexer::number() {
  Token token{.kind = Token::Kind::number, .begin = position_, .text = {}};
  const char* const begin = text_.data() + position_;
  const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), token.value);
  position_ += static_cast<std::size_t>(end - begin);
  token.end = position_;
  token.text = text_.substr(token.begin, token.end - token.begin);
  if (error != std::errc{})
    throw ExpressionError{
        "overflow",  in_quotes(token.text) + " is too large or too small for a number",
        {},          {},
        token.begin, token.end};
  attach_unit(token, position_);
  token.text = text_.substr(token.begin, token.end - token.begin);
  return token;
}

void Lexer::attach_unit(Token& token, std::size_t digits_end) {
  std::size_t at = digits_end;
  if (at < text_.size() && text_[at] == ' ') ++at;
  if (at < text_.size() && text_[at] == '%') {
    token.percent = true;
    token.value /= 100;
    position_ = token.end = at + 1;
    return;
  }
  const std::size_t length = name_length(text_.substr(at));
  if (length == 0) return;
  const std::string_view name = text_.substr(at, length);
  if (find_name(name) != nullptr && name != "B")
    throw ExpressionError{
        "syntax",
        "an operator is missing between " + in_quotes(token.text) + " and " + in_quotes(name),
        std::string(token.text) + "*" + std::string(name),
        {},
        token.begin,
        at + length};
  std::size_t end = at + length;
  const bool per_second = !is_time_unit(name) && text_.substr(end).starts_with("/s") &&
                          name_length(text_.substr(end + 1)) == 1;
  if (per_second) end += 2;
  const bool has_exponent = token.text.find_first_of("eE") != std::string_view::npos;
  position_ = token.end = end;
  const std::string_view written = text_.substr(token.begin, end - token.begin);
  if (has_exponent)
    throw ExpressionError{"not-a-quantity",
                          in_quotes(written) + " has an exponent and a unit",
                          {},
                          "write the digits out, as in \"1000us\"",
                          token.begin,
                          token.end};
  if (name == "ps") {  // finer than the format's units: for the rounding of simulated times
    token.value /= 1e12;
    token.units = units_time;
  } else if (is_time_unit(name)) {
    take(token, parse_time(written), units_time, [](Time time) { return time.seconds(); });
  } else if (per_second || name.ends_with("ps")) {
    take(token, parse_bandwidth(written), units_bandwidth,
         [](Bandwidth bandwidth) { return static_cast<double>(bandwidth.bytes_per_second()); });
  } else {
    take(token, parse_size(written), units_size,
         [](Bytes bytes) { return static_cast<double>(bytes); });
  }
}

Token Lexer::raw_until(std::string_view stops) {
  skip_blanks();
  const std::size_t begin = position_;
  position_ = std::min(text_.find_first_of(stops, begin), text_.size());
  std::size_t end = position_;
  while (end > begin && is_blank(text_[end - 1])) --end;
  return {.kind = Token::Kind::name,
          .begin = begin,
          .end = end,
          .text = text_.substr(begin, end - begin)};
}

void Lexer::unexpected() const {
  const std::string_view rest = text_.substr(position_);
  const std::size_t length = character_length(rest);
  const std::string_view character = rest.substr(0, length);
  ExpressionError error{"syntax",  in_quotes(character) + " has no meaning in an expression",
                        {},        "operators are + - * / ^ and parentheses",
                        position_, position_ + length};
  for (const auto& [theirs, ours] : other_signs)
    if (rest.starts_with(theirs)) error.suggestion = ours;
  if (character == "." && rest.size() > 1 && is_digit(rest[1])) {
    error.message = "a number begins with a digit";
    error.hint = "write 0.5, not .5";
  } else if (character == "%") {
    error.hint = "a percentage is a number and %, as in 5%";
  } else if (character == "<" || character == ">" || character == "=" || character == "!") {
    error.hint = "the comparison is a key beside \"metric\": equals, at_least, at_most or between";
  }
  throw error;
}

}  // namespace collsim
