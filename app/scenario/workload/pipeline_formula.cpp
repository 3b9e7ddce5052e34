// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "app/scenario/workload/workload_internal.hpp"

namespace collsim {
namespace {

bool are_alike(const std::vector<Layer>& layers) {
  const Layer& first = layers.front();
  return std::all_of(layers.begin(), layers.end(), [&](const Layer& layer) {
    return layer.forward == first.forward && layer.backward == first.backward &&
           layer.gradients == first.gradients && layer.activations == 0;
  });
}

}  // namespace

// With p stages, m microbatches, f and b for a stage, v pieces on each: see
// collectives/workloads/pipeline.cpp.  zb-h1 halves b; where half of it takes longer than f, or
// where microbatches do not fill the pipeline, no formula is known.
std::optional<ClosedForm> pipeline_formula(const Train& train, const Model& model) {
  const std::vector<Layer>& layers = model.layers;
  const auto pieces = static_cast<std::size_t>(train.pp) * static_cast<std::size_t>(train.chunks);
  const bool even = layers.size() % pieces == 0 || pieces % layers.size() == 0;
  if (train.tp > 1 || train.dp > 1 || train.pp == 1 || model.tied > 0 || !even ||
      !are_alike(layers))
    return std::nullopt;
  const double m = train.microbatches;
  const double idle = train.pp - 1;
  const double per_stage = static_cast<double>(layers.size()) / train.pp;
  const double f = per_stage * static_cast<double>(layers.front().forward.ps());
  const double b = per_stage * static_cast<double>(layers.front().backward.ps());
  ClosedForm form;
  form.exact = true;
  double ps = 0;
  switch (train.schedule) {
    case PipelineSchedule::gpipe:
    case PipelineSchedule::one_f_one_b:
      form.formula = "(m+p-1)*(f+b)";
      ps = (m + idle) * (f + b);
      break;
    case PipelineSchedule::interleaved:
      form.formula = "m*(f+b) + (p-1)*(f+b)/v";
      ps = m * (f + b) + idle * (f + b) / train.chunks;
      break;
    case PipelineSchedule::zb_h1:
      if (train.microbatches < train.pp || b > 2 * f || layers.front().again > Time{})
        return std::nullopt;
      form.formula = "m*(f+b) + (p-1)*f";
      ps = m * (f + b) + idle * f;
      break;
  }
  constexpr double per_second = 1e12;
  form.seconds = (ps + static_cast<double>(model.optimizer.ps()) / train.pp) / per_second;
  if (model.optimizer > Time{}) form.formula += " + optimizer/p";
  return form;
}

}  // namespace collsim
