// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/json/value.hpp"
#include "app/scenario/scenario.hpp"
#include "collectives/collective.hpp"
#include "collectives/cost/units.hpp"

namespace collsim {

// A value of a scenario in the form in which values are compared: "1MiB" is "1024KiB", 16 is 16.0,
// 0 is "0B", "bcast" as collective.op is "broadcast".  Lists and objects compare as written.
struct Comparable {
  enum class Kind : unsigned char { number, word, other } kind = Kind::other;
  double number = 0;
  Units units{};        // of a number; a bare 0 fits all
  std::string word;     // in the spelling of the documentation; true and false are words too
  std::string written;  // for messages: 64MiB, ring, 16, [0,1]

  // Values of these two can be equal at all: of one kind, and numbers of one unit.
  [[nodiscard]] bool comparable_with(const Comparable& other) const;
  [[nodiscard]] bool operator==(const Comparable& other) const;
  // "a plain number", "a size (bytes)", "a word".
  [[nodiscard]] std::string description() const;
};

// The path says what words mean (collective.op, .algorithm, .dtype and .reduction have aliases),
// the operation whose algorithms are meant.
[[nodiscard]] Comparable comparable(const JsonValue& value, std::string_view path,
                                    Operation operation);
// The same for what is written without quotes, as in at(time, algorithm, ring).
[[nodiscard]] Comparable comparable(std::string_view text, std::string_view path,
                                    Operation operation);

// Points of a sweep as coordinates on its axes; the last axis changes fastest.
class Grid {
 public:
  explicit Grid(const std::vector<Axis>& axes);

  [[nodiscard]] std::size_t axes() const { return axes_.size(); }
  [[nodiscard]] std::size_t points() const { return points_; }
  [[nodiscard]] std::size_t size(std::size_t axis) const { return axes_[axis].size; }
  [[nodiscard]] std::size_t coordinate(std::size_t point, std::size_t axis) const {
    return point / axes_[axis].stride % axes_[axis].size;
  }
  // The point with another coordinate on one axis.
  [[nodiscard]] std::size_t moved(std::size_t point, std::size_t axis,
                                  std::size_t coordinate_there) const {
    return point + coordinate_there * axes_[axis].stride -
           coordinate(point, axis) * axes_[axis].stride;
  }
  // Number of the axis' first path among those of CaseResult::params, and how many paths it has.
  [[nodiscard]] std::size_t first_path(std::size_t axis) const { return axes_[axis].first_path; }
  [[nodiscard]] std::size_t paths(std::size_t axis) const { return axes_[axis].paths; }

 private:
  struct Extent {
    std::size_t size = 1, stride = 1, first_path = 0, paths = 1;
  };
  std::vector<Extent> axes_;
  std::size_t points_ = 1;
};

// What expressions can know of a scenario before it runs.  Must not outlive the scenario; the grid
// may.
class ScenarioFacts {
 public:
  explicit ScenarioFacts(const Scenario& scenario);

  [[nodiscard]] const Scenario& scenario() const { return *scenario_; }
  [[nodiscard]] const std::shared_ptr<const Grid>& grid() const { return grid_; }
  [[nodiscard]] Operation operation() const { return operation_; }

  // False when a scenario certainly has no such thing, whatever the point of the sweep: B, alpha
  // and L need one "link" for the whole cluster.
  [[nodiscard]] bool may_have_link() const { return may_have_link_; }

  struct SweptPath {
    std::size_t axis = 0;
    std::size_t path = 0;  // of the axis
  };
  [[nodiscard]] const std::string& name(SweptPath swept) const {
    return scenario_->axes[swept.axis].paths[swept.path];
  }
  // By the path itself, by a symbol (S: collective.chunks), or by the path's last name when only
  // one swept path ends in it.  Several: they are all given back.
  [[nodiscard]] std::vector<SweptPath> find_swept(std::string_view name) const;
  [[nodiscard]] std::vector<std::string> swept_paths() const;
  // Its values, one for each point of the axis.
  [[nodiscard]] std::vector<Comparable> values(SweptPath swept) const;

 private:
  [[nodiscard]] bool may_be_set(std::string_view path) const;
  [[nodiscard]] bool links_may_be_alike() const;

  const Scenario* scenario_;
  std::shared_ptr<const Grid> grid_;
  Operation operation_ = Operation::all_reduce;
  bool may_have_link_ = true;
};

}  // namespace collsim
