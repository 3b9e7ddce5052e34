// SPDX-License-Identifier: Apache-2.0
//
// Fully sharded data parallel training (PyTorch's FSDP, ZeRO's third stage).  Every rank keeps 1/K
// of the parameters of every layer.  Before a layer is used, its parameters are gathered from all
// ranks, and dropped afterwards; in the backward pass its gradients are added up and scattered at
// once.  All collectives go out on one stream, one after the other; gathering is hidden behind the
// layers before.
//
//   compute         | forward 1 | forward 2 | ... | backward 2 |  | backward 1 | optimizer
//   communication   ag 1 | ag 2 |    | ag 3 | ...   | ag 1 | rs 2 |             | rs 1 |
//
// At most u layers are whole at a time in the forward pass, in which, with a_l for the gathering,
//
//   G_l = max(G_(l-1), F_(l-u)) + a_l,  F_l = max(F_(l-1), G_l) + f_l
//
// In the backward pass the layer before is gathered before (prefetch pre) or after (post) the
// computation of a layer, and before that layer's gradients go out, or after these (none).  The
// last layer is still whole when the backward pass begins.  Several microbatches do all of this one
// after the other, and the optimizer comes after the last.
//
// Hybrid: each of R = K/G groups of G neighbouring ranks, such as nodes, keeps all parameters.
// Layers are gathered, and their gradients scattered, within a group; then each rank averages its
// part of the gradients with its counterparts in the other groups, on a stream of its own.  To
// other groups it sends 2 (R-1)/R n/G bytes of a layer of n.
//
// Y. Zhao et al.: PyTorch FSDP: Experiences on Scaling Fully Sharded Data Parallel, VLDB 2023.
// S. Rajbhandari et al.: ZeRO: Memory Optimizations Toward Training Trillion Parameter Models,
// SC20.
#include <algorithm>
#include <memory>

#include "collectives/workloads/launch.hpp"
#include "collectives/workloads/step_data.hpp"
#include "collectives/workloads/turns.hpp"
#include "collectives/workloads/workloads.hpp"
#include "topo/error.hpp"

namespace collsim {

namespace {

enum FsdpStreams : std::uint8_t { fsdp_compute, fsdp_communication, fsdp_replicas };
enum FsdpCommunicators : std::uint8_t { fsdp_shards, fsdp_copies };

struct FsdpPlan {
  Fsdp fsdp;
  Model model;
  bool is_hybrid = false;
  int copies = 1;  // of the parameters

  [[nodiscard]] std::int64_t elements(std::int64_t l) const {
    return model.layers[static_cast<std::size_t>(l)].gradients / size_of(model.type);
  }
  // Layers without parameters are neither gathered nor scattered.
  [[nodiscard]] bool is_bare(std::int64_t l) const { return elements(l) == 0; }
  [[nodiscard]] Call call(Operation operation, std::int64_t count, int members,
                          const AlgorithmChoice& choice) const {
    Call call;
    call.operation = operation;
    call.type = model.type;
    call.count = padded(count, members * choice.channels);
    call.reduction = Reduction::avg;
    call.choice = &choice;
    return call;
  }
  [[nodiscard]] Action gather(std::int64_t l, std::int32_t microbatch) const {
    const Call all_gather = call(Operation::all_gather, elements(l), fsdp.shards, fsdp.all_gather);
    return labelled(collective(fsdp_communication, fsdp_shards, all_gather),
                    of(Label::Kind::parameters, l, microbatch));
  }
  [[nodiscard]] Action scatter(std::int64_t l, std::int32_t microbatch) const {
    const Call reduce_scatter =
        call(Operation::reduce_scatter, elements(l), fsdp.shards, fsdp.reduce_scatter);
    return labelled(collective(fsdp_communication, fsdp_shards, reduce_scatter),
                    of(Label::Kind::parameters, l, microbatch));
  }
  // Of the part that a rank keeps.
  [[nodiscard]] Action average(std::int64_t l, std::int32_t microbatch) const {
    Call all_reduce = call(Operation::all_reduce, 0, copies, fsdp.all_reduce);
    all_reduce.count = padded(elements(l), fsdp.shards) / fsdp.shards;
    return labelled(collective(fsdp_replicas, fsdp_copies, all_reduce),
                    of(Label::Kind::parameters, l, microbatch));
  }
  // The host's stream is the last one.
  [[nodiscard]] LaunchedPass pass(Label::Kind kind, std::int64_t l, std::int32_t microbatch) const {
    return {model, model.layers[static_cast<std::size_t>(l)], of(kind, l, microbatch), fsdp_compute,
            is_hybrid ? fsdp_replicas + 1 : fsdp_communication + 1};
  }
  [[nodiscard]] Label of(Label::Kind kind, std::int64_t l, std::int32_t microbatch) const {
    return {kind, static_cast<std::int32_t>(l + 1), fsdp.microbatches > 1 ? microbatch + 1 : 0};
  }
};

Script fsdp_forward(std::shared_ptr<const FsdpPlan> plan, std::int32_t microbatch) {
  const auto count = static_cast<std::int64_t>(plan->model.layers.size());
  const int unsharded = plan->fsdp.unsharded;
  const std::int64_t passes = 2 * count * microbatch;  // of layers before
  for (std::int64_t l = 0; l < count; ++l) {
    if (l >= unsharded) co_yield wait(fsdp_communication, fsdp_compute, passes + l - unsharded + 1);
    if (!plan->is_bare(l)) co_yield plan->gather(l, microbatch);
    co_yield record(fsdp_communication, fsdp_compute);
    co_yield wait(fsdp_compute, fsdp_communication);
    const LaunchedPass pass = plan->pass(Label::Kind::forward, l, microbatch);
    for (int i = 0; i < pass.lines(); ++i) co_yield pass.line(i);
    co_yield record(fsdp_compute, fsdp_communication);
  }
}

Script fsdp_backward(std::shared_ptr<const FsdpPlan> plan, std::int32_t microbatch) {
  const auto count = static_cast<std::int64_t>(plan->model.layers.size());
  const auto gathers_at = [&](std::int64_t l, Fsdp::Prefetch when) {
    return l > 0 && plan->fsdp.prefetch == when;
  };
  // How often communication told compute before: of layers that were gathered, all but the last
  // twice, and of the end of a microbatch, unless replicas tell of that.
  const std::int64_t gathered = (2 * count - (plan->is_hybrid ? 1 : 0)) * microbatch;
  for (std::int64_t l = count - 1; l >= 0; --l) {
    if (l < count - 1)
      co_yield wait(fsdp_compute, fsdp_communication, gathered + 2 * count - 1 - l);
    if (gathers_at(l, Fsdp::Prefetch::pre)) {
      co_yield wait(fsdp_communication, fsdp_compute);
      if (!plan->is_bare(l - 1)) co_yield plan->gather(l - 1, microbatch);
      co_yield record(fsdp_communication, fsdp_compute);
    }
    const LaunchedPass pass = plan->pass(Label::Kind::backward, l, microbatch);
    for (int i = 0; i < pass.lines(); ++i) co_yield pass.line(i);
    co_yield record(fsdp_compute, fsdp_communication);
    co_yield wait(fsdp_communication, fsdp_compute);
    if (gathers_at(l, Fsdp::Prefetch::post)) {
      if (!plan->is_bare(l - 1)) co_yield plan->gather(l - 1, microbatch);
      co_yield record(fsdp_communication, fsdp_compute);
    }
    if (!plan->is_bare(l)) co_yield plan->scatter(l, microbatch);
    if (plan->is_hybrid && !plan->is_bare(l)) {
      co_yield record(fsdp_communication, fsdp_replicas);
      co_yield wait(fsdp_replicas, fsdp_communication);
      co_yield plan->average(l, microbatch);
    }
    if (gathers_at(l, Fsdp::Prefetch::none)) {
      if (!plan->is_bare(l - 1)) co_yield plan->gather(l - 1, microbatch);
      co_yield record(fsdp_communication, fsdp_compute);
    }
  }
}

Script fsdp_step(std::shared_ptr<const FsdpPlan> plan) {
  const int last = plan->is_hybrid ? fsdp_replicas : fsdp_communication;
  co_yield labelled(work(fsdp_compute, plan->model.forward), {Label::Kind::forward});
  for (std::int32_t microbatch = 0; microbatch < plan->fsdp.microbatches; ++microbatch) {
    Script forward = fsdp_forward(plan, microbatch);
    while (const Action* const action = forward.next()) co_yield *action;
    Script backward = fsdp_backward(plan, microbatch);
    while (const Action* const action = backward.next()) co_yield *action;
    co_yield record(last, fsdp_compute);
    co_yield wait(fsdp_compute, last);
  }
  // Each rank updates the parameters that it keeps.
  co_yield labelled(work(fsdp_compute, Time(plan->model.optimizer.ps() / plan->fsdp.shards)),
                    {Label::Kind::optimizer});
}

}  // namespace

Workload make_workload(const Fsdp& fsdp, const Model& model, int ranks) {
  FsdpPlan plan{fsdp, with_sharding(model), fsdp.shards > 0 && fsdp.shards < ranks};
  if (!plan.is_hybrid) plan.fsdp.shards = ranks;
  const int shared_by = plan.fsdp.shards;
  if (ranks % shared_by != 0)
    throw_error(ErrorCode::invalid_argument, ranks, " ranks are no whole number of groups of ",
                shared_by);
  plan.copies = ranks / shared_by;
  Workload::Parts parts;
  parts.group = first_ranks(static_cast<std::size_t>(ranks));
  parts.stream_names = {"compute", "communication"};
  parts.communicators = {{plan.is_hybrid ? "shards" : "world", strided_groups(ranks, shared_by, 1),
                          std::max(lanes_of(Operation::all_gather, fsdp.all_gather),
                                   lanes_of(Operation::reduce_scatter, fsdp.reduce_scatter))}};
  if (plan.is_hybrid) {
    parts.stream_names.emplace_back("replicas");
    parts.communicators.push_back({"replicas", strided_groups(ranks, plan.copies, shared_by),
                                   lanes_of(Operation::all_reduce, fsdp.all_reduce)});
  }
  if (model.launch > Time{}) parts.stream_names.emplace_back("host");
  parts.script = [plan = std::make_shared<const FsdpPlan>(plan)](Rank) { return fsdp_step(plan); };
  parts.turns = turns_of_like_ranks(parts);
  parts.data = data_of(plan.fsdp, model, parts.group);
  return Workload(std::move(parts));
}

}  // namespace collsim
