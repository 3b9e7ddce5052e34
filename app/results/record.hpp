// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "app/json/value.hpp"
#include "topo/units.hpp"

namespace collsim {

// Values as JSON that loses nothing, for files that collsim itself reads again: unlike the results
// file, which is for people and other programs, it has no names and no units.
//
//   to_record(value)            numbers, words, Time, lists, sets, pairs; what is absent is null; a
//                               struct is the list of its members
//   from_record(record, value)  false: that is no record of such a value, which is then half filled
//
// A struct takes part by a members_of(), which a structured binding keeps complete:
//
//   template <class Of> requires RecordOf<Of, Link>
//   auto members_of(Of& link) { auto& [from, to] = link; return std::tie(from, to); }
template <class T, class Struct>
concept RecordOf = std::same_as<std::remove_const_t<T>, Struct>;

template <class T>
concept RecordedStruct = requires(T& value) {
  members_of(value);
};

template <class T, template <class...> class Template>
inline constexpr bool is_a = false;
template <template <class...> class Template, class... Arguments>
inline constexpr bool is_a<Template<Arguments...>, Template> = true;

template <class T>
concept RecordedList = is_a<T, std::vector> || is_a<T, std::set>;

template <class T>
[[nodiscard]] JsonValue to_record(const T& value) {
  if constexpr (std::same_as<T, bool> || std::same_as<T, std::string>) {
    return value;
  } else if constexpr (std::integral<T> || std::is_enum_v<T>) {
    return static_cast<std::int64_t>(value);
  } else if constexpr (std::floating_point<T>) {
    if (std::isfinite(value)) return value;
    return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
  } else if constexpr (std::same_as<T, Time>) {
    return value.ps();
  } else if constexpr (is_a<T, std::optional>) {
    return value ? to_record(*value) : JsonValue();
  } else if constexpr (RecordedList<T>) {
    return JsonValue::array(value, [](const auto& item) { return to_record(item); });
  } else if constexpr (is_a<T, std::pair>) {
    return JsonValue::Array{to_record(value.first), to_record(value.second)};
  } else {
    static_assert(RecordedStruct<const T>, "what is recorded needs a members_of()");
    return std::apply([](const auto&... member) { return JsonValue::Array{to_record(member)...}; },
                      members_of(value));
  }
}

template <class T>
[[nodiscard]] bool from_record(const JsonValue& record, T& value);

// The parts of from_record() that take more than a line.
namespace record_detail {

template <class Whole>
bool read_whole(const JsonValue& record, Whole& value) {
  const std::optional<std::int64_t> whole = record.integer();
  if (!whole) return false;
  value = static_cast<Whole>(*whole);
  return std::same_as<Whole, std::uint64_t> || std::same_as<Whole, std::size_t> ||
         std::in_range<Whole>(*whole);
}

inline bool read_real(const JsonValue& record, double& value) {
  if (record.is_number()) return value = record.number(), true;
  if (!record.is_string()) return false;
  const std::string& word = record.string();
  constexpr double infinity = std::numeric_limits<double>::infinity();
  value = word == "inf" ? infinity : word == "-inf" ? -infinity : std::nan("");
  return word == "inf" || word == "-inf" || word == "nan";
}

template <class List>
bool read_list(const JsonValue& record, List& value) {
  if (!record.is_array()) return false;
  value.clear();
  for (const JsonValue& one : record.items()) {
    typename List::value_type item{};
    if (!from_record(one, item)) return false;
    value.insert(value.end(), std::move(item));
  }
  return true;
}

template <class Members>
bool read_members(const JsonValue& record, const Members& members) {
  if (!record.is_array() || record.items().size() != std::tuple_size_v<Members>) return false;
  auto next = record.items().begin();
  return std::apply([&](auto&... member) { return (from_record(*next++, member) && ...); },
                    members);
}

}  // namespace record_detail

template <class T>
bool from_record(const JsonValue& record, T& value) {
  if constexpr (std::same_as<T, bool>) {
    return record.is_boolean() && (value = record.boolean(), true);
  } else if constexpr (std::same_as<T, std::string>) {
    return record.is_string() && (value = record.string(), true);
  } else if constexpr (std::integral<T>) {
    return record_detail::read_whole(record, value);
  } else if constexpr (std::is_enum_v<T>) {
    std::underlying_type_t<T> number{};
    return from_record(record, number) && (value = static_cast<T>(number), true);
  } else if constexpr (std::floating_point<T>) {
    return record_detail::read_real(record, value);
  } else if constexpr (std::same_as<T, Time>) {
    std::int64_t ps = 0;
    return from_record(record, ps) && (value = Time(ps), true);
  } else if constexpr (is_a<T, std::optional>) {
    if (record.is_null()) return value.reset(), true;
    value = typename T::value_type{};
    return from_record(record, *value);
  } else if constexpr (RecordedList<T>) {
    return record_detail::read_list(record, value);
  } else if constexpr (is_a<T, std::pair>) {
    return record_detail::read_members(record, std::tie(value.first, value.second));
  } else {
    return record_detail::read_members(record, members_of(value));
  }
}

}  // namespace collsim
