// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace collsim {

// A stretch of the text of one source (a file, an argument, a preset; see sources.hpp).
struct SourceRange {
  static constexpr std::uint32_t nowhere = std::numeric_limits<std::uint32_t>::max();
  std::uint32_t source = nowhere;    // nowhere: made by the program, such as a default
  std::uint32_t begin = 0, end = 0;  // bytes; both 0: the whole text, of which no line is shown
  bool operator==(const SourceRange&) const = default;
};

// A JSON value that remembers where it was written, so that a mistake found much later can still be
// shown with its line.  Plain data: copying copies the tree.  Members keep their order.
class JsonValue {
 public:
  struct Member;
  struct Entry;
  using Array = std::vector<JsonValue>;
  using Object = std::vector<Member>;

  JsonValue();                         // null
  template <std::same_as<bool> Truth>  // nothing that only converts to it, such as a pointer
  JsonValue(Truth value) : JsonValue(std::in_place, value) {}
  JsonValue(double value);
  JsonValue(std::int64_t value);
  template <std::integral Number>
  requires(!std::same_as<Number, bool>) JsonValue(Number value)
      : JsonValue(static_cast<std::int64_t>(value)) {}
  JsonValue(std::string value);
  JsonValue(const char* value);
  JsonValue(std::string_view value);
  JsonValue(Array items);
  JsonValue(Object members);
  template <class T>  // nothing: null
  JsonValue(const std::optional<T>& value) : JsonValue(value ? JsonValue(*value) : JsonValue()) {}
  JsonValue(const JsonValue& other);
  JsonValue(JsonValue&& other) noexcept;
  JsonValue& operator=(const JsonValue& other);
  JsonValue& operator=(JsonValue&& other) noexcept;
  ~JsonValue();
  // object({{"ranks", 8}, {"name", name}}); keys must differ.
  static JsonValue object(std::initializer_list<Entry> entries = {});
  // [convert(item), ...]
  template <class Items = Array, class Convert = std::identity>
  static JsonValue array(const Items& items = {}, const Convert& convert = {});

  SourceRange place;

  [[nodiscard]] bool is_null() const { return holds<std::nullptr_t>(); }
  [[nodiscard]] bool is_boolean() const { return holds<bool>(); }
  [[nodiscard]] bool is_number() const { return holds<double>() || holds<std::int64_t>(); }
  [[nodiscard]] bool is_string() const { return holds<std::string>(); }
  [[nodiscard]] bool is_array() const { return holds<Array>(); }
  [[nodiscard]] bool is_object() const { return holds<Object>(); }
  // "an object", "a string", "true" ...: for messages.
  [[nodiscard]] std::string_view kind_name() const;

  // These must only be asked of a value of that kind.
  [[nodiscard]] bool boolean() const { return std::get<bool>(data_); }
  [[nodiscard]] double number() const;
  [[nodiscard]] const std::string& string() const { return std::get<std::string>(data_); }
  [[nodiscard]] const Array& items() const { return std::get<Array>(data_); }
  [[nodiscard]] Array& items() { return std::get<Array>(data_); }
  [[nodiscard]] const Object& members() const { return std::get<Object>(data_); }
  [[nodiscard]] Object& members() { return std::get<Object>(data_); }

  // Whether it was written with a point or an exponent, or does not fit into 64 bits.
  [[nodiscard]] bool is_real() const { return holds<double>(); }
  // The number when it is a whole one (8.0 and 1e3 are) that 64 bits hold.
  [[nodiscard]] std::optional<std::int64_t> integer() const;

  // Of an object; null when there is no such member (or this is no object).
  [[nodiscard]] const JsonValue* find(std::string_view key) const;
  [[nodiscard]] JsonValue* find(std::string_view key);
  // Adds a member at the end, or replaces its value.  Null becomes an object.
  JsonValue& set(std::string_view key, JsonValue value, SourceRange key_place = {});
  void erase(std::string_view key);

  // Equal in content; places do not count, the order of members does.
  friend bool operator==(const JsonValue& a, const JsonValue& b);

 private:
  JsonValue(std::in_place_t, bool value);
  template <class T>
  [[nodiscard]] bool holds() const {
    return std::holds_alternative<T>(data_);
  }
  std::variant<std::nullptr_t, bool, std::int64_t, double, std::string, Array, Object> data_;
};

struct JsonValue::Member {
  std::string key;
  SourceRange key_place;
  JsonValue value;

  friend bool operator==(const Member& a, const Member& b) {
    return a.key == b.key && a.value == b.value;
  }
};

struct JsonValue::Entry {
  std::string_view key;
  mutable JsonValue value;  // is moved from: an initializer list would copy the tree
};

template <class Items, class Convert>
JsonValue JsonValue::array(const Items& items, const Convert& convert) {
  Array array;
  for (const auto& item : items) array.emplace_back(std::invoke(convert, item));
  return array;
}

// For a value that goes on without the text it was read from: a place would point into another.
void forget_places(JsonValue& value);

// "/cluster/link" + "band/width" -> "/cluster/link/band~1width" (RFC 6901).
[[nodiscard]] std::string pointer_to(std::string_view parent, std::string_view key);
[[nodiscard]] std::string pointer_to(std::string_view parent, std::size_t index);

// The shortest digits that read back as the same double; bytes that are not UTF-8 are replaced.
[[nodiscard]] std::string to_json(const JsonValue& value, int indent = 2);  // -1: on one line
// Objects and arrays of plain values on one line where they fit; for people (--print-resolved).
[[nodiscard]] std::string to_pretty_json(const JsonValue& value, std::size_t width = 100);
// Of {"file": "a.csv", "rows": [...]}, a table that was read, the file; null: it is something else.
[[nodiscard]] const std::string* file_read(const JsonValue& value);
// A string without its quotes, anything else as JSON on one line: 64MiB, 16, [0,1].  An object with
// one member that is a string goes without braces: msccl:ring.xml; a table that was read by the
// name of its file.
[[nodiscard]] std::string plain_text(const JsonValue& value);
// quoted(text) is "a \"b\"".  An object, so that a call with a std::string never means std::quoted.
struct Quoted {
  [[nodiscard]] std::string operator()(std::string_view text) const;
};
inline constexpr Quoted quoted{};

}  // namespace collsim
