// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/json/diagnostics.hpp"
#include "app/json/value.hpp"
#include "app/scenario/scenario.hpp"

namespace collsim {

// Remembers the last cluster built, so that a sweep over something else does not build it again.
// One per thread.
class ClusterCache {
 public:
  ClusterCache() = default;
  // Begins with the one that checking the scenario has read.
  explicit ClusterCache(const Scenario& scenario);

  // Null when something is wrong with it, which is then in the diagnostics.
  [[nodiscard]] std::shared_ptr<const Cluster> get(const JsonValue& cluster,
                                                   Diagnostics& diagnostics);
  // The same with every default visible.
  [[nodiscard]] const JsonValue& resolved() const { return resolved_; }

 private:
  JsonValue last_;
  JsonValue resolved_;
  std::shared_ptr<const Cluster> cluster_;
};

// Nothing when the combination of values makes no sense, which is then in the diagnostics.
[[nodiscard]] std::optional<Case> make_case(const Scenario& scenario, std::size_t point,
                                            ClusterCache& clusters, Diagnostics& diagnostics);

// The cluster as the messages of a step use it, under its protocol.
[[nodiscard]] std::shared_ptr<const Cluster> cluster_of(const TrainingStep& step,
                                                        std::shared_ptr<const Cluster> bare);

// --- for load_scenario() ---

// What axes that are wrong would have set.
struct UnknownParts {
  std::vector<std::string> paths;

  // Whether one of them is `path` or lies in it.
  [[nodiscard]] bool any_in(std::string_view path) const;
  // Whether this may be no mistake of the document: what is said to be missing, or does not fit to
  // the rest, would have been set.
  [[nodiscard]] bool explain(const Diagnostic& mistake) const;
};

// One point of a sweep, with its parts resolved.
struct PointReading {
  std::optional<Case> one_case;  // nothing: something is wrong or unknown
  JsonValue cluster, collective, workload, model;
};
[[nodiscard]] PointReading read_point(const Scenario& scenario, std::size_t point,
                                      const UnknownParts& unknown, ClusterCache& clusters,
                                      Diagnostics& diagnostics);

// Reads the first point and the other values of every axis, of a range `max_checks`, and reports
// what is wrong, each mistake once; see load_scenario().  Gives the first point with only those
// defaults that hold at all of them, so that the document with this in place of its parts means the
// same.
[[nodiscard]] PointReading check_points(const Scenario& scenario, std::size_t max_checks,
                                        const UnknownParts& unknown, ClusterCache& clusters,
                                        Diagnostics& diagnostics);

}  // namespace collsim
