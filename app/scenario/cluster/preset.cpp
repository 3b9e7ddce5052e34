// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "app/json/screen_text.hpp"
#include "app/json/value.hpp"
#include "app/scenario/cluster/machine.hpp"
#include "app/scenario/fitted.hpp"
#include "app/scenario/presets.hpp"

// A cluster of "preset": the preset's cluster with the names of its link types replaced by what
// they stand for, read like any other.

namespace collsim {

namespace {

// The link types with the values of "override"; the override with every value in it, so that the
// resolved scenario shows all numbers, and still works when a preset changes.
struct LinkTypes {
  JsonValue types = JsonValue::object();
  bool overridden = false;
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

// What a link type's protocols cost: as overridden, or else the preset's own.
JsonValue protocols_of(ObjectReader& override, const JsonValue& written, const std::string& key,
                       const JsonValue& original) {
  static_cast<void>(read_protocols(override, key));
  if (const JsonValue* const instead = written.find(key)) return resolved_protocols(*instead);
  override.resolve(key, original);
  return original;
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
      read.overridden = read.overridden || value != original;
      link.set(property, std::move(value));
    }
    if (const JsonValue* const duplex = type.value.find("duplex")) link.set("duplex", *duplex);
    const JsonValue original = resolved_protocols(*type.value.find("protocols"));
    JsonValue protocols =
        protocols_of(override, override_value, fmt::format("{}.protocols", type.key), original);
    read.overridden = read.overridden || protocols != original;
    link.set("protocols", std::move(protocols));
    read.types.set(type.key, std::move(link));
  }
  cluster.resolve("override", override.finish());
  return read;
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

std::string describe(const Preset& preset, std::int64_t nodes, const Machine& machine,
                     const std::string& network, bool overridden) {
  return fmt::format("{}{} ({}{}{})", preset.name, nodes > 1 ? fmt::format(" x {}", nodes) : "",
                     count_text(static_cast<std::int64_t>(machine.topology.rank_count()), "rank"),
                     network == preset.network ? "" : fmt::format(", {} network", network),
                     overridden ? ", overridden" : "");
}

}  // namespace

std::optional<Machine> read_preset(ObjectReader& cluster) {
  const auto name = word_or_nearest(cluster, "preset", preset_words());
  if (!name) {
    static_cast<void>(cluster.integer("nodes", 1, max_cluster_ranks));
    for (const char* key : {"network", "override"}) static_cast<void>(cluster.raw(key));
    return std::nullopt;
  }
  const Preset* preset = find_preset(*name);
  COLLSIM_CHECK(preset != nullptr, "preset " + *name);
  const std::int64_t nodes = cluster.integer("nodes", 1, max_cluster_ranks / preset->gpus, 1);
  const std::string network = cluster.word("network", network_words(), preset->network);
  const bool usual = network == preset->network;
  const JsonValue whole = usual ? preset->document : on_network(*preset, network);
  const LinkTypes types = read_override(cluster, *preset, whole);

  JsonValue document = with_link_types(*preset->document.find("cluster"), types.types, false);
  document.set("nodes", nodes);
  Diagnostics ours;
  ObjectReader reader(document, "", ours);
  auto machine = read_graph(reader);
  static_cast<void>(reader.finish());
  COLLSIM_CHECK(machine && ours.empty(),
                "preset " + *name + ": " + (ours.empty() ? "" : ours.sorted().front().message));
  machine->preset = preset->name;
  machine->gpu_kind = whole.find("gpu")->string();
  machine->network_kind = network;
  machine->model = *whole.find("model");
  machine->description = describe(*preset, nodes, *machine, network, types.overridden);
  return machine;
}

}  // namespace collsim
