// SPDX-License-Identifier: Apache-2.0
#include "app/report/link_rates.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/report/results_file.hpp"
#include "app/scenario/document_path.hpp"

namespace collsim {
namespace {

constexpr std::size_t most_kinds = 3;
// Machines are built again for this: that takes no longer than the rest of a report.
constexpr std::size_t most_machines = 64;
constexpr std::size_t most_ranks = 1024;
constexpr std::size_t most_links = 100'000;

// "nic" of "node1.nic12": the device without its number.
std::string stem(const std::string& name) {
  const std::size_t end = name.find_last_not_of("0123456789");
  const std::string text = end == std::string::npos ? name : name.substr(0, end + 1);
  return text.substr(text.rfind('.') + 1);  // npos + 1 is the beginning
}

// Rates by what the link joins, either way round.
using Rates = std::map<std::pair<std::string, std::string>, std::int64_t>;

// False when links that join the same have several rates.
bool add_links(const Topology& topology, Rates& rates) {
  if (topology.rank_count() > most_ranks || topology.links().size() > most_links) return false;
  for (const Link& link : topology.links()) {
    std::pair ends{stem(topology.name(link.from)), stem(topology.name(link.to))};
    if (ends.second < ends.first) std::swap(ends.first, ends.second);
    const std::int64_t rate = link.bandwidth.bytes_per_second();
    const auto [found, added] = rates.emplace(std::move(ends), rate);
    if (found->second != rate || rates.size() > most_kinds) return false;
  }
  return true;
}

Value machine_of(const Value& row) {
  Value machine = Value::object();
  for (const Value::Member& param : at(row, "params").members())
    if (param.key.starts_with("cluster")) machine.set(param.key, param.value);
  return machine;
}

// As far as it is known before the machine is built, which may take long; a row has the ranks that take
// part, of which the machine may have more.
bool is_too_large(const Value& row, const Scenario& scenario, std::size_t point) {
  const auto beyond = [](const Value* ranks) {
    const std::optional<std::int64_t> number =
        ranks != nullptr ? ranks->integer() : std::optional<std::int64_t>();
    return number && *number > static_cast<std::int64_t>(most_ranks);
  };
  if (beyond(&at(row, "ranks"))) return true;
  const std::string ranks = "cluster.ranks";
  bool swept = false;
  for (const auto& [path, value] : scenario.params(point)) {
    if (!lies_in(ranks, path)) continue;
    swept = true;
    if (beyond(path == ranks ? &value : value_at(value, "ranks"))) return true;
  }
  return !swept && beyond(value_at(scenario.document, ranks));
}

}  // namespace

Value link_rates(const Value::Array& rows, const Scenario& scenario, ClusterCache& clusters) {
  Value none = Value::array();
  Rates rates;
  std::vector<Value> machines;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    Value machine = machine_of(rows[row]);
    if (std::find(machines.begin(), machines.end(), machine) != machines.end()) continue;
    if (machines.size() == most_machines) return none;
    machines.push_back(std::move(machine));
    const std::optional<std::size_t> point = point_of(scenario, rows[row], row);
    if (!point || is_too_large(rows[row], scenario, *point)) return none;
    Diagnostics diagnostics;
    const std::optional<Case> found = make_case(scenario, *point, clusters, diagnostics);
    if (!found || !add_links(found->cluster->topology, rates)) return none;
  }
  return Value::array(rates, [](const auto& rate) {
    const auto& [ends, bytes_per_s] = rate;
    return Value::object(
        {{"name", ends.first + " to " + ends.second}, {"bytes_per_s", bytes_per_s}});
  });
}

}  // namespace collsim
