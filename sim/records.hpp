// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "collectives/pieces.hpp"
#include "sim/critical_path.hpp"
#include "sim/simulate.hpp"

namespace collsim {

// A fully recorded simulation as columns of plain numbers, which JavaScript reads in place.  Times
// are picoseconds; -1 stands for "none".
struct NumberColumns {                                                 // columns of double
  std::vector<double> reached, began, ended, departed, left, arrived;  // see Step
  std::vector<double> bytes;                                           // of its message
  std::vector<double> path_from, path_to;                              // of the critical path
  std::vector<double> crossing_begun, crossing_ended;                  // see Crossing
  // By link; link_startup is 0 where data flow from the start or the size of a message decides.
  std::vector<double> link_busy, link_messages, link_startup;
  std::vector<double> had_begun, had_done;  // see OutputPiece
};
struct WholeColumns {  // columns of std::int32_t
  std::vector<std::int32_t> rank, index;
  std::vector<std::int32_t> to;  // the rank its message goes to
  // Of its message, see collectives/pieces.hpp; mixed is 1 where it holds other pieces too.
  std::vector<std::int32_t> piece, mixed;
  std::vector<std::int32_t> added;  // see collectives/contributions.hpp; empty: nothing is added
  // Why it did not begin when its lane reached it: 0 no wait, 1 a message, 2 a free slot, 3 a
  // signal of another lane; and the step that ended the wait.
  std::vector<std::int32_t> wait, waited_for;
  std::vector<std::int32_t> queued_behind;  // the step whose message held its first link
  // Position of its message's first crossing; and, by crossing, the step it waited behind.
  std::vector<std::int32_t> first_crossing, crossing_behind;
  std::vector<std::int32_t> route;  // of its message
  // Links of route r: route_links[route_first[r]] up to route_first[r + 1].
  std::vector<std::int32_t> route_first, route_links;
  std::vector<std::int32_t> path_kind, path_step;  // CriticalPath::Kind
  std::vector<std::int32_t> path_link;  // of the crossing that took the time of the segment
  std::vector<std::int32_t> had_rank, had_piece;                       // see OutputPiece
  std::vector<std::int32_t> brought_rank, brought_first, brought_end;  // see InputPieces
};
struct Records {
  NumberColumns numbers;
  WholeColumns whole;
  std::int32_t pieces = 0;
  Time contention{};  // waiting_for_others() of the critical path
};

[[nodiscard]] Records records_of(const Topology& topology, const Schedule& schedule,
                                 const Simulation& simulation, const Pieces& pieces);

// Inputs and outputs of the ranks, which only the stepper shows.
void add_holdings(const Schedule& schedule, const Simulation& simulation, const Pieces& pieces,
                  Records& records);

}  // namespace collsim
