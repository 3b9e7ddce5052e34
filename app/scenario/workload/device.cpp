// SPDX-License-Identifier: Apache-2.0
//
// "device" of a workload: what computes a transformer, how much memory it has, and what collectives
// take from it.
#include "app/scenario/workload/device.hpp"

#include <fmt/format.h>

#include <cmath>

#include "app/embedded_files.hpp"
#include "app/json/parse_json.hpp"
#include "app/scenario/workload/workload_internal.hpp"
#include "collectives/cost/cost_model.hpp"

namespace collsim {
namespace {

const JsonValue& known_devices() {
  static const JsonValue file = parse_builtin("devices", embedded_devices().front().text);
  const JsonValue* const devices = file.find("devices");
  COLLSIM_CHECK(devices != nullptr, "devices.json has no \"devices\"");
  return *devices;
}

// Of a GPU what a scenario may say.
JsonValue what_may_be_said(const JsonValue* known) {
  if (known == nullptr) return {};
  JsonValue device = *known;
  for (const char* key : {"title", "source"}) device.erase(key);
  return device;
}

JsonValue device_of(const Cluster* cluster) {
  if (cluster == nullptr || cluster->preset.empty()) return {};
  return what_may_be_said(known_device(*find_preset(cluster->preset)));
}

double rate(const std::optional<Bandwidth>& bandwidth) {
  return bandwidth ? static_cast<double>(bandwidth->bytes_per_second()) : 0;
}

double read_flops(ObjectReader& reader, const char* key) {
  const JsonValue* const written = reader.raw(key);
  if (written == nullptr) return 0;
  const auto flops = written->is_string() ? parse_flops(written->string()) : std::nullopt;
  if (!flops) {
    reader.wrong(key, "not-a-quantity",
                 fmt::format("{} is no rate of computing above 0", to_json(*written, -1)), {},
                 R"(write a number and FLOP/s, GFLOP/s or TFLOP/s, such as "312TFLOP/s")");
    return 0;
  }
  reader.resolve(key, exact_flops(*flops));
  return *flops;
}

std::int64_t read_slowdown(ObjectReader& reader) {
  constexpr double most = 0.99;
  return std::llround(reader.number("slowdown", 0, most, 0) * CostModel::millionths);
}

// Besides the constants of what computes: of every model and program.
void read_room(ObjectReader& reader, TrainingDevice& device) {
  constexpr int most = 1024;
  device.memory = reader.size("memory").value_or(0);
  device.slowdown = read_slowdown(reader);
  if (const auto room = reader.integer("collectives_at_a_time", 1, most))
    device.collectives_at_a_time = static_cast<int>(*room);
}

TrainingDevice read_constants(ObjectReader& reader) {
  TrainingDevice device;
  device.device.flops = read_flops(reader, "flops");
  device.device.flops_of_8_bits = read_flops(reader, "flops_float8");
  device.device.efficiency = reader.number("efficiency", 0.001, 1, 1);
  device.device.attention = reader.number("attention", 0.001, 1, device.device.efficiency);
  device.device.memory_bandwidth = rate(reader.bandwidth("memory_bandwidth"));
  device.device.latency = reader.time("latency", Time{});
  device.device.launch = reader.time("launch", Time{});
  device.device.skew = reader.time("skew", Time{});
  device.device.sharding = reader.time("sharding", Time{});
  read_room(reader, device);
  return device;
}

}  // namespace

std::optional<double> parse_flops(std::string_view text) {
  constexpr std::string_view unit = "FLOP/s";
  if (!text.ends_with(unit)) return std::nullopt;
  text.remove_suffix(unit.size());
  const auto rate = parse_bandwidth(std::string(text) + "B/s");
  if (!rate.value) return std::nullopt;
  return static_cast<double>(rate.value->bytes_per_second());
}

std::string exact_flops(double flop_per_second) {
  constexpr std::int64_t tera = 1'000'000'000'000;
  const auto flops = static_cast<std::int64_t>(flop_per_second);
  if (flops % tera == 0) return fmt::format("{}TFLOP/s", flops / tera);
  return fmt::format("{}FLOP/s", flops);
}

const JsonValue* known_device(const Preset& preset) {
  const JsonValue* const name = preset.written.find("device");
  if (name == nullptr) return nullptr;
  const JsonValue* const known = known_devices().find(name->string());
  COLLSIM_CHECK(known != nullptr, "there is no device " + name->string());
  return known;
}

std::optional<TrainingDevice> device_of_preset(const Preset& preset) {
  JsonValue known = what_may_be_said(known_device(preset));
  if (!known.is_object()) return std::nullopt;
  Diagnostics diagnostics;
  ObjectReader reader(known, "", diagnostics);
  const TrainingDevice device = read_constants(reader);
  COLLSIM_CHECK(diagnostics.empty(), "a device of devices.json is wrong");
  return device;
}

Bytes memory_of_device(const std::optional<TrainingDevice>& device, const Cluster* cluster) {
  if (device && device->memory > 0) return device->memory;
  if (cluster == nullptr || cluster->preset.empty()) return 0;
  const auto known = device_of_preset(*find_preset(cluster->preset));
  return known ? known->memory : 0;
}

std::optional<TrainingDevice> read_device(ObjectReader& workload, const Cluster* cluster,
                                          bool computes) {
  const JsonValue* const written = workload.raw("device");
  JsonValue whole = computes ? device_of(cluster) : JsonValue();
  if (written == nullptr && !whole.is_object()) return std::nullopt;
  if (written != nullptr && written->is_object() && whole.is_object()) {
    for (const JsonValue::Member& member : written->members())
      whole.set(member.key, member.value, member.key_place);
    whole.place = written->place;
  } else if (written != nullptr) {
    whole = *written;
  }
  ObjectReader reader(whole, workload.pointer_of("device"), workload.diagnostics());
  if (!computes) {
    TrainingDevice device;
    read_room(reader, device);
    workload.resolve("device", reader.finish());
    return device;
  }
  const TrainingDevice device = read_constants(reader);
  reader.need({"flops"}, R"(write "flops": "312TFLOP/s", the peak for the type that computes)");
  workload.resolve("device", reader.finish());
  return device;
}

}  // namespace collsim
