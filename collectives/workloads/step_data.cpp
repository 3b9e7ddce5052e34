// SPDX-License-Identifier: Apache-2.0
#include "collectives/workloads/step_data.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "topo/error.hpp"

namespace collsim {

namespace {

using Claim = WorkloadData::Claim;

// Where the items of a stage are in its memory.
struct Tensors {
  std::uint32_t layers = 0;
  std::uint32_t flows = 1;      // microbatches x pieces on a stage
  std::uint32_t places = 0;     // of gathered parameters
  std::uint32_t apart = 1;      // microbatches whose gradients are not added up
  std::vector<bool> bare = {};  // by layer: it has no parameters

  [[nodiscard]] bool has_parameters(const Label& label) const {
    const auto layer = static_cast<std::size_t>(label.number) - 1;
    return label.number > 0 && (layer >= bare.size() || !bare[layer]);
  }
  [[nodiscard]] Items parameters() const { return {0, layers}; }
  [[nodiscard]] Items gradients() const { return {layers, layers + apart * layers}; }
  [[nodiscard]] Items parts_of_gradients() const {
    return {gradients().end, gradients().end + apart * layers};
  }
  [[nodiscard]] std::uint32_t forward(std::uint32_t flow) const {
    return parts_of_gradients().end + flow;
  }
  [[nodiscard]] std::uint32_t backward(std::uint32_t flow) const { return forward(flows) + flow; }
  [[nodiscard]] std::uint32_t gathered(std::uint32_t layer) const {
    return backward(flows) + layer % places;
  }
  [[nodiscard]] std::uint32_t all() const { return backward(flows) + places; }

  [[nodiscard]] std::string name(std::uint32_t item) const {
    if (item < layers) return concat("the parameters of layer ", item + 1);
    if (item < forward(0)) {
      const bool is_part = item >= parts_of_gradients().begin;
      const std::uint32_t number = item - (is_part ? parts_of_gradients() : gradients()).begin;
      return concat(is_part ? "the rank's gradients" : "the gradients", " of layer ",
                    number % layers + 1,
                    apart > 1 ? concat(" of microbatch ", number / layers + 1) : std::string());
    }
    const std::uint32_t flow = item - forward(0);
    const auto number = [this](std::uint32_t which) {
      return flows > 1 ? concat(" ", which + 1) : std::string();
    };
    if (flow < flows) return "activations" + number(flow);
    if (flow < 2 * flows) return "gradients of activations" + number(flow - flows);
    return "gathered parameters";
  }
};

std::uint32_t flow_of(const Label& label) {
  return static_cast<std::uint32_t>(std::max(1, label.microbatch) - 1);
}

Items one(std::uint32_t item) {
  return {item, item + 1};
}

// `count` items from the one of a layer on; labels count layers from 1.
Items of_layer(const Items& all, std::int32_t number) {
  const auto item = all.begin + static_cast<std::uint32_t>(number - 1);
  return {item, item + 1};
}

Items gradients_of(const Tensors& tensors, const Label& label) {
  const std::uint32_t before = tensors.apart > 1 ? flow_of(label) * tensors.layers : 0;
  return of_layer({tensors.gradients().begin + before, tensors.gradients().end}, label.number);
}

// A layer's part of a pass: forward, backward, or the weights' gradients alone, which do not depend
// on the weights.
void add_pass(const Tensors& tensors, const Label& label, const Items& parameters,
              std::uint32_t flow, Uses& uses) {
  uses.reads.push_back(one(tensors.forward(flow)));
  if (tensors.has_parameters(label) && label.kind != Label::Kind::weights)
    uses.reads.push_back(parameters);
  if (label.kind == Label::Kind::forward) {
    uses.writes.push_back(one(tensors.forward(flow)));
    return;
  }
  uses.reads.push_back(one(tensors.backward(flow)));
  if (label.kind == Label::Kind::backward) uses.writes.push_back(one(tensors.backward(flow)));
  if (!tensors.has_parameters(label)) return;
  const Items gradients = gradients_of(tensors, label);
  if (tensors.apart == 1) uses.reads.push_back(gradients);  // which add up
  uses.writes.push_back(gradients);
}

void add_optimizer(const Items& gradients, const Items& parameters, Uses& uses) {
  uses.reads.push_back(gradients);
  uses.reads.push_back(parameters);
  uses.writes.push_back(parameters);
}

std::vector<bool> bare_layers(const Model& model) {
  std::vector<bool> bare;
  bare.reserve(model.layers.size());
  for (const Layer& layer : model.layers) bare.push_back(layer.gradients == 0);
  return bare;
}

bool is_pass(const Label& label) {
  return label.kind == Label::Kind::forward || label.kind == Label::Kind::backward ||
         label.kind == Label::Kind::weights;
}

// What one layer hands to the next.
Items handed_on(const Tensors& tensors, const Label& label, std::uint32_t flow) {
  return one(label.kind == Label::Kind::forward ? tensors.forward(flow) : tensors.backward(flow));
}

// A pass, an update of `parameters`, or a message between stages.
void add_work_or_message(const Tensors& tensors, const Action& line, std::uint32_t flow,
                         const Items& gradients, const Items& parameters, Uses& uses) {
  const Label& label = line.label;
  const Items handed = handed_on(tensors, label, flow);
  if (line.kind == Action::Kind::send) uses.reads.push_back(handed);
  if (line.kind == Action::Kind::receive) uses.writes.push_back(handed);
  if (line.kind != Action::Kind::work) return;
  if (is_pass(label))
    add_pass(tensors, label, of_layer(tensors.parameters(), label.number), flow, uses);
  if (label.kind == Label::Kind::optimizer) add_optimizer(gradients, parameters, uses);
}

// What only this rank has.
std::uint64_t own(Rank rank, std::uint32_t item) {
  return (std::uint64_t{1} << 60) + (std::uint64_t{item} << 28) + rank.index();
}

}  // namespace

namespace {

// The layers of one device of a replica, and where its buckets end, the last layers first.
struct DeviceLayers {
  Items layers;
  std::vector<std::uint32_t> ends;
};

std::vector<DeviceLayers> layers_of_devices(const Ddp& ddp, const Model& model) {
  const std::vector<int> buckets = layers_of_buckets(ddp, model);  // the last device's first
  const Span all{Buffer::input, 0, static_cast<std::int64_t>(model.layers.size())};
  std::vector<DeviceLayers> devices(static_cast<std::size_t>(ddp.devices_per_replica));
  auto bucket = buckets.begin();
  for (std::size_t device = devices.size(); device-- > 0;) {
    const Span share = all.piece(static_cast<std::int64_t>(device), ddp.devices_per_replica);
    const auto begin = static_cast<std::uint32_t>(share.offset);
    const auto end = begin + static_cast<std::uint32_t>(share.count);
    devices[device] = {{begin, end}, {end}};
    std::vector<std::uint32_t>& ends = devices[device].ends;
    while (ends.back() > begin) ends.push_back(ends.back() - static_cast<std::uint32_t>(*bucket++));
  }
  return devices;
}

// What a rank does with its device's layers.
void add_uses_of_ddp(const Tensors& tensors, const DeviceLayers& device, const Action& line,
                     Uses& uses) {
  const auto of_device = [&device](const Items& all) {
    return Items{all.begin + device.layers.begin, all.begin + device.layers.end};
  };
  const Label& label = line.label;
  if (line.kind != Action::Kind::collective) {
    const Items all = tensors.gradients();
    add_work_or_message(tensors, line, flow_of(label), tensors.apart > 1 ? all : of_device(all),
                        of_device(tensors.parameters()), uses);
    return;
  }
  if (label.kind == Label::Kind::parameters) uses.reads.push_back(of_device(tensors.parameters()));
  if (label.kind == Label::Kind::bucket) {
    const auto bucket = static_cast<std::size_t>(label.number);
    const bool gathers = line.call.operation == Operation::all_gather;
    const std::uint32_t before = tensors.apart > 1 ? flow_of(label) * tensors.layers : 0;
    const std::uint32_t base = gathers ? 0 : tensors.gradients().begin + before;
    uses.reads.push_back({base + device.ends[bucket], base + device.ends[bucket - 1]});
  }
  uses.writes = uses.reads;
}

}  // namespace

std::shared_ptr<const WorkloadData> data_of(const Ddp& ddp, const Model& model,
                                            const std::vector<Rank>& ranks) {
  const Tensors tensors{
      .layers = static_cast<std::uint32_t>(model.layers.size()),
      .flows = static_cast<std::uint32_t>(ddp.microbatches),
      .apart = static_cast<std::uint32_t>(ddp.scatters_each_pass ? ddp.microbatches : 1),
      .bare = bare_layers(model)};
  const auto devices =
      std::make_shared<const std::vector<DeviceLayers>>(layers_of_devices(ddp, model));
  WorkloadData data;
  data.items = tensors.all();
  data.name = [tensors](std::uint32_t item) { return tensors.name(item); };
  data.uses = [tensors, devices](Rank rank, const Action& line, Uses& uses) {
    add_uses_of_ddp(tensors, (*devices)[rank.index() % devices->size()], line, uses);
  };
  // Without the constructor's broadcast, replicas begin alike.
  const bool begin_alike = !ddp.broadcast_parameters;
  const std::size_t count = devices->size();
  data.initial = [=](Rank rank, std::uint32_t item) -> std::uint64_t {
    if (item < tensors.layers) return begin_alike ? item + 1 : own(rank, item);
    const bool is_input = item >= tensors.forward(0) && item < tensors.backward(0);
    return is_input && rank.index() % count == 0 ? own(rank, item) : 0;
  };
  const auto mean = ddp.sharded_optimizer ? Claim::Kind::part_of_mean : Claim::Kind::mean;
  for (std::size_t device = 0; device < count; ++device) {
    std::vector<Rank> group;
    for (std::size_t member = device; member < ranks.size(); member += count)
      group.push_back(ranks[member]);
    const Items layers = (*devices)[device].layers;
    const std::uint32_t gradients = tensors.gradients().begin;
    for (std::uint32_t set = 0; set < tensors.apart; ++set) {
      const std::uint32_t first = gradients + set * tensors.layers;
      const Items averaged{first + layers.begin, first + layers.end};
      data.claims.push_back({mean, averaged, averaged.begin, {group}});
    }
    data.claims.push_back({Claim::Kind::same, layers, 0, {group}});
  }
  return std::make_shared<const WorkloadData>(std::move(data));
}

std::shared_ptr<const WorkloadData> data_of(const Fsdp& fsdp, const Model& model,
                                            const std::vector<Rank>& ranks) {
  const auto microbatches = static_cast<std::uint32_t>(fsdp.microbatches);
  const Tensors tensors{.layers = static_cast<std::uint32_t>(model.layers.size()),
                        .flows = microbatches,
                        .places = static_cast<std::uint32_t>(std::max(2, fsdp.unsharded)),
                        .apart = microbatches,
                        .bare = bare_layers(model)};
  WorkloadData data;
  data.items = tensors.all();
  data.name = [tensors](std::uint32_t item) { return tensors.name(item); };
  data.uses = [tensors](Rank, const Action& line, Uses& uses) {
    const Label& label = line.label;
    const Items gathered =
        one(tensors.gathered(static_cast<std::uint32_t>(std::max(1, label.number) - 1)));
    if (line.kind == Action::Kind::work && is_pass(label))
      add_pass(tensors, label, gathered, flow_of(label), uses);
    if (line.kind == Action::Kind::work && label.kind == Label::Kind::optimizer)
      add_optimizer(tensors.parts_of_gradients(), tensors.parameters(), uses);
    if (line.kind != Action::Kind::collective || label.kind != Label::Kind::parameters) return;
    const Items whole = gradients_of(tensors, label);
    const Items part = one(whole.begin + tensors.gradients().size());
    switch (line.call.operation) {
      case Operation::all_gather:
        uses = {{of_layer(tensors.parameters(), label.number)}, {gathered}};
        break;
      case Operation::reduce_scatter: uses = {{whole}, {part}}; break;
      default: uses = {{part}, {part}}; break;  // averaged with the other copies
    }
  };
  const auto shards = static_cast<std::size_t>(fsdp.shards);
  data.initial = [tensors, shards](Rank rank, std::uint32_t item) -> std::uint64_t {
    const bool is_input = item >= tensors.forward(0) && item < tensors.backward(0);
    if (item < tensors.layers) return own(Rank(rank.index() % shards), item);
    return is_input ? own(rank, item) : 0;
  };
  data.claims = {{.kind = Claim::Kind::part_of_mean,
                  .items = tensors.parts_of_gradients(),
                  .of = tensors.gradients().begin,
                  .groups = {ranks},
                  .parts = shards}};
  if (shards < ranks.size()) {
    data.claims.push_back({Claim::Kind::same, tensors.parameters(), 0, {}});
    data.claims.back().groups.resize(shards);
    for (std::size_t member = 0; member < ranks.size(); ++member)
      data.claims.back().groups[member % shards].push_back(ranks[member]);
  }
  return std::make_shared<const WorkloadData>(std::move(data));
}

std::shared_ptr<const WorkloadData> data_of(const Experts& scheme, const Model& model,
                                            const std::vector<Rank>& ranks) {
  const Tensors tensors{.layers = static_cast<std::uint32_t>(model.layers.size())};
  WorkloadData data;
  data.items = tensors.all();
  data.name = [tensors](std::uint32_t item) { return tensors.name(item); };
  data.uses = [tensors](Rank, const Action& line, Uses& uses) {
    const Label& label = line.label;
    if (line.kind == Action::Kind::work && is_pass(label))
      add_pass(tensors, label, of_layer(tensors.parameters(), label.number), 0, uses);
    if (line.kind == Action::Kind::work && label.kind == Label::Kind::optimizer)
      add_optimizer(tensors.gradients(), tensors.parameters(), uses);
    if (line.kind != Action::Kind::collective) return;
    const bool forward = label.kind == Label::Kind::forward;
    uses.reads.push_back(one(forward ? tensors.forward(0) : tensors.backward(0)));
    uses.writes = uses.reads;
  };
  data.initial = [tensors](Rank rank, std::uint32_t item) -> std::uint64_t {
    const bool is_input = item == tensors.forward(0);
    return item < tensors.layers || is_input ? own(rank, item) : 0;
  };
  if (scheme.forward_only) return std::make_shared<const WorkloadData>(std::move(data));
  data.claims = {{Claim::Kind::sum, tensors.gradients(), tensors.gradients().begin, {}}};
  for (const Rank rank : ranks) data.claims.front().groups.push_back({rank});
  return std::make_shared<const WorkloadData>(std::move(data));
}

std::shared_ptr<const WorkloadData> data_of(const DataParallel&, const std::vector<Rank>& ranks) {
  enum Kept : std::uint32_t {
    parameters,
    replica,
    inputs,
    activations,
    outputs,
    errors,
    gradients,
    sum,
    count
  };
  WorkloadData data;
  data.items = count;
  data.name = [](std::uint32_t item) {
    constexpr std::array<const char*, count> names{
        "the parameters",         "the replica",  "the inputs",
        "the rank's activations", "the outputs",  "the gradients of the rank's outputs",
        "the rank's gradients",   "the gradients"};
    return std::string(names.at(item));
  };
  data.uses = [](Rank rank, const Action& line, Uses& uses) {
    const bool is_root = rank == Rank(0);
    if (line.kind == Action::Kind::collective) {
      const bool of_errors = line.place == place_of_errors;
      switch (line.call.operation) {
        case Operation::scatter:
          uses = {{one(of_errors ? outputs : inputs)}, {one(of_errors ? errors : activations)}};
          break;
        case Operation::broadcast: uses = {{one(parameters)}, {one(replica)}}; break;
        case Operation::gather: uses = {{one(activations)}, {one(outputs)}}; break;
        default: uses = {{one(gradients)}, {one(sum)}}; break;
      }
      const bool to_root =
          line.call.operation == Operation::gather || line.call.operation == Operation::reduce;
      if (!is_root) (to_root ? uses.writes : uses.reads).clear();
      return;
    }
    switch (line.label.kind) {
      case Label::Kind::forward:
        uses = {{{replica, replica + 1}, one(activations)}, {one(activations)}};
        break;
      case Label::Kind::backward:
        uses = {{one(replica), one(activations), one(errors)}, {one(gradients)}};
        break;
      default: add_optimizer(one(sum), one(parameters), uses); break;
    }
  };
  data.initial = [](Rank rank, std::uint32_t item) -> std::uint64_t {
    return rank == Rank(0) && (item == parameters || item == inputs) ? item + 1 : 0;
  };
  data.claims = {{Claim::Kind::sum, one(sum), gradients, {ranks}},
                 {Claim::Kind::same, one(replica), 0, {ranks}}};
  return std::make_shared<const WorkloadData>(std::move(data));
}

namespace {

void add_part_of_train(const Tensors& tensors, const Action& line, std::uint32_t flow, Uses& uses) {
  const Label& label = line.label;
  const bool is_sharded = tensors.places > 0;
  if (is_sharded && line.kind == Action::Kind::work && is_pass(label))
    add_pass(tensors, label, one(tensors.gathered(label.number - 1U)), flow, uses);
  else
    add_work_or_message(tensors, line, flow, tensors.gradients(), tensors.parameters(), uses);
}

void add_call_of_train(const Tensors& tensors, const Action& line, std::uint32_t flow, Uses& uses) {
  const Label& label = line.label;
  const bool of_layer_alone = label.number > 0;
  const bool gathers = line.call.operation == Operation::all_gather;
  if (gathers && of_layer_alone && label.kind == Label::Kind::parameters) {
    uses = {{of_layer(tensors.parameters(), label.number)},
            {one(tensors.gathered(label.number - 1U))}};
    return;
  }
  if (label.kind == Label::Kind::parameters && gathers)
    uses.reads.push_back(tensors.parameters());
  else if (label.kind == Label::Kind::parameters || label.kind == Label::Kind::bucket)
    uses.reads.push_back(of_layer_alone ? gradients_of(tensors, label) : tensors.gradients());
  else if (is_pass(label))
    uses.reads.push_back(handed_on(tensors, label, flow));
  uses.writes = uses.reads;
}

}  // namespace

std::shared_ptr<const WorkloadData> data_of(const Train& train, const Model& model) {
  const auto pieces = static_cast<std::uint32_t>(train.pp > 1 ? train.chunks : 1);
  const auto layers = static_cast<std::uint32_t>(model.layers.size());
  const auto microbatches = static_cast<std::uint32_t>(train.microbatches);
  const bool is_sharded = train.zero == 3;
  const Tensors tensors{.layers = layers,
                        .flows = pieces * microbatches,
                        .places = is_sharded ? layers : 0,
                        .apart = train.scatters_each_pass() ? microbatches : 1,
                        .bare = bare_layers(model)};
  WorkloadData data;
  data.items = tensors.all();
  data.name = [tensors](std::uint32_t item) { return tensors.name(item); };
  const bool has_context = train.cp > 1;
  data.uses = [tensors, pieces, has_context](Rank, const Action& line, Uses& uses) {
    const bool is_call = line.kind == Action::Kind::collective;
    if (is_call && has_context && line.communicator == context_group) return;
    const std::uint32_t flow = flow_of(line.label) * pieces + (pieces > 1 ? line.place : 0);
    (is_call ? add_call_of_train : add_part_of_train)(tensors, line, flow, uses);
  };
  const int tp = train.tp, dp = train.dp;
  data.initial = [=](Rank rank, std::uint32_t item) -> std::uint64_t {
    const auto place = static_cast<int>(rank.index());
    // Each rank of a tensor group has its part, and perhaps each replica its part of that.
    if (item < tensors.layers)
      return own(Rank(static_cast<std::size_t>(place % (is_sharded ? tp * dp : tp))), item);
    const std::uint32_t flow = item - tensors.forward(0);
    const bool is_input = item >= tensors.forward(0) && flow < tensors.flows;
    const auto replica = static_cast<std::size_t>(place / tp % dp);
    return is_input ? own(Rank(replica), item) : 0;
  };
  std::vector<std::vector<Rank>> replicas;
  for (int stage = 0; stage < train.pp; ++stage)
    for (int tensor = 0; tensor < tp; ++tensor) {
      replicas.emplace_back();
      for (int replica = 0; replica < dp; ++replica)
        replicas.back().emplace_back(
            static_cast<std::size_t>(tensor + tp * (replica + dp * stage)));
    }
  const auto mean = train.zero > 0 ? Claim::Kind::part_of_mean : Claim::Kind::mean;
  for (std::uint32_t set = 0; set < tensors.apart; ++set) {
    const std::uint32_t first = tensors.gradients().begin + set * layers;
    data.claims.push_back({mean, {first, first + layers}, first, replicas});
  }
  if (!is_sharded) data.claims.push_back({Claim::Kind::same, tensors.parameters(), 0, replicas});
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
        if (is_worker) {
          uses = {{{0, servers}, one(2 * servers)}, {}};
          if (line.label.kind == Label::Kind::backward) uses.writes = {{servers, 2 * servers}};
        } else if (waits_for_all)
          uses = {{{1, workers + 1}}, {one(0)}};
        else  // with what one worker has sent
          uses = {{one(line.stream + 1U)}, {one(line.stream + 1U)}};
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
    return item < servers ? item + 1 : item == 2 * servers ? own(rank, item) : 0;
  };
  if (waits_for_all) {
    data.claims = {{Claim::Kind::same, {0, servers}, 0, {{}}}};
    for (std::size_t worker = 0; worker < workers; ++worker)
      data.claims.front().groups.front().emplace_back(worker);
  }
  return std::make_shared<const WorkloadData>(std::move(data));
}

}  // namespace collsim
