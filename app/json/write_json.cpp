// SPDX-License-Identifier: Apache-2.0
#include "app/json/write_json.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

namespace collsim {

namespace {

bool is_plain(const Value& value) {
  return !value.is_array() && !value.is_object();
}

void append_quoted(std::string& out, std::string_view text) {
  const auto needs_no_escape = [](char c) { return c >= ' ' && c < 0x7F && c != '"' && c != '\\'; };
  if (std::all_of(text.begin(), text.end(), needs_no_escape)) {
    out += '"';
    out += text;
    out += '"';
    return;
  }
  out += nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
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

void append_plain(std::string& out, const Value& value) {
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

  std::string write(const Value& value) {
    append(value, 0, 0);
    return std::move(out_);
  }

 private:
  // after: characters that follow on the same line, a comma
  void append(const Value& value, std::size_t depth, std::size_t after) {
    if (is_plain(value))
      append_plain(out_, value);
    else if (value.is_array())
      append_array(value.items(), depth, after);
    else
      append_object(value.members(), depth, after);
  }

  void append_array(const Value::Array& items, std::size_t depth, std::size_t after) {
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

  void append_items(const Value::Array& items, std::size_t depth, const Layout& layout) {
    out_ += '[' + layout.open;
    for (const Value& item : items) {
      if (&item != &items.front()) out_ += layout.separator;
      append(item, depth + 1, &item != &items.back() ? 1 : 0);
    }
    out_ += layout.close + ']';
  }

  void append_object(const Value::Object& members, std::size_t depth, std::size_t after) {
    if (members.empty()) {
      out_ += "{}";
      return;
    }
    const auto plain = [](const Value::Member& member) { return is_plain(member.value); };
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

  void append_members(const Value::Object& members, std::size_t depth, const Layout& layout) {
    out_ += '{' + layout.open;
    for (const Value::Member& member : members) {
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

std::string to_json(const Value& value, int indent) {
  return Writer(indent, 0).write(value);
}

std::string to_pretty_json(const Value& value, std::size_t width) {
  return Writer(2, width).write(value);
}

std::string Quoted::operator()(std::string_view text) const {
  std::string out;
  append_quoted(out, text);
  return out;
}

}  // namespace collsim
