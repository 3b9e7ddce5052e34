// SPDX-License-Identifier: Apache-2.0
//
// Bandwidths between all pairs of GPUs, as CUDA's sample p2pBandwidthLatencyTest prints them
//
//   Unidirectional P2P=Enabled Bandwidth (P2P Writes) Matrix (GB/s)
//      D\D     0      1
//        0 2862.5  365.3
//        1  375.9 2897.7
//
// nvbandwidth (device_to_device_memcpy_write_ce ...), or JSON with {"matrices": {"unidir_p2p_on":
// [[...]]}}. The best matrix of a file is taken: one direction before both, P2P before through the
// host.
//
// Such a test loads one pair at a time.  So it shows what a pair can do, and not what pairs share:
// a machine whose pairs are alike becomes a switch with a port for every GPU; otherwise every GPU
// has a port as fast as its best pair, and behind it a cable for each pair.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "app/import/gpu_models.hpp"
#include "app/import/machine_parts.hpp"
#include "app/json/parse_json.hpp"
#include "app/json/screen_text.hpp"

namespace collsim {
namespace {

using Rates = std::vector<std::vector<double>>;  // GB/s; 0: not measured

constexpr std::size_t most_gpus = 128;
// Pairs that differ by no more are alike; beyond what PCIe does they are on NVSwitches, or they
// would differ by whole links.
constexpr double alike = 0.12, alike_on_nvlink = 0.3, beyond_pcie = 100;

struct Measured {
  Rates rates;
  bool both_directions = false, through_host = false;
  std::string_view title;

  [[nodiscard]] int quality() const { return (both_directions ? 0 : 1) + (through_host ? 0 : 2); }
};

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// The headings of matrices of bandwidth; latencies and other matrices are none.
std::optional<Measured> heading(std::string_view line) {
  const std::string text = lower(line.substr(0, 200));
  Measured found;
  found.title = line;
  if (contains(text, "bandwidth matrix") ||
      (contains(text, "bandwidth (") && contains(text, "matrix"))) {
    found.both_directions = contains(text, "bidirectional");
    found.through_host = contains(text, "disabled");
    return found;
  }
  const bool nvbandwidth = contains(text, "memcpy") && contains(text, "gpu(row)") &&
                           contains(text, "gpu(column)") && contains(text, "bandwidth");
  if (!nvbandwidth) return std::nullopt;
  found.both_directions = contains(text, "bidirectional");
  return found;
}

// Numbers of devices from 0 on, perhaps behind "D\D".
std::size_t columns_of(const std::vector<std::string_view>& words) {
  const std::size_t begin = !words.empty() && !small_number(words[0]) ? 1 : 0;
  for (std::size_t i = begin; i < words.size(); ++i)
    if (small_number(words[i]) != static_cast<int>(i - begin)) return 0;
  return words.size() - begin;
}

struct RowsReader {
  const MachineText& file;
  const std::vector<std::string_view>& lines;

  // The rows below a heading; empty: there are none, or they are wrong, which is reported.
  [[nodiscard]] Rates read(std::size_t line) const {
    for (std::size_t skipped = 0; skipped < 3 && line < lines.size(); ++skipped, ++line)
      if (const std::size_t columns = columns_of(words_of(lines[line])); columns > 1)
        return columns <= most_gpus ? read_rows(line + 1, columns) : Rates{};
    return {};
  }

 private:
  [[nodiscard]] Rates read_rows(std::size_t line, std::size_t columns) const {
    Rates rates(columns, std::vector<double>(columns));
    for (std::size_t row = 0; row < columns; ++row, ++line) {
      const auto words =
          line < lines.size() ? words_of(lines[line]) : std::vector<std::string_view>{};
      if (words.size() != columns + 1 || small_number(words[0]) != static_cast<int>(row)) {
        const std::string_view at = line < lines.size() ? lines[line] : lines.back();
        file.wrong(at, "cut",
                   fmt::format("row {} of the matrix should have {} here", row,
                               count_text(columns, "number")),
                   "paste the whole matrix");
        return {};
      }
      for (std::size_t column = 0; column < columns; ++column)
        rates[row][column] = decimal(words[column + 1]).value_or(0);
    }
    return rates;
  }
};

std::vector<Measured> matrices_of_text(const MachineText& file) {
  const auto lines = lines_of(file.text);
  std::vector<Measured> found;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    auto measured = heading(lines[i]);
    if (!measured) continue;
    measured->rates = RowsReader{file, lines}.read(i + 1);
    if (!measured->rates.empty()) found.push_back(std::move(*measured));
  }
  return found;
}

Rates rates_of(const JsonValue& rows) {
  if (!rows.is_array() || rows.items().size() > most_gpus) return {};
  Rates rates;
  for (const JsonValue& row : rows.items()) {
    if (!row.is_array() || row.items().size() != rows.items().size()) return {};
    auto& numbers = rates.emplace_back();
    for (const JsonValue& cell : row.items())
      numbers.push_back(cell.is_number() ? cell.number() : 0);
  }
  return rates;
}

std::vector<Measured> matrices_of_json(const JsonValue& document) {
  const JsonValue* const matrices = document.find("matrices");
  std::vector<Measured> found;
  if (matrices == nullptr || !matrices->is_object()) return found;
  for (const JsonValue::Member& member : matrices->members()) {
    const bool both = member.key.starts_with("bidir");
    if (!both && !member.key.starts_with("unidir")) continue;
    Measured measured{rates_of(member.value), both, member.key.ends_with("_off"), member.key};
    if (!measured.rates.empty()) found.push_back(std::move(measured));
  }
  return found;
}

// Off the diagonal, both ways of a pair as one number.
class Pairs {
 public:
  explicit Pairs(const Rates& rates) : rates_(rates) {}

  [[nodiscard]] double of(std::size_t a, std::size_t b) const {
    const double one = rates_[a][b], other = rates_[b][a];
    return one > 0 && other > 0 ? (one + other) / 2 : std::max(one, other);
  }
  [[nodiscard]] std::vector<double> sorted() const {
    std::vector<double> all;
    for (std::size_t a = 0; a < rates_.size(); ++a)
      for (std::size_t b = a + 1; b < rates_.size(); ++b) all.push_back(of(a, b));
    std::sort(all.begin(), all.end());
    return all;
  }
  [[nodiscard]] double best_of(std::size_t gpu) const {
    double best = 0;
    for (std::size_t other = 0; other < rates_.size(); ++other)
      if (other != gpu) best = std::max(best, of(gpu, other));
    return best;
  }

 private:
  const Rates& rates_;
};

void add_switch(ImportedMachine& machine, std::size_t gpus, double rate, bool half_duplex) {
  machine.devices.push_back({"switch0", NodeKind::network_switch});
  for (std::size_t gpu = 0; gpu < gpus; ++gpu)
    machine.cables.push_back({gpu, gpus, CableKind::measured, rate, 0, half_duplex});
}

void add_pairs(ImportedMachine& machine, const Pairs& pairs, std::size_t gpus, bool half_duplex) {
  for (std::size_t gpu = 0; gpu < gpus; ++gpu) {
    machine.devices.push_back({fmt::format("port{}", gpu), NodeKind::network_switch});
    machine.cables.push_back(
        {gpu, gpus + gpu, CableKind::measured, pairs.best_of(gpu), 0, half_duplex});
  }
  for (std::size_t a = 0; a < gpus; ++a)
    for (std::size_t b = a + 1; b < gpus; ++b)
      machine.cables.push_back(
          {gpus + a, gpus + b, CableKind::measured, pairs.of(a, b), 0, half_duplex});
}

// Whether both directions at once are hardly faster than one.
bool is_half_duplex(const std::vector<Measured>& all, const Measured& best, double median) {
  constexpr double hardly = 1.25;
  for (const Measured& other : all)
    if (other.both_directions && !best.both_directions && other.through_host == best.through_host &&
        other.rates.size() == best.rates.size()) {
      const auto both = Pairs(other.rates).sorted();
      return both[both.size() / 2] < hardly * median;
    }
  return false;
}

std::optional<ImportedMachine> machine_of(const MachineText& file,
                                          const std::vector<Measured>& all) {
  const auto best = std::max_element(
      all.begin(), all.end(),
      [](const Measured& a, const Measured& b) { return a.quality() < b.quality(); });
  if (best == all.end() || best->rates.size() < 2) {
    if (!file.diagnostics->empty()) return std::nullopt;
    return file.refuse("no-machine",
                       "the file has no matrix of bandwidths between two GPUs or more",
                       "it should have the output of p2pBandwidthLatencyTest or nvbandwidth");
  }
  const std::size_t gpus = best->rates.size();
  Rates rates = best->rates;
  if (best->both_directions)
    for (auto& row : rates)
      for (double& rate : row) rate /= 2;
  const Pairs pairs(rates);
  const auto sorted = pairs.sorted();
  constexpr double least = 1e-3, most = 1e5;
  if (!(sorted.front() >= least && sorted.back() <= most))
    return file.refuse(
        "bad-number",
        fmt::format("the matrix \"{}\" lacks a rate between two GPUs, or has one that "
                    "cannot be",
                    printable(shortened(best->title, 60))),
        "rates lie between 0.001 and 100,000 GB/s");
  const double median = sorted[sorted.size() / 2];
  const bool half_duplex = is_half_duplex(all, *best, median);
  const double spread = gpus > 2 && sorted.front() > beyond_pcie ? alike_on_nvlink : alike;
  const bool uniform = sorted.back() - sorted.front() <= spread * median;
  ImportedMachine machine;
  machine.format = "measured bandwidths between GPUs";
  for (std::size_t gpu = 0; gpu < gpus; ++gpu)
    machine.devices.push_back({fmt::format("gpu{}", gpu), NodeKind::gpu});
  if (uniform)
    add_switch(machine, gpus, median, half_duplex);
  else
    add_pairs(machine, pairs, gpus, half_duplex);
  machine.notes.push_back(fmt::format(
      "taken: {}{}", best->both_directions ? "half of both directions" : "one direction",
      best->through_host ? ", through the host, without P2P" : ", with P2P where there is P2P"));
  machine.notes.push_back(
      uniform
          ? fmt::format("all pairs are alike, {:.4g} to {:.4g} GB/s", sorted.front(), sorted.back())
          : fmt::format("pairs differ, {:.4g} to {:.4g} GB/s", sorted.front(), sorted.back()));
  if (half_duplex) machine.notes.push_back("both directions at once share the rate of one");
  machine.assumed.push_back(
      "what pairs share beyond the port of a GPU (uplinks, the link between CPUs): nothing; the "
      "test loads one pair at a time");
  return machine;
}

// "Device: 0, NVIDIA H100 80GB HBM3, pciBusID: 19, ..." or "Device 0: NVIDIA H100 80GB HBM3
// (0000:18:00)"
std::string_view model_in_text(std::string_view text) {
  for (const std::string_view line :
       lines_of(text.substr(0, std::min<std::size_t>(text.size(), 8192))))
    if (line.starts_with("Device"))
      if (const GpuModel* model = gpu_model_in(line)) return model->name;
  return {};
}

std::optional<ImportedMachine> read_bandwidth_json(const MachineText& file) {
  Sources sources;
  Diagnostics ours;
  const auto source = sources.add(Sources::Kind::file, "", std::string(file.text));
  const auto document = parse_json(source, sources, ours);
  if (!document) {
    const Diagnostic first = ours.sorted().front();
    const std::size_t begin = std::min<std::size_t>(first.place.begin, file.text.size());
    return file.wrong(file.text.substr(begin, 1), first.code, first.message, first.hint);
  }
  auto machine = machine_of(file, matrices_of_json(*document));
  const JsonValue* of = machine ? document->find("machine") : nullptr;
  const JsonValue* gpu = of != nullptr ? of->find("gpu") : nullptr;
  if (gpu != nullptr && gpu->is_string())
    if (const GpuModel* model = gpu_model_in(gpu->string())) machine->gpu = model->name;
  return machine;
}

bool is_json(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  return begin != std::string_view::npos && text[begin] == '{';
}

}  // namespace

bool looks_like_p2p_bandwidth(std::string_view text) {
  if (is_json(text)) return true;
  const auto lines = lines_of(text);
  return std::any_of(lines.begin(), lines.end(),
                     [](std::string_view line) { return heading(line).has_value(); });
}

std::optional<ImportedMachine> read_p2p_bandwidth(const MachineText& file) {
  if (is_json(file.text)) return read_bandwidth_json(file);
  auto machine = machine_of(file, matrices_of_text(file));
  if (!file.diagnostics->empty()) return std::nullopt;
  if (machine) machine->gpu = model_in_text(file.text);
  return machine;
}

}  // namespace collsim
