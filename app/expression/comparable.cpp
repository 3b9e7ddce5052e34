// SPDX-License-Identifier: Apache-2.0
#include "app/expression/comparable.hpp"

#include <charconv>
#include <cmath>
#include <optional>

#include "app/json/write_json.hpp"
#include "app/scenario/quantities.hpp"
#include "app/scenario/vocabulary.hpp"

namespace collsim {

namespace {

std::string in_house_spelling(std::string_view word) {
  std::string result;
  for (const char letter : word) {
    if (letter == '_')
      result += '-';
    else if (letter >= 'A' && letter <= 'Z')
      result += static_cast<char>(letter - 'A' + 'a');
    else
      result += letter;
  }
  return result;
}

std::string canonical_word(std::string_view written, std::string_view path, Operation operation) {
  const Vocabulary* words = nullptr;
  if (path == "collective.op") words = &operation_words();
  if (path == "collective.algorithm") words = &algorithm_words(operation);
  if (path == "collective.dtype") words = &element_type_words();
  if (path == "collective.reduction") words = &reduction_words();
  if (words != nullptr)
    if (auto word = words->canonical(written)) return *word;
  return in_house_spelling(written);
}

std::optional<Comparable> quantity(std::string_view text) {
  Comparable result{.kind = Comparable::Kind::number, .word = {}, .written = std::string(text)};
  if (const auto size = parse_size(text); size.value) {
    result.number = static_cast<double>(*size.value);
    result.units = units_size;
    return result;
  }
  if (const auto time = parse_time(text); time.value) {
    result.number = time.value->seconds();
    result.units = units_time;
    return result;
  }
  if (const auto bandwidth = parse_bandwidth(text); bandwidth.value) {
    result.number = static_cast<double>(bandwidth.value->bytes_per_second());
    result.units = units_bandwidth;
    return result;
  }
  return {};
}

Comparable from_string(std::string_view text, std::string_view path, Operation operation) {
  const bool starts_like_number = !text.empty() && text.front() >= '0' && text.front() <= '9';
  if (starts_like_number)
    if (auto result = quantity(text)) return *result;
  return {.kind = Comparable::Kind::word,
          .word = canonical_word(text, path, operation),
          .written = std::string(text)};
}

}  // namespace

bool Comparable::comparable_with(const Comparable& other) const {
  if (kind != other.kind) return false;
  if (kind != Kind::number) return true;
  const auto bare_zero = [](const Comparable& one) { return one.number == 0 && one.units.none(); };
  return units == other.units || bare_zero(*this) || bare_zero(other);
}

bool Comparable::operator==(const Comparable& other) const {
  if (!comparable_with(other)) return false;
  switch (kind) {
    case Kind::number: return number == other.number;
    case Kind::word: return word == other.word;
    case Kind::other: break;
  }
  return written == other.written;
}

std::string Comparable::description() const {
  switch (kind) {
    case Kind::number: return units.description();
    case Kind::word: return "a word";
    case Kind::other: break;
  }
  return "an object or a list";
}

Comparable comparable(const Value& value, std::string_view path, Operation operation) {
  if (value.is_string()) return from_string(value.string(), path, operation);
  if (value.is_number())
    return {.kind = Comparable::Kind::number,
            .number = value.number(),
            .word = {},
            .written = to_json(value, -1)};
  if (value.is_boolean() || value.is_null()) {
    const std::string text = to_json(value, -1);
    return {.kind = Comparable::Kind::word, .word = text, .written = text};
  }
  return {.kind = Comparable::Kind::other, .word = {}, .written = to_json(value, -1)};
}

Comparable comparable(std::string_view text, std::string_view path, Operation operation) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc{} && end == text.data() + text.size() && std::isfinite(number))
    return {.kind = Comparable::Kind::number,
            .number = number,
            .word = {},
            .written = std::string(text)};
  return from_string(text, path, operation);
}

}  // namespace collsim
