// SPDX-License-Identifier: Apache-2.0
#include "app/scenario/presets.hpp"

#include <fmt/format.h>

#include <memory>
#include <ostream>

#include "app/commands/command.hpp"
#include "app/json/screen_text.hpp"
#include "app/json/value.hpp"
#include "app/output/text_table.hpp"
#include "app/scenario/fitted.hpp"
#include "app/scenario/quantities.hpp"
#include "app/scenario/workload/device.hpp"

namespace collsim {
namespace {

struct PresetsOptions {
  std::string name;
  std::string format = "text";
};

int list(Terminal& terminal) {
  TextTable table;
  table.add_column("preset", TextTable::Align::left);
  table.add_column("GPUs");
  table.add_column("calibrated", TextTable::Align::left);
  table.add_column("description", TextTable::Align::left);
  for (const Preset& preset : presets())
    table.add_row(
        {preset.name, std::to_string(preset.gpus), preset.calibrated ? "yes" : "no", preset.title});
  terminal.out << table.text("", terminal.columns)
               << "\nGPUs of one node; \"nodes\" joins several.  \"calibrated: yes\": "
                  "what NCCL's protocols\ncost there was fitted to published tables of such "
                  "machines; \"no\": it is that of similar ones.\n\"collsim presets show NAME\" "
                  "gives every number and its source.\n";
  return exit_fine;
}

// Folds a text into lines behind `first`, each line indented by as much.
std::string folded(const std::string& first, const std::string& text) {
  constexpr std::size_t page_width = 96;
  std::string all = first;
  std::size_t column = first.size();
  bool fresh = true;
  for (const std::string& word : split(text, ' ')) {
    if (!fresh && column + 1 + word.size() > page_width) {
      all += '\n' + std::string(first.size(), ' ');
      column = first.size();
      fresh = true;
    }
    all += (fresh ? "" : " ") + word;
    column += word.size() + (fresh ? 0 : 1);
    fresh = false;
  }
  return all + '\n';
}

std::string readable(std::string_view property, const std::string& value) {
  if (property == "bandwidth") return to_text(*parse_bandwidth(value).value);
  if (property == "sharing") return value;
  return to_text(*parse_time(value).value);
}

// "LL 370 ns (+36%), 50%": flight, its growth with the message, share of the bandwidth.
std::string protocols_text(const JsonValue& protocols) {
  std::string text;
  for (const JsonValue::Member& row : protocols.members()) {
    const JsonValue* const growth = row.value.find("growth");
    text += fmt::format("{}{} {}{}, {:.3g}%", text.empty() ? "" : "; ", row.key,
                        to_text(*parse_time(row.value.find("hop")->string()).value),
                        growth != nullptr ? fmt::format(" (+{:.0f}%)", 100 * growth->number()) : "",
                        100 * row.value.find("rate")->number());
  }
  return text;
}

std::string launch_text(const JsonValue& model) {
  const JsonValue& launch = *model.find("launch");
  const auto time = [](const JsonValue& of, const char* key) {
    return to_text(*parse_time(of.find(key)->string()).value);
  };
  return fmt::format(
      "kernels of NCCL: {} to start and end, {} on the host for each GPU and {} for each send and "
      "receive, {} more in the kernel for each peer of them; the last pass over a rank's own block "
      "at {}",
      time(launch, "base"), time(launch, "host"), time(launch, "pair"), time(model, "per_peer"),
      to_text(*parse_bandwidth(model.find("local_bandwidth")->string()).value));
}

// What the fit knows of the constants of a kind; without tables, what is believed of them.
std::string intervals_text(const char* kinds, const std::string& kind) {
  const JsonValue* const all = fitted_constants().find("intervals");
  const JsonValue* const of_kinds = all != nullptr ? all->find(kinds) : nullptr;
  const JsonValue* const known = of_kinds != nullptr ? of_kinds->find(kind) : nullptr;
  if (known == nullptr) return "";
  std::string text;
  for (const JsonValue::Member& constant : known->members())
    text += (text.empty() ? "" : "; ") + constant.key + ' ' + constant.value.string();
  const JsonValue* const source = fitted_constants().find(kinds)->find(kind)->find("source");
  const bool is_guess = source != nullptr && source->string().starts_with("a guess");
  return folded(
      fmt::format("{} {}: ", is_guess ? "believed, for want of tables, of" : "95% intervals of",
                  kind),
      text);
}

std::string link_type_text(const std::string& name, const JsonValue& type) {
  std::string text = folded(fmt::format("{}: ", name), type.find("title")->string());
  for (const std::string_view property : preset_link_values()) {
    const std::string value = readable(property, type.find(property)->string());
    text += folded(fmt::format("  {:<9}  {:<10}  ", property, value),
                   type.find("source")->find(property)->string());
  }
  text += folded("  protocols  ", protocols_text(*type.find("protocols")));
  return text + folded("             ", type.find("source")->find("protocols")->string());
}

// What computes the transformers of workloads.
std::string device_text(const JsonValue& device) {
  std::string numbers;
  for (const JsonValue::Member& member : device.members())
    if (member.key != "title" && member.key != "source")
      numbers +=
          fmt::format("{}{} {}", numbers.empty() ? "" : ", ", member.key, plain_text(member.value));
  return folded("device of workloads: ", device.find("title")->string() + ": " + numbers) +
         folded("                     ", device.find("source")->string());
}

std::string other_networks(const Preset& preset) {
  std::string others;
  for (const std::string& word : network_words().allowed)
    if (word != preset.network) others += (others.empty() ? "" : ", ") + word;
  return others;
}

std::string preset_text(const Preset& preset) {
  const JsonValue& document = preset.document;
  std::string text = fmt::format("{}: {}\n", preset.name, preset.title);
  text += folded("source: ", document.find("source")->string());
  for (const JsonValue& note : document.find("notes")->items()) text += folded("- ", note.string());
  for (const JsonValue::Member& type : document.find("link_types")->members())
    text += "\n" + link_type_text(type.key, type.value);
  text += "\n" + folded("", launch_text(*document.find("model")));
  text += intervals_text("gpus", preset.written.find("gpu")->string());
  text += intervals_text("networks", preset.network);
  text += folded("", fmt::format("network: {}; \"network\" may also be {}", preset.network,
                                 other_networks(preset)));
  if (const JsonValue* const device = known_device(preset)) text += device_text(*device);
  const std::string& example = document.find("link_types")->members().front().key;
  return text + fmt::format(
                    "\nin a scenario:\n"
                    "  \"cluster\": {{ \"preset\": \"{}\", \"nodes\": 2, \"override\": {{ "
                    "\"{}.latency\": \"500ns\" }} }}\n"
                    "how its devices are connected:\n  collsim topo show --preset {}\n",
                    preset.name, example, preset.name);
}

int show(const PresetsOptions& options, Terminal& terminal) {
  const Preset* preset = find_preset(options.name);
  if (preset == nullptr)
    throw UsageError("there is no preset" + did_you_mean(options.name, preset_words().allowed));
  if (options.format == "json")
    terminal.out << to_pretty_json(preset->document) << '\n';
  else
    terminal.out << preset_text(*preset);
  return exit_fine;
}

}  // namespace

Action declare_presets(Options& command) {
  const auto options = std::make_shared<PresetsOptions>();
  Options& below = command.command("show", "Shows the numbers of a preset and their sources.",
                                   "collsim presets show dgx-h100\n"
                                   "collsim presets show dgx-1-v100 --format json");
  below.value("PRESET", options->name, "NAME", "a name listed by \"collsim presets\"").required =
      true;
  below.choice("--format", options->format, {"text", "json"}, "output format");
  return [options, &command](Terminal& terminal) {
    return &command.chosen() != &command ? show(*options, terminal) : list(terminal);
  };
}

}  // namespace collsim
