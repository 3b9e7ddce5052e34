// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <variant>
#include <vector>

#include "app/scenario/cluster/machine.hpp"
#include "topo/shapes.hpp"

namespace collsim {

// A network of switches as a scenario describes it: a cluster of its own, or, as "inter", between
// the NICs of nodes.
struct FabricRead {
  std::variant<TreeShape, DragonflyShape> shape;
  std::vector<LinkParameters> links;  // by level, that of the ranks or NICs first
};

// What joins nodes: "inter".
struct Between {
  std::string shape;
  LinkParameters link;  // of the NICs
  std::optional<FabricRead> fabric = {};
  bool pxn = false;
};
// "rails with PXN", "a fat-tree"
[[nodiscard]] std::string in_words(const Between& between);

// How many nodes there are to join, each with how many NICs.
struct NodesToJoin {
  std::size_t nodes, nics;
};

[[nodiscard]] bool is_fabric(std::string_view shape);  // fat-tree, leaf-spine, rail, dragonfly
// The keys that size it and describe its links, where it stands alone and as "inter".
[[nodiscard]] std::vector<std::string_view> fabric_keys(std::string_view shape, bool alone);

// Reads them.  Nothing when a mistake was reported.  Without `nodes` the network is sized by its
// own keys; a rail needs them.
[[nodiscard]] std::optional<FabricRead> read_fabric(ObjectReader& reader, std::string_view shape,
                                                    std::optional<NodesToJoin> nodes);

// The whole object "inter".
[[nodiscard]] std::optional<Between> read_between(ObjectReader& inter,
                                                  std::optional<NodesToJoin> nodes);

// One of these keys for what is wrong with it alone.
void read_fabric_key_alone(ObjectReader& reader, std::string_view key);

// "link" of a torus: one, or a list of one per dimension.  Empty when it was wrong.
[[nodiscard]] std::vector<LinkParameters> read_links(ObjectReader& owner, std::string_view key,
                                                     std::size_t most, std::string_view of_each);

}  // namespace collsim
