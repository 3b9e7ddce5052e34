// SPDX-License-Identifier: Apache-2.0
#include "app/scenario/document_path.hpp"

#include <charconv>
#include <cstddef>
#include <utility>

#include "app/json/write_json.hpp"

namespace collsim {
namespace {

bool rest_is_one_name(const std::vector<std::string>& steps) {
  return (steps.size() == 1 && steps[0] == "sweep") ||
         (steps.size() == 2 && steps[0] == "cluster" && steps[1] == "override");
}

std::optional<std::size_t> element_number(const std::string& step) {
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(step.data(), step.data() + step.size(), number);
  if (error != std::errc() || end != step.data() + step.size()) return std::nullopt;
  return number;
}

template <class AnyValue>
AnyValue* child_of(AnyValue& parent, const std::string& step) {
  if (!parent.is_array()) return parent.find(step);
  const std::optional<std::size_t> number = element_number(step);
  return number && *number < parent.items().size() ? &parent.items()[*number] : nullptr;
}

std::string first_steps(const std::vector<std::string>& steps, std::size_t count) {
  std::string path;
  for (std::size_t i = 0; i < count; ++i) path += (i == 0 ? "" : ".") + steps[i];
  return path;
}

PathProblem no_such_element(const std::vector<std::string>& steps, std::size_t at,
                            std::size_t elements) {
  const std::string list = quoted(first_steps(steps, at));
  if (elements == 0)
    return {list + " is an empty list, so it has no element " + quoted(steps[at]), {}};
  return {list + " is a list of " + std::to_string(elements) +
              (elements == 1 ? " element" : " elements") + ", which has no element " +
              quoted(steps[at]),
          "elements are numbered from 0 to " + std::to_string(elements - 1)};
}

}  // namespace

std::optional<std::vector<std::string>> split_path(std::string_view path) {
  std::vector<std::string> steps;
  while (true) {
    const std::size_t dot = rest_is_one_name(steps) ? std::string_view::npos : path.find('.');
    steps.emplace_back(path.substr(0, dot));
    if (steps.back().empty()) return std::nullopt;
    if (dot == std::string_view::npos) return steps;
    path.remove_prefix(dot + 1);
  }
}

bool lies_in(std::string_view path, std::string_view outer) {
  return path.starts_with(outer) && (path.size() == outer.size() || path[outer.size()] == '.');
}

const Value* value_at(const Value& document, std::string_view path) {
  const std::optional<std::vector<std::string>> steps = split_path(path);
  if (!steps) return nullptr;
  const Value* at = &document;
  for (const std::string& step : *steps) {
    at = child_of(*at, step);
    if (at == nullptr) return nullptr;
  }
  return at;
}

bool take_away(Value& document, std::string_view path) {
  const std::optional<std::vector<std::string>> steps = split_path(path);
  if (!steps) return false;
  Value* at = &document;
  for (std::size_t i = 0; i + 1 < steps->size(); ++i) {
    at = child_of(*at, (*steps)[i]);
    if (at == nullptr) return false;
  }
  if (at->find(steps->back()) == nullptr) return false;
  at->erase(steps->back());
  return true;
}

std::optional<PathProblem> put(Value& document, std::string_view path, Value value,
                               Place key_place) {
  const std::optional<std::vector<std::string>> steps = split_path(path);
  if (!steps)
    return PathProblem{quoted(path) + " is not a path",
                       "a path is names with dots between them, such as \"collective.chunks\""};
  Value* at = &document;
  for (std::size_t i = 0; i < steps->size(); ++i) {
    const std::string& step = (*steps)[i];
    if (at->is_array()) {
      const std::optional<std::size_t> number = element_number(step);
      if (!number || *number >= at->items().size())
        return no_such_element(*steps, i, at->items().size());
      at = &at->items()[*number];
      continue;
    }
    if (!at->is_object())
      return PathProblem{quoted(first_steps(*steps, i)) + " is " + std::string(at->kind_name()) +
                             ", so there is no " + quoted(step) + " in it",
                         {}};
    Value* next = at->find(step);
    if (next == nullptr) {
      Value made = Value::object();
      made.place = key_place;
      next = &at->set(step, std::move(made), key_place);
    }
    at = next;
  }
  *at = std::move(value);
  return std::nullopt;
}

}  // namespace collsim
