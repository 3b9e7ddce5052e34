// SPDX-License-Identifier: Apache-2.0
#include "app/commands/resolved_view.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "app/json/screen_text.hpp"

namespace collsim {
namespace {

struct Leaf {
  std::string path;     // collective.chunks
  std::string pointer;  // /collective/chunks
  const JsonValue* value;
};

bool is_plain(const JsonValue& value) {
  return !value.is_array() && !value.is_object();
}

// Lists of plain values stay whole: they are one thing to a reader.
bool is_leaf(const JsonValue& value) {
  if (value.is_object()) return value.members().empty();
  if (value.is_array()) return std::all_of(value.items().begin(), value.items().end(), is_plain);
  return true;
}

void collect(const JsonValue& value, const std::string& path, const std::string& pointer,
             std::vector<Leaf>& leaves) {
  const auto below = [&](const std::string& step) {
    return path.empty() ? step : path + "." + step;
  };
  if (is_leaf(value)) {
    leaves.push_back({path, pointer, &value});
  } else if (value.is_object()) {
    for (const JsonValue::Member& member : value.members())
      collect(member.value, below(member.key), pointer_to(pointer, member.key), leaves);
  } else {
    for (std::size_t i = 0; i < value.items().size(); ++i)
      collect(value.items()[i], below(std::to_string(i)), pointer_to(pointer, i), leaves);
  }
}

// Defaults of a preset are that machine's own.
std::string origin_of(const Leaf& leaf, const JsonValue& resolved, const Sources& sources) {
  const JsonValue* cluster = resolved.find("cluster");
  const JsonValue* preset = cluster != nullptr ? cluster->find("preset") : nullptr;
  if (preset != nullptr && leaf.value->place.source == SourceRange::nowhere &&
      leaf.path.starts_with("cluster.override."))
    return "preset " + preset->string();
  return sources.describe(leaf.value->place);
}

std::vector<Leaf> leaves_of(const JsonValue& resolved) {
  std::vector<Leaf> leaves;
  collect(resolved, {}, {}, leaves);
  return leaves;
}

}  // namespace

std::string resolved_text(const JsonValue& resolved, const Sources& sources) {
  const std::vector<Leaf> leaves = leaves_of(resolved);
  std::vector<std::string> values;
  std::size_t path_width = 0;
  std::size_t value_width = 0;
  for (const Leaf& leaf : leaves) {
    values.push_back(shortened(printable(plain_text(*leaf.value))));
    path_width = std::max(path_width, leaf.path.size());
    value_width = std::max(value_width, values.back().size());
  }
  std::string text;
  for (std::size_t i = 0; i < leaves.size(); ++i)
    text += fmt::format("{:{}} = {:{}}   {}\n", printable(leaves[i].path), path_width, values[i],
                        value_width, origin_of(leaves[i], resolved, sources));
  return text;
}

JsonValue resolved_value(const JsonValue& resolved, const Sources& sources) {
  JsonValue origins = JsonValue::object();
  for (const Leaf& leaf : leaves_of(resolved))
    origins.set(leaf.pointer, origin_of(leaf, resolved, sources));
  return JsonValue::object({{"scenario", resolved}, {"origins", std::move(origins)}});
}

}  // namespace collsim
