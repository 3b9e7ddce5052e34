// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "app/commands/command.hpp"
#include "app/json/screen_text.hpp"
#include "app/results/results.hpp"
#include "app/scenario/document_path.hpp"
#include "app/scenario/make_case.hpp"
#include "app/scenario/quantities.hpp"

namespace collsim {
namespace {

struct Condition {
  std::string path, value;
};

// "chunks=16" and "chunks=16,size=64MiB"; a comma without a "=" behind it belongs to the value.
std::vector<Condition> conditions_of(const std::vector<std::string>& at) {
  std::vector<Condition> conditions;
  for (const std::string& argument : at) {
    if (argument.find('=') == std::string::npos)
      throw UsageError(fmt::format("--at {0} has no value; write --at {0}=VALUE", argument));
    const std::size_t before = conditions.size();
    for (const std::string& piece : split(argument, ',')) {
      const std::size_t equals = piece.find('=');
      if (equals == 0 || (equals == std::string::npos && conditions.size() == before))
        throw UsageError(
            fmt::format("--at {} does not say what \"{}\" is; write PATH=VALUE", argument, piece));
      if (equals == std::string::npos)
        conditions.back().value += "," + piece;
      else
        conditions.push_back({piece.substr(0, equals), piece.substr(equals + 1)});
    }
  }
  return conditions;
}

template <class T>
bool same_quantity(Parsed<T> a, Parsed<T> b) {
  return a.value && b.value && *a.value == *b.value;
}

// As it is written, or as tables write it ("ddp bucket 25MB").
bool is_exactly(const std::string& typed, const std::string& path, const JsonValue& value) {
  return typed == plain_text(value) || typed == param_text(path, value);
}

// 64M, 65536KiB and 64MiB are equal on a command line; a workload is meant by its kind ("ddp").
bool means(const std::string& typed, const std::string& path, const JsonValue& value) {
  const std::string text = plain_text(value);
  if (path == "workload" && value.is_object() && !value.members().empty() &&
      value.members().front().key == typed)
    return true;
  if (value.is_string())
    return same_quantity(parse_command_line_size(typed), parse_size(text)) ||
           same_quantity(parse_time(typed), parse_time(text)) ||
           same_quantity(parse_bandwidth(typed), parse_bandwidth(text));
  return value.is_number() && number_in<double>(typed) == value.number();
}

// "size" -> "collective.size", if the scenario has that.
std::string path_in(const Scenario& scenario, const std::string& path) {
  for (const char* part : {"", "collective.", "cluster.", "cluster.link.", "model.", "workload."})
    if (value_at(scenario.resolved, part + path) != nullptr) return part + path;
  return path;
}

// The points of one axis that are still wanted.
struct Candidates {
  const Axis* axis;
  std::vector<std::size_t> wanted;
};

class Chooser {
 public:
  explicit Chooser(const Scenario& scenario) : scenario_(scenario) {
    for (const Axis& axis : scenario.axes) {
      Candidates all{&axis, {}};
      for (std::size_t i = 0; i < axis.points.size(); ++i) all.wanted.push_back(i);
      candidates_.push_back(std::move(all));
    }
  }

  void apply(const Condition& condition) {
    const auto [axis, path] = find(condition.path, condition.value);
    Candidates& candidates = candidates_[axis];
    const std::vector<std::size_t> before = candidates.wanted;
    const auto keep = [&, position = path](const auto& is_meant) {
      std::vector<std::size_t> kept;
      for (const std::size_t point : before) {
        const Axis& swept = *candidates.axis;
        if (is_meant(condition.value, swept.paths[position], swept.points[point][position]))
          kept.push_back(point);
      }
      return kept;
    };
    candidates.wanted = keep(is_exactly);
    if (candidates.wanted.empty()) candidates.wanted = keep(means);
    if (candidates.wanted.empty()) refuse(condition, *candidates.axis, before, path);
  }

  // The first of those that fit.
  [[nodiscard]] std::size_t point() const {
    std::size_t point = 0;
    for (const Candidates& candidates : candidates_)
      point = point * candidates.axis->points.size() + candidates.wanted.front();
    return point;
  }
  [[nodiscard]] bool is_ambiguous() const {
    return std::any_of(candidates_.begin(), candidates_.end(),
                       [](const Candidates& candidates) { return candidates.wanted.size() > 1; });
  }

 private:
  struct Position {
    std::size_t axis, path;
  };

  [[nodiscard]] Position find(const std::string& path, const std::string& value) const {
    std::vector<Position> found;
    std::vector<std::string> known;
    for (std::size_t i = 0; i < candidates_.size(); ++i)
      for (std::size_t j = 0; j < candidates_[i].axis->paths.size(); ++j) {
        const std::string& candidate = candidates_[i].axis->paths[j];
        known.push_back(candidate);
        if (candidate == path) return {i, j};
        if (candidate.ends_with("." + path)) found.push_back({i, j});
      }
    if (found.size() == 1) return found.front();
    if (known.empty())
      throw UsageError(
          fmt::format("--at {0}: {1} has no sweep; --set changes a value, such as --set "
                      "{2}={3}",
                      path, scenario_.file, path_in(scenario_, path), value));
    if (found.empty())
      throw UsageError(fmt::format("the sweep does not change{}", did_you_mean(path, known)));
    throw UsageError(fmt::format("\"{}\" could be several paths of the sweep: {}", path,
                                 fmt::join(known, ", ")));
  }

  [[noreturn]] static void refuse(const Condition& condition, const Axis& axis,
                                  const std::vector<std::size_t>& before, std::size_t path) {
    constexpr std::size_t most = 20;
    std::vector<std::string> values;
    for (std::size_t i = 0; i < std::min(before.size(), most); ++i)
      values.push_back(printable(param_text(axis.paths[path], axis.points[before[i]][path])));
    if (before.size() > most) values.emplace_back("...");
    throw UsageError(fmt::format("no {}point of the sweep has {} = {}; it takes {}",
                                 before.size() < axis.points.size() ? "such " : "",
                                 axis.paths[path], condition.value, fmt::join(values, ", ")));
  }

  const Scenario& scenario_;
  std::vector<Candidates> candidates_;
};

}  // namespace

void add_one_case_options(Options& command, OneCaseOptions& options) {
  command.value("FILE", options.file, "FILE", "a scenario file; \"-\" reads standard input")
      .required = true;
  command.value("--set", options.set, "PATH=VALUE", "override a scenario value (may be repeated)");
  command.value("--at", options.at, "PATH=VALUE",
                "select a point of the sweep: chunks=16 or collective.chunks=16 (may be repeated; "
                "default: the first)");
}

ChosenPoint choose_point(const Scenario& scenario, const std::vector<std::string>& at) {
  Chooser chooser(scenario);
  for (const Condition& condition : conditions_of(at)) chooser.apply(condition);
  ChosenPoint chosen{chooser.point(), {}};
  if (chooser.is_ambiguous())
    chosen.note = fmt::format(
        "this is the first of several points of the sweep: {}; select another with --at",
        printable(to_text(scenario.params(chosen.point))));
  return chosen;
}

std::optional<ChosenCase> load_one_case(const OneCaseOptions& options, Terminal& terminal) {
  Sources sources;
  Diagnostics diagnostics;
  LoadOptions load_options;
  load_options.set = options.set;
  load_options.workloads = options.workloads;
  load_options.max_points = max_sweep_points;
  std::optional<Scenario> scenario =
      load_scenario(options.file, load_options, sources, diagnostics);
  if (!scenario) {
    show_mistakes(diagnostics, sources, terminal);
    return std::nullopt;
  }
  auto [point, note] = choose_point(*scenario, options.at);
  ClusterCache clusters;
  std::optional<Case> chosen = make_case(*scenario, point, clusters, diagnostics);
  if (!chosen) {
    show_mistakes(diagnostics, sources, terminal);
    return std::nullopt;
  }
  if (!note.empty() && !terminal.quiet) terminal.err << note << '\n';
  return ChosenCase{std::move(*scenario), point, std::move(*chosen)};
}

}  // namespace collsim
