// SPDX-License-Identifier: Apache-2.0
//
// The orders in which pipelines work.  With p stages, m microbatches, f and b for the forward and
// backward pass of one microbatch through one stage, the stages idle for (p-1)(f+b) in every step:
//
//   gpipe, 1f1b    T = (m+p-1) (f+b)
//   interleaved    T = m (f+b) + (p-1) (f+b)/v, v pieces of the model on every stage
//   zb-h1          T = m (f+b) + (p-1) (f+b-2w), b = input gradients + weight gradients w
//
//   1f1b, p = 4, m = 8        stage 0: F F F F B F B F B F B F B B B B
//                             stage 3: F B F B F B F B F B F B F B F B
//
// gpipe holds the activations of all m microbatches, 1f1b of p - s at stage s.
//
// Y. Huang et al.: GPipe, NeurIPS 2019.  D. Narayanan et al.: PipeDream, SOSP 2019; Efficient
// Large-Scale Language Model Training on GPU Clusters Using Megatron-LM, SC21 (interleaved).
// P. Qi et al.: Zero Bubble Pipeline Parallelism, ICLR 2024 (zb-h1).
#include "collectives/workloads/pipeline.hpp"

#include <algorithm>

#include "topo/error.hpp"

namespace collsim {

namespace {

using Order = std::vector<PipelineWork>;
using Pass = PipelineWork::Kind;

Order gpipe(int microbatches) {
  Order order;
  for (const Pass kind : {Pass::forward, Pass::backward})
    for (int j = 0; j < microbatches; ++j) order.push_back({kind, j});
  return order;
}

// The first `warm_up` forward; then forward and backward in turn, each in its own sequence.
template <class Forward, class Backward>
Order one_by_one(int all, int warm_up, const Forward& forward, const Backward& backward) {
  Order order;
  for (int k = 0; k < warm_up; ++k) order.push_back(forward(k));
  for (int k = 0; k < all; ++k) {
    if (k + warm_up < all) order.push_back(forward(k + warm_up));
    order.push_back(backward(k));
  }
  return order;
}

Order one_f_one_b(int stage, int stages, int microbatches) {
  return one_by_one(
      microbatches, std::min(stages - stage - 1, microbatches),
      [](int k) {
        return PipelineWork{Pass::forward, k};
      },
      [](int k) {
        return PipelineWork{Pass::backward, k};
      });
}

// Microbatches go through the pieces in groups of as many as there are stages.
Order interleaved(int stage, int stages, int microbatches, int chunks) {
  if (microbatches % stages != 0)
    throw_error(ErrorCode::invalid_argument,
                "an interleaved pipeline needs a multiple of its stages as microbatches, not ",
                microbatches, " for ", stages, " stages");
  const auto work = [=](Pass kind, int k) {
    const int chunk = k % (stages * chunks) / stages;
    return PipelineWork{kind, k / (stages * chunks) * stages + k % stages,
                        kind == Pass::forward ? chunk : chunks - 1 - chunk};
  };
  const int all = microbatches * chunks;
  const int warm_up = microbatches == stages
                          ? all
                          : std::min(2 * (stages - stage - 1) + (chunks - 1) * stages, all);
  return one_by_one(
      all, warm_up, [&](int k) { return work(Pass::forward, k); },
      [&](int k) { return work(Pass::backward, k); });
}

Order zb_h1(int stage, int stages, int microbatches) {
  Order order;
  int forward = 0;
  int weights = 0;
  for (; forward < std::min(stages - stage, microbatches); ++forward)
    order.push_back({Pass::forward, forward});
  for (int j = 0; j < microbatches; ++j) {
    order.push_back({Pass::backward, j});
    if (j >= stage) order.push_back({Pass::weights, weights++});
    if (forward < microbatches) order.push_back({Pass::forward, forward++});
  }
  while (weights < microbatches) order.push_back({Pass::weights, weights++});
  return order;
}

}  // namespace

std::vector<PipelineWork> pipeline_order(PipelineSchedule schedule, int stage, int stages,
                                         int microbatches, int chunks) {
  switch (schedule) {
    case PipelineSchedule::gpipe: return gpipe(microbatches);
    case PipelineSchedule::one_f_one_b: return one_f_one_b(stage, stages, microbatches);
    case PipelineSchedule::interleaved: return interleaved(stage, stages, microbatches, chunks);
    case PipelineSchedule::zb_h1: return zb_h1(stage, stages, microbatches);
  }
  COLLSIM_CHECK(false, "every schedule has an order");
}

int most_activations(const std::vector<PipelineWork>& order) {
  int held = 0;
  int most = 0;
  const bool splits = std::any_of(order.begin(), order.end(),
                                  [](const PipelineWork& w) { return w.kind == Pass::weights; });
  for (const PipelineWork& work : order) {
    if (work.kind == Pass::forward) most = std::max(most, ++held);
    if (work.kind == (splits ? Pass::weights : Pass::backward)) --held;
  }
  return most;
}

}  // namespace collsim
