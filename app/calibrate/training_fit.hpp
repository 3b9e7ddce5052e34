// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "app/calibrate/fit.hpp"
#include "app/json/diagnostics.hpp"
#include "app/json/sources.hpp"
#include "app/json/value.hpp"
#include "app/scenario/workload/device.hpp"
#include "app/scenario/workload/step_protocol.hpp"
#include "collectives/workloads/transformer.hpp"

namespace collsim {

// A measured step of a transformer, spread as Megatron-LM spreads it, or fully sharded.
struct TrainingRun {
  Transformer model;
  bool sharded = false;  // FSDP: tp and pp are 1
  bool sequence_parallel = false;
  int tp = 1, pp = 1, dp = 1;
  int chunks = 1;  // pieces of the model on a stage
  std::int64_t microbatches = 1;
  double step_s = 0;
  std::string source;  // of the row, where the table says it
};

// A table with a line of names, separated by commas: tp, pp, dp, global_batch, micro_batch, hidden,
// heads, layers, seq and iteration_ms or iteration_s are needed.  scheme (train, fsdp), recompute
// (none, selective, full), attention (plain, fused), sequence_parallel (true, false), chunks,
// vocab, architecture (gpt, llama), kv_heads, ffn and source may be there.
// For tables that do not say what was computed again, `recompute` does.
struct TrainingTable {
  std::vector<TrainingRun> runs;
  std::vector<std::string> other_columns;  // which are passed over
};
[[nodiscard]] TrainingTable read_training_table(std::uint32_t source, const Sources& sources,
                                                Transformer::Recompute recompute,
                                                Diagnostics& diagnostics);

// The machine besides its devices: the way from one GPU of a node to another, and to the next node,
// under each protocol of NCCL (step_protocol.hpp).
struct TrainingLinks {
  struct Ways {
    ProtocolWay node, network;
  };
  std::vector<Ways> protocols;
  int gpus_per_node = 1;
};

// The step by a formula, under the protocol with which it takes least, so that a fit can ask for it
// many thousands of times; what it simplifies is that collectives are rings (ring_seconds()), and
// that replicas begin together.  With m microbatches, p
// stages, f and b for a stage's passes with their collectives (and not less than the host needs),
// and f' and b' for those of the last stage, which has the logits:
//
//   T = m (f' + b') + (p - 1) (f + b) / v + messages + all-reduce among replicas + optimizer
//
// where v is the number of pieces on a stage.  Sharded, a pass of a layer takes no less than
// gathering its parameters, g (backward: and scattering its gradients), during which computing is
// slower by the share s, and u longer:
//
//   T = m (L (max(f + u + s g, g) + max(b + u + 2 s g, 2 g)) + logits) + g + optimizer / K
//
// and, each of the m times, no less than the host needs for the passes.
[[nodiscard]] double step_formula(const TrainingRun& run, const TrainingDevice& device,
                                  const TrainingLinks& links);

// What is fitted of a device, in the order of TrainingFit::constants.
inline constexpr std::array<const char*, 8> training_constants{
    "efficiency", "attention", "memory_bandwidth", "latency",
    "launch",     "skew",      "sharding",         "slowdown"};

// The constants of a device with the peak of `known`, whose other constants are what is thought
// likely where the runs say little; those with the names `held` stay what they are.
// Sources with many runs count no more than those with few.
struct TrainingFit {
  TrainingDevice device;
  std::vector<Fitted> constants;
  std::vector<double> errors;             // formula / measured - 1, of each run
  std::vector<std::string> undetermined;  // constants that no run depends on
};
[[nodiscard]] TrainingFit fit_training(const std::vector<TrainingRun>& runs,
                                       const TrainingDevice& known, const TrainingLinks& links,
                                       const std::set<std::string>& held = {});

// "device" of a workload.
[[nodiscard]] JsonValue device_value(const TrainingDevice& device);

}  // namespace collsim
