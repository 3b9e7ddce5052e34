// SPDX-License-Identifier: Apache-2.0
#include "app/study/study_summary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string_view>
#include <utility>

#include "app/json/screen_text.hpp"
#include "app/scenario/presets.hpp"
#include "app/study/slow_links.hpp"

namespace collsim {
namespace {

template <class Get>
bool is_shared(const std::vector<CaseResult>& rows, const Get& get) {
  return std::all_of(rows.begin(), rows.end(),
                     [&](const CaseResult& row) { return get(row) == get(rows.front()); });
}

std::string what_is_done(const std::vector<CaseResult>& rows) {
  const CaseResult& first = rows.front();
  std::string text;
  if (first.step) {
    if (is_shared(rows, [](const CaseResult& row) { return row.step->scheme; }))
      text = first.step->scheme + ", ";
    text += "one training step";
    if (first.protocol && is_shared(rows, [](const CaseResult& row) { return row.protocol; }))
      text += fmt::format(" under {}", to_string(*first.protocol));
    return text;
  }
  if (is_shared(rows, [](const CaseResult& row) { return row.algorithm_text(); }))
    text += first.algorithm_text() + " ";
  if (is_shared(rows, [](const CaseResult& row) { return row.operation; }))
    text += to_string(first.operation);
  else
    text += "collectives";
  if (is_shared(rows, [](const CaseResult& row) { return row.size; }) &&
      first.operation != Operation::barrier)
    text += " of " + bytes_to_text(first.size);
  if (is_shared(rows, [](const CaseResult& row) { return row.chunks; }) && first.chunks > 1)
    text += fmt::format(" in {} chunks", first.chunks);
  if (is_shared(rows, [](const CaseResult& row) { return row.channels; }) && first.channels > 1)
    text += fmt::format(" over {} channels", first.channels);
  return text;
}

// At those outside of parentheses; the comma of "2,000 ranks" is none.
std::vector<std::string> cut_at_commas(std::string_view text) {
  std::vector<std::string> parts(1);
  int depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '(') ++depth;
    if (text[i] == ')') --depth;
    if (depth == 0 && text.substr(i, 2) == ", ") {
      parts.emplace_back();
      ++i;
    } else {
      parts.back() += text[i];
    }
  }
  return parts;
}

// What the cluster is called when its numbers differ; an explicit graph has no name.
std::string name_of(const Cluster& cluster) {
  if (!cluster.preset.empty()) return cluster.preset;
  return cluster.topology.shape() == "explicit" ? "" : cluster.topology.shape();
}

// " x 2 (16 ranks)"; empty for what is no preset, and where the number of ranks differs.
std::string size_of_preset(const std::string& name, std::size_t ranks) {
  const Preset* const preset = find_preset(name);
  if (preset == nullptr || ranks == 0) return "";
  const std::size_t nodes = ranks / static_cast<std::size_t>(preset->gpus);
  return fmt::format("{} ({})", nodes > 1 ? fmt::format(" x {}", nodes) : "",
                     count_text(static_cast<std::int64_t>(ranks), "rank"));
}

// What all cases may share: of the machine, and who is late.
std::vector<std::string> phrases_of(const Cluster& cluster) {
  constexpr std::size_t most_named = 3;
  std::vector<std::string> phrases = cut_at_commas(cluster.description);
  std::vector<std::string> late;
  for (const auto& [rank, time] : cluster.late)
    if (time > Time{})
      late.push_back(fmt::format("rank {} starts {} late", rank.index(), to_text(time)));
  if (late.size() > most_named) late = {fmt::format("{} ranks start late", late.size())};
  phrases.insert(phrases.end(), late.begin(), late.end());
  return phrases;
}

std::string launch_in_words(const LaunchCosts& launch, int gpus_of_node) {
  if (launch.mode == LaunchMode::process_per_gpu) return "a process for each";
  if (launch.mode == LaunchMode::thread_per_gpu) return "a thread for each";
  const int of_thread = std::min(launch.gpus_per_thread.value_or(gpus_of_node), gpus_of_node);
  if (of_thread == 1) return "a thread for each";
  if (of_thread == gpus_of_node) return "one thread for all of a node";
  return fmt::format("a thread for every {}", of_thread);
}

// Whether every node of the group has as many members: not of ranks 0, 1 and 8 on nodes of 8.
bool are_evenly_spread(const Case& one_case, int nodes) {
  const std::vector<int>& dims = one_case.cluster->topology.dims();
  if (dims.size() != 2) return true;
  std::set<std::size_t> found;
  for (const Rank rank : one_case.collective.group)
    found.insert(rank.index() / static_cast<std::size_t>(dims[1]));
  return found.size() == static_cast<std::size_t>(nodes);
}

// "1 GPU on each of 2 nodes, a process for each", where that is not the whole machine or not the
// usual way: of -g 1 and --nodes 2 one may expect something else.
std::string placement_of(const Case& one_case) {
  const Cluster& cluster = *one_case.cluster;
  if (cluster.preset.empty()) return "";
  const Collective& collective = one_case.collective;
  const int members = members_per_node(cluster.topology, collective.group);
  const int nodes = collective.size() / members;
  const bool even = are_evenly_spread(one_case, nodes);
  const bool part_of_nodes =
      even && nodes > 1 &&
      static_cast<std::size_t>(collective.size()) < cluster.topology.rank_count();
  if (!part_of_nodes && one_case.launch.mode == LaunchMode::process_per_gpu) return "";
  if (!even) return launch_in_words(one_case.launch, members);
  return fmt::format("{}{}, {}", count_text(members, "GPU"),
                     nodes > 1 ? fmt::format(" on each of {} nodes", nodes) : "",
                     launch_in_words(one_case.launch, members));
}

}  // namespace

std::string description_of(const Results& results, const StudySummary& summary) {
  if (results.rows.empty()) return "";
  const std::vector<CaseResult>& rows = results.rows;
  std::string text = what_is_done(rows);
  if (is_shared(rows, [](const CaseResult& row) { return row.ranks; }) &&
      summary.machine_ranks() > 0 &&
      static_cast<std::size_t>(rows.front().ranks) < summary.machine_ranks())
    text += fmt::format(" among {} of {} ranks", rows.front().ranks, summary.machine_ranks());
  if (const std::string cluster = summary.cluster(); !cluster.empty()) text += "; " + cluster;
  if (!summary.placement().empty()) text += "; " + summary.placement();
  if (is_shared(rows, [](const CaseResult& row) { return row.gamma; }) && rows.front().gamma > 0)
    text += fmt::format(", adds at {}", to_text(Bandwidth(std::llround(1 / rows.front().gamma))));
  return text;
}

void StudySummary::add(const Case& one_case, std::size_t point) {
  const std::string placed = placement_of(one_case);
  if (!any_) placement_ = placed;
  if (placement_ != placed) placement_.clear();
  if (one_case.cluster != last_) {
    last_ = one_case.cluster;
    add_cluster(*one_case.cluster);
  }
  if (one_case.step) return;
  const auto& late = one_case.cluster->late;
  std::vector<Rank> group;
  if (!late.empty()) group = one_case.collective.group;
  std::sort(group.begin(), group.end());
  for (const auto& entry : late)
    if (!std::binary_search(group.begin(), group.end(), entry.first))
      late_outsiders_.insert(entry.first.index());
  if (!one_case.choice.list) return;
  const Collective& collective = one_case.collective;
  const std::string key =
      fmt::format("{} {} {} {}", one_case.choice.name, to_string(collective.operation),
                  collective.root, collective.in_place);
  add_listed(key, {one_case.choice.list, collective, point});
}

void StudySummary::add_listed(const std::string& key, const ListedUse& use) {
  const auto [known, is_new] = listed_.try_emplace(key, use);
  if (!is_new && use.point < known->second.point) known->second = use;
}

std::vector<std::size_t> StudySummary::listed_points() const {
  std::vector<std::size_t> points;
  for (const auto& [key, use] : listed_) points.push_back(use.point);
  return points;
}

void StudySummary::add_cluster(const Cluster& cluster) {
  intersect(phrases_of(cluster), name_of(cluster), cluster.topology.rank_count());
  if (!cluster.preset.empty()) presets_.insert(cluster.preset);
  // What a fit wrote stays with the algorithms that do not read it.
  if (!cluster.fitted)
    preset_changes_.insert(cluster.preset_changes.begin(), cluster.preset_changes.end());
  assumed_.insert(cluster.assumed.begin(), cluster.assumed.end());
  // Links of a shape are alike, those of a preset as they are.
  if (!cluster.overridden && (cluster.topology.shape() != "explicit" || !cluster.preset.empty()))
    return;
  for (std::string& link : far_slower_links(cluster.topology)) slow_links_.insert(std::move(link));
  // Looking takes a while, and points of a sweep are much alike.
  constexpr int few = 3;
  if (!cluster.preset.empty() || !cluster.assumed.empty() || looked_for_narrow_links_ == few)
    return;
  ++looked_for_narrow_links_;
  for (std::string& link : links_too_narrow_to_use(cluster.topology))
    narrow_links_.insert(std::move(link));
}

void StudySummary::merge(const StudySummary& other) {
  if (!any_) placement_ = other.placement_;
  if (other.any_ && placement_ != other.placement_) placement_.clear();
  if (other.any_) intersect(other.phrases_, other.name_, other.ranks_);
  presets_.insert(other.presets_.begin(), other.presets_.end());
  assumed_.insert(other.assumed_.begin(), other.assumed_.end());
  slow_links_.insert(other.slow_links_.begin(), other.slow_links_.end());
  narrow_links_.insert(other.narrow_links_.begin(), other.narrow_links_.end());
  preset_changes_.insert(other.preset_changes_.begin(), other.preset_changes_.end());
  for (const auto& [key, use] : other.listed_) add_listed(key, use);
  late_outsiders_.insert(other.late_outsiders_.begin(), other.late_outsiders_.end());
}

void StudySummary::intersect(const std::vector<std::string>& phrases, const std::string& name,
                             std::size_t ranks) {
  if (!any_) {
    any_ = true;
    phrases_ = phrases;
    name_ = name;
    ranks_ = ranks;
    return;
  }
  std::erase_if(phrases_, [&](const std::string& phrase) {
    return std::find(phrases.begin(), phrases.end(), phrase) == phrases.end();
  });
  if (name_ != name) name_.clear();
  if (ranks_ != ranks) ranks_ = 0;
}

std::string StudySummary::cluster() const {
  std::string text;
  for (const std::string& phrase : phrases_) text += (text.empty() ? "" : ", ") + phrase;
  // The phrase that has the name has the number of ranks too, which may differ, and whether numbers
  // of a preset were changed.
  if (!name_.empty() && text.find(name_) == std::string::npos)
    text = name_ + size_of_preset(name_, ranks_) + (text.empty() ? "" : ", ") + text;
  return text;
}

}  // namespace collsim
