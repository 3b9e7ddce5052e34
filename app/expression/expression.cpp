// SPDX-License-Identifier: Apache-2.0
#include "app/expression/expression.hpp"

#include <algorithm>

#include "app/expression/language.hpp"
#include "app/json/value.hpp"
#include "app/scenario/document_path.hpp"

namespace collsim {

namespace {

using Kind = FormulaNode::Kind;

Name name_of(const FormulaNode& node) {
  return static_cast<Name>(node.id);
}

bool varies_along(const NameEntry& entry, const Axis& axis) {
  if (entry.path.empty()) return true;
  return std::any_of(axis.paths.begin(), axis.paths.end(), [&](const std::string& swept) {
    return lies_in(swept, entry.path) || lies_in(entry.path, swept);
  });
}

}  // namespace

ParsedExpression Expression::parse(std::string_view text, const ScenarioFacts& facts) {
  ExpressionLanguage language(facts);
  FormulaParser parser(text, language);
  std::optional<FormulaTree> tree = parser.parse();
  if (!tree) return {std::nullopt, language.with_hint(parser.error(), text)};
  Expression result;
  result.tree_ = *std::move(tree);
  result.selections_ = std::move(language.selections());
  return {std::move(result), {}};
}

Expression Expression::constant(double number, std::string text) {
  Expression result;
  result.tree_.nodes.push_back({.kind = Kind::number, .number = number});
  result.tree_.root.value = number;
  result.tree_.root.zero = number == 0;
  result.tree_.text = std::move(text);
  return result;
}

const ExpressionSelection* Expression::word() const {
  if (!tree_.root.word) return nullptr;
  const FormulaNode* node = &tree_.nodes[tree_.root.node];
  while (node->kind == Kind::defined) node = &tree_.nodes[tree_.definitions[node->id].body.node];
  return &selections_[node->id];
}

bool Expression::mentions(Name name) const {
  bool found = false;
  tree_.visit(tree_.root.node, [&](const FormulaNode& node) {
    found |= node.kind == Kind::name && name_of(node) == name;
    return !found;
  });
  return found;
}

bool Expression::follows_of() const {
  return mentions(Name::time) || mentions(Name::algbw) || mentions(Name::busbw);
}

bool Expression::needs_measurement() const {
  return mentions(Name::measured) ||
         std::any_of(selections_.begin(), selections_.end(), [](const auto& selection) {
           return selection.kind == SelectionKind::relative_error;
         });
}

std::vector<std::size_t> Expression::collapsed_axes() const {
  std::vector<std::size_t> axes;
  tree_.visit(tree_.root.node, [&](const FormulaNode& node) {
    if (node.kind != Kind::special) return true;
    const ExpressionSelection& selection = selections_[node.id];
    if (selection.kind == SelectionKind::argmin || selection.kind == SelectionKind::argmax)
      axes.push_back(selection.axis);
    return false;
  });
  return axes;
}

std::optional<std::string_view> Expression::part_varying_along(std::size_t axis,
                                                               const Scenario& scenario) const {
  std::vector<char> steady(tree_.definitions.size());
  const FormulaNode* node = varying_along(tree_.root.node, axis, scenario, steady);
  return node == nullptr ? std::nullopt : std::optional(tree_.text_of(*node));
}

const FormulaNode* Expression::varying_along(std::uint32_t number, std::size_t axis,
                                             const Scenario& scenario,
                                             std::vector<char>& steady) const {
  const FormulaNode& node = tree_.nodes[number];
  if (node.kind == Kind::name)
    return varies_along(entry_of(name_of(node)), scenario.axes[axis]) ? &node : nullptr;
  if (node.kind == Kind::special) {
    const ExpressionSelection& selection = selections_[node.id];
    if (selection.kind == SelectionKind::relative_error || selection.kind == SelectionKind::idle)
      return &node;  // a metric, or of one
    const bool chooses = selection.axis == axis;
    return !chooses && varying_along(node.left, axis, scenario, steady) ? &node : nullptr;
  }
  for (const std::uint32_t child : {node.left, node.right, node.term})
    if (child != FormulaNode::none)
      if (const FormulaNode* found = varying_along(child, axis, scenario, steady)) return found;
  if (node.kind != Kind::defined || steady[node.id] != 0) return nullptr;
  const FormulaTree::Definition& definition = tree_.definitions[node.id];
  const FormulaNode* found = varying_along(definition.body.node, axis, scenario, steady);
  steady[node.id] = found == nullptr ? 1 : 0;
  return found != nullptr && definition.built_in ? &node : found;  // shown is the user's own text
}

}  // namespace collsim
