// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "app/calibrate/fit.hpp"
#include "app/json/diagnostics.hpp"
#include "app/json/sources.hpp"
#include "app/json/value.hpp"
#include "collectives/workloads/transformer.hpp"

namespace collsim {

// A measured step of a transformer, spread as Megatron-LM spreads it.
struct TrainingRun {
  Transformer model;
  int tp = 1, pp = 1, dp = 1;
  std::int64_t microbatches = 1;
  double step_s = 0;
};

// A table with a line of names, separated by commas: tp, pp, dp, global_batch, micro_batch, hidden,
// heads, layers, seq and iteration_ms or iteration_s are needed, others are passed over.  Tables do
// not say what was computed again: `recompute` does, for all rows.
[[nodiscard]] std::vector<TrainingRun> read_training_runs(std::uint32_t source,
                                                          const Sources& sources,
                                                          Transformer::Recompute recompute,
                                                          Diagnostics& diagnostics);

// The machine besides its devices: bandwidths of a GPU into its node, and of a NIC for each GPU.
struct TrainingLinks {
  double node = 0, network = 0;  // bytes/s
  int gpus_per_node = 1;
};

// The step by a formula, so that a fit can ask for it many thousands of times; what it simplifies
// is that messages cost bandwidth alone, and that replicas begin together.  With m microbatches, p
// stages, f and b for a stage's passes with their collectives (and not less than the host needs),
// and f' and b' for those of the last stage, which has the logits:
//
//   T = m (f' + b') + (p - 1) (f + b) + messages + all-reduce among replicas + optimizer
[[nodiscard]] double step_formula(const TrainingRun& run, const Device& device,
                                  const TrainingLinks& links);

// efficiency, memory_bandwidth, latency, launch and skew of a device with the given peak.
struct TrainingFit {
  Device device;
  std::vector<Fitted> constants;  // in this order
  std::vector<double> errors;     // formula / measured - 1, of each run
};
[[nodiscard]] TrainingFit fit_training(const std::vector<TrainingRun>& runs, double flops,
                                       const TrainingLinks& links);

// "device" of a workload.
[[nodiscard]] JsonValue device_value(const Device& device);

}  // namespace collsim
