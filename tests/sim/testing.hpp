// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "collectives/algorithms.hpp"
#include "sim/simulate.hpp"
#include "tests/collectives/collective_of.hpp"
#include "tests/topo/testing.hpp"
#include "topo/shapes.hpp"

namespace collsim::testing {

// A collective over the first `ranks` ranks whose elements are single bytes, so that counts are
// sizes.
inline Collective byte_collective(Operation operation, std::size_t ranks, Bytes size) {
  return collective_of(operation, static_cast<int>(ranks), size, ElementType::u8);
}

inline Schedule byte_schedule(Operation operation, std::size_t ranks, Bytes size,
                              const std::string& algorithm, int chunks = 1) {
  AlgorithmChoice choice;
  choice.name = algorithm;
  choice.chunks = chunks;
  return make_schedule(byte_collective(operation, ranks, size), choice);
}

// A schedule written by hand for a test: one lane per rank, all in one function.
inline Schedule handmade(std::size_t ranks, Schedule::ProgramFactory program,
                         std::optional<int> slots = {}, int lanes = 1) {
  Schedule::Parts parts;
  parts.collective = byte_collective(Operation::send_recv, ranks, 0);
  parts.algorithm = "handmade";
  parts.program = std::move(program);
  parts.slots = slots;
  parts.lanes = lanes;
  return Schedule(std::move(parts));
}

inline const Bandwidth ten = gigabytes_per_second(10);

// "Rows by message size in place of one line", read once more for the reference.
inline LinkSegment row_of(const Topology& topology, const Link& link, Bytes bytes) {
  LinkSegment row{.bandwidth = link.bandwidth, .latency = link.latency, .startup = link.startup};
  const LinkSegments& rows = topology.segments_of(link);
  for (auto next = rows.rbegin(); next != rows.rend(); ++next)
    if (next == rows.rbegin() || bytes <= next->up_to) row = *next;
  return row;
}

inline LinkParameters link_of(Bandwidth bandwidth, Time startup = {}, Time latency = {},
                              Sharing sharing = Sharing::exclusive) {
  return {bandwidth, latency, startup, sharing, false};
}

}  // namespace collsim::testing
