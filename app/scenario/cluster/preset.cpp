// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "app/json/screen_text.hpp"
#include "app/json/value.hpp"
#include "app/scenario/cluster/fabric.hpp"
#include "app/scenario/cluster/machine.hpp"
#include "app/scenario/fitted.hpp"
#include "app/scenario/presets.hpp"
#include "topo/graph_nodes.hpp"
#include "topo/routes.hpp"

// A cluster of "preset": the preset's cluster with the names of its link types replaced by what
// they stand for, read like any other.

namespace collsim {

namespace {

// The link types with the values of "override"; the override with every value in it, so that the
// resolved scenario shows all numbers, and still works when a preset changes.
struct LinkTypes {
  JsonValue types = JsonValue::object();
  std::vector<std::string> overridden = {};  // keys with another value than the preset's own
};

// The preset's own value in the spelling of resolved scenarios.
std::string exact(std::string_view property, const std::string& value) {
  if (property == "sharing") return value;
  if (property == "bandwidth") return exact_bandwidth(parse_bandwidth(value).value.value());
  return exact_time(parse_time(value).value.value());
}

// One value of a link type: as overridden, or else the preset's own.
std::string read_value(ObjectReader& override, const std::string& key, std::string_view property,
                       const std::string& original) {
  if (property == "sharing") return override.word(key, sharing_words(), original);
  if (property == "bandwidth") {
    if (const auto bandwidth = override.bandwidth(key)) return exact_bandwidth(*bandwidth);
  } else if (const auto time = override.time(key)) {
    if (check_link_time(override, key, *time)) return exact_time(*time);
  }
  override.resolve(key, original);
  return original;
}

// {"nic": {"bandwidth": "800Gb/s"}} for {"nic.bandwidth": "800Gb/s"}.
void refuse_objects(ObjectReader& override, const JsonValue& written, const Preset& preset) {
  if (!written.is_object()) return;
  const JsonValue& types = *preset.document.find("link_types");
  for (const JsonValue::Member& member : written.members()) {
    if (types.find(member.key) == nullptr) continue;
    static_cast<void>(override.raw(member.key));
    std::string instead;
    if (member.value.is_object())
      for (const JsonValue::Member& property : member.value.members())
        instead += fmt::format("{}\"{}.{}\": {}", instead.empty() ? "" : ", ", member.key,
                               property.key, to_json(property.value));
    if (instead.empty()) instead = fmt::format("\"{}.bandwidth\": \"25GB/s\"", member.key);
    override.wrong(member.key, "unknown-key",
                   fmt::format("{} is a link type; change a single value of it", shown(member.key)),
                   {}, "write " + shortened(instead));
  }
}

// With every default, as the resolved scenario has them.
JsonValue resolved_protocols(const JsonValue& protocols) {
  const JsonValue link = JsonValue::object({{"protocols", protocols}});
  Diagnostics known;  // to who reads them for good
  ObjectReader reader(link, "", known);
  static_cast<void>(read_protocols(reader, "protocols"));
  const JsonValue resolved = reader.finish();
  return *resolved.find("protocols");
}

// What a link type's protocols cost: the preset's own, with the values that are overridden.
JsonValue protocols_of(ObjectReader& override, const std::string& key, const JsonValue& original) {
  const JsonValue* const written = override.raw(key);
  JsonValue merged = original;
  if (written != nullptr && !written->is_object()) merged = *written;
  if (written != nullptr && written->is_object()) {
    merged.place = written->place;
    for (const JsonValue::Member& row : written->members()) {
      JsonValue* const own = merged.find(row.key);
      if (own == nullptr || !row.value.is_object()) {
        merged.set(row.key, row.value, row.key_place);
        continue;
      }
      own->place = row.value.place;
      for (const JsonValue::Member& value : row.value.members())
        own->set(value.key, value.value, value.key_place);
    }
  }
  const JsonValue link = JsonValue::object({{key, std::move(merged)}});
  ObjectReader reader(link, override.pointer(), override.diagnostics());
  static_cast<void>(read_protocols(reader, key));
  JsonValue protocols = *reader.finish().find(key);
  override.resolve(key, protocols);
  return protocols;
}

LinkTypes read_override(ObjectReader& cluster, const Preset& preset, const JsonValue& document) {
  const JsonValue none = JsonValue::object();
  const JsonValue* written = cluster.raw("override");
  const JsonValue& override_value = written != nullptr ? *written : none;
  ObjectReader override(override_value, cluster.pointer_of("override"), cluster.diagnostics());
  if (written != nullptr) refuse_objects(override, *written, preset);
  LinkTypes read;
  for (const JsonValue::Member& type : document.find("link_types")->members()) {
    JsonValue link = JsonValue::object();
    for (const std::string_view property : preset_link_values()) {
      const std::string key = fmt::format("{}.{}", type.key, property);
      const std::string original = exact(property, type.value.find(property)->string());
      std::string value = read_value(override, key, property, original);
      if (value != original) read.overridden.push_back(key);
      link.set(property, std::move(value));
    }
    if (const JsonValue* const duplex = type.value.find("duplex")) link.set("duplex", *duplex);
    const JsonValue original = resolved_protocols(*type.value.find("protocols"));
    const std::string key = fmt::format("{}.protocols", type.key);
    JsonValue protocols = protocols_of(override, key, original);
    if (protocols != original) read.overridden.push_back(key);
    link.set("protocols", std::move(protocols));
    read.types.set(type.key, std::move(link));
  }
  cluster.resolve("override", override.finish());
  return read;
}

// NCCL takes CollNet where the network adds, whatever is said about its costs.
void refuse_collnet(ObjectReader& cluster, const LinkTypes& types) {
  for (const JsonValue::Member& type : types.types.members())
    if (type.value.find("protocols")->find(to_string(LinkProtocol::collnet)) != nullptr)
      return static_cast<void>(cluster.wrong(
          "override", "not-there", "CollNet is for networks that add, and this one does not", {},
          "write \"sharp\": true of the cluster, or leave CollNet out"));
}

// "sharp": true: the switch that joins the NICs adds and multicasts.  What CollNet costs on its
// ports is not fitted, because no published table says that it was used: NCCL 2.28's tuner counts
// on 31 us through the network and back (tuning.cc, CollnetDirect), which are two ports; that a
// port carries as much as under Simple is assumed.
void let_network_add(ObjectReader& cluster, const Preset& preset, const std::string& network,
                     LinkTypes& types) {
  constexpr Time port_hop = nanoseconds(15'500);
  const bool wanted = cluster.boolean("sharp").value_or(false);
  if (!wanted) return refuse_collnet(cluster, types);
  const JsonValue* const joint = preset.document.find("cluster")->find("network");
  if (joint == nullptr || network != "ib") {
    const std::string what = joint == nullptr ? "a " + preset.name + " has no NICs"
                                              : "a network of kind " + network + " has none";
    cluster.wrong("sharp", "not-there", "SHARP is in switches of InfiniBand, and " + what, {},
                  "write \"network\": \"ib\", or leave \"sharp\" out");
    return;
  }
  JsonValue& nic = *types.types.find(joint->find("link")->string());
  JsonValue& protocols = *nic.find("protocols");
  if (protocols.find(to_string(LinkProtocol::collnet)) != nullptr) return;
  JsonValue cost = JsonValue::object({{"hop", exact_time(port_hop)}});
  if (const JsonValue* const simple = protocols.find(to_string(LinkProtocol::simple)))
    cost.set("rate", *simple->find("rate"));
  protocols.set(to_string(LinkProtocol::collnet), std::move(cost));
}

// "fitted": {"logs": 2, "rows": 45, "half": 0.03, "most": 0.12}
std::optional<FitToLogs> read_fitted(ObjectReader& cluster) {
  constexpr std::int64_t most_rows = 1'000'000'000;
  constexpr double most_error = 1e9;
  const JsonValue* const written = cluster.raw("fitted");
  if (written == nullptr) return std::nullopt;
  ObjectReader reader(*written, cluster.pointer_of("fitted"), cluster.diagnostics());
  FitToLogs fit;
  fit.logs = reader.integer("logs", 1, most_rows, 1);
  fit.rows = reader.integer("rows", 1, most_rows, 1);
  fit.half = reader.number("half", 0, most_error, 0);
  fit.most = reader.number("most", 0, most_error, 0);
  reader.need({"logs", "rows", "half", "most"});
  cluster.resolve("fitted", reader.finish());
  return fit;
}

// "link": "nvlink" -> its parameters: inside a link of "links", else as an object.
JsonValue with_link_types(const JsonValue& value, const JsonValue& types, bool in_links) {
  if (value.is_array()) {
    JsonValue items = JsonValue::array();
    for (const JsonValue& item : value.items())
      items.items().push_back(with_link_types(item, types, in_links));
    return items;
  }
  if (!value.is_object()) return value;
  JsonValue object = JsonValue::object();
  for (const JsonValue::Member& member : value.members()) {
    if (member.key != "link") {
      object.set(member.key, with_link_types(member.value, types, member.key == "links"));
      continue;
    }
    const JsonValue* type = types.find(member.value.string());
    COLLSIM_CHECK(type != nullptr, "a preset names link type " + member.value.string());
    if (!in_links)
      object.set("link", *type);
    else
      for (const JsonValue::Member& property : type->members())
        object.set(property.key, property.value);
  }
  return object;
}

// --- "inter" -------------------------------------------------------------------------------------

// What a link of the network says where it is not written: presets share fairly, and NCCL's
// protocols cost what the ports of the NICs say; but the flags that they send need room everywhere.
JsonValue with_defaults(JsonValue link) {
  if (!link.is_object()) return link;
  if (link.find("sharing") == nullptr) link.set("sharing", "fair");
  if (link.find("protocols") == nullptr) {
    JsonValue free = JsonValue::object();
    for (const LinkProtocol protocol : all_protocols)
      if (protocol != LinkProtocol::nvls && protocol != LinkProtocol::collnet)
        free.set(to_string(protocol), JsonValue::object({{"rate", share_of_data(protocol)}}));
    link.set("protocols", resolved_protocols(free));
  }
  return link;
}

// As written, with the link of the NICs, and links above that are as wide as that and cost nothing
// else, since the NICs' latency is that of a whole way through a network.
JsonValue whole_inter(const JsonValue& written, const JsonValue& nic_link) {
  JsonValue inter = written;
  const JsonValue* const shape = written.find("shape");
  const bool dragonfly = shape != nullptr && *shape == JsonValue("dragonfly");
  const bool one_switch = shape == nullptr || *shape == JsonValue("switch");
  inter.set("link", nic_link);
  const JsonValue above = JsonValue::object({{"bandwidth", *nic_link.find("bandwidth")}});
  for (const char* key : {"uplink", "local_link", "global_link"}) {
    JsonValue* const own = inter.find(key);
    if (own != nullptr && own->is_array())
      for (JsonValue& link : own->items()) link = with_defaults(std::move(link));
    else if (own != nullptr)
      *own = with_defaults(std::move(*own));
    else if (!one_switch && dragonfly != (std::string_view(key) == "uplink"))
      inter.set(key, with_defaults(above));
  }
  return inter;
}

// The preset's nodes joined by another network than one switch.
std::optional<Between> read_inter_of_preset(ObjectReader& cluster, const JsonValue& nic_link,
                                            const NodesToJoin& nodes) {
  const JsonValue& written = *cluster.raw("inter");
  if (written.find("link") != nullptr)
    return cluster.wrong("inter", "unknown-key", "the preset says what the link of its NICs is", {},
                         "leave \"link\" out, or change its values by \"override\": "
                         "{\"nic.bandwidth\": \"200Gb/s\"}");
  const JsonValue whole = written.is_object() ? whole_inter(written, nic_link) : written;
  ObjectReader inter(whole, cluster.pointer_of("inter"), cluster.diagnostics());
  auto between = read_between(inter, nodes);
  JsonValue resolved = inter.finish();
  resolved.erase("link");
  cluster.resolve("inter", std::move(resolved));
  return between;
}

// Copies of the preset's graph, joined by its own network.
Machine graph_of(const Preset& preset, const LinkTypes& types, std::int64_t nodes) {
  JsonValue document = with_link_types(*preset.document.find("cluster"), types.types, false);
  document.set("nodes", nodes);
  Diagnostics ours;
  ObjectReader reader(document, "", ours);
  auto machine = read_graph(reader);
  static_cast<void>(reader.finish());
  COLLSIM_CHECK(machine && ours.empty(), "preset " + preset.name + ": " +
                                             (ours.empty() ? "" : ours.sorted().front().message));
  machine->description.clear();
  return std::move(*machine);
}

// Copies of it as they are written to be joined; its description is that of what else joins them.
std::optional<Machine> nodes_of(ObjectReader& cluster, const Preset& preset, const LinkTypes& types,
                                std::int64_t nodes) {
  if (cluster.raw("inter") == nullptr) return graph_of(preset, types, nodes);
  Machine machine = graph_of(preset, types, 1);
  const auto& kinds = machine.topology.parts().kinds;
  const auto nics = static_cast<std::size_t>(std::count(kinds.begin(), kinds.end(), NodeKind::nic));
  const JsonValue* const network = preset.document.find("cluster")->find("network");
  if (nics == 0 || network == nullptr)
    return cluster.wrong("inter", "no-nic",
                         fmt::format("a {} has no NIC that \"inter\" could join", preset.name));
  const JsonValue& nic_link = *types.types.find(network->find("link")->string());
  const auto copies = static_cast<std::size_t>(nodes);
  const auto between = read_inter_of_preset(cluster, nic_link, {.nodes = copies, .nics = nics});
  if (!between) return std::nullopt;
  if (!between->fabric) return graph_of(preset, types, nodes);
  const auto links =
      static_cast<double>(copies) * static_cast<double>(machine.topology.links().size());
  if (!within_limit(cluster, "nodes", links, "link")) return std::nullopt;
  GraphNodes shape{
      .node = machine.topology, .nodes = copies, .network = TreeShape{}, .pxn = between->pxn};
  std::visit([&](const auto& fabric) { shape.network = fabric; }, between->fabric->shape);
  try {
    machine.topology = make_graph_nodes(shape);
  } catch (const Error& error) {
    return cluster.wrong("inter", error);
  }
  machine.description = ", joined by " + in_words(*between);
  return machine;
}

std::string describe(const Preset& preset, std::int64_t nodes, const Machine& machine,
                     const std::string& network, bool overridden) {
  return fmt::format("{}{} ({}{}{})", preset.name, nodes > 1 ? fmt::format(" x {}", nodes) : "",
                     count_text(static_cast<std::int64_t>(machine.topology.rank_count()), "rank"),
                     network == preset.network ? "" : fmt::format(", {} network", network),
                     overridden ? ", overridden" : "");
}

// Where the network adds what a rank sends to another.
std::optional<NodeId> adding_switch(const Topology& topology, Router& router, Rank rank,
                                    Rank other) {
  for (const LinkId id : router.route(rank, other)) {
    const Link& link = topology.link(id);
    if (topology.leads_to_adding_network(link) &&
        topology.kind(link.to) == NodeKind::network_switch)
      return link.to;
  }
  return std::nullopt;
}

// Sums of several switches, which others add up, are not simulated: better said at once than where
// a size is reached at which NCCL would have them added.
void check_that_one_switch_adds(ObjectReader& cluster, const Topology& topology,
                                std::size_t of_node) {
  Router router(topology);
  for (std::size_t first = 0; first < of_node; ++first)
    for (std::size_t rank = first + of_node; rank < topology.rank_count(); rank += of_node) {
      const auto one = adding_switch(topology, router, Rank(first), Rank(rank));
      const auto other = adding_switch(topology, router, Rank(rank), Rank(first));
      if (one == other || !one || !other) continue;
      cluster.wrong("sharp", "not-simulated",
                    fmt::format("the NICs of {} and {} are at {} and {}, and sums of several "
                                "switches, which others add up, are not simulated",
                                topology.name(topology.node_of(Rank(first))),
                                topology.name(topology.node_of(Rank(rank))), topology.name(*one),
                                topology.name(*other)),
                    {},
                    "leave \"sharp\" out, or join the NICs of a kind by one switch, as a network "
                    "of one switch or rails do");
      return;
    }
}

}  // namespace

std::optional<Machine> read_preset(ObjectReader& cluster) {
  const auto name = word_or_nearest(cluster, "preset", preset_words());
  if (!name) {
    static_cast<void>(cluster.integer("nodes", 1, max_cluster_ranks));
    for (const char* key : {"network", "sharp", "override", "inter", "fitted"})
      static_cast<void>(cluster.raw(key));
    return std::nullopt;
  }
  const Preset* preset = find_preset(*name);
  COLLSIM_CHECK(preset != nullptr, "preset " + *name);
  const std::int64_t nodes = cluster.integer("nodes", 1, max_cluster_ranks / preset->gpus, 1);
  const std::string network = cluster.word("network", network_words(), preset->network);
  const bool usual = network == preset->network;
  const JsonValue whole = usual ? preset->document : on_network(*preset, network);
  LinkTypes types = read_override(cluster, *preset, whole);
  let_network_add(cluster, *preset, network, types);

  auto machine = nodes_of(cluster, *preset, types, nodes);
  if (!machine) return std::nullopt;
  const std::string joined = machine->description;
  machine->preset = preset->name;
  machine->gpu_kind = whole.find("gpu")->string();
  machine->network_kind = network;
  machine->fitted = read_fitted(cluster);
  machine->model = *whole.find("model");
  machine->description =
      describe(*preset, nodes, *machine, network, !types.overridden.empty()) + joined;
  machine->preset_changes = std::move(types.overridden);
  if (machine->topology.network_adds()) {
    check_that_one_switch_adds(cluster, machine->topology, static_cast<std::size_t>(preset->gpus));
    machine->description += ", SHARP";
  }
  return machine;
}

}  // namespace collsim
