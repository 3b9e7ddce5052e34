// SPDX-License-Identifier: Apache-2.0
#include "app/expression/scenario_facts.hpp"

#include "app/expression/names.hpp"
#include "app/scenario/document_path.hpp"
#include "app/scenario/vocabulary.hpp"
#include "topo/error.hpp"

namespace collsim {

Grid::Grid(const std::vector<Axis>& axes) : axes_(axes.size()) {
  std::size_t paths = 0;
  for (std::size_t axis = 0; axis < axes.size(); ++axis) {
    axes_[axis].size = axes[axis].points.size();
    axes_[axis].first_path = paths;
    axes_[axis].paths = axes[axis].paths.size();
    paths += axes_[axis].paths;
    COLLSIM_CHECK(axes_[axis].size > 0, "an axis of a sweep has no points");
  }
  for (std::size_t axis = axes.size(); axis-- > 0;) {
    axes_[axis].stride = points_;
    points_ *= axes_[axis].size;
  }
}

ScenarioFacts::ScenarioFacts(const Scenario& scenario)
    : scenario_(&scenario), grid_(std::make_shared<const Grid>(scenario.axes)) {
  const Value* op = value_at(scenario.resolved, "collective.op");
  if (op != nullptr && op->is_string()) {
    const auto word = operation_words().canonical(op->string());
    for (const Operation operation : all_operations())
      if (word && to_string(operation) == *word) operation_ = operation;
  }
  may_have_link_ = may_be_set("cluster.link");
}

bool ScenarioFacts::may_be_set(std::string_view path) const {
  for (const Value* document : {&scenario_->resolved, &scenario_->document}) {
    const Value* value = value_at(*document, path);
    if (value != nullptr && !value->is_null()) return true;
  }
  for (const Axis& axis : scenario_->axes)
    for (const std::string& swept : axis.paths)
      if (lies_in(swept, path) || lies_in(path, swept)) return true;
  return false;
}

std::vector<ScenarioFacts::SweptPath> ScenarioFacts::find_swept(std::string_view name) const {
  std::vector<SweptPath> exact, last;
  const NameEntry* symbol = find_name(name);
  for (std::size_t axis = 0; axis < scenario_->axes.size(); ++axis)
    for (std::size_t path = 0; path < scenario_->axes[axis].paths.size(); ++path) {
      const std::string& swept = scenario_->axes[axis].paths[path];
      if (swept == name || (symbol != nullptr && swept == symbol->path))
        exact.push_back({axis, path});
      if (swept.size() > name.size() && swept.ends_with(name) &&
          swept[swept.size() - name.size() - 1] == '.')
        last.push_back({axis, path});
    }
  return exact.empty() ? last : exact;
}

std::vector<std::string> ScenarioFacts::swept_paths() const {
  std::vector<std::string> paths;
  for (const Axis& axis : scenario_->axes)
    paths.insert(paths.end(), axis.paths.begin(), axis.paths.end());
  return paths;
}

std::vector<Comparable> ScenarioFacts::values(SweptPath swept) const {
  const Axis& axis = scenario_->axes[swept.axis];
  std::vector<Comparable> values;
  values.reserve(axis.points.size());
  for (const std::vector<Value>& point : axis.points)
    values.push_back(comparable(point[swept.path], axis.paths[swept.path], operation_));
  return values;
}

}  // namespace collsim
