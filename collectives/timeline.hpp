// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "collectives/instruction.hpp"
#include "topo/units.hpp"

namespace collsim {

// WHEN every instruction waited, began and ended, and where its message was meanwhile.  A simulator
// predicts a timeline, a machine measures one; both use the same steps (the n-th instruction of a
// lane is step n), so they can be compared.
//
//   reached    the lane came to this instruction (its previous one ended)
//   began      everything it needs was available: the message, the free slot, the signal
//   ended      the lane goes on; a message it sends is ready to leave
//   departed   the message began on its first link; on fair links alone, it began to flow (its
//              startup is before that)
//   left       its last byte left the sender
//   arrived    it is there
struct Step {
  static constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();

  Rank rank;
  Lane lane;
  std::uint32_t index = 0;  // in its lane, from 0
  Instruction instruction;
  Time reached, began, ended;
  // All zero if it sends nothing; a signal arrives when it is sent.
  Time departed, left, arrived;

  // Why not earlier: positions in Timeline::steps, or none.
  std::uint32_t message_from = none;   // the step that sent what this one received
  std::uint32_t slot_freed_by = none;  // the step whose end made room for this one's message
  std::uint32_t queued_behind = none;  // the step whose message held this one's first link

  // In Timeline::crossings, one for each link of the route; of a message whose parts take several
  // ways, those of one way after those of another.
  std::uint32_t first_crossing = none;
  std::uint32_t links = 0;
};

// A message on one link of its route.
struct Crossing {
  LinkId link;
  Time asked;  // could have begun
  Time begun;
  Time ended;  // exclusive: the link is free again; fair: the last byte has passed
  std::uint32_t queued_behind = Step::none;  // the step whose message it waited for
};

// Ordered by rank, lane, index.
struct Timeline {
  std::vector<Step> steps;
  std::vector<Crossing> crossings;  // none where links were not watched, as on a real machine

  [[nodiscard]] std::span<const Crossing> crossings_of(const Step& step) const {
    if (step.links == 0) return {};
    return std::span(crossings).subspan(step.first_crossing, step.links);
  }
};

}  // namespace collsim
