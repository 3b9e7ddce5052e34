// SPDX-License-Identifier: Apache-2.0
//
// PyTorch's DataParallel: one process drives all GPUs of a node, and GPU 0 has the model.  In every
// step it hands out the inputs and the model, collects the outputs, hands out their gradients, and
// adds up the gradients of the parameters, one GPU after the other:
//
//   scatter I, broadcast P | forward | gather O, scatter O | backward | reduce P | optimizer
//
// so its port carries at least (K-1) (t(I/K) + t(P) + t(O/K)) out and (K-1) (t(O/K) + t(P)) in,
// while all others wait.
#include <memory>

#include "collectives/workloads/step_data.hpp"
#include "collectives/workloads/workloads.hpp"

namespace collsim {

namespace {

struct DataParallelPlan {
  DataParallel scheme;
  AlgorithmChoice flat = {.name = "flat"};
  Time forward{}, backward{}, optimizer{};
  Bytes gradients = 0;
  ElementType type = ElementType::f32;

  [[nodiscard]] Action call(Operation operation, Bytes bytes) const {
    Call call;
    call.operation = operation;
    call.type = type;
    call.count = bytes / size_of(type);
    call.choice = &flat;
    return collective(0, 0, call);
  }
};

Script data_parallel_step(std::shared_ptr<const DataParallelPlan> plan, Rank rank) {
  co_yield plan->call(Operation::scatter, plan->scheme.inputs);
  co_yield plan->call(Operation::broadcast, plan->gradients);
  co_yield labelled(work(0, plan->forward), {Label::Kind::forward});
  co_yield plan->call(Operation::gather, plan->scheme.outputs);
  Action errors = plan->call(Operation::scatter, plan->scheme.outputs);
  errors.place = place_of_errors;
  co_yield errors;
  co_yield labelled(work(0, plan->backward), {Label::Kind::backward});
  co_yield plan->call(Operation::reduce, plan->gradients);
  if (rank == Rank(0)) co_yield labelled(work(0, plan->optimizer), {Label::Kind::optimizer});
}

}  // namespace

Workload make_workload(const DataParallel& scheme, const Model& model, int ranks) {
  DataParallelPlan plan;
  plan.scheme = scheme;
  plan.forward = model.forward;
  plan.optimizer = model.optimizer;
  plan.type = model.type;
  for (const Layer& layer : model.layers) {
    plan.forward += layer.forward;
    plan.backward += layer.backward;
    plan.gradients += layer.gradients;
  }
  Workload::Parts parts;
  parts.group = first_ranks(static_cast<std::size_t>(ranks));
  parts.stream_names = {"main"};
  parts.communicators = {{"GPUs", {parts.group}, 1}};
  parts.script = [plan = std::make_shared<const DataParallelPlan>(plan)](Rank rank) {
    return data_parallel_step(plan, rank);
  };
  parts.data = data_of(scheme, parts.group);
  return Workload(std::move(parts));
}

}  // namespace collsim
