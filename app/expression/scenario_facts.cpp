// SPDX-License-Identifier: Apache-2.0
#include "app/expression/scenario_facts.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "app/expression/names.hpp"
#include "app/json/screen_text.hpp"
#include "app/json/value.hpp"
#include "app/scenario/document_path.hpp"
#include "app/scenario/quantities.hpp"
#include "app/scenario/vocabulary.hpp"
#include "topo/error.hpp"

namespace collsim {
namespace {

std::string in_house_spelling(std::string_view word) {
  std::string result;
  for (const char letter : word) {
    if (letter == '_')
      result += '-';
    else if (letter >= 'A' && letter <= 'Z')
      result += static_cast<char>(letter - 'A' + 'a');
    else
      result += letter;
  }
  return result;
}

std::string canonical_word(std::string_view written, std::string_view path, Operation operation) {
  const Vocabulary* words = nullptr;
  if (path == "collective.op") words = &operation_words();
  if (path == "collective.algorithm") words = &algorithm_words(operation);
  if (path == "collective.dtype") words = &element_type_words();
  if (path == "collective.reduction") words = &reduction_words();
  if (words != nullptr)
    if (auto word = words->canonical(written)) return *word;
  return in_house_spelling(written);
}

std::optional<Comparable> quantity(std::string_view text) {
  Comparable result{.kind = Comparable::Kind::number, .word = {}, .written = std::string(text)};
  if (const auto size = parse_size(text); size.value) {
    result.number = static_cast<double>(*size.value);
    result.units = units_size;
    return result;
  }
  if (const auto time = parse_time(text); time.value) {
    result.number = time.value->seconds();
    result.units = units_time;
    return result;
  }
  if (const auto bandwidth = parse_bandwidth(text); bandwidth.value) {
    result.number = static_cast<double>(bandwidth.value->bytes_per_second());
    result.units = units_bandwidth;
    return result;
  }
  return {};
}

Comparable from_string(std::string_view text, std::string_view path, Operation operation) {
  const bool starts_like_number = !text.empty() && text.front() >= '0' && text.front() <= '9';
  if (starts_like_number)
    if (auto result = quantity(text)) return *result;
  return {.kind = Comparable::Kind::word,
          .word = canonical_word(text, path, operation),
          .written = std::string(text)};
}

}  // namespace

bool Comparable::comparable_with(const Comparable& other) const {
  if (kind != other.kind) return false;
  if (kind != Kind::number) return true;
  const auto bare_zero = [](const Comparable& one) { return one.number == 0 && one.units.none(); };
  return units == other.units || bare_zero(*this) || bare_zero(other);
}

bool Comparable::operator==(const Comparable& other) const {
  if (!comparable_with(other)) return false;
  switch (kind) {
    case Kind::number: return number == other.number;
    case Kind::word: return word == other.word;
    case Kind::other: break;
  }
  return written == other.written;
}

std::string Comparable::description() const {
  switch (kind) {
    case Kind::number: return units.description();
    case Kind::word: return "a word";
    case Kind::other: break;
  }
  return "an object or a list";
}

Comparable comparable(const JsonValue& value, std::string_view path, Operation operation) {
  if (value.is_string()) return from_string(value.string(), path, operation);
  if (const std::string* const file = file_read(value)) return from_string(*file, path, operation);
  if (value.is_number())
    return {.kind = Comparable::Kind::number,
            .number = value.number(),
            .word = {},
            .written = to_json(value, -1)};
  if (value.is_boolean() || value.is_null()) {
    const std::string text = to_json(value, -1);
    return {.kind = Comparable::Kind::word, .word = text, .written = text};
  }
  return {.kind = Comparable::Kind::other, .word = {}, .written = to_json(value, -1)};
}

Comparable comparable(std::string_view text, std::string_view path, Operation operation) {
  const auto number = number_in<double>(text);
  if (number && std::isfinite(*number))
    return {.kind = Comparable::Kind::number,
            .number = *number,
            .word = {},
            .written = std::string(text)};
  return from_string(text, path, operation);
}

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
  const JsonValue* op = value_at(scenario.resolved, "collective.op");
  if (op != nullptr && op->is_string()) {
    const auto word = operation_words().canonical(op->string());
    for (const Operation operation : all_operations())
      if (word && to_string(operation) == *word) operation_ = operation;
  }
  may_have_link_ =
      may_be_set("cluster.link") || (may_be_set("cluster.links") && links_may_be_alike());
}

// Those of an explicit graph, as far as they are written.
bool ScenarioFacts::links_may_be_alike() const {
  const JsonValue* const links = value_at(scenario_->resolved, "cluster.links");
  const JsonValue* const network = value_at(scenario_->resolved, "cluster.network.link");
  if (links == nullptr || !links->is_array() || links->items().empty()) return true;
  const auto kind = [](JsonValue link) {
    for (const char* end : {"from", "to", "down"}) link.erase(end);
    return link;
  };
  const JsonValue first = kind(links->items().front());
  return (network == nullptr || kind(*network) == first) &&
         std::all_of(links->items().begin(), links->items().end(),
                     [&](const JsonValue& link) { return kind(link) == first; });
}

bool ScenarioFacts::may_be_set(std::string_view path) const {
  for (const JsonValue* document : {&scenario_->resolved, &scenario_->document}) {
    const JsonValue* value = value_at(*document, path);
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
  for (const std::vector<JsonValue>& point : axis.points)
    values.push_back(comparable(point[swept.path], axis.paths[swept.path], operation_));
  return values;
}

}  // namespace collsim
