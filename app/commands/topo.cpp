// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <array>
#include <memory>
#include <ostream>

#include "app/commands/command.hpp"
#include "app/commands/topo_internal.hpp"
#include "app/json/screen_text.hpp"
#include "app/output/network_summary.hpp"
#include "app/output/topology_matrix.hpp"
#include "app/scenario/presets.hpp"

namespace collsim {
namespace {

// A wider matrix fits no screen; more ranks than that, no memory of its reader.
constexpr std::size_t shown_at_most = 32;
constexpr std::size_t shown_of_many = 16;
constexpr std::size_t chosen_at_most = 256;
constexpr std::size_t most_link_lines = 1000;

struct TopoOptions {
  OneCaseOptions one_case;
  std::string preset;
  std::optional<std::int64_t> nodes;
  std::string with = "path";
  std::string ranks;
  bool links = false;
};

PairValue value_of(const std::string& word) {
  if (word == "bandwidth") return PairValue::bandwidth;
  if (word == "latency") return PairValue::latency;
  return word == "hops" ? PairValue::hops : PairValue::path;
}

std::shared_ptr<const Cluster> cluster_of_preset(const TopoOptions& options, Terminal& terminal) {
  const auto name = preset_words().canonical(options.preset);
  if (!name)
    throw UsageError("there is no preset" + did_you_mean(options.preset, preset_words().allowed));
  JsonValue document = JsonValue::object({{"preset", *name}});
  if (options.nodes) document.set("nodes", *options.nodes);
  Diagnostics diagnostics;
  JsonValue resolved;
  auto cluster = read_cluster(document, "/cluster", diagnostics, resolved);
  if (cluster) return std::make_shared<const Cluster>(std::move(*cluster));
  show_mistakes(diagnostics, Sources{}, terminal);
  return nullptr;
}

std::shared_ptr<const Cluster> cluster_of_file(const TopoOptions& options, Terminal& terminal) {
  const auto chosen = load_one_case(options.one_case, terminal);
  if (!chosen) return nullptr;
  return chosen->chosen.cluster;
}

std::shared_ptr<const Cluster> chosen_cluster(const TopoOptions& options, Terminal& terminal) {
  const bool file = !options.one_case.file.empty();
  if (file && !options.preset.empty()) throw UsageError("FILE and --preset do not go together");
  if (!file && options.preset.empty())
    throw UsageError("a scenario file or --preset NAME is missing");
  if (file && options.nodes)
    throw UsageError("--nodes goes with --preset; for a file write --set cluster.nodes=2");
  if (file) return cluster_of_file(options, terminal);
  if (!options.one_case.set.empty() || !options.one_case.at.empty())
    throw UsageError("--set and --at go with a scenario file, not with --preset");
  return cluster_of_preset(options, terminal);
}

// One number of a list, or a range of numbers: "3", "8-15".
void add_ranks(std::string_view text, std::size_t ranks, std::vector<Rank>& chosen) {
  const auto number = [&](std::string_view digits) {
    const auto value = number_in<std::size_t>(digits);
    if (!value)
      throw UsageError(fmt::format(
          "--ranks is not valid at \"{}\"; write numbers and ranges, such as 0-7 or 0,8,16-23",
          text));
    if (*value >= ranks)
      throw UsageError(
          fmt::format("--ranks: there is no rank {}; ranks are 0 to {}", *value, ranks - 1));
    return *value;
  };
  const std::size_t dash = text.find('-');
  const std::size_t first = number(text.substr(0, dash));
  const std::size_t last = dash == std::string_view::npos ? first : number(text.substr(dash + 1));
  for (std::size_t rank = first; rank <= last && chosen.size() <= chosen_at_most; ++rank)
    chosen.emplace_back(rank);
}

std::vector<Rank> chosen_ranks(const std::string& list, std::size_t ranks) {
  std::vector<Rank> chosen;
  if (list.empty()) {
    const std::size_t shown = ranks > shown_at_most ? shown_of_many : ranks;
    for (std::size_t rank = 0; rank < shown; ++rank) chosen.emplace_back(rank);
    return chosen;
  }
  for (const std::string& part : split(list, ',')) add_ranks(part, ranks, chosen);
  if (chosen.empty()) throw UsageError(fmt::format("--ranks {} selects no rank", list));
  if (chosen.size() > chosen_at_most)
    throw UsageError(fmt::format("--ranks {} selects too many; at most {}", list, chosen_at_most));
  return chosen;
}

std::string heading(const Cluster& cluster) {
  std::string text = cluster.description;
  const Preset* preset = find_preset(cluster.preset);
  if (preset != nullptr) {
    text += preset->calibrated ? "; calibrated" : "; not calibrated";
    text += fmt::format("\n{}", preset->title);
  }
  text += '\n';
  for (const auto& [rank, time] : cluster.late)
    if (time > Time{}) text += fmt::format("rank {} starts {} late\n", rank.index(), to_text(time));
  return text + '\n';
}

int show(const TopoOptions& options, Terminal& terminal) {
  const auto cluster = chosen_cluster(options, terminal);
  if (!cluster) return exit_usage;
  const Topology& topology = cluster->topology;
  const std::vector<Rank> ranks = chosen_ranks(options.ranks, topology.rank_count());
  const bool part = options.ranks.empty() && ranks.size() < topology.rank_count();
  std::string text = heading(*cluster) + network_summary(topology);
  if (!options.links)
    text += topology_matrix(topology, ranks, value_of(options.with));
  else if (ranks.size() < topology.rank_count())
    text += links_between(topology, ranks, most_link_lines);
  else
    text += all_links(topology, most_link_lines);
  terminal.out << text;
  if (part && !terminal.quiet)
    terminal.err << fmt::format(
        "showing ranks 0 to {} of {}; choose others with --ranks, such as --ranks 0,8,16-23\n",
        ranks.size() - 1, topology.rank_count());
  return exit_fine;
}

}  // namespace

Action declare_topo(Options& command) {
  const auto options = std::make_shared<TopoOptions>();
  Options& below =
      command.command("show", "Shows the connection of every pair of ranks of a machine.",
                      "collsim topo show --preset dgx-1-v100\n"
                      "collsim topo show --preset dgx-h100 --nodes 2 --with bandwidth\n"
                      "collsim topo show --preset gb200-nvl72 --ranks 0-3,68-71\n"
                      "collsim topo show scenarios/lecture/ring-broadcast.json --links");
  below.value("FILE", options->one_case.file, "FILE",
              "a scenario file; \"-\" reads standard input");
  below.value("--preset", options->preset, "NAME", "a machine that collsim knows by name");
  below.integer("--nodes", options->nodes, "how many of them (default: 1)");
  below.choice("--with", options->with, {"path", "bandwidth", "latency", "hops"},
               "what the matrix shows");
  below.flag("--links", options->links, "the links and their parameters instead of the matrix");
  below.value("--ranks", options->ranks, "LIST", "only these ranks, such as 0-7 or 0,8,16-23");
  below.value("--set", options->one_case.set, "PATH=VALUE",
              "override a scenario value (may be repeated)");
  below.value("--at", options->one_case.at, "PATH=VALUE",
              "select a point of the sweep (may be repeated)");
  const Action import_action = declare_topo_import(command);
  const Action export_action = declare_topo_export(command);
  command.needs_command = true;
  return [options, import_action, export_action, &command](Terminal& terminal) {
    const std::string& chosen = command.chosen().name();
    if (chosen == "import") return import_action(terminal);
    return chosen == "export" ? export_action(terminal) : show(*options, terminal);
  };
}

}  // namespace collsim
