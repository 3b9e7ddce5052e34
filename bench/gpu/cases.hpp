// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "collectives/algorithms.hpp"
#include "validate/backend.hpp"

namespace collsim::bench {

// On one GPU, where it is the only one that is needed.
inline constexpr int virtual_ranks = 8;
// Beside NCCL, what it does: slots that are used again stay in the cache, and so many channels on
// NVLink.
inline constexpr int slots_of_nccl = 8, channels_of_nccl = 16;

// f32, sum, ranks 0..ranks-1.
[[nodiscard]] Collective collective_of(Operation operation, int ranks, Bytes bytes);

// "all-reduce ring, 8 ranks, 1009 f32 sum, 2 chunks, 1 channel, slots 2, simple"
[[nodiscard]] std::string to_text(const Collective& collective, const AlgorithmChoice& choice,
                                  Protocol protocol);

// Runs it in this process, on one GPU however many there are.  "" when every byte was right; else
// what went wrong.
struct Ran {
  std::optional<Measurement> measured;
  std::string problem;
};
[[nodiscard]] Ran run_case(const RunCase& run_case, const RunOptions& options);
// The same with a GPU for every rank, as far as there are so many.
[[nodiscard]] Ran run_on_gpus(const RunCase& run_case, const RunOptions& options);

}  // namespace collsim::bench
