// SPDX-License-Identifier: Apache-2.0
#include "plots/engine/setting.hpp"

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "plots/engine/preset_machines.hpp"
#include "topo/shapes.hpp"

namespace collsim {
namespace {

constexpr std::array<std::string_view, 8> shape_names{"chain", "ring", "fully-connected", "switch",
                                                      "torus", "mesh", "hypercube",       "nodes"};
constexpr int shape_nodes = 7;

std::int64_t whole(double value, const char* what) {
  constexpr double exact_below = 9007199254740992.0;  // 2^53
  if (!(std::abs(value) < exact_below))
    throw_error(ErrorCode::invalid_argument,
                std::string(what) + " is not a number that can be simulated");
  return std::llround(value);
}

Bandwidth bandwidth(double bytes_per_second) {
  return Bandwidth(whole(bytes_per_second, "the bandwidth"));
}

std::size_t ranks_of(const Setting& setting) {
  const std::int64_t count = whole(setting.ranks, "the number of ranks");
  if (count < 1 || count > 1024)
    throw_error(ErrorCode::invalid_argument,
                "ranks must be 1 to 1024 here, not " + std::to_string(count));
  return static_cast<std::size_t>(count);
}

int within_int(double value, const char* what) {
  const std::int64_t number = whole(value, what);
  if (number < 0 || number > std::numeric_limits<int>::max())
    throw_error(ErrorCode::invalid_argument, std::string(what) + " is out of range");
  return static_cast<int>(number);
}

Topology nodes_of(const Setting& setting, const LinkParameters& link) {
  const int ranks = static_cast<int>(ranks_of(setting));
  const int gpus = within_int(setting.gpus_per_node, "the number of GPUs per node");
  if (gpus < 1 || ranks % gpus != 0)
    throw_error(
        ErrorCode::invalid_argument,
        std::to_string(ranks) + " ranks are not whole nodes of " + std::to_string(gpus) + " GPUs");
  LinkParameters network = link;
  network.bandwidth = bandwidth(setting.network_bytes_per_s);
  return make_nodes({.nodes = ranks / gpus,
                     .gpus_per_node = gpus,
                     .nics_per_node = gpus,
                     .intra_link = link,
                     .inter_link = network});
}

Topology preset_of(const Setting& setting) {
  const std::int64_t row = whole(setting.preset, "the preset");
  if (row >= static_cast<std::int64_t>(preset_machines().size()))
    throw_error(ErrorCode::unknown_name, "there is no such preset");
  const PresetMachine& preset = preset_machines()[static_cast<std::size_t>(row)];
  const std::size_t ranks = ranks_of(setting);
  if (ranks % preset.gpus != 0)
    throw_error(ErrorCode::invalid_argument, std::to_string(ranks) +
                                                 " ranks are not whole nodes of " +
                                                 std::to_string(preset.gpus) + " GPUs");
  return topology_of_preset(preset, ranks / preset.gpus);
}

Topology unchanged_topology(const Setting& setting) {
  if (setting.preset >= 0) return preset_of(setting);
  const LinkParameters link{.bandwidth = bandwidth(setting.bandwidth_bytes_per_s),
                            .latency = Time(whole(setting.latency_ps, "the latency")),
                            .startup = Time(whole(setting.overhead_ps, "the overhead")),
                            .sharing = setting.fair != 0 ? Sharing::fair : Sharing::exclusive};
  const std::size_t ranks = ranks_of(setting);
  switch (whole(setting.shape, "the shape")) {
    case 0: return make_chain(ranks, link);
    case 1: return make_ring(ranks, link);
    case 2: return make_fully_connected(ranks, link);
    case 3: return make_switch(ranks, link);
    case 4: return make_torus(squarest_dims(static_cast<int>(ranks)), link);
    case 5: return make_mesh(squarest_dims(static_cast<int>(ranks)), link);
    case 6: return make_hypercube(ranks, link);
    case shape_nodes: return nodes_of(setting, link);
    default: break;
  }
  throw_error(ErrorCode::unknown_name, "there is no such shape");
}

// As for a scenario file: the machine's own arrangement, else the most square one.
std::vector<int> dims_of(const Setting& setting, const Topology& topology) {
  std::int64_t product = 1;
  for (const int dim : topology.dims()) product *= dim;
  return product == static_cast<std::int64_t>(ranks_of(setting)) ? topology.dims()
                                                                 : std::vector<int>{};
}

}  // namespace

std::span<const std::string_view> setting_shapes() {
  return shape_names;
}

bool has_one_kind_of_link(const Setting& setting) {
  return setting.preset < 0 && setting.shape != shape_nodes;
}

const Algorithm& algorithm_of(const Setting& setting) {
  const std::int64_t row = whole(setting.algorithm, "the algorithm");
  if (row < 0 || row >= static_cast<std::int64_t>(algorithms().size()))
    throw_error(ErrorCode::unknown_name, "there is no such algorithm");
  return algorithms()[static_cast<std::size_t>(row)];
}

Topology topology_of(const Setting& setting) {
  Topology topology = unchanged_topology(setting);
  if (setting.slow_link < 0) return topology;
  const std::int64_t id = whole(setting.slow_link, "the slow link");
  if (id >= static_cast<std::int64_t>(topology.links().size()))
    throw_error(ErrorCode::unknown_name, "there is no such link");
  Topology::LinkChange change{LinkId(static_cast<std::size_t>(id)),
                              topology.parameters(LinkId(static_cast<std::size_t>(id)))};
  change.parameters.bandwidth = bandwidth(setting.slow_bandwidth_bytes_per_s);
  // As for a scenario file: a link that is not slower is no change, and costs no symmetry.
  if (change.parameters == topology.parameters(change.link)) return topology;
  return topology.with_changed_links({&change, 1});
}

Collective collective_of(const Setting& setting) {
  Collective collective;
  collective.operation = algorithm_of(setting).operation;
  collective.group = first_ranks(ranks_of(setting));
  collective.root = within_int(setting.root, "the root");
  const Bytes bytes = whole(setting.bytes, "the size");
  if (bytes % size_of(collective.type) != 0)
    throw_error(ErrorCode::invalid_argument,
                "a size of " + std::to_string(bytes) +
                    " bytes is not a whole number of float32 elements, which have 4");
  if (collective.operation != Operation::barrier)
    collective.count = bytes / size_of(collective.type);
  return collective;
}

AlgorithmChoice choice_of(const Setting& setting, const Topology& topology) {
  AlgorithmChoice choice;
  choice.name = algorithm_of(setting).name;
  choice.chunks = within_int(setting.chunks, "the number of chunks");
  choice.channels = within_int(setting.channels, "the number of channels");
  choice.dims = dims_of(setting, topology);
  if (setting.slots > 0) choice.slots = within_int(setting.slots, "the number of slots");
  spread_over_nodes(choice, topology, collective_of(setting));
  return choice;
}

CostModel costs_of(const Setting& setting) {
  CostModel costs;
  if (setting.reduce_bytes_per_s > 0)
    costs.reduce_bandwidth = bandwidth(setting.reduce_bytes_per_s);
  return costs;
}

SimulationOptions options_of(const Setting& setting) {
  SimulationOptions options;
  if (setting.late_rank >= 0 && setting.late_ps > 0)
    options.late.emplace_back(Rank(static_cast<std::size_t>(within_int(setting.late_rank, "rank"))),
                              Time(whole(setting.late_ps, "the lateness")));
  return options;
}

}  // namespace collsim
