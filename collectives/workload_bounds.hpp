// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <optional>

#include "collectives/cost/cuts.hpp"
#include "collectives/workload.hpp"

namespace collsim {

// What no run of a workload can beat, whatever the algorithms of its collectives.
//
//   compute     a stream works through its lines one after the other: the most that the lines of
//               one stream of one rank come to
//   bandwidth   the bytes that all collectives and messages of the workload bring over a cut of the
//               network, over the bandwidth of its links (collectives/cost/bounds.hpp); also those
//               of all blocks of a division together, where what leaves one enters another, and M
//               send each other 2 (M-1) N in an all-reduce of N bytes.  Startups and flights are
//               not counted: the next collective may begin on some ranks before the one before has
//               ended on others.
//
// Where turns of the ranks are claimed, messages outside of collectives are not counted.
struct WorkloadBounds {
  Time compute;
  Time bandwidth;
  [[nodiscard]] Time largest() const { return std::max(compute, bandwidth); }
};

// What the lines of all streams but `host` come to by their labels, on a rank in the mean: what a
// step computes, whatever slows it down.
struct WorkPhases {
  double forward_s = 0;
  double backward_s = 0;  // and the weights' gradients
  double other_s = 0;     // the optimizer, and what has no label
};

struct WorkloadTotals {
  WorkloadBounds bounds;
  WorkPhases phases;
};
// The cuts are of the workload's group.  Bounds are rounded down to picoseconds.  O(lines of the
// ranks that stand for the others, and for each division of the cuts ranks x different calls).
[[nodiscard]] WorkloadTotals workload_totals(const Workload& workload, const NetworkCuts& cuts,
                                             std::optional<int> host = std::nullopt);

}  // namespace collsim
