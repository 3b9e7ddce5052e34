// SPDX-License-Identifier: Apache-2.0
#include "app/calibrate/machine_file.hpp"

#include <fmt/format.h>

#include <cmath>
#include <string_view>
#include <utility>

#include "app/scenario/presets.hpp"
#include "app/scenario/quantities.hpp"
#include "topo/error.hpp"

namespace collsim {
namespace {

// Of a link type: whose constants its protocols are; null: nobody's, they are free.
struct TypeKind {
  const KindConstants* present = nullptr;
  const KindConstants* wanted = nullptr;
};

JsonValue scaled_time(const JsonValue& time, double by) {
  const Time before = parse_time(time.string()).value.value();
  return exact_time(rounded_picoseconds(static_cast<double>(before.ps()) * by));
}

JsonValue scaled(Constant constant, const JsonValue& value, double by) {
  if (constant.quantity == Quantity::hop) return scaled_time(value, by);
  if (constant.quantity == Quantity::per_chunk)
    return exact_size(
        std::llround(by * static_cast<double>(parse_size(value.string()).value.value())));
  return value.number() * by;
}

// The protocols of a link type with every constant changed as those of its kind are.
JsonValue changed_protocols(JsonValue protocols, const TypeKind& kind) {
  for (const Constant& constant : all_constants()) {
    if (!constant.protocol || kind.present == nullptr) continue;
    JsonValue* const row = protocols.find(to_string(*constant.protocol));
    const std::string key = name_of(constant).substr(name_of(constant).find('.') + 1);
    const JsonValue* const value = row == nullptr ? nullptr : row->find(key);
    const double by = change_of(constant, *kind.present, *kind.wanted);
    if (value != nullptr && by != 1) row->set(key, scaled(constant, *value, by));
  }
  return protocols;
}

JsonValue changed_model(const JsonValue& model, const TypeKind& gpu) {
  JsonValue changed = model;
  JsonValue& launch = *changed.find("launch");
  for (const auto& [quantity, key] :
       {std::pair{Quantity::base, "base"}, {Quantity::host, "host"}, {Quantity::pair, "pair"}})
    launch.set(key,
               scaled_time(*launch.find(key), change_of({quantity}, *gpu.present, *gpu.wanted)));
  changed.set("per_peer", scaled_time(*changed.find("per_peer"),
                                      change_of({Quantity::per_peer}, *gpu.present, *gpu.wanted)));
  const auto local = parse_bandwidth(changed.find("local_bandwidth")->string()).value.value();
  const double by = change_of({Quantity::local_rate}, *gpu.present, *gpu.wanted);
  changed.set("local_bandwidth", exact_bandwidth(Bandwidth(static_cast<std::int64_t>(
                                     static_cast<double>(local.bytes_per_second()) * by))));
  return changed;
}

JsonValue to_value(const Accuracy& fit) {
  const auto part = [](double error) { return std::round(error * 1e4) / 1e4; };
  return JsonValue::object({{"logs", fit.tables},
                            {"rows", fit.rows},
                            {"half", part(fit.half)},
                            {"most", part(fit.most)}});
}

}  // namespace

JsonValue machine_file(const std::string& preset_name, std::int64_t nodes,
                       const std::string& network, const MachineConstants& present,
                       const MachineConstants& wanted, const Accuracy& fit) {
  const Preset* const preset = find_preset(preset_name);
  COLLSIM_CHECK(preset != nullptr, "preset " + preset_name);
  const std::string kind_of_network = network.empty() ? preset->network : network;
  const JsonValue whole = on_network(*preset, kind_of_network);
  const KindsOfCase kinds{preset->written.find("gpu")->string(), kind_of_network};
  const KindConstants network_now = network_constants(present, kinds);
  const KindConstants network_then = network_constants(wanted, kinds);
  const auto kind_of = [&](const std::string& kind) -> TypeKind {
    if (kind == "free") return {};
    if (kind == "network") return {&network_now, &network_then};
    return {&present.gpus.at(kind), &wanted.gpus.at(kind)};
  };
  JsonValue override_value = JsonValue::object();
  for (const JsonValue::Member& type : whole.find("link_types")->members()) {
    const JsonValue& written = *preset->written.find("link_types")->find(type.key);
    override_value.set(fmt::format("{}.protocols", type.key),
                       changed_protocols(*type.value.find("protocols"),
                                         kind_of(written.find("protocols")->string())));
  }
  JsonValue cluster = JsonValue::object({{"preset", preset->name}, {"nodes", nodes}});
  if (nodes > 1) cluster.set("network", kind_of_network);
  cluster.set("override", std::move(override_value));
  cluster.set("fitted", to_value(fit));
  return JsonValue::object({{"cluster", std::move(cluster)},
                            {"model", changed_model(*whole.find("model"), kind_of(kinds.gpu))}});
}

}  // namespace collsim
