// SPDX-License-Identifier: Apache-2.0
#include "app/json/value.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "app/json/screen_text.hpp"
#include "topo/error.hpp"

namespace collsim {
namespace {

bool is_plain(const JsonValue& value) {
  return !value.is_array() && !value.is_object();
}

void append_quoted(std::string& out, std::string_view text) {
  constexpr std::string_view special = "\"\\\b\f\n\r\t", letters = "\"\\bfnrt";
  out += '"';
  for (std::size_t i = 0; i < text.size();) {
    if (const std::string_view plain = plain_text_at(text, i); !plain.empty()) {
      out += plain;
      i += plain.size();
      continue;
    }
    const CodePoint point = code_point_at(text, i);
    if (const std::size_t at = special.find(text[i]); at != std::string_view::npos)
      (out += '\\') += letters[at];
    else if (point.code < 0x20)
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(point.code));
    else
      append_utf8(out, point.code);
    i += point.bytes;
  }
  out += '"';
}

// A real number stays one when it is read again: 8.0, not 8.
void append_real(std::string& out, double value) {
  if (!std::isfinite(value)) {
    out += "null";
    return;
  }
  const double size = std::abs(value);
  const bool fixed = size == 0 || (size >= 1e-4 && size < 1e16);
  std::array<char, 64> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value,
                                 fixed ? std::chars_format::fixed : std::chars_format::scientific)
                       .ptr;
  const std::string_view text(digits.data(), static_cast<std::size_t>(end - digits.data()));
  out += text;
  if (fixed && text.find('.') == std::string_view::npos) out += ".0";
}

void append_plain(std::string& out, const JsonValue& value) {
  if (value.is_null())
    out += "null";
  else if (value.is_boolean())
    out += value.boolean() ? "true" : "false";
  else if (value.is_string())
    append_quoted(out, value.string());
  else if (value.is_real())
    append_real(out, value.number());
  else
    out += std::to_string(*value.integer());
}

// How an array or an object is laid out.
struct Layout {
  bool one_line;
  std::string separator;  // between items
  std::string open, close;
};

Layout on_one_line(bool blanks) {
  return {true, blanks ? ", " : ",", "", ""};
}

Layout on_lines(std::size_t depth, std::size_t indent) {
  const std::string inner = "\n" + std::string((depth + 1) * indent, ' ');
  return {false, "," + inner, inner, "\n" + std::string(depth * indent, ' ')};
}

class Writer {
 public:
  // width: plain values go on one line when the line is not longer; 0: never.
  Writer(int indent, std::size_t width)
      : indent_(static_cast<std::size_t>(std::max(indent, 0))),
        compact_(indent < 0),
        width_(width) {}

  std::string write(const JsonValue& value) {
    append(value, 0, 0);
    return std::move(out_);
  }

 private:
  // after: characters that follow on the same line, a comma
  void append(const JsonValue& value, std::size_t depth, std::size_t after) {
    if (is_plain(value))
      append_plain(out_, value);
    else if (value.is_array())
      append_array(value.items(), depth, after);
    else
      append_object(value.members(), depth, after);
  }

  void append_array(const JsonValue::Array& items, std::size_t depth, std::size_t after) {
    if (items.empty()) {
      out_ += "[]";
      return;
    }
    if (width_ > 0 && std::all_of(items.begin(), items.end(), is_plain)) {
      const std::size_t before = out_.size();
      append_items(items, depth, on_one_line(true));
      if (fits(after)) return;
      out_.resize(before);
    }
    append_items(items, depth, compact_ ? on_one_line(false) : on_lines(depth, indent_));
  }

  void append_items(const JsonValue::Array& items, std::size_t depth, const Layout& layout) {
    out_ += '[' + layout.open;
    for (const JsonValue& item : items) {
      if (&item != &items.front()) out_ += layout.separator;
      append(item, depth + 1, &item != &items.back() ? 1 : 0);
    }
    out_ += layout.close + ']';
  }

  void append_object(const JsonValue::Object& members, std::size_t depth, std::size_t after) {
    if (members.empty()) {
      out_ += "{}";
      return;
    }
    const auto plain = [](const JsonValue::Member& member) { return is_plain(member.value); };
    if (width_ > 0 && std::all_of(members.begin(), members.end(), plain)) {
      const std::size_t before = out_.size();
      Layout layout = on_one_line(true);
      layout.open = layout.close = " ";
      append_members(members, depth, layout);
      if (fits(after)) return;
      out_.resize(before);
    }
    append_members(members, depth, compact_ ? on_one_line(false) : on_lines(depth, indent_));
  }

  void append_members(const JsonValue::Object& members, std::size_t depth, const Layout& layout) {
    out_ += '{' + layout.open;
    for (const JsonValue::Member& member : members) {
      if (&member != &members.front()) out_ += layout.separator;
      append_quoted(out_, member.key);
      out_ += compact_ ? ":" : ": ";
      append(member.value, depth + 1, &member != &members.back() ? 1 : 0);
    }
    out_ += layout.close + '}';
  }

  [[nodiscard]] bool fits(std::size_t after) const {
    const std::size_t line_begin = out_.rfind('\n') + 1;  // npos + 1 is 0
    return out_.size() - line_begin + after <= width_;
  }

  std::size_t indent_;
  bool compact_;
  std::size_t width_;
  std::string out_;
};

}  // namespace

// These are not in the header because there a Member is not complete, which clang asks for; and
// where g++ 12 sees through the move of a variant it warns that it is uninitialized.
JsonValue::JsonValue() = default;
JsonValue::JsonValue(std::in_place_t, bool value) : data_(value) {}
JsonValue::JsonValue(double value) : data_(value) {}
JsonValue::JsonValue(std::int64_t value) : data_(value) {}
JsonValue::JsonValue(std::string value) : data_(std::move(value)) {}
JsonValue::JsonValue(const char* value) : data_(std::string(value)) {}
JsonValue::JsonValue(std::string_view value) : data_(std::string(value)) {}
JsonValue::JsonValue(Array items) : data_(std::move(items)) {}
JsonValue::JsonValue(Object members) : data_(std::move(members)) {}
JsonValue::JsonValue(const JsonValue& other) = default;
JsonValue::JsonValue(JsonValue&& other) noexcept = default;
JsonValue& JsonValue::operator=(const JsonValue& other) = default;
JsonValue& JsonValue::operator=(JsonValue&& other) noexcept = default;
JsonValue::~JsonValue() = default;

JsonValue JsonValue::object(std::initializer_list<Entry> entries) {
  Object members;
  members.reserve(entries.size());
  for (const Entry& entry : entries)
    members.push_back({std::string(entry.key), {}, std::move(entry.value)});
  return members;
}

std::string_view JsonValue::kind_name() const {
  if (is_null()) return "null";
  if (is_boolean()) return boolean() ? "true" : "false";
  if (is_number()) return "a number";
  if (is_string()) return "a string";
  return is_array() ? "an array" : "an object";
}

double JsonValue::number() const {
  if (const auto* whole = std::get_if<std::int64_t>(&data_)) return static_cast<double>(*whole);
  return std::get<double>(data_);
}

std::optional<std::int64_t> JsonValue::integer() const {
  if (const auto* whole = std::get_if<std::int64_t>(&data_)) return *whole;
  constexpr double beyond = 9223372036854775808.0;
  const auto* real = std::get_if<double>(&data_);
  if (real == nullptr || !(*real >= -beyond && *real < beyond) || *real != std::trunc(*real))
    return std::nullopt;
  return static_cast<std::int64_t>(*real);
}

const JsonValue* JsonValue::find(std::string_view key) const {
  const auto* members = std::get_if<Object>(&data_);
  if (members == nullptr) return nullptr;
  const auto found = std::find_if(members->begin(), members->end(),
                                  [&](const Member& member) { return member.key == key; });
  return found == members->end() ? nullptr : &found->value;
}

JsonValue* JsonValue::find(std::string_view key) {
  return const_cast<JsonValue*>(std::as_const(*this).find(key));
}

JsonValue& JsonValue::set(std::string_view key, JsonValue value, SourceRange key_place) {
  if (is_null()) data_ = Object{};
  COLLSIM_CHECK(is_object(), "only objects have members");
  auto& own = members();
  const auto found =
      std::find_if(own.begin(), own.end(), [&](const Member& member) { return member.key == key; });
  if (found == own.end())
    return own.emplace_back(Member{std::string(key), key_place, std::move(value)}).value;
  found->key_place = key_place;
  found->value = std::move(value);
  return found->value;
}

void JsonValue::erase(std::string_view key) {
  if (!is_object()) return;
  std::erase_if(members(), [&](const Member& member) { return member.key == key; });
}

bool operator==(const JsonValue& a, const JsonValue& b) {
  if (a.is_number() && b.is_number() && a.data_.index() != b.data_.index())
    return a.integer() && a.integer() == b.integer();
  return a.data_ == b.data_;
}

std::string pointer_to(std::string_view parent, std::string_view key) {
  std::string pointer(parent);
  pointer += '/';
  for (const char letter : key) {
    if (letter == '~')
      pointer += "~0";
    else if (letter == '/')
      pointer += "~1";
    else
      pointer += letter;
  }
  return pointer;
}

std::string pointer_to(std::string_view parent, std::size_t index) {
  return std::string(parent) + "/" + std::to_string(index);
}

void forget_places(JsonValue& value) {
  value.place = {};
  if (value.is_array())
    for (JsonValue& item : value.items()) forget_places(item);
  if (value.is_object())
    for (JsonValue::Member& member : value.members()) {
      member.key_place = {};
      forget_places(member.value);
    }
}

std::string to_json(const JsonValue& value, int indent) {
  return Writer(indent, 0).write(value);
}

std::string to_pretty_json(const JsonValue& value, std::size_t width) {
  return Writer(2, width).write(value);
}

const std::string* file_read(const JsonValue& value) {
  if (!value.is_object() || value.members().size() != 2 || value.find("rows") == nullptr)
    return nullptr;
  const JsonValue* const file = value.find("file");
  return file != nullptr && file->is_string() ? &file->string() : nullptr;
}

std::string plain_text(const JsonValue& value) {
  if (value.is_string()) return value.string();
  if (const std::string* const file = file_read(value)) return *file;
  if (value.is_object() && value.members().size() == 1 && value.members()[0].value.is_string())
    return value.members()[0].key + ":" + value.members()[0].value.string();
  return to_json(value, -1);
}

std::string Quoted::operator()(std::string_view text) const {
  std::string out;
  append_quoted(out, text);
  return out;
}

}  // namespace collsim
