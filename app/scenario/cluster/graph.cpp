// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <unordered_map>

#include "app/json/screen_text.hpp"
#include "app/scenario/cluster/machine.hpp"
#include "app/scenario/cluster/names.hpp"
#include "topo/graph_nodes.hpp"
#include "topo/parts.hpp"

// A cluster of "devices" and "links": the graph as the user drew it, or copies of it joined by a
// network.

namespace collsim {

namespace {

struct GraphDevice {
  std::string name;
  NodeKind kind;
};

struct Cable {
  std::size_t from, to;
  LinkParameters parameters;
  std::size_t entry;  // of "links"
};

const Vocabulary& kind_words() {
  static const Vocabulary words{.what = "kind",
                                .allowed = {"gpu", "switch", "cpu", "nic"},
                                .aliases = {{"gpus", "gpu"},
                                            {"nvswitch", "switch"},
                                            {"router", "switch"},
                                            {"bridge", "switch"},
                                            {"host", "cpu"},
                                            {"socket", "cpu"},
                                            {"hca", "nic"},
                                            {"net", "nic"}}};
  return words;
}

NodeKind kind_of(std::string_view word) {
  if (word == "switch") return NodeKind::network_switch;
  if (word == "cpu") return NodeKind::cpu;
  return word == "nic" ? NodeKind::nic : NodeKind::gpu;
}

// The graph of one node.
class Graph {
 public:
  explicit Graph(ObjectReader& cluster) : cluster_(&cluster) {}

  // False when something was wrong.
  bool read_devices();
  bool read_links();

  [[nodiscard]] std::size_t count(NodeKind kind) const {
    return count_[static_cast<std::size_t>(kind)];
  }
  [[nodiscard]] const std::vector<GraphDevice>& devices() const { return devices_; }
  [[nodiscard]] const std::vector<Cable>& cables() const { return cables_; }

 private:
  // Items of an array are objects of their own, with their own pointers.
  struct Item {
    const JsonValue& value;
    std::string pointer;
  };
  template <class Read>
  bool read_items(std::string_view key, const Read& read);
  bool read_device(const Item& item, JsonValue& resolved);
  bool read_link(const Item& item, JsonValue& resolved);
  bool none_is_written_both_ways();
  std::optional<std::vector<std::size_t>> read_end(ObjectReader& link, std::string_view key);
  bool find_devices(ObjectReader& link, std::string_view key, const DeviceNames& names,
                    std::vector<std::size_t>& found);
  bool add_cables(ObjectReader& link, const std::vector<std::size_t>& from,
                  const std::vector<std::size_t>& to, const LinkParameters& parameters);
  Refusal report_unknown(ObjectReader& link, std::string_view key, const std::string& name);

  ObjectReader* cluster_;
  std::vector<GraphDevice> devices_;
  std::vector<Cable> cables_;
  std::unordered_map<std::string, std::size_t> by_name_;
  std::array<std::size_t, 4> count_{};  // of each kind
  std::vector<std::string> names_;      // these two are made when first needed
  std::string devices_in_words_;
  std::size_t links_read_ = 0;
  bool too_many_ = false;  // stop reading
};

template <class Read>
bool Graph::read_items(std::string_view key, const Read& read) {
  const JsonValue* value = cluster_->raw(key);
  if (value == nullptr) {
    cluster_->need({key});
    return false;
  }
  if (!value->is_array())
    return cluster_->wrong(
        key, "wrong-type",
        fmt::format("expected a list of {}, but this is {}", key, value->kind_name()), {},
        "write [{ ... }, { ... }]");
  // More mistakes than this are one: a generated file gone wrong.
  constexpr int most_mistakes = 100;
  int mistakes = 0;
  JsonValue resolved = JsonValue::array();
  resolved.place = value->place;
  for (std::size_t i = 0; i < value->items().size() && mistakes < most_mistakes && !too_many_;
       ++i) {
    JsonValue item;
    if (!read({value->items()[i], pointer_to(cluster_->pointer_of(key), i)}, item)) ++mistakes;
    resolved.items().push_back(std::move(item));
  }
  cluster_->resolve(key, std::move(resolved));
  return mistakes == 0;
}

bool Graph::read_devices() {
  return read_items("devices", [this](const Item& item, JsonValue& resolved) {
    return read_device(item, resolved);
  });
}

bool Graph::read_links() {
  const bool fine = read_items("links", [this](const Item& item, JsonValue& resolved) {
    const bool right = read_link(item, resolved);
    ++links_read_;
    return right;
  });
  return fine && none_is_written_both_ways();
}

bool Graph::none_is_written_both_ways() {
  using Ends = std::pair<std::size_t, std::size_t>;
  std::vector<std::pair<Ends, const Cable*>> downwards;
  for (const Cable& cable : cables_)
    if (cable.from > cable.to) downwards.emplace_back(Ends(cable.to, cable.from), &cable);
  std::sort(downwards.begin(), downwards.end());
  std::set<std::size_t> reported;
  for (const Cable& cable : cables_) {
    const Ends ends(cable.from, cable.to);
    const auto back = std::lower_bound(downwards.begin(), downwards.end(), ends,
                                       [](const auto& a, const Ends& b) { return a.first < b; });
    if (back == downwards.end() || back->first != ends) continue;
    const Cable& later = cable.entry > back->second->entry ? cable : *back->second;
    if (!reported.insert(later.entry).second) continue;
    report_wrong(
        cluster_->diagnostics(), cluster_->raw("links")->items()[later.entry],
        pointer_to(cluster_->pointer_of("links"), later.entry), "written-both-ways",
        fmt::format("{} and {} are linked from both sides", shown(devices_[later.from].name),
                    shown(devices_[later.to].name)),
        {}, "links go both ways already; for two parallel cables, write the same direction twice");
  }
  return reported.empty();
}

// One device, or the range in "gpu[0-3]".
std::optional<DeviceNames> names_of_device(ObjectReader& device, const std::string& id) {
  const std::size_t bracket = id.find('[');
  if (bracket == std::string::npos || !is_device_name(id.substr(0, bracket))) return DeviceNames();
  auto parsed = DeviceNames::parse(id);
  if (!parsed.names) return device.wrong("id", "bad-range", parsed.message, {}, parsed.hint);
  if (device.has("count"))
    return device.wrong(
        "count", "conflicting-keys",
        fmt::format("{} already says how many devices there are", shown(id)), {},
        fmt::format("omit \"count\", or write \"id\": \"{}\"", id.substr(0, bracket)));
  return parsed.names;
}

bool Graph::read_device(const Item& item, JsonValue& resolved) {
  ObjectReader reader(item.value, item.pointer, cluster_->diagnostics());
  const auto id = reader.text("id");
  const auto kind = reader.word("kind", kind_words());
  const auto count = reader.integer("count", 1, max_cluster_devices);
  reader.need({"id", "kind"});
  const bool count_is_wrong = reader.has("count") && !count;
  resolved = reader.finish();
  if (!id || !kind || count_is_wrong) return false;
  const auto range = names_of_device(reader, *id);
  if (!range) return false;
  if (!range->is_range() && !is_device_name(*id))
    return reader.wrong(
        "id", "bad-name", fmt::format("{} cannot be the name of a device", shown(*id)), {},
        "names have letters, digits, -, _, . and :, such as \"gpu\" or \"pcie-switch0\"");
  const auto copies =
      range->is_range() ? range->size() : static_cast<std::size_t>(count.value_or(1));
  if (*kind == "gpu" &&
      !within_limit(reader, count ? "count" : "id",
                    static_cast<double>(count_[static_cast<std::size_t>(NodeKind::gpu)] + copies),
                    "rank"))
    return false;
  if (!within_limit(reader, count ? "count" : "id", static_cast<double>(devices_.size() + copies),
                    "device"))
    return false;
  const std::vector<std::string> names = range->expanded();
  for (std::size_t i = 0; i < copies; ++i) {
    std::string name = count ? *id + std::to_string(i) : range->is_range() ? names[i] : *id;
    if (!by_name_.emplace(name, devices_.size()).second)
      return reader.wrong("id", "duplicate-name", fmt::format("there are two devices \"{}\"", name),
                          {}, "device names must be unique");
    devices_.push_back({.name = std::move(name), .kind = kind_of(*kind)});
    ++count_[static_cast<std::size_t>(devices_.back().kind)];
  }
  return true;
}

Refusal Graph::report_unknown(ObjectReader& link, std::string_view key, const std::string& name) {
  if (names_.empty()) {
    for (const GraphDevice& device : devices_) names_.push_back(device.name);
    devices_in_words_ =
        names_.empty() ? "no devices are listed" : "devices are " + in_words(names_);
  }
  return link.wrong(key, "unknown-name", fmt::format("there is no device {}", shown(name)),
                    nearest_device(name, names_), devices_in_words_);
}

bool Graph::find_devices(ObjectReader& link, std::string_view key, const DeviceNames& names,
                         std::vector<std::size_t>& found) {
  for (const std::string& name : names.expanded()) {
    const auto known = by_name_.find(name);
    if (known == by_name_.end()) return report_unknown(link, key, name);
    found.push_back(known->second);
  }
  return true;
}

std::optional<std::vector<std::size_t>> Graph::read_end(ObjectReader& link, std::string_view key) {
  const auto text = link.text(key);
  if (!text) return std::nullopt;
  const auto parsed = DeviceNames::parse(*text);
  if (!parsed.names) return link.wrong(key, "bad-range", parsed.message, {}, parsed.hint);
  std::vector<std::size_t> found;
  if (!find_devices(link, key, *parsed.names, found)) return std::nullopt;
  return found;
}

bool Graph::add_cables(ObjectReader& link, const std::vector<std::size_t>& from,
                       const std::vector<std::size_t>& to, const LinkParameters& parameters) {
  const std::size_t pairs = std::max(from.size(), to.size());
  if (from.size() != to.size() && std::min(from.size(), to.size()) != 1)
    return link.wrong("to", "bad-range",
                      fmt::format("{} cannot be joined with {} pairwise",
                                  count_text(static_cast<std::int64_t>(from.size()), "device"),
                                  count_text(static_cast<std::int64_t>(to.size()), "device")),
                      {},
                      "two ranges must have the same length, or one end must be a single device");
  too_many_ =
      !within_limit(link, "from", 2.0 * static_cast<double>(cables_.size() + pairs), "link");
  if (too_many_) return false;
  for (std::size_t i = 0; i < pairs; ++i) {
    const Cable cable{.from = from[from.size() == 1 ? 0 : i],
                      .to = to[to.size() == 1 ? 0 : i],
                      .parameters = parameters,
                      .entry = links_read_};
    if (cable.from == cable.to)
      return link.wrong("to", "self-link",
                        fmt::format("\"{}\" is linked to itself", devices_[cable.from].name), {},
                        "a link joins two devices");
    cables_.push_back(cable);
  }
  return true;
}

bool Graph::read_link(const Item& item, JsonValue& resolved) {
  ObjectReader link(item.value, item.pointer, cluster_->diagnostics());
  const auto from = read_end(link, "from");
  const auto to = read_end(link, "to");
  link.need({"from", "to"});
  auto parameters = read_link_keys(link);
  const auto down = link.boolean("down");
  if (parameters) parameters->down = down.value_or(false);
  const bool fine = from && to && add_cables(link, *from, *to, parameters.value_or(stand_in_link));
  if (link.has("both")) {
    static_cast<void>(link.raw("both"));
    link.wrong("both", "unknown-key", "\"both\" is not needed here", {},
               "links go both ways already");
  }
  resolved = link.finish();
  return fine && parameters && !link.has("both");
}

// What joins the nodes.
struct Network {
  std::int64_t nodes = 1;
  std::optional<LinkParameters> link;  // of every NIC
};

std::optional<Network> read_network(ObjectReader& cluster, const Graph& graph) {
  Network network;
  network.nodes = cluster.integer("nodes", 1, max_cluster_ranks, 1);
  const JsonValue* value = cluster.raw("network");
  if (value == nullptr) {
    if (network.nodes == 1) return network;
    return cluster.wrong(
        "nodes", "missing-key",
        fmt::format("no network joins the {}", count_text(network.nodes, "node")), {},
        "add \"network\": {\"link\": {\"bandwidth\": \"50GB/s\"}}: a switch that all "
        "NICs are linked to");
  }
  ObjectReader reader(*value, cluster.pointer_of("network"), cluster.diagnostics());
  network.link = read_link(reader, "link");
  cluster.resolve("network", reader.finish());
  if (!network.link) return std::nullopt;
  if (graph.count(NodeKind::nic) == 0)
    return cluster.wrong("network", "no-nic",
                         "no device of kind \"nic\" links a node to the network", {},
                         "add one: {\"id\": \"nic\", \"kind\": \"nic\"}, and a link to it");
  return network;
}

Topology node_of(const Graph& graph) {
  Topology::Parts parts;
  parts.shape = "explicit";
  for (const GraphDevice& device : graph.devices()) {
    parts.names.add(device.name);
    add_nodes(parts, device.kind, 1);
  }
  for (const Cable& cable : graph.cables())
    add_cable(parts, NodeId(cable.from), NodeId(cable.to), cable.parameters);
  return Topology(std::move(parts));
}

// What all links have; nothing when they differ.
std::optional<LinkParameters> only_link(const Graph& graph, const Network& network) {
  std::optional<LinkParameters> only;
  if (network.nodes > 1) only = network.link;
  for (const Cable& cable : graph.cables()) {
    LinkParameters parameters = cable.parameters;
    parameters.down = false;
    if (only && !(*only == parameters)) return std::nullopt;
    only = parameters;
  }
  // Under a protocol of NCCL a link has not what is written.
  if (only && !(only->protocols == Protocols{})) return std::nullopt;
  return only;
}

bool copies_fit(ObjectReader& cluster, const Graph& graph, const Network& network) {
  const auto nodes = static_cast<double>(network.nodes);
  const auto gpus = static_cast<double>(graph.count(NodeKind::gpu));
  const auto cables = static_cast<double>(graph.cables().size() + graph.count(NodeKind::nic));
  const auto devices = static_cast<double>(graph.devices().size());
  const std::string_view key = network.nodes > 1 ? "nodes" : "devices";
  return within_limit(cluster, key, nodes * gpus, "rank") &&
         within_limit(cluster, key, nodes * devices, "device") &&
         within_limit(cluster, key, 2 * nodes * cables, "link");
}

}  // namespace

std::optional<Machine> read_graph(ObjectReader& cluster) {
  Graph graph(cluster);
  const bool devices_fine = graph.read_devices();
  // Links of devices that could not be read would only be reported for that.
  const bool links_fine = devices_fine ? graph.read_links() : cluster.raw("links") == nullptr;
  const auto network = read_network(cluster, graph);
  if (!devices_fine || !links_fine || !network) return std::nullopt;
  if (graph.count(NodeKind::gpu) == 0)
    return cluster.wrong(
        "devices", "no-gpu", "no device is of kind \"gpu\"", {},
        "the GPUs are the ranks: add {\"id\": \"gpu\", \"kind\": \"gpu\", \"count\": 4}");
  if (!copies_fit(cluster, graph, *network)) return std::nullopt;
  Topology node = node_of(graph);
  const auto gpus = static_cast<std::int64_t>(graph.count(NodeKind::gpu));
  return Machine{.topology = network->link ? make_switched_copies(
                                                 node, static_cast<std::size_t>(network->nodes),
                                                 *network->link)
                                           : std::move(node),
                 .link = only_link(graph, *network),
                 .description = network->nodes > 1
                                    ? fmt::format("{} of {}", count_text(network->nodes, "node"),
                                                  count_text(gpus, "rank"))
                                    : "graph of " + count_text(gpus, "rank")};
}

}  // namespace collsim
