// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "collectives/collective.hpp"
#include "collectives/programs.hpp"

namespace collsim {

// HOW a collective is carried out: the programs of an algorithm, and what they are to achieve.
class Schedule : public Programs {
 public:
  // group and element_size follow from the collective.
  struct Parts : Programs::Parts {
    Collective collective;
    std::string algorithm;
    std::function<std::int64_t(int position)> scratch_count;  // elements of scratch; empty: none
    int chunks = 1;  // as asked for: for reports and closed forms
  };
  explicit Schedule(Parts parts);  // validates the collective

  [[nodiscard]] const Collective& collective() const { return own().collective; }
  [[nodiscard]] const std::string& algorithm() const { return own().algorithm; }
  [[nodiscard]] int chunks() const { return own().chunks; }
  [[nodiscard]] std::int64_t scratch_count(int position) const {
    return own().scratch_count ? own().scratch_count(position) : 0;
  }

  // The same programs with another number of slots, or with other programs in their place (tests
  // break them this way).
  [[nodiscard]] Schedule with_slots(std::optional<int> slots) const;
  [[nodiscard]] Schedule with_programs(ProgramFactory program) const;

 private:
  [[nodiscard]] const Parts& own() const { return static_cast<const Parts&>(parts()); }
};

// How many bytes of memory a run touches when lanes move the data themselves, which decides in
// which caches they fit:
//
//   sum over ranks          of what its programs read and store of input, output and scratch
//   + sum over connections  of their slots, as many as there are messages for, each of the largest
//
// A byte that is touched twice counts once as long as no buffer is touched more than its own
// length: min(length, bytes read and stored).  Pulls every program once, so it costs about what a
// simulation does.
[[nodiscard]] Bytes working_set(const Schedule& schedule);

}  // namespace collsim
