// SPDX-License-Identifier: Apache-2.0
#include "app/expression/names.hpp"

#include <array>

#include "topo/error.hpp"

namespace collsim {

namespace {

constexpr std::array<NameEntry, 24> entries{{
    {"K", Name::K, units_none, "cluster.ranks"},
    {"N", Name::N, units_size, "collective.size"},
    {"S", Name::S, units_none, "collective.chunks"},
    {"C", Name::C, units_none, "collective.channels"},
    {"B", Name::B, units_bandwidth, "cluster.link.bandwidth"},
    {"alpha", Name::alpha, units_time, "cluster.link.overhead"},
    {"L", Name::L, units_time, "cluster.link.latency"},
    {"gamma", Name::gamma, units_bandwidth, "model.reduce_bandwidth"},
    {"time", Name::time, units_time, ""},
    {"analytic", Name::analytic, units_time, ""},
    {"bound", Name::bound, units_time, ""},
    {"bandwidth_bound", Name::bandwidth_bound, units_time, ""},
    {"latency_bound", Name::latency_bound, units_time, ""},
    {"compute_bound", Name::compute_bound, units_time, ""},
    {"algbw", Name::algbw, units_bandwidth, ""},
    {"busbw", Name::busbw, units_bandwidth, ""},
    {"messages", Name::messages, units_none, ""},
    {"wire_bytes", Name::wire_bytes, units_size, ""},
    {"bottleneck_bandwidth", Name::bottleneck_bandwidth, units_bandwidth, ""},
    {"measured", Name::measured, units_time, ""},
    {"ranks", Name::K, units_none, "cluster.ranks"},
    {"size", Name::N, units_size, "collective.size"},
    {"chunks", Name::S, units_none, "collective.chunks"},
    {"channels", Name::C, units_none, "collective.channels"},
}};

}  // namespace

std::span<const NameEntry> name_entries() {
  return entries;
}

const NameEntry* find_name(std::string_view word) {
  for (const NameEntry& entry : entries)
    if (entry.word == word) return &entry;
  return nullptr;
}

const NameEntry& entry_of(Name name) {
  const NameEntry& entry = entries[static_cast<std::size_t>(name)];
  COLLSIM_CHECK(entry.name == name, "the table of names is not in the order of the enumeration");
  return entry;
}

}  // namespace collsim
