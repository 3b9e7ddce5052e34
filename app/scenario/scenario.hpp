// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "app/json/diagnostics.hpp"
#include "app/json/sources.hpp"
#include "app/json/value.hpp"
#include "app/scenario/cluster/cluster.hpp"
#include "app/scenario/collective.hpp"
#include "app/scenario/model.hpp"
#include "app/scenario/nccl_choice.hpp"
#include "app/scenario/program_files.hpp"
#include "collectives/algorithms.hpp"
#include "collectives/collective.hpp"
#include "collectives/cost/cost_model.hpp"
#include "collectives/schedule.hpp"

namespace collsim {

class ClusterCache;
struct TrainingStep;

// One thing to simulate: a point of a sweep, with nothing left to look up.
struct Case {
  std::shared_ptr<const Cluster> cluster;  // shared by the points that do not change it
  // A training step (workload/workload.hpp), which all ranks take part in; null: the collective.
  std::shared_ptr<const TrainingStep> step;
  std::shared_ptr<const Cluster> bare_cluster;  // of a step: before its protocol
  Collective collective;
  AlgorithmChoice choice;  // its name is that of the table, or "auto", or of a listed schedule
  OpenKnobs open;
  CostModel costs;
  LaunchCosts launch;                    // of NCCL's kernels; costs.launch is its base
  NcclGraph nccl_graph;                  // and of NCCL's tuner: what the model says
  NcclChoice nccl_choice;                // what "nccl" may choose from
  std::optional<LinkProtocol> protocol;  // that the cluster's links are used under; nothing: none
  std::optional<NcclAlgorithm> nccl;     // what NCCL calls the algorithm, when it chose it
  std::shared_ptr<const Calibration> calibration;  // more costs, of a schedule: study/run_case.hpp
  // "data" of the collective: the input of every position, for `show`.
  std::optional<std::vector<std::vector<double>>> data;
  // Made of collective and choice by make_case() or with_schedule(); none while the algorithm is
  // "auto" and after choose().
  std::optional<Schedule> schedule;

  void choose(AlgorithmChoice other) {
    choice = std::move(other);
    schedule.reset();
  }
  // With its natural dims, if the scenario has none.
  void choose_algorithm(std::string_view name);
};

// The case with its schedule, which is made if it has none.  The algorithm must not be "auto";
// throws Error when the choice does not fit.
[[nodiscard]] Case with_schedule(Case one_case);

// The sweep's values of one point: dotted path -> value, in the order of the axes.
using Params = std::vector<std::pair<std::string, JsonValue>>;
// "collective.chunks = 7, collective.size = 1MiB"; empty without a sweep.
[[nodiscard]] std::string to_text(const Params& params);

// One axis of a sweep: what changes together.  Several paths when zipped.
struct Axis {
  std::vector<std::string> paths;
  std::vector<std::vector<JsonValue>> points;  // [point][path], each with its place
  SourceRange place;                           // of the axis in the file, for warnings
};

// A scenario file, read, checked and ready to run.
//
// The document (cluster, collective or workload, model) stays a JSON tree, because a sweep may
// change anything in it: a point of the sweep is the tree with the axes' values put at their paths,
// read again.
struct Scenario {
  std::string file;  // as the user wrote it
  std::string name;  // "name", else the file's without folder and suffix
  std::string title;
  std::vector<std::string> notes;
  JsonValue document;
  std::vector<Axis> axes;
  JsonValue expect;  // array, as written (expression/expectation.hpp reads it)
  Measure measure;
  ProgramFiles programs;  // that the document names
  // Everything with every default visible, aliases and units in one spelling; places say where
  // each value came from.  What a sweep changes has the value of the first point.  It is a
  // scenario itself, which gives the same results.
  JsonValue resolved;
  // That which checking it has read, unless it is swept over.
  std::shared_ptr<const ClusterCache> checked_cluster;

  // Whether it has a workload, not a collective.
  [[nodiscard]] bool is_step() const { return resolved.find("workload") != nullptr; }
  // The last axis changes fastest.
  [[nodiscard]] std::size_t points() const;
  [[nodiscard]] Params params(std::size_t point) const;
};

struct LoadOptions {
  std::vector<std::string> set;  // "path=value": the value is JSON, or else a string
  bool workloads = false;        // training steps are taken, too
  // More points than this are refused, with a hint on how to allow them.
  std::size_t max_points = 100'000;
  // The most values of a range that are looked at beforehand; a list was typed, and has mistakes.
  std::size_t max_checks = 20'000;
  // Looks for mistakes in "expect", which is read by what stands on the scenario
  // (Expectations::read); so they come together with all others.  Gets what could be read, even if
  // that is not all.
  std::function<void(const Scenario&, Diagnostics&)> also_check = {};
};

// Stated limits.
inline constexpr std::size_t max_sweep_points = 10'000'000;

// Reads a scenario with its includes ("-": standard input), checks it whole, and reports all
// mistakes at once.  Nothing when there was one.
//
// Checked are the first point and every other value of every axis, the other axes being at their
// first value; of an axis with more values than can be checked in moderate time only some, evenly
// spread.  What no check has seen make_case() finds.
[[nodiscard]] std::optional<Scenario> load_scenario(const std::string& file,
                                                    const LoadOptions& options, Sources& sources,
                                                    Diagnostics& diagnostics);
// The same for a document that was made by the program (predict).
[[nodiscard]] std::optional<Scenario> load_scenario(JsonValue document, const std::string& file,
                                                    const LoadOptions& options, Sources& sources,
                                                    Diagnostics& diagnostics);

}  // namespace collsim
