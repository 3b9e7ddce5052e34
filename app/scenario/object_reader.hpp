// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <initializer_list>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/json/diagnostics.hpp"
#include "app/json/value.hpp"
#include "app/scenario/quantities.hpp"
#include "topo/error.hpp"

namespace collsim {

// The words that a value may be, and synonyms from elsewhere with their meaning here.
struct Vocabulary {
  std::string what;                                 // "shape": for "unknown shape ..."
  std::vector<std::string> allowed = {};            // in the order in which they are shown
  std::map<std::string, std::string> aliases = {};  // "allreduce" -> "all-reduce"; lower case

  // The allowed word, also when only case, hyphens, underscores or an alias differ; else nothing.
  [[nodiscard]] std::optional<std::string> canonical(std::string_view word) const;
  // The allowed word that was probably meant; empty when none is near.
  [[nodiscard]] std::string nearest(std::string_view word) const;
};

// Reads one JSON object, key by key.  Reading a key declares it; finish() reports the keys that
// were never read.  All errors go to the diagnostics, and reading goes on as if the key were
// absent.
//
// On the way it builds the resolved object: what was read in one spelling ("64 MiB" -> "64MiB",
// "bcast" -> "broadcast"), and the defaults that were taken.  The place of a resolved value says
// where it came from, and is nowhere for a default.
//
//   ObjectReader reader(value, "/cluster/link", diagnostics);
//   const auto bandwidth = reader.bandwidth("bandwidth");  // optional: nothing if absent or wrong
//   const Time latency = reader.time("latency", Time{});   // default when absent or wrong
//   reader.need({"bandwidth"});
//   JsonValue resolved = reader.finish();
class ObjectReader {
 public:
  // What is not an object is reported and read as an empty one.
  ObjectReader(const JsonValue& value, std::string pointer, Diagnostics& diagnostics);

  [[nodiscard]] const std::string& pointer() const { return pointer_; }
  [[nodiscard]] std::string pointer_of(std::string_view key) const {
    return pointer_to(pointer_, key);
  }
  [[nodiscard]] SourceRange place() const { return value_->place; }
  [[nodiscard]] Diagnostics& diagnostics() { return *diagnostics_; }

  // Whether it is written, right or wrong.  Does not make the key known.
  [[nodiscard]] bool has(std::string_view key) const { return value_->find(key) != nullptr; }
  // The value as it is written, for what has a shape of its own; makes the key known.  The caller
  // reports what is wrong and calls resolve().
  [[nodiscard]] const JsonValue* raw(std::string_view key);

  [[nodiscard]] std::optional<bool> boolean(std::string_view key);
  [[nodiscard]] bool boolean(std::string_view key, bool otherwise);
  [[nodiscard]] std::optional<std::int64_t> integer(std::string_view key, std::int64_t low,
                                                    std::int64_t high);
  [[nodiscard]] std::int64_t integer(std::string_view key, std::int64_t low, std::int64_t high,
                                     std::int64_t otherwise);
  [[nodiscard]] double number(std::string_view key, double low, double high, double otherwise);
  [[nodiscard]] std::optional<std::string> text(std::string_view key);
  [[nodiscard]] std::optional<std::string> word(std::string_view key, const Vocabulary& words);
  [[nodiscard]] std::string word(std::string_view key, const Vocabulary& words,
                                 std::string_view otherwise);
  [[nodiscard]] std::optional<Bytes> size(std::string_view key);
  [[nodiscard]] std::optional<Time> time(std::string_view key);
  [[nodiscard]] Time time(std::string_view key, Time otherwise);
  [[nodiscard]] std::optional<Bandwidth> bandwidth(std::string_view key);

  // Reports each of these keys that is not written: "bandwidth" is missing.  Of a misspelled one
  // only that it is unknown; so call it after the optional keys were read.
  void need(std::initializer_list<std::string_view> keys, const std::string& hint = {});
  // Reports when more than one of them is written.
  void at_most_one_of(std::initializer_list<std::string_view> keys);

  // Puts a value into the resolved object; its place says where it came from.
  void resolve(std::string_view key, JsonValue value);

  // Reports a mistake in the value of a key (which may be absent: then in the object).
  Refusal wrong(std::string_view key, std::string code, std::string message,
                std::string suggestion = {}, std::string hint = {});
  // The same for an Error of the core: its code and its text.
  Refusal wrong(std::string_view key, const Error& error);

  // Reports unknown keys with the nearest known one; gives the resolved object.
  [[nodiscard]] JsonValue finish();

 private:
  template <class T>
  [[nodiscard]] std::optional<T> quantity(std::string_view key,
                                          Parsed<T> (*parse)(std::string_view),
                                          std::string (*exact)(T), std::string_view example);
  [[nodiscard]] bool is_known(std::string_view key) const;
  void report_unknown(const JsonValue::Member& member, std::string meant);

  const JsonValue* value_;
  std::string pointer_;
  Diagnostics* diagnostics_;
  std::vector<std::string> known_;
  JsonValue resolved_ = JsonValue::object();
};

}  // namespace collsim
