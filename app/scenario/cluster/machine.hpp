// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "app/scenario/fitted.hpp"
#include "app/scenario/nccl_graph.hpp"
#include "app/scenario/object_reader.hpp"
#include "topo/topology.hpp"

namespace collsim {

// "exclusive", "fair".
[[nodiscard]] const Vocabulary& sharing_words();
[[nodiscard]] std::string_view to_string(Sharing sharing);

// "protocols" of a link at a key of any name; nothing of it when it is absent.
[[nodiscard]] Protocols read_protocols(ObjectReader& owner, std::string_view key);

// Reads bandwidth, latency, overhead and protocols, or segments instead, and sharing and duplex of
// a link from its object.
[[nodiscard]] std::optional<LinkParameters> read_link_keys(ObjectReader& link);
// In place of a link that is wrong, so that what stands on it is read for its own mistakes.
inline const LinkParameters stand_in_link{.bandwidth = Bandwidth(1)};
// The same of the object at `key`, which must be there; when it is wrong, the stand-in.
[[nodiscard]] LinkParameters read_link(ObjectReader& owner, std::string_view key);

// Reads those of the keys that are written into `parameters`; false when one was wrong.  Values
// that are not written stay as they are.
struct LinkKeysRead {
  bool right = true;
  bool any = false;
};
[[nodiscard]] LinkKeysRead change_link(ObjectReader& change, LinkParameters& parameters);

// Reports a latency or an overhead that is too long for a link; false when it did.
[[nodiscard]] bool check_link_time(ObjectReader& reader, std::string_view key, Time time);

// Readable: "25 GB/s, 5 us per message, 1 us latency".
[[nodiscard]] std::string in_words(const LinkParameters& link);

// What the four ways to describe a cluster (shape, preset, devices and links, file) come to.
struct Machine {
  Topology topology;
  std::optional<LinkParameters> link = {};  // when there is one kind of link
  std::string description = {};
  std::string preset = {};                       // its name
  std::string gpu_kind = {}, network_kind = {};  // a preset's (app/scenario/fitted.hpp)
  std::vector<std::string> preset_changes = {};  // keys of "override"
  std::optional<FitToLogs> fitted = {};
  JsonValue model = {};                   // its "model"
  NcclGraph nccl_graph = {};              // what the file of a real machine says
  std::vector<std::string> assumed = {};  // what the file of a real machine leaves open
};

// Larger clusters are refused before anything is built.
inline constexpr std::int64_t max_cluster_ranks = std::int64_t{1} << 20;
inline constexpr std::int64_t max_cluster_devices = std::int64_t{1} << 22;
inline constexpr std::int64_t max_cluster_links = std::int64_t{1} << 24;  // a cable is two

// Each reads its own keys of the cluster, and gives nothing when it reported a mistake.
[[nodiscard]] std::optional<Machine> read_shape(ObjectReader& cluster);   // cluster_shape.cpp
[[nodiscard]] std::optional<Machine> read_graph(ObjectReader& cluster);   // cluster_graph.cpp
[[nodiscard]] std::optional<Machine> read_preset(ObjectReader& cluster);  // cluster_preset.cpp
// `key`: "nccl_topo" or "topo_matrix".
[[nodiscard]] std::optional<Machine> read_imported(ObjectReader& cluster, std::string_view key);

// "routing" and "routing_seed"; `otherwise` is the routing when none is written.  Without a
// topology, because the rest of the cluster is wrong, it looks for mistakes in the keys alone.
void read_routing(ObjectReader& cluster, Topology* topology, Routing otherwise);

// Reports too many things ("rank", "link", "device") at a key; false when it did.
[[nodiscard]] bool within_limit(ObjectReader& reader, std::string_view key, double count,
                                std::string_view noun);

// The word at a key; when it is reported as unknown the one that was probably meant, so that the
// rest is read for its own mistakes.
[[nodiscard]] std::optional<std::string> word_or_nearest(ObjectReader& reader, std::string_view key,
                                                         const Vocabulary& words);

// What the user wrote, in quotes and not too long.
[[nodiscard]] std::string shown(std::string_view text);
// "a", "a and b", "a, b and c"; beyond the limit "a, b and 12 more".
[[nodiscard]] std::string listed(const std::vector<std::string>& words, std::size_t most = 12);

// A mistake in a value that is no member of a reader's object, such as an item of an array.
Refusal report_wrong(Diagnostics& diagnostics, const JsonValue& value, std::string pointer,
                     std::string code, std::string message, std::string suggestion = {},
                     std::string hint = {});

}  // namespace collsim
