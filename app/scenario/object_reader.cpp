// SPDX-License-Identifier: Apache-2.0
#include "app/scenario/object_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "app/json/screen_text.hpp"
#include "app/json/value.hpp"
#include "collectives/names.hpp"

namespace collsim {

namespace {

std::string show(std::string_view text) {
  return quoted(shortened(text));
}

// What does not count when words are compared: case, hyphens, underscores, blanks.
std::string bare(std::string_view word) {
  std::string result;
  for (const char c : word) {
    if (c == '-' || c == '_' || c == ' ') continue;
    result += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return result;
}

// What formulas and papers call some keys.
constexpr std::array<std::pair<std::string_view, std::string_view>, 3> other_names{
    {{"alpha", "overhead"}, {"startup", "overhead"}, {"gamma", "reduce_bandwidth"}}};

// The nearest of some words, by the letters that differ; `best` is lowered to their number.
class Nearest {
 public:
  explicit Nearest(std::string_view word) : word_(word), limit_(word.size() < 5 ? 1 : 2) {}

  void offer(std::string_view candidate, std::string_view meaning) {
    constexpr std::size_t longest_worth_comparing = 64;
    if (word_.empty() || word_.size() > longest_worth_comparing) return;
    if (word_.size() >= shortest_beginning && candidate.starts_with(word_) &&
        completed_ != meaning) {
      is_ambiguous_ = is_ambiguous_ || !completed_.empty();
      completed_ = meaning;
    }
    const int distance = edit_distance(word_, candidate);
    if (distance > limit_ || static_cast<std::size_t>(distance) >= candidate.size()) return;
    limit_ = distance - 1;
    found_ = meaning;
  }
  // If none is near, the only one that begins with the word.
  [[nodiscard]] std::string found() const {
    return found_.empty() && !is_ambiguous_ ? completed_ : found_;
  }

 private:
  static constexpr std::size_t shortest_beginning = 3;
  std::string_view word_;
  int limit_;
  std::string found_;
  std::string completed_;
  bool is_ambiguous_ = false;
};

std::string joined(const std::vector<std::string>& words) {
  return fmt::format("{}", fmt::join(words, ", "));
}

std::string number_text(const JsonValue& number) {
  const auto whole = number.integer();
  return whole ? std::to_string(*whole) : to_json(number);
}

std::string range_text(std::int64_t low, std::int64_t high) {
  if (high == std::numeric_limits<std::int64_t>::max()) return fmt::format("{} or more", low);
  if (low == high) return std::to_string(low);
  return fmt::format("{} to {}", low, high);
}

std::string without_quotes(const JsonValue& value) {
  return fmt::format("write {} without the quotes", shortened(value.string()));
}

bool reads_as_number(std::string_view text) {
  const std::string_view digits = text.substr(text.starts_with('-') ? 1 : 0);
  return !digits.empty() && digits.find_first_not_of("0123456789.") == std::string_view::npos;
}

}  // namespace

std::optional<std::string> Vocabulary::canonical(std::string_view word) const {
  if (std::find(allowed.begin(), allowed.end(), word) != allowed.end()) return std::string(word);
  const std::string searched = bare(word);
  for (const std::string& candidate : allowed)
    if (bare(candidate) == searched) return candidate;
  for (const auto& [alias, meaning] : aliases)
    if (bare(alias) == searched) return meaning;
  return std::nullopt;
}

std::string Vocabulary::nearest(std::string_view word) const {
  const std::string searched = bare(word);
  Nearest nearest(searched);
  for (const std::string& candidate : allowed) nearest.offer(bare(candidate), candidate);
  for (const auto& [alias, meaning] : aliases) nearest.offer(bare(alias), meaning);
  return nearest.found();
}

ObjectReader::ObjectReader(const JsonValue& value, std::string pointer, Diagnostics& diagnostics)
    : value_(&value), pointer_(std::move(pointer)), diagnostics_(&diagnostics) {
  resolved_.place = value.place;
  if (!value.is_object())
    diagnostics_->add({"wrong-type",
                       fmt::format("expected an object, but this is {}", value.kind_name()),
                       value.place, pointer_, "", "write { \"key\": value, ... }"});
}

bool ObjectReader::is_known(std::string_view key) const {
  return std::find(known_.begin(), known_.end(), key) != known_.end();
}

const JsonValue* ObjectReader::raw(std::string_view key) {
  if (!is_known(key)) known_.emplace_back(key);
  return value_->find(key);
}

std::optional<bool> ObjectReader::boolean(std::string_view key) {
  const JsonValue* value = raw(key);
  if (value == nullptr) return std::nullopt;
  if (!value->is_boolean()) {
    const bool quoted_one =
        value->is_string() && (value->string() == "true" || value->string() == "false");
    wrong(key, "wrong-type",
          fmt::format("expected true or false, but this is {}", value->kind_name()), "",
          quoted_one ? without_quotes(*value) : "");
    return std::nullopt;
  }
  resolve(key, *value);
  return value->boolean();
}

bool ObjectReader::boolean(std::string_view key, bool otherwise) {
  const auto value = boolean(key);
  if (!value) resolve(key, otherwise);
  return value.value_or(otherwise);
}

std::optional<std::int64_t> ObjectReader::integer(std::string_view key, std::int64_t low,
                                                  std::int64_t high) {
  const JsonValue* value = raw(key);
  if (value == nullptr) return std::nullopt;
  const std::string allowed = "allowed: " + range_text(low, high);
  if (!value->is_number()) {
    const bool quoted_one = value->is_string() && reads_as_number(value->string());
    return wrong(key, "wrong-type",
                 fmt::format("expected a whole number, but this is {}", value->kind_name()), "",
                 quoted_one ? without_quotes(*value) : allowed);
  }
  const auto whole = value->integer();
  const double number = value->number();
  if (!whole && number > static_cast<double>(low) && number < static_cast<double>(high))
    return wrong(key, "not-whole", fmt::format("{} is not a whole number", number_text(*value)), "",
                 allowed);
  if (!whole || *whole < low || *whole > high) {
    const bool small = whole ? *whole < low : number <= static_cast<double>(low);
    return wrong(key, "out-of-range",
                 fmt::format("{} is too {}", number_text(*value), small ? "small" : "large"), "",
                 allowed);
  }
  JsonValue resolved(*whole);
  resolved.place = value->place;
  resolve(key, std::move(resolved));
  return whole;
}

std::int64_t ObjectReader::integer(std::string_view key, std::int64_t low, std::int64_t high,
                                   std::int64_t otherwise) {
  const auto value = integer(key, low, high);
  if (!value) resolve(key, otherwise);
  return value.value_or(otherwise);
}

double ObjectReader::number(std::string_view key, double low, double high, double otherwise) {
  const JsonValue* value = raw(key);
  const auto use = [&](const JsonValue& used) {
    resolve(key, used);
    return used.number();
  };
  if (value == nullptr) return use(otherwise);
  const std::string allowed = fmt::format("allowed: {} to {}", low, high);
  if (!value->is_number()) {
    const bool quoted_one = value->is_string() && reads_as_number(value->string());
    wrong(key, "wrong-type", fmt::format("expected a number, but this is {}", value->kind_name()),
          "", quoted_one ? without_quotes(*value) : allowed);
    return use(otherwise);
  }
  if (value->number() >= low && value->number() <= high) return use(*value);
  wrong(key, "out-of-range",
        fmt::format("{} is too {}", number_text(*value), value->number() < low ? "small" : "large"),
        "", allowed);
  return use(otherwise);
}

std::optional<std::string> ObjectReader::text(std::string_view key) {
  const JsonValue* value = raw(key);
  if (value == nullptr) return std::nullopt;
  if (!value->is_string())
    return wrong(key, "wrong-type",
                 fmt::format("expected a string, but this is {}", value->kind_name()), "",
                 "write text in double quotes");
  resolve(key, *value);
  return value->string();
}

std::optional<std::string> ObjectReader::word(std::string_view key, const Vocabulary& words) {
  const JsonValue* value = raw(key);
  if (value == nullptr) return std::nullopt;
  const auto allowed = [&] { return "allowed: " + joined(words.allowed); };
  if (!value->is_string())
    return wrong(key, "wrong-type",
                 fmt::format("expected a string, but this is {}", value->kind_name()), "",
                 allowed());
  auto canonical = words.canonical(value->string());
  if (!canonical)
    return wrong(key, "unknown-word",
                 fmt::format("unknown {} {}", words.what, show(value->string())),
                 words.nearest(value->string()), allowed());
  JsonValue resolved(*canonical);
  resolved.place = value->place;
  resolve(key, std::move(resolved));
  return canonical;
}

std::string ObjectReader::word(std::string_view key, const Vocabulary& words,
                               std::string_view otherwise) {
  auto value = word(key, words);
  if (!value) resolve(key, otherwise);
  return value.value_or(std::string(otherwise));
}

template <class T>
std::optional<T> ObjectReader::quantity(std::string_view key, Parsed<T> (*parse)(std::string_view),
                                        std::string (*exact)(T), std::string_view example) {
  const JsonValue* value = raw(key);
  if (value == nullptr) return std::nullopt;
  if (!value->is_string() && !value->is_number())
    return wrong(key, "wrong-type",
                 fmt::format("expected a string, such as \"{}\", but this is {}", example,
                             value->kind_name()));
  const std::string text = value->is_string() ? value->string() : number_text(*value);
  Parsed<T> parsed = parse(text);
  if (!parsed.value) {
    QuantityError& error = parsed.error;
    // The message quotes what was written, which had no quotes.
    const std::string in_quotes = quoted(text);
    if (value->is_number() && error.message.starts_with(in_quotes))
      error.message.replace(0, in_quotes.size(), text);
    const bool of_cable = pointer_.starts_with("/cluster/links") && key == "bandwidth";
    if (of_cable && error.code == "out-of-range" && error.hint.empty())
      error.hint = "a cable that is broken is \"down\": true";
    return wrong(key, std::move(error.code), std::move(error.message), std::move(error.suggestion),
                 std::move(error.hint));
  }
  JsonValue resolved(exact(*parsed.value));
  resolved.place = value->place;
  resolve(key, std::move(resolved));
  return parsed.value;
}

std::optional<Bytes> ObjectReader::size(std::string_view key) {
  return quantity(key, parse_size, exact_size, "64MiB");
}

std::optional<Time> ObjectReader::time(std::string_view key) {
  return quantity(key, parse_time, exact_time, "12.5us");
}

Time ObjectReader::time(std::string_view key, Time otherwise) {
  const auto value = time(key);
  if (!value) resolve(key, exact_time(otherwise));
  return value.value_or(otherwise);
}

std::optional<Bandwidth> ObjectReader::bandwidth(std::string_view key) {
  return quantity(key, parse_bandwidth, exact_bandwidth, "25GB/s");
}

void ObjectReader::need(std::initializer_list<std::string_view> keys, const std::string& hint) {
  if (!value_->is_object()) return;
  for (const std::string_view key : keys) {
    if (raw(key) != nullptr) continue;
    // A misspelled key is one mistake, not two: this one waits until that is mended.
    const auto& members = value_->members();
    const auto misspelled = std::find_if(members.begin(), members.end(), [&](const auto& member) {
      Nearest nearest(member.key);
      nearest.offer(key, key);
      return !nearest.found().empty() && !is_known(member.key);
    });
    if (misspelled != members.end())
      report_unknown(*misspelled, std::string(key));
    else
      diagnostics_->add(
          {"missing-key", fmt::format("{} is missing", show(key)), place(), pointer_, "", hint});
  }
}

void ObjectReader::at_most_one_of(std::initializer_list<std::string_view> keys) {
  if (!value_->is_object()) return;
  const JsonValue::Member* first = nullptr;
  for (const JsonValue::Member& member : value_->members()) {
    if (std::find(keys.begin(), keys.end(), member.key) == keys.end()) continue;
    if (first == nullptr) {
      first = &member;
      continue;
    }
    diagnostics_->add(
        {"conflicting-keys",
         fmt::format("{} and {} exclude each other", show(first->key), show(member.key)),
         member.key_place, pointer_, "", "remove one of them"});
  }
}

void ObjectReader::resolve(std::string_view key, JsonValue value) {
  resolved_.set(key, std::move(value));
}

Refusal ObjectReader::wrong(std::string_view key, std::string code, std::string message,
                            std::string suggestion, std::string hint) {
  const JsonValue* value = value_->find(key);
  return diagnostics_->add(
      {std::move(code), std::move(message), value == nullptr ? place() : value->place,
       value == nullptr ? pointer_ : pointer_of(key), std::move(suggestion), std::move(hint)});
}

Refusal ObjectReader::wrong(std::string_view key, const Error& error) {
  return wrong(key, std::string(to_string(error.code())), error.what());
}

void ObjectReader::report_unknown(const JsonValue::Member& member, std::string meant) {
  std::string hint = meant.empty() && !known_.empty() ? "allowed: " + joined(known_) : "";
  diagnostics_->add({"unknown-key", fmt::format("unknown key {}", show(member.key)),
                     member.key_place, pointer_of(member.key), std::move(meant), std::move(hint)});
}

JsonValue ObjectReader::finish() {
  if (value_->is_object())
    for (const JsonValue::Member& member : value_->members()) {
      if (is_known(member.key)) continue;
      if (diagnostics_->size() >= Diagnostics::max_kept) {
        diagnostics_->add({});  // only counted
        continue;
      }
      Nearest nearest(member.key);
      for (const std::string& candidate : known_) nearest.offer(candidate, candidate);
      for (const auto& [other, key] : other_names)
        if (is_known(key)) nearest.offer(other, key);
      report_unknown(member, nearest.found());
    }
  return std::move(resolved_);
}

}  // namespace collsim
