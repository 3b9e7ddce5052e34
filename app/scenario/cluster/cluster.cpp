// SPDX-License-Identifier: Apache-2.0
#include "app/scenario/cluster/cluster.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "app/json/screen_text.hpp"
#include "app/scenario/cluster/fabric.hpp"
#include "app/scenario/cluster/machine.hpp"
#include "app/scenario/cluster/names.hpp"
#include "app/scenario/object_reader.hpp"
#include "topo/topology.hpp"

namespace collsim {
namespace {

// A longer list is made by a program, which can as well write "links".
constexpr std::size_t most_changes = 1024;

// More are not searched for the one that was meant.
constexpr std::size_t names_kept = 1001;

// What change_link() reads.
constexpr std::array<std::string_view, 7> link_keys = {
    "bandwidth", "latency", "overhead", "segments", "down", "sharing", "duplex"};

class Changes {
 public:
  // Neighbouring links.
  struct Span {
    std::size_t first, count;
  };

  explicit Changes(const Topology* topology) : topology_(topology) {}

  // The next item of the list; false when it was wrong.
  bool read(ObjectReader& item);
  // All links of the devices that a list of switches names; false when it was wrong.
  bool take_down(ObjectReader& cluster, std::string_view key);
  // Those links that are another thing than before.
  [[nodiscard]] std::vector<Topology::LinkChange> all() const {
    std::vector<Topology::LinkChange> changes;
    for (const auto& [link, parameters] : changed_)
      if (parameters != topology_->parameters(link)) changes.push_back({link, parameters});
    return changes;
  }

 private:
  std::optional<std::vector<NodeId>> read_devices(ObjectReader& item, std::string_view key);
  std::optional<Span> read_level(ObjectReader& item);
  bool collect(ObjectReader& item, const std::vector<NodeId>& from, const std::vector<NodeId>& to,
               std::vector<LinkId>& links);
  bool collect_chosen(ObjectReader& item, std::vector<LinkId>& links);
  [[nodiscard]] std::span<const LinkId> links_from(NodeId from);
  [[nodiscard]] std::string links_in_words(NodeId from);
  bool refuse_second_value(ObjectReader& item, const std::vector<LinkId>& links);
  void report_unknown(ObjectReader& item, std::string_view key, const std::string& name);

  const Topology* topology_;  // null: unknown
  std::map<LinkId, LinkParameters> changed_;
  std::map<std::pair<std::string_view, LinkId>, std::size_t> item_with_;  // by key and link
  std::size_t items_ = 0;                                                 // read so far
  std::vector<LinkId> by_source_;  // all links by where they start; made when first needed
  std::string known_devices_;      // in words; the same
};

// The devices of a machine of several nodes have the prefix "node0."; so that one file goes with
// any number of nodes, those of a single one may have it too.
std::optional<NodeId> find_device(const Topology& topology, const std::string& name) {
  constexpr std::string_view only_node = "node0.";
  const auto found = topology.find_node(name);
  if (found || !name.starts_with(only_node)) return found;
  return topology.find_node(name.substr(only_node.size()));
}

// A device or a range of them, in order of their ids; none where the key is not written.
std::optional<std::vector<NodeId>> Changes::read_devices(ObjectReader& item, std::string_view key) {
  std::vector<NodeId> devices;
  if (!item.has(key)) return devices;
  const auto text = item.text(key);
  if (!text) return std::nullopt;
  const DeviceNames::Parsed parsed = DeviceNames::parse(*text);
  if (!parsed.names) return item.wrong(key, "invalid-range", parsed.message, {}, parsed.hint);
  if (topology_ == nullptr) return devices;
  for (const std::string& name : parsed.names->expanded()) {
    const auto device = find_device(*topology_, name);
    if (!device) {
      report_unknown(item, key, name);
      return std::nullopt;
    }
    devices.push_back(*device);
  }
  std::sort(devices.begin(), devices.end());
  return devices;
}

// All links where no level is written.
std::optional<Changes::Span> Changes::read_level(ObjectReader& item) {
  if (topology_ == nullptr) {
    static_cast<void>(item.text("level"));
    return std::nullopt;
  }
  if (!item.has("level")) return Span{.first = 0, .count = topology_->links().size()};
  const auto name = item.text("level");
  if (!name) return std::nullopt;
  std::vector<std::string> known;
  std::size_t first = 0;
  for (const auto& level : topology_->parts().link_levels) {
    if (level.name == *name) return Span{.first = first, .count = level.count};
    known.push_back(level.name);
    first += level.count;
  }
  return item.wrong("level", "unknown-name", fmt::format("there is no level {}", shown(*name)),
                    Vocabulary{.what = "level", .allowed = known}.nearest(*name),
                    known.empty() ? "the links of this cluster have no levels; name their ends"
                                  : "levels are " + listed(known));
}

void Changes::report_unknown(ObjectReader& item, std::string_view key, const std::string& name) {
  if (known_devices_.empty()) known_devices_ = devices_in_words(*topology_);
  std::vector<std::string> names;
  for (std::size_t node = 0; node < std::min(topology_->node_count(), names_kept); ++node)
    names.push_back(topology_->name(NodeId(node)));
  item.wrong(key, "unknown-name", fmt::format("there is no device {}", shown(name)),
             nearest_device(name, names), "devices are " + known_devices_);
}

std::span<const LinkId> Changes::links_from(NodeId from) {
  const auto source = [this](LinkId id) { return topology_->link(id).from; };
  if (by_source_.empty()) {
    for (std::size_t id = 0; id < topology_->links().size(); ++id) by_source_.emplace_back(id);
    std::stable_sort(by_source_.begin(), by_source_.end(),
                     [&](LinkId a, LinkId b) { return source(a) < source(b); });
  }
  const auto first = std::lower_bound(by_source_.begin(), by_source_.end(), from,
                                      [&](LinkId id, NodeId node) { return source(id) < node; });
  const auto last = std::upper_bound(first, by_source_.end(), from,
                                     [&](NodeId node, LinkId id) { return node < source(id); });
  return {first, last};
}

std::string Changes::links_in_words(NodeId from) {
  constexpr std::size_t most = 100;
  std::vector<std::string> targets;
  for (const LinkId id : links_from(from)) {
    targets.push_back(topology_->name(topology_->link(id).to));
    if (targets.size() == most) break;
  }
  const std::string name = topology_->name(from);
  if (targets.empty()) return fmt::format("{} has no outgoing link", name);
  return fmt::format("{} has links to {}", name, in_words(targets));
}

// The links from any of the one to any of the other.
bool Changes::collect(ObjectReader& item, const std::vector<NodeId>& from,
                      const std::vector<NodeId>& to, std::vector<LinkId>& links) {
  const std::size_t before = links.size();
  for (const NodeId source : from)
    for (const LinkId id : links_from(source))
      if (std::binary_search(to.begin(), to.end(), topology_->link(id).to)) links.push_back(id);
  if (links.size() > before) return true;
  const auto name = [&](const std::vector<NodeId>& devices) {
    return devices.size() == 1 ? topology_->name(devices.front())
                               : "any of " + topology_->name(devices.front()) + " to " +
                                     topology_->name(devices.back());
  };
  return item.wrong("to", "no-such-link",
                    fmt::format("there is no link from {} to {}", name(from), name(to)), {},
                    links_in_words(from.front()));
}

// Those of a level, those from one device or range to another, or what both have in common.
bool Changes::collect_chosen(ObjectReader& item, std::vector<LinkId>& links) {
  const auto from = read_devices(item, "from");
  const auto to = read_devices(item, "to");
  const auto level = read_level(item);
  if (!item.has("level")) item.need({"from", "to"});
  // A cable that is down is so in both directions.
  const JsonValue* const down = item.raw("down");
  const bool both = item.boolean("both", down != nullptr && down->is_boolean() && down->boolean());
  if (!from || !to || !level) return false;
  if (!item.has("level")) {
    if (from->empty() || to->empty() || !collect(item, *from, *to, links)) return false;
    return !both || collect(item, *to, *from, links);
  }
  const auto ends_at = [](const std::vector<NodeId>& devices, NodeId end) {
    return devices.empty() || std::binary_search(devices.begin(), devices.end(), end);
  };
  for (std::size_t id = level->first; id < level->first + level->count; ++id) {
    const Link& link = topology_->link(LinkId(id));
    const bool there = ends_at(*from, link.from) && ends_at(*to, link.to);
    const bool back = both && ends_at(*from, link.to) && ends_at(*to, link.from);
    if (there || back) links.emplace_back(id);
  }
  if (!links.empty()) return true;
  return item.wrong("level", "no-such-link", "no link of this level has these ends");
}

// Two items may change different things of a link, but not the same: segments say what bandwidth,
// latency and overhead say.
bool Changes::refuse_second_value(ObjectReader& item, const std::vector<LinkId>& links) {
  std::set<std::string_view> said;
  for (const std::string_view key : link_keys)
    if (item.has(key)) said.insert(key);
  for (const std::string_view key : said)
    for (const LinkId link : links) {
      const auto [known, is_new] = item_with_.try_emplace({key, link}, items_);
      if (!is_new && known->second != items_)
        return item.wrong(
            key, "changed-twice",
            fmt::format("items {} and {} of \"links_override\" (counted from 0) both say \"{}\" "
                        "of the link {}",
                        known->second, items_, key, topology_->name(link)),
            {}, "take the link out of one of them");
    }
  if (said.count("segments") == 0) return true;
  for (const std::string_view key : {"bandwidth", "latency", "overhead"})
    for (const LinkId link : links)
      if (const auto known = item_with_.find({key, link}); known != item_with_.end())
        return item.wrong(
            "segments", "changed-twice",
            fmt::format("item {} of \"links_override\" (counted from 0) says the \"{}\" of the "
                        "link {}, and the segments of item {} would replace it",
                        known->second, key, topology_->name(link), items_),
            {}, fmt::format("write \"{}\" in every row of the segments", key));
  return true;
}

bool Changes::read(ObjectReader& item) {
  std::vector<LinkId> links;
  bool fine = collect_chosen(item, links);
  fine = refuse_second_value(item, links) && fine;
  ++items_;
  // Read the keys even when there is no link, so that all mistakes are found at once.
  LinkParameters ignored{.bandwidth = Bandwidth(1)};
  if (!fine) links.clear();
  bool any = false;
  if (links.empty()) any = change_link(item, ignored).any;
  for (const LinkId link : links) {
    LinkParameters& parameters =
        changed_.try_emplace(link, topology_->parameters(link)).first->second;
    const LinkKeysRead read = change_link(item, parameters);
    fine = fine && read.right;
    any = read.any;
  }
  if (!any) {
    item.wrong("", "nothing-to-change", "no parameter of the link is given", {},
               "give bandwidth, latency, overhead, segments, sharing, duplex or down");
    fine = false;
  }
  return fine;
}

bool Changes::take_down(ObjectReader& cluster, std::string_view key) {
  const JsonValue* const list = cluster.raw(key);
  if (list == nullptr) return true;
  const auto wrong = [&](std::string code, std::string message, std::string suggestion = {},
                         std::string hint = "write [\"switch0\", \"switch[4-7]\"]") -> bool {
    return cluster.wrong(key, std::move(code), std::move(message), std::move(suggestion),
                         std::move(hint));
  };
  if (!list->is_array())
    return wrong("wrong-type",
                 fmt::format("expected a list of switches, but this is {}", list->kind_name()));
  cluster.resolve(key, *list);
  std::set<NodeId> devices;
  for (const JsonValue& item : list->items()) {
    if (!item.is_string())
      return wrong("wrong-type",
                   fmt::format("expected the name of a switch, but this is {}", item.kind_name()));
    const auto names = DeviceNames::parse(item.string());
    if (!names.names) return wrong("bad-range", names.message, {}, names.hint);
    if (topology_ == nullptr) continue;
    for (const std::string& name : names.names->expanded()) {
      const auto device = find_device(*topology_, name);
      if (!device) {
        report_unknown(cluster, key, name);
        return false;
      }
      if (topology_->kind(*device) == NodeKind::gpu)
        return wrong("out-of-range", fmt::format("{} is a rank, which must be there", shown(name)),
                     {}, "name switches, or leave the rank out by \"ranks\" of the collective");
      devices.insert(*device);
    }
  }
  if (devices.empty()) return true;
  for (std::size_t id = 0; id < topology_->links().size(); ++id) {
    const Link& link = topology_->link(LinkId(id));
    if (devices.count(link.from) + devices.count(link.to) > 0)
      changed_.try_emplace(LinkId(id), topology_->parameters(LinkId(id))).first->second.down = true;
  }
  return true;
}

std::string changed_in_words(const std::vector<Topology::LinkChange>& changes,
                             const Topology& topology) {
  if (changes.empty()) return "";
  const bool down = std::all_of(changes.begin(), changes.end(),
                                [](const auto& change) { return change.parameters.down; });
  const std::string_view how = down ? "down" : "changed";
  if (changes.size() > 1) return fmt::format("{} links {}", changes.size(), how);
  const Link& link = topology.link(changes.front().link);
  return fmt::format("link {} -> {} {}", topology.name(link.from), topology.name(link.to), how);
}

std::string apply(ObjectReader& cluster, const Changes& changes, Topology& topology) {
  const std::vector<Topology::LinkChange> all = changes.all();
  try {
    topology = topology.with_changed_links(all);
    return changed_in_words(all, topology);
  } catch (const Error& error) {
    cluster.wrong("links_override", "invalid-argument", error.what(), {},
                  "\"both\": true changes both directions");
    return "";
  }
}

// "3": the number of a rank, as it would be printed.
std::optional<std::size_t> rank_number(std::string_view text) {
  const auto number = number_in<std::size_t>(text);
  return number && std::to_string(*number) == text ? number : std::nullopt;
}

// "links_override": [{"from": "gpu2", "to": "gpu3", "bandwidth": "10GB/s", "both": false}, ...]
// changes single links of what was built.  As written an item changes the direction from -> to
// only; with "both" also the way back.  What is not written stays.  Parallel links between two
// devices are changed together, as are those between ranges of devices ("leaf[0-3]") and all of a
// level (Topology::Parts::link_levels), in both directions unless "from" or "to" says.  False when
// something was wrong.
bool read_links_override(ObjectReader& cluster, Changes& changes) {
  const JsonValue* list = cluster.raw("links_override");
  if (list == nullptr) return true;
  if (!list->is_array())
    return cluster.wrong(
        "links_override", "wrong-type",
        fmt::format("expected a list of links, but this is {}", list->kind_name()), {},
        "write [{\"from\": \"gpu0\", \"to\": \"gpu1\", \"bandwidth\": \"10GB/s\"}]");
  if (list->items().size() > most_changes)
    return cluster.wrong("links_override", "too-large",
                         fmt::format("{} link changes are too many", list->items().size()), {},
                         fmt::format("at most {}", count_text(most_changes, "change")));
  JsonValue resolved = JsonValue::array();
  resolved.place = list->place;
  bool fine = true;
  for (std::size_t i = 0; i < list->items().size(); ++i) {
    ObjectReader item(list->items()[i], pointer_to(cluster.pointer_of("links_override"), i),
                      cluster.diagnostics());
    fine = changes.read(item) && fine;
    resolved.items().push_back(item.finish());
  }
  cluster.resolve("links_override", std::move(resolved));
  return fine;
}

// "links_override" and "switches_down": ["switch3", "switch[5-7]"].  Returns which links are now
// another thing, in words: "link gpu2 -> gpu3 changed", "2 links down"; nothing when none is, or
// when something was wrong.  Without a topology, because the rest of the cluster is wrong, it looks
// for mistakes in the values themselves.
std::string read_changes(ObjectReader& cluster, Topology* topology) {
  Changes changes(topology);
  const bool links_fine = read_links_override(cluster, changes);
  const bool switches_fine = changes.take_down(cluster, "switches_down");
  return links_fine && switches_fine && topology != nullptr ? apply(cluster, changes, *topology)
                                                            : "";
}

// "late": {"3": "5ms"}: which ranks start late, and how much; in the order of ranks.
// `ranks`: how many there are; nothing when the rest of the cluster is wrong.
std::vector<std::pair<Rank, Time>> read_late(ObjectReader& cluster,
                                             std::optional<std::size_t> ranks) {
  std::vector<std::pair<Rank, Time>> late;
  const JsonValue* value = cluster.raw("late");
  if (value == nullptr) return late;
  if (!value->is_object()) {
    static_cast<void>(ObjectReader(*value, cluster.pointer_of("late"), cluster.diagnostics()));
    return late;
  }
  JsonValue resolved = JsonValue::object();
  resolved.place = value->place;
  // One by one: there may be as many as ranks.
  for (const JsonValue::Member& member : value->members()) {
    const JsonValue alone(JsonValue::Object{member});
    ObjectReader reader(alone, cluster.pointer_of("late"), cluster.diagnostics());
    const auto number = rank_number(member.key);
    if (number && *number < ranks.value_or(max_cluster_ranks)) {
      if (const auto time = reader.time(member.key)) late.emplace_back(Rank(*number), *time);
      JsonValue read = reader.finish();
      std::move(read.members().begin(), read.members().end(),
                std::back_inserter(resolved.members()));
      continue;
    }
    reader.wrong(member.key, "out-of-range",
                 number ? fmt::format("there is no rank {}", member.key)
                        : fmt::format("{} is not a rank", shown(member.key)),
                 {},
                 !ranks       ? "write the number of a rank, such as \"3\""
                 : ranks == 1 ? "the only rank is 0"
                              : fmt::format("ranks are 0 to {}", *ranks - 1));
  }
  std::sort(late.begin(), late.end());
  cluster.resolve("late", std::move(resolved));
  return late;
}

constexpr std::string_view ways_in_words =
    R"("shape" with its size and "link", "preset", "devices" with "links", or the file of a real )"
    R"(machine as "nccl_topo" or "topo_matrix")";

// Which of the ways to describe a cluster are written.
std::vector<std::string_view> ways(const ObjectReader& cluster) {
  std::vector<std::string_view> written;
  for (const std::string_view key : {"shape", "preset", "devices", "nccl_topo", "topo_matrix"})
    if (cluster.has(key)) written.push_back(key);
  const bool links_alone = cluster.has("links") && !cluster.has("devices");
  if (links_alone) written.emplace_back("links");
  return written;
}

// Everything a cluster may have counts as known: what is right depends on the way that is missing.
void pass_over_all(ObjectReader& cluster) {
  for (const std::string_view key : {"shape",
                                     "preset",
                                     "devices",
                                     "links",
                                     "ranks",
                                     "dims",
                                     "link",
                                     "nodes",
                                     "override",
                                     "fitted",
                                     "network",
                                     "sharp",
                                     "gpus_per_node",
                                     "nics_per_node",
                                     "intra",
                                     "inter",
                                     "ports",
                                     "groups",
                                     "routers_per_group",
                                     "ranks_per_router"})
    static_cast<void>(cluster.raw(key));
  for (const std::string_view shape : {"fat-tree", "leaf-spine", "rail", "dragonfly"})
    for (const std::string_view key : fabric_keys(shape, true)) static_cast<void>(cluster.raw(key));
  for (const std::string_view key : {"nccl_topo", "topo_matrix", "gpu", "nic", "pcie", "pxn"})
    static_cast<void>(cluster.raw(key));
  if (cluster.has("link")) static_cast<void>(read_link(cluster, "link"));
}

std::optional<Machine> read_machine(ObjectReader& cluster) {
  const std::vector<std::string_view> written = ways(cluster);
  if (written.size() == 1) {
    if (written.front() == "shape") return read_shape(cluster);
    if (written.front() == "preset") return read_preset(cluster);
    if (written.front() == "nccl_topo" || written.front() == "topo_matrix")
      return read_imported(cluster, written.front());
    return read_graph(cluster);
  }
  if (written.empty()) {
    cluster.wrong("", "missing-key", "the cluster is not described", {},
                  fmt::format("give {}", ways_in_words));
  } else {
    std::vector<std::string> names;
    names.reserve(written.size());
    for (const std::string_view key : written) names.push_back(fmt::format("\"{}\"", key));
    cluster.wrong(written[1], "exclusive-keys",
                  fmt::format("{} describe the cluster in {} ways", listed(names), written.size()),
                  {}, fmt::format("keep one: {}", ways_in_words));
  }
  pass_over_all(cluster);
  return std::nullopt;
}

// Reads the object; nothing goes to the user's diagnostics here, so that whether they are empty
// says whether all was right.
std::optional<Cluster> read_whole(const JsonValue& value, const std::string& pointer,
                                  Diagnostics& mistakes, JsonValue& resolved) {
  ObjectReader reader(value, pointer, mistakes);
  auto machine = value.is_object() ? read_machine(reader) : std::nullopt;
  if (!machine) {
    read_routing(reader, nullptr, Routing::usual);
    static_cast<void>(read_changes(reader, nullptr));
    static_cast<void>(read_late(reader, std::nullopt));
    resolved = reader.finish();
    return std::nullopt;
  }
  Cluster cluster{.topology = std::move(machine->topology),
                  .link = machine->link,
                  .late = {},
                  .preset = std::move(machine->preset),
                  .gpu_kind = std::move(machine->gpu_kind),
                  .network_kind = std::move(machine->network_kind),
                  .model = std::move(machine->model),
                  .nccl_graph = std::move(machine->nccl_graph),
                  .description = std::move(machine->description),
                  .overridden = false,
                  .preset_changes = machine->preset_changes,
                  .fitted = machine->fitted,
                  .assumed = std::move(machine->assumed)};
  // The times of real machines were fitted to the first of equal ways; another network between
  // them has a rule of its own.
  const bool real = value.find("preset") != nullptr || value.find("nccl_topo") != nullptr ||
                    value.find("topo_matrix") != nullptr;
  read_routing(reader, &cluster.topology,
               real && cluster.topology.parts().ways == nullptr ? Routing::first : Routing::usual);
  const std::string changed = read_changes(reader, &cluster.topology);
  cluster.overridden = !changed.empty();
  if (cluster.overridden) cluster.description += ", " + changed;
  cluster.late = read_late(reader, cluster.topology.rank_count());
  resolved = reader.finish();
  return cluster;
}

}  // namespace

std::optional<Cluster> read_cluster(const JsonValue& cluster, const std::string& pointer,
                                    Diagnostics& diagnostics, JsonValue& resolved) {
  Diagnostics mistakes;
  auto read = read_whole(cluster, pointer, mistakes, resolved);
  if (mistakes.empty()) {
    COLLSIM_CHECK(read.has_value(), "a cluster without mistakes was not read");
    return read;
  }
  for (Diagnostic& mistake : mistakes.sorted()) diagnostics.add(std::move(mistake));
  return std::nullopt;
}

}  // namespace collsim
