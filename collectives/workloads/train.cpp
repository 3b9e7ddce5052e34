// SPDX-License-Identifier: Apache-2.0
//
// Tensor, pipeline and data parallel training at once, as Megatron-LM does it: rank =
// t + tp (d + dp s), t of the tensor group, d of the replicas, s of the pipeline's stages; of the
// replicas, cp neighbouring ones share their sequences.
//
//   tensor    each layer is spread over tp ranks: two all-reduces of its activations forward, two
//             backward (with sequence parallelism, each is a reduce-scatter and an all-gather);
//             of a layer that is cut over several stages, each all-reduce is where its half ends
//   pipeline  stage s hands activations to s+1 and their gradients back; sending is posting
//   context   before attention a layer gathers the keys and values of all tokens of a sequence, as
//             often as it is computed, and reduces and scatters their gradients
//   data      after its last microbatch, a stage averages its gradients among the replicas, while
//             the stages before still work; with overlap, those of each layer when they are there.
//             With a sharded optimizer (zero 1), each replica has a part of the mean, updates its
//             part of the parameters, and all gather them; the gradients may be scattered after
//             every pass (2), and parameters kept in parts alone (3): then a layer is gathered for
//             each pass, while the layer before it is computed
//   host      launches what is computed, ahead of it; where it waits for messages, it is ahead by
//             no more than a piece (only when launching has a time)
//
//   T = pipeline's time + what of the last all-reduces the idle time at its end does not hide
//
// M. Shoeybi et al.: Megatron-LM, 2019.  D. Narayanan et al., SC21.  W. Liang et al.: TorchTitan,
// 2025 (zero 3 beside the others).
#include <algorithm>
#include <cmath>
#include <memory>
#include <set>
#include <string>

#include "collectives/workloads/step_data.hpp"
#include "collectives/workloads/turns.hpp"
#include "collectives/workloads/workloads.hpp"
#include "topo/error.hpp"

namespace collsim {

namespace {

// Messages to the stage after and before come on streams of their own, so that each meets its own.
enum TrainStreams : std::uint8_t { train_compute, from_before, from_after, gradients, host };
// First and last stage, the last of the communicators.
int tied_group(const Train& train) {
  return train.cp > 1 ? context_group + 1 : context_group;
}

// A piece of the model.
struct Piece {
  std::vector<Layer> layers;
  std::vector<std::int32_t> numbers;  // of the layers in the model, from 1
  std::vector<int> halves;            // of each layer, those that end here
  std::vector<bool> attends;          // whether the first of them does
  Bytes activations = 0;              // that it hands on
};

struct TrainPlan {
  Train train;
  Model model;
  std::vector<Piece> pieces;  // in the order of the model: chunk c of stage s is c * pp + s

  struct Place {
    int tensor, replica, stage;
  };
  [[nodiscard]] Place place(Rank rank) const {
    const auto index = static_cast<int>(rank.index());
    return {index % train.tp, index / train.tp % train.dp, index / train.tp / train.dp};
  }
  [[nodiscard]] Rank rank(Place at) const {
    return Rank(
        static_cast<std::size_t>(at.tensor + train.tp * (at.replica + train.dp * at.stage)));
  }
  // Of a piece's activations, what each rank of a tensor group sends: with sequence parallelism it
  // has only its part of them.
  [[nodiscard]] Bytes handed_on(const Piece& piece) const {
    return train.sequence_parallel ? piece.activations / train.tp : piece.activations;
  }
  // Where the piece before or after mine is.
  [[nodiscard]] Rank neighbour(Place me, int step) const {
    return rank({me.tensor, me.replica, (me.stage + step + train.pp) % train.pp});
  }
  [[nodiscard]] Call call(Operation operation, Bytes bytes, Reduction reduction,
                          const AlgorithmChoice& choice) const {
    Call call;
    call.operation = operation;
    call.type = model.type;
    call.count = bytes / size_of(model.type);
    call.reduction = reduction;
    call.choice = &choice;
    return call;
  }
};

Time half(Time time) {
  return Time(time.ps() / 2);
}

// A layer's computation, in two halves with an all-reduce among the tensor group after each; of a
// part of a layer, with one after it where a half ends.
std::vector<Action> through_layer(const TrainPlan& plan, const Layer& layer, int halves, Time time,
                                  const Label& label) {
  if (plan.train.tp == 1) return {labelled(work(train_compute, time), label)};
  std::vector<Action> actions;
  constexpr std::size_t most = 6;  // of two parts, each with two calls at most
  actions.reserve(most);
  const auto add = [&](Operation operation, const AlgorithmChoice& choice) {
    if (layer.activations == 0) return;
    const Call call = plan.call(operation, layer.activations, Reduction::sum, choice);
    actions.push_back(collective(train_compute, tensor_group, call));
  };
  std::vector<Time> parts{time};
  if (halves == 2) parts = {half(time), time - half(time)};
  for (const Time part : parts) {
    actions.push_back(work(train_compute, part));
    if (halves == 0) continue;
    if (!plan.train.sequence_parallel) add(Operation::all_reduce, plan.train.all_reduce);
    if (!plan.train.sequence_parallel) continue;
    add(Operation::reduce_scatter, plan.train.reduce_scatter);
    add(Operation::all_gather, plan.train.all_gather);
  }
  for (Action& action : actions) action.label = label;
  return actions;
}

Label label_of(const TrainPlan& plan, const PipelineWork& part, std::int32_t layer) {
  const Label::Kind kind = part.kind == PipelineWork::Kind::forward    ? Label::Kind::forward
                           : part.kind == PipelineWork::Kind::backward ? Label::Kind::backward
                                                                       : Label::Kind::weights;
  return {kind, layer, plan.train.microbatches > 1 ? part.microbatch + 1 : 0};
}

// A message that hands a microbatch on.
Action of_part(const TrainPlan& plan, const PipelineWork& part, Action message) {
  message.label = label_of(plan, part, 0);
  message.place = static_cast<std::uint32_t>(part.chunk);
  return message;
}

// Gradients among the replicas.
Call mean_of(const TrainPlan& plan, Bytes gradients) {
  const Train& train = plan.train;
  const bool scatters = train.zero > 0;
  const AlgorithmChoice& choice =
      scatters ? train.replicas.reduce_scatter : train.replicas.all_reduce;
  Call call = plan.call(scatters ? Operation::reduce_scatter : Operation::all_reduce, gradients,
                        Reduction::avg, choice);
  call.count = padded(call.count, train.dp * choice.channels);
  return call;
}

// Parameters that the replicas have updated in parts.
Call whole_of(const TrainPlan& plan, Bytes parameters) {
  const AlgorithmChoice& choice = plan.train.replicas.all_gather;
  Call call = plan.call(Operation::all_gather, parameters, Reduction::sum, choice);
  call.count = padded(call.count, plan.train.dp * choice.channels);
  return call;
}

// Whether gradients leave after each layer of a part of a piece's work: when they are complete, or
// those of its microbatch are.
bool reduces_layers(const Train& train, const PipelineWork& part) {
  if (train.dp == 1) return false;
  const PipelineWork::Kind last = train.schedule == PipelineSchedule::zb_h1
                                      ? PipelineWork::Kind::weights
                                      : PipelineWork::Kind::backward;
  if (part.kind != last) return false;
  return train.scatters_each_pass() || (train.overlap && part.microbatch == train.microbatches - 1);
}

// What comes next on the replicas' stream, when compute has come here.
void let_replicas_go_on(std::vector<Action>& actions) {
  actions.push_back(record(train_compute, gradients));
  actions.push_back(wait(gradients, train_compute));
}

// label.number: of a layer, 0: of all.
Action reduction(const TrainPlan& plan, Bytes bytes, const Label& label) {
  return labelled(collective(gradients, replicas, mean_of(plan, bytes)), label);
}

// The passes of a rank through its layers, one after the other, which gather parameters that are
// kept in parts: those of two layers are whole at a time.
class GatheredPasses {
 public:
  GatheredPasses(const TrainPlan& plan, int stage, const std::vector<PipelineWork>& order)
      : plan_(plan), stage_(stage), order_(order) {
    if (plan.train.zero < 3) part_ = order.size();
    find_next();
  }

  // Before the first pass, as far as memory lets it.
  [[nodiscard]] std::vector<Action> begin() {
    std::vector<Action> actions;
    gather(actions);
    gather(actions);
    return actions;
  }
  // Compute waits for the layer that it goes through next.
  void before_pass(std::vector<Action>& actions) {
    if (under_way_.empty()) return;
    if (const std::int64_t gathered = under_way_.front(); gathered > 0)
      actions.push_back(wait(train_compute, gradients, gathered));
    under_way_.erase(under_way_.begin());
  }
  [[nodiscard]] bool has_next() const { return next_.gathers; }
  // After a pass, when compute has told so, the layer after the next.
  void gather(std::vector<Action>& actions) {
    if (next_.piece == nullptr) return;
    under_way_.push_back(next_.gathers ? ++gathered_ : 0);
    if (next_.gathers) {
      const Layer& layer = next_.piece->layers[next_.layer];
      const Label label{Label::Kind::parameters, next_.piece->numbers[next_.layer], 0};
      actions.push_back(
          labelled(collective(gradients, replicas, whole_of(plan_, layer.gradients)), label));
      actions.push_back(record(gradients, train_compute));
    }
    find_next();
  }

 private:
  struct Pass {
    const Piece* piece = nullptr;
    std::size_t layer = 0;
    bool gathers = false;
  };

  // A layer that is gone through twice in a row stays whole.
  void find_next() {
    const Pass before = next_;
    next_ = {};
    while (part_ < order_.size() && order_[part_].kind == PipelineWork::Kind::weights) ++part_;
    if (part_ == order_.size()) return;
    const PipelineWork& part = order_[part_];
    const int number = part.chunk * plan_.train.pp + stage_;
    const Piece& piece = plan_.pieces[static_cast<std::size_t>(number)];
    const std::size_t count = piece.layers.size();
    const std::size_t layer =
        part.kind == PipelineWork::Kind::forward ? passed_ : count - 1 - passed_;
    const bool stays = before.piece == &piece && before.layer == layer;
    next_ = {&piece, layer, !stays && piece.layers[layer].gradients > 0};
    if (++passed_ < count) return;
    passed_ = 0;
    ++part_;
  }

  const TrainPlan& plan_;
  const int stage_;
  const std::vector<PipelineWork>& order_;
  std::size_t part_ = 0, passed_ = 0;  // where next_ was found
  Pass next_;
  std::int64_t gathered_ = 0;  // layers
  // Of the next passes of compute, which of these it waits for; 0: none.
  std::vector<std::int64_t> under_way_;
};

// Keys and values of whole sequences, or their gradients, among those that share them.
Action of_keys(const TrainPlan& plan, const Layer& layer, Operation operation, const Label& label) {
  const Train::OfReplicas& choices = plan.train.context;
  const AlgorithmChoice& choice =
      operation == Operation::all_gather ? choices.all_gather : choices.reduce_scatter;
  Call call = plan.call(operation, layer.keys, Reduction::sum, choice);
  call.count = padded(call.count, plan.train.cp * choice.channels);
  return labelled(collective(train_compute, context_group, call), label);
}

// After a pass of a layer: its gradients, and the parameters of one to come.
void add_calls_of_replicas(const TrainPlan& plan, const Layer& layer, const Label& of_gradients,
                           bool reduces, GatheredPasses* gathered, std::vector<Action>& actions) {
  reduces = reduces && layer.gradients > 0;
  const bool gathers = gathered != nullptr && gathered->has_next();
  if (reduces || gathers) let_replicas_go_on(actions);
  if (reduces) actions.push_back(reduction(plan, layer.gradients, of_gradients));
  if (gathered != nullptr) gathered->gather(actions);
}

std::vector<Action> through_piece(const TrainPlan& plan, const Piece& piece,
                                  const PipelineWork& part, GatheredPasses& gathered) {
  std::vector<Action> actions;
  const bool reduces = reduces_layers(plan.train, part);
  actions.reserve(piece.layers.size() * (plan.train.tp == 1 ? 5 : 15));  // enough without cp
  const bool in_two = plan.train.schedule == PipelineSchedule::zb_h1;
  const auto add = [&](std::size_t i) {
    const Layer& layer = piece.layers[i];
    const Label label = label_of(plan, part, piece.numbers[i]);
    const Label of_gradients = plan.train.scatters_each_pass()
                                   ? Label{Label::Kind::parameters, label.number, label.microbatch}
                                   : Label{Label::Kind::bucket, label.number};
    const Time gradients_alone = layer.backward - layer.again;
    if (part.kind == PipelineWork::Kind::weights) {
      actions.push_back(
          labelled(work(train_compute, gradients_alone - half(gradients_alone)), label));
      add_calls_of_replicas(plan, layer, of_gradients, reduces, nullptr, actions);
      return;
    }
    gathered.before_pass(actions);
    const Time time = part.kind == PipelineWork::Kind::forward ? layer.forward
                      : in_two                                 ? layer.again + half(gradients_alone)
                                                               : layer.backward;
    const Time again = part.kind == PipelineWork::Kind::backward ? layer.again : Time{};
    const bool shares = plan.train.cp > 1 && piece.attends[i] && layer.keys > 0;
    for (const bool repeats : {true, false}) {
      const Time pass = repeats ? again : time - again;
      if (pass == Time{} && again == Time{}) continue;
      if (shares) actions.push_back(of_keys(plan, layer, Operation::all_gather, label));
      for (const Action& action : through_layer(plan, layer, piece.halves[i], pass, label))
        actions.push_back(action);
      if (shares && !repeats && part.kind == PipelineWork::Kind::backward)
        actions.push_back(of_keys(plan, layer, Operation::reduce_scatter, label));
    }
    add_calls_of_replicas(plan, layer, of_gradients, reduces, &gathered, actions);
  };
  const std::size_t count = piece.layers.size();
  for (std::size_t i = 0; i < count; ++i)
    add(part.kind == PipelineWork::Kind::forward ? i : count - 1 - i);
  for (Action& action : actions) action.place = static_cast<std::uint32_t>(part.chunk);
  return actions;
}

// What the host needs to launch it; a layer that is computed again is launched again, and of a
// backward pass in two halves each is half of it.
Time launch_of(const TrainPlan& plan, const Piece& piece, const PipelineWork& part) {
  const Time once(plan.model.launch.ps() * static_cast<std::int64_t>(piece.layers.size()));
  if (part.kind == PipelineWork::Kind::forward) return once;
  const bool in_two = plan.train.schedule == PipelineSchedule::zb_h1;
  if (part.kind == PipelineWork::Kind::weights) return once - half(once);
  const auto again = std::count_if(piece.layers.begin(), piece.layers.end(),
                                   [](const Layer& layer) { return layer.again > Time{}; });
  return Time(plan.model.launch.ps() * again) + (in_two ? half(once) : once);
}

// Whether a table is on two stages.
bool is_shared(const TrainPlan& plan) {
  return plan.train.pp > 1 && plan.model.tied > 0;
}

// Of zero 2 and 3 of the part that a replica has; before, Megatron-LM adds up whole tables.
Call sum_of_tied(const TrainPlan& plan) {
  const int parts = plan.train.scatters_each_pass() ? plan.train.dp : 1;
  Call call = plan.call(Operation::all_reduce, plan.model.tied, Reduction::sum, plan.train.tied);
  call.count = padded(call.count, parts) / parts;
  return call;
}

Bytes gradients_of(const TrainPlan& plan, int stage) {
  Bytes bytes = 0;
  for (std::size_t piece = static_cast<std::size_t>(stage); piece < plan.pieces.size();
       piece += static_cast<std::size_t>(plan.train.pp))
    for (const Layer& layer : plan.pieces[piece].layers) bytes += layer.gradients;
  return bytes;
}

// Each stage updates its own parameters.
Time update_of(const TrainPlan& plan, int stage) {
  Bytes all = 0;
  for (const Layer& layer : plan.model.layers) all += layer.gradients;
  const Time whole = plan.model.optimizer;
  if (all == 0) return Time(whole.ps() / plan.train.pp);
  const double share = static_cast<double>(gradients_of(plan, stage)) / static_cast<double>(all);
  return Time(std::llround(static_cast<double>(whole.ps()) * share));
}

// After the last microbatch: the gradients' mean, what stages share, the update, the parameters.
std::vector<Action> end_of_step(const TrainPlan& plan, int stage) {
  const Train& train = plan.train;
  const Bytes bytes = gradients_of(plan, stage);
  const bool among_replicas = train.dp > 1 && bytes > 0;
  const bool shares = among_replicas && train.zero > 0;
  std::vector<Action> actions;
  if (among_replicas && !train.overlap && !train.scatters_each_pass()) {
    let_replicas_go_on(actions);
    actions.push_back(reduction(plan, bytes, {Label::Kind::bucket}));
  }
  if (among_replicas) {
    actions.push_back(record(gradients, train_compute));
    actions.push_back(wait(train_compute, gradients));
  }
  if (is_shared(plan) && (stage == 0 || stage + 1 == train.pp))
    actions.push_back(collective(train_compute, tied_group(train), sum_of_tied(plan)));
  const Time update(update_of(plan, stage).ps() / (shares ? train.dp : 1));
  actions.push_back(labelled(work(train_compute, update), {Label::Kind::optimizer}));
  if (!shares || train.zero == 3) return actions;
  let_replicas_go_on(actions);
  actions.push_back(
      labelled(collective(gradients, replicas, whole_of(plan, bytes)), {Label::Kind::parameters}));
  return actions;
}

Script train_step(std::shared_ptr<const TrainPlan> plan, Rank rank) {
  const Train& train = plan->train;
  const TrainPlan::Place me = plan->place(rank);
  const int last = static_cast<int>(plan->pieces.size()) - 1;
  const bool has_neighbours = train.pp > 1;  // else the next piece is here, too
  const Rank before = plan->neighbour(me, -1);
  const Rank after = plan->neighbour(me, 1);
  const std::vector<PipelineWork> order =
      pipeline_order(train.schedule, me.stage, train.pp, train.microbatches, train.chunks);
  GatheredPasses gathered(*plan, me.stage, order);
  for (const Action& action : gathered.begin()) co_yield action;
  for (const PipelineWork& part : order) {
    const int number = part.chunk * train.pp + me.stage;
    const Piece& piece = plan->pieces[static_cast<std::size_t>(number)];
    const bool forward = part.kind == PipelineWork::Kind::forward;
    const bool backward = part.kind == PipelineWork::Kind::backward;
    const Bytes taken =
        number > 0 ? plan->handed_on(plan->pieces[static_cast<std::size_t>(number - 1)]) : 0;
    const Bytes given = plan->handed_on(piece);
    if (forward && number > 0 && has_neighbours) {
      co_yield of_part(*plan, part, receive(from_before, before, taken, train_compute));
      co_yield record(from_before, train_compute);
      co_yield wait(train_compute, from_before);
    }
    if (backward && number < last && has_neighbours) {
      co_yield of_part(*plan, part, receive(from_after, after, given, train_compute));
      co_yield record(from_after, train_compute);
      co_yield wait(train_compute, from_after);
    }
    const Time launch = launch_of(*plan, piece, part);
    if (launch > Time{} && train.pp > 1) {
      co_yield record(train_compute, host);
      co_yield wait(host, train_compute);
    }
    if (launch > Time{}) co_yield work(host, launch);
    for (const Action& action : through_piece(*plan, piece, part, gathered)) co_yield action;
    if (launch > Time{}) {
      co_yield record(host, train_compute);
      co_yield wait(train_compute, host);
    }
    if (forward && number < last && has_neighbours)
      co_yield of_part(*plan, part, send(train_compute, after, given, from_before));
    if (backward && number > 0 && has_neighbours)
      co_yield of_part(*plan, part, send(train_compute, before, taken, from_after));
  }
  for (const Action& action : end_of_step(*plan, me.stage)) co_yield action;
}

// The layers cut into pieces: whole layers, the first pieces one more where they do not divide
// evenly; equal parts of layers where there are fewer of these than pieces.
std::vector<Piece> pieces_of(const Model& model, int count, bool on_stages) {
  std::vector<Layer> layers = model.layers;
  std::size_t parts_of_layer = 1;
  const auto pieces = static_cast<std::size_t>(count);
  if (layers.empty())
    throw_error(ErrorCode::invalid_argument, "a model that is trained has layers");
  if (layers.size() < pieces) {
    if (pieces % layers.size() != 0)
      throw_error(ErrorCode::invalid_argument, layers.size(), " layers cannot be spread over ",
                  pieces, " pieces of a pipeline");
    parts_of_layer = pieces / layers.size();
    const auto parts = static_cast<std::int64_t>(parts_of_layer);
    std::vector<Layer> split;
    for (const Layer& layer : layers)
      for (std::int64_t i = 0; i < parts; ++i) {
        const auto part = [&](std::int64_t whole) {
          return whole * (i + 1) / parts - whole * i / parts;
        };
        split.push_back({.name = layer.name,
                         .forward = Time(part(layer.forward.ps())),
                         .backward = Time(part(layer.backward.ps())),
                         .gradients = part(layer.gradients),
                         .activations = layer.activations,
                         .again = Time(part(layer.again.ps())),
                         .keys = layer.keys});
      }
    layers = std::move(split);
  }
  std::vector<Piece> result(pieces);
  for (std::size_t i = 0; i < pieces; ++i) {
    const Span span = Span{Buffer::input, 0, static_cast<std::int64_t>(layers.size())}.piece(
        static_cast<std::int64_t>(i), count);
    result[i].layers.assign(layers.begin() + span.offset,
                            layers.begin() + span.offset + span.count);
    for (std::int64_t layer = span.offset; layer < span.offset + span.count; ++layer) {
      const auto parts = static_cast<std::int64_t>(parts_of_layer), part = layer % parts;
      result[i].numbers.push_back(static_cast<std::int32_t>(layer / parts + 1));
      const std::int64_t before = 2 * part / parts, after = 2 * (part + 1) / parts;
      result[i].halves.push_back(static_cast<int>(after - before));
      result[i].attends.push_back(before == 0 && after > 0);
    }
    result[i].activations = result[i].layers.back().activations;
  }
  if (on_stages) result.back().layers.back().gradients += model.tied;
  return result;
}

void check_train(const Train& train) {
  for (const auto& [what, value] : {std::pair{"tp", train.tp},
                                    {"pp", train.pp},
                                    {"dp", train.dp},
                                    {"cp", train.cp},
                                    {"microbatches", train.microbatches},
                                    {"chunks", train.chunks}})
    if (value < 1)
      throw_error(ErrorCode::invalid_argument, what, " must be at least 1, not ", value);
  if (train.chunks > 1 && train.schedule != PipelineSchedule::interleaved)
    throw_error(ErrorCode::invalid_argument,
                "only an interleaved pipeline has several chunks on a stage");
}

}  // namespace

// Ranks of a tensor group, and replicas, do the same as others as far as their calls let them.
std::vector<TurnDigit> turns_of(const TrainPlan& plan) {
  const Train& train = plan.train;
  std::set<Call> of_tensor_groups, of_replicas;
  for (const Layer& layer : plan.model.layers)
    for (const Action& action : through_layer(plan, layer, 2, Time{}, Label{}))
      if (action.kind == Action::Kind::collective) of_tensor_groups.insert(action.call);
  for (int stage = 0; stage < train.pp && train.dp > 1; ++stage) {
    const Bytes bytes = gradients_of(plan, stage);
    const bool whole_stage = bytes > 0 && train.zero < 3;
    if (whole_stage && train.zero > 0) of_replicas.insert(whole_of(plan, bytes));
    if (whole_stage && !train.overlap && !train.scatters_each_pass())
      of_replicas.insert(mean_of(plan, bytes));
  }
  const bool by_layer = train.dp > 1 && (train.overlap || train.scatters_each_pass());
  for (const Piece& piece : plan.pieces)
    for (const Layer& layer : piece.layers) {
      if (!by_layer || layer.gradients == 0) continue;
      of_replicas.insert(mean_of(plan, layer.gradients));
      if (train.zero == 3) of_replicas.insert(whole_of(plan, layer.gradients));
    }
  const std::vector<TurnDigit> tensor = turns_of_members(of_tensor_groups, train.tp);
  std::vector<TurnDigit> replicas = turns_of_members(of_replicas, train.dp);
  if (tensor.empty() || replicas.empty()) return {};
  // Those that share sequences stay together.
  const auto together = static_cast<std::uint32_t>(train.cp);
  if (replicas.size() == 1)
    replicas.front().step = together;
  else if (replicas.back().size % together != 0)
    return {};
  const auto stages = static_cast<std::uint32_t>(train.pp);
  std::vector<TurnDigit> digits{{.size = stages, .step = stages}};
  digits.insert(digits.end(), replicas.begin(), replicas.end());
  digits.insert(digits.end(), tensor.begin(), tensor.end());
  return digits;
}

// The ranks that have the same part of a table.
std::vector<std::vector<Rank>> first_and_last_of(const Train& train) {
  const int of_stage = train.tp * train.dp;
  std::vector<std::vector<Rank>> groups;
  groups.reserve(static_cast<std::size_t>(of_stage));
  for (int rank = 0; rank < of_stage; ++rank)
    groups.push_back({Rank(static_cast<std::size_t>(rank)),
                      Rank(static_cast<std::size_t>(rank + of_stage * (train.pp - 1)))});
  return groups;
}

Workload make_workload(const Train& asked, const Model& model) {
  check_train(asked);
  Train train = asked;
  if (train.dp == 1) train.zero = 0;  // nobody to share with
  const Model trained = train.zero == 3 ? with_sharding(model) : model;
  const auto plan = std::make_shared<const TrainPlan>(
      TrainPlan{train, trained, pieces_of(trained, train.pp * train.chunks, train.pp > 1)});
  const int ranks = train.tp * train.pp * train.dp;
  Workload::Parts parts;
  parts.group = first_ranks(static_cast<std::size_t>(ranks));
  parts.stream_names = {"compute", "from before", "from after",
                        train.zero == 3 ? "replicas" : "gradients"};
  if (model.launch > Time{}) parts.stream_names.emplace_back("host");
  const int all_reduce = lanes_of(Operation::all_reduce, train.all_reduce);
  const int tensor = train.sequence_parallel
                         ? std::max(lanes_of(Operation::all_gather, train.all_gather),
                                    lanes_of(Operation::reduce_scatter, train.reduce_scatter))
                         : all_reduce;
  const Train::OfReplicas& choices = train.replicas;
  const int of_replicas =
      train.zero > 0 ? std::max(lanes_of(Operation::reduce_scatter, choices.reduce_scatter),
                                lanes_of(Operation::all_gather, choices.all_gather))
                     : lanes_of(Operation::all_reduce, choices.all_reduce);
  parts.communicators = {{"tp", strided_groups(ranks, train.tp, 1), tensor},
                         {"dp", strided_groups(ranks, train.dp, train.tp), of_replicas}};
  if (train.cp > 1)
    parts.communicators.push_back(
        {"cp", strided_groups(ranks, train.cp, train.tp),
         std::max(lanes_of(Operation::all_gather, train.context.all_gather),
                  lanes_of(Operation::reduce_scatter, train.context.reduce_scatter))});
  if (is_shared(*plan))
    parts.communicators.push_back(
        {"tied", first_and_last_of(train), lanes_of(Operation::all_reduce, train.tied)});
  parts.turns = turns_of(*plan);
  parts.script = [plan](Rank rank) { return train_step(plan, rank); };
  parts.data = data_of(train, model);
  return Workload(std::move(parts));
}

}  // namespace collsim
