// SPDX-License-Identifier: Apache-2.0
#include "app/report/drawn_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "app/report/results_file.hpp"
#include "app/study/auto_candidates.hpp"
#include "app/study/nccl.hpp"
#include "app/study/run_case.hpp"
#include "sim/critical_path.hpp"
#include "sim/records.hpp"

namespace collsim {
namespace {

constexpr std::size_t most_drawn_links = 4000;

// "1,2,3": much shorter than an array of numbers of which every one is a value of its own.
template <class Number>
JsonValue column(const std::vector<Number>& numbers) {
  fmt::memory_buffer text;
  for (std::size_t i = 0; i < numbers.size(); ++i)
    fmt::format_to(std::back_inserter(text), "{}{}", i == 0 ? "" : ",",
                   static_cast<std::int64_t>(numbers[i]));
  return std::string(text.data(), text.size());
}

JsonValue steps_value(const Records& records) {
  const NumberColumns& numbers = records.numbers;
  const WholeColumns& whole = records.whole;
  JsonValue steps = JsonValue::object();
  steps.set("pieces", records.pieces);
  const std::pair<const char*, const std::vector<double>*> reals[] = {
      {"reached", &numbers.reached},
      {"began", &numbers.began},
      {"ended", &numbers.ended},
      {"departed", &numbers.departed},
      {"left", &numbers.left},
      {"arrived", &numbers.arrived},
      {"bytes", &numbers.bytes},
      {"pathFrom", &numbers.path_from},
      {"pathTo", &numbers.path_to},
      {"crossingBegun", &numbers.crossing_begun},
      {"crossingEnded", &numbers.crossing_ended},
      {"linkStartup", &numbers.link_startup}};
  for (const auto& [name, values] : reals) steps.set(name, column(*values));
  const std::pair<const char*, const std::vector<std::int32_t>*> integers[] = {
      {"rank", &whole.rank},
      {"index", &whole.index},
      {"to", &whole.to},
      {"piece", &whole.piece},
      {"mixed", &whole.mixed},
      {"added", &whole.added},
      {"wait", &whole.wait},
      {"waitedFor", &whole.waited_for},
      {"queuedBehind", &whole.queued_behind},
      {"firstCrossing", &whole.first_crossing},
      {"crossingBehind", &whole.crossing_behind},
      {"route", &whole.route},
      {"routeFirst", &whole.route_first},
      {"routeLinks", &whole.route_links},
      {"pathKind", &whole.path_kind},
      {"pathStep", &whole.path_step},
      {"pathLink", &whole.path_link}};
  for (const auto& [name, values] : integers) steps.set(name, column(*values));
  return steps;
}

JsonValue nodes_value(const Topology& topology) {
  JsonValue::Array nodes;
  for (std::size_t i = 0; i < topology.node_count(); ++i) {
    const NodeId id(static_cast<std::uint32_t>(i));
    const std::optional<Rank> rank = topology.rank_at(id);
    nodes.push_back(JsonValue::object({{"name", topology.name(id)},
                                       {"kind", to_string(topology.kind(id))},
                                       {"rank", rank ? JsonValue(rank->index()) : JsonValue()}}));
  }
  return nodes;
}

JsonValue links_value(const Topology& topology, const Simulation& simulation) {
  JsonValue::Array links;
  for (std::size_t i = 0; i < topology.links().size(); ++i) {
    const Link& link = topology.links()[i];
    const LinkUsage& usage = simulation.links[i];
    links.push_back(JsonValue::object({{"from", link.from.index()},
                                       {"to", link.to.index()},
                                       {"bytes_per_s", link.bandwidth.bytes_per_second()},
                                       {"fair", link.sharing == Sharing::fair},
                                       {"busy_s", usage.busy.seconds()},
                                       {"bytes", usage.bytes},
                                       {"messages", usage.messages}}));
  }
  return links;
}

JsonValue shares_value(const Topology& topology, const Schedule& schedule,
                       const Simulation& simulation) {
  const CriticalPath path = critical_path(topology, schedule, simulation);
  JsonValue shares = JsonValue::object();
  for (const CriticalPath::Kind kind : CriticalPath::kinds)
    shares.set(to_string(kind), path.total(kind).seconds());
  // Part of those above.
  if (const Time waiting = waiting_for_others(*simulation.timeline, path); waiting > Time{})
    shares.set("contention", waiting.seconds());
  return shares;
}

void add_picture(JsonValue& value, const Topology& topology, const Schedule& schedule,
                 const Simulation& simulation) {
  value.set("ranks", topology.rank_count());
  value.set("shape", topology.shape());
  value.set("dims", JsonValue::array(topology.dims()));
  const Pieces pieces = find_pieces(schedule, *simulation.timeline);
  JsonValue steps = steps_value(records_of(topology, schedule, simulation, pieces));
  steps.set("members", schedule.collective().size());
  value.set("steps", std::move(steps));
  JsonValue names = JsonValue::array();
  for (std::uint32_t i = 0; i < topology.links().size(); ++i)
    names.items().emplace_back(topology.name(LinkId(i)));
  value.set("link_names", std::move(names));
  const bool few = topology.links().size() <= most_drawn_links;
  value.set("nodes", few ? nodes_value(topology) : JsonValue());
  value.set("links", few ? links_value(topology, simulation) : JsonValue());
}

DrawnCase simulate_case(Case asked, const JsonValue& row, std::uint64_t most_steps,
                        bool with_steps) {
  if (asked.choice.name == "auto")
    asked = as_chosen(asked, at(row, "algorithm").string(),
                      static_cast<int>(*at(row, "channels").integer()),
                      static_cast<int>(*at(row, "chunks").integer()));
  const Case one_case = with_calibrated_costs(within_limits(std::move(asked)));
  const Schedule& schedule = *one_case.schedule;
  const Topology& topology = one_case.cluster->topology;
  SimulationOptions options;
  options.recording = Recording::full;
  options.late = one_case.cluster->late;
  options.max_recorded_steps = most_steps;
  const Simulation simulation = simulate(topology, schedule, one_case.costs, options);

  DrawnCase drawn;
  const Time time =
      with_launches(simulation.time, one_case.protocol ? host_time(one_case) : Time{});
  drawn.facts = JsonValue::object({{"time_s", time.seconds()},
                                   {"ranks", one_case.collective.size()},
                                   {"size_bytes", one_case.collective.bytes()},
                                   {"chunks", schedule.chunks()}});
  drawn.value = JsonValue::object({{"time_s", simulation.time.seconds()},
                                   {"fingerprint", fmt::format("{:016x}", simulation.fingerprint)},
                                   {"shares", shares_value(topology, schedule, simulation)}});
  if (with_steps) add_picture(drawn.value, topology, schedule, simulation);
  return drawn;
}

using RowNumbers = std::vector<std::size_t>;

// All rows whose time is taken apart are simulated again: that takes seconds, not minutes.
constexpr std::int64_t most_messages_again = 8 * std::int64_t{most_drawn_steps};

class RowChooser {
 public:
  explicit RowChooser(const JsonValue::Array& rows) : rows_(rows) {}

  [[nodiscard]] ChosenRows choose() {
    const bool alone = rows_.size() == 1;  // there is nothing else to choose
    const RowNumbers small = rows_with_messages(most_drawn_steps);
    const RowNumbers moderate = alone ? small : rows_with_messages(moderate_steps / 2);
    if (moderate.empty()) return {};
    chosen_.pictures = telling(moderate);
    for (const std::size_t row : chosen_.pictures) add(row);
    if (small.size() > most_breakdowns) add_extremes(small);
    // What is free: every row there is, or every second, fourth ... of them.
    for (std::size_t step = small.size(); step > 0; step = step == 1 ? 0 : (step + 1) / 2)
      for (std::size_t i = 0; i < small.size(); i += step) add(small[i]);
    return std::move(chosen_);
  }

 private:
  using Load = std::pair<std::int64_t, std::int64_t>;

  [[nodiscard]] double time_of(std::size_t row) const { return at(rows_[row], "time_s").number(); }
  [[nodiscard]] std::int64_t messages_of(std::size_t row) const {
    return *at(rows_[row], "messages").integer();
  }
  [[nodiscard]] Load load_of(std::size_t row) const {
    return {*at(rows_[row], "ranks").integer(), *at(rows_[row], "size_bytes").integer()};
  }
  [[nodiscard]] bool is_faster(std::size_t a, std::size_t b) const {
    return time_of(a) < time_of(b);
  }

  [[nodiscard]] RowNumbers rows_with_messages(std::uint64_t most) const {
    RowNumbers rows;
    for (std::size_t row = 0; row < rows_.size(); ++row)
      if (messages_of(row) <= static_cast<std::int64_t>(most)) rows.push_back(row);
    return rows;
  }

  [[nodiscard]] std::map<Load, RowNumbers, std::greater<>> by_load(const RowNumbers& rows) const {
    std::map<Load, RowNumbers, std::greater<>> all;
    for (const std::size_t row : rows) all[load_of(row)].push_back(row);
    return all;
  }

  [[nodiscard]] std::set<std::size_t> telling(const RowNumbers& rows) const {
    const auto faster = [&](std::size_t a, std::size_t b) { return is_faster(a, b); };
    const auto loads = by_load(rows);
    if (loads.size() > 1) {
      const RowNumbers& largest = loads.begin()->second;
      return {*std::min_element(largest.begin(), largest.end(), faster)};
    }
    const auto [fastest, slowest] = std::minmax_element(rows.begin(), rows.end(), faster);
    const bool chunks_vary = std::any_of(rows.begin(), rows.end(), [&](std::size_t row) {
      return !(at(rows_[row], "chunks") == at(rows_[rows.front()], "chunks"));
    });
    return chunks_vary ? std::set{rows.front(), *fastest} : std::set{*fastest, *slowest};
  }

  void add_extremes(const RowNumbers& rows) {
    const auto faster = [&](std::size_t a, std::size_t b) { return is_faster(a, b); };
    const auto loads = by_load(rows);
    add(rows.front());
    add(rows.back());
    if (loads.size() > 1)
      for (const std::size_t row : loads.begin()->second) add(row);
    for (const auto& [load, members] : loads) {
      const auto [fastest, slowest] = std::minmax_element(members.begin(), members.end(), faster);
      add(*fastest);
      add(*slowest);
    }
  }

  void add(std::size_t row) {
    if (chosen_.breakdowns.size() >= most_breakdowns || chosen_.breakdowns.contains(row)) return;
    if (!chosen_.breakdowns.empty() && messages_ + messages_of(row) > most_messages_again) return;
    messages_ += messages_of(row);
    chosen_.breakdowns.insert(row);
  }

  const JsonValue::Array& rows_;
  ChosenRows chosen_;
  std::int64_t messages_ = 0;
};

}  // namespace

DrawnCase draw_case(const Scenario& scenario, std::size_t point, ClusterCache& clusters,
                    const JsonValue& row, std::uint64_t most_steps, bool with_steps) {
  Diagnostics diagnostics;
  try {
    std::optional<Case> found = make_case(scenario, point, clusters, diagnostics);
    if (!found)
      return {{}, "its scenario is not valid: " + diagnostics.sorted().front().message, {}};
    return simulate_case(std::move(*found), row, most_steps, with_steps);
  } catch (const Error& error) {
    if (error.code() == ErrorCode::too_large)
      return {{}, "the run has more steps, or messages on links, than a page can show", {}};
    return {{}, error.what(), {}};
  }
}

ChosenRows choose_rows(const JsonValue::Array& rows) {
  return RowChooser(rows).choose();
}

}  // namespace collsim
