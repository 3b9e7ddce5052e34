// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "app/json/value.hpp"
#include "collectives/collective.hpp"
#include "collectives/cost/units.hpp"

namespace collsim {

// A value of a scenario in the form in which values are compared: "1MiB" is "1024KiB", 16 is 16.0,
// 0 is "0B", "bcast" as collective.op is "broadcast".  Lists and objects compare as written.
struct Comparable {
  enum class Kind : unsigned char { number, word, other } kind = Kind::other;
  double number = 0;
  Units units{};        // of a number; a bare 0 fits all
  std::string word;     // in the spelling of the documentation; true and false are words too
  std::string written;  // for messages: 64MiB, ring, 16, [0,1]

  // Values of these two can be equal at all: of one kind, and numbers of one unit.
  [[nodiscard]] bool comparable_with(const Comparable& other) const;
  [[nodiscard]] bool operator==(const Comparable& other) const;
  // "a plain number", "a size (bytes)", "a word".
  [[nodiscard]] std::string description() const;
};

// The path says what words mean (collective.op, .algorithm, .dtype and .reduction have aliases),
// the operation whose algorithms are meant.
[[nodiscard]] Comparable comparable(const Value& value, std::string_view path, Operation operation);
// The same for what is written without quotes, as in at(time, algorithm, ring).
[[nodiscard]] Comparable comparable(std::string_view text, std::string_view path,
                                    Operation operation);

}  // namespace collsim
