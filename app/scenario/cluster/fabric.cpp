// SPDX-License-Identifier: Apache-2.0
#include "app/scenario/cluster/fabric.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <utility>

#include "app/json/screen_text.hpp"
#include "topo/fabric.hpp"

namespace collsim {

namespace {

constexpr std::int64_t most_ports = 160;  // three levels of them: 1,024,000 ranks

std::optional<std::size_t> read_size(ObjectReader& reader, std::string_view key) {
  const auto size = reader.integer(key, 1, max_cluster_ranks);
  if (!size) return std::nullopt;
  return static_cast<std::size_t>(*size);
}

// A link that is as another one unless it is written.
LinkParameters link_or(ObjectReader& reader, std::string_view key, const LinkParameters& other) {
  return reader.raw(key) != nullptr ? read_link(reader, key) : other;
}

std::optional<double> ratio_of(ObjectReader& reader, const JsonValue& value,
                               const std::string& pointer) {
  constexpr double most = 1000;
  if (value.is_number() && value.number() > 0 && value.number() <= most) return value.number();
  report_wrong(reader.diagnostics(), value, pointer,
               value.is_number() ? "out-of-range" : "wrong-type",
               "expected how many times more bandwidth leads into a level than up from it", {},
               "a number of more than 0 and at most 1000; 1 is none, 2 means 2:1");
  return std::nullopt;
}

// One for the lowest level, or a list.  Nothing when it was wrong.
std::optional<std::vector<double>> read_oversubscription(ObjectReader& reader, std::size_t most) {
  std::vector<double> ratios;
  const JsonValue* value = reader.raw("oversubscription");
  if (value == nullptr) return ratios;
  const std::string pointer = reader.pointer_of("oversubscription");
  reader.resolve("oversubscription", *value);
  if (!value->is_array()) {
    const auto ratio = ratio_of(reader, *value, pointer);
    if (!ratio) return std::nullopt;
    return std::vector{*ratio};
  }
  if (value->items().size() > most)
    return reader.wrong("oversubscription", "too-many",
                        fmt::format("{} values of oversubscription", value->items().size()), {},
                        fmt::format("at most {}, the lowest level first", most));
  for (std::size_t i = 0; i < value->items().size(); ++i) {
    const auto ratio = ratio_of(reader, value->items()[i], pointer_to(pointer, i));
    if (!ratio) return std::nullopt;
    ratios.push_back(*ratio);
  }
  return ratios;
}

// "link" and, above it, "uplink": one for all levels, or a list.
std::optional<std::vector<LinkParameters>> read_tree_links(ObjectReader& reader,
                                                           std::size_t levels) {
  const LinkParameters link = read_link(reader, "link");
  std::vector<LinkParameters> links{link};
  std::vector<LinkParameters> above{link};
  if (reader.raw("uplink") != nullptr)
    above = read_links(reader, "uplink", levels - 1, "level above the lowest");
  if (above.empty()) return std::nullopt;
  for (std::size_t level = 1; level < levels; ++level)
    links.push_back(above[std::min(level, above.size()) - 1]);
  return links;
}

// How many spines a leaf meets: as written, or as many as the oversubscription leaves.
std::optional<std::size_t> read_spines(ObjectReader& reader, const TreeShape& tree) {
  reader.at_most_one_of({"spines", "oversubscription"});
  const auto spines = read_size(reader, "spines");
  const auto ratios = read_oversubscription(reader, 1);
  if (reader.has("spines") || !ratios)
    return reader.has("oversubscription") ? std::nullopt : spines;
  const double ratio = ratios->empty() ? 1.0 : ratios->front();
  if (ratios->empty()) reader.resolve("oversubscription", 1);
  const auto bandwidth = [&](std::size_t level) {
    return static_cast<double>(tree.links[level].bandwidth.bytes_per_second());
  };
  const double in = static_cast<double>(tree.ends_per_leaf) * bandwidth(0);
  const double wanted = in / (bandwidth(1) * static_cast<double>(tree.cables) * ratio);
  const double whole = std::round(wanted);
  constexpr double rounding = 1e-6;
  if (whole >= 1 && whole <= max_cluster_ranks && std::abs(wanted - whole) <= rounding * whole)
    return static_cast<std::size_t>(whole);
  return reader.wrong(
      "oversubscription", "out-of-range",
      fmt::format("{} to 1 would take {:.4g} spines for a leaf of {} at {}, with {} of {} to each",
                  ratio, wanted, count_text(static_cast<std::int64_t>(tree.ends_per_leaf), "port"),
                  to_text(tree.links[0].bandwidth),
                  count_text(static_cast<std::int64_t>(tree.cables), "cable"),
                  to_text(tree.links[1].bandwidth)),
      {}, "choose what makes a whole number of spines, or give \"spines\"");
}

// Sets the ends, the rails, and how many ends a leaf has; false when that was wrong.
bool size_leaves(ObjectReader& reader, TreeShape& tree) {
  const auto leaves = read_size(reader, "leaves");
  const auto per_leaf = read_size(reader, "ranks_per_leaf");
  reader.need({"leaves", "ranks_per_leaf"});
  if (!leaves || !per_leaf) return false;
  tree.ends_per_leaf = *per_leaf;
  tree.ends = *leaves * *per_leaf;
  return true;
}

bool size_leaves(ObjectReader& reader, TreeShape& tree, const NodesToJoin& nodes) {
  const bool rail = tree.name == "rail";
  auto per_leaf = read_size(reader, "nodes_per_leaf");
  if (!rail) reader.need({"nodes_per_leaf"});
  if (rail && !reader.has("nodes_per_leaf")) per_leaf = nodes.nodes;
  if (!per_leaf) return false;
  tree.ends = nodes.nodes * nodes.nics;
  tree.rails = rail ? nodes.nics : 1;
  tree.ends_per_leaf = rail ? *per_leaf : *per_leaf * nodes.nics;
  return true;
}

std::optional<FabricRead> read_leaf_spine(ObjectReader& reader, std::string_view shape,
                                          std::optional<NodesToJoin> nodes) {
  TreeShape tree{.name = std::string(shape)};
  const bool sized = nodes ? size_leaves(reader, tree, *nodes) : size_leaves(reader, tree);
  tree.cables = static_cast<std::size_t>(reader.integer("cables", 1, max_cluster_ranks, 1));
  const auto links = read_tree_links(reader, 2);
  if (!sized || !links) {
    read_fabric_key_alone(reader, "spines");
    read_fabric_key_alone(reader, "oversubscription");
    return std::nullopt;
  }
  tree.links = *links;
  const auto spines = read_spines(reader, tree);
  if (!spines) return std::nullopt;
  tree.spines = *spines;
  return FabricRead{.shape = tree, .links = *links};
}

constexpr std::int64_t fat_tree_ranks(std::int64_t ports) {
  return ports * ports * ports / 4;
}

// From the number of ranks; 0 if no fat-tree has that many, which is reported.
int ports_for(ObjectReader& cluster, std::int64_t ranks) {
  std::int64_t ports = 2;
  while (fat_tree_ranks(ports) < ranks) ports += 2;
  if (fat_tree_ranks(ports) == ranks) return static_cast<int>(ports);
  const auto choice = [](std::int64_t k) {
    return fmt::format("{} ({} ports)", fat_tree_ranks(k), k);
  };
  cluster.wrong(
      "ranks", "unsupported-ranks",
      fmt::format("no full fat-tree has {}", count_text(ranks, "rank")), {},
      fmt::format("switches of k ports make k^3/4 ranks: {}; give \"ports\" too for one that is "
                  "partly filled",
                  ports > 2 ? choice(ports - 2) + ", " + choice(ports) : choice(ports)));
  return 0;
}

// Three levels of one link without oversubscription, sized by the ports or the ranks alone.
std::optional<FabricRead> read_full_fat_tree(ObjectReader& cluster) {
  const auto written = cluster.integer("ports", 2, most_ports);
  const auto ranks = cluster.integer("ranks", 1, max_cluster_ranks);
  if (!cluster.has("ports") && !cluster.has("ranks")) cluster.need({"ports"});
  const auto link = read_link(cluster, "link");
  const int ports = ranks ? ports_for(cluster, *ranks) : static_cast<int>(written.value_or(0));
  if (ports == 0) return std::nullopt;
  if (ports % 2 != 0)
    return cluster.wrong("ports", "invalid-argument",
                         fmt::format("fat-tree: switches of {} ports; an even number of at least 2 "
                                     "is needed",
                                     ports));
  const std::vector<LinkParameters> links(3, link);
  return FabricRead{.shape = tree_of({.levels = 3, .ports = ports, .links = links}),
                    .links = links};
}

std::optional<FabricRead> read_fat_tree(ObjectReader& reader, std::optional<NodesToJoin> nodes) {
  const bool sized_twice = reader.has("ports") && reader.has("ranks");
  if (!nodes && !sized_twice && !reader.has("levels") && !reader.has("oversubscription") &&
      !reader.has("uplink"))
    return read_full_fat_tree(reader);
  const auto levels = static_cast<std::size_t>(reader.integer("levels", 2, 3, 3));
  const auto ports = reader.integer("ports", 2, most_ports);
  const auto ranks = nodes ? std::optional(nodes->nodes * nodes->nics) : read_size(reader, "ranks");
  const auto oversubscription = read_oversubscription(reader, levels - 1);
  reader.need({"ports"});
  const auto links = read_tree_links(reader, levels);
  const bool size_is_wrong = !nodes && reader.has("ranks") && !ranks;
  if (!ports || !oversubscription || !links || size_is_wrong) return std::nullopt;
  const FatTreeShape shape{.levels = static_cast<int>(levels),
                           .ports = static_cast<int>(*ports),
                           .ranks = ranks.value_or(0),
                           .oversubscription = *oversubscription,
                           .links = *links};
  try {
    return FabricRead{.shape = tree_of(shape), .links = *links};
  } catch (const Error& error) {
    return reader.wrong(error.code() == ErrorCode::too_large && !nodes ? "ranks" : "ports", error);
  }
}

std::optional<FabricRead> read_dragonfly(ObjectReader& reader, std::optional<NodesToJoin> nodes) {
  const auto groups = read_size(reader, "groups");
  const auto routers = read_size(reader, "routers_per_group");
  auto ranks = nodes ? std::optional<std::size_t>(1) : read_size(reader, "ranks_per_router");
  reader.need({"groups", "routers_per_group"});
  if (!nodes) reader.need({"ranks_per_router"});
  const auto cables = reader.integer("cables", 1, max_cluster_ranks, 1);
  const LinkParameters link = read_link(reader, "link");
  const LinkParameters local = link_or(reader, "local_link", link);
  const LinkParameters global = link_or(reader, "global_link", link);
  if (!groups || !routers || !ranks) return std::nullopt;
  if (nodes) {
    const std::size_t nics = nodes->nodes * nodes->nics;
    if (nics % (*groups * *routers) != 0)
      return reader.wrong("groups", "out-of-range",
                          fmt::format("{} do not spread evenly over {} of {}",
                                      count_text(static_cast<std::int64_t>(nics), "NIC"),
                                      count_text(static_cast<std::int64_t>(*groups), "group"),
                                      count_text(static_cast<std::int64_t>(*routers), "router")));
    ranks = nics / (*groups * *routers);
  }
  // Whether it is too large, before its numbers overflow.
  const double all_routers = static_cast<double>(*groups) * static_cast<double>(*routers);
  const double all_ranks = all_routers * static_cast<double>(*ranks);
  const double between = static_cast<double>(*groups) * static_cast<double>(*groups - 1);
  const double all_links = 2 * all_ranks + all_routers * (static_cast<double>(*routers) - 1.0) +
                           between * static_cast<double>(cables);
  if (!within_limit(reader, "groups", all_ranks, "rank") ||
      !within_limit(reader, "groups", all_links, "link"))
    return std::nullopt;
  const DragonflyShape shape{.groups = static_cast<int>(*groups),
                             .routers_per_group = static_cast<int>(*routers),
                             .ranks_per_router = static_cast<int>(*ranks),
                             .link = link,
                             .local_link = local,
                             .global_link = global,
                             .cables = static_cast<int>(cables)};
  return FabricRead{.shape = shape, .links = {link, local, global}};
}

bool fits(ObjectReader& reader, std::string_view key, const FabricRead& read) {
  try {
    const auto* tree = std::get_if<TreeShape>(&read.shape);
    const auto fabric =
        tree != nullptr ? make_tree_fabric(*tree) : make_dragonfly_fabric(std::get<1>(read.shape));
    return within_limit(reader, key, static_cast<double>(fabric->ends()), "rank") &&
           within_limit(reader, key, static_cast<double>(fabric->links()), "link");
  } catch (const Error& error) {
    return reader.wrong(key, error);
  }
}

}  // namespace

bool is_fabric(std::string_view shape) {
  return shape == "fat-tree" || shape == "leaf-spine" || shape == "rail" || shape == "dragonfly";
}

std::vector<std::string_view> fabric_keys(std::string_view shape, bool alone) {
  std::vector<std::string_view> keys;
  if (shape == "fat-tree") {
    keys = {"ports", "ranks", "levels", "oversubscription", "link", "uplink"};
  } else if (shape == "dragonfly") {
    keys = {"groups", "routers_per_group", "ranks_per_router", "cables",
            "link",   "local_link",        "global_link"};
  } else {
    keys = {"spines", "oversubscription", "cables", "link", "uplink"};
    if (alone && shape == "leaf-spine")
      keys.insert(keys.begin(), {"leaves", "ranks_per_leaf"});
    else
      keys.insert(keys.begin(), "nodes_per_leaf");
  }
  if (!alone) std::erase_if(keys, [](auto key) { return key.starts_with("ranks"); });
  return keys;
}

std::optional<FabricRead> read_fabric(ObjectReader& reader, std::string_view shape,
                                      std::optional<NodesToJoin> nodes) {
  auto read = shape == "fat-tree"    ? read_fat_tree(reader, nodes)
              : shape == "dragonfly" ? read_dragonfly(reader, nodes)
                                     : read_leaf_spine(reader, shape, nodes);
  const std::string_view key = shape == "fat-tree"               ? "ports"
                               : shape == "dragonfly"            ? "groups"
                               : shape == "leaf-spine" && !nodes ? "leaves"
                                                                 : "spines";
  if (read && !fits(reader, key, *read)) return std::nullopt;
  return read;
}

void read_fabric_key_alone(ObjectReader& reader, std::string_view key) {
  if (key == "oversubscription")
    static_cast<void>(read_oversubscription(reader, 2));
  else if (key == "uplink")
    static_cast<void>(read_links(reader, key, 2, "level"));
  else if (key == "local_link" || key == "global_link")
    static_cast<void>(read_link(reader, key));
  else
    static_cast<void>(read_size(reader, key));
}

std::vector<LinkParameters> read_links(ObjectReader& owner, std::string_view key, std::size_t most,
                                       std::string_view of_each) {
  const JsonValue* value = owner.raw(key);
  if (value == nullptr || !value->is_array()) return {read_link(owner, key)};
  const std::size_t count = value->items().size();
  if (count != most) {
    owner.wrong(key, "wrong-count", count_text(count, "link"), {},
                fmt::format("give one link, or a list of {}, one per {}", most, of_each));
    return {};
  }
  std::vector<LinkParameters> links;
  JsonValue resolved = JsonValue::array();
  resolved.place = value->place;
  for (std::size_t i = 0; i < count; ++i) {
    ObjectReader item(value->items()[i], pointer_to(owner.pointer_of(key), i), owner.diagnostics());
    links.push_back(read_link_keys(item).value_or(stand_in_link));
    resolved.items().push_back(item.finish());
  }
  owner.resolve(key, std::move(resolved));
  return links;
}

}  // namespace collsim
