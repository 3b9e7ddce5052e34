// SPDX-License-Identifier: Apache-2.0
#include "app/json/parse_json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string_view>
#include <system_error>
#include <utility>

#include "app/json/screen_text.hpp"
#include "app/json/syntax_mistakes.hpp"
#include "app/json/write_json.hpp"

namespace collsim {
namespace {

constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";

// Builds a Value from the events of nlohmann's parser.  The parser does not say where a token is, but
// its events come in the order of the text, so that the next token begins after the last one.
class TreeBuilder {
 public:
  TreeBuilder(std::uint32_t source, const Sources& sources, Diagnostics& diagnostics,
              const JsonLimits& limits, ForgottenItems& forgotten)
      : source_(source),
        sources_(&sources),
        text_(sources.text(source)),
        diagnostics_(&diagnostics),
        limits_(&limits),
        forgotten_(&forgotten),
        cursor_(text_.starts_with(byte_order_mark) ? byte_order_mark.size() : 0) {}

  std::optional<Value> take() {
    // A zero byte is the end for nlohmann's parser.
    if (root_ && skip_blanks(text_, cursor_) < text_.size()) return report_syntax(), std::nullopt;
    return std::move(root_);
  }

  // What nlohmann's parser calls.
  bool null() { return add(Value(), 4); }
  bool boolean(bool value) { return add(value, value ? 4 : 5); }
  bool number_integer(std::int64_t value) { return add_number(value); }
  bool number_unsigned(std::uint64_t value) {
    if (value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
      return add_number(static_cast<double>(value));
    return add_number(static_cast<std::int64_t>(value));
  }
  bool number_float(double value, const std::string& /*text*/) { return add_number(value); }
  bool string(std::string& value) {
    const std::size_t begin = next_token();
    return add(std::move(value), end_of_string(text_, begin) - begin);
  }
  static bool binary(nlohmann::json::binary_t& /*value*/) { return false; }
  bool start_object(std::size_t /*count*/) { return open(Value::object()); }
  bool start_array(std::size_t /*count*/) { return open(Value::array()); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }

  bool key(std::string& name) {
    const std::size_t begin = next_token();
    cursor_ = end_of_string(text_, begin);
    if (name.size() > max_json_key_bytes) {
      report({"too-large", fmt::format("this key has more than {} bytes", max_json_key_bytes),
              place(begin, cursor_), "", "", ""});
      return false;
    }
    Container& container = open_.back();
    container.key_place = place(begin, cursor_);
    container.key = std::move(name);
    const SourceRange* first = first_place(container, container.key);
    container.duplicate = first != nullptr;
    if (first != nullptr) report_duplicate(container, *first);
    after_ = ParserState::After::key;
    return true;
  }

  bool parse_error(std::size_t /*offset*/, const std::string& /*token*/,
                   const nlohmann::json::exception& /*error*/) {
    report_syntax();
    return false;
  }

 private:
  // An object or array that is not closed yet.
  struct Container {
    Value value;
    std::string key = {};  // the last one read
    SourceRange key_place = {};
    bool duplicate = false;       // the key occurred before
    std::size_t values_kept = 0;  // of a long list: those read until its last kept item
    // Of a large object: keys to their positions.
    std::map<std::string, std::size_t, std::less<>> index = {};
  };

  [[nodiscard]] std::size_t next_token() const {
    return std::min(text_.find_first_not_of(" \t\r\n,:", cursor_), text_.size());
  }
  [[nodiscard]] SourceRange place(std::size_t begin, std::size_t end) const {
    return {source_, static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end)};
  }
  [[nodiscard]] int line_of(std::size_t offset) const {
    return sources_->locate(source_, offset).line;
  }
  void report(Diagnostic diagnostic) { diagnostics_->add(std::move(diagnostic)); }

  void report_duplicate(const Container& container, const SourceRange& first) {
    // To find a line takes a look at all the text before it.
    const bool kept = diagnostics_->size() < Diagnostics::max_kept;
    report({"duplicate-key",
            fmt::format("the key {} is given twice", quoted(shortened(container.key))),
            container.key_place, pointer(), "",
            kept ? fmt::format("the first is in line {}", line_of(first.begin)) : ""});
  }

  [[nodiscard]] std::string pointer() const {
    std::string path;
    for (const Container& container : open_)
      path = container.value.is_object() ? pointer_to(path, container.key)
                                         : pointer_to(path, container.value.items().size());
    return path;
  }

  bool add_number(Value value) {
    const std::size_t begin = next_token();
    return add(std::move(value), end_of_number(text_, begin) - begin);
  }

  bool add(Value value, std::size_t length) {
    const std::size_t begin = next_token();
    cursor_ = begin + length;
    value.place = place(begin, cursor_);
    return count(begin) && attach(std::move(value));
  }

  bool count(std::size_t begin) {
    if (++values_ <= max_json_values) return true;
    report({"too-large", fmt::format("there are more than {} values", max_json_values),
            place(begin, begin + 1), "", "", ""});
    return false;
  }

  [[nodiscard]] bool is_long_list(const Container& container) const {
    const std::size_t at = open_.front().value.is_object() ? 1 : 2;
    return open_.size() == at + 1 && container.value.is_array() &&
           open_[at - 1].key == limits_->long_list;
  }

  // The values of items that are not kept do not count.
  void attach_to_long_list(Container& list, Value value) {
    if (list.value.items().size() < limits_->kept_items) {
      list.value.items().push_back(std::move(value));
      list.values_kept = values_;
    } else {
      values_ = list.values_kept;
      ++(*forgotten_)[list.value.place.begin];
    }
  }

  bool attach(Value value) {
    after_ = ParserState::After::value;
    if (open_.empty()) {
      root_ = std::move(value);
      return true;
    }
    Container& container = open_.back();
    if (!limits_->long_list.empty() && is_long_list(container))
      attach_to_long_list(container, std::move(value));
    else if (container.value.is_array())
      container.value.items().push_back(std::move(value));
    else if (!container.duplicate)
      container.value.members().push_back(
          {std::move(container.key), container.key_place, std::move(value)});
    return true;
  }

  bool open(Value empty) {
    const std::size_t begin = next_token();
    cursor_ = begin + 1;
    if (open_.size() == max_json_depth) {
      report({"too-deep",
              fmt::format("objects and arrays are nested more than {} deep", max_json_depth),
              place(begin, cursor_), "", "", ""});
      return false;
    }
    after_ = empty.is_object() ? ParserState::After::object_begin : ParserState::After::array_begin;
    empty.place = place(begin, cursor_);
    open_.push_back({std::move(empty)});
    return count(begin);
  }

  bool close() {
    cursor_ = next_token() + 1;
    Value value = std::move(open_.back().value);
    open_.pop_back();
    value.place.end = static_cast<std::uint32_t>(cursor_);
    return attach(std::move(value));
  }

  // Where the container has that key already.
  static const SourceRange* first_place(Container& container, const std::string& key) {
    constexpr std::size_t small = 16;
    const Value::Object& members = container.value.members();
    if (members.size() <= small) {
      for (const Value::Member& member : members)
        if (member.key == key) return &member.key_place;
      return nullptr;
    }
    for (std::size_t i = container.index.size(); i < members.size(); ++i)
      container.index.emplace(members[i].key, i);
    const auto found = container.index.find(key);
    return found == container.index.end() ? nullptr : &members[found->second].key_place;
  }

  void report_syntax() {
    ParserState state;
    state.after = after_;
    state.offset = cursor_;
    state.in_container = !open_.empty();
    if (state.in_container) {
      const Value& container = open_.back().value;
      state.in_object = container.is_object();
      state.container_line = static_cast<std::size_t>(line_of(container.place.begin));
    }
    SyntaxMistake mistake = find_syntax_mistake(text_, state);
    report({"syntax", std::move(mistake.message), place(mistake.begin, mistake.end), "", "",
            std::move(mistake.hint)});
  }

  std::uint32_t source_;
  const Sources* sources_;
  std::string_view text_;
  Diagnostics* diagnostics_;
  const JsonLimits* limits_;
  ForgottenItems* forgotten_;
  std::size_t cursor_;  // behind the last token
  ParserState::After after_ = ParserState::After::nothing;
  std::vector<Container> open_;
  std::size_t values_ = 0;
  std::optional<Value> root_;
};

// What makes it useless to look at the text as JSON; no message when nothing does.
std::string unreadable(std::string_view text, std::size_t most_bytes) {
  if (text.size() > most_bytes)
    return fmt::format("the file is larger than {} MiB, the limit", most_bytes >> 20U);
  const bool utf_16 = text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF") ||
                      (text.size() >= 2 && (text[0] == '\0') != (text[1] == '\0'));
  return utf_16 ? "the file is not UTF-8 (it looks like UTF-16); save it as UTF-8" : "";
}

struct CloseFile {
  void operator()(std::FILE* file) const {
    if (file != stdin) std::fclose(file);
  }
};
using OpenFile = std::unique_ptr<std::FILE, CloseFile>;

// Offset of the first byte that is not UTF-8: RFC 3629, without overlong forms and surrogates.
std::size_t first_bad_byte(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    const auto byte = [&](std::size_t i) {
      return at + i < text.size() ? static_cast<unsigned char>(text[at + i]) : 0U;
    };
    const unsigned lead = byte(0);
    std::size_t length = 1;
    if (lead >= 0x80) length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
    if ((lead >= 0x80 && lead < 0xC2) || lead > 0xF4) return at;
    for (std::size_t i = 1; i < length; ++i)
      if ((byte(i) & 0xC0U) != 0x80) return at;
    const unsigned second = byte(1);
    if ((lead == 0xE0 && second < 0xA0) || (lead == 0xED && second > 0x9F) ||
        (lead == 0xF0 && second < 0x90) || (lead == 0xF4 && second > 0x8F))
      return at;
    at += length;
  }
  return text.size();
}

// Why it could not be read; empty: it was.
std::string read_all(const std::string& file, std::string& text, std::size_t most_bytes) {
  if (file != "-") {
    std::error_code ignored;
    if (std::filesystem::is_directory(file, ignored)) return "it is a folder";
  }
  const OpenFile opened(file == "-" ? stdin : std::fopen(file.c_str(), "rb"));
  if (!opened) return errno == ENOENT ? "no such file" : std::strerror(errno);
  std::string buffer(std::size_t{1} << 16U, '\0');
  while (text.size() <= most_bytes) {
    const std::size_t count = std::fread(buffer.data(), 1, buffer.size(), opened.get());
    text.append(buffer, 0, count);
    if (count < buffer.size()) return std::ferror(opened.get()) ? std::strerror(errno) : "";
  }
  return "";
}

}  // namespace

std::optional<Value> parse_json(std::uint32_t source, const Sources& sources,
                                Diagnostics& diagnostics) {
  ForgottenItems none;
  return parse_json(source, sources, diagnostics, {}, none);
}

std::optional<Value> parse_json(std::uint32_t source, const Sources& sources,
                                Diagnostics& diagnostics, const JsonLimits& limits,
                                ForgottenItems& forgotten) {
  const std::string& text = sources.text(source);
  const SourceRange start{source, 0, 0};
  if (std::string message = unreadable(text, limits.bytes); !message.empty()) {
    const bool large = text.size() > limits.bytes;
    diagnostics.add({large ? "too-large" : "encoding", std::move(message), start, "", "", ""});
    return std::nullopt;
  }
  TreeBuilder builder(source, sources, diagnostics, limits, forgotten);
  nlohmann::json::sax_parse(text, &builder);
  return builder.take();
}

std::optional<std::uint32_t> read_source(const std::string& file, Sources& sources,
                                         Diagnostics& diagnostics, const Diagnostic& asked_by,
                                         std::size_t most_bytes) {
  const std::string name = file == "-" ? "<stdin>" : file.empty() ? "\"\"" : file;
  std::string text;
  const std::string problem = read_all(file, text, most_bytes);
  if (!problem.empty()) {
    Diagnostic diagnostic = asked_by;
    diagnostic.code = "cannot-read";
    diagnostic.message = "cannot read " + name + ": " + problem;
    diagnostics.add(std::move(diagnostic));
    return std::nullopt;
  }
  const bool whole = text.size() <= most_bytes;
  const std::size_t bad = whole ? first_bad_byte(text) : text.size();
  const bool is_text = bad == text.size();
  const auto source = sources.add(Sources::Kind::file, name, std::move(text));
  if (is_text) return source;
  const auto at = static_cast<std::uint32_t>(bad);
  diagnostics.add({.code = "not-utf8",
                   .message = "the file is not UTF-8 text",
                   .place = {source, at, at + 1},
                   .hint = "save it as UTF-8"});
  return std::nullopt;
}

}  // namespace collsim
