// SPDX-License-Identifier: Apache-2.0
#include "app/expression/expectation_internal.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <span>

#include "app/expression/names.hpp"
#include "app/scenario/document_path.hpp"
#include "app/scenario/object_reader.hpp"
#include "app/scenario/quantities.hpp"

namespace collsim {

namespace {

// All paths of plain values and lists, for suggestions.
void collect_paths(const JsonValue& value, const std::string& path,
                   std::vector<std::string>& paths) {
  if (!value.is_object()) {
    paths.push_back(path);
    return;
  }
  for (const JsonValue::Member& member : value.members())
    collect_paths(member.value, path.empty() ? member.key : path + "." + member.key, paths);
}

// One key of "when".
class PathReader {
 public:
  PathReader(const JsonValue::Member& member, std::string pointer, const ScenarioFacts& facts,
             Diagnostics& diagnostics)
      : member_(&member),
        pointer_(std::move(pointer)),
        facts_(&facts),
        diagnostics_(&diagnostics),
        path_(member.key) {}

  void read(Condition& condition) {
    if (!find_axis() && value_at(facts_->scenario().resolved, path_) == nullptr)
      if (const auto swept = facts_->find_swept(path_); swept.size() == 1)
        path_ = facts_->name(swept.front());
    const std::vector<Comparable> wanted = wanted_values();
    if (wanted.empty()) return;
    if (const auto swept = find_axis()) {
      const std::vector<std::optional<Comparable>> values = values_along(*swept);
      if (!may_match(wanted, values)) return;
      std::vector<char> allowed;
      allowed.reserve(values.size());
      for (const auto& value : values)
        allowed.push_back(value && is_one_of(*value, wanted) ? 1 : 0);
      condition.allowed.emplace_back(swept->axis, std::move(allowed));
    } else if (const JsonValue* fixed = value_at(facts_->scenario().resolved, path())) {
      const std::vector<std::optional<Comparable>> values{
          comparable(*fixed, path(), facts_->operation())};
      if (!may_match(wanted, values)) return;
      if (!is_one_of(*values.front(), wanted)) condition.never = true;
    } else {
      unknown_path();
      return;
    }
    condition.text += condition.text.empty() ? "" : ", ";
    condition.text += path() + " = ";
    for (std::size_t i = 0; i < wanted.size(); ++i)
      condition.text += (i == 0 ? "" : " or ") + wanted[i].written;
  }

 private:
  using SweptPath = ScenarioFacts::SweptPath;

  [[nodiscard]] const std::string& path() const { return path_; }

  static bool is_one_of(const Comparable& value, const std::vector<Comparable>& wanted) {
    return std::find(wanted.begin(), wanted.end(), value) != wanted.end();
  }

  std::vector<Comparable> wanted_values() {
    const JsonValue& value = member_->value;
    std::vector<Comparable> wanted;
    if (!value.is_array()) return {comparable(value, path(), facts_->operation())};
    for (const JsonValue& one : value.items())
      wanted.push_back(comparable(one, path(), facts_->operation()));
    if (wanted.empty())
      report(value.place, "empty-list", "an empty list matches no row", {},
             "write a value, or a list of values");
    return wanted;
  }

  // The axis that sets this path, or something around it.
  std::optional<SweptPath> find_axis() {
    const auto& axes = facts_->scenario().axes;
    std::optional<SweptPath> found;
    for (std::size_t axis = 0; axis < axes.size(); ++axis)
      for (std::size_t i = 0; i < axes[axis].paths.size(); ++i) {
        if (axes[axis].paths[i] == path()) return SweptPath{axis, i};
        if (lies_in(path(), axes[axis].paths[i])) found = SweptPath{axis, i};
      }
    return found;
  }

  // Nothing where a swept object has no such member.
  std::vector<std::optional<Comparable>> values_along(SweptPath swept) {
    const std::string& outer = facts_->name(swept);
    std::vector<std::optional<Comparable>> values;
    for (const std::vector<JsonValue>& point : facts_->scenario().axes[swept.axis].points) {
      const JsonValue* value = &point[swept.path];
      if (outer.size() < path().size())
        value = value_at(*value, std::string_view(path()).substr(outer.size() + 1));
      values.push_back(value == nullptr
                           ? std::nullopt
                           : std::optional(comparable(*value, path(), facts_->operation())));
    }
    return values;
  }

  // Reports the first wanted value whose kind differs from that of all existing ones.
  bool may_match(const std::vector<Comparable>& wanted,
                 std::span<const std::optional<Comparable>> values) {
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      const auto first = std::find_if(values.begin(), values.end(),
                                      [](const auto& value) { return value.has_value(); });
      if (first == values.end()) continue;
      const bool possible = std::any_of(values.begin(), values.end(), [&](const auto& value) {
        return value && value->comparable_with(wanted[i]);
      });
      if (possible) continue;
      const JsonValue& written =
          member_->value.is_array() ? member_->value.items()[i] : member_->value;
      report_kind(written.place, wanted[i], **first);
      return false;
    }
    return true;
  }

  void report_kind(const SourceRange& place, const Comparable& wanted, const Comparable& there) {
    const bool is_word = wanted.kind == Comparable::Kind::word;
    if (is_word && there.units == units_size) {  // "64M": the quantity's own message says more
      const auto parsed = parse_size(wanted.written);
      if (!parsed.value) {
        report(place, parsed.error.code, parsed.error.message, parsed.error.suggestion,
               parsed.error.hint);
        return;
      }
    }
    const bool list = there.kind == Comparable::Kind::other;
    report(place, "wrong-type",
           fmt::format("{} is {}, but {} has values such as {}",
                       is_word ? in_quotes(wanted.written) : wanted.written, wanted.description(),
                       path(), there.written),
           {}, list ? "a list here is a list of alternatives: write [[0, 1]], not [0, 1]" : "");
  }

  void unknown_path() {
    std::vector<std::string> paths = facts_->swept_paths();
    const std::vector<std::string> swept = paths;
    for (const char* section : {"cluster", "collective", "workload", "model"})
      if (const JsonValue* value = facts_->scenario().resolved.find(section))
        collect_paths(*value, section, paths);
    const Vocabulary words{.what = "path", .allowed = paths};
    std::string nearest = words.nearest(path());
    for (const std::string& candidate : paths)
      if (nearest.empty() && candidate.ends_with("." + path())) nearest = candidate;
    report(member_->key_place, "unknown-path",
           in_quotes(path()) + " is neither swept nor in the scenario", nearest,
           swept.empty() ? "" : fmt::format("swept: {}", fmt::join(swept, ", ")));
  }

  void report(const SourceRange& place, std::string code, std::string message,
              std::string suggestion, std::string hint) {
    diagnostics_->add({std::move(code), std::move(message), place,
                       pointer_to(pointer_, member_->key), std::move(suggestion), std::move(hint)});
  }

  const JsonValue::Member* member_;
  std::string pointer_;
  const ScenarioFacts* facts_;
  Diagnostics* diagnostics_;
  std::string path_;  // in full, also where the key is a short name
};

}  // namespace

std::vector<char> Condition::matches(const Grid& grid) const {
  std::vector<char> result(grid.points(), never ? 0 : 1);
  for (const auto& [axis, points] : allowed)
    for (std::size_t point = 0; point < result.size(); ++point)
      if (points[grid.coordinate(point, axis)] == 0) result[point] = 0;
  return result;
}

Condition read_condition(const JsonValue& when, const std::string& pointer,
                         const ScenarioFacts& facts, Diagnostics& diagnostics) {
  Condition condition;
  if (!when.is_object()) {
    diagnostics.add({"wrong-type",
                     fmt::format("expected an object, but this is {}", when.kind_name()),
                     when.place, pointer, "",
                     "write { \"path\": value }, as in { \"collective.chunks\": [1, 2] }"});
    return condition;
  }
  for (const JsonValue::Member& member : when.members())
    PathReader(member, pointer, facts, diagnostics).read(condition);
  return condition;
}

}  // namespace collsim
