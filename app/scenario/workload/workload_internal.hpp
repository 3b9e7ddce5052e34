// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/scenario/object_reader.hpp"
#include "app/scenario/workload/device.hpp"
#include "app/scenario/workload/workload.hpp"
#include "collectives/workloads/transformer.hpp"
#include "collectives/workloads/workloads.hpp"

// The parts of "workload".  All report what is wrong and go on.

namespace collsim {

// "dtype" of a model: a type of elements, or float8, whose elements have a byte.
struct TrainingType {
  ElementType type = ElementType::f32;
  bool has_8_bits = false;
};
[[nodiscard]] TrainingType read_training_type(ObjectReader& model, const std::string& otherwise);

// "model" of the workload.
//
//   layers     [{name, times, forward, backward, gradients, activations}, ...] in the order of the
//              forward pass; a row with `times` stands for so many layers
//   forward    time of the forward pass outside of all layers
//   optimizer  time of the update of all parameters
//   dtype      of gradients and activations
//   name       in place of layers: resnet-50, ... (collectives/workloads/named_models.hpp), with
//              the times of the whole in `forward` and `backward`
[[nodiscard]] Model read_trained_model(const JsonValue& model, const std::string& pointer,
                                       Diagnostics& diagnostics, JsonValue& resolved);

// "device" of the workload; nothing without one.  Where it computes a transformer, its keys come on
// top of those of the GPU that the cluster's preset names; else only the first three are read.
//
//   slowdown          0.1: computing is so much slower on a rank while collectives are under way
//   collectives_at_a_time  how many a rank has room for: each begins when all that the rank asked
//                     for so many or more before it have ended; default: no limit
//   flops             peak rate of the type that computes: "312TFLOP/s"
//   flops_float8      the same in 8 bits, for models with "dtype": "float8"
//   efficiency        what of it products with parameters reach
//   attention         what of it those of attention reach; default: efficiency
//   memory            "80GB", for what a stage needs
//   memory_bandwidth  what of it is reached: "850GB/s"
//   latency           of a pass of a layer on the device, besides what it computes
//   launch            of a pass of a layer on the host, which is ahead of the device
//   skew              how late a rank comes to a collective of its tensor group, in the mean
//   sharding          what a pass of a layer takes longer whose parameters FSDP gathers for it
[[nodiscard]] std::optional<TrainingDevice> read_device(ObjectReader& workload,
                                                        const Cluster* cluster, bool computes);
// That of the device, or of the GPU that the cluster's preset names; 0: unknown.
[[nodiscard]] Bytes memory_of_device(const std::optional<TrainingDevice>& device,
                                     const Cluster* cluster);

// How a scheme spreads a model over ranks, before its options are read for good.
struct TrainingLayout {
  int tp = 1, pp = 1, dp = 1;
  int cp = 1;      // ranks that share a sequence
  int chunks = 1;  // pieces of the model on a stage
  bool sequence_parallel = false;
  int zero = 0;        // how much is spread over ranks, see bytes_per_parameter(), ...
  int sharded_by = 1;  // ... and over how many: the replicas, or what "hybrid" says
  // Layers whose parameters FSDP has whole at once (ZeRO 3), and those whose gradients it has: one
  // in its backward pass, the other being scattered.
  int most_whole = 0;
  // The same of a stage with fewer layers.
  [[nodiscard]] double most_whole_of(double layers) const {
    return std::min(static_cast<double>(most_whole), (zero == 3 ? 2 : 1) * layers);
  }
  bool keeps_otherwise = false;  // a replica is on several ranks, or servers have the parameters
  // What is usual where a scheme comes from: PyTorch fuses attention, Megatron-LM as published in
  // 2021 does not.
  bool fused_attention = false;

  [[nodiscard]] TensorGroup tensor_group() const { return {tp, sequence_parallel, cp}; }
};
[[nodiscard]] TrainingLayout layout_of(const std::string& scheme, const JsonValue* written,
                                       int ranks);

// Of a model with so many, on all pieces of a stage.
[[nodiscard]] double layers_of_stage(std::int64_t layers, const TrainingLayout& layout, int stage);

// "transformer" of the model: layers, hidden, heads, seq, kv_heads, ffn, architecture, vocab, or a
// name for all of these; micro_batch, global_batch, dtype, recompute, attention.
struct TransformerReading {
  Transformer transformer;
  std::optional<std::int64_t> microbatches = {};  // of each replica, by the global batch
};
[[nodiscard]] TransformerReading read_transformer(ObjectReader& model,
                                                  const TrainingLayout& layout);
[[nodiscard]] StepWork work_of(const TransformerReading& read, const TrainingDevice& device,
                               const TrainingLayout& layout, const TrainingStep& step);
[[nodiscard]] StepMemory memory_of(const TransformerReading& read, const TrainingDevice& device,
                                   const TrainingLayout& layout, const TrainingStep& step);
// Of other models: parameters, gradients, Adam's state, and the activations that layers hand on.
// Nothing where the model has none of these, and of schemes that keep them in other ways.
[[nodiscard]] std::optional<StepMemory> memory_of(const Model& model, const TrainingLayout& layout,
                                                  const TrainingStep& step);

// What a scheme is made for.
struct SchemeContext {
  const Model* model = nullptr;
  std::optional<std::int64_t> microbatches = {};  // that the model asks for
  const Cluster* cluster = nullptr;               // null: unknown
  bool varies = false;
  bool any_slow = false;
  std::optional<int> some = {};  // so many ranks of the cluster take part, the first

  [[nodiscard]] int ranks() const {
    return some.value_or(cluster == nullptr ? 0 : static_cast<int>(cluster->topology.rank_count()));
  }
};

// In the order in which messages show them.
[[nodiscard]] const std::vector<std::string>& scheme_names();

// Where the groups span nodes: channel c enters each node at its c-th member.  On presets there are
// as many channels of a ring as a node has members, unless their number is `chosen`: as NCCL has
// them, so that all NICs are used; and in nodes whose GPUs are joined directly a ring's channels go
// along those links (nccl_rings.hpp).  Nothing where groups lie differently in their nodes.
void spread_over_nics(AlgorithmChoice& choice, bool chosen, const Cluster& cluster,
                      const std::vector<std::vector<Rank>>& groups);

// The options of a scheme, and the step.  Nothing when anything was wrong, here or before.
[[nodiscard]] std::optional<TrainingStep> read_scheme(
    const std::string& name, const JsonValue& written, const std::string& pointer,
    const SchemeContext& context, Diagnostics& diagnostics, JsonValue& resolved);

// What textbooks say of a pipeline alone whose stages are alike and whose messages cost nothing.
[[nodiscard]] std::optional<ClosedForm> pipeline_formula(const Train& train, const Model& model);

}  // namespace collsim
