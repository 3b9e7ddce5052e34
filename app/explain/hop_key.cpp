// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "app/explain/explanation_internal.hpp"
#include "app/scenario/fitted.hpp"
#include "app/scenario/presets.hpp"
#include "app/scenario/quantities.hpp"
#include "topo/protocols.hpp"

namespace collsim {

// A link does not know its type: the one type of the preset with such a hop is it.
std::string key_of_hop(const Case& one_case, LinkId link) {
  const Cluster& cluster = *one_case.cluster;
  const Preset* const preset = find_preset(cluster.preset);
  const Topology& topology = cluster.topology;
  if (preset == nullptr || !one_case.protocol || cluster.overridden || topology.network_adds())
    return "";
  const auto& cost = cost_of(topology.protocols_of(topology.link(link)), *one_case.protocol);
  if (!cost) return "";
  const std::string protocol = to_string(*one_case.protocol);
  const JsonValue whole = on_network(*preset, cluster.network_kind);
  std::string key;
  for (const JsonValue::Member& type : whole.find("link_types")->members()) {
    const JsonValue* const row = type.value.find("protocols")->find(protocol);
    if (row == nullptr || parse_time(row->find("hop")->string()).value != cost->hop) continue;
    if (!key.empty()) return "";
    key = fmt::format("cluster.override.{}.protocols.{}.hop", type.key, protocol);
  }
  return key;
}

}  // namespace collsim
