// SPDX-License-Identifier: Apache-2.0
//
// A mixture of experts, one expert per rank: in every layer each token goes to the rank of its
// expert and comes back, so there is an all-to-all of the activations before and one after the
// experts compute, forward and backward.
//
//   T = L (f + 2 A) + L (b + 2 A),  A = (K-1) (alpha + n/(K B)) pairwise
//
// D. Lepikhin et al.: GShard, ICLR 2021.
#include <memory>

#include "collectives/workloads/step_data.hpp"
#include "collectives/workloads/workloads.hpp"

namespace collsim {

namespace {

struct ExpertsPlan {
  Experts scheme;
  Model model;

  [[nodiscard]] Action exchange(const Layer& layer) const {
    Call call;
    call.operation = Operation::all_to_all;
    call.type = model.type;
    call.count = layer.activations / size_of(model.type);
    call.in_place = false;
    call.choice = &scheme.all_to_all;
    return collective(0, 0, call);
  }
};

Script experts_step(std::shared_ptr<const ExpertsPlan> plan) {
  const std::vector<Layer>& layers = plan->model.layers;
  co_yield labelled(work(0, plan->model.forward), {Label::Kind::forward});
  Label label{Label::Kind::forward};
  for (const Layer& layer : layers) {
    ++label.number;
    co_yield labelled(plan->exchange(layer), label);
    co_yield labelled(work(0, layer.forward), label);
    co_yield labelled(plan->exchange(layer), label);
  }
  if (plan->scheme.forward_only) co_return;
  label.kind = Label::Kind::backward;
  for (auto layer = layers.rbegin(); layer != layers.rend(); ++layer, --label.number) {
    co_yield labelled(plan->exchange(*layer), label);
    co_yield labelled(work(0, layer->backward), label);
    co_yield labelled(plan->exchange(*layer), label);
  }
  co_yield labelled(work(0, plan->model.optimizer), {Label::Kind::optimizer});
}

}  // namespace

Workload make_workload(const Experts& scheme, const Model& model, int ranks) {
  Workload::Parts parts;
  parts.group = first_ranks(static_cast<std::size_t>(ranks));
  parts.stream_names = {"main"};
  parts.communicators = {
      {"experts", {parts.group}, lanes_of(Operation::all_to_all, scheme.all_to_all)}};
  parts.script = [plan = std::make_shared<const ExpertsPlan>(ExpertsPlan{scheme, model})](Rank) {
    return experts_step(plan);
  };
  parts.turns = turns_of_like_ranks(parts);
  parts.data = data_of(scheme, model, parts.group);
  return Workload(std::move(parts));
}

}  // namespace collsim
