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
// computation of a layer, or only when it is needed (none), and always before that layer's
// gradients go out.  The last layer is still whole when the backward pass begins.
//
// Y. Zhao et al.: PyTorch FSDP: Experiences on Scaling Fully Sharded Data Parallel, VLDB 2023.
// S. Rajbhandari et al.: ZeRO: Memory Optimizations Toward Training Trillion Parameter Models,
// SC20.
#include <algorithm>
#include <memory>

#include "collectives/workloads/workloads.hpp"

namespace collsim {

namespace {

enum FsdpStreams : std::uint8_t { fsdp_compute, fsdp_communication };

struct FsdpPlan {
  Fsdp fsdp;
  Model model;
  int ranks = 1;

  [[nodiscard]] Action call(Operation operation, std::int64_t l) const {
    const Layer& layer = model.layers[static_cast<std::size_t>(l)];
    Call call;
    call.operation = operation;
    call.type = model.type;
    call.count = layer.gradients / size_of(model.type);
    call.reduction = Reduction::avg;
    call.choice = operation == Operation::all_gather ? &fsdp.all_gather : &fsdp.reduce_scatter;
    return labelled(collective(fsdp_communication, 0, call), of(Label::Kind::parameters, l));
  }
  [[nodiscard]] static Label of(Label::Kind kind, std::int64_t l) {
    return {kind, static_cast<std::int32_t>(l + 1)};
  }
};

Script fsdp_step(std::shared_ptr<const FsdpPlan> plan) {
  const std::vector<Layer>& layers = plan->model.layers;
  const auto count = static_cast<std::int64_t>(layers.size());
  const Fsdp& fsdp = plan->fsdp;

  co_yield labelled(work(fsdp_compute, plan->model.forward), {Label::Kind::forward});
  for (std::int64_t l = 0; l < count; ++l) {
    const Layer& layer = layers[static_cast<std::size_t>(l)];
    if (l >= fsdp.unsharded)
      co_yield wait(fsdp_communication, fsdp_compute, l - fsdp.unsharded + 1);
    co_yield plan->call(Operation::all_gather, l);
    co_yield record(fsdp_communication, fsdp_compute);
    co_yield wait(fsdp_compute, fsdp_communication);
    co_yield labelled(work(fsdp_compute, layer.forward), plan->of(Label::Kind::forward, l));
    co_yield record(fsdp_compute, fsdp_communication);
  }
  for (std::int64_t l = count - 1; l >= 0; --l) {
    const Layer& layer = layers[static_cast<std::size_t>(l)];
    const bool pre = fsdp.prefetch == Fsdp::Prefetch::pre;
    if (l < count - 1) co_yield wait(fsdp_compute, fsdp_communication, 2 * count - 1 - l);
    if (l > 0 && pre) {
      co_yield wait(fsdp_communication, fsdp_compute);
      co_yield plan->call(Operation::all_gather, l - 1);
      co_yield record(fsdp_communication, fsdp_compute);
    }
    co_yield labelled(work(fsdp_compute, layer.backward), plan->of(Label::Kind::backward, l));
    co_yield record(fsdp_compute, fsdp_communication);
    co_yield wait(fsdp_communication, fsdp_compute);
    if (l > 0 && !pre) {
      co_yield plan->call(Operation::all_gather, l - 1);
      co_yield record(fsdp_communication, fsdp_compute);
    }
    co_yield plan->call(Operation::reduce_scatter, l);
  }
  co_yield record(fsdp_communication, fsdp_compute);
  co_yield wait(fsdp_compute, fsdp_communication);
  // Each rank updates the parameters that it keeps.
  co_yield labelled(work(fsdp_compute, Time(plan->model.optimizer.ps() / plan->ranks)),
                    {Label::Kind::optimizer});
}

}  // namespace

Workload make_workload(const Fsdp& fsdp, const Model& model, int ranks) {
  const auto plan = std::make_shared<const FsdpPlan>(FsdpPlan{fsdp, model, ranks});
  Workload::Parts parts;
  parts.group = first_ranks(static_cast<std::size_t>(ranks));
  parts.stream_names = {"compute", "communication"};
  parts.communicators = {{"world",
                          {parts.group},
                          std::max(lanes_of(Operation::all_gather, fsdp.all_gather),
                                   lanes_of(Operation::reduce_scatter, fsdp.reduce_scatter))}};
  parts.script = [plan](Rank) { return fsdp_step(plan); };
  parts.turns = turns_of_like_ranks(parts);
  return Workload(std::move(parts));
}

}  // namespace collsim
