// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "app/json/screen_text.hpp"
#include "app/scenario/cluster/fabric.hpp"
#include "app/scenario/cluster/machine.hpp"
#include "topo/shapes.hpp"

namespace collsim {

namespace {

// Which keys a shape takes, in the order in which they are shown.
struct ShapeKeys {
  std::string_view shape;
  std::vector<std::string_view> keys;
};

std::vector<std::string_view> with_fabric_keys(std::vector<std::string_view> keys,
                                               std::string_view shape) {
  for (const std::string_view key : fabric_keys(shape, true)) keys.push_back(key);
  return keys;
}

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
      {"fat-tree", fabric_keys("fat-tree", true)},
      {"leaf-spine", fabric_keys("leaf-spine", true)},
      {"rail",
       with_fabric_keys({"nodes", "gpus_per_node", "nics_per_node", "intra", "pxn"}, "rail")},
      {"dragonfly", fabric_keys("dragonfly", true)}};
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
                                                          {"spine-leaf", "leaf-spine"},
                                                          {"rails", "rail"},
                                                          {"rail-optimized", "rail"},
                                                          {"rail-optimised", "rail"},
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

const Vocabulary& inter_words() {
  static const Vocabulary words = [] {
    Vocabulary all = words_for(shapes().size());
    std::erase_if(all.allowed,
                  [](const std::string& word) { return word != "switch" && !is_fabric(word); });
    std::erase_if(all.aliases, [&](const auto& alias) {
      return std::find(all.allowed.begin(), all.allowed.end(), alias.second) == all.allowed.end();
    });
    return all;
  }();
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

// What a shape came to, and its kinds of links.
struct Made {
  Topology topology;
  std::vector<LinkParameters> links;
};

// Makes it, and blames a key for what the core refuses.
template <class Make>
std::optional<Made> made_of(ObjectReader& reader, std::string_view key,
                            const std::vector<LinkParameters>& links, const Make& make) {
  auto topology = made(reader, key, make);
  if (!topology) return std::nullopt;
  return Made{.topology = std::move(*topology), .links = links};
}

// One link, or a list of them, for what is wrong with each.
void read_link_alone(ObjectReader& reader) {
  const JsonValue* value = reader.raw("link");
  const std::size_t count = value != nullptr && value->is_array() ? value->items().size() : 1;
  static_cast<void>(read_links(reader, "link", count, "dimension"));
}

std::optional<Made> read_flat(ObjectReader& cluster, std::string_view shape) {
  const auto ranks = read_count(cluster, "ranks");
  cluster.need({"ranks"});
  const auto link = read_link(cluster, "link");
  if (!ranks) return std::nullopt;
  if (!within_limits(cluster, "ranks", *ranks, links_of(shape, *ranks))) return std::nullopt;
  return made_of(cluster, "ranks", {link},
                 [&] { return make_flat(shape, static_cast<std::size_t>(*ranks), link); });
}

std::optional<Made> read_grid(ObjectReader& cluster, std::string_view shape) {
  const auto dims = read_dims(cluster);
  cluster.need({"dims"});
  if (!dims) {
    read_link_alone(cluster);
    return std::nullopt;
  }
  const auto links = read_links(cluster, "link", dims->size(), "dimension");
  if (links.empty()) return std::nullopt;
  return made_of(cluster, "dims", links, [&] {
    return shape == "torus" ? make_torus(*dims, links) : make_mesh(*dims, links);
  });
}

std::optional<Made> read_fabric_of_ranks(ObjectReader& cluster, std::string_view shape) {
  const auto read = read_fabric(cluster, shape, std::nullopt);
  if (!read) return std::nullopt;
  return made_of(cluster, "", read->links, [&] {
    const auto* tree = std::get_if<TreeShape>(&read->shape);
    return tree != nullptr ? make_tree(*tree) : make_dragonfly(std::get<1>(read->shape));
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

std::optional<Between> read_between(ObjectReader& inter, const std::string& shape,
                                    std::optional<NodesToJoin> nodes) {
  if (!is_fabric(shape)) return Between{.shape = shape, .link = read_link(inter, "link")};
  Between between{.shape = shape, .link = stand_in_link};
  if (shape == "rail") between.pxn = inter.boolean("pxn", false);
  if (!nodes) {
    for (const std::string_view key : fabric_keys(shape, false)) static_cast<void>(inter.raw(key));
    return std::nullopt;
  }
  between.fabric = read_fabric(inter, shape, nodes);
  if (!between.fabric) return std::nullopt;
  between.link = between.fabric->links.front();
  return between;
}

std::optional<Between> read_inter(ObjectReader& cluster, std::optional<NodesToJoin> nodes) {
  const JsonValue* value = cluster.raw("inter");
  if (value == nullptr) return std::nullopt;
  ObjectReader inter(*value, cluster.pointer_of("inter"), cluster.diagnostics());
  auto between = read_between(inter, nodes);
  cluster.resolve("inter", inter.finish());
  return between;
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

// Nodes joined as "inter" says, or, as shape "rail", by the keys of the cluster itself.
std::optional<Machine> read_nodes(ObjectReader& cluster, const std::string& shape) {
  const auto nodes = read_count(cluster, "nodes");
  const auto gpus = read_count(cluster, "gpus_per_node");
  const auto nics = cluster.integer("nics_per_node", 1, max_cluster_ranks, gpus.value_or(1));
  const auto inside = read_inside(cluster, gpus);
  std::optional<NodesToJoin> to_join;
  if (nodes && gpus) to_join = {static_cast<std::size_t>(*nodes), static_cast<std::size_t>(nics)};
  const auto inter =
      shape == "rail" ? read_between(cluster, shape, to_join) : read_inter(cluster, to_join);
  cluster.need({"nodes", "gpus_per_node", "intra"});
  if (shape != "rail") cluster.need({"inter"});
  if (!nodes || !gpus || !check_nics(cluster, nics, *gpus) || !inside || !inter)
    return std::nullopt;
  const double ranks = static_cast<double>(*nodes) * *gpus;
  const double links =
      *nodes * (links_of(inside->shape, *gpus) + 2.0 * static_cast<double>(nics) + 2.0 * *gpus);
  if (!within_limits(cluster, "nodes", ranks, links)) return std::nullopt;
  NodesShape all{.nodes = *nodes,
                 .gpus_per_node = *gpus,
                 .nics_per_node = static_cast<int>(nics),
                 .intra = intra_of(inside->shape),
                 .intra_dims = inside->dims,
                 .intra_link = inside->link,
                 .inter_link = inter->link,
                 .pxn = inter->pxn};
  if (inter->fabric)
    std::visit([&](const auto& network) { all.network = network; }, inter->fabric->shape);
  auto topology = made(cluster, "gpus_per_node", [&] { return make_nodes(all); });
  if (!topology) return std::nullopt;
  return Machine{.topology = std::move(*topology),
                 .description = fmt::format(
                     "{} of {}{}", count_text(*nodes, "node"), count_text(*gpus, "rank"),
                     inter->fabric ? ", joined by " + in_words(*inter) : "")};
}

bool one_kind(const std::vector<LinkParameters>& links) {
  return std::all_of(links.begin(), links.end(),
                     [&](const LinkParameters& link) { return link == links.front(); });
}

std::string describe(std::string_view shape, const Topology& topology,
                     const std::vector<LinkParameters>& links) {
  std::string size;
  for (const int dim : topology.dims()) size += (size.empty() ? "" : " x ") + std::to_string(dim);
  const auto ranks = static_cast<std::int64_t>(topology.rank_count());
  size = size.empty() || topology.dims().size() == 1 ? count_text(ranks, "rank") : size + " ranks";
  const std::string_view noun = shape == "fully-connected" ? "fully-connected network" : shape;
  if (!one_kind(links)) return fmt::format("{} of {}", noun, size);
  return fmt::format("{} of {}, {}", noun, size, in_words(links.front()));
}

// Those keys that are written, for what is wrong with each alone.
void read_by_themselves(ObjectReader& cluster, const std::vector<std::string_view>& keys) {
  for (const std::string_view key : keys) {
    if (cluster.raw(key) == nullptr) continue;
    if (key == "link")
      read_link_alone(cluster);
    else if (key == "dims")
      static_cast<void>(read_dims(cluster));
    else if (key == "intra")
      static_cast<void>(read_inside(cluster, std::nullopt));
    else if (key == "inter")
      static_cast<void>(read_inter(cluster, std::nullopt));
    else if (key == "pxn")
      static_cast<void>(cluster.boolean(key));
    else
      read_fabric_key_alone(cluster, key);
  }
}

}  // namespace

std::optional<Between> read_between(ObjectReader& inter, std::optional<NodesToJoin> nodes) {
  const auto shape = inter.has("shape") ? word_or_nearest(inter, "shape", inter_words())
                                        : std::optional<std::string>("switch");
  if (shape) return read_between(inter, *shape, nodes);
  for (const std::string_view word : {"fat-tree", "leaf-spine", "dragonfly"})
    for (const std::string_view key : fabric_keys(word, false)) static_cast<void>(inter.raw(key));
  return std::nullopt;
}

std::string in_words(const Between& between) {
  if (between.shape == "rail") return between.pxn ? "rails with PXN" : "rails";
  return "a " + between.shape;
}

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
  if (*shape == "nodes" || *shape == "rail") return read_nodes(cluster, *shape);
  auto made = *shape == "torus" || *shape == "mesh" ? read_grid(cluster, *shape)
              : is_fabric(*shape)                   ? read_fabric_of_ranks(cluster, *shape)
                                                    : read_flat(cluster, *shape);
  if (!made) return std::nullopt;
  std::string description = describe(*shape, made->topology, made->links);
  Machine machine{.topology = std::move(made->topology), .description = std::move(description)};
  if (one_kind(made->links)) machine.link = made->links.front();
  return machine;
}

}  // namespace collsim
