// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <initializer_list>
#include <set>
#include <utility>

#include "app/json/screen_text.hpp"
#include "app/scenario/nccl_rings.hpp"
#include "app/scenario/quantities.hpp"
#include "app/scenario/vocabulary.hpp"
#include "app/scenario/workload/workload_internal.hpp"
#include "collectives/collective.hpp"
#include "topo/error.hpp"

namespace collsim {
namespace {

// Stated limits: microbatches times pieces of all ranks together, and each alone.
constexpr std::int64_t max_microbatches = 100'000;
constexpr std::int64_t max_pieces = 1'000;
constexpr std::int64_t max_pipeline_work = 10'000'000;

// A collective whose algorithm can be chosen, and among how many ranks (0: unknown), so far apart.
struct Choosable {
  const char* key;
  Operation operation;
  AlgorithmChoice* choice;
  int members;
  int stride = 1;
  const Choosable* also = nullptr;  // takes the same, in groups of its own
};

class SchemeReader {
 public:
  SchemeReader(const JsonValue& written, const std::string& pointer, const SchemeContext& context,
               Diagnostics& diagnostics)
      : context_(&context), reader_(written, pointer, diagnostics) {}

  // The options, and what makes the step of them: called only when all is right.
  using Maker = std::function<TrainingStep()>;
  Maker ddp();
  Maker fsdp();
  Maker pipeline();
  Maker tensor();
  Maker experts();
  Maker parameter_server();
  Maker data_parallel();
  Maker train();

  std::optional<TrainingStep> make(const Maker& maker, JsonValue& resolved) {
    resolved = reader_.finish();
    if (!reader_.diagnostics().empty() || context_->cluster == nullptr) return std::nullopt;
    try {
      return maker();
    } catch (const Error& error) {
      return reader_.wrong("", error);
    }
  }

 private:
  [[nodiscard]] int ranks() const { return context_->ranks(); }
  [[nodiscard]] bool on_preset() const {
    return context_->cluster != nullptr && !context_->cluster->preset.empty();
  }
  [[nodiscard]] const Model& model() const { return *context_->model; }

  Bytes bytes(const char* key, Bytes otherwise) {
    const auto written = reader_.size(key);
    if (!written) reader_.resolve(key, exact_size(otherwise));
    return written.value_or(otherwise);
  }
  int whole(const char* key, std::int64_t high, std::int64_t otherwise) {
    return static_cast<int>(reader_.integer(key, 1, high, otherwise));
  }

  // Whether a key means something here; where it does not, writing it is a mistake.
  bool applies(const char* key, bool meaningful, const std::string& whose) {
    if (meaningful) return true;
    if (reader_.raw(key) != nullptr && !context_->varies)
      reader_.wrong(key, "not-applicable", "\"" + std::string(key) + "\" " + whose, {}, "omit it");
    return false;
  }

  void read_buckets(Ddp& ddp) {
    ddp.bucket = bytes("bucket", ddp.bucket);
    ddp.first_bucket = bytes("first_bucket", ddp.first_bucket);
  }
  void read_replicas(Ddp& ddp);
  void read_sharding(Fsdp& fsdp, bool sharded);
  void read_algorithms(std::initializer_list<Choosable> calls);
  void read_choice(ObjectReader& algorithms, const Choosable& call);
  void spread(const Choosable& call, bool chosen) const;
  void read_degrees(Train& train);
  void read_algorithms_of(Train& train);
  void read_schedule(Train& train);
  int microbatches();
  int passes();
  static TrainingStep plain(Workload workload) {
    return {.scheme = {}, .workload = std::move(workload)};
  }
  // Of schemes that mostly have one, which needs no column.
  static std::optional<int> shown(int microbatches) {
    return microbatches > 1 ? std::optional(microbatches) : std::nullopt;
  }
  static TrainingStep with_microbatches(int microbatches, TrainingStep step) {
    step.microbatches = shown(microbatches);
    return step;
  }
  [[nodiscard]] TrainingStep step_of(const Ddp& ddp) const;
  [[nodiscard]] TrainingStep step_of(const Train& train) const;

  const SchemeContext* context_;
  ObjectReader reader_;
};

// "algorithm": {"all_reduce": "ring", "all_gather": {"algorithm": "ring", "chunks": 4}}
void SchemeReader::read_algorithms(std::initializer_list<Choosable> calls) {
  static const JsonValue none = JsonValue::object();
  const JsonValue* const written = reader_.raw("algorithm");
  ObjectReader algorithms(written != nullptr ? *written : none, reader_.pointer_of("algorithm"),
                          reader_.diagnostics());
  for (const Choosable& call : calls) read_choice(algorithms, call);
  JsonValue resolved = algorithms.finish();
  if (written != nullptr) resolved.place = written->place;
  reader_.resolve("algorithm", std::move(resolved));
}

void SchemeReader::read_choice(ObjectReader& algorithms, const Choosable& call) {
  Vocabulary words = algorithm_words(call.operation);
  std::erase_if(words.allowed, [](const std::string& word) { return is_policy(word); });
  const JsonValue* const written = algorithms.raw(call.key);
  AlgorithmChoice& choice = *call.choice;
  const std::size_t mistakes = algorithms.diagnostics().size();
  bool chosen = false;  // how many channels
  if (written != nullptr && written->is_string()) {
    choice.name = algorithms.word(call.key, words).value_or(choice.name);
  } else {
    static const JsonValue none = JsonValue::object();
    ObjectReader inner(written != nullptr ? *written : none, algorithms.pointer_of(call.key),
                       algorithms.diagnostics());
    choice.name = inner.word("algorithm", words, choice.name);
    choice.chunks = static_cast<int>(inner.integer("chunks", 1, max_chunks, 1));
    const auto channels = inner.integer("channels", 1, max_channels);
    chosen = channels.has_value();
    choice.channels = static_cast<int>(channels.value_or(1));
    if (!chosen && !on_preset()) inner.resolve("channels", std::int64_t{1});
    algorithms.resolve(call.key, inner.finish());
  }
  if (call.members < 1 || algorithms.diagnostics().size() > mistakes) return;
  for (const Choosable* one = call.also; one != nullptr; one = one->also) *one->choice = choice;
  for (const Choosable* one = &call; one != nullptr; one = one->also) {
    try {
      validate(choice, find_algorithm(call.operation, choice.name), one->members);
    } catch (const Error& error) {
      algorithms.wrong(call.key, error);
      return;
    }
  }
  for (const Choosable* one = &call; one != nullptr; one = one->also) spread(*one, chosen);
}

void SchemeReader::spread(const Choosable& call, bool chosen) const {
  if (context_->cluster == nullptr) return;
  std::vector<Rank> group;
  group.reserve(static_cast<std::size_t>(call.members));
  for (int member = 0; member < call.members; ++member)
    group.emplace_back(static_cast<std::size_t>(member * call.stride));
  spread_over_nics(*call.choice, chosen, *context_->cluster, {group});
}

TrainingStep SchemeReader::step_of(const Ddp& ddp) const {
  return {.scheme = {},
          .workload = make_workload(ddp, model(), ranks()),
          .buckets = static_cast<int>(layers_of_buckets(ddp, model()).size()),
          .microbatches = shown(ddp.microbatches)};
}

// What PyTorch's DDP does besides buckets.
void SchemeReader::read_replicas(Ddp& ddp) {
  ddp.buffers = bytes("broadcast_buffers", 0);
  if (ddp.buffers % size_of(model().type) != 0)
    reader_.wrong("broadcast_buffers", "not-whole-elements",
                  fmt::format("{} is not a whole number of elements of {} bytes ({})",
                              exact_size(ddp.buffers), size_of(model().type),
                              element_type_word(model().type)));
  ddp.broadcast_parameters = reader_.boolean("broadcast_parameters", false);
  ddp.devices_per_replica = whole("devices_per_replica", max_ranks, 1);
}

SchemeReader::Maker SchemeReader::ddp() {
  Ddp ddp;
  ddp.microbatches = passes();
  ddp.overlap = reader_.boolean("overlap", ddp.overlap);
  const std::string of_overlap = "is for gradients that leave during the backward pass";
  const bool bucket = applies("bucket", ddp.overlap, of_overlap);
  const bool first = applies("first_bucket", ddp.overlap, of_overlap);
  if (bucket && first) read_buckets(ddp);
  read_replicas(ddp);
  const bool fits = ranks() % ddp.devices_per_replica == 0;
  if (!fits)
    reader_.wrong("devices_per_replica", "does-not-fit",
                  fmt::format("{} are no whole number of replicas of {} devices",
                              count_text(ranks(), "rank"), ddp.devices_per_replica));
  const int replicas = fits ? ranks() / ddp.devices_per_replica : 0;
  const bool broadcasts = ddp.broadcast_parameters || ddp.buffers > 0;
  const Choosable all_reduce{"all_reduce", Operation::all_reduce, &ddp.all_reduce, replicas,
                             ddp.devices_per_replica};
  const Choosable broadcast{"broadcast", Operation::broadcast, &ddp.broadcast, replicas,
                            ddp.devices_per_replica};
  if (broadcasts || context_->varies)
    read_algorithms({all_reduce, broadcast});
  else
    read_algorithms({all_reduce});
  return [this, ddp] { return step_of(ddp); };
}

SchemeReader::Maker SchemeReader::fsdp() {
  constexpr int full = 3;
  const int zero = whole("zero", full, full);
  const bool sharded = zero == full;
  Fsdp fsdp;
  read_sharding(fsdp, sharded);
  fsdp.microbatches = microbatches();
  Ddp ddp{.microbatches = fsdp.microbatches,
          .sharded_optimizer = true,
          .scatters_each_pass = zero == 2};
  const bool bucket = applies("bucket", !sharded, "is for the first stages (\"zero\": 1 or 2)");
  const bool first =
      applies("first_bucket", !sharded, "is for the first stages (\"zero\": 1 or 2)");
  if (bucket && first) read_buckets(ddp);
  const bool hybrid = fsdp.shards > 0 && fsdp.shards < ranks();
  const int sharded_by = hybrid ? fsdp.shards : ranks();
  const Choosable all_gather{"all_gather", Operation::all_gather, &fsdp.all_gather, sharded_by};
  const Choosable scatter{"reduce_scatter", Operation::reduce_scatter, &fsdp.reduce_scatter,
                          sharded_by};
  if (hybrid)
    read_algorithms({all_gather,
                     scatter,
                     {"all_reduce", Operation::all_reduce, &fsdp.all_reduce, ranks() / sharded_by,
                      sharded_by}});
  else
    read_algorithms({all_gather, scatter});
  ddp.all_gather = fsdp.all_gather;
  ddp.reduce_scatter = fsdp.reduce_scatter;
  return [this, sharded, ddp, fsdp] {
    if (!sharded) return step_of(ddp);
    return with_microbatches(fsdp.microbatches, plain(make_workload(fsdp, model(), ranks())));
  };
}

// As written, or as the global batch of a transformer asks for.
int SchemeReader::microbatches() {
  const auto asked = context_->microbatches;
  const std::int64_t written =
      reader_.integer("microbatches", 1, max_microbatches, asked.value_or(1));
  if (asked && written != *asked)
    reader_.wrong(
        "microbatches", "does-not-fit",
        fmt::format("the model's global batch makes {} of each replica",
                    *asked == 1 ? "1 microbatch" : fmt::format("{} microbatches", *asked)),
        {}, "omit \"microbatches\"");
  return static_cast<int>(written);
}

void SchemeReader::read_sharding(Fsdp& fsdp, bool sharded) {
  using Prefetch = Fsdp::Prefetch;
  static const Vocabulary prefetches{.what = "prefetch", .allowed = {"pre", "post", "none"}};
  const std::string of_full = "is for fully sharded parameters (\"zero\": 3)";
  if (applies("unsharded", sharded, of_full))
    fsdp.unsharded = whole("unsharded", max_pieces, fsdp.unsharded);
  if (applies("prefetch", sharded, of_full)) {
    const std::string prefetch = reader_.word("prefetch", prefetches, "pre");
    fsdp.prefetch = prefetch == "pre"    ? Prefetch::pre
                    : prefetch == "post" ? Prefetch::post
                                         : Prefetch::none;
  }
  if (!applies("hybrid", sharded, of_full)) return;
  fsdp.shards = whole("hybrid", max_ranks, std::max(ranks(), 1));
  if (ranks() % fsdp.shards == 0) return;
  reader_.wrong("hybrid", "does-not-fit",
                fmt::format("{} are no whole number of groups of {}", count_text(ranks(), "rank"),
                            fsdp.shards),
                {}, "so many neighbouring ranks keep the parameters once, such as those of a node");
}

// The same; or how many passes come before the one that sends the gradients.
int SchemeReader::passes() {
  if (!reader_.has("no_sync")) return microbatches();
  static_cast<void>(reader_.raw("microbatches"));
  reader_.at_most_one_of({"microbatches", "no_sync"});
  const std::int64_t written = reader_.integer("no_sync", 0, max_microbatches - 1, 0) + 1;
  if (context_->microbatches && written != *context_->microbatches)
    reader_.wrong("no_sync", "does-not-fit",
                  fmt::format("the model's global batch makes {} passes of each replica",
                              *context_->microbatches),
                  {}, "omit \"no_sync\"");
  return static_cast<int>(written);
}

// schedule, chunks.
void SchemeReader::read_schedule(Train& train) {
  static const Vocabulary schedules{
      .what = "schedule",
      .allowed = {"gpipe", "1f1b", "interleaved", "zb-h1"},
      .aliases = {{"pipedream-flush", "1f1b"}, {"interleaved-1f1b", "interleaved"}}};
  const std::string schedule = reader_.word("schedule", schedules, "1f1b");
  train.schedule = schedule == "gpipe"         ? PipelineSchedule::gpipe
                   : schedule == "1f1b"        ? PipelineSchedule::one_f_one_b
                   : schedule == "interleaved" ? PipelineSchedule::interleaved
                                               : PipelineSchedule::zb_h1;
  const bool several = train.schedule == PipelineSchedule::interleaved;
  if (applies("chunks", several, "is only for the schedule interleaved"))
    train.chunks = whole("chunks", max_pieces, 2);
  const std::int64_t work = std::int64_t{train.microbatches} * train.chunks * std::max(ranks(), 1);
  if (work > max_pipeline_work)
    reader_.wrong("microbatches", "too-large",
                  fmt::format("{} microbatches are too many for this number of ranks",
                              with_commas(std::int64_t{train.microbatches})),
                  {}, "microbatches times chunks times ranks are at most 10,000,000");
}

TrainingStep SchemeReader::step_of(const Train& train) const {
  TrainingStep step{
      .scheme = {}, .workload = make_workload(train, model()), .microbatches = train.microbatches};
  for (int stage = 0; stage < train.pp; ++stage)
    step.activations.push_back(most_activations(
        pipeline_order(train.schedule, stage, train.pp, train.microbatches, train.chunks)));
  const Cluster& cluster = *context_->cluster;
  const bool on_time = !context_->any_slow && cluster.late.empty();
  const bool free = cluster.link && cluster.link->segments.empty() &&
                    cluster.link->startup == Time{} && cluster.link->latency == Time{};
  if (on_time && free) step.formula = pipeline_formula(train, model());
  return step;
}

SchemeReader::Maker SchemeReader::pipeline() {
  Train train;
  train.pp = whole("stages", max_ranks, std::max(ranks(), 1));
  if (!context_->microbatches) reader_.need({"microbatches"});
  train.microbatches = microbatches();
  read_schedule(train);
  if (ranks() > 0 && train.pp != ranks())
    reader_.wrong(
        "stages", "does-not-fit",
        fmt::format("{} do not fit {}", count_text(train.pp, "stage"), count_text(ranks(), "rank")),
        {}, "a pipeline has a stage on every rank; \"train\" has replicas of it, too");
  const int ends = train.pp == ranks() && train.pp > 1 ? 2 : 0;
  if (model().tied > 0 || context_->varies)
    read_algorithms({{"all_reduce", Operation::all_reduce, &train.tied, ends, train.pp - 1}});
  return [this, train] { return step_of(train); };
}

SchemeReader::Maker SchemeReader::tensor() {
  Train train;
  train.tp = whole("degree", max_ranks, std::max(ranks(), 1));
  train.microbatches = microbatches();
  train.sequence_parallel = reader_.boolean("sequence_parallel", false);
  if (ranks() > 0 && train.tp != ranks())
    reader_.wrong(
        "degree", "does-not-fit",
        fmt::format("a degree of {} does not fit {}", train.tp, count_text(ranks(), "rank")), {},
        "a tensor group has all ranks; \"train\" has replicas of it, too");
  if (train.sequence_parallel)
    read_algorithms(
        {{"all_gather", Operation::all_gather, &train.all_gather, ranks()},
         {"reduce_scatter", Operation::reduce_scatter, &train.reduce_scatter, ranks()}});
  else
    read_algorithms({{"all_reduce", Operation::all_reduce, &train.all_reduce, ranks()}});
  return [this, train] {
    return with_microbatches(train.microbatches, plain(make_workload(train, model())));
  };
}

SchemeReader::Maker SchemeReader::experts() {
  Experts experts;
  experts.forward_only = reader_.boolean("forward_only", experts.forward_only);
  read_algorithms({{"all_to_all", Operation::all_to_all, &experts.all_to_all, ranks()}});
  return [this, experts] { return plain(make_workload(experts, model(), ranks())); };
}

SchemeReader::Maker SchemeReader::parameter_server() {
  ParameterServer scheme;
  scheme.servers = whole("servers", max_ranks, scheme.servers);
  scheme.asynchronous = reader_.boolean("asynchronous", scheme.asynchronous);
  if (ranks() > 0 && scheme.servers >= ranks())
    reader_.wrong("servers", "does-not-fit",
                  fmt::format("of {}, {} cannot be {}", count_text(ranks(), "rank"), scheme.servers,
                              scheme.servers == 1 ? "a server" : "servers"),
                  {}, "the last ranks are servers, and at least one must be a worker");
  return [this, scheme] { return plain(make_workload(scheme, model(), ranks())); };
}

SchemeReader::Maker SchemeReader::data_parallel() {
  DataParallel scheme;
  scheme.inputs = bytes("inputs", 0);
  scheme.outputs = bytes("outputs", 0);
  if (ranks() > 0 && members_per_node(context_->cluster->topology,
                                      first_ranks(static_cast<std::size_t>(ranks()))) < ranks())
    reader_.wrong(
        "", "one-node",
        "DataParallel is one process, which has the GPUs of one node, and the cluster has "
        "several nodes",
        {}, "ddp spans nodes");
  return [this, scheme] { return plain(make_workload(scheme, model(), ranks())); };
}

// tp, cp, pp, dp.
void SchemeReader::read_degrees(Train& train) {
  train.tp = whole("tp", max_ranks, 1);
  train.cp = whole("cp", max_ranks, 1);
  train.pp = whole("pp", max_ranks, 1);
  const double replica = 1.0 * train.tp * train.cp * train.pp;  // which may be absurd
  const auto fill = static_cast<std::int64_t>(std::max(1.0, ranks() / replica));
  const int dp = whole("dp", max_ranks, fill);
  const double all = replica * dp;
  if (all <= max_ranks) train.dp = train.cp * dp;
  if (ranks() > 0 && all != ranks()) {
    const std::string context = train.cp > 1 ? fmt::format(" x cp {}", train.cp) : "";
    reader_.wrong("", "does-not-fit",
                  fmt::format("tp {}{} x pp {} x dp {} are {:.0f} ranks, but the cluster has {}",
                              train.tp, context, train.pp, dp, all, ranks()),
                  {},
                  all < ranks()
                      ? fmt::format("\"ranks\": {:.0f} in the workload lets so many take part", all)
                      : "");
    return;
  }
  if (train.cp > 1 && !model().layers.empty() && model().layers.front().keys == 0)
    reader_.wrong("cp", "not-applicable",
                  "\"cp\" spreads the tokens of a \"transformer\", and the layers of this model "
                  "have times of their own",
                  {}, "omit it");
}

// One choice for each operation, whichever groups call it.
void SchemeReader::read_algorithms_of(Train& train) {
  const bool fits = reader_.diagnostics().empty();
  const auto members = [&](int count) { return fits ? count : 0; };
  Train::OfReplicas& replicas = train.replicas;
  Train::OfReplicas& context = train.context;
  const int tp = members(train.tp), dp = members(train.dp), cp = members(train.cp);
  const int apart = train.tp, stages = fits ? apart * train.dp * (train.pp - 1) : 0;
  const Choosable tied{"all_reduce", Operation::all_reduce, &train.tied, 2, stages};
  const Choosable keys{"all_gather", Operation::all_gather, &context.all_gather, cp, apart};
  const Choosable their_gradients{"reduce_scatter", Operation::reduce_scatter,
                                  &context.reduce_scatter, cp, apart};
  const Choosable reduce{"all_reduce", Operation::all_reduce,         &replicas.all_reduce, dp,
                         apart,        train.pp > 1 ? &tied : nullptr};
  const Choosable gather{"all_gather", Operation::all_gather,         &replicas.all_gather, dp,
                         apart,        train.cp > 1 ? &keys : nullptr};
  const Choosable scatter{"reduce_scatter",
                          Operation::reduce_scatter,
                          &replicas.reduce_scatter,
                          dp,
                          apart,
                          train.cp > 1 ? &their_gradients : nullptr};
  read_algorithms(
      {{"all_reduce", Operation::all_reduce, &train.all_reduce, tp, 1, &reduce},
       {"all_gather", Operation::all_gather, &train.all_gather, tp, 1, &gather},
       {"reduce_scatter", Operation::reduce_scatter, &train.reduce_scatter, tp, 1, &scatter}});
}

SchemeReader::Maker SchemeReader::train() {
  Train train;
  read_degrees(train);
  train.microbatches = microbatches();
  read_schedule(train);
  train.sequence_parallel = reader_.boolean("sequence_parallel", false);
  train.zero = static_cast<int>(reader_.integer("zero", 0, 3, 0));
  if (applies("overlap", !train.scatters_each_pass(),
              "is for \"zero\" 0 and 1: from 2 on, gradients leave layer by layer anyway"))
    train.overlap = reader_.boolean("overlap", train.overlap);
  read_algorithms_of(train);
  return [this, train] { return step_of(train); };
}

struct Scheme {
  const char* name;
  SchemeReader::Maker (SchemeReader::*read)();
};
constexpr std::array<Scheme, 8> schemes{{{"ddp", &SchemeReader::ddp},
                                         {"fsdp", &SchemeReader::fsdp},
                                         {"pipeline", &SchemeReader::pipeline},
                                         {"tensor", &SchemeReader::tensor},
                                         {"experts", &SchemeReader::experts},
                                         {"parameter-server", &SchemeReader::parameter_server},
                                         {"data-parallel", &SchemeReader::data_parallel},
                                         {"train", &SchemeReader::train}}};

}  // namespace

const std::vector<std::string>& scheme_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    all.reserve(schemes.size());
    for (const Scheme& scheme : schemes) all.emplace_back(scheme.name);
    return all;
  }();
  return names;
}

namespace {

// The rings of all groups, if they are the same; `members` of each share a node.
std::vector<std::vector<int>> direct_rings_of(const Topology& network,
                                              const std::vector<std::vector<Rank>>& groups,
                                              int members) {
  const std::vector<int>& dims = network.dims();
  const std::size_t of_node =
      dims.size() == 2 ? static_cast<std::size_t>(dims[1]) : network.rank_count();
  std::set<std::vector<std::size_t>> places;  // in their nodes
  std::optional<std::vector<std::vector<int>>> rings;
  for (const std::vector<Rank>& group : groups) {
    std::vector<std::size_t> place;
    place.reserve(group.size());
    for (const Rank rank : group) place.push_back(rank.index() % of_node);
    if (!places.insert(std::move(place)).second) continue;
    auto found = nccl_rings(network, group, members);
    if (rings && *rings != found) return {};
    rings = std::move(found);
  }
  return rings.value_or(std::vector<std::vector<int>>{});
}

}  // namespace

void spread_over_nics(AlgorithmChoice& choice, bool chosen, const Cluster& cluster,
                      const std::vector<std::vector<Rank>>& groups) {
  const int of_node = members_per_node(cluster.topology, groups.front());
  const bool inside = static_cast<std::size_t>(of_node) == groups.front().size();
  for (const std::vector<Rank>& group : groups) {
    const int members = members_per_node(cluster.topology, group);
    if (members != of_node || (static_cast<std::size_t>(members) == group.size()) != inside) return;
  }
  const bool as_nccl = !chosen && !cluster.preset.empty() && choice.name == "ring";
  if (as_nccl && of_node > 2) choice.orders = direct_rings_of(cluster.topology, groups, of_node);
  if (as_nccl && !inside) choice.channels = of_node;
  if (!choice.orders.empty()) choice.channels = static_cast<int>(choice.orders.size());
  if (!inside && choice.channels > 1) choice.per_node = of_node;
}

std::optional<TrainingStep> read_scheme(const std::string& name, const JsonValue& written,
                                        const std::string& pointer, const SchemeContext& context,
                                        Diagnostics& diagnostics, JsonValue& resolved) {
  const auto row = std::find_if(schemes.begin(), schemes.end(),
                                [&](const Scheme& scheme) { return scheme.name == name; });
  COLLSIM_CHECK(row != schemes.end(), "a scheme is one of those with a name");
  SchemeReader reader(written, pointer, context, diagnostics);
  const SchemeReader::Maker maker = (reader.*row->read)();
  std::optional<TrainingStep> step = reader.make(maker, resolved);
  if (step) step->scheme = name;
  return step;
}

}  // namespace collsim
