// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "collectives/cost/units.hpp"

namespace collsim {

// What an expression can look up in a row: the symbols of formulas, in the order of
// formula_symbols(), and the metrics.
enum class Name : std::uint32_t {
  K,
  N,
  S,
  C,
  k,
  A,
  alpha,
  B,
  L,
  gamma,
  time,
  analytic,
  bound,
  bandwidth_bound,
  latency_bound,
  compute_bound,
  algbw,
  busbw,
  messages,
  wire_bytes,
  bottleneck_bandwidth,
  measured,
  step,
  compute,
  exposed,
  hidden,
  bubble,
  least_timeout,
  gives_up,
  useful,
  best_interval,
  job,
  mfu,
  hfu,
  memory
};

struct NameEntry {
  std::string_view word;  // as written in expressions
  Name name{};
  Units units{};
  std::string_view path;  // of a symbol: where a scenario sets it; empty: a metric

  // Of training steps only, or of collectives only.
  [[nodiscard]] bool is_of_steps() const { return name >= Name::step; }
  [[nodiscard]] bool is_of_collectives() const;

  // time, algbw and busbw: can be simulated, analytic or measured ("of").
  [[nodiscard]] bool follows_of() const {
    return name == Name::time || name == Name::algbw || name == Name::busbw;
  }
};

// In the order in which messages show them; some names have two words.
[[nodiscard]] std::span<const NameEntry> name_entries();
[[nodiscard]] const NameEntry* find_name(std::string_view word);
[[nodiscard]] const NameEntry& entry_of(Name name);

// For messages: "a \"b\"", not longer than a line.
[[nodiscard]] std::string in_quotes(std::string_view text);

}  // namespace collsim
