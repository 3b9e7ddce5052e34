// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "collectives/timeline.hpp"
#include "collectives/workload.hpp"

namespace collsim {

// A line of a rank's script and when its stream carried it out.
struct RecordedAction {
  Action action;
  Rank rank;
  Time begin, end;                              // from when the stream came to it until it went on
  std::uint32_t first_step = 0, last_step = 0;  // of the stream, in the timeline
};

// What the steps of a recorded run of a workload stand for: those of its streams, and those with
// which communicators carry out their collectives.
struct RecordedActions {
  std::vector<RecordedAction> all;     // by rank and stream, in order; those that took steps
  std::vector<std::uint32_t> of_step;  // positions in `all`, by step of the timeline; Step::none
};
[[nodiscard]] RecordedActions recorded_actions(const Workload& workload, const Timeline& timeline);

// Where a lane of a communicator begins and ends its part of a collective: the stream's signal, and
// the one that the stream waits for.
[[nodiscard]] inline bool begins_call(const Step& step, int streams) {
  return step.instruction.op == Op::wait && static_cast<int>(step.lane.index()) >= streams &&
         static_cast<int>(step.instruction.from.lane.index()) < streams;
}
[[nodiscard]] inline bool ends_call(const Step& step, int streams) {
  return step.instruction.op == Op::signal && static_cast<int>(step.lane.index()) >= streams &&
         static_cast<int>(step.instruction.to.lane.index()) < streams;
}

}  // namespace collsim
