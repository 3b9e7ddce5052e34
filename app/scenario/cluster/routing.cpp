// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "app/scenario/cluster/machine.hpp"
#include "topo/routes.hpp"

// "routing" and "routing_seed" of a cluster: which of several equal ways messages take.

namespace collsim {

namespace {

constexpr std::array<std::pair<std::string_view, Routing>, 8> routings{
    {{"hash", Routing::hash},
     {"d-mod-k", Routing::d_mod_k},
     {"dimension-order", Routing::dimension_order},
     {"spray", Routing::spray},
     {"adaptive", Routing::adaptive},
     {"valiant", Routing::valiant},
     {"ugal", Routing::ugal},
     {"first", Routing::first}}};

const Vocabulary& routing_words() {
  static const Vocabulary words = [] {
    Vocabulary all{.what = "routing",
                   .allowed = {},
                   .aliases = {{"ecmp", "hash"},
                               {"dmodk", "d-mod-k"},
                               {"dor", "dimension-order"},
                               {"vlb", "valiant"}}};
    for (const auto& routing : routings) all.allowed.emplace_back(routing.first);
    return all;
  }();
  return words;
}

// What such a routing needs and this network lacks; empty: nothing.
std::string_view lacking(const Topology& topology, Routing routing) {
  const Topology::Parts& parts = topology.parts();
  const std::string& shape = topology.shape();
  switch (routing) {
    case Routing::d_mod_k:
      return parts.levels.empty() && shape != "fat-tree" ? "levels of switches, as a fat-tree has"
                                                         : "";
    case Routing::dimension_order:
      return parts.ways == nullptr || (shape != "torus" && shape != "mesh")
                 ? "dimensions, as a torus or a mesh has"
                 : "";
    case Routing::valiant:
    case Routing::ugal:
      return parts.ways == nullptr || topology.rank_count() < 2 ||
                     parts.ways->detours(Rank(0), Rank(topology.rank_count() - 1)) == 0
                 ? "detours, as a dragonfly of three groups or more has"
                 : "";
    default: return "";
  }
}

// What is used where none is written; empty: there are no equal ways to choose among.
std::string_view usual_word(const Topology& topology) {
  const auto word = [](Routing routing) {
    return std::find_if(routings.begin(), routings.end(),
                        [&](const auto& known) { return known.second == routing; })
        ->first;
  };
  for (const Routing routing : {Routing::d_mod_k, Routing::dimension_order})
    if (lacking(topology, routing).empty()) return word(routing);
  return topology.parts().ways == nullptr ? word(Routing::hash) : "";
}

}  // namespace

void read_routing(ObjectReader& cluster, Topology* topology, Routing otherwise) {
  const auto word = cluster.word("routing", routing_words());
  const std::int64_t most_seeds = std::int64_t{1} << 53U;  // what all readers of JSON keep exact
  const auto seed = cluster.integer("routing_seed", 0, most_seeds);
  if (topology == nullptr) return;
  Routing routing = otherwise;
  if (word)
    routing = std::find_if(routings.begin(), routings.end(), [&](const auto& known) {
                return known.first == *word;
              })->second;
  if (const std::string_view what = lacking(*topology, routing); !what.empty()) {
    cluster.wrong("routing", "no-such-routing", fmt::format("routing \"{}\" needs {}", *word, what),
                  {}, "\"hash\", \"spray\", \"adaptive\" and \"first\" suit every network");
    return;
  }
  if (!word && routing == Routing::first) {
    cluster.resolve("routing", "first");
  } else if (!word) {
    if (const std::string_view used = usual_word(*topology); !used.empty())
      cluster.resolve("routing", used);
  }
  if (word || seed || routing != Routing::usual)
    *topology = with_routing(*topology, routing, static_cast<std::uint64_t>(seed.value_or(0)));
}

}  // namespace collsim
