// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <optional>

#include "topo/parts.hpp"
#include "topo/shapes.hpp"

namespace collsim {

// Switches that join ends: the ranks of a network, or the NICs of nodes.  As EqualWays it counts
// ends where those of a topology count ranks.  Its links are in blocks, one per level, the ends'
// own first, so that an id tells the level, the direction and the place; each file says how.
class Fabric : public EqualWays {
 public:
  [[nodiscard]] virtual std::size_t ends() const = 0;
  [[nodiscard]] virtual std::size_t links() const = 0;
  // The parameters of an end's cable.
  [[nodiscard]] virtual const LinkParameters& port() const = 0;
  virtual void add_switches(Topology::Parts& parts) = 0;
  // End i is node first_end + i.  Once, after the switches.
  virtual void add_cables(Topology::Parts& parts, NodeId first_end) = 0;
  // Where the ends are ranks: which of them may turn.
  [[nodiscard]] virtual std::optional<Topology::Turning> turning() const = 0;
};

[[nodiscard]] std::shared_ptr<Fabric> make_tree_fabric(const TreeShape& shape);
[[nodiscard]] std::shared_ptr<Fabric> make_dragonfly_fabric(const DragonflyShape& shape);
// One switch, without a name for its level.
[[nodiscard]] std::shared_ptr<Fabric> make_switch_fabric(std::size_t ends,
                                                         const LinkParameters& port);

// The topology whose ranks are the ends.
[[nodiscard]] Topology fabric_of_ranks(const std::string& name, std::shared_ptr<Fabric> fabric);

}  // namespace collsim
