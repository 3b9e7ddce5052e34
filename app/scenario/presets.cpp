// SPDX-License-Identifier: Apache-2.0
#include "app/scenario/presets.hpp"

#include <algorithm>
#include <array>

#include "app/embedded_files.hpp"
#include "app/json/parse_json.hpp"
#include "app/scenario/fitted.hpp"

namespace collsim {

namespace {

const JsonValue& member(const JsonValue& object, std::string_view key, const std::string& of) {
  const JsonValue* found = object.find(key);
  COLLSIM_CHECK(found != nullptr, "preset " + of + " has no \"" + std::string(key) + "\"");
  return *found;
}

Preset read_preset(const EmbeddedFile& file) {
  Preset preset{.name = std::string(file.name)};
  const JsonValue& written = preset.written = parse_builtin("preset " + preset.name, file.text);
  COLLSIM_CHECK(member(written, "preset", preset.name).string() == preset.name,
                "preset " + preset.name + " has another name than its file");
  preset.title = member(written, "title", preset.name).string();
  preset.gpus = static_cast<int>(*member(written, "gpus", preset.name).integer());
  preset.calibrated = member(written, "calibrated", preset.name).boolean();
  preset.network = member(written, "network", preset.name).string();
  static_cast<void>(member(written, "cluster", preset.name));
  for (const JsonValue::Member& type : member(written, "link_types", preset.name).members())
    for (const std::string_view value : preset_link_values())
      static_cast<void>(member(type.value, value, preset.name));
  preset.document = on_network(preset, preset.network);
  return preset;
}

std::vector<Preset> read_presets() {
  std::vector<Preset> all;
  for (const EmbeddedFile& file : embedded_presets()) all.push_back(read_preset(file));
  std::sort(all.begin(), all.end(),
            [](const Preset& a, const Preset& b) { return a.name < b.name; });
  return all;
}

}  // namespace

std::span<const Preset> presets() {
  static const std::vector<Preset> all = read_presets();
  return all;
}

const Preset* find_preset(std::string_view name) {
  if (name.empty()) return nullptr;  // before all files of presets are read
  const auto canonical = preset_words().canonical(name);
  for (const Preset& preset : presets())
    if (preset.name == canonical) return &preset;
  return nullptr;
}

JsonValue on_network(const Preset& preset, std::string_view network) {
  return with_fitted_constants(preset.written, network);
}

const Vocabulary& preset_words() {
  static const Vocabulary words = [] {
    Vocabulary made{.what = "preset",
                    .aliases = {{"dgx-1", "dgx-1-v100"},
                                {"dgx1", "dgx-1-v100"},
                                {"v100", "dgx-1-v100"},
                                {"dgx-v100", "dgx-1-v100"},
                                {"dgx2", "dgx-2"},
                                {"a100", "dgx-a100"},
                                {"hgx-a100", "dgx-a100"},
                                {"h100", "dgx-h100"},
                                {"hgx-h100", "dgx-h100"},
                                {"h200", "hgx-h200"},
                                {"dgx-h200", "hgx-h200"},
                                {"b200", "dgx-b200"},
                                {"hgx-b200", "dgx-b200"},
                                {"gb200", "gb200-nvl72"},
                                {"nvl72", "gb200-nvl72"}}};
    for (const Preset& preset : presets()) made.allowed.push_back(preset.name);
    return made;
  }();
  return words;
}

std::span<const std::string_view> preset_link_values() {
  static constexpr std::array<std::string_view, 4> values{"bandwidth", "latency", "overhead",
                                                          "sharing"};
  return values;
}

}  // namespace collsim
