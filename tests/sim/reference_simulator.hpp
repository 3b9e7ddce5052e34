// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "collectives/cost/cost_model.hpp"
#include "collectives/programs.hpp"
#include "collectives/timeline.hpp"
#include "topo/topology.hpp"

namespace collsim::testing {

// The model of sim/simulate.hpp a second time, written from its text alone: slow, without any idea
// that saves time, and without a line in common with the engines.  It is what they are compared
// with.
//
// What happens at one instant, in this order, and again from the start until nothing does:
//   1. Flows end; messages whose startup is over, and whose connection is free, begin to flow, and
//      end at once when they are empty.
//   2. Lanes do whatever hands over no message, as far as they come.
//   3. A round: whoever asks for a link now, by rank, then lane, then order of sending: lanes hand
//      over their next message, which asks for its first link (this is where the sending
//      instruction ends, and frees the slot of what it received); messages whose head is at their
//      next link ask for that.  Then 2 again, and the next round, until nobody asks.
//   4. All flows get their new rates.
//
// Which ways there are it asks the Router; which of them a message takes it works out itself.
struct Reference {
  bool deadlock = false;  // nothing will happen any more, and some lane has not ended
  Time time;
  std::vector<Time> finished;      // per position
  Timeline timeline;               // without the causes (message_from and so on)
  std::uint64_t rate_changes = 0;  // how often a flow got a rate other than its route's bandwidth
};

// For programs whose sends and receives match.
[[nodiscard]] Reference reference_simulate(const Topology& topology, const Programs& programs,
                                           const CostModel& costs = {},
                                           const std::vector<std::pair<Rank, Time>>& late = {});

}  // namespace collsim::testing
