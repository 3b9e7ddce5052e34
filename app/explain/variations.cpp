// SPDX-License-Identifier: Apache-2.0
#include "app/explain/variations.hpp"

#include <algorithm>
#include <utility>

#include "app/scenario/document_path.hpp"
#include "topo/error.hpp"

namespace collsim {

Variations::Variations(const Scenario& scenario, std::size_t point)
    : point_(scenario), clusters_(scenario) {
  point_.axes.clear();
  for (const auto& [path, value] : scenario.params(point))
    point_.axes.push_back({{path}, {{value}}, {}});
  Diagnostics known;  // it was made before
  PointReading read = read_point(scenario, point, {}, clusters_, known);
  said_ = JsonValue::object(
      {{"cluster", std::move(read.cluster)}, {"workload", std::move(read.workload)}});
  const JsonValue* const link = value_at(said_, "cluster.link");
  has_one_link_ = link != nullptr && link->is_object() && says("cluster.shape") &&
                  !says("cluster.links_override");
}

const JsonValue* Variations::said(std::string_view path) const {
  return value_at(said_, path);
}

bool Variations::says(std::string_view path) const {
  const JsonValue* const value = said(path);
  if (value == nullptr) return false;
  if (value->is_array()) return !value->items().empty();
  return !value->is_object() || !value->members().empty();
}

Case Variations::with(const Params& changes) {
  Scenario varied = point_;
  const auto is_changed = [&](const Axis& axis) {
    return std::any_of(changes.begin(), changes.end(),
                       [&](const auto& change) { return axis.paths.front() == change.first; });
  };
  std::erase_if(varied.axes, is_changed);
  // The first axis is put in last, over all others.
  for (const auto& [path, value] : changes)
    varied.axes.insert(varied.axes.begin(), Axis{{path}, {{value}}, {}});
  Diagnostics mistakes;
  std::optional<Case> made = make_case(varied, 0, clusters_, mistakes);
  if (!made) throw_error(ErrorCode::invalid_argument, mistakes.sorted().front().message);
  return std::move(*made);
}

}  // namespace collsim
