// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "topo/parts.hpp"
#include "topo/topology.hpp"

namespace collsim {

NodeId TopologyBuilder::add_node(NodeKind kind, const std::string& name) {
  const NodeId node(parts_.kinds.size());
  std::string own_name = name;
  std::size_t& number = count_of_kind_[static_cast<std::size_t>(kind)];
  if (own_name.empty()) own_name = to_string(kind) + std::to_string(number);
  if (!parts_.node_by_name.emplace(own_name, node).second)
    throw_error(ErrorCode::invalid_argument,
                "device '" + own_name + "' exists twice; device names must be unique");
  parts_.names.push_back(std::move(own_name));
  add_nodes(parts_, kind, 1);
  ++number;
  return node;
}

std::string TopologyBuilder::name_of(NodeId node) const {
  if (node.index() < parts_.names.size()) return parts_.names[node.index()];
  return "node " + std::to_string(node.index());
}

void TopologyBuilder::check_ends(NodeId from, NodeId to, const LinkParameters& parameters) const {
  for (const NodeId end : {from, to})
    if (end.index() >= parts_.kinds.size())
      throw_error(ErrorCode::unknown_name,
                  "link " + name_of(from) + "->" + name_of(to) + ": there is no " + name_of(end) +
                      "; " + std::to_string(parts_.kinds.size()) + " devices were added");
  if (from == to)
    throw_error(ErrorCode::invalid_argument,
                "device '" + name_of(from) + "' is linked to itself; a link joins two devices");
  const std::string wrong = wrong_with(parameters);
  if (!wrong.empty())
    throw_error(ErrorCode::invalid_argument,
                "link " + name_of(from) + "->" + name_of(to) + ": " + wrong);
}

LinkId TopologyBuilder::connect(NodeId from, NodeId to, const LinkParameters& parameters) {
  check_ends(from, to, parameters);
  return add_cable(parts_, from, to, parameters);
}

LinkId TopologyBuilder::connect_one_way(NodeId from, NodeId to, const LinkParameters& parameters) {
  check_ends(from, to, parameters);
  if (parameters.half_duplex)
    throw_error(ErrorCode::invalid_argument,
                "link " + name_of(from) + "->" + name_of(to) +
                    " goes one way: it cannot be half duplex, which shares two directions");
  return add_link(parts_, from, to, parameters);
}

Topology TopologyBuilder::build(const std::string& shape) const {
  if (parts_.rank_nodes.empty())
    throw_error(ErrorCode::invalid_argument, "no device of kind gpu among " +
                                                 std::to_string(parts_.kinds.size()) +
                                                 "; the gpus are the ranks, at least 1 is needed");
  if (parts_.rank_nodes.size() > max_ranks || parts_.links.size() > max_links)
    throw_error(ErrorCode::too_large, std::to_string(parts_.rank_nodes.size()) + " ranks and " +
                                          std::to_string(parts_.links.size()) + " links; at most " +
                                          std::to_string(max_ranks) + " and " +
                                          std::to_string(max_links) + " allowed");
  Topology::Parts parts = parts_;
  parts.shape = shape;
  return Topology(std::move(parts));
}

}  // namespace collsim
