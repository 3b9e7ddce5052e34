// SPDX-License-Identifier: Apache-2.0
#include "app/commands/predict.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <limits>
#include <memory>
#include <ostream>

#include "app/commands/command.hpp"
#include "app/commands/machine_option.hpp"
#include "app/json/value.hpp"
#include "app/measured/measured_table.hpp"
#include "app/scenario/document_path.hpp"
#include "app/scenario/fitted.hpp"
#include "app/scenario/presets.hpp"
#include "app/scenario/quantities.hpp"
#include "app/scenario/sweep.hpp"
#include "app/scenario/vocabulary.hpp"

namespace collsim {
namespace {

constexpr Bytes default_size = Bytes{32} << 20U;       // as nccl-tests
constexpr Bytes default_step = Bytes{1} << 20U;        // as nccl-tests
constexpr std::int64_t most_ranks_listed = 1'000'000;  // of a part of a preset
constexpr std::int64_t most_threads = 1'000'000;

// Of nccl-tests: how to measure, which has no effect here.
constexpr std::array measuring_flags = {
    "-n,--iters",          "-w,--warmup_iters",  "-m,--agg_iters", "-c,--check",
    "-p,--parallel_init",  "-a,--average",       "-z,--blocking",  "-G,--cudagraph",
    "-C,--report_cputime", "-R,--local_register"};

// Those that need no more than a number of ranks.
constexpr std::array<std::string_view, 5> shapes_of_ranks = {"chain", "ring", "fully-connected",
                                                             "switch", "hypercube"};
// Others have dims, levels or nodes.
struct SetShape {
  std::string_view name, example;
};
constexpr std::array<SetShape, 7> shapes_sized_by_set = {
    {{"torus", "--set 'cluster.dims=[8, 8]'"},
     {"mesh", "--set 'cluster.dims=[8, 8]'"},
     {"nodes", "--set cluster.nodes=4 --set cluster.gpus_per_node=8"},
     {"fat-tree", "--set cluster.ports=8"},
     {"leaf-spine", "--set cluster.leaves=4 --set cluster.ranks_per_leaf=16"},
     {"rail", "--set cluster.nodes=4 --set cluster.gpus_per_node=8"},
     {"dragonfly",
      "--set cluster.groups=9 --set cluster.routers_per_group=4 --set "
      "cluster.ranks_per_router=2"}}};
std::vector<std::string> shapes() {
  std::vector<std::string> all(shapes_of_ranks.begin(), shapes_of_ranks.end());
  for (const SetShape& other : shapes_sized_by_set) all.emplace_back(other.name);
  return all;
}

struct PredictCommand : PredictOptions {
  std::array<std::string, measuring_flags.size()> measuring;  // empty: not given
  bool print_scenario = false;
  std::string min_busbw;
};

Bandwidth min_busbw_of(const std::string& text) {
  const Parsed<Bandwidth> rate = parse_bandwidth(text);
  if (!rate.value)
    throw UsageError(
        fmt::format("--min-busbw cannot be \"{}\": write a rate, such as 450GB/s", text));
  return *rate.value;
}

// As NCCL_TESTS_MIN_BW and collsim compare: the largest of all sizes counts.
int judge_busbw(const Results& results, const std::string& least, Terminal& terminal) {
  double largest = 0;
  for (const CaseResult& row : results.rows) largest = std::max(largest, row.busbw());
  if (largest >= static_cast<double>(min_busbw_of(least).bytes_per_second())) return exit_fine;
  terminal.err << fmt::format("the largest busbw is {:.4g} GB/s, less than {}\n", largest / 1e9,
                              least);
  return exit_failed;
}

// The machine of a file says itself what its links are.
std::string why_no_other_network(const JsonValue& cluster, const std::string& network) {
  const std::string says =
      "--network chooses what joins presets and imported machines; the file's cluster says itself "
      "what its links are";
  if (cluster.find("devices") != nullptr)  // as topo import writes them, or whoever knows them
    return fmt::format(
        "{}. If topo import wrote it, choose it there: collsim topo import FILE --network {}; else "
        "--set changes a link, such as --set cluster.network.link.bandwidth=400Gb/s",
        says, network);
  return fmt::format("{}, which --set changes, such as --set cluster.{}link.bandwidth=400Gb/s",
                     says, cluster.find("inter") != nullptr ? "inter." : "");
}

// Makes the scenario that the options stand for.  Values remember the option they came from, so
// that the loader's messages name it.
class ScenarioMaker {
 public:
  ScenarioMaker(const PredictOptions& options, Sources& sources)
      : options_(options), sources_(sources) {}

  JsonValue make() {
    JsonValue document =
        JsonValue::object({{"scenario", 1},
                           {"name", "predict"},
                           {"cluster", options_.shape.empty() ? preset() : shape()}});
    std::optional<JsonValue> axis = sizes();
    if (std::optional<JsonValue> model = launch()) document.set("model", std::move(*model));
    document.set("collective", collective());
    if (axis) document.set("sweep", JsonValue::object({{"collective.size", std::move(*axis)}}));
    return document;
  }

  // --nodes and --network join machines of a file as they join presets.
  void join(JsonValue& cluster) {
    if (!cluster.is_object()) return;  // the loader says so
    const auto has = [&](const char* key) { return cluster.find(key) != nullptr; };
    if (options_.nodes && has("shape") && !has("nodes"))
      throw UsageError(
          "--nodes joins machines, but the file's cluster is a shape, which --set sizes, such as "
          "--set cluster.ranks=16");
    if (!options_.network.empty() && !has("preset") && !has("nccl_topo") && !has("topo_matrix"))
      throw UsageError(why_no_other_network(cluster, options_.network));
    if (!options_.network.empty() && has("fitted"))
      throw UsageError(
          "--network chooses another network, but the file's machine was fitted to logs of its "
          "own");
    put_nodes(cluster);
  }

  // What is predicted instead of the smallest size, if that is nothing, or of the only one; else
  // empty.
  [[nodiscard]] std::string rounding() const {
    if (!has_size() || !options_.exact_sizes.empty()) return "";
    const Bytes least = smallest();
    const Bytes whole = rounded(least);
    const bool alone = options_.largest.empty() || size("-e", options_.largest) == least;
    if (least == whole || (whole > 0 && !alone)) return "";
    if (whole > 0)
      return fmt::format("assumed: {} is taken as {}, a multiple of {}, as in nccl-tests",
                         exact_size(least), exact_size(whole), exact_size(granule()));
    return fmt::format(
        "warning: {} is less than {}, an element for each rank that has a part: as in nccl-tests "
        "it becomes 0B, and nothing is sent",
        exact_size(least), exact_size(granule()));
  }

 private:
  JsonValue from(const char* option, const std::string& text, JsonValue value) {
    const std::uint32_t source = sources_.add(Sources::Kind::argument, option, text);
    value.place = {source, 0, static_cast<std::uint32_t>(text.size())};
    return value;
  }
  void put(JsonValue& object, const char* key, const char* option, const std::string& text) {
    if (!text.empty()) object.set(key, from(option, text, JsonValue(text)));
  }
  void put(JsonValue& object, const char* key, const char* option,
           const std::optional<std::int64_t>& number) {
    if (number) object.set(key, from(option, std::to_string(*number), JsonValue(*number)));
  }

  // How many machines, and what joins them.
  void put_nodes(JsonValue& cluster) {
    put(cluster, "nodes", "--nodes", options_.nodes);
    put(cluster, "network", "--network", options_.network);
  }

  JsonValue preset() {
    JsonValue cluster = JsonValue::object();
    put(cluster, "preset", "--preset", options_.preset);
    put_nodes(cluster);
    if (options_.sharp) cluster.set("sharp", from("--sharp", "", JsonValue(true)));
    return cluster;
  }

  JsonValue shape() {
    JsonValue link = JsonValue::object();
    put(link, "bandwidth", "--bandwidth", options_.bandwidth);
    put(link, "latency", "--latency", options_.latency);
    put(link, "overhead", "--overhead", options_.overhead);
    JsonValue cluster = JsonValue::object();
    put(cluster, "shape", "--shape", options_.shape);
    put(cluster, "ranks", options_.ranks_option(), options_.ranks());
    if (link.members().empty()) return cluster;
    const bool joins_nodes = options_.shape == "nodes";
    if (joins_nodes || options_.shape == "rail")
      cluster.set("intra", JsonValue::object({{"shape", "switch"}, {"link", link}}));
    if (joins_nodes)
      cluster.set("inter", JsonValue::object({{"link", std::move(link)}}));
    else
      cluster.set("link", std::move(link));
    return cluster;
  }

  JsonValue collective() {
    JsonValue collective = JsonValue::object();
    put(collective, "op", "OP", options_.operation);
    put(collective, "algorithm", "--algorithm", algorithm());
    put(collective, "nccl_algo", "--nccl-algo", options_.nccl_algo);
    put(collective, "nccl_proto", "--nccl-proto", options_.nccl_proto);
    put(collective, "nccl_tuner", "--nccl-tuner", options_.nccl_tuner);
    if (options_.in_place) collective.set("in_place", true);
    const bool exact = !options_.exact_sizes.empty();
    if (has_size())
      collective.set("size", from("-b", options_.smallest,
                                  exact_size(exact ? smallest() : rounded(smallest()))));
    put(collective, "dtype", "-d", options_.type);
    put(collective, "reduction", "--redop", options_.reduction);
    put(collective, "root", "-r", options_.root);
    put(collective, "chunks", "--chunks", options_.chunks);
    put(collective, "channels", "--channels", options_.channels);
    if (std::optional<JsonValue> ranks = part_of_preset())
      collective.set("ranks", std::move(*ranks));
    return collective;
  }

  [[nodiscard]] std::int64_t nodes() const {
    return std::clamp<std::int64_t>(options_.nodes.value_or(1), 1, most_ranks_listed);
  }
  // That take part.
  [[nodiscard]] std::int64_t gpus_of_each_node(const Preset& preset) const {
    return options_.gpus_of_each_node.value_or(options_.ranks().value_or(preset.gpus));
  }

  // The first GPUs of each node; nothing when that is all of them.
  [[nodiscard]] std::optional<JsonValue> part_of_preset() {
    const Preset* preset = find_preset(options_.preset);
    if (preset == nullptr) return std::nullopt;
    const std::int64_t of_each = gpus_of_each_node(*preset);
    const std::string option = options_.ranks_option();
    if (of_each < 1)
      throw UsageError(
          fmt::format("{} {}: at least one GPU of each node takes part", option, of_each));
    if (of_each > preset->gpus)
      throw UsageError(fmt::format(
          "{} {}: a {} has {} GPUs; {} counts those of each node, and --nodes joins several",
          option, of_each, preset->name, preset->gpus, option));
    if (of_each == preset->gpus) return std::nullopt;
    JsonValue ranks = JsonValue::array();
    for (std::int64_t node = 0; node < nodes(); ++node)
      for (std::int64_t gpu = 0; gpu < of_each; ++gpu)
        ranks.items().emplace_back(node * preset->gpus + gpu);
    return from(option.c_str(), std::to_string(of_each), std::move(ranks));
  }

  // Who launches; nothing: a process for each GPU.
  [[nodiscard]] std::optional<JsonValue> launch() const {
    std::string mode = options_.launch_mode;
    if (mode.empty() && options_.gpus && (!options_.threads || *options_.gpus > 1))
      mode = "one-thread";
    if (mode.empty() && options_.threads) mode = "thread-per-gpu";
    if (mode.empty() || options_.preset.empty()) return std::nullopt;
    JsonValue launch = JsonValue::object({{"mode", mode}});
    if (mode == "one-thread" && options_.threads) launch.set("gpus_per_thread", *options_.gpus);
    return JsonValue::object({{"launch", std::move(launch)}});
  }

  [[nodiscard]] std::string algorithm() const {
    if (!options_.algorithm.empty()) return options_.algorithm;
    const bool asks_nccl =
        !options_.nccl_algo.empty() || !options_.nccl_proto.empty() || !options_.nccl_tuner.empty();
    return asks_nccl ? "nccl" : options_.shape.empty() ? "" : "auto";
  }

  [[nodiscard]] bool has_size() const {
    return operation_words().canonical(options_.operation) != "barrier";
  }

  static Bytes size(const char* option, const std::string& text) {
    const Parsed<Bytes> parsed = parse_command_line_size(text);
    if (parsed.value) return *parsed.value;
    std::string message = fmt::format("{} {}: {}", option, text, parsed.error.message);
    if (!parsed.error.hint.empty()) message += "\n  " + parsed.error.hint;
    throw UsageError(message);
  }
  [[nodiscard]] Bytes smallest() const {
    if (!options_.exact_sizes.empty()) return options_.exact_sizes.front();
    if (!options_.smallest.empty()) return size("-b", options_.smallest);
    return options_.largest.empty() ? default_size : size("-e", options_.largest);
  }

  // What nccl-tests makes sizes a multiple of: the elements of a rank, of all ranks where each has
  // a part of the size.  1 where that is unknown because of a mistake, which the loader then finds.
  [[nodiscard]] Bytes granule() const {
    const std::string type = options_.type.empty() ? "float32" : options_.type;
    const std::optional<std::string> known = element_type_words().canonical(type);
    if (!known) return 1;
    const Bytes element = size_of(parse_element_type(*known));
    const std::string operation =
        operation_words().canonical(options_.operation).value_or(std::string());
    constexpr std::array<std::string_view, 5> of_all_ranks = {"all-gather", "reduce-scatter",
                                                              "all-to-all", "gather", "scatter"};
    if (std::find(of_all_ranks.begin(), of_all_ranks.end(), operation) == of_all_ranks.end())
      return element;
    const Preset* preset = find_preset(options_.preset);
    const std::int64_t ranks =
        preset != nullptr ? nodes() * gpus_of_each_node(*preset) : options_.ranks().value_or(1);
    return ranks > 0 && ranks <= std::numeric_limits<Bytes>::max() / element ? element * ranks : 1;
  }
  [[nodiscard]] Bytes rounded(Bytes size) const { return size - size % granule(); }

  // The sizes of a range one by one when they are not what nccl-tests would take; else the range,
  // which is shorter.  Nothing when no more than the first is left.
  std::optional<JsonValue> rounded_sizes(JsonValue range) {
    Diagnostics diagnostics;
    const std::optional<RangeValues> values = RangeValues::read(range, {}, diagnostics);
    if (!values || values->size() > load_options_of(options_.run).max_points) return range;
    std::vector<Bytes> sizes;
    bool differ = false;
    for (std::size_t i = 0; i < values->size(); ++i) {
      const Bytes exact = *parse_size((*values)[i].string()).value;
      const Bytes whole = rounded(exact);
      differ = differ || whole != exact;
      if (sizes.empty() || sizes.back() != whole) sizes.push_back(whole);
    }
    if (!differ) return range;
    return listed_sizes(sizes);
  }

  // One by one; nothing when there is only one.
  std::optional<JsonValue> listed_sizes(const std::vector<Bytes>& sizes) {
    if (sizes.size() == 1) return std::nullopt;
    return from("-b", options_.smallest, JsonValue::array(sizes, exact_size));
  }

  std::optional<JsonValue> sizes() {
    if (!has_size()) return std::nullopt;
    if (!options_.exact_sizes.empty()) return listed_sizes(options_.exact_sizes);
    const Bytes first = smallest();
    const Bytes last = options_.largest.empty() ? first : size("-e", options_.largest);
    if (last < first)
      throw UsageError(
          fmt::format("-e {} is less than -b {}", exact_size(last), exact_size(first)));
    if (last == first) return std::nullopt;
    if (first == 0 && options_.factor)
      throw UsageError("-f (step factor) needs -b > 0; begin with -b 8, or use -i");
    JsonValue axis = JsonValue::object({{"from", from("-b", options_.smallest, exact_size(first))},
                                        {"to", from("-e", options_.largest, exact_size(last))}});
    if (options_.factor) {
      put(axis, "factor", "-f", options_.factor);
    } else {
      const Bytes step = options_.step.empty() ? default_step : size("-i", options_.step);
      axis.set("step", from("-i", options_.step, exact_size(step)));
    }
    return rounded_sizes(std::move(axis));
  }

  const PredictOptions& options_;
  Sources& sources_;
};

void refuse_shape_without_size(const SetShape& shape, const PredictOptions& options) {
  if (options.ranks())
    throw UsageError(
        fmt::format("-g: a {} is not sized by its ranks; size it by {}, and choose ranks by --set "
                    "'collective.ranks=[0, 1]'",
                    shape.name, shape.example));
  const auto sizes = [](const std::string& change) { return change.starts_with("cluster"); };
  if (std::ranges::none_of(options.run.set, sizes))
    throw UsageError(fmt::format("--shape {} needs its size: {}", shape.name, shape.example));
}

void refuse_what_makes_no_sense(const PredictOptions& options) {
  if (!options.machine.empty() && (options.gpus || options.threads))
    throw UsageError(
        "-g and -t go with --preset and --shape; of the machine of a file choose ranks by --set "
        "'collective.ranks=[0, 1]', and who launches by --set model.launch.mode=one-thread");
  if (options.preset.empty() && options.shape.empty() && options.machine.empty()) {
    throw UsageError(
        fmt::format("no machine given; use --preset NAME, --machine FILE, or --shape NAME -g RANKS "
                    "--bandwidth RATE\n"
                    "  presets: {}\n  shapes: {}",
                    fmt::join(preset_words().allowed, ", "), fmt::join(shapes(), ", ")));
  }
  if (!options.shape.empty()) {
    const auto sized_by_set =
        std::ranges::find(shapes_sized_by_set, options.shape, &SetShape::name);
    if (sized_by_set != shapes_sized_by_set.end())
      return refuse_shape_without_size(*sized_by_set, options);
    if (!options.ranks()) throw UsageError("--shape needs -g, the number of ranks");
    if (options.bandwidth.empty())
      throw UsageError("--shape needs the --bandwidth of its links, such as --bandwidth 25GB/s");
    return;
  }
  for (const std::string* value : {&options.bandwidth, &options.latency, &options.overhead})
    if (!value->empty())
      throw UsageError(
          "--bandwidth, --latency and --overhead go with --shape; to change a preset use --set, "
          "such as --set cluster.override.nic.bandwidth=800Gb/s");
}

// "./build/all_reduce_perf" of nccl-tests is all-reduce.
std::string operation_of(const std::string& word) {
  constexpr std::string_view end_of_programs = "_perf";
  if (!word.ends_with(end_of_programs)) return word;
  const std::string name = word.substr(word.find_last_of('/') + 1);
  return name.substr(0, name.size() - end_of_programs.size());
}

void refuse_what_nccl_tests_means_otherwise(const PredictOptions& options) {
  for (const std::string& output : options.run.outputs)
    if (reduction_words().canonical(output) || output == "all" || output == "mulsum")
      throw UsageError(fmt::format(
          "-o {0}: nccl-tests' -o is --redop here; -o is a file to write results to", output));
  if (options.threads && options.gpus &&
      (*options.gpus < 1 ||
       *options.gpus > std::numeric_limits<std::int64_t>::max() / most_threads))
    throw UsageError(fmt::format("-g {}: not a number of ranks", *options.gpus));
}

void tell_rounding(const PredictOptions& options, Sources& sources, const Terminal& terminal) {
  const std::string text = ScenarioMaker(options, sources).rounding();
  if (!text.empty() && !terminal.quiet) terminal.err << text << '\n';
}

void tell_ignored(const PredictCommand& options, const Terminal& terminal) {
  std::vector<std::string_view> given;
  for (std::size_t i = 0; i < measuring_flags.size(); ++i)
    if (!options.measuring[i].empty())
      given.push_back(std::string_view(measuring_flags[i]).substr(0, 2));
  if (given.empty() || terminal.quiet) return;
  terminal.err << fmt::format("ignored, because nothing is measured: {}\n", fmt::join(given, ", "));
}

// Newer versions of nccl-tests have f8e4m3 and f8e5m2.
void take_type_of_nccl_tests(PredictCommand& options, const Terminal& terminal) {
  if (element_type_words().canonical(options.type) || element_bytes(options.type) != 1) return;
  if (!terminal.quiet)
    terminal.err << fmt::format("assumed: {} is taken as int8, which is as large\n", options.type);
  options.type = "int8";
}

int predict(PredictCommand options, Terminal& terminal) {
  options.operation = operation_of(options.operation);
  refuse_what_makes_no_sense(options);
  refuse_what_nccl_tests_means_otherwise(options);
  if (!options.min_busbw.empty()) static_cast<void>(min_busbw_of(options.min_busbw));
  tell_ignored(options, terminal);
  take_type_of_nccl_tests(options, terminal);
  Sources sources;
  Diagnostics diagnostics;
  JsonValue document = predicted_scenario(options, sources);
  tell_rounding(options, sources, terminal);
  if (!options.machine.empty()) {
    const auto machine = read_machine_file(options.machine, sources, diagnostics);
    if (!machine) return show_mistakes(diagnostics, sources, terminal);
    put_machine(document, *machine);
    ScenarioMaker(options, sources).join(*document.find("cluster"));
  }
  RunHooks hooks;
  if (!options.min_busbw.empty())
    hooks.judge = [&](const Scenario&, const Results& results, bool) {
      return judge_busbw(results, options.min_busbw, terminal);
    };
  if (!options.print_scenario)
    return run_document(options.run, "predict", std::move(document), std::move(sources), terminal,
                        hooks);
  if (!load_scenario(document, "predict", load_options_of(options.run), sources, diagnostics))
    return show_mistakes(diagnostics, sources, terminal);
  static_cast<void>(apply_set_options(document, options.run.set, sources, diagnostics));
  terminal.out << to_pretty_json(document) << '\n';
  return exit_fine;
}

void add_sizes(Options& command, PredictOptions& options) {
  command.value("-b,--minbytes", options.smallest, "SIZE",
                "smallest size; K, M, G are binary, as in nccl-tests (default: 32M)");
  command.value("-e,--maxbytes", options.largest, "SIZE", "largest size (default: the smallest)");
  command.integer("-f,--stepfactor", options.factor,
                  "step factor: the next size is this many times larger", 2, 1'000'000);
  command
      .value("-i,--stepbytes", options.step, "SIZE",
             "step: the next size is this much larger (default: 1M)")
      .excludes = "-f";
}

void add_machine(Options& command, PredictOptions& options) {
  command.value("--preset", options.preset, "NAME", "a machine; \"collsim presets\" lists them");
  command
      .value("--machine", options.machine, "FILE",
             "instead: the cluster and model of a scenario, or of what collsim calibrate or topo "
             "import wrote")
      .excludes = "--preset";
  command.integer("--nodes", options.nodes, "how many of them (default: 1, or as the file says)")
      .excludes = "--shape";
  word_option(command, "--network", options.network, network_words(),
              "kind of the network that joins them (default: the preset's)")
      .excludes = "--shape";
  command
      .flag("--sharp", options.sharp,
            "its switches add, and NCCL uses them: NCCL_COLLNET_ENABLE=1 on InfiniBand with SHARP")
      .needs = "--preset";
  command.integer("-g,--ngpus", options.gpus,
                  "one thread drives N GPUs of each node (default: a process for each GPU, all of "
                  "them); with --shape the number of ranks");
  command.integer("-t,--nthreads", options.threads,
                  "N threads on each node, of one GPU each, or of -g", 1, most_threads);
  command
      .choice("--shape", options.shape, shapes(),
              "a regular network instead of a preset; torus, nodes, "
              "fat-tree, ... are sized by --set 'cluster.dims=[8, 8]', ...")
      .excludes = "--preset";
  command.value("--bandwidth", options.bandwidth, "RATE",
                "bandwidth of the shape's links in one direction: 25GB/s");
  command.value("--latency", options.latency, "TIME", "latency of a link: 1us");
  command.value("--overhead", options.overhead, "TIME",
                "startup of each message, occupies the link: 5us");
}

void add_nccl(Options& command, PredictOptions& options) {
  command.value("--nccl-algo", options.nccl_algo, "LIST",
                "as NCCL_ALGO: Ring,Tree or ^NVLS; implies --algorithm nccl");
  command.value("--nccl-proto", options.nccl_proto, "LIST", "as NCCL_PROTO: LL,LL128 or ^Simple");
  command.value("--nccl-tuner", options.nccl_tuner, "VERSION",
                "choose as the tuner of this NCCL: 2.28 (default: the fastest)");
}

// Not in the help: they are only there to be pasted.
void add_measuring_flags(Options& command, PredictCommand& options) {
  for (std::size_t i = 0; i < measuring_flags.size(); ++i)
    command.value(measuring_flags[i], options.measuring[i], "N", "").hidden = true;
}

}  // namespace

std::optional<std::int64_t> PredictOptions::ranks() const {
  if (!threads) return gpus;
  std::int64_t product = 0;  // what overflows is refused by the loader as any absurd number
  if (__builtin_mul_overflow(*threads, gpus.value_or(1), &product))
    return std::numeric_limits<std::int64_t>::max();
  return product;
}

JsonValue predicted_scenario(const PredictOptions& options, Sources& sources) {
  return ScenarioMaker(options, sources).make();
}

Action declare_predict(Options& command) {
  const auto options = std::make_shared<PredictCommand>();
  command
      .value("OP", options->operation, "NAME",
             "all-reduce, broadcast, ...; \"collsim algorithms\"; or all_reduce_perf, ...")
      .required = true;
  add_sizes(command, *options);
  add_machine(command, *options);
  command.value("--algorithm", options->algorithm, "NAME",
                "nccl: the fastest that NCCL has (default where links have its protocols); auto: "
                "the fastest of all");
  add_nccl(command, *options);
  command.value("-d,--datatype", options->type, "TYPE", "element type (default: float)");
  command.value("--redop", options->reduction, "NAME",
                "sum, prod, min, max or avg (nccl-tests: -o)");
  command.integer("-r,--root", options->root,
                  "the rank that has or receives the data (default: 0)");
  command.integer("--chunks", options->chunks,
                  "pieces into which each message is cut (default: 1, which trees and chains "
                  "do not suit; NCCL cuts its own)");
  command.integer("--channels", options->channels, "parallel copies of the algorithm (default: 1)");
  add_measuring_flags(command, *options);
  command.value("--set", options->run.set, "PATH=VALUE",
                "override a value of the scenario, such as cluster.override.nic.bandwidth=800Gb/s "
                "(may be repeated)");
  add_run_options(command, options->run);
  command.value("--min-busbw", options->min_busbw, "RATE",
                "exit code 1 if the largest busbw is less, such as 450GB/s");
  command.flag("--print-scenario", options->print_scenario,
               "print the equivalent scenario file, as a starting point");
  return [options](Terminal& terminal) { return predict(*options, terminal); };
}

}  // namespace collsim
