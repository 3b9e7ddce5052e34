// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "validate/plan.hpp"

namespace collsim {

// Where the data of instructions are, and what they combine: for make_plan(), which pulls the
// programs of one lane after the other.
class PlanLayout {
 public:
  // The buffers of one instruction, which begin at `at` bytes of the rank's memory.
  struct Place {
    PlannedMemory buffers;
    std::uint64_t at = 0;
    ElementType type = ElementType::u8;
    Reduction reduction = Reduction::sum;
  };

  PlanLayout() = default;
  PlanLayout(const PlanLayout&) = delete;
  PlanLayout& operator=(const PlanLayout&) = delete;
  virtual ~PlanLayout() = default;

  // What follows is about this rank ...
  [[nodiscard]] virtual PlannedMemory begin_rank(int position) = 0;
  // ... and this lane of it, whose instructions come one by one.
  virtual void begin_lane(Lane lane) = 0;
  [[nodiscard]] virtual const Place& next(const Instruction& instruction) = 0;
  // The lines that the lane has carried out.
  [[nodiscard]] virtual std::vector<PlannedLine> take_lines() { return {}; }
};

[[nodiscard]] std::unique_ptr<PlanLayout> layout_of(const Schedule& schedule);

// Each stream of a rank has a stretch of memory, as long as the longest of its messages and calls
// needs.  Of what a rank does at a time, no two things have the same stretch.
[[nodiscard]] std::unique_ptr<PlanLayout> layout_of(const Workload& workload);

}  // namespace collsim
