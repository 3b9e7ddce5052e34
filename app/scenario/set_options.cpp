// SPDX-License-Identifier: Apache-2.0
#include "app/scenario/set_options.hpp"

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "app/json/parse_json.hpp"
#include "app/json/write_json.hpp"
#include "app/scenario/document_path.hpp"

namespace collsim {
namespace {

// Where a value lies that was parsed on its own.
struct Shift {
  std::uint32_t source;
  std::uint32_t offset;

  [[nodiscard]] Place operator()(const Place& place) const {
    return {source, place.begin + offset, place.end + offset};
  }
  void move(Value& value) const {
    value.place = (*this)(value.place);
    if (value.is_array())
      for (Value& item : value.items()) move(item);
    if (value.is_object())
      for (Value::Member& member : value.members()) {
        member.key_place = (*this)(member.key_place);
        move(member.value);
      }
  }
};

std::optional<Value> read_value(const std::string& text, const Shift& shift,
                                Diagnostics& diagnostics) {
  Sources alone;
  Diagnostics problems;
  const std::uint32_t source = alone.add(Sources::Kind::argument, {}, text);
  std::optional<Value> value = parse_json(source, alone, problems);
  if (value && problems.empty()) {
    shift.move(*value);
    return value;
  }
  const bool must_be_json = text.starts_with('{') || text.starts_with('[');
  if (!must_be_json) {
    Value word(text);
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
  SetReader(Value& document, Sources& sources, Diagnostics& diagnostics)
      : document_(&document), sources_(&sources), diagnostics_(&diagnostics) {}

  std::optional<SetOption> apply(const std::string& option) {
    const std::size_t equals = option.find('=');
    const std::string path = option.substr(0, equals);
    const std::uint32_t source = sources_->add(Sources::Kind::argument, "--set " + option, option);
    const Place place{source, 0, static_cast<std::uint32_t>(path.size())};
    if (equals == std::string::npos)
      return wrong(place, quoted(option) + " has no value",
                   "write path=value, such as --set collective.chunks=16");
    if (path == "include" || path.starts_with("include."))
      return wrong(place, "\"include\" cannot be set: files are read before", {});
    std::optional<Value> value = read_value(
        option.substr(equals + 1), {source, static_cast<std::uint32_t>(equals + 1)}, *diagnostics_);
    if (!value) return std::nullopt;
    if (value->is_null()) {
      if (!take_away(*document_, path))
        return wrong(place, "there is no " + quoted(path) + " to take away",
                     "null takes away what the file has at a path");
      return SetOption{path, place};
    }
    const std::optional<PathProblem> problem = put(*document_, path, std::move(*value), place);
    if (problem) return wrong(place, problem->message, problem->hint);
    return SetOption{path, place};
  }

 private:
  std::optional<SetOption> wrong(const Place& place, std::string message, std::string hint) {
    diagnostics_->add({.code = "bad-set",
                       .message = std::move(message),
                       .place = place,
                       .pointer = {},
                       .suggestion = {},
                       .hint = std::move(hint)});
    return std::nullopt;
  }

  Value* document_;
  Sources* sources_;
  Diagnostics* diagnostics_;
};

}  // namespace

std::vector<SetOption> apply_set_options(Value& document, const std::vector<std::string>& options,
                                         Sources& sources, Diagnostics& diagnostics) {
  SetReader reader(document, sources, diagnostics);
  std::vector<SetOption> applied;
  for (const std::string& option : options)
    if (const std::optional<SetOption> one = reader.apply(option)) applied.push_back(*one);
  return applied;
}

}  // namespace collsim
