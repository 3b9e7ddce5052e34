// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "collectives/workload.hpp"

namespace collsim {

// A training step, as numbers; its machine is in Setting.  JavaScript writes it, in this order.
struct StepSetting {
  double scheme;  // 0: ddp, 1: pipeline with a stage on every rank
  double layers;  // all alike
  double forward_ps;
  double backward_ps;
  double gradient_bytes;    // of a layer
  double activation_bytes;  // that a layer hands on
  double optimizer_ps;
  double bucket_bytes;
  double first_bucket_bytes;
  double overlap;       // 0: one all-reduce after the backward pass
  double microbatches;  // of a pipeline
  double schedule;      // as PipelineSchedule
};

// What the core makes of it, as scenarios would.
[[nodiscard]] Workload workload_of(const StepSetting& setting, int ranks);

}  // namespace collsim
