// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/json/diagnostics.hpp"
#include "app/json/value.hpp"
#include "app/scenario/cluster/cluster.hpp"
#include "app/scenario/workload/failure_plan.hpp"
#include "app/scenario/workload/step_protocol.hpp"
#include "collectives/cost/closed_forms.hpp"
#include "collectives/workload.hpp"
#include "collectives/workload_checker.hpp"

namespace collsim {

struct WrittenProgram;

// What a step computes, of a model whose FLOP are known.
struct StepWork {
  double tokens = 0;
  double model_flop = 0;  // of all ranks, nothing counted twice
  double flop = 0;        // with what is computed again
  double peak = 0;        // FLOP/s of all ranks
};

// What memory it takes.
struct StepMemory {
  std::vector<double> most_bytes;  // of a rank, by stage; of a program by rank
  Bytes device = 0;                // that a device has; 0: unknown
  // Of a transformer, by stage: what a rank keeps all the time (study/memory_over_time.hpp).
  std::vector<double> kept_bytes = {};
  double activation_bytes = 0;  // of a layer and a microbatch
  double whole_bytes = 0;       // of a layer's parameters, or gradients, that ZeRO has whole ...
  std::vector<double> most_whole = {};  // ... and how many of them a stage has at once
};

// A step of training: what a scenario says in place of a collective.
struct TrainingStep {
  std::string scheme;  // ddp, fsdp, ...
  Workload workload;
  // Where ranks have room for so many collectives only, which `workload` counts with.
  struct Room {
    int collectives = 1;
    Workload unlimited;
  };
  std::optional<Room> room = {};
  bool keeps_parts = false;         // that differ by an element, however long simulating it takes
  std::optional<int> buckets = {};  // that gradients go out in
  std::optional<int> microbatches = {};  // of a pipeline
  // Of a pipeline, by stage: of how many microbatches (of how many pieces, where a stage has
  // several) it holds activations at once, at most.
  std::vector<int> activations = {};
  std::optional<ClosedForm> formula = {};
  std::shared_ptr<const WrittenProgram> program = nullptr;  // of an explicit one (program.hpp)
  std::optional<Time> timeout = {};                         // of every collective
  std::optional<StepWork> work = {};
  std::optional<StepMemory> memory = {};     // none: not known of this scheme
  std::optional<FailurePlan> failures = {};  // of a long job of such steps
  std::int64_t slowdown = 0;                 // CostModel::slowdown
  std::optional<StepProtocol> protocol = {};
};

// As its author asked for it, which is what can be proved of data and named in messages.
[[nodiscard]] inline const Workload& asked_for(const TrainingStep& step) {
  return step.room ? step.room->unlimited : step.workload;
}
[[nodiscard]] WorkloadReport check(const TrainingStep& step);

// What "workload" is read against.
struct WorkloadContext {
  const Cluster* cluster = nullptr;  // null: unknown, because something is wrong with it
  // A sweep changes the workload: keys that mean something at some of its points are no mistake.
  bool varies = false;
};

// Reads "workload"; `resolved` gets it with every default.
//
//   one scheme with its options: ddp, fsdp, pipeline, tensor, experts, parameter-server,
//                                data-parallel, train (schemes.cpp says which options)
//   model                        what is trained (layers.cpp, transformer.cpp)
//   device                       what computes a transformer, how much slower while collectives
//                                are under way, and how many of these at a time (device.cpp)
//   or program with groups and data: what each rank does, line by line (program.hpp)
//   protocol                     of NCCL, that messages are sent under (step_protocol.hpp)
//   timeout                      a rank gives up when one of its collectives takes longer
//   slow                         {"5": 1.1, "6": "10ms"}: all work of rank 5 takes 1.1 times as
//                                long, rank 6 begins its step with 10 ms of its own
//   jitter                       {"mean": 0.02, "seed": 1}: all work of all ranks takes longer by
//                                random shares, {"mean": "2ms"}: their steps begin later
//   failures                     of a long job of such steps (failure_plan.hpp)
//
// The first `ranks` ranks of the cluster take part, by default all.  Nothing when something is
// wrong, which is then in the diagnostics; these must be empty before.
[[nodiscard]] std::optional<TrainingStep> read_workload(const JsonValue& workload,
                                                        const std::string& pointer,
                                                        const WorkloadContext& context,
                                                        Diagnostics& diagnostics,
                                                        JsonValue& resolved);

// A value of a sweep over "workload" in place of what is written: its members replace those there,
// and its scheme the scheme.
[[nodiscard]] JsonValue laid_over(const JsonValue& value, const JsonValue& written);

}  // namespace collsim
