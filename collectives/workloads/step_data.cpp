// SPDX-License-Identifier: Apache-2.0
#include "collectives/workloads/step_data.hpp"

#include <algorithm>
#include <string>

#include "topo/error.hpp"

namespace collsim {

namespace {

using Claim = WorkloadData::Claim;

// Where the items of a stage are in its memory.
struct Tensors {
  std::uint32_t layers = 0;
  std::uint32_t flows = 1;   // microbatches x pieces on a stage
  std::uint32_t places = 0;  // of gathered parameters

  [[nodiscard]] Items parameters() const { return {0, layers}; }
  [[nodiscard]] Items gradients() const { return {layers, 2 * layers}; }
  [[nodiscard]] Items parts_of_gradients() const { return {2 * layers, 3 * layers}; }
  [[nodiscard]] std::uint32_t forward(std::uint32_t flow) const { return 3 * layers + flow; }
  [[nodiscard]] std::uint32_t backward(std::uint32_t flow) const {
    return 3 * layers + flows + flow;
  }
  [[nodiscard]] std::uint32_t gathered(std::uint32_t layer) const {
    return 3 * layers + 2 * flows + layer % places;
  }
  [[nodiscard]] std::uint32_t all() const { return 3 * layers + 2 * flows + places; }

  [[nodiscard]] std::string name(std::uint32_t item) const {
    if (item < layers) return concat("the parameters of layer ", item + 1);
    if (item < 2 * layers) return concat("the gradients of layer ", item - layers + 1);
    if (item < 3 * layers) return concat("the rank's gradients of layer ", item - 2 * layers + 1);
    const std::uint32_t flow = item - 3 * layers;
    const auto number = [this](std::uint32_t which) {
      return flows > 1 ? concat(" ", which + 1) : std::string();
    };
    if (flow < flows) return "activations" + number(flow);
    if (flow < 2 * flows) return "gradients of activations" + number(flow - flows);
    return "gathered parameters";
  }
};

Items one(std::uint32_t item) {
  return {item, item + 1};
}

// `count` items from the one of a layer on; labels count layers from 1.
Items of_layer(const Items& all, std::int32_t number) {
  const auto item = all.begin + static_cast<std::uint32_t>(number - 1);
  return {item, item + 1};
}

// A layer's part of a pass: forward, backward, or the weights' gradients alone.
void add_pass(const Tensors& tensors, const Label& label, const Items& parameters,
              std::uint32_t flow, Uses& uses) {
  uses.reads.push_back(one(tensors.forward(flow)));
  if (label.number > 0) uses.reads.push_back(parameters);
  if (label.kind == Label::Kind::forward) {
    uses.writes.push_back(one(tensors.forward(flow)));
    return;
  }
  uses.reads.push_back(one(tensors.backward(flow)));
  if (label.kind == Label::Kind::backward) uses.writes.push_back(one(tensors.backward(flow)));
  if (label.number == 0) return;
  uses.reads.push_back(of_layer(tensors.gradients(), label.number));  // which add up
  uses.writes.push_back(uses.reads.back());
}

void add_optimizer(const Items& gradients, const Items& parameters, Uses& uses) {
  uses.reads.push_back(gradients);
  uses.reads.push_back(parameters);
  uses.writes.push_back(parameters);
}

bool is_pass(const Label& label) {
  return label.kind == Label::Kind::forward || label.kind == Label::Kind::backward ||
         label.kind == Label::Kind::weights;
}

std::uint64_t own(Rank rank) {
  return (std::uint64_t{1} << 40) + rank.index();
}

}  // namespace

std::shared_ptr<const WorkloadData> data_of(const Ddp& ddp, const Model& model,
                                            const std::vector<Rank>& ranks) {
  const Tensors tensors{.layers = static_cast<std::uint32_t>(model.layers.size())};
  std::vector<std::uint32_t> ends{tensors.layers};  // of buckets, which go from the last layer down
  for (const int layers : layers_of_buckets(ddp, model))
    ends.push_back(ends.back() - static_cast<std::uint32_t>(layers));
  WorkloadData data;
  data.items = tensors.all();
  data.name = [tensors](std::uint32_t item) { return tensors.name(item); };
  data.uses = [tensors, ends](Rank, const Action& line, Uses& uses) {
    const Label& label = line.label;
    if (line.kind == Action::Kind::work && is_pass(label))
      add_pass(tensors, label, of_layer(tensors.parameters(), label.number), 0, uses);
    if (line.kind == Action::Kind::work && label.kind == Label::Kind::optimizer)
      add_optimizer(tensors.gradients(), tensors.parameters(), uses);
    if (line.kind == Action::Kind::collective && label.kind == Label::Kind::parameters)
      uses = {.reads = {tensors.parameters()}, .writes = {tensors.parameters()}};
    if (line.kind != Action::Kind::collective || label.kind != Label::Kind::bucket) return;
    const auto bucket = static_cast<std::size_t>(label.number);
    const bool gathers = line.call.operation == Operation::all_gather;
    const std::uint32_t base = gathers ? 0 : tensors.gradients().begin;
    uses.reads.push_back({base + ends[bucket], base + ends[bucket - 1]});
    uses.writes = uses.reads;
  };
  data.initial = [tensors](Rank rank, std::uint32_t item) -> std::uint64_t {
    if (item < tensors.layers) return item + 1;
    return item == tensors.forward(0) ? own(rank) : 0;
  };
  const auto mean = ddp.sharded_optimizer ? Claim::Kind::part_of_mean : Claim::Kind::mean;
  data.claims = {{mean, tensors.gradients(), tensors.gradients().begin, {ranks}},
                 {Claim::Kind::same, tensors.parameters(), 0, {ranks}}};
  return std::make_shared<const WorkloadData>(std::move(data));
}

std::shared_ptr<const WorkloadData> data_of(const Fsdp& fsdp, const Model& model,
                                            const std::vector<Rank>& ranks) {
  const Tensors tensors{.layers = static_cast<std::uint32_t>(model.layers.size()),
                        .places = static_cast<std::uint32_t>(std::max(2, fsdp.unsharded))};
  WorkloadData data;
  data.items = tensors.all();
  data.name = [tensors](std::uint32_t item) { return tensors.name(item); };
  data.uses = [tensors](Rank, const Action& line, Uses& uses) {
    const Label& label = line.label;
    const Items gathered =
        one(tensors.gathered(static_cast<std::uint32_t>(std::max(1, label.number) - 1)));
    if (line.kind == Action::Kind::work && is_pass(label))
      add_pass(tensors, label, gathered, 0, uses);
    if (line.kind == Action::Kind::work && label.kind == Label::Kind::optimizer)
      add_optimizer(tensors.parts_of_gradients(), tensors.parameters(), uses);
    if (line.kind != Action::Kind::collective || label.kind != Label::Kind::parameters) return;
    if (line.call.operation == Operation::all_gather) {
      uses.reads.push_back(of_layer(tensors.parameters(), label.number));
      uses.writes.push_back(gathered);
    } else {
      uses.reads.push_back(of_layer(tensors.gradients(), label.number));
      uses.writes.push_back(of_layer(tensors.parts_of_gradients(), label.number));
    }
  };
  data.initial = [tensors](Rank rank, std::uint32_t item) -> std::uint64_t {
    return item < tensors.layers || item == tensors.forward(0) ? own(rank) + item : 0;
  };
  data.claims = {{Claim::Kind::part_of_mean,
                  tensors.parts_of_gradients(),
                  tensors.gradients().begin,
                  {ranks}}};
  return std::make_shared<const WorkloadData>(std::move(data));
}

std::shared_ptr<const WorkloadData> data_of(const Train& train, const Model& model) {
  const auto pieces = static_cast<std::uint32_t>(train.pp > 1 ? train.chunks : 1);
  const Tensors tensors{.layers = static_cast<std::uint32_t>(model.layers.size()),
                        .flows = pieces * static_cast<std::uint32_t>(train.microbatches)};
  WorkloadData data;
  data.items = tensors.all();
  data.name = [tensors](std::uint32_t item) { return tensors.name(item); };
  data.uses = [tensors, pieces](Rank, const Action& line, Uses& uses) {
    const Label& label = line.label;
    const auto microbatch = static_cast<std::uint32_t>(std::max(1, label.microbatch) - 1);
    const std::uint32_t flow = microbatch * pieces + (pieces > 1 ? line.place : 0);
    const Items handed =
        one(label.kind == Label::Kind::forward ? tensors.forward(flow) : tensors.backward(flow));
    switch (line.kind) {
      case Action::Kind::work:
        if (is_pass(label))
          add_pass(tensors, label, of_layer(tensors.parameters(), label.number), flow, uses);
        if (label.kind == Label::Kind::optimizer)
          add_optimizer(tensors.gradients(), tensors.parameters(), uses);
        break;
      case Action::Kind::send: uses.reads.push_back(handed); break;
      case Action::Kind::receive: uses.writes.push_back(handed); break;
      case Action::Kind::collective:
        if (!is_pass(label) && label.kind != Label::Kind::bucket) break;
        uses.reads.push_back(label.kind == Label::Kind::bucket ? tensors.gradients() : handed);
        uses.writes = uses.reads;
        break;
      default: break;
    }
  };
  const int tp = train.tp, dp = train.dp;
  data.initial = [tensors, tp, dp](Rank rank, std::uint32_t item) -> std::uint64_t {
    const auto place = static_cast<int>(rank.index());
    if (item < tensors.layers)  // each rank of a tensor group has its part
      return own(Rank(static_cast<std::size_t>(place % tp))) + (std::uint64_t{item} << 20);
    const std::uint32_t flow = item - tensors.forward(0);
    const bool is_input = item >= tensors.forward(0) && flow < tensors.flows;
    const auto replica = static_cast<std::size_t>(place / tp % dp);
    return is_input ? own(Rank(replica)) + (std::uint64_t{item} << 20) : 0;
  };
  std::vector<std::vector<Rank>> replicas;
  for (int stage = 0; stage < train.pp; ++stage)
    for (int tensor = 0; tensor < tp; ++tensor) {
      replicas.emplace_back();
      for (int replica = 0; replica < dp; ++replica)
        replicas.back().emplace_back(
            static_cast<std::size_t>(tensor + tp * (replica + dp * stage)));
    }
  data.claims = {{Claim::Kind::mean, tensors.gradients(), tensors.gradients().begin, replicas},
                 {Claim::Kind::same, tensors.parameters(), 0, replicas}};
  return std::make_shared<const WorkloadData>(std::move(data));
}

std::shared_ptr<const WorkloadData> data_of(const ParameterServer& scheme, int ranks) {
  const auto servers = static_cast<std::uint32_t>(scheme.servers);
  const auto workers = static_cast<std::uint32_t>(ranks) - servers;
  // A worker's parameters and gradients by server, and its inputs; on a server what it keeps, and
  // what each worker has sent.
  WorkloadData data;
  data.items = std::max(2 * servers, workers) + 1;
  data.name = [servers](std::uint32_t item) {
    return item < servers       ? concat("the parameters of server ", item + 1)
           : item < 2 * servers ? concat("the gradients for server ", item - servers + 1)
                                : std::string("inputs");
  };
  const bool waits_for_all = !scheme.asynchronous;
  data.uses = [=](Rank rank, const Action& line, Uses& uses) {
    const bool is_worker = rank.index() < workers;
    const auto peer = static_cast<std::uint32_t>(line.peer.index());
    const std::uint32_t of = is_worker ? peer - workers : peer + 1;
    switch (line.kind) {
      case Action::Kind::work:
        uses.reads = {{0, servers}, {2 * servers, 2 * servers + 1}};
        uses.writes = {{servers, 2 * servers}};
        break;
      case Action::Kind::update:
        uses.reads = {{1, workers + 1}};
        uses.writes = {one(0)};
        break;
      case Action::Kind::send:
        uses.reads = {one(is_worker ? servers + of : waits_for_all ? 0 : of)};
        break;
      case Action::Kind::receive: uses.writes = {one(of)}; break;
      default: break;
    }
  };
  data.initial = [=](Rank rank, std::uint32_t item) -> std::uint64_t {
    if (rank.index() >= workers) return 0;
    return item < servers ? item + 1 : item == 2 * servers ? own(rank) : 0;
  };
  if (waits_for_all) {
    data.claims = {{Claim::Kind::same, {0, servers}, 0, {{}}}};
    for (std::size_t worker = 0; worker < workers; ++worker)
      data.claims.front().groups.front().emplace_back(worker);
  }
  return std::make_shared<const WorkloadData>(std::move(data));
}

}  // namespace collsim
