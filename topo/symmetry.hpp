// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace collsim {

// A renaming of ranks that leaves everything unchanged, so that one rank can stand for all.
//   rotation: rank i is to rank i+d what rank 0 is to rank d (mod K)
//   exchange: rank i is to rank i xor d what rank 0 is to rank d
// Schedules and topologies each have it or not; a case has it if both do.
enum class Symmetry : std::uint8_t { none, rotation, exchange };

}  // namespace collsim
