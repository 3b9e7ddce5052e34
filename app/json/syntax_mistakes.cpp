// SPDX-License-Identifier: Apache-2.0
#include "app/json/syntax_mistakes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "app/json/screen_text.hpp"

namespace collsim {

namespace {

using After = ParserState::After;

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$';
}

class Finder {
 public:
  Finder(std::string_view text, const ParserState& state) : text_(text), state_(state) {}

  [[nodiscard]] SyntaxMistake find() const {
    const std::size_t next = skip_blanks(text_, state_.offset);
    switch (state_.after) {
      case After::nothing: return at_value(next);
      case After::object_begin: return at_key(next);
      case After::array_begin: return at_value(next);
      case After::key: return after_key(next);
      case After::value: return state_.in_container ? after_item(next) : after_all(next);
    }
    return at_value(next);
  }

 private:
  [[nodiscard]] char at(std::size_t offset) const {
    return offset < text_.size() ? text_[offset] : '\0';
  }
  [[nodiscard]] bool ends(std::size_t offset) const { return offset >= text_.size(); }
  [[nodiscard]] SyntaxMistake mistake(std::size_t begin, std::size_t end, std::string message,
                                      std::string hint = {}) const {
    return {begin, end, std::move(message), std::move(hint)};
  }
  [[nodiscard]] std::size_t end_of_word(std::size_t begin) const {
    std::size_t end = begin;
    while (!ends(end) && (is_letter(text_[end]) || is_digit(text_[end]) || text_[end] == '-' ||
                          text_[end] == '.'))
      ++end;
    return end;
  }
  [[nodiscard]] std::size_t end_of_line(std::size_t begin) const {
    return std::min(text_.find_first_of("\r\n", begin), text_.size());
  }

  [[nodiscard]] SyntaxMistake after_key(std::size_t next) const {
    if (at(next) == ':') return at_value(skip_blanks(text_, next + 1));
    if (auto odd = odd_character(next); !odd.message.empty()) return odd;
    if (at(next) == '=')
      return mistake(next, next + 1, "a key and its value are separated by \":\", not \"=\"");
    return mistake(state_.offset, state_.offset, "a colon is missing after the key",
                   "write \"key\": value");
  }

  [[nodiscard]] SyntaxMistake after_item(std::size_t next) const {
    const char closer = state_.in_object ? '}' : ']';
    if (at(next) == ',') {
      const std::size_t following = skip_blanks(text_, next + 1);
      if (at(following) == closer)
        return mistake(next, next + 1, "a comma must not follow the last item",
                       "remove this comma");
      return state_.in_object ? at_key(following) : at_value(following);
    }
    if (auto odd = odd_character(next); !odd.message.empty()) return odd;
    if (at(next) == '}' || at(next) == ']') return wrong_closer(next);
    if (goes_on_as_number(next)) return malformed_number(next);
    if (at(next) == ':')
      return mistake(next, next + 1,
                     state_.in_object ? "a value cannot be followed by a colon"
                                      : "there are no keys within [ ]; use { } for \"key\": value");
    return mistake(next, end_of_token(next), "a comma is missing before this");
  }

  [[nodiscard]] SyntaxMistake after_all(std::size_t next) const {
    if (auto odd = odd_character(next); !odd.message.empty()) return odd;
    if (goes_on_as_number(next)) return malformed_number(next);
    return mistake(next, end_of_token(next), "the file continues after its end",
                   "a file holds one { ... }; is there a closing bracket too many before this?");
  }

  [[nodiscard]] SyntaxMistake at_value(std::size_t next) const {
    if (auto odd = odd_character(next); !odd.message.empty()) return odd;
    const char c = at(next);
    if (c == '"') return in_string(next);
    if (c == '\'') return single_quotes(next);
    if (is_digit(c) || c == '-' || c == '+' || c == '.') return malformed_number(next);
    if (is_letter(c)) return unquoted_value(next);
    if (c == ',') return mistake(next, next + 1, "a value is missing before this comma");
    if (c == '}' || c == ']') {
      const bool closes =
          state_.in_container && (c == '}') == state_.in_object && state_.after == After::key;
      return closes ? mistake(next, next + 1, "a value is missing before this")
                    : wrong_closer(next);
    }
    return mistake(next, end_of_token(next), "a value cannot begin with this");
  }

  [[nodiscard]] SyntaxMistake at_key(std::size_t next) const {
    if (auto odd = odd_character(next); !odd.message.empty()) return odd;
    const char c = at(next);
    if (c == '"') return in_string(next);
    if (c == '\'') return single_quotes(next);
    if (c == ',') return mistake(next, next + 1, "there is nothing before this comma");
    if (c == ']') return wrong_closer(next);
    if (is_letter(c) || is_digit(c)) {
      const std::size_t end = end_of_word(next);
      return mistake(next, end, "a key must be in double quotes",
                     fmt::format("write \"{}\"", shortened(text_.substr(next, end - next))));
    }
    return mistake(next, end_of_token(next), "a key in double quotes is expected here");
  }

  [[nodiscard]] SyntaxMistake wrong_closer(std::size_t next) const {
    if (!state_.in_container)
      return mistake(next, next + 1, fmt::format("this \"{}\" closes nothing", at(next)));
    const char opener = state_.in_object ? '{' : '[';
    const char closer = state_.in_object ? '}' : ']';
    if (at(next) == closer) return mistake(next, next + 1, "a value is missing before this");
    return mistake(next, next + 1,
                   fmt::format("the \"{}\" of line {} is closed by \"{}\" instead of \"{}\"",
                               opener, state_.container_line, at(next), closer));
  }

  [[nodiscard]] SyntaxMistake single_quotes(std::size_t begin) const {
    std::size_t end = std::min(text_.find('\'', begin + 1), end_of_line(begin));
    if (at(end) == '\'') ++end;
    return mistake(begin, end, "text must be in double quotes (\"), not in single ones (')");
  }

  [[nodiscard]] SyntaxMistake unquoted_value(std::size_t begin) const {
    const std::size_t end = end_of_word(begin);
    const std::string_view word = text_.substr(begin, end - begin);
    const std::string small = lower(word);
    SyntaxMistake result =
        mistake(begin, end, fmt::format("{} is not a JSON value", shortened(word)));
    if (small == "nan" || small == "inf" || small == "infinity") {
      result.message = fmt::format("{} is not a number that JSON knows", word);
    } else if (small == "true" || small == "false" || small == "null") {
      if (word == small) return mistake(end, end_of_token(end), "a comma is missing before this");
      result.hint = fmt::format("write {}", small);
    } else if (small == "none" || small == "undefined" || small == "nil") {
      result.hint = "omit the key, or write null";
    } else {
      result.message = "text must be in double quotes";
      result.hint = fmt::format("write \"{}\"", shortened(word));
    }
    return result;
  }

  // Whether the last value is but the right beginning of a wrong number: "01", "1.2.3", "64MiB".
  [[nodiscard]] bool goes_on_as_number(std::size_t next) const {
    return state_.offset == next && is_digit(text_[next - 1]) &&
           (is_digit(at(next)) || at(next) == '.' || is_letter(at(next)));
  }

  [[nodiscard]] SyntaxMistake malformed_number(std::size_t next) const {
    // From the part of it that was still right.
    std::size_t begin = next;
    const auto of_number = [](char c) {
      return is_digit(c) || is_letter(c) || c == '.' || c == '+' || c == '-';
    };
    while (begin > 0 && of_number(text_[begin - 1])) --begin;
    std::size_t end = next;
    while (!ends(end) && of_number(text_[end])) ++end;
    const std::string_view word = text_.substr(begin, end - begin);
    const auto result = [&](std::string message, std::string hint = {}) {
      return mistake(begin, end, std::move(message), std::move(hint));
    };
    if (word.starts_with('+')) return result("a number must not begin with \"+\"");
    const std::string small = lower(word);
    if (small == "-inf" || small == "-infinity" || small == "-nan")
      return result(fmt::format("{} is not a number that JSON knows", word));
    const std::string_view digits = word.substr(word.starts_with('-') ? 1 : 0);
    if (!digits.empty() && is_digit(digits[0]) && end_of_number(text_, begin) == end)
      return result(fmt::format("{} is larger than a number can be (1.8e308)", shortened(word)));
    if (digits.starts_with('.'))
      return result("a number must not begin with a decimal point",
                    "write a zero before the decimal point");
    if (digits.size() > 1 && digits[0] == '0' && is_digit(digits[1]))
      return result("a number must not begin with 0");
    if (digits.starts_with("0x") || digits.starts_with("0X"))
      return result("numbers are decimal in JSON");
    if (digits.ends_with('.'))
      return result("a number must not end with a decimal point",
                    "write a digit after the decimal point");
    const auto letter = std::find_if(digits.begin(), digits.end(), is_letter);
    if (letter != digits.end() && *letter != 'e' && *letter != 'E')
      return result("a number with a unit must be in double quotes",
                    fmt::format("write \"{}\"", shortened(word)));
    return result(fmt::format("{} is not a number", shortened(word)));
  }

  [[nodiscard]] SyntaxMistake in_string(std::size_t begin) const;
  [[nodiscard]] SyntaxMistake in_escape(std::size_t begin) const;

  // What is wrong with a character wherever it stands outside of strings; no message when nothing.
  [[nodiscard]] SyntaxMistake odd_character(std::size_t next) const {
    if (ends(next)) return at_end();
    const char c = text_[next];
    if (c == '#' || (c == '/' && (at(next + 1) == '/' || at(next + 1) == '*'))) {
      const std::size_t closed =
          c == '/' && at(next + 1) == '*' ? text_.find("*/", next + 2) : std::string_view::npos;
      const std::size_t end = closed == std::string_view::npos ? end_of_line(next) : closed + 2;
      return mistake(next, end, "comments are not JSON", "use the key \"notes\" for remarks");
    }
    const CodePoint point = code_point_at(text_, next);
    if (!point.valid)
      return mistake(next, next + 1,
                     fmt::format("the byte 0x{:02X} is not UTF-8", static_cast<unsigned char>(c)),
                     "save the file as UTF-8");
    if (point.code == 0x201C || point.code == 0x201D || point.code == 0x201E ||
        point.code == 0x2018 || point.code == 0x2019)
      return mistake(next, next + point.bytes,
                     "text must be in straight double quotes (\"), not in typographic ones");
    if (point.code == 0xA0 || (point.code >= 0x2000 && point.code <= 0x200B) ||
        point.code == 0x202F || point.code == 0x3000 || point.code == 0xFEFF)
      return mistake(next, next + point.bytes,
                     fmt::format("this space is not an ordinary one but U+{:04X}",
                                 static_cast<unsigned>(point.code)),
                     "replace it with an ordinary space");
    if (point.code < 0x20 || point.code == 0x7F)
      return mistake(next, next + 1,
                     fmt::format("the control character U+{:04X} must not be here",
                                 static_cast<unsigned>(point.code)));
    return {};
  }

  [[nodiscard]] SyntaxMistake at_end() const {
    const std::size_t last = text_.find_last_not_of(" \t\r\n");
    const std::size_t end = last == std::string_view::npos ? 0 : last + 1;
    if (!state_.in_container) return mistake(end, end, "the file is empty");
    return mistake(end, end,
                   fmt::format("the file ends before the \"{}\" of line {} is closed",
                               state_.in_object ? '{' : '[', state_.container_line),
                   fmt::format("is a \"{}\" missing?", state_.in_object ? '}' : ']'));
  }

  [[nodiscard]] std::size_t end_of_token(std::size_t begin) const {
    if (ends(begin)) return begin;
    const char c = text_[begin];
    if (c == '"') return std::min(end_of_string(text_, begin), end_of_line(begin));
    if (is_letter(c) || is_digit(c) || c == '-') return std::max(end_of_word(begin), begin + 1);
    return begin + code_point_at(text_, begin).bytes;
  }

  std::string_view text_;
  ParserState state_;
};

SyntaxMistake Finder::in_string(std::size_t begin) const {
  for (std::size_t i = begin + 1; !ends(i);) {
    const char c = text_[i];
    if (c == '"') break;
    if (c == '\n' || c == '\r')
      return mistake(begin, i, "this text has no closing quote on its line",
                     "a line break within text is written \\n");
    if (c == '\t') return mistake(i, i + 1, "a tab within text must be written \\t");
    const CodePoint point = code_point_at(text_, i);
    if (!point.valid)
      return mistake(i, i + 1,
                     fmt::format("the byte 0x{:02X} is not UTF-8", static_cast<unsigned char>(c)),
                     "save the file as UTF-8");
    if (point.code < 0x20)
      return mistake(i, i + 1,
                     fmt::format("the control character U+{0:04X} within text must be written "
                                 "\\u{0:04x}",
                                 static_cast<unsigned>(point.code)));
    if (c != '\\') {
      i += point.bytes;
      continue;
    }
    if (SyntaxMistake wrong = in_escape(i); !wrong.message.empty()) return wrong;
    i += at(i + 1) == 'u' ? 6 : 2;
  }
  return mistake(begin, end_of_line(begin), "this text has no closing quote");
}

// begin: of the backslash
SyntaxMistake Finder::in_escape(std::size_t begin) const {
  const auto code_unit = [&](std::size_t offset) {  // -1: no \uXXXX
    if (at(offset) != '\\' || at(offset + 1) != 'u') return -1;
    int code = 0;
    for (std::size_t i = offset + 2; i < offset + 6; ++i) {
      const auto c = static_cast<unsigned char>(at(i));
      if (std::isxdigit(c) == 0) return -1;
      code = code * 16 + (std::isdigit(c) != 0 ? c - '0' : std::tolower(c) - 'a' + 10);
    }
    return code;
  };
  if (ends(begin + 1)) return {};
  const std::size_t end = begin + 1 + code_point_at(text_, begin + 1).bytes;
  if (at(begin + 1) != 'u') {
    constexpr std::string_view known = "\"\\/bfnrt";
    if (known.find(at(begin + 1)) != std::string_view::npos) return {};
    return mistake(begin, end, "a backslash must be followed by one of \" \\ / b f n r t u",
                   "for a backslash itself write \\\\");
  }
  const int code = code_unit(begin);
  if (code < 0) return mistake(begin, end, "\\u must be followed by four digits of 0-9 and a-f");
  const bool low = code >= 0xDC00 && code <= 0xDFFF;
  const bool high = code >= 0xD800 && code <= 0xDBFF;
  const int next = high ? code_unit(begin + 6) : 0;
  if (low || (high && (next < 0xDC00 || next > 0xDFFF)))
    return mistake(begin, begin + 6, "this is one half of a character; its other half is missing");
  return {};
}

}  // namespace

SyntaxMistake find_syntax_mistake(std::string_view text, const ParserState& state) {
  return Finder(text, state).find();
}

std::size_t end_of_string(std::string_view text, std::size_t begin) {
  for (std::size_t i = begin + 1; i < text.size(); ++i) {
    if (text[i] == '\\')
      ++i;
    else if (text[i] == '"')
      return i + 1;
  }
  return text.size();
}

std::size_t end_of_number(std::string_view text, std::size_t begin) {
  const auto at = [&](std::size_t i) { return i < text.size() ? text[i] : '\0'; };
  const auto skip_digits = [&](std::size_t i) {
    while (is_digit(at(i))) ++i;
    return i;
  };
  std::size_t end = begin + (at(begin) == '-' ? 1 : 0);
  end = at(end) == '0' ? end + 1 : skip_digits(end);
  if (at(end) == '.' && is_digit(at(end + 1))) end = skip_digits(end + 1);
  if (at(end) == 'e' || at(end) == 'E') {
    const std::size_t digits = end + (at(end + 1) == '+' || at(end + 1) == '-' ? 2 : 1);
    if (is_digit(at(digits))) end = skip_digits(digits);
  }
  return end;
}

std::size_t skip_blanks(std::string_view text, std::size_t offset) {
  return std::min(text.find_first_not_of(" \t\r\n", offset), text.size());
}

}  // namespace collsim
