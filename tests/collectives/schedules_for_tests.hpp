// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "collectives/schedule.hpp"
#include "tests/collectives/collective_of.hpp"

// Schedules written out by hand, schedules taken apart into lists and put together again, and the
// judgement of the executor.  None of it knows the product's algorithms or its checker.
namespace collsim::test_schedules {

// All programs of a schedule, lane after lane, position after position.
using ListedPrograms = std::vector<std::vector<Instruction>>;

[[nodiscard]] constexpr Endpoint at(int rank, int lane = 0) {
  return {Rank(static_cast<std::size_t>(rank)), Lane(static_cast<std::size_t>(lane))};
}
[[nodiscard]] constexpr Span input(std::int64_t offset, std::int64_t count) {
  return {Buffer::input, offset, count};
}
[[nodiscard]] constexpr Span output(std::int64_t offset, std::int64_t count) {
  return {Buffer::output, offset, count};
}
[[nodiscard]] constexpr Span scratch(std::int64_t offset, std::int64_t count) {
  return {Buffer::scratch, offset, count};
}

struct HandMade {
  Collective collective;
  ListedPrograms programs;
  int lanes = 1;
  std::optional<int> slots{};
  std::int64_t scratch = 0;
};
[[nodiscard]] Schedule make(HandMade parts);

[[nodiscard]] ListedPrograms record(const Schedule& schedule);
[[nodiscard]] Schedule replay(const Schedule& like, ListedPrograms programs);
// The same programs for the other form of the collective.
[[nodiscard]] Schedule pretend_in_place(const Schedule& schedule, bool in_place);

// The textbook ring, one chunk per block; ranks 0..ranks-1.
[[nodiscard]] Schedule ring_all_reduce(int ranks, std::int64_t count, bool in_place = false);
// 0 -> 1 -> ... -> ranks-1 in `chunks` pieces.
[[nodiscard]] Schedule chain_broadcast(int ranks, std::int64_t count, int chunks);
// An all-reduce on two lanes: lane 0 reduces along a chain to the last rank and tells lane 1 there,
// chunk by chunk, which sends the sums back.
[[nodiscard]] Schedule two_lane_all_reduce(int ranks, std::int64_t count, int chunks);
// Everybody tells everybody.
[[nodiscard]] Schedule direct_barrier(int ranks);

// What the executor finds wrong with a schedule in three visiting orders (and, for a barrier, with
// every rank held back in turn); empty when nothing.
[[nodiscard]] std::string judge(const Schedule& schedule);

}  // namespace collsim::test_schedules
