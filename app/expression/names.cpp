// SPDX-License-Identifier: Apache-2.0
#include "app/expression/names.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "app/json/screen_text.hpp"
#include "app/json/value.hpp"
#include "collectives/cost/formula.hpp"
#include "topo/error.hpp"

namespace collsim {

namespace {

constexpr std::array<NameEntry, 25> metrics{{
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
    {"step", Name::step, units_time, ""},
    {"compute", Name::compute, units_time, ""},
    {"exposed", Name::exposed, units_time, ""},
    {"hidden", Name::hidden, units_time, ""},
    {"bubble", Name::bubble, units_none, ""},
    {"least_timeout", Name::least_timeout, units_time, ""},
    {"gives_up", Name::gives_up, units_time, ""},
    {"useful", Name::useful, units_none, ""},
    {"best_interval", Name::best_interval, units_time, ""},
    {"job", Name::job, units_time, ""},
    {"mfu", Name::mfu, units_none, ""},
    {"hfu", Name::hfu, units_none, ""},
    {"memory", Name::memory, units_size, ""},
}};

constexpr std::array<std::string_view, 10> paths_of_symbols{
    "cluster.ranks",         "collective.size",        "collective.chunks",
    "collective.channels",   "collective.radix",       "collective.aggregation",
    "cluster.link.overhead", "cluster.link.bandwidth", "cluster.link.latency",
    "model.reduce_bandwidth"};

constexpr std::array<std::pair<std::string_view, Name>, 4> other_words{
    {{"ranks", Name::K}, {"size", Name::N}, {"chunks", Name::S}, {"channels", Name::C}}};

std::vector<NameEntry> all_entries() {
  std::vector<NameEntry> entries;
  for (const FormulaSymbol& symbol : formula_symbols())
    entries.push_back({symbol.name, static_cast<Name>(entries.size()), symbol.units,
                       paths_of_symbols.at(entries.size())});
  entries.insert(entries.end(), metrics.begin(), metrics.end());
  for (const auto& [word, name] : other_words) {
    NameEntry entry = entries[static_cast<std::size_t>(name)];
    entry.word = word;
    entries.push_back(entry);
  }
  return entries;
}

}  // namespace

std::span<const NameEntry> name_entries() {
  static const std::vector<NameEntry> entries = all_entries();
  return entries;
}

const NameEntry* find_name(std::string_view word) {
  for (const NameEntry& entry : name_entries())
    if (entry.word == word) return &entry;
  return nullptr;
}

const NameEntry& entry_of(Name name) {
  const NameEntry& entry = name_entries()[static_cast<std::size_t>(name)];
  COLLSIM_CHECK(entry.name == name, "the table of names is not in the order of the enumeration");
  return entry;
}

bool NameEntry::is_of_collectives() const {
  switch (name) {
    case Name::K:
    case Name::alpha:
    case Name::B:
    case Name::L:
    case Name::gamma:
    case Name::time:
    case Name::analytic:
    case Name::bound:
    case Name::bandwidth_bound:
    case Name::compute_bound:
    case Name::messages:
    case Name::wire_bytes: return false;
    default: return !is_of_steps();
  }
}

std::string in_quotes(std::string_view text) {
  return quoted(shortened(text));
}

}  // namespace collsim
