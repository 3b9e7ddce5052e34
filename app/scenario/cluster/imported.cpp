// SPDX-License-Identifier: Apache-2.0
#include "app/scenario/cluster/imported.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <deque>
#include <map>
#include <tuple>
#include <utility>

#include "app/import/gpu_models.hpp"
#include "app/json/screen_text.hpp"
#include "app/json/value.hpp"
#include "app/scenario/cluster/cluster.hpp"
#include "app/scenario/cluster/machine.hpp"
#include "app/scenario/presets.hpp"
#include "app/scenario/scenario_folder.hpp"

namespace collsim {
namespace {

using ImportedCable = ImportedMachine::Cable;

constexpr std::array<std::string_view, 2> file_keys{"nccl_topo", "topo_matrix"};
// Of what stands for a file that could not be read: why.
constexpr std::string_view unreadable = "unreadable";

bool is_text(std::string_view written) {
  return written.find('\n') != std::string_view::npos || written.starts_with('<') ||
         written.starts_with('{');
}

// A link type of a preset; null when it has none of that name.
const JsonValue* link_type(std::string_view preset, std::string_view type) {
  const Preset* const found = find_preset(preset);
  COLLSIM_CHECK(found != nullptr, "no preset " + std::string(preset));
  return found->document.find("link_types")->find(type);
}
Time latency_of(const JsonValue& type) {
  return parse_time(type.find("latency")->string()).value.value_or(Time{});
}

// All that the type says of what a message costs besides its bandwidth.
void copy_costs(const JsonValue& type, JsonValue& link) {
  for (const JsonValue::Member& member : type.members())
    if (member.key != "title" && member.key != "source" && member.key != "bandwidth")
      link.set(member.key, member.value);
}

Bandwidth bandwidth_of(double gbs) {
  return Bandwidth(std::max<std::int64_t>(1, std::llround(gbs * 1e9)));
}

// From the NICs to the nearest GPU: the least sum of `cost` over `ends`, not counting the network.
struct Edge {
  std::size_t from, to;
  Time latency;
};
Time nearest_gpu(const std::vector<NodeKind>& kinds, const std::vector<Edge>& edges) {
  std::vector<std::vector<std::pair<std::size_t, Time>>> next(kinds.size());
  for (const Edge& edge : edges) {
    next[edge.from].emplace_back(edge.to, edge.latency);
    next[edge.to].emplace_back(edge.from, edge.latency);
  }
  std::vector<Time> way(kinds.size(), Time::never());
  std::deque<std::size_t> waiting;
  for (std::size_t i = 0; i < kinds.size(); ++i)
    if (kinds[i] == NodeKind::nic) {
      way[i] = Time{};
      waiting.push_back(i);
    }
  Time best = Time::never();
  while (!waiting.empty()) {
    const std::size_t at = waiting.front();
    waiting.pop_front();
    if (kinds[at] == NodeKind::gpu) {
      best = std::min(best, way[at]);
      continue;
    }
    for (const auto& [to, latency] : next[at])
      if (way[at] + latency < way[to]) {
        way[to] = way[at] + latency;
        waiting.push_back(to);
      }
  }
  return best == Time::never() ? Time{} : best;
}

Time nearest_gpu(const Topology& topology) {
  std::vector<NodeKind> kinds;
  for (std::size_t node = 0; node < topology.node_count(); ++node)
    kinds.push_back(topology.kind(NodeId(node)));
  std::vector<Edge> edges;
  for (const Link& link : topology.links())
    edges.push_back({link.from.index(), link.to.index(), link.latency});
  return nearest_gpu(kinds, edges);
}

constexpr std::string_view dgx_2 = "dgx-2";
constexpr double faster_than_pcie = 100;  // GB/s

// The kind of network that joins machines of this kind.
std::string network_kind(const ImportedMachine& machine) {
  return network_words()
      .canonical(machine.network.empty() ? machine.nics : machine.network)
      .value_or(find_preset(nearest_preset(machine))->network);
}

// The preset of machines without NVLink whose slots are as fast as here.
std::string_view pcie_preset(const ImportedMachine& machine) {
  double fastest_slot = 0;
  for (const ImportedCable& cable : machine.cables)
    if (cable.kind == CableKind::pcie && cable.lanes > 0)
      fastest_slot = std::max(fastest_slot, cable.gbs * 16 / cable.lanes);
  if (fastest_slot > 40) return "pcie-gen5-8gpu-2s";
  return fastest_slot > 20 ? "pcie-gen4-8gpu-2s" : "pcie-gen3-8gpu-2s";
}

// Which presets say what the links of a machine cost besides their bandwidth.
class LinkCosts {
 public:
  explicit LinkCosts(const ImportedMachine& machine)
      : machine_(machine),
        like_(nearest_preset(machine)),
        joined_(on_network(*find_preset(like_), network_kind(machine))) {
    const GpuModel* const model = find_gpu_model(machine.gpu);
    const bool switched = model != nullptr && model->wiring == GpuWiring::nvswitch;
    switched_ = switched || like_ == dgx_2 ? like_ : "dgx-h100";
  }

  // The link of a cable, with the least rate where it leads to a NIC that is slower.
  [[nodiscard]] JsonValue link(const ImportedCable& cable, double most_gbs) const {
    JsonValue link = JsonValue::object();
    const JsonValue& type = type_of(cable);
    link.set("bandwidth", exact_bandwidth(bandwidth_of(std::min(cable.gbs, most_gbs))));
    copy_costs(type, link);
    if (between_ports(cable)) link.set("latency", exact_time(Time{}));
    if (cable.half_duplex) link.set("duplex", "half");
    return link;
  }

  // Of a NIC into the network.
  [[nodiscard]] JsonValue network(double gbs) const {
    Diagnostics none;
    JsonValue resolved;
    const auto preset = read_cluster(JsonValue::object({{"preset", like_}}), "", none, resolved);
    COLLSIM_CHECK(preset.has_value(), "preset " + std::string(like_));
    const JsonValue* const own_nic = joined_.find("link_types")->find("nic");
    const JsonValue& nic = own_nic != nullptr ? *own_nic : type_named("nic");
    const Time hop = latency_of(nic) + nearest_gpu(preset->topology);
    const Time own = nearest_gpu_of_machine();
    JsonValue link = JsonValue::object();
    link.set("bandwidth", exact_bandwidth(bandwidth_of(gbs)));
    copy_costs(nic, link);
    link.set("latency", exact_time(hop > own ? hop - own : Time{}));
    return link;
  }

 private:
  [[nodiscard]] NodeKind kind(std::size_t device) const { return machine_.devices[device].kind; }
  [[nodiscard]] bool between_ports(const ImportedCable& cable) const {
    return cable.kind == CableKind::measured && kind(cable.from) != NodeKind::gpu &&
           kind(cable.to) != NodeKind::gpu;
  }
  [[nodiscard]] const JsonValue& type_of(const ImportedCable& cable) const {
    switch (cable.kind) {
      case CableKind::xgmi: return *link_type("mi300x", "xgmi");
      case CableKind::nvlink:
      case CableKind::c2c: return direct_link();
      case CableKind::nvswitch: return *link_type(switched_, "nvlink");
      case CableKind::pcie: return type_named("pcie");
      case CableKind::uplink: return type_named("uplink");
      case CableKind::socket: return type_named("socket");
      case CableKind::measured: break;
    }
    return cable.gbs > faster_than_pcie ? *link_type(switched_, "nvlink") : type_named("pcie");
  }
  // Those of the nearest preset, where they lead from GPU to GPU; else of one with the same kind of
  // GPUs in which they do.
  [[nodiscard]] const JsonValue& direct_link() const {
    const JsonValue* const own = link_type(like_, "nvlink");
    const bool is_direct = own != nullptr && like_ == machine_.preset;
    return is_direct ? *own : *link_type(directly_linked(), "nvlink");
  }
  [[nodiscard]] std::string_view directly_linked() const {
    const std::string& kind = find_preset(like_)->written.find("gpu")->string();
    if (kind == "hopper" || kind == "blackwell") return "gh200-quad";
    return kind == "v100" ? "dgx-1-v100" : "a100-nvlink-pair";
  }
  // What the nearest preset lacks is like its slots.
  [[nodiscard]] const JsonValue& type_named(std::string_view name) const {
    if (const JsonValue* const own = link_type(like_, name)) return *own;
    // The hop of NCCL's protocols is that of the slots, however many switches are between them.
    const std::string& kind = find_preset(like_)->written.find("gpu")->string();
    const bool slots_have_hops = kind == "pcie" || kind == "host-memory";
    if (slots_have_hops)
      if (const JsonValue* const other = link_type("pcie-gen4-8gpu-2s", name)) return *other;
    return *link_type(like_, "pcie");
  }
  [[nodiscard]] Time nearest_gpu_of_machine() const {
    std::vector<NodeKind> kinds;
    for (const ImportedMachine::Device& device : machine_.devices) kinds.push_back(device.kind);
    std::vector<Edge> edges;
    for (const ImportedCable& cable : machine_.cables)
      edges.push_back({cable.from, cable.to, latency_of(type_of(cable))});
    return nearest_gpu(kinds, edges);
  }

  const ImportedMachine& machine_;
  std::string_view like_, switched_;
  JsonValue joined_;  // that preset with the machine's kind of network
};

std::string_view word_of(NodeKind kind) {
  switch (kind) {
    case NodeKind::gpu: return "gpu";
    case NodeKind::network_switch: return "switch";
    case NodeKind::nic: return "nic";
    case NodeKind::cpu: break;
  }
  return "cpu";
}

JsonValue devices_value(const ImportedMachine& machine) {
  JsonValue devices = JsonValue::array();
  const std::size_t gpus = machine.count(NodeKind::gpu);
  JsonValue all = JsonValue::object();
  all.set("id", "gpu");
  all.set("kind", "gpu");
  all.set("count", static_cast<std::int64_t>(gpus));
  devices.items().push_back(std::move(all));
  for (std::size_t i = gpus; i < machine.devices.size(); ++i) {
    JsonValue device = JsonValue::object();
    device.set("id", machine.devices[i].name);
    device.set("kind", word_of(machine.devices[i].kind));
    devices.items().push_back(std::move(device));
  }
  return devices;
}

// "gpu3", "gpu[0-7]", "gpu[0,2-3]"; GPUs are the first devices.
std::string gpus_in_words(const std::vector<std::size_t>& gpus) {
  std::string text;
  for (std::size_t i = 0; i < gpus.size();) {
    std::size_t last = i;
    while (last + 1 < gpus.size() && gpus[last + 1] == gpus[last] + 1) ++last;
    text += (text.empty() ? "" : ",") + std::to_string(gpus[i]);
    if (last > i) text += "-" + std::to_string(gpus[last]);
    i = last + 1;
  }
  return gpus.size() == 1 ? "gpu" + text : "gpu[" + text + "]";
}

// One link of the scenario for all GPUs that are linked to a device alike.
JsonValue links_value(const ImportedMachine& machine, const LinkCosts& costs, double fastest_nic) {
  struct Bundle {
    std::vector<std::size_t> gpus;
    std::size_t from, to;
    JsonValue link;
  };
  std::vector<Bundle> bundles;
  std::map<std::tuple<std::size_t, CableKind, double, bool>, std::size_t> known;
  for (const ImportedCable& cable : machine.cables) {
    // GPUs are the first devices.  Parallel cables must have the same direction.
    const auto [from, to] = std::minmax(cable.from, cable.to);
    double most = cable.gbs;
    for (const std::size_t end : {from, to})
      if (const double rate = machine.devices[end].network_gbs; rate > 0 && rate < fastest_nic)
        most = std::min(most, rate);
    const bool bundled = machine.devices[from].kind == NodeKind::gpu;
    if (bundled) {
      const auto [bundle, is_new] =
          known.emplace(std::tuple(to, cable.kind, cable.gbs, cable.half_duplex), bundles.size());
      std::vector<std::size_t>* gpus = is_new ? nullptr : &bundles[bundle->second].gpus;
      if (gpus != nullptr && gpus->back() < from) {
        gpus->push_back(from);
        continue;
      }
    }
    bundles.push_back({bundled ? std::vector{from} : std::vector<std::size_t>{}, from, to,
                       costs.link(cable, most)});
  }
  JsonValue links = JsonValue::array();
  for (Bundle& bundle : bundles) {
    JsonValue link = JsonValue::object();
    link.set("from",
             bundle.gpus.empty() ? machine.devices[bundle.from].name : gpus_in_words(bundle.gpus));
    link.set("to", machine.devices[bundle.to].name);
    for (JsonValue::Member& member : bundle.link.members())
      link.set(member.key, std::move(member.value));
    links.items().push_back(std::move(link));
  }
  return links;
}

double fastest_nic_of(const ImportedMachine& machine) {
  double fastest = 0;
  for (const ImportedMachine::Device& device : machine.devices)
    fastest = std::max(fastest, device.network_gbs);
  return fastest;
}

MachineAnswers read_answers(ObjectReader& cluster) {
  MachineAnswers answers;
  answers.gpu = word_or_nearest(cluster, "gpu", gpu_words()).value_or("");
  if (const auto rate = cluster.bandwidth("nic"))
    answers.network_gbs = static_cast<double>(rate->bytes_per_second()) / 1e9;
  if (const auto word = cluster.word("pcie", pcie_words()))
    answers.pcie_generation = pcie_generation_of(*word);
  answers.network = cluster.word("network", network_words()).value_or("");
  return answers;
}

// Mistakes in the file at their place in it; in a text inside of the scenario at that.
std::optional<ImportedMachine> read_text(ObjectReader& cluster, std::string_view key,
                                         const JsonValue& written) {
  const bool is_file = written.place.begin == 0 && written.place.end > 0;
  Diagnostics mistakes;
  auto machine = read_machine(written.string(), written.place.source, mistakes);
  for (Diagnostic& mistake : mistakes.sorted()) {
    if (!is_file) mistake.place = written.place;
    mistake.pointer = cluster.pointer_of(key);
    cluster.diagnostics().add(std::move(mistake));
  }
  return machine;
}

std::int64_t most_nodes(const ImportedMachine& machine) {
  const auto gpus = static_cast<std::int64_t>(machine.count(NodeKind::gpu));
  const auto devices = static_cast<std::int64_t>(machine.devices.size());
  const auto links =
      static_cast<std::int64_t>(2 * (machine.cables.size() + machine.count(NodeKind::nic)));
  return std::max<std::int64_t>(
      1, std::min({max_cluster_ranks / gpus, (max_cluster_devices - 1) / devices,
                   max_cluster_links / std::max<std::int64_t>(links, 1)}));
}

}  // namespace

void load_machine_file(JsonValue& document, Sources& sources) {
  JsonValue* const cluster = document.find("cluster");
  if (cluster == nullptr || !cluster->is_object()) return;
  for (const std::string_view key : file_keys) {
    JsonValue* const written = cluster->find(key);
    if (written == nullptr || !written->is_string() || is_text(written->string())) continue;
    const std::uint32_t by = written->place.source;
    Diagnostic asked_by;
    asked_by.place = written->place;
    asked_by.pointer = pointer_to("/cluster", key);
    Diagnostics mistakes;
    const auto file =
        named_file(*written, asked_by.pointer, by == SourceRange::nowhere ? "-" : sources.name(by),
                   sources, mistakes);
    const auto source = file ? read_source(*file, sources, mistakes, asked_by) : std::nullopt;
    if (source) {
      const std::string& text = sources.text(*source);
      *written = JsonValue(text);
      written->place = {*source, 0,
                        static_cast<std::uint32_t>(std::max<std::size_t>(text.size(), 1))};
      continue;
    }
    // read_imported() reports it, so that a cluster that is not there is not missed besides.
    const SourceRange place = written->place;
    *written = JsonValue::object();
    const Diagnostic mistake = mistakes.sorted().front();
    written->set(unreadable, mistake.message);
    written->set("hint", mistake.hint.empty() ? "its name is relative to the file that names it"
                                              : mistake.hint);
    written->place = place;
  }
}

const Vocabulary& gpu_words() {
  static const Vocabulary words = [] {
    Vocabulary made{.what = "GPU model",
                    .aliases = {{"a100-sxm4", "A100"},
                                {"a100-sxm", "A100"},
                                {"h100-sxm5", "H100"},
                                {"h100-sxm", "H100"},
                                {"v100-sxm2", "V100"},
                                {"2080ti", "RTX-2080Ti"},
                                {"3090", "RTX-3090"},
                                {"4090", "RTX-4090"},
                                {"5090", "RTX-5090"},
                                {"mi200", "MI250"},
                                {"mi250x", "MI250"},
                                {"mi60", "MI50"}}};
    for (const GpuModel& model : gpu_models()) made.allowed.emplace_back(model.name);
    return made;
  }();
  return words;
}

const Vocabulary& pcie_words() {
  static const Vocabulary words{.what = "PCIe generation",
                                .allowed = {"gen3", "gen4", "gen5", "gen6"},
                                .aliases = {{"3", "gen3"},
                                            {"4", "gen4"},
                                            {"5", "gen5"},
                                            {"6", "gen6"},
                                            {"3.0", "gen3"},
                                            {"4.0", "gen4"},
                                            {"5.0", "gen5"},
                                            {"6.0", "gen6"}}};
  return words;
}

int pcie_generation_of(std::string_view word) {
  return word.empty() ? 0 : word.back() - '0';
}

void note_latencies(ImportedMachine& machine) {
  const std::string_view preset = nearest_preset(machine);
  const bool knows_network = network_words().canonical(machine.network).has_value();
  const auto pass_over = [&](const std::string& name, bool is_known, const char* kind) {
    if (!name.empty() && !is_known)
      machine.assumed.push_back(
          fmt::format("collsim knows no {} {}, which the file names: passed over", kind,
                      quoted(printable(shortened(name, 30)))));
  };
  pass_over(machine.preset, find_preset(machine.preset) != nullptr, "preset");
  pass_over(machine.network, knows_network, "kind of network");
  const bool joins = !knows_network && machine.nics.empty() && machine.count(NodeKind::nic) > 0;
  machine.assumed.push_back(fmt::format(
      "latencies, overheads{} launch costs{}: those of preset {}; such a file has none",
      joins ? "," : " and",
      joins ? fmt::format(" and the kind of network ({})", network_kind(machine)) : "", preset));
}

std::string_view nearest_preset(const ImportedMachine& machine) {
  if (const Preset* const own = find_preset(machine.preset)) return own->name;
  const GpuModel* const model = find_gpu_model(machine.gpu);
  if (model == nullptr) return pcie_preset(machine);
  // Of the same GPUs in machines of clouds.
  if (model->name == "A100" && machine.nics == "efa") return "p4d";
  if (model->name == "H100" && machine.nics == "efa") return "p5";
  if (model->name == "H100" && machine.nics == "tcp") return "a3-mega";
  const bool switched =
      std::any_of(machine.cables.begin(), machine.cables.end(),
                  [](const ImportedCable& cable) { return cable.kind == CableKind::nvswitch; });
  return switched && model->name == "V100" ? dgx_2 : model->preset;
}

const JsonValue* model_value(const ImportedMachine& machine) {
  return find_preset(nearest_preset(machine))->document.find("model");
}

NcclGraph nccl_graph_of(const ImportedMachine& machine) {
  NcclGraph graph;
  graph.cpu = machine.cpu;
  if (const GpuModel* const model = find_gpu_model(machine.gpu)) {
    constexpr int ampere = 80, hopper = 90, blackwell = 100, volta = 70;
    graph.gpu = model->sm >= blackwell ? "blackwell"
                : model->sm >= hopper  ? "hopper"
                : model->sm >= ampere  ? "ampere"
                : model->sm >= volta   ? "volta"
                                       : "";
  }
  std::size_t direct = 0;
  bool switched = false;
  for (const ImportedCable& cable : machine.cables) {
    direct += cable.kind == CableKind::nvlink ? 1 : 0;
    switched = switched || cable.kind == CableKind::nvswitch ||
               (cable.kind == CableKind::measured && cable.gbs > faster_than_pcie);
  }
  // Bridges between pairs leave a way over PCIe.
  graph.path = switched || direct + 1 >= machine.count(NodeKind::gpu) ? "nvlink" : "pci";
  return graph;
}

JsonValue cluster_value(const ImportedMachine& machine) {
  const LinkCosts costs(machine);
  const double fastest_nic = fastest_nic_of(machine);
  JsonValue cluster = JsonValue::object();
  cluster.set("devices", devices_value(machine));
  cluster.set("links", links_value(machine, costs, fastest_nic));
  if (fastest_nic > 0) {
    JsonValue network = JsonValue::object();
    network.set("link", costs.network(fastest_nic));
    cluster.set("network", std::move(network));
  }
  return cluster;
}

std::optional<Machine> read_imported(ObjectReader& cluster, std::string_view key) {
  const JsonValue* const written = cluster.raw(key);
  const MachineAnswers answers = read_answers(cluster);
  const std::int64_t nodes = cluster.integer("nodes", 1, max_cluster_ranks, 1);
  if (const JsonValue* why = written->find(unreadable); why != nullptr && why->is_string()) {
    const JsonValue* const hint = written->find("hint");
    return cluster.wrong(key, "cannot-read", why->string(), {},
                         hint != nullptr && hint->is_string() ? hint->string() : "");
  }
  if (!written->is_string()) {
    return cluster.wrong(
        key, "wrong-type",
        fmt::format("expected the name of a file, but this is {}", written->kind_name()));
  }
  // From here on it is one file's text.
  if (!is_text(written->string()) && !(written->place.begin == 0 && written->place.end > 0)) {
    return cluster.wrong(key, "not-read",
                         fmt::format("the file {} was not read", shown(written->string())), {},
                         "a sweep cannot change the file; use --set for each of several machines");
  }
  cluster.resolve(key, *written);
  auto machine = read_text(cluster, key, *written);
  if (!machine) return std::nullopt;
  if (const auto question = complete(*machine, answers)) {
    return cluster.wrong(cluster.has("gpu") ? "gpu" : key, "missing-key", question->message, {},
                         fmt::format("\"gpu\": \"...\": {}", question->hint));
  }
  if (nodes > 1 && machine->count(NodeKind::nic) == 0) {
    return cluster.wrong(
        "nodes", "no-nic", "the file has no NIC, so nothing joins the nodes", {},
        "import a file with NICs, or write the cluster with collsim topo import -o and add "
        "them");
  }
  if (nodes > most_nodes(*machine)) {
    return cluster.wrong("nodes", "too-large",
                         fmt::format("{} are too many", count_text(nodes, "node")), {},
                         fmt::format("at most {} of this machine", most_nodes(*machine)));
  }
  JsonValue document = cluster_value(*machine);
  document.set("nodes", nodes);
  Diagnostics ours;
  ObjectReader reader(document, "", ours);
  auto built = read_graph(reader);
  static_cast<void>(reader.finish());
  COLLSIM_CHECK(built && ours.empty(), "an imported machine cannot be built: " +
                                           (ours.empty() ? "" : ours.sorted().front().message));
  built->description =
      fmt::format("{}{} ({})", machine->format, nodes > 1 ? fmt::format(" x {}", nodes) : "",
                  count_text(static_cast<std::int64_t>(built->topology.rank_count()), "rank"));
  if (const JsonValue* const model = model_value(*machine)) built->model = *model;
  const Preset& nearest = *find_preset(nearest_preset(*machine));
  built->gpu_kind = nearest.written.find("gpu")->string();
  built->network_kind = network_kind(*machine);
  built->nccl_graph = nccl_graph_of(*machine);
  note_latencies(*machine);
  built->assumed = std::move(machine->assumed);
  return built;
}

}  // namespace collsim
