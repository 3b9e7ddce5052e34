// SPDX-License-Identifier: Apache-2.0
//
// Distributed data parallel training, as PyTorch does it.  Every rank has the whole model and its
// own part of the batch.  Gradients are averaged among all ranks in buckets: the backward pass goes
// from the last layer to the first, and as soon as all gradients of a bucket are there, its
// all-reduce begins on another stream, while the backward pass goes on.  Buckets go out in order;
// the optimizer waits for the last.
//
//   compute         forward | backward 4 | 3 | 2 | 1 |            | optimizer
//   communication                        | bucket 1 | bucket 2    |
//
// With K ranks, n_b bytes in bucket b, ready at r_b:
//
//   c_b = max(c_(b-1), r_b) + 2 (K-1) (alpha + n_b/(K B)),  T = max(backward, c_last) + optimizer
//
// S. Li et al.: PyTorch Distributed: Experiences on Accelerating Data Parallel Training, VLDB 2020.
#include <algorithm>
#include <memory>

#include "collectives/workloads/workloads.hpp"

namespace collsim {

namespace {

enum Streams : std::uint8_t { compute, communication };
constexpr int world = 0;

struct DdpPlan {
  Ddp ddp;
  Model model;
  std::vector<int> buckets;  // layers in each
  int ranks = 1;

  [[nodiscard]] Action call(Operation operation, Bytes bytes, std::size_t bucket) const {
    Call call;
    call.operation = operation;
    call.type = model.type;
    call.count = bytes / size_of(model.type);
    call.reduction = Reduction::avg;
    call.choice = operation == Operation::all_reduce   ? &ddp.all_reduce
                  : operation == Operation::all_gather ? &ddp.all_gather
                                                       : &ddp.reduce_scatter;
    return labelled(collective(communication, world, call),
                    {Label::Kind::bucket, static_cast<std::int32_t>(bucket)});
  }
};

Script ddp_step(std::shared_ptr<const DdpPlan> plan) {
  const Model& model = plan->model;
  co_yield labelled(work(compute, model.forward), {Label::Kind::forward});
  std::int32_t number = 0;
  for (const Layer& layer : model.layers)
    co_yield labelled(work(compute, layer.forward), {Label::Kind::forward, ++number});

  std::vector<Bytes> buckets;
  auto layer = model.layers.rbegin();
  for (const int layers : plan->buckets) {
    Bytes bytes = 0;
    for (int i = 0; i < layers; ++i, ++layer, --number) {
      co_yield labelled(work(compute, layer->backward), {Label::Kind::backward, number});
      bytes += layer->gradients;
    }
    co_yield record(compute, communication);
    co_yield wait(communication, compute);
    buckets.push_back(bytes);
    co_yield plan->call(
        plan->ddp.sharded_optimizer ? Operation::reduce_scatter : Operation::all_reduce, bytes,
        buckets.size());
  }
  co_yield record(communication, compute);
  co_yield wait(compute, communication);
  if (!plan->ddp.sharded_optimizer) {
    co_yield labelled(work(compute, model.optimizer), {Label::Kind::optimizer});
    co_return;
  }
  co_yield labelled(work(compute, Time(model.optimizer.ps() / plan->ranks)),
                    {Label::Kind::optimizer});
  co_yield record(compute, communication);
  co_yield wait(communication, compute);
  for (std::size_t i = 0; i < buckets.size(); ++i)
    co_yield plan->call(Operation::all_gather, buckets[i], i + 1);
}

}  // namespace

std::vector<int> layers_of_buckets(const Ddp& ddp, const Model& model) {
  if (!ddp.overlap) return {static_cast<int>(model.layers.size())};
  std::vector<int> buckets;
  Bytes bytes = 0;
  int layers = 0;
  for (auto layer = model.layers.rbegin(); layer != model.layers.rend(); ++layer) {
    bytes += layer->gradients;
    ++layers;
    if (bytes < (buckets.empty() ? ddp.first_bucket : ddp.bucket)) continue;
    buckets.push_back(layers);
    bytes = layers = 0;
  }
  if (layers > 0) buckets.push_back(layers);
  return buckets;
}

Workload make_workload(const Ddp& ddp, const Model& model, int ranks) {
  const auto plan =
      std::make_shared<const DdpPlan>(DdpPlan{ddp, model, layers_of_buckets(ddp, model), ranks});
  Workload::Parts parts;
  parts.group = first_ranks(static_cast<std::size_t>(ranks));
  parts.stream_names = {"compute", "communication"};
  const int lanes = ddp.sharded_optimizer
                        ? std::max(lanes_of(Operation::reduce_scatter, ddp.reduce_scatter),
                                   lanes_of(Operation::all_gather, ddp.all_gather))
                        : lanes_of(Operation::all_reduce, ddp.all_reduce);
  parts.communicators = {{"world", {parts.group}, lanes}};
  parts.script = [plan](Rank) { return ddp_step(plan); };
  parts.turns = turns_of_like_ranks(parts);
  return Workload(std::move(parts));
}

}  // namespace collsim
