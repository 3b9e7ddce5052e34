// SPDX-License-Identifier: Apache-2.0
#include "app/expression/expression.hpp"

#include <algorithm>

#include "app/scenario/document_path.hpp"

namespace collsim {

namespace {

using Code = ExpressionStep::Code;

template <class Condition>
bool any_name(const ExpressionProgram& program, Condition condition) {
  return std::any_of(program.begin(), program.end(), [&](const ExpressionStep& step) {
    return step.code == Code::name && condition(entry_of(step.name));
  });
}

bool varies_along(const NameEntry& entry, const Axis& axis) {
  if (entry.path.empty()) return true;
  return std::any_of(axis.paths.begin(), axis.paths.end(), [&](const std::string& swept) {
    return lies_in(swept, entry.path) || lies_in(entry.path, swept);
  });
}

}  // namespace

bool Expression::mentions(Name name) const {
  const auto is_it = [&](const NameEntry& entry) { return entry.name == name; };
  return any_name(program_, is_it) ||
         std::any_of(selections_.begin(), selections_.end(),
                     [&](const auto& selection) { return any_name(selection.metric, is_it); }) ||
         std::any_of(errors_.begin(), errors_.end(),
                     [&](const auto& metric) { return any_name(metric, is_it); });
}

bool Expression::follows_of() const {
  return mentions(Name::time) || mentions(Name::algbw) || mentions(Name::busbw);
}

std::optional<std::string_view> Expression::part_varying_along(std::size_t axis,
                                                               const Scenario& scenario) const {
  const ExpressionStep* step = step_varying_along(program_, axis, scenario);
  if (step == nullptr) return std::nullopt;
  return std::string_view(text_).substr(step->begin, step->end - step->begin);
}

const ExpressionStep* Expression::step_varying_along(const ExpressionProgram& program,
                                                     std::size_t axis,
                                                     const Scenario& scenario) const {
  for (const ExpressionStep& step : program) {
    if (step.code == Code::name && varies_along(entry_of(step.name), scenario.axes[axis]))
      return &step;
    if (step.code == Code::measurement) return &step;  // of a metric, always
    if (step.code != Code::selection) continue;
    const ExpressionSelection& selection = selections_[step.selection];
    if (selection.axis != axis && step_varying_along(selection.metric, axis, scenario) != nullptr)
      return &step;
  }
  return nullptr;
}

}  // namespace collsim
