// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace collsim {

// One character of UTF-8 text; a byte that is not UTF-8 counts as a character of its own.
struct CodePoint {
  char32_t code = 0;
  std::size_t bytes = 1;
  bool valid = true;
};
[[nodiscard]] CodePoint code_point_at(std::string_view text, std::size_t offset);
void append_utf8(std::string& text, char32_t code);
// The characters from there on of which each is one byte and stands for itself in JSON: most text.
[[nodiscard]] std::string_view plain_text_at(std::string_view text, std::size_t offset);

// Columns that a character takes on a terminal: 2 for wide East Asian ones, 0 for combining ones.
[[nodiscard]] int screen_width(char32_t code);

// Text that is safe to send to a terminal: control and direction characters and bytes that are not
// UTF-8 become '?', a tab becomes a blank.
[[nodiscard]] std::string printable(std::string_view text);

// Digits in groups of three: "1234567" -> "1,234,567".
[[nodiscard]] std::string with_commas(std::string digits);
[[nodiscard]] std::string with_commas(std::int64_t number);  // not negative

[[nodiscard]] std::string whole_percent(double part);  // 0.123 -> "12%"

// "1 rank", "8 ranks", "1,048,576 ranks".
[[nodiscard]] std::string count_text(std::int64_t count, std::string_view noun);
[[nodiscard]] inline std::string count_text(std::size_t count, std::string_view noun) {
  return count_text(static_cast<std::int64_t>(count), noun);
}
[[nodiscard]] inline std::string count_text(int count, std::string_view noun) {
  return count_text(std::int64_t{count}, noun);
}
// "3 of 8 rows", "0 of 1 row".
[[nodiscard]] std::string part_text(std::size_t part, std::size_t all, std::string_view noun);

// The number that is all of the text; nothing: there is more or less, or it does not fit.
template <class Number>
[[nodiscard]] std::optional<Number> number_in(std::string_view text) {
  Number number{};
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = problem == std::errc{} && end == text.data() + text.size();
  return whole ? std::optional(number) : std::nullopt;
}

// At most `columns` characters, of which the last three are "..." when there were more.
[[nodiscard]] std::string shortened(std::string_view text, std::size_t columns = 60);

// Whatever the locale says.
[[nodiscard]] constexpr bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

[[nodiscard]] inline std::string lower(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return result;
}

// At every separator; nothing comes of what is empty at the end.
[[nodiscard]] inline std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> pieces;
  for (std::size_t begin = 0, end = 0; begin < text.size(); begin = end + 1) {
    end = std::min(text.find(separator, begin), text.size());
    pieces.emplace_back(text.substr(begin, end - begin));
  }
  return pieces;
}

}  // namespace collsim
