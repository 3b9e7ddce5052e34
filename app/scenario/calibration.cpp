// SPDX-License-Identifier: Apache-2.0
#include "app/scenario/calibration.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <utility>

#include "app/json/parse_json.hpp"
#include "app/scenario/object_reader.hpp"
#include "app/scenario/read_source.hpp"

namespace collsim {
namespace {

constexpr std::size_t max_rows = 1000;

std::optional<Bandwidth> between(const std::optional<Bandwidth>& below,
                                 const std::optional<Bandwidth>& above, double part) {
  if (!below || !above) return part < 0.5 ? below : above;
  const double seconds_per_byte = (1 - part) / static_cast<double>(below->bytes_per_second()) +
                                  part / static_cast<double>(above->bytes_per_second());
  return Bandwidth(std::max<std::int64_t>(1, std::llround(1 / seconds_per_byte)));
}

Time between(Time below, Time above, double part) {
  return rounded_picoseconds((1 - part) * static_cast<double>(below.ps()) +
                             part * static_cast<double>(above.ps()));
}

std::optional<Calibration::Row> read_row(const Value& row, const std::string& pointer,
                                         Diagnostics& diagnostics, Value& resolved) {
  ObjectReader reader(row, pointer, diagnostics);
  Calibration::Row read;
  const std::optional<Bytes> buffers = reader.size("buffers");
  read.costs.instruction_overhead = reader.time("instruction_overhead", Time{});
  read.costs.copy_bandwidth = reader.bandwidth("copy_bandwidth");
  read.costs.reduce_bandwidth = reader.bandwidth("reduce_bandwidth");
  read.costs.second_write_bandwidth = reader.bandwidth("second_write_bandwidth");
  reader.need({"buffers"});
  resolved = reader.finish();
  if (!buffers) return std::nullopt;
  read.buffers = *buffers;
  return read;
}

}  // namespace

CostModel Calibration::costs_at(Bytes buffers) const {
  const auto above = std::find_if(rows.begin(), rows.end(),
                                  [&](const Row& row) { return row.buffers >= buffers; });
  if (above == rows.end()) return rows.back().costs;
  if (above == rows.begin() || above->buffers == buffers) return above->costs;
  const Row& below = *std::prev(above);
  const double low = std::log2(static_cast<double>(std::max<Bytes>(1, below.buffers)));
  const double high = std::log2(static_cast<double>(above->buffers));
  const double part = (std::log2(static_cast<double>(buffers)) - low) / (high - low);
  CostModel costs;
  costs.instruction_overhead =
      between(below.costs.instruction_overhead, above->costs.instruction_overhead, part);
  costs.copy_bandwidth = between(below.costs.copy_bandwidth, above->costs.copy_bandwidth, part);
  costs.reduce_bandwidth =
      between(below.costs.reduce_bandwidth, above->costs.reduce_bandwidth, part);
  costs.second_write_bandwidth =
      between(below.costs.second_write_bandwidth, above->costs.second_write_bandwidth, part);
  return costs;
}

Bytes buffer_bytes(const Collective& collective) {
  std::int64_t most = 0;
  for (int position = 0; position < collective.size(); ++position) {
    const std::int64_t input = input_count(collective, position);
    const std::int64_t output = output_count(collective, position);
    const bool shared = aliasing(collective, position).shared;
    most = std::max(most, shared ? std::max(input, output) : input + output);
  }
  return most * size_of(collective.type);
}

std::optional<Calibration> read_calibration(const Value& calibration, const std::string& pointer,
                                            Diagnostics& diagnostics, Value& resolved) {
  const std::size_t mistakes = diagnostics.size();
  ObjectReader reader(calibration, pointer, diagnostics);
  for (const char* key : {"backend", "protocol", "device", "date", "collsim"})
    static_cast<void>(reader.text(key));
  for (const char* key : {"fit", "raw"}) static_cast<void>(reader.raw(key));
  reader.need({"rates"});
  Calibration read;
  Value rates = Value::array();
  const Value* written = reader.raw("rates");
  const bool is_list = written != nullptr && written->is_array();
  if (written != nullptr &&
      (!is_list || written->items().empty() || written->items().size() > max_rows))
    reader.wrong("rates", "wrong-type", "the rates are a list of objects, one per size of buffers",
                 {},
                 "write [{\"buffers\": \"1MiB\", \"copy_bandwidth\": \"10GB/s\"}], or let collsim "
                 "calibrate write it");
  for (std::size_t i = 0; is_list && i < std::min(written->items().size(), max_rows); ++i) {
    Value row;
    const auto got =
        read_row(written->items()[i], pointer_to(reader.pointer_of("rates"), i), diagnostics, row);
    rates.items().push_back(std::move(row));
    if (!got) continue;
    if (!read.rows.empty() && got->buffers <= read.rows.back().buffers)
      reader.wrong("rates", "bad-order", "the rates must be in order of their buffers, each once");
    read.rows.push_back(*got);
  }
  reader.resolve("rates", std::move(rates));
  resolved = reader.finish();
  if (diagnostics.size() > mistakes || read.rows.empty()) return std::nullopt;
  return read;
}

void load_calibration_file(Value& document, const std::string& scenario_file, Sources& sources,
                           Diagnostics& diagnostics) {
  Value* model = document.find("model");
  Value* written = model != nullptr ? model->find("calibration") : nullptr;
  if (written == nullptr || !written->is_string()) return;
  std::filesystem::path file = written->string();
  const bool from_file = written->place.source != Place::nowhere &&
                         sources.kind(written->place.source) == Sources::Kind::file;
  if (from_file && file.is_relative() && scenario_file != "-")
    file = std::filesystem::path(scenario_file).parent_path() / file;
  Diagnostic asked_by;
  asked_by.place = written->place;
  asked_by.pointer = "/model/calibration";
  const auto source = read_source(file.string(), sources, diagnostics, asked_by);
  const auto tree = source ? parse_json(*source, sources, diagnostics) : std::nullopt;
  const Value* of_model = tree ? tree->find("model") : nullptr;
  const Value* found = of_model != nullptr ? of_model->find("calibration") : nullptr;
  if (found != nullptr) {
    Value calibration = *found;
    *written = std::move(calibration);
  } else {
    // Without it, so that what the file lacks is not reported once more as a wrong type.
    if (tree)
      diagnostics.add({.code = "no-calibration",
                       .message = file.string() + " holds no calibration",
                       .place = written->place,
                       .pointer = "/model/calibration",
                       .suggestion = {},
                       .hint = "collsim calibrate -o machine.json writes one"});
    model->erase("calibration");
  }
}

}  // namespace collsim
