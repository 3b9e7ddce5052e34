// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

namespace collsim {

// In which order a stage of a pipeline computes the parts of its microbatches.
//
//   gpipe        all forward, then all backward
//   one_f_one_b  as few forward as fill the pipeline, then one backward, one forward, ...
//   interleaved  the same with several pieces of the model on every stage, so that the pipeline
//                fills faster (Megatron-LM's order)
//   zb_h1        backward in two: what the stage before waits for, and the weights' gradients,
//                which fill the gaps
enum class PipelineSchedule : std::uint8_t { gpipe, one_f_one_b, interleaved, zb_h1 };

// One piece of work of a stage.
struct PipelineWork {
  enum class Kind : std::uint8_t { forward, backward, weights };
  Kind kind = Kind::forward;
  int microbatch = 0;
  int chunk = 0;  // which of the stage's pieces of the model
};

// What stage `stage` of `stages` does with m microbatches, in order.
[[nodiscard]] std::vector<PipelineWork> pipeline_order(PipelineSchedule schedule, int stage,
                                                       int stages, int microbatches, int chunks);

// For how many (microbatch, chunk) a stage holds activations at once, at most.
[[nodiscard]] int most_activations(const std::vector<PipelineWork>& order);

}  // namespace collsim
