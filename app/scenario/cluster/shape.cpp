// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "app/json/screen_text.hpp"
#include "app/scenario/cluster/machine.hpp"
#include "topo/shapes.hpp"

namespace collsim {

namespace {

// Which keys a shape takes, in the order in which they are shown.
struct ShapeKeys {
  std::string_view shape;
  std::vector<std::string_view> keys;
};

const std::vector<ShapeKeys>& shapes() {
  static const std::vector<ShapeKeys> all{
      {"chain", {"ranks", "link"}},
      {"ring", {"ranks", "link"}},
      {"fully-connected", {"ranks", "link"}},
      {"switch", {"ranks", "link"}},
      {"torus", {"dims", "link"}},
      {"mesh", {"dims", "link"}},
      {"hypercube", {"ranks", "link"}},
      {"nodes", {"nodes", "gpus_per_node", "nics_per_node", "intra", "inter"}},
      {"fat-tree", {"ports", "ranks", "link"}},
      {"dragonfly", {"groups", "routers_per_group", "ranks_per_router", "link"}}};
  return all;
}

// The shapes that the inside of a node may have: those that are sized by dims or ranks alone.
constexpr std::size_t flat_shapes = 7;

const std::map<std::string, std::string>& shape_aliases() {
  static const std::map<std::string, std::string> aliases{{"line", "chain"},
                                                          {"linear", "chain"},
                                                          {"bus", "chain"},
                                                          {"full-mesh", "fully-connected"},
                                                          {"complete", "fully-connected"},
                                                          {"all-to-all", "fully-connected"},
                                                          {"full", "fully-connected"},
                                                          {"star", "switch"},
                                                          {"crossbar", "switch"},
                                                          {"nvswitch", "switch"},
                                                          {"grid", "mesh"},
                                                          {"cube", "hypercube"},
                                                          {"clos", "fat-tree"},
                                                          {"hierarchical", "nodes"},
                                                          {"node", "nodes"}};
  return aliases;
}

Vocabulary words_for(std::size_t count) {
  Vocabulary words{.what = "shape"};
  for (std::size_t i = 0; i < count; ++i) words.allowed.emplace_back(shapes()[i].shape);
  for (const auto& [from, to] : shape_aliases())
    if (std::find(words.allowed.begin(), words.allowed.end(), to) != words.allowed.end())
      words.aliases.emplace(from, to);
  return words;
}

const Vocabulary& shape_words() {
  static const Vocabulary words = words_for(shapes().size());
  return words;
}

const Vocabulary& intra_words() {
  static const Vocabulary words = words_for(flat_shapes);
  return words;
}

std::vector<std::string_view> keys_of(std::string_view shape) {
  for (const ShapeKeys& known : shapes())
    if (known.shape == shape) return known.keys;
  COLLSIM_CHECK(false, "a shape that is in the vocabulary only");
}

bool contains(const std::vector<std::string_view>& keys, std::string_view key) {
  return std::find(keys.begin(), keys.end(), key) != keys.end();
}

// Keys of other shapes are no spelling mistakes: say which ones this shape takes instead.  False
// when there were some.
bool refuse_keys_of_others(ObjectReader& reader, std::string_view shape,
                           const std::vector<std::string_view>& own) {
  bool fine = true;
  std::vector<std::string_view> seen;
  for (const ShapeKeys& other : shapes())
    for (const std::string_view key : other.keys) {
      if (contains(own, key) || contains(seen, key) || !reader.has(key)) continue;
      seen.push_back(key);
      static_cast<void>(reader.raw(key));
      reader.wrong(key, "unknown-key",
                   fmt::format("\"{}\" does not belong to shape \"{}\"", key, shape), {},
                   fmt::format("\"{}\" takes {}", shape, listed({own.begin(), own.end()})));
      fine = false;
    }
  return fine;
}

bool within_limits(ObjectReader& reader, std::string_view key, double ranks, double links) {
  return within_limit(reader, key, ranks, "rank") && within_limit(reader, key, links, "link");
}

std::optional<std::vector<int>> read_dims(ObjectReader& reader) {
  const JsonValue* value = reader.raw("dims");
  if (value == nullptr) return std::nullopt;
  if (!value->is_array() || value->items().empty())
    return reader.wrong("dims", "wrong-type",
                        fmt::format("expected a list of sizes, but this is {}",
                                    value->is_array() ? "an empty list" : value->kind_name()),
                        {}, "write [4, 4] for 16 ranks in 4 rows of 4");
  constexpr std::size_t most_dims = 20;
  if (value->items().size() > most_dims)
    return reader.wrong("dims", "too-large",
                        fmt::format("{} dimensions are too many", value->items().size()), {},
                        fmt::format("at most {} dimensions", most_dims));
  std::vector<int> dims;
  double ranks = 1;
  for (std::size_t i = 0; i < value->items().size(); ++i) {
    const JsonValue& item = value->items()[i];
    const auto size = item.integer();
    if (!size || *size < 1 || *size > max_cluster_ranks)
      return report_wrong(reader.diagnostics(), item, pointer_to(reader.pointer_of("dims"), i),
                          item.is_number() ? "out-of-range" : "wrong-type",
                          "expected the size of a dimension, a whole number", {},
                          fmt::format("allowed: 1 to {}", max_cluster_ranks));
    dims.push_back(static_cast<int>(*size));
    ranks *= static_cast<double>(*size);
  }
  const double links = 2 * ranks * static_cast<double>(dims.size());
  reader.resolve("dims", *value);
  if (!within_limits(reader, "dims", ranks, links)) return std::nullopt;
  return dims;
}

std::optional<int> read_count(ObjectReader& reader, std::string_view key) {
  const auto count = reader.integer(key, 1, max_cluster_ranks);
  if (!count) return std::nullopt;
  return static_cast<int>(*count);
}

// Links of a flat shape, at most.
double links_of(std::string_view shape, double ranks) {
  if (shape == "fully-connected") return ranks * (ranks - 1);
  if (shape == "hypercube") return ranks * std::ceil(std::log2(ranks));
  return 2 * ranks;
}

template <class Make>
std::optional<Topology> made(ObjectReader& reader, std::string_view key, const Make& make) {
  try {
    return make();
  } catch (const Error& error) {
    return reader.wrong(key, error);
  }
}

Topology make_flat(std::string_view shape, std::size_t ranks, const LinkParameters& link) {
  if (shape == "chain") return make_chain(ranks, link);
  if (shape == "ring") return make_ring(ranks, link);
  if (shape == "switch") return make_switch(ranks, link);
  if (shape == "hypercube") return make_hypercube(ranks, link);
  COLLSIM_CHECK(shape == "fully-connected", "shape " + std::string(shape));
  return make_fully_connected(ranks, link);
}

// A topology of one kind of link.
struct Uniform {
  Topology topology;
  LinkParameters link;
};

// Makes it, and blames a key for what the core refuses.
template <class Make>
std::optional<Uniform> uniform(ObjectReader& reader, std::string_view key,
                               const LinkParameters& link, const Make& make) {
  auto topology = made(reader, key, make);
  if (!topology) return std::nullopt;
  return Uniform{.topology = std::move(*topology), .link = link};
}

std::optional<Uniform> read_flat(ObjectReader& cluster, std::string_view shape) {
  const auto ranks = read_count(cluster, "ranks");
  cluster.need({"ranks"});
  const auto link = read_link(cluster, "link");
  if (!ranks) return std::nullopt;
  if (!within_limits(cluster, "ranks", *ranks, links_of(shape, *ranks))) return std::nullopt;
  return uniform(cluster, "ranks", link,
                 [&] { return make_flat(shape, static_cast<std::size_t>(*ranks), link); });
}

std::optional<Uniform> read_grid(ObjectReader& cluster, std::string_view shape) {
  const auto dims = read_dims(cluster);
  cluster.need({"dims"});
  const auto link = read_link(cluster, "link");
  if (!dims) return std::nullopt;
  return uniform(cluster, "dims", link, [&] {
    return shape == "torus" ? make_torus(*dims, link) : make_mesh(*dims, link);
  });
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
  cluster.wrong("ranks", "unsupported-ranks",
                fmt::format("no fat-tree has {}", count_text(ranks, "rank")), {},
                fmt::format("switches of k ports make k^3/4 ranks: {}",
                            ports > 2 ? choice(ports - 2) + ", " + choice(ports) : choice(ports)));
  return 0;
}

std::optional<Uniform> read_fat_tree(ObjectReader& cluster) {
  constexpr std::int64_t most_ports = 160;  // 1,024,000 ranks
  cluster.at_most_one_of({"ports", "ranks"});
  const auto written = cluster.integer("ports", 2, most_ports);
  const auto ranks = cluster.integer("ranks", 1, max_cluster_ranks);
  if (!cluster.has("ports") && !cluster.has("ranks")) cluster.need({"ports"});
  const auto link = read_link(cluster, "link");
  if (cluster.has("ports") && cluster.has("ranks")) return std::nullopt;
  const int ports = ranks ? ports_for(cluster, *ranks) : static_cast<int>(written.value_or(0));
  if (ports == 0) return std::nullopt;
  return uniform(cluster, "ports", link, [&] { return make_fat_tree(ports, link); });
}

std::optional<Uniform> read_dragonfly(ObjectReader& cluster) {
  const auto groups = read_count(cluster, "groups");
  const auto routers = read_count(cluster, "routers_per_group");
  const auto ranks = read_count(cluster, "ranks_per_router");
  cluster.need({"groups", "routers_per_group", "ranks_per_router"});
  const auto link = read_link(cluster, "link");
  if (!groups || !routers || !ranks) return std::nullopt;
  const double all_routers = static_cast<double>(*groups) * *routers;
  const double all_ranks = all_routers * *ranks;
  const double links =
      2 * all_ranks + all_routers * (*routers - 1.0) + static_cast<double>(*groups) * (*groups - 1);
  if (!within_limits(cluster, "groups", all_ranks, links)) return std::nullopt;
  return uniform(cluster, "groups", link, [&] {
    return make_dragonfly({.groups = *groups,
                           .routers_per_group = *routers,
                           .ranks_per_router = *ranks,
                           .link = link});
  });
}

NodesShape::Intra intra_of(std::string_view shape) {
  using Intra = NodesShape::Intra;
  constexpr std::array<Intra, flat_shapes> kinds{
      Intra::chain, Intra::ring, Intra::fully_connected, Intra::network_switch,
      Intra::torus, Intra::mesh, Intra::hypercube};
  for (std::size_t i = 0; i < flat_shapes; ++i)
    if (shapes()[i].shape == shape) return kinds[i];
  COLLSIM_CHECK(false, "shape " + std::string(shape) + " inside of a node");
}

struct Inside {
  std::string shape;
  std::vector<int> dims;
  LinkParameters link;
};

// `gpus`: of a node; nothing when unknown.
std::optional<Inside> read_inside(ObjectReader& cluster, std::optional<int> gpus) {
  const JsonValue* value = cluster.raw("intra");
  if (value == nullptr) return std::nullopt;
  ObjectReader intra(*value, cluster.pointer_of("intra"), cluster.diagnostics());
  const auto shape = word_or_nearest(intra, "shape", intra_words());
  intra.need({"shape"});
  const bool grid = shape == "torus" || shape == "mesh";
  std::optional<std::vector<int>> dims;
  bool fine = shape.has_value();
  if (grid) {
    dims = read_dims(intra);
    intra.need({"dims"});
    fine = dims.has_value();
  } else if (shape) {
    fine = refuse_keys_of_others(intra, *shape, {"link"});
  }
  const auto link = read_link(intra, "link");
  if (dims && gpus) {
    std::int64_t product = 1;
    for (const int size : *dims) product *= size;
    if (product != *gpus) {
      intra.wrong("dims", "out-of-range",
                  fmt::format("the sizes in \"dims\" make {}, but a node has {}",
                              count_text(product, "GPU"), count_text(*gpus, "GPU")));
      fine = false;
    }
  }
  cluster.resolve("intra", intra.finish());
  if (!fine) return std::nullopt;
  return Inside{.shape = *shape, .dims = dims.value_or(std::vector<int>{}), .link = link};
}

std::optional<LinkParameters> read_inter(ObjectReader& cluster) {
  const JsonValue* value = cluster.raw("inter");
  if (value == nullptr) return std::nullopt;
  ObjectReader inter(*value, cluster.pointer_of("inter"), cluster.diagnostics());
  const auto link = read_link(inter, "link");
  cluster.resolve("inter", inter.finish());
  return link;
}

bool check_nics(ObjectReader& cluster, std::int64_t nics, int gpus) {
  if (gpus % nics == 0) return true;
  std::vector<std::string> possible;
  for (int n = 1; n <= gpus; ++n)
    if (gpus % n == 0) possible.push_back(std::to_string(n));
  return cluster.wrong(
      "nics_per_node", "out-of-range",
      fmt::format("{} cannot share {} evenly", count_text(gpus, "GPU"), count_text(nics, "NIC")),
      {}, "nics_per_node must divide gpus_per_node: " + listed(possible));
}

std::optional<Machine> read_nodes(ObjectReader& cluster) {
  const auto nodes = read_count(cluster, "nodes");
  const auto gpus = read_count(cluster, "gpus_per_node");
  const auto nics = cluster.integer("nics_per_node", 1, max_cluster_ranks, gpus.value_or(1));
  const auto inside = read_inside(cluster, gpus);
  const auto inter = read_inter(cluster);
  cluster.need({"nodes", "gpus_per_node", "intra", "inter"});
  if (!nodes || !gpus || !check_nics(cluster, nics, *gpus) || !inside || !inter)
    return std::nullopt;
  const double ranks = static_cast<double>(*nodes) * *gpus;
  const double links =
      *nodes * (links_of(inside->shape, *gpus) + 2.0 * static_cast<double>(nics) + 2.0 * *gpus);
  if (!within_limits(cluster, "nodes", ranks, links)) return std::nullopt;
  auto topology = made(cluster, "gpus_per_node", [&] {
    return make_nodes({.nodes = *nodes,
                       .gpus_per_node = *gpus,
                       .nics_per_node = static_cast<int>(nics),
                       .intra = intra_of(inside->shape),
                       .intra_dims = inside->dims,
                       .intra_link = inside->link,
                       .inter_link = *inter});
  });
  if (!topology) return std::nullopt;
  return Machine{.topology = std::move(*topology),
                 .description = fmt::format("{} of {}", count_text(*nodes, "node"),
                                            count_text(*gpus, "rank"))};
}

std::string describe(std::string_view shape, const Topology& topology, const LinkParameters& link) {
  std::string size;
  for (const int dim : topology.dims()) size += (size.empty() ? "" : " x ") + std::to_string(dim);
  const auto ranks = static_cast<std::int64_t>(topology.rank_count());
  size = size.empty() || topology.dims().size() == 1 ? count_text(ranks, "rank") : size + " ranks";
  const std::string_view noun = shape == "fully-connected" ? "fully-connected network" : shape;
  return fmt::format("{} of {}, {}", noun, size, in_words(link));
}

// Those keys that are written, for what is wrong with each alone.
void read_by_themselves(ObjectReader& cluster, const std::vector<std::string_view>& keys) {
  for (const std::string_view key : keys) {
    if (cluster.raw(key) == nullptr) continue;
    if (key == "link")
      static_cast<void>(read_link(cluster, key));
    else if (key == "dims")
      static_cast<void>(read_dims(cluster));
    else if (key == "intra")
      static_cast<void>(read_inside(cluster, std::nullopt));
    else if (key == "inter")
      static_cast<void>(read_inter(cluster));
    else
      static_cast<void>(read_count(cluster, key));
  }
}

}  // namespace

std::optional<Machine> read_shape(ObjectReader& cluster) {
  const auto shape = word_or_nearest(cluster, "shape", shape_words());
  if (!shape) {
    // Which keys are right depends on the shape; so nothing is said about which there are.
    for (const ShapeKeys& known : shapes()) read_by_themselves(cluster, known.keys);
    return std::nullopt;
  }
  const std::vector<std::string_view> keys = keys_of(*shape);
  if (!refuse_keys_of_others(cluster, *shape, keys)) {
    read_by_themselves(cluster, keys);
    return std::nullopt;
  }
  if (*shape == "nodes") return read_nodes(cluster);
  auto made = *shape == "torus" || *shape == "mesh" ? read_grid(cluster, *shape)
              : *shape == "fat-tree"                ? read_fat_tree(cluster)
              : *shape == "dragonfly"               ? read_dragonfly(cluster)
                                                    : read_flat(cluster, *shape);
  if (!made) return std::nullopt;
  std::string description = describe(*shape, made->topology, made->link);
  return Machine{.topology = std::move(made->topology),
                 .link = made->link,
                 .description = std::move(description)};
}

}  // namespace collsim
