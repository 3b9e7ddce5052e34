// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "collectives/schedule.hpp"

namespace collsim {

// A schedule cut up for a machine whose thread blocks have one peer to send to and one to receive
// from, on one channel for both.
struct ThreadBlockStep {
  std::optional<Op> op;  // none: it only waits
  Span source, destination;
  int other_block = -1, other_step = -1;  // waits for this step of the same rank
  bool is_awaited = false;
  bool is_half = false;  // one instruction together with the next step
};
struct ThreadBlock {
  int lane = 0;                 // of which it is a part
  int send = -1, receive = -1;  // positions
  int channel = 0;
  std::vector<ThreadBlockStep> steps;
};

// What a rank may have; more is Error{too_large}, naming it.
struct ThreadBlockLimits {
  int blocks = 0;
  int steps = 0;  // of a block
  int channels = 0;
};

// The thread blocks of every position.
//
// Messages.  A lane that receives from A and sends the same on to B needs one block for both, and
// then all that this block receives from A and sends to B goes through it.  So messages that are
// passed on in one go form paths from rank to rank, and a channel takes every path that agrees with
// those it has: between two ranks it serves one connection, and what comes over it leaves over one
// other.  The first channel that takes a path gets it.
//
// Order.  Steps of one lane that come one after the other in different blocks are tied by a
// dependency; signals and waits of the schedule become dependencies, too.  A step has at most one:
// others are in front of it, on steps that do nothing.  copy_send becomes a copy and a send.
//
// Error{invalid_argument} when a lane ends with a wait.
[[nodiscard]] std::vector<std::vector<ThreadBlock>> thread_blocks(const Schedule& schedule,
                                                                  const ThreadBlockLimits& limits);

}  // namespace collsim
