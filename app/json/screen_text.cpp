// SPDX-License-Identifier: Apache-2.0
#include "app/json/screen_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>

namespace collsim {

namespace {

struct Range {
  char32_t first, last;
};

// The blocks of Unicode 15 where nearly all characters are of that width.
constexpr std::array zero_width{
    Range{0x0300, 0x036F}, Range{0x0483, 0x0489}, Range{0x0591, 0x05BD},   Range{0x0610, 0x061A},
    Range{0x064B, 0x065F}, Range{0x0E34, 0x0E3A}, Range{0x0E47, 0x0E4E},   Range{0x1AB0, 0x1AFF},
    Range{0x1DC0, 0x1DFF}, Range{0x200B, 0x200D}, Range{0x20D0, 0x20FF},   Range{0xFE00, 0xFE0F},
    Range{0xFE20, 0xFE2F}, Range{0xFEFF, 0xFEFF}, Range{0x1F3FB, 0x1F3FF}, Range{0xE0100, 0xE01EF}};
constexpr std::array double_width{
    Range{0x1100, 0x115F},   Range{0x231A, 0x231B},   Range{0x2E80, 0x303E},
    Range{0x3041, 0x33FF},   Range{0x3400, 0x4DBF},   Range{0x4E00, 0x9FFF},
    Range{0xA000, 0xA4CF},   Range{0xA960, 0xA97F},   Range{0xAC00, 0xD7A3},
    Range{0xF900, 0xFAFF},   Range{0xFE30, 0xFE6F},   Range{0xFF00, 0xFF60},
    Range{0xFFE0, 0xFFE6},   Range{0x1F300, 0x1F64F}, Range{0x1F680, 0x1F6FF},
    Range{0x1F900, 0x1F9FF}, Range{0x20000, 0x3FFFD}};

template <std::size_t n>
bool among(char32_t code, const std::array<Range, n>& ranges) {
  return std::any_of(ranges.begin(), ranges.end(), [code](const Range& range) {
    return range.first <= code && code <= range.last;
  });
}

// What a terminal may obey instead of showing it.
bool is_command(char32_t code) {
  return code < 0x20 || (code >= 0x7F && code <= 0x9F) || code == 0x200E || code == 0x200F ||
         (code >= 0x2028 && code <= 0x202E) || (code >= 0x2066 && code <= 0x2069);
}

}  // namespace

std::string_view plain_text_at(std::string_view text, std::size_t offset) {
  const auto is_plain = [](char c) { return c >= ' ' && c <= '~' && c != '"' && c != '\\'; };
  const auto begin = text.begin() + static_cast<std::ptrdiff_t>(std::min(offset, text.size()));
  return {begin, std::find_if_not(begin, text.end(), is_plain)};
}

CodePoint code_point_at(std::string_view text, std::size_t offset) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[offset + i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return {lead, 1, true};
  const std::size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  const CodePoint broken{0xFFFD, 1, false};
  if (lead < 0xC2 || lead > 0xF4 || text.size() - offset < length) return broken;
  char32_t code = lead & (0x7FU >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0U) != 0x80U) return broken;
    code = (code << 6U) | (byte(i) & 0x3FU);
  }
  constexpr std::array<char32_t, 5> least{0, 0, 0x80, 0x800, 0x10000};
  if (code < least.at(length) || code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF))
    return broken;
  return {code, length, true};
}

void append_utf8(std::string& text, char32_t code) {
  if (code < 0x80) {
    text += static_cast<char>(code);
    return;
  }
  const unsigned following = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;  // bytes, of six bits each
  text += static_cast<char>((0xFF00U >> (following + 1) & 0xFFU) | (code >> (6 * following)));
  for (unsigned i = following; i-- > 0;)
    text += static_cast<char>(0x80U | (code >> (6 * i) & 0x3FU));
}

int screen_width(char32_t code) {
  if (code < 0x300) return 1;
  if (among(code, zero_width)) return 0;
  return among(code, double_width) ? 2 : 1;
}

std::string printable(std::string_view text) {
  std::string safe;
  safe.reserve(text.size());
  for (std::size_t offset = 0; offset < text.size();) {
    const CodePoint point = code_point_at(text, offset);
    if (point.code == '\t')
      safe += ' ';
    else if (!point.valid || is_command(point.code))
      safe += '?';
    else
      safe += text.substr(offset, point.bytes);
    offset += point.bytes;
  }
  return safe;
}

std::string whole_percent(double part) {
  return fmt::format("{:.0f}%", 100 * part);
}

std::string with_commas(std::string digits) {
  for (std::size_t end = digits.size(); end > 3; end -= 3) digits.insert(end - 3, ",");
  return digits;
}

std::string with_commas(std::int64_t number) {
  return with_commas(std::to_string(number));
}

std::string count_text(std::int64_t count, std::string_view noun) {
  return with_commas(count).append(" ").append(noun).append(count == 1 ? "" : "s");
}

std::string part_text(std::size_t part, std::size_t all, std::string_view noun) {
  return std::to_string(part)
      .append(" of ")
      .append(std::to_string(all))
      .append(" ")
      .append(noun)
      .append(all == 1 ? "" : "s");
}

std::string shortened(std::string_view text, std::size_t columns) {
  constexpr std::string_view dots = "...";
  std::size_t offset = 0;
  std::size_t before_dots = 0;
  for (std::size_t count = 0; offset < text.size(); ++count) {
    if (count == columns) return std::string(text.substr(0, before_dots)).append(dots);
    if (count == columns - dots.size()) before_dots = offset;
    offset += code_point_at(text, offset).bytes;
  }
  return std::string(text);
}

}  // namespace collsim
