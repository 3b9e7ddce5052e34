// SPDX-License-Identifier: Apache-2.0
#include "app/json/value.hpp"

#include <algorithm>
#include <cmath>

#include "topo/error.hpp"

namespace collsim {

// These are not in the header because there a Member is not complete, which clang asks for; and where
// g++ 12 sees through the move of a variant it warns that it is uninitialized.
Value::Value() = default;
Value::Value(bool value) : data_(value) {}
Value::Value(double value) : data_(value) {}
Value::Value(std::int64_t value) : data_(value) {}
Value::Value(std::string value) : data_(std::move(value)) {}
Value::Value(const char* value) : data_(std::string(value)) {}
Value::Value(std::string_view value) : data_(std::string(value)) {}
Value::Value(Array items) : data_(std::move(items)) {}
Value::Value(Object members) : data_(std::move(members)) {}
Value::Value(const Value& other) = default;
Value::Value(Value&& other) noexcept = default;
Value& Value::operator=(const Value& other) = default;
Value& Value::operator=(Value&& other) noexcept = default;
Value::~Value() = default;

Value Value::object(std::initializer_list<Entry> entries) {
  Object members;
  members.reserve(entries.size());
  for (const Entry& entry : entries)
    members.push_back({std::string(entry.key), {}, std::move(entry.value)});
  return members;
}

std::string_view Value::kind_name() const {
  if (is_null()) return "null";
  if (is_boolean()) return boolean() ? "true" : "false";
  if (is_number()) return "a number";
  if (is_string()) return "a string";
  return is_array() ? "an array" : "an object";
}

double Value::number() const {
  if (const auto* whole = std::get_if<std::int64_t>(&data_)) return static_cast<double>(*whole);
  return std::get<double>(data_);
}

std::optional<std::int64_t> Value::integer() const {
  if (const auto* whole = std::get_if<std::int64_t>(&data_)) return *whole;
  constexpr double beyond = 9223372036854775808.0;
  const auto* real = std::get_if<double>(&data_);
  if (real == nullptr || !(*real >= -beyond && *real < beyond) || *real != std::trunc(*real))
    return std::nullopt;
  return static_cast<std::int64_t>(*real);
}

const Value* Value::find(std::string_view key) const {
  const auto* members = std::get_if<Object>(&data_);
  if (members == nullptr) return nullptr;
  const auto found = std::find_if(members->begin(), members->end(),
                                  [&](const Member& member) { return member.key == key; });
  return found == members->end() ? nullptr : &found->value;
}

Value* Value::find(std::string_view key) {
  return const_cast<Value*>(std::as_const(*this).find(key));
}

Value& Value::set(std::string_view key, Value value, SourceRange key_place) {
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

void Value::erase(std::string_view key) {
  if (!is_object()) return;
  std::erase_if(members(), [&](const Member& member) { return member.key == key; });
}

bool operator==(const Value& a, const Value& b) {
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

void forget_places(Value& value) {
  value.place = {};
  if (value.is_array())
    for (Value& item : value.items()) forget_places(item);
  if (value.is_object())
    for (Value::Member& member : value.members()) {
      member.key_place = {};
      forget_places(member.value);
    }
}

}  // namespace collsim
