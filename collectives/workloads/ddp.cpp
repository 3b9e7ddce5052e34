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
// Before all that, the constructor hands out rank 0's parameters, once, and every step hands out
// its buffers (statistics of normalisation layers, say).  Of several passes only the last sends
// gradients; with ZeRO's second stage all do, since no rank keeps the others' parts.  When a model
// is spread over D neighbouring devices, activations and their gradients go from device to device,
// and devices with the same layers average theirs: D groups at a time.
//
// S. Li et al.: PyTorch Distributed: Experiences on Accelerating Data Parallel Training, VLDB 2020.
#include <algorithm>
#include <cmath>
#include <memory>

#include "collectives/workloads/launch.hpp"
#include "collectives/workloads/step_data.hpp"
#include "collectives/workloads/workloads.hpp"
#include "topo/error.hpp"

namespace collsim {

namespace {

enum DdpStreams : std::uint8_t { compute, communication, ddp_host };
constexpr int world = 0;

// What one device of a replica has.
struct DeviceShare {
  Span layers;               // of the model
  std::vector<int> buckets;  // layers in each
  Time optimizer{};
};

struct DdpPlan {
  Ddp ddp;
  Model model;
  std::vector<DeviceShare> devices;
  int ranks = 1;

  [[nodiscard]] Action call(Operation operation, Bytes bytes, const AlgorithmChoice& choice,
                            const Label& label) const {
    Call call;
    call.operation = operation;
    call.type = model.type;
    call.count = bytes / size_of(model.type);
    call.reduction = Reduction::avg;
    call.choice = &choice;
    return labelled(collective(communication, world, call), label);
  }
  [[nodiscard]] Action reduce(Bytes bytes, const Label& label) const {
    return ddp.sharded_optimizer ? call(Operation::reduce_scatter, bytes, ddp.reduce_scatter, label)
                                 : call(Operation::all_reduce, bytes, ddp.all_reduce, label);
  }
  [[nodiscard]] Action hand_out(Bytes bytes, Label::Kind kind) const {
    return call(Operation::broadcast, bytes, ddp.broadcast, {kind});
  }
  [[nodiscard]] const Layer& layer(std::int64_t number) const {
    return model.layers[static_cast<std::size_t>(number)];
  }
  // The device of a rank, and whether it has others of its replica before or after it.
  struct Place {
    std::size_t device;
    Rank before, after;
    bool is_first, is_last;
  };
  [[nodiscard]] Place place(Rank rank) const {
    const std::size_t device = rank.index() % devices.size();
    const bool is_first = device == 0;
    return {device, Rank(is_first ? 0 : rank.index() - 1), Rank(rank.index() + 1), is_first,
            device + 1 == devices.size()};
  }
};

Bytes gradients_of(const Model& model, Span layers) {
  Bytes bytes = 0;
  for (std::int64_t l = layers.offset; l < layers.offset + layers.count; ++l)
    bytes += model.layers[static_cast<std::size_t>(l)].gradients;
  return bytes;
}

// The layers of a device, from front to back, after those of the device before.
Script ddp_forward(std::shared_ptr<const DdpPlan> plan, DdpPlan::Place at, int pass) {
  const Span layers = plan->devices[at.device].layers;
  const std::int64_t end = layers.offset + layers.count;
  const auto label = [pass](std::int64_t l) {
    return Label{Label::Kind::forward, static_cast<std::int32_t>(l + 1), pass};
  };
  if (at.is_first) {
    co_yield labelled(work(compute, plan->model.forward), label(-1));
  } else {
    const Bytes taken = plan->layer(layers.offset - 1).activations;
    co_yield labelled(receive(compute, at.before, taken, compute), label(-1));
  }
  for (std::int64_t l = layers.offset; l < end; ++l) {
    const LaunchedPass launched(plan->model, plan->layer(l), label(l), compute, ddp_host);
    for (int i = 0; i < launched.lines(); ++i) co_yield launched.line(i);
  }
  if (at.is_last) co_return;
  co_yield labelled(send(compute, at.after, plan->layer(end - 1).activations, compute), label(-1));
}

// The same from back to front; after the last layer of each bucket, the bucket, if `sends`.
Script ddp_backward(std::shared_ptr<const DdpPlan> plan, DdpPlan::Place at, int pass, bool sends) {
  const DeviceShare& share = plan->devices[at.device];
  const auto label = [pass](std::int64_t l) {
    return Label{Label::Kind::backward, static_cast<std::int32_t>(l + 1), pass};
  };
  std::int64_t l = share.layers.offset + share.layers.count;
  if (!at.is_last)
    co_yield labelled(receive(compute, at.after, plan->layer(l - 1).activations, compute),
                      label(-1));
  std::int32_t bucket = 0;
  for (const int layers : share.buckets) {
    const std::int64_t end = l;
    while (l > end - layers) {
      --l;
      const LaunchedPass launched(plan->model, plan->layer(l), label(l), compute, ddp_host);
      for (int i = 0; i < launched.lines(); ++i) co_yield launched.line(i);
    }
    if (l == share.layers.offset && !at.is_first)
      co_yield labelled(send(compute, at.before, plan->layer(l - 1).activations, compute),
                        label(-1));
    ++bucket;
    const Bytes bytes = gradients_of(plan->model, {share.layers.buffer, l, layers});
    if (!sends || bytes == 0) continue;
    co_yield record(compute, communication);
    co_yield wait(communication, compute);
    co_yield plan->reduce(bytes,
                          {Label::Kind::bucket, bucket, plan->ddp.scatters_each_pass ? pass : 0});
  }
}

Script ddp_step(std::shared_ptr<const DdpPlan> plan, Rank rank) {
  const DdpPlan::Place at = plan->place(rank);
  const DeviceShare& share = plan->devices[at.device];
  const Ddp& ddp = plan->ddp;
  const Bytes parameters = gradients_of(plan->model, share.layers);
  if (ddp.broadcast_parameters && parameters > 0)
    co_yield plan->hand_out(parameters, Label::Kind::parameters);
  if (ddp.buffers > 0) co_yield plan->hand_out(ddp.buffers, Label::Kind::buffers);
  if (ddp.broadcast_parameters || ddp.buffers > 0) {
    co_yield record(communication, compute);
    co_yield wait(compute, communication);
  }
  for (int pass = 1; pass <= ddp.microbatches; ++pass) {
    const int number = ddp.microbatches > 1 ? pass : 0;
    Script forward = ddp_forward(plan, at, number);
    while (const Action* const action = forward.next()) co_yield *action;
    Script backward =
        ddp_backward(plan, at, number, ddp.scatters_each_pass || pass == ddp.microbatches);
    while (const Action* const action = backward.next()) co_yield *action;
  }
  co_yield record(communication, compute);
  co_yield wait(compute, communication);
  co_yield labelled(work(compute, share.optimizer), {Label::Kind::optimizer});
  if (!ddp.sharded_optimizer) co_return;
  co_yield record(compute, communication);
  co_yield wait(communication, compute);
  std::int64_t end = share.layers.offset + share.layers.count;
  std::int32_t bucket = 0;
  for (const int layers : share.buckets) {
    end -= layers;
    ++bucket;
    const Bytes bytes = gradients_of(plan->model, {share.layers.buffer, end, layers});
    if (bytes > 0)
      co_yield plan->call(Operation::all_gather, bytes, ddp.all_gather,
                          {Label::Kind::bucket, bucket});
  }
}

std::vector<int> buckets_of(const Ddp& ddp, const Model& model, Span share) {
  if (!ddp.overlap) return {static_cast<int>(share.count)};
  std::vector<int> buckets;
  Bytes bytes = 0;
  int layers = 0;
  for (std::int64_t l = share.offset + share.count; l-- > share.offset;) {
    bytes += model.layers[static_cast<std::size_t>(l)].gradients;
    ++layers;
    if (bytes < (buckets.empty() ? ddp.first_bucket : ddp.bucket)) continue;
    buckets.push_back(layers);
    bytes = layers = 0;
  }
  if (layers > 0) buckets.push_back(layers);
  return buckets;
}

std::vector<DeviceShare> devices_of(const Ddp& ddp, const Model& model) {
  const auto count = static_cast<std::int64_t>(model.layers.size());
  if (ddp.devices_per_replica < 1 || count < ddp.devices_per_replica)
    throw_error(ErrorCode::invalid_argument, count, " layers cannot be spread over ",
                ddp.devices_per_replica, " devices");
  const Span all{Buffer::input, 0, count};
  std::vector<DeviceShare> devices;
  for (int device = 0; device < ddp.devices_per_replica; ++device) {
    const Span share = all.piece(device, ddp.devices_per_replica);
    devices.push_back({share, buckets_of(ddp, model, share)});
  }
  return devices;
}

// Each device updates its own parameters.
Time update_of(const DdpPlan& plan, const DeviceShare& share) {
  const Bytes all = gradients_of(
      plan.model, {share.layers.buffer, 0, static_cast<std::int64_t>(plan.model.layers.size())});
  const Time whole = plan.model.optimizer;
  if (plan.ddp.sharded_optimizer) return Time(whole.ps() / plan.ranks);
  if (plan.devices.size() == 1) return whole;
  if (all == 0) return Time(whole.ps() / static_cast<std::int64_t>(plan.devices.size()));
  const auto own = static_cast<double>(gradients_of(plan.model, share.layers));
  return Time(std::llround(static_cast<double>(whole.ps()) * own / static_cast<double>(all)));
}

}  // namespace

std::vector<int> layers_of_buckets(const Ddp& ddp, const Model& model) {
  std::vector<int> buckets;
  const std::vector<DeviceShare> devices = devices_of(ddp, model);
  for (auto device = devices.rbegin(); device != devices.rend(); ++device)
    buckets.insert(buckets.end(), device->buckets.begin(), device->buckets.end());
  return buckets;
}

Workload make_workload(const Ddp& ddp, const Model& model, int ranks) {
  DdpPlan plan{ddp, model, devices_of(ddp, model), ranks};
  for (DeviceShare& share : plan.devices) share.optimizer = update_of(plan, share);
  const int devices = ddp.devices_per_replica;
  if (ranks % devices != 0)
    throw_error(ErrorCode::invalid_argument, ranks, " ranks are no whole number of replicas of ",
                devices, " devices");
  int lanes = ddp.sharded_optimizer
                  ? std::max(lanes_of(Operation::reduce_scatter, ddp.reduce_scatter),
                             lanes_of(Operation::all_gather, ddp.all_gather))
                  : lanes_of(Operation::all_reduce, ddp.all_reduce);
  if (ddp.broadcast_parameters || ddp.buffers > 0)
    lanes = std::max(lanes, lanes_of(Operation::broadcast, ddp.broadcast));
  Workload::Parts parts;
  parts.group = first_ranks(static_cast<std::size_t>(ranks));
  parts.stream_names = {"compute", "communication"};
  if (model.launch > Time{}) parts.stream_names.emplace_back("host");
  parts.communicators = {{"world", strided_groups(ranks, ranks / devices, devices), lanes}};
  parts.script = [plan = std::make_shared<const DdpPlan>(plan)](Rank rank) {
    return ddp_step(plan, rank);
  };
  parts.turns = turns_of_like_ranks(parts, devices);
  parts.data = data_of(ddp, model, parts.group);
  return Workload(std::move(parts));
}

}  // namespace collsim
