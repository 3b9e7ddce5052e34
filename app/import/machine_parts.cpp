// SPDX-License-Identifier: Apache-2.0
#include "app/import/machine_parts.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

#include "app/json/screen_text.hpp"

namespace collsim {
namespace {

using Device = ImportedMachine::Device;
using Cable = ImportedMachine::Cable;

bool is_joint(const Device& device) {
  return device.kind == NodeKind::network_switch || device.kind == NodeKind::cpu;
}

// The machine while devices and cables are taken away.
class Tidying {
 public:
  explicit Tidying(ImportedMachine& machine)
      : machine_(machine), kept_(machine.devices.size(), true), cables_(machine.devices.size()) {
    for (std::size_t i = 0; i < machine.cables.size(); ++i) {
      cables_[machine.cables[i].from].push_back(i);
      cables_[machine.cables[i].to].push_back(i);
    }
  }

  void run() {
    std::vector<std::size_t> waiting(machine_.devices.size());
    for (std::size_t i = 0; i < waiting.size(); ++i) waiting[i] = i;
    while (!waiting.empty()) {
      const std::size_t device = waiting.back();
      waiting.pop_back();
      if (!kept_[device] || !is_joint(machine_.devices[device])) continue;
      const std::vector<std::size_t> here = live(device);
      if (leads_nowhere(device, here) || passes_on(device, here)) {
        for (const std::size_t cable : here) waiting.push_back(other_end(cable, device));
        remove(device, here);
      }
    }
    compact();
  }

 private:
  [[nodiscard]] std::size_t other_end(std::size_t cable, std::size_t device) const {
    const Cable& found = machine_.cables[cable];
    return found.from == device ? found.to : found.from;
  }
  [[nodiscard]] std::vector<std::size_t> live(std::size_t device) const {
    std::vector<std::size_t> found;
    for (const std::size_t cable : cables_[device])
      if (kept_[other_end(cable, device)] && !gone(cable)) found.push_back(cable);
    return found;
  }
  [[nodiscard]] bool gone(std::size_t cable) const {
    return !kept_[machine_.cables[cable].from] || !kept_[machine_.cables[cable].to];
  }
  // A switch with its uplink alone, a CPU with other CPUs alone.
  [[nodiscard]] bool leads_nowhere(std::size_t device,
                                   const std::vector<std::size_t>& cables) const {
    const bool is_cpu = machine_.devices[device].kind == NodeKind::cpu;
    const auto of_kind = [&](CableKind kind) {
      return std::all_of(cables.begin(), cables.end(),
                         [&](std::size_t cable) { return machine_.cables[cable].kind == kind; });
    };
    return is_cpu ? of_kind(CableKind::socket) : cables.size() < 2 && of_kind(CableKind::uplink);
  }
  [[nodiscard]] bool passes_on(std::size_t device, const std::vector<std::size_t>& cables) const {
    if (machine_.devices[device].kind != NodeKind::network_switch || cables.size() != 2)
      return false;
    return std::all_of(cables.begin(), cables.end(), [&](std::size_t cable) {
      const CableKind kind = machine_.cables[cable].kind;
      return kind == CableKind::pcie || kind == CableKind::uplink;
    });
  }
  // A switch that passes on becomes a cable as slow as the slower of its two.
  void remove(std::size_t device, const std::vector<std::size_t>& here) {
    kept_[device] = false;
    if (here.size() != 2 || !passes_on(device, here)) return;
    const Cable first = machine_.cables[here[0]];
    const Cable second = machine_.cables[here[1]];
    const bool first_is_slower = second.gbs == 0 || (first.gbs != 0 && first.gbs <= second.gbs);
    Cable joined = first_is_slower ? first : second;
    const std::size_t a = other_end(here[0], device), b = other_end(here[1], device);
    if (a == b) return;  // two cables from one device, and nothing behind
    joined.from = a;
    joined.to = b;
    const bool both_joints = is_joint(machine_.devices[a]) && is_joint(machine_.devices[b]);
    joined.kind = both_joints ? CableKind::uplink : CableKind::pcie;
    cables_[a].push_back(machine_.cables.size());
    cables_[b].push_back(machine_.cables.size());
    machine_.cables.push_back(joined);
  }

  void compact() {
    std::vector<std::size_t> numbers(kept_.size());
    std::vector<Device> devices;
    for (std::size_t i = 0; i < kept_.size(); ++i) {
      numbers[i] = devices.size();
      if (kept_[i]) devices.push_back(std::move(machine_.devices[i]));
    }
    std::vector<Cable> cables;
    for (std::size_t i = 0; i < machine_.cables.size(); ++i) {
      if (gone(i)) continue;
      Cable cable = machine_.cables[i];
      cable.from = numbers[cable.from];
      cable.to = numbers[cable.to];
      cables.push_back(cable);
    }
    machine_.devices = std::move(devices);
    machine_.cables = std::move(cables);
  }

  ImportedMachine& machine_;
  std::vector<bool> kept_;
  std::vector<std::vector<std::size_t>> cables_;  // of each device
};

}  // namespace

Refusal MachineText::wrong(std::string_view at, std::string code, std::string message,
                           std::string hint) const {
  const auto begin = static_cast<std::size_t>(at.data() - text.data());
  const std::size_t end = begin + std::max<std::size_t>(at.size(), 1);
  return diagnostics->add(
      {.code = std::move(code),
       .message = std::move(message),
       .place = {source, static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end)},
       .hint = std::move(hint)});
}

Refusal MachineText::refuse(std::string code, std::string message, std::string hint) const {
  return diagnostics->add({.code = std::move(code),
                           .message = std::move(message),
                           .place = {source, 0, 0},
                           .hint = std::move(hint)});
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    lines.push_back(line);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  constexpr char escape = '\x1b';
  std::size_t at = 0;
  while (at < line.size()) {
    if (line[at] == escape && at + 1 < line.size() && line[at + 1] == '[') {
      at += 2;
      while (at < line.size() && !(line[at] >= '@' && line[at] <= '~')) ++at;
      ++at;
      continue;
    }
    const auto is_blank = [](char c) { return static_cast<unsigned char>(c) <= ' '; };
    if (is_blank(line[at])) {
      ++at;
      continue;
    }
    const std::size_t begin = at;
    while (at < line.size() && !is_blank(line[at])) ++at;
    words.push_back(line.substr(begin, at - begin));
  }
  return words;
}

std::optional<double> decimal(std::string_view word) {
  double value = 0;
  const bool begins_right = !word.empty() && (is_digit(word.front()) || word.front() == '.');
  const auto parsed =
      std::from_chars(word.data(), word.data() + word.size(), value, std::chars_format::fixed);
  if (!begins_right || parsed.ec != std::errc{} || parsed.ptr != word.data() + word.size())
    return std::nullopt;
  return value;
}

std::optional<int> small_number(std::string_view word) {
  constexpr std::size_t most_digits = 6;
  if (word.empty() || word.size() > most_digits || !is_digit(word.front())) return std::nullopt;
  return number_in<int>(word);
}

std::optional<int> number_behind(std::string_view word, std::string_view prefix) {
  if (!word.starts_with(prefix)) return std::nullopt;
  return small_number(word.substr(prefix.size()));
}

std::string few_of(const std::vector<std::string>& words) {
  constexpr std::size_t most = 6;
  const std::size_t shown = words.size() > most ? most - 1 : words.size();
  std::string text;
  for (std::size_t i = 0; i < shown; ++i) {
    const bool last = i > 0 && i + 1 == words.size();
    text += (i == 0 ? "" : last ? " and " : ", ") + words[i];
  }
  return shown == words.size() ? text
                               : text + " and " + std::to_string(words.size() - shown) + " more";
}

void tidy(ImportedMachine& machine) {
  Tidying(machine).run();
}

std::string free_name(const ImportedMachine& machine, std::string_view wanted) {
  constexpr std::size_t most = 40;
  std::string name;
  for (const char c : wanted.substr(0, most)) {
    const bool fits = is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
                      c == '.' || c == '-';
    name += fits ? c : '-';
  }
  if (name.empty()) name = "device";
  const auto taken = [&](const std::string& candidate) {
    return std::any_of(machine.devices.begin(), machine.devices.end(),
                       [&](const Device& device) { return device.name == candidate; });
  };
  if (!taken(name)) return name;
  for (std::size_t number = machine.devices.size();; ++number)
    if (std::string numbered = name + "." + std::to_string(number); !taken(numbered))
      return numbered;
}

}  // namespace collsim
