// SPDX-License-Identifier: Apache-2.0
#include "app/scenario/cluster.hpp"

#include <fmt/format.h>

#include <array>

#include "app/scenario/cluster_changes.hpp"
#include "app/scenario/cluster_link.hpp"
#include "app/scenario/cluster_machine.hpp"

namespace collsim {

namespace {

constexpr std::string_view ways_in_words =
    R"("shape" with its size and "link", "preset", or "devices" with "links")";

// Which of the ways to describe a cluster are written.
std::vector<std::string_view> ways(const ObjectReader& cluster) {
  std::vector<std::string_view> written;
  for (const std::string_view key : {"shape", "preset", "devices", "nccl_topo"})
    if (cluster.has(key)) written.push_back(key);
  const bool links_alone = cluster.has("links") && !cluster.has("devices");
  if (links_alone) written.emplace_back("links");
  return written;
}

// Everything a cluster may have counts as known: what is right depends on the way that is missing.
void pass_over_all(ObjectReader& cluster) {
  for (const std::string_view key :
       {"shape", "preset", "devices", "links", "nccl_topo", "ranks", "dims", "link", "nodes",
        "override", "network", "gpus_per_node", "nics_per_node", "intra", "inter", "ports",
        "groups", "routers_per_group", "ranks_per_router"})
    static_cast<void>(cluster.raw(key));
  if (cluster.has("link")) static_cast<void>(read_link(cluster, "link"));
}

std::optional<Machine> read_machine(ObjectReader& cluster) {
  const std::vector<std::string_view> written = ways(cluster);
  if (written.size() == 1) {
    if (written.front() == "shape") return read_shape(cluster);
    if (written.front() == "preset") return read_preset(cluster);
    if (written.front() != "nccl_topo") return read_graph(cluster);
    cluster.wrong("nccl_topo", "not-supported", "NCCL topology files are not read by this version",
                  {}, fmt::format("describe the machine by {}", ways_in_words));
  } else if (written.empty()) {
    cluster.wrong("", "missing-key", "nothing says what the cluster is", {},
                  fmt::format("give {}", ways_in_words));
  } else {
    std::vector<std::string> names;
    names.reserve(written.size());
    for (const std::string_view key : written) names.push_back(fmt::format("\"{}\"", key));
    cluster.wrong(written[1], "exclusive-keys",
                  fmt::format("{} describe the cluster in {} ways", listed(names), written.size()),
                  {}, fmt::format("keep one: {}", ways_in_words));
  }
  pass_over_all(cluster);
  return std::nullopt;
}

// Reads the object; nothing goes to the user's diagnostics here, so that whether they are empty says
// whether all was right.
std::optional<Cluster> read_whole(const Value& value, const std::string& pointer,
                                  Diagnostics& mistakes, Value& resolved) {
  ObjectReader reader(value, pointer, mistakes);
  auto machine = value.is_object() ? read_machine(reader) : std::nullopt;
  if (!machine) {
    static_cast<void>(read_links_override(reader, nullptr));
    static_cast<void>(read_late(reader, std::nullopt));
    resolved = reader.finish();
    return std::nullopt;
  }
  Cluster cluster{.topology = std::move(machine->topology),
                  .link = machine->link,
                  .late = {},
                  .preset = std::move(machine->preset),
                  .description = std::move(machine->description)};
  const std::string changed = read_links_override(reader, &cluster.topology);
  cluster.overridden = !changed.empty();
  if (cluster.overridden) cluster.description += ", " + changed;
  cluster.late = read_late(reader, cluster.topology.rank_count());
  resolved = reader.finish();
  return cluster;
}

}  // namespace

std::optional<Cluster> read_cluster(const Value& cluster, const std::string& pointer,
                                    Diagnostics& diagnostics, Value& resolved) {
  Diagnostics mistakes;
  auto read = read_whole(cluster, pointer, mistakes, resolved);
  if (mistakes.empty()) {
    COLLSIM_CHECK(read.has_value(), "a cluster without mistakes was not read");
    return read;
  }
  for (Diagnostic& mistake : mistakes.sorted()) diagnostics.add(std::move(mistake));
  return std::nullopt;
}

}  // namespace collsim
