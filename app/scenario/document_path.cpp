// SPDX-License-Identifier: Apache-2.0
#include "app/scenario/document_path.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "app/json/parse_json.hpp"
#include "app/json/screen_text.hpp"
#include "app/json/value.hpp"

namespace collsim {
namespace {

// Where the next step ends: at a dot, or nowhere.
std::size_t end_of_step(const std::vector<std::string>& steps, std::string_view rest) {
  if (steps.size() == 1 && steps[0] == "sweep") return std::string_view::npos;
  if (steps.size() != 2 || steps[0] != "cluster" || steps[1] != "override") return rest.find('.');
  constexpr std::string_view table = ".protocols";
  const std::size_t in_table = rest.find(std::string(table) + ".");
  return in_table == std::string_view::npos ? in_table : in_table + table.size();
}

template <class AnyValue>
AnyValue* child_of(AnyValue& parent, const std::string& step) {
  if (!parent.is_array()) return parent.find(step);
  const std::optional<std::size_t> number = number_in<std::size_t>(step);
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

// Where a value lies that was parsed on its own.
struct Shift {
  std::uint32_t source;
  std::uint32_t offset;

  [[nodiscard]] SourceRange operator()(const SourceRange& place) const {
    return {source, place.begin + offset, place.end + offset};
  }
  void move(JsonValue& value) const {
    value.place = (*this)(value.place);
    if (value.is_array())
      for (JsonValue& item : value.items()) move(item);
    if (value.is_object())
      for (JsonValue::Member& member : value.members()) {
        member.key_place = (*this)(member.key_place);
        move(member.value);
      }
  }
};

std::optional<JsonValue> read_value(const std::string& text, const Shift& shift,
                                    Diagnostics& diagnostics) {
  Sources alone;
  Diagnostics problems;
  const std::uint32_t source = alone.add(Sources::Kind::argument, {}, text);
  std::optional<JsonValue> value = parse_json(source, alone, problems);
  if (value && problems.empty()) {
    shift.move(*value);
    return value;
  }
  const bool must_be_json = text.starts_with('{') || text.starts_with('[');
  if (!must_be_json) {
    JsonValue word(text);
    word.place = shift({source, 0, static_cast<std::uint32_t>(text.size())});
    return word;
  }
  for (Diagnostic& problem : problems.sorted()) {
    problem.place = shift(problem.place);
    diagnostics.add(std::move(problem));
  }
  return std::nullopt;
}

class SetReader {
 public:
  SetReader(JsonValue& document, Sources& sources, Diagnostics& diagnostics)
      : document_(&document), sources_(&sources), diagnostics_(&diagnostics) {}

  std::optional<SetOption> apply(const std::string& option) {
    const std::size_t equals = option.find('=');
    const std::string path = option.substr(0, equals);
    const std::uint32_t source = sources_->add(Sources::Kind::argument, "--set " + option, option);
    const SourceRange place{source, 0, static_cast<std::uint32_t>(path.size())};
    if (equals == std::string::npos)
      return wrong(place, quoted(option) + " has no value",
                   "write path=value, such as --set collective.chunks=16");
    if (path == "include" || path.starts_with("include."))
      return wrong(place, "\"include\" cannot be set: files are read before", {});
    std::optional<JsonValue> value = read_value(
        option.substr(equals + 1), {source, static_cast<std::uint32_t>(equals + 1)}, *diagnostics_);
    if (!value) return std::nullopt;
    if (value->is_null()) {
      if (!take_away(*document_, path))
        return wrong(place, "there is no " + quoted(path) + " to take away",
                     "null removes a key of the file");
      return SetOption{path, place};
    }
    const std::optional<PathProblem> problem = put(*document_, path, std::move(*value), place);
    if (problem) return wrong(place, problem->message, problem->hint);
    return SetOption{path, place};
  }

 private:
  std::optional<SetOption> wrong(const SourceRange& place, std::string message, std::string hint) {
    return diagnostics_->add({.code = "bad-set",
                              .message = std::move(message),
                              .place = place,
                              .hint = std::move(hint)});
  }

  JsonValue* document_;
  Sources* sources_;
  Diagnostics* diagnostics_;
};

}  // namespace

std::optional<std::vector<std::string>> split_path(std::string_view path) {
  std::vector<std::string> steps;
  while (true) {
    const std::size_t dot = end_of_step(steps, path);
    steps.emplace_back(path.substr(0, dot));
    if (steps.back().empty()) return std::nullopt;
    if (dot == std::string_view::npos) return steps;
    path.remove_prefix(dot + 1);
  }
}

bool lies_in(std::string_view path, std::string_view outer) {
  return path.starts_with(outer) && (path.size() == outer.size() || path[outer.size()] == '.');
}

const JsonValue* value_at(const JsonValue& document, std::string_view path) {
  const std::optional<std::vector<std::string>> steps = split_path(path);
  if (!steps) return nullptr;
  const JsonValue* at = &document;
  for (const std::string& step : *steps) {
    at = child_of(*at, step);
    if (at == nullptr) return nullptr;
  }
  return at;
}

bool take_away(JsonValue& document, std::string_view path) {
  const std::optional<std::vector<std::string>> steps = split_path(path);
  if (!steps) return false;
  JsonValue* at = &document;
  for (std::size_t i = 0; i + 1 < steps->size(); ++i) {
    at = child_of(*at, (*steps)[i]);
    if (at == nullptr) return false;
  }
  if (at->find(steps->back()) == nullptr) return false;
  at->erase(steps->back());
  return true;
}

std::optional<PathProblem> put(JsonValue& document, std::string_view path, JsonValue value,
                               SourceRange key_place) {
  const std::optional<std::vector<std::string>> steps = split_path(path);
  if (!steps)
    return PathProblem{quoted(path) + " is not a path",
                       "a path is names with dots between them, such as \"collective.chunks\""};
  JsonValue* at = &document;
  for (std::size_t i = 0; i < steps->size(); ++i) {
    const std::string& step = (*steps)[i];
    if (at->is_array()) {
      const std::optional<std::size_t> number = number_in<std::size_t>(step);
      if (!number || *number >= at->items().size())
        return no_such_element(*steps, i, at->items().size());
      at = &at->items()[*number];
      continue;
    }
    if (!at->is_object())
      return PathProblem{quoted(first_steps(*steps, i)) + " is " + std::string(at->kind_name()) +
                             ", so there is no " + quoted(step) + " in it",
                         {}};
    JsonValue* next = at->find(step);
    if (next == nullptr) {
      JsonValue made = JsonValue::object();
      made.place = key_place;
      next = &at->set(step, std::move(made), key_place);
    }
    at = next;
  }
  *at = std::move(value);
  return std::nullopt;
}

std::vector<SetOption> apply_set_options(JsonValue& document,
                                         const std::vector<std::string>& options, Sources& sources,
                                         Diagnostics& diagnostics) {
  SetReader reader(document, sources, diagnostics);
  std::vector<SetOption> applied;
  for (const std::string& option : options)
    if (const std::optional<SetOption> one = reader.apply(option)) applied.push_back(*one);
  return applied;
}

}  // namespace collsim
