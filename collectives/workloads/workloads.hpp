// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "collectives/workload.hpp"
#include "collectives/workloads/model.hpp"
#include "collectives/workloads/pipeline.hpp"

namespace collsim {

// PyTorch's DistributedDataParallel.
struct Ddp {
  int microbatches = 1;                 // all but the last keep their gradients (no_sync)
  Bytes bucket = Bytes{25} << 20;       // bucket_cap_mb
  Bytes first_bucket = Bytes{1} << 20;  // PyTorch's _DEFAULT_FIRST_BUCKET_BYTES
  bool overlap = true;                  // or one all-reduce after the backward pass
  Bytes buffers = 0;                    // that rank 0 hands out before the first forward pass
  // The constructor's work comes first: rank 0 hands out all parameters.
  bool broadcast_parameters = false;
  // Neighbouring ranks that share a replica: each has some of the layers, one after the other.
  int devices_per_replica = 1;
  // ZeRO's first and second stage: gradients are reduced and scattered, every rank updates its part
  // of the parameters, and they are gathered.
  bool sharded_optimizer = false;
  // The second: after every pass, so that a rank keeps its part of the gradients only.
  bool scatters_each_pass = false;
  AlgorithmChoice all_reduce = {.name = "ring"};
  AlgorithmChoice reduce_scatter = {.name = "ring"};
  AlgorithmChoice all_gather = {.name = "ring"};
  AlgorithmChoice broadcast = {.name = "scatter-allgather"};
};
[[nodiscard]] Workload make_workload(const Ddp& ddp, const Model& model, int ranks);

// How many layers each bucket takes, in the order in which gradients are ready, the last layer
// first: a bucket is closed by the gradient with which it reaches its size, and by the first layer
// of a device.
[[nodiscard]] std::vector<int> layers_of_buckets(const Ddp& ddp, const Model& model);

// PyTorch's DataParallel, in one process.
struct DataParallel {
  Bytes inputs = 0;   // of all GPUs together
  Bytes outputs = 0;  // likewise
};
[[nodiscard]] Workload make_workload(const DataParallel& scheme, const Model& model, int ranks);

// The last `servers` of the ranks are servers, the others workers.
struct ParameterServer {
  int servers = 1;
  bool asynchronous = false;
};
[[nodiscard]] Workload make_workload(const ParameterServer& scheme, const Model& model, int ranks);

// A mixture of experts, one per rank; Layer::activations are what each rank sends and receives.
struct Experts {
  bool forward_only = false;
  AlgorithmChoice all_to_all = {.name = "pairwise"};
};
[[nodiscard]] Workload make_workload(const Experts& scheme, const Model& model, int ranks);

// PyTorch's FullyShardedDataParallel.
struct Fsdp {
  // When the parameters of the layer before are gathered in the backward pass: before or after the
  // computation of a layer, or when its gradients have gone out.
  enum class Prefetch : std::uint8_t { pre, post, none };
  Prefetch prefetch = Prefetch::pre;
  // Neighbouring ranks that together keep the parameters once; 0: all.  Fewer than all are a
  // hybrid: the others keep replicas.
  int shards = 0;
  int unsharded = 2;     // layers that are whole at a time, at most
  int microbatches = 1;  // each gathers parameters, and reduces and scatters gradients
  AlgorithmChoice all_gather = {.name = "ring"};
  AlgorithmChoice reduce_scatter = {.name = "ring"};
  AlgorithmChoice all_reduce = {.name = "ring"};  // among replicas
};
[[nodiscard]] Workload make_workload(const Fsdp& fsdp, const Model& model, int ranks);

// Megatron-LM's dimensions, on tp x pp x dp ranks; a pipeline or a tensor group alone has 1 in the
// others.  The times of layers are those of one microbatch on one of the tp ranks.
struct Train {
  int tp = 1, pp = 1, dp = 1;
  int cp = 1;  // of the dp ranks, so many neighbouring ones share sequences (context parallelism)
  int microbatches = 1;
  PipelineSchedule schedule = PipelineSchedule::one_f_one_b;
  int chunks = 1;  // interleaved: pieces of the model on every stage
  bool sequence_parallel = false;
  // ZeRO's stages.  1, the distributed optimizer: gradients are reduced and scattered among
  // replicas, each updates its part of the parameters, and they are gathered.  2: the gradients of
  // each microbatch are, as soon as a layer has them.  3: replicas keep parts of the parameters,
  // too, and gather those of a layer for each pass.
  int zero = 0;
  bool overlap = false;  // each layer's gradients leave as soon as the last microbatch has them

  [[nodiscard]] bool scatters_each_pass() const { return zero >= 2; }
  AlgorithmChoice all_reduce = {.name = "ring"};  // in tensor groups, as the next two
  AlgorithmChoice all_gather = {.name = "ring"};
  AlgorithmChoice reduce_scatter = {.name = "ring"};
  struct OfReplicas {
    AlgorithmChoice all_reduce = {.name = "ring"};
    AlgorithmChoice all_gather = {.name = "ring"};
    AlgorithmChoice reduce_scatter = {.name = "ring"};
  };
  OfReplicas replicas = {};
  OfReplicas context = {};                  // of those that share sequences
  AlgorithmChoice tied = {.name = "ring"};  // all-reduce of first and last stage
};
[[nodiscard]] Workload make_workload(const Train& train, const Model& model);

// A rank that is not as fast as the others.
struct SlowRank {
  Rank rank{};
  double factor = 1;  // of the time of all its work
  Time delay{};       // before its step begins
  // Every piece of its work takes longer by a random share of its own, exponential with this mean.
  double jitter = 0;
  std::uint64_t seed = 0;
};
[[nodiscard]] Workload slowed(const Workload& workload, const std::vector<SlowRank>& slow);

// The same where every rank has room for `most` collectives at a time (CheckedLaunch).  What the
// lines compute with is not known of it.  Error{invalid_argument}: fewer than one.
[[nodiscard]] Workload with_calls_at_a_time(const Workload& workload, int most);

// The same with equal parts of the data for all ranks where they differed by an element, so that
// one rank may stand for others (Programs::turns()).  Nothing where all data together would grow by
// more than `most_longer`, where the ranks differ in more than that, or need no such help.
[[nodiscard]] std::optional<Workload> with_equal_parts(const Workload& workload,
                                                       double most_longer);

// Noise on all ranks: a draw for each rank and piece of its work, the same for the same seed.
struct Jitter {
  double share = 0;  // SlowRank::jitter of every rank
  Time delay{};      // mean of what comes before a rank's step, exponential
  std::uint64_t seed = 1;
};
// In addition to what is slow anyway.
[[nodiscard]] std::vector<SlowRank> with_jitter(std::vector<SlowRank> slow, const Jitter& jitter,
                                                const std::vector<Rank>& ranks);

}  // namespace collsim
