// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/json/sources.hpp"
#include "app/json/value.hpp"

namespace collsim {

// One mistake in what the user wrote, in words for the person who made it.
//
//   scenarios/bad.json:3:25: unknown shape "chian" at /cluster/shape
//     3 |   "cluster": { "shape": "chian", "ranks": 8 }
//       |                         ^^^^^^^ did you mean "chain"?
//       |   allowed: chain, ring, fully-connected, ...
struct Diagnostic {
  std::string code;          // for programs: "unknown-key", "no-unit", "out-of-range", ...
  std::string message;       // what is wrong; without place and pointer
  SourceRange place = {};    // nowhere: no line is shown
  std::string pointer = {};  // JSON pointer; empty: none is shown
  // What to write instead, as a value: chain (shown: did you mean "chain"?).
  std::string suggestion = {};
  std::string hint = {};  // a line on what is allowed or what to do; may be empty
};

// What a reader returns that has reported a mistake: false, or nothing.  (Not for
// std::optional<bool>.)
struct Refusal {
  template <std::same_as<bool> Bool>
  operator Bool() const {
    return false;
  }
  template <class Read>
  operator std::optional<Read>() const {
    return std::nullopt;
  }
};

// Collects all mistakes, so that one run shows them all.
class Diagnostics {
 public:
  // Of more mistakes than this only the number is kept, so that garbage takes bounded memory.
  static constexpr std::size_t max_kept = 1000;

  Refusal add(Diagnostic diagnostic);  // the same message at the same place is kept once
  [[nodiscard]] bool empty() const { return all_.empty(); }
  [[nodiscard]] std::size_t size() const { return all_.size() + not_kept_; }
  // In the order of sources and places; those without a place first.
  [[nodiscard]] std::vector<Diagnostic> sorted() const;

 private:
  std::vector<Diagnostic> all_;
  std::size_t not_kept_ = 0;
};

// Readable: every diagnostic as above (at most `limit`, then "and 12 more"), then "4 errors;
// nothing was run".  Long lines are shortened around the caret; tabs, wide and invisible characters
// do not move it, and nothing that a terminal would obey is sent to it.
[[nodiscard]] std::string to_text(const Diagnostics& diagnostics, const Sources& sources,
                                  bool colour = false, std::size_t limit = 20);

// For programs: {"errors": [{file, line, column, pointer, code, message, suggestion, hint}]}; what
// does not apply is null.
[[nodiscard]] JsonValue to_value(const Diagnostics& diagnostics, const Sources& sources);

}  // namespace collsim
