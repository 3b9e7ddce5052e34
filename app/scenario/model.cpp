// SPDX-License-Identifier: Apache-2.0
#include "app/scenario/model.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include "app/json/parse_json.hpp"
#include "app/scenario/object_reader.hpp"
#include "app/scenario/scenario_folder.hpp"

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

std::optional<double> between(const std::optional<double>& below,
                              const std::optional<double>& above, double part) {
  if (!below || !above) return part < 0.5 ? below : above;
  return (1 - part) * *below + part * *above;
}

Bandwidth slowed(Bandwidth rate, double slowdown) {
  const double bytes_per_second = static_cast<double>(rate.bytes_per_second()) / slowdown;
  return Bandwidth(std::max<std::int64_t>(1, std::llround(bytes_per_second)));
}

Time between(Time below, Time above, double part) {
  return rounded_picoseconds((1 - part) * static_cast<double>(below.ps()) +
                             part * static_cast<double>(above.ps()));
}

// At least 1: the rates are those of one lane alone.
std::optional<double> read_lanes(ObjectReader& reader) {
  constexpr const char* key = "lanes_at_full_speed";
  const JsonValue* const written = reader.raw(key);
  if (written == nullptr) return std::nullopt;
  if (written->is_number() && written->number() >= 1 && std::isfinite(written->number())) {
    reader.resolve(key, *written);
    return written->number();
  }
  return reader.wrong(key, written->is_number() ? "out-of-range" : "wrong-type",
                      "lanes_at_full_speed is a number of 1 or more", {},
                      "omit it if lanes do not slow each other down");
}

Calibration::Row row_at(const std::vector<Calibration::Row>& rows, Bytes size) {
  const auto above = std::find_if(rows.begin(), rows.end(), [&](const Calibration::Row& row) {
    return row.working_set >= size;
  });
  if (above == rows.end()) return rows.back();
  if (above == rows.begin() || above->working_set == size) return *above;
  const Calibration::Row& below = *std::prev(above);
  const double low = std::log2(static_cast<double>(std::max<Bytes>(1, below.working_set)));
  const double high = std::log2(static_cast<double>(above->working_set));
  const double part = (std::log2(static_cast<double>(size)) - low) / (high - low);
  const CostModel &less = below.costs, &more = above->costs;
  Calibration::Row row;
  row.working_set = size;
  row.costs.instruction_overhead =
      between(less.instruction_overhead, more.instruction_overhead, part);
  row.costs.copy_bandwidth = between(less.copy_bandwidth, more.copy_bandwidth, part);
  row.costs.reduce_bandwidth = between(less.reduce_bandwidth, more.reduce_bandwidth, part);
  row.costs.second_write_bandwidth =
      between(less.second_write_bandwidth, more.second_write_bandwidth, part);
  row.lanes_at_full_speed = between(below.lanes_at_full_speed, above->lanes_at_full_speed, part);
  return row;
}

std::optional<Calibration::Row> read_row(const JsonValue& row, const std::string& pointer,
                                         Diagnostics& diagnostics, JsonValue& resolved) {
  ObjectReader reader(row, pointer, diagnostics);
  Calibration::Row read;
  const std::optional<Bytes> working_set = reader.size("working_set");
  read.costs.instruction_overhead = reader.time("instruction_overhead", Time{});
  read.costs.copy_bandwidth = reader.bandwidth("copy_bandwidth");
  read.costs.reduce_bandwidth = reader.bandwidth("reduce_bandwidth");
  read.costs.second_write_bandwidth = reader.bandwidth("second_write_bandwidth");
  read.lanes_at_full_speed = read_lanes(reader);
  reader.need({"working_set"});
  resolved = reader.finish();
  if (!working_set) return std::nullopt;
  read.working_set = *working_set;
  return read;
}

const Vocabulary& launch_modes() {
  static const Vocabulary words{.what = "launch mode",
                                .allowed = {"one-thread", "thread-per-gpu", "process-per-gpu"}};
  return words;
}

void read_gpus_per_thread(ObjectReader& launch, LaunchCosts& read) {
  constexpr std::int64_t most = 1'000'000;
  const auto gpus = launch.integer("gpus_per_thread", 1, most);
  if (!gpus) return;
  read.gpus_per_thread = static_cast<int>(*gpus);
  if (read.mode != LaunchMode::one_thread)
    launch.wrong("gpus_per_thread", "not-applicable",
                 "\"gpus_per_thread\" is only for the mode one-thread", {}, "omit it");
}

LaunchCosts read_launch(ObjectReader& model) {
  LaunchCosts read;
  const JsonValue* const written = model.raw("launch");
  if (written == nullptr || !written->is_object()) {
    read.base = model.time("launch", Time{});
  } else {
    ObjectReader launch(*written, model.pointer_of("launch"), model.diagnostics());
    read.base = launch.time("base", Time{});
    read.host = launch.time("host", Time{});
    read.pair = launch.time("pair", Time{});
    const std::string mode = launch.word("mode", launch_modes(), "process-per-gpu");
    read.mode = mode == "one-thread"       ? LaunchMode::one_thread
                : mode == "thread-per-gpu" ? LaunchMode::thread_per_gpu
                                           : LaunchMode::process_per_gpu;
    read_gpus_per_thread(launch, read);
    model.resolve("launch", launch.finish());
  }
  read.local_bandwidth = model.bandwidth("local_bandwidth");
  if (model.has("per_peer")) read.per_peer = model.time("per_peer", Time{});
  return read;
}

}  // namespace

CostModel Calibration::costs_at(Bytes working_set, double lanes_at_work) const {
  const Row row = row_at(rows, working_set);
  const double slowdown =
      row.lanes_at_full_speed ? std::max(1.0, lanes_at_work / *row.lanes_at_full_speed) : 1.0;
  CostModel costs = row.costs;
  for (std::optional<Bandwidth>* rate :
       {&costs.copy_bandwidth, &costs.reduce_bandwidth, &costs.second_write_bandwidth})
    if (*rate) *rate = slowed(**rate, slowdown);
  return costs;
}

std::optional<Calibration> read_calibration(const JsonValue& calibration,
                                            const std::string& pointer, Diagnostics& diagnostics,
                                            JsonValue& resolved) {
  const std::size_t mistakes = diagnostics.size();
  ObjectReader reader(calibration, pointer, diagnostics);
  for (const char* key : {"backend", "protocol", "device", "date", "collsim"})
    static_cast<void>(reader.text(key));
  for (const char* key : {"fit", "raw"}) static_cast<void>(reader.raw(key));
  reader.need({"rates"});
  Calibration read;
  JsonValue rates = JsonValue::array();
  const JsonValue* written = reader.raw("rates");
  const bool is_list = written != nullptr && written->is_array();
  if (written != nullptr &&
      (!is_list || written->items().empty() || written->items().size() > max_rows))
    reader.wrong(
        "rates", "wrong-type", "the rates are a list of objects, one per size of the working set",
        {},
        "write [{\"working_set\": \"1MiB\", \"copy_bandwidth\": \"10GB/s\"}], or let collsim "
        "calibrate write it");
  for (std::size_t i = 0; is_list && i < std::min(written->items().size(), max_rows); ++i) {
    JsonValue row;
    const auto got =
        read_row(written->items()[i], pointer_to(reader.pointer_of("rates"), i), diagnostics, row);
    rates.items().push_back(std::move(row));
    if (!got) continue;
    if (!read.rows.empty() && got->working_set <= read.rows.back().working_set)
      reader.wrong("rates", "bad-order",
                   "the rates must be in order of their working_set, each once");
    read.rows.push_back(*got);
  }
  reader.resolve("rates", std::move(rates));
  resolved = reader.finish();
  if (diagnostics.size() > mistakes || read.rows.empty()) return std::nullopt;
  return read;
}

void load_calibration_file(JsonValue& document, const std::string& scenario_file, Sources& sources,
                           Diagnostics& diagnostics) {
  JsonValue* model = document.find("model");
  JsonValue* written = model != nullptr ? model->find("calibration") : nullptr;
  if (written == nullptr || !written->is_string()) return;
  Diagnostic asked_by;
  asked_by.place = written->place;
  asked_by.pointer = "/model/calibration";
  const auto file = named_file(*written, asked_by.pointer, scenario_file, sources, diagnostics);
  const auto source = file ? read_source(*file, sources, diagnostics, asked_by) : std::nullopt;
  const auto tree = source ? parse_json(*source, sources, diagnostics) : std::nullopt;
  const JsonValue* of_model = tree ? tree->find("model") : nullptr;
  const JsonValue* found = of_model != nullptr ? of_model->find("calibration") : nullptr;
  if (found != nullptr) {
    JsonValue calibration = *found;
    *written = std::move(calibration);
  } else {
    // Without it, so that what the file lacks is not reported once more as a wrong type.
    if (tree)
      diagnostics.add({.code = "no-calibration",
                       .message = *file + " holds no calibration",
                       .place = written->place,
                       .pointer = "/model/calibration",
                       .hint = "collsim calibrate -o machine.json writes one"});
    model->erase("calibration");
  }
}

ModelReading read_model(const JsonValue& model, const std::string& pointer,
                        Diagnostics& diagnostics, JsonValue& resolved) {
  ObjectReader reader(model, pointer, diagnostics);
  ModelReading read;
  read.costs.reduce_bandwidth = reader.bandwidth("reduce_bandwidth");
  read.costs.copy_bandwidth = reader.bandwidth("copy_bandwidth");
  read.costs.second_write_bandwidth = reader.bandwidth("second_write_bandwidth");
  if (const JsonValue* calibration = reader.raw("calibration")) {
    for (const char* key :
         {"reduce_bandwidth", "copy_bandwidth", "second_write_bandwidth", "instruction_overhead"})
      reader.at_most_one_of({"calibration", key});
    static_cast<void>(reader.raw("instruction_overhead"));
    JsonValue rates;
    if (auto rows =
            read_calibration(*calibration, reader.pointer_of("calibration"), diagnostics, rates))
      read.calibration = std::make_shared<const Calibration>(std::move(*rows));
    reader.resolve("calibration", std::move(rates));
  } else {
    read.costs.instruction_overhead = reader.time("instruction_overhead", Time{});
  }
  read.launch = read_launch(reader);
  // Its parts are those of NCCL's kernels, a time alone delays every algorithm.
  const JsonValue* const launch = model.find("launch");
  if (launch == nullptr || !launch->is_object()) read.costs.launch = read.launch.base;
  read.nccl_graph = read_nccl_graph(reader, "nccl_graph");
  resolved = reader.finish();
  return read;
}

Measure read_measure(const JsonValue& measure, Diagnostics& diagnostics, JsonValue& resolved) {
  constexpr std::int64_t most_runs = 1'000'000'000;
  static const Vocabulary backends{.what = "backend", .allowed = {"host", "cuda", "nccl"}};
  static const Vocabulary protocols{.what = "protocol", .allowed = {"simple", "ll"}};
  ObjectReader reader(measure, "/measure", diagnostics);
  Measure result;
  result.backend = reader.word("backend", backends).value_or("");
  result.protocol = reader.word("protocol", protocols).value_or("");
  result.warmup = static_cast<int>(reader.integer("warmup", 0, most_runs, result.warmup));
  result.iterations = static_cast<int>(reader.integer("iters", 1, most_runs, result.iterations));
  result.check = reader.boolean("check", result.check);
  result.paced = reader.boolean("paced", result.paced);
  result.file = reader.text("file").value_or("");
  result.required = reader.boolean("required", result.required);
  resolved = reader.finish();
  return result;
}

}  // namespace collsim
