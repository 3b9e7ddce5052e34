// SPDX-License-Identifier: Apache-2.0
#include "app/json/parse_json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <string_view>
#include <system_error>
#include <utility>

#include "app/json/screen_text.hpp"
#include "topo/error.hpp"

namespace collsim {
namespace {

constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$';
}

// Where a number ends by JSON's grammar: "01" is two numbers.
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

// Parses strictly and stops at the first mistake; then says in words what is wrong there.  What
// reads a part of the text returns false when it has reported a mistake.
class Parser {
 public:
  Parser(std::uint32_t source, const Sources& sources, Diagnostics& diagnostics,
         const JsonLimits& limits, ForgottenItems& forgotten)
      : source_(source),
        sources_(sources),
        text_(sources.text(source)),
        diagnostics_(diagnostics),
        limits_(limits),
        forgotten_(forgotten),
        next_(text_.starts_with(byte_order_mark) ? byte_order_mark.size() : 0) {}

  std::optional<JsonValue> parse() {
    std::optional<JsonValue> root(std::in_place);
    skip_blanks();
    if (!read_value(*root)) return std::nullopt;
    skip_blanks();
    if (!ends(next_) && !refuse_after_all()) return std::nullopt;
    return root;
  }

 private:
  // An object or array that is not closed yet.
  struct Container {
    const JsonValue* value;
    std::size_t begin;
    std::string key = {};                                        // of an object: the last one read
    std::map<std::string, std::size_t, std::less<>> index = {};  // keys of a large one
  };

  // --- the text ----------------------------------------------------------------------------------

  [[nodiscard]] char at(std::size_t offset) const {
    return offset < text_.size() ? text_[offset] : '\0';
  }
  [[nodiscard]] bool ends(std::size_t offset) const { return offset >= text_.size(); }
  void skip_blanks() { next_ = std::min(text_.find_first_not_of(" \t\r\n", next_), text_.size()); }
  [[nodiscard]] std::size_t end_of_word(std::size_t begin) const {
    std::size_t end = begin;
    while (is_letter(at(end)) || is_digit(at(end)) || at(end) == '-' || at(end) == '.') ++end;
    return end;
  }
  [[nodiscard]] std::size_t end_of_line(std::size_t begin) const {
    return std::min(text_.find_first_of("\r\n", begin), text_.size());
  }
  // For a caret under it: a whole word, or text up to its closing quote.
  [[nodiscard]] std::size_t end_of_token(std::size_t begin) const {
    if (ends(begin)) return begin;
    const char c = at(begin);
    if (is_letter(c) || is_digit(c) || c == '-') return end_of_word(begin);
    if (c != '"') return begin + code_point_at(text_, begin).bytes;
    std::size_t quote = begin + 1;
    while (!ends(quote) && at(quote) != '"') quote += at(quote) == '\\' ? 2 : 1;
    return std::min(quote + 1, end_of_line(begin));
  }
  [[nodiscard]] SourceRange place(std::size_t begin, std::size_t end) const {
    return {source_, static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end)};
  }
  [[nodiscard]] int line_of(std::size_t offset) const {
    return sources_.locate(source_, offset).line;
  }
  bool refuse(std::size_t begin, std::size_t end, std::string message, std::string hint = {}) {
    return diagnostics_.add(
        {"syntax", std::move(message), place(begin, end), "", "", std::move(hint)});
  }

  // --- values ------------------------------------------------------------------------------------

  bool read_value(JsonValue& value) {
    const std::size_t begin = next_;
    const char c = at(begin);
    const bool read = c == '{'                  ? read_object(value)
                      : c == '['                ? read_array(value)
                      : c == '"'                ? read_string(value)
                      : c == '-' || is_digit(c) ? read_number(value)
                                                : read_word(value);
    value.place = place(begin, next_);
    return read && (value.is_array() || value.is_object() || count(begin));
  }

  bool count(std::size_t begin) {
    if (++values_ <= max_json_values) return true;
    return diagnostics_.add({"too-large",
                             fmt::format("there are more than {} values", max_json_values),
                             place(begin, begin + 1), "", "", ""});
  }

  bool open(const JsonValue& value) {
    if (open_.size() == max_json_depth)
      return diagnostics_.add(
          {"too-deep",
           fmt::format("objects and arrays are nested more than {} deep", max_json_depth),
           place(next_, next_ + 1), "", "", ""});
    open_.push_back({&value, next_});
    return count(next_++);
  }

  // Behind an item, or where the first would be: whether one follows (true) or the container is
  // closed (false); nothing: neither, which was reported.
  std::optional<bool> item_follows(bool first) {
    const char closer = in_object() ? '}' : ']';
    skip_blanks();
    if (at(next_) == closer) {
      ++next_;
      open_.pop_back();
      return false;
    }
    if (first) return true;
    if (at(next_) != ',') return refuse_after_item(), std::nullopt;
    const std::size_t comma = next_++;
    skip_blanks();
    if (at(next_) != closer) return true;
    refuse(comma, comma + 1, "a comma must not follow the last item", "remove this comma");
    return std::nullopt;
  }

  bool read_array(JsonValue& array) {
    array = JsonValue::array();
    const std::size_t begin = next_;
    if (!open(array)) return false;
    const bool is_long = is_long_list();
    std::size_t values_kept = values_;  // of a long list: those read until its last kept item
    JsonValue::Array& items = array.items();
    std::optional<bool> follows = item_follows(true);
    for (; follows.value_or(false); follows = item_follows(false)) {
      JsonValue item;
      if (!read_value(item)) return false;
      const bool kept = !is_long || (items.size() < limits_.kept_items &&
                                     (limits_.keeps == nullptr || limits_.keeps(item)));
      if (kept) {
        items.push_back(std::move(item));
        values_kept = values_;
      } else {  // the values of items that are not kept do not count
        values_ = values_kept;
        ++forgotten_[static_cast<std::uint32_t>(begin)];
      }
    }
    return follows.has_value();
  }

  [[nodiscard]] bool is_long_list() const {
    const std::size_t depth = open_.front().value->is_object() ? 1 : 2;
    return !limits_.long_list.empty() && open_.size() == depth + 1 &&
           open_[depth - 1].key == limits_.long_list;
  }

  bool read_object(JsonValue& object) {
    object = JsonValue::object();
    if (!open(object)) return false;
    std::optional<bool> follows = item_follows(true);
    for (; follows.value_or(false); follows = item_follows(false)) {
      const std::size_t begin = next_;
      std::string key;
      if (at(begin) != '"') return refuse_key();
      if (!read_text(key)) return false;
      const SourceRange key_place = place(begin, next_);
      if (key.size() > max_json_key_bytes)
        return diagnostics_.add({"too-large",
                                 fmt::format("this key has more than {} bytes", max_json_key_bytes),
                                 key_place, "", "", ""});
      open_.back().key = key;
      const bool duplicate = report_duplicate(object.members(), key_place);
      JsonValue value;
      if (!read_colon() || !read_value(value)) return false;
      if (!duplicate) object.members().push_back({std::move(key), key_place, std::move(value)});
    }
    return follows.has_value();
  }

  bool read_colon() {
    const std::size_t end_of_key = next_;
    skip_blanks();
    if (at(next_) != ':') return refuse_colon(end_of_key);
    ++next_;
    skip_blanks();
    return true;
  }

  // Whether the object has the last key already.
  bool report_duplicate(const JsonValue::Object& members, const SourceRange& key_place) {
    const std::string& key = open_.back().key;
    const SourceRange* const first = first_place(members, key);
    if (first == nullptr) return false;
    // To find a line takes a look at all the text before it.
    const bool kept = diagnostics_.size() < Diagnostics::max_kept;
    diagnostics_.add({"duplicate-key",
                      fmt::format("the key {} is given twice", quoted(shortened(key))), key_place,
                      pointer(), "",
                      kept ? fmt::format("the first is in line {}", line_of(first->begin)) : ""});
    return true;
  }

  const SourceRange* first_place(const JsonValue::Object& members, const std::string& key) {
    constexpr std::size_t small = 16;
    if (members.size() <= small) {
      const auto found =
          std::find_if(members.begin(), members.end(),
                       [&](const JsonValue::Member& member) { return member.key == key; });
      return found == members.end() ? nullptr : &found->key_place;
    }
    auto& index = open_.back().index;
    for (std::size_t i = index.size(); i < members.size(); ++i) index.emplace(members[i].key, i);
    const auto found = index.find(key);
    return found == index.end() ? nullptr : &members[found->second].key_place;
  }

  [[nodiscard]] std::string pointer() const {
    std::string path;
    for (const Container& container : open_)
      path = container.value->is_object() ? pointer_to(path, container.key)
                                          : pointer_to(path, container.value->items().size());
    return path;
  }

  bool read_word(JsonValue& value) {
    for (const auto& [word, meant] :
         {std::pair("true", JsonValue(true)), std::pair("false", JsonValue(false)),
          std::pair("null", JsonValue())}) {
      if (!text_.substr(next_).starts_with(word)) continue;
      next_ += std::strlen(word);
      value = meant;
      return true;
    }
    return refuse_value();
  }

  bool read_number(JsonValue& value) {
    const std::size_t end = end_of_number(text_, next_);
    const std::string digits(text_.substr(next_, end - next_));
    std::int64_t whole = 0;
    const char* const last = digits.data() + digits.size();
    const auto [stopped, problem] = std::from_chars(digits.data(), last, whole);
    const double real = std::strtod(digits.c_str(), nullptr);
    const std::size_t first = next_ + (at(next_) == '-' ? 1 : 0);
    if (!is_digit(at(first)) || !std::isfinite(real)) return refuse_number(next_);
    value = stopped == last && problem == std::errc{} ? JsonValue(whole) : JsonValue(real);
    next_ = end;
    return true;
  }

  bool read_string(JsonValue& value) {
    std::string text;
    if (!read_text(text)) return false;
    value = std::move(text);
    return true;
  }

  bool read_text(std::string& text) {
    const std::size_t begin = next_++;
    while (at(next_) != '"') {
      if (const std::string_view plain = plain_text_at(text_, next_); !plain.empty()) {
        text += plain;
        next_ += plain.size();
        continue;
      }
      if (ends(next_)) return refuse(begin, end_of_line(begin), "this text has no closing quote");
      const char c = at(next_);
      if (c == '\n' || c == '\r')
        return refuse(begin, next_, "this text has no closing quote on its line",
                      "a line break within text is written \\n");
      if (c == '\t') return refuse(next_, next_ + 1, "a tab within text must be written \\t");
      const CodePoint point = code_point_at(text_, next_);
      if (!point.valid) return refuse_byte();
      if (point.code < 0x20)
        return refuse(next_, next_ + 1,
                      fmt::format("the control character U+{0:04X} within text must be written "
                                  "\\u{0:04x}",
                                  static_cast<unsigned>(point.code)));
      if (c == '\\') {
        if (!read_escape(text)) return false;
        continue;
      }
      text += text_.substr(next_, point.bytes);
      next_ += point.bytes;
    }
    ++next_;
    return true;
  }

  // The 16 bits of a \uXXXX.
  [[nodiscard]] std::optional<std::uint32_t> code_unit(std::size_t offset) const {
    const std::string_view digits = text_.substr(std::min(offset + 2, text_.size()), 4);
    const char* const end = digits.data() + digits.size();
    std::uint32_t code = 0;
    const auto [stopped, problem] = std::from_chars(digits.data(), end, code, 16);
    if (at(offset) != '\\' || at(offset + 1) != 'u' || digits.size() < 4 || stopped != end)
      return std::nullopt;
    return code;
  }

  bool read_escape(std::string& text) {
    constexpr std::string_view letters = "\"\\/bfnrt", meant = "\"\\/\b\f\n\r\t";
    const std::size_t begin = next_++;
    if (ends(next_)) return true;  // no closing quote either
    const std::size_t letter = letters.find(at(next_));
    if (letter != std::string_view::npos) {
      text += meant[letter];
      ++next_;
      return true;
    }
    const std::size_t end = next_ + code_point_at(text_, next_).bytes;
    if (at(next_) != 'u')
      return refuse(begin, end, "a backslash must be followed by one of \" \\ / b f n r t u",
                    "for a backslash itself write \\\\");
    const std::optional<std::uint32_t> code = code_unit(begin);
    if (!code) return refuse(begin, end, "\\u must be followed by four digits of 0-9 and a-f");
    const bool low = *code >= 0xDC00 && *code <= 0xDFFF;
    const bool high = *code >= 0xD800 && *code <= 0xDBFF;
    const std::uint32_t other = high ? code_unit(begin + 6).value_or(0) : 0;
    if (low || (high && (other < 0xDC00 || other > 0xDFFF)))
      return refuse(begin, begin + 6, "this is one half of a character; its other half is missing");
    append_utf8(text, high ? 0x10000 + ((*code - 0xD800) << 10U) + (other - 0xDC00) : *code);
    next_ = begin + (high ? 12 : 6);
    return true;
  }

  // --- what is wrong -----------------------------------------------------------------------------

  [[nodiscard]] bool in_object() const { return open_.back().value->is_object(); }

  bool refuse_colon(std::size_t end_of_key) {
    if (is_odd(next_)) return false;
    if (at(next_) == '=')
      return refuse(next_, next_ + 1, "a key and its value are separated by \":\", not \"=\"");
    return refuse(end_of_key, end_of_key, "a colon is missing after the key",
                  "write \"key\": value");
  }

  bool refuse_after_item() {
    if (is_odd(next_)) return false;
    if (at(next_) == '}' || at(next_) == ']') return refuse_closer();
    if (goes_on_as_number()) return refuse_number(next_);
    if (at(next_) == ':')
      return refuse(next_, next_ + 1,
                    in_object() ? "a value cannot be followed by a colon"
                                : "there are no keys within [ ]; use { } for \"key\": value");
    return refuse(next_, end_of_token(next_), "a comma is missing before this");
  }

  bool refuse_after_all() {
    if (is_odd(next_)) return false;
    if (goes_on_as_number()) return refuse_number(next_);
    return refuse(next_, end_of_token(next_), "the file continues after its end",
                  "a file holds one { ... }; is there a closing bracket too many before this?");
  }

  bool refuse_value() {
    if (is_odd(next_)) return false;
    const char c = at(next_);
    if (c == '\'') return refuse_single_quotes();
    if (c == '+' || c == '.') return refuse_number(next_);
    if (is_letter(c)) return refuse_word();
    if (c == ',') return refuse(next_, next_ + 1, "a value is missing before this comma");
    if (c == '}' || c == ']') return refuse_closer();
    return refuse(next_, end_of_token(next_), "a value cannot begin with this");
  }

  bool refuse_key() {
    if (is_odd(next_)) return false;
    const char c = at(next_);
    if (c == '\'') return refuse_single_quotes();
    if (c == ',') return refuse(next_, next_ + 1, "there is nothing before this comma");
    if (c == ']') return refuse_closer();
    if (is_letter(c) || is_digit(c)) {
      const std::size_t end = end_of_word(next_);
      return refuse(next_, end, "a key must be in double quotes",
                    fmt::format("write \"{}\"", shortened(text_.substr(next_, end - next_))));
    }
    return refuse(next_, end_of_token(next_), "a key in double quotes is expected here");
  }

  bool refuse_closer() {
    if (open_.empty())
      return refuse(next_, next_ + 1, fmt::format("this \"{}\" closes nothing", at(next_)));
    const char closer = in_object() ? '}' : ']';
    if (at(next_) == closer) return refuse(next_, next_ + 1, "a value is missing before this");
    return refuse(
        next_, next_ + 1,
        fmt::format("the \"{}\" of line {} is closed by \"{}\" instead of \"{}\"",
                    in_object() ? '{' : '[', line_of(open_.back().begin), at(next_), closer));
  }

  bool refuse_single_quotes() {
    std::size_t end = std::min(text_.find('\'', next_ + 1), end_of_line(next_));
    if (at(end) == '\'') ++end;
    return refuse(next_, end, "text must be in double quotes (\"), not in single ones (')");
  }

  bool refuse_word() {
    const std::size_t end = end_of_word(next_);
    const std::string_view word = text_.substr(next_, end - next_);
    const std::string small = lower(word);
    if (small == "nan" || small == "inf" || small == "infinity")
      return refuse(next_, end, fmt::format("{} is not a number that JSON knows", word));
    const std::string message = fmt::format("{} is not a JSON value", shortened(word));
    if (small == "true" || small == "false" || small == "null")
      return refuse(next_, end, message, fmt::format("write {}", small));
    if (small == "none" || small == "undefined" || small == "nil")
      return refuse(next_, end, message, "omit the key, or write null");
    return refuse(next_, end, "text must be in double quotes",
                  fmt::format("write \"{}\"", shortened(word)));
  }

  // Whether the last value is but the right beginning of a wrong number: "01", "1.2.3", "64MiB".
  [[nodiscard]] bool goes_on_as_number() const {
    return next_ > 0 && is_digit(text_[next_ - 1]) &&
           (is_digit(at(next_)) || at(next_) == '.' || is_letter(at(next_)));
  }

  bool refuse_number(std::size_t next) {
    // From the part of it that was still right.
    std::size_t begin = next;
    const auto of_number = [](char c) {
      return is_digit(c) || is_letter(c) || c == '.' || c == '+' || c == '-';
    };
    while (begin > 0 && of_number(text_[begin - 1])) --begin;
    std::size_t end = next;
    while (!ends(end) && of_number(text_[end])) ++end;
    const std::string_view word = text_.substr(begin, end - begin);
    const auto because = [&](std::string message, std::string hint = {}) {
      return refuse(begin, end, std::move(message), std::move(hint));
    };
    if (word.starts_with('+')) return because("a number must not begin with \"+\"");
    const std::string small = lower(word);
    if (small == "-inf" || small == "-infinity" || small == "-nan")
      return because(fmt::format("{} is not a number that JSON knows", word));
    const std::string_view digits = word.substr(word.starts_with('-') ? 1 : 0);
    if (!digits.empty() && is_digit(digits[0]) && end_of_number(text_, begin) == end)
      return because(fmt::format("{} is larger than a number can be (1.8e308)", shortened(word)));
    if (digits.starts_with('.'))
      return because("a number must not begin with a decimal point",
                     "write a zero before the decimal point");
    if (digits.size() > 1 && digits[0] == '0' && is_digit(digits[1]))
      return because("a number must not begin with 0");
    if (digits.starts_with("0x") || digits.starts_with("0X"))
      return because("numbers are decimal in JSON");
    if (digits.ends_with('.'))
      return because("a number must not end with a decimal point",
                     "write a digit after the decimal point");
    const auto letter = std::find_if(digits.begin(), digits.end(), is_letter);
    if (letter != digits.end() && *letter != 'e' && *letter != 'E')
      return because("a number with a unit must be in double quotes",
                     fmt::format("write \"{}\"", shortened(word)));
    return because(fmt::format("{} is not a number", shortened(word)));
  }

  // Whether the character is wrong wherever it stands outside of strings, which it reports.
  bool is_odd(std::size_t next) {
    if (ends(next)) return !refuse_end();
    const char c = text_[next];
    if (c == '#' || (c == '/' && (at(next + 1) == '/' || at(next + 1) == '*'))) {
      const std::size_t closed =
          c == '/' && at(next + 1) == '*' ? text_.find("*/", next + 2) : std::string_view::npos;
      const std::size_t end = closed == std::string_view::npos ? end_of_line(next) : closed + 2;
      return !refuse(next, end, "comments are not JSON", "use the key \"notes\" for remarks");
    }
    const CodePoint point = code_point_at(text_, next);
    if (!point.valid) return !refuse_byte();
    if (point.code == 0x201C || point.code == 0x201D || point.code == 0x201E ||
        point.code == 0x2018 || point.code == 0x2019)
      return !refuse(next, next + point.bytes,
                     "text must be in straight double quotes (\"), not in typographic ones");
    if (point.code == 0xA0 || (point.code >= 0x2000 && point.code <= 0x200B) ||
        point.code == 0x202F || point.code == 0x3000 || point.code == 0xFEFF)
      return !refuse(next, next + point.bytes,
                     fmt::format("this space is not an ordinary one but U+{:04X}",
                                 static_cast<unsigned>(point.code)),
                     "replace it with an ordinary space");
    if (point.code < 0x20 || point.code == 0x7F)
      return !refuse(next, next + 1,
                     fmt::format("the control character U+{:04X} must not be here",
                                 static_cast<unsigned>(point.code)));
    return false;
  }

  bool refuse_byte() {
    return refuse(
        next_, next_ + 1,
        fmt::format("the byte 0x{:02X} is not UTF-8", static_cast<unsigned char>(at(next_))),
        "save the file as UTF-8");
  }

  bool refuse_end() {
    const std::size_t end = text_.find_last_not_of(" \t\r\n") + 1;  // npos + 1 is 0
    if (open_.empty()) return refuse(end, end, "the file is empty");
    return refuse(end, end,
                  fmt::format("the file ends before the \"{}\" of line {} is closed",
                              in_object() ? '{' : '[', line_of(open_.back().begin)),
                  fmt::format("is a \"{}\" missing?", in_object() ? '}' : ']'));
  }

  std::uint32_t source_;
  const Sources& sources_;
  std::string_view text_;
  Diagnostics& diagnostics_;
  const JsonLimits& limits_;
  ForgottenItems& forgotten_;
  std::size_t next_;  // of what is still to read
  std::vector<Container> open_;
  std::size_t values_ = 0;
};

// What makes it useless to look at the text as JSON; no message when nothing does.
std::string unreadable(std::string_view text, std::size_t most_bytes) {
  if (text.size() > most_bytes)
    return fmt::format("the file is larger than {} MiB, the limit", most_bytes >> 20U);
  const bool utf_16 = text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF") ||
                      (text.size() >= 2 && (text[0] == '\0') != (text[1] == '\0'));
  return utf_16 ? "the file is not UTF-8 (it looks like UTF-16); save it as UTF-8" : "";
}

}  // namespace

std::optional<JsonValue> parse_json(std::uint32_t source, const Sources& sources,
                                    Diagnostics& diagnostics) {
  ForgottenItems none;
  return parse_json(source, sources, diagnostics, {}, none);
}

std::optional<JsonValue> parse_json(std::uint32_t source, const Sources& sources,
                                    Diagnostics& diagnostics, const JsonLimits& limits,
                                    ForgottenItems& forgotten) {
  const std::string& text = sources.text(source);
  const SourceRange start{source, 0, 0};
  if (std::string message = unreadable(text, limits.bytes); !message.empty()) {
    const bool large = text.size() > limits.bytes;
    return diagnostics.add(
        {large ? "too-large" : "encoding", std::move(message), start, "", "", ""});
  }
  return Parser(source, sources, diagnostics, limits, forgotten).parse();
}

JsonValue parse_builtin(const std::string& name, std::string_view text) {
  Sources sources;
  Diagnostics mistakes;
  const std::uint32_t source = sources.add(Sources::Kind::builtin, name, std::string(text));
  std::optional<JsonValue> document = parse_json(source, sources, mistakes);
  COLLSIM_CHECK(document && mistakes.empty(), to_text(mistakes, sources));
  forget_places(*document);
  return std::move(*document);
}

}  // namespace collsim
