// SPDX-License-Identifier: Apache-2.0
#include "app/scenario/fitted.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "app/embedded_files.hpp"
#include "app/json/parse_json.hpp"
#include "app/scenario/quantities.hpp"
#include "topo/protocols.hpp"

namespace collsim {
namespace {

const JsonValue& part(const JsonValue& object, std::string_view key) {
  const JsonValue* found = object.find(key);
  COLLSIM_CHECK(found != nullptr, "fitted constants without \"" + std::string(key) + "\"");
  return *found;
}

Vocabulary words_of(std::string_view what, std::string_view kinds) {
  Vocabulary words{.what = std::string(what)};
  for (const JsonValue::Member& kind : part(fitted_constants(), kinds).members())
    words.allowed.push_back(kind.key);
  return words;
}

Time time_of(const JsonValue& text) {
  return parse_time(text.string()).value.value();
}

// Fills in one preset.
class Constants {
 public:
  Constants(JsonValue& preset, std::string_view network)
      : preset_(&preset),
        gpu_kind_(part(preset, "gpu").string()),
        gpu_(&part(part(fitted_constants(), "gpus"), gpu_kind_)),
        network_(&part(part(fitted_constants(), "networks"), network)),
        types_(part(preset, "link_types")) {}

  void fill_in() {
    JsonValue filled = types_;
    for (JsonValue::Member& type : filled.members()) {
      type.value.set("protocols", protocols_of(type.value));
      JsonValue sources = part(type.value, "source");
      sources.set("protocols", source_of(part(types_, type.key)));
      type.value.set("source", std::move(sources));
      for (const char* key : {"hops", "behind", "per_gpu"}) type.value.erase(key);
    }
    preset_->set("link_types", std::move(filled));
    preset_->set("model", model());
  }

 private:
  static std::int64_t count(const JsonValue& type, std::string_view key) {
    const JsonValue* const written = type.find(key);
    return written == nullptr ? 0 : *written->integer();
  }
  // Of a link type as the preset writes it.
  static const std::string& kind_of(const JsonValue& type) {
    return part(type, "protocols").string();
  }
  [[nodiscard]] const JsonValue& constants_of(const std::string& kind) const {
    if (kind == "network") return *network_;
    return kind == gpu_kind_ ? *gpu_ : part(part(fitted_constants(), "gpus"), kind);
  }

  // Of NVLS: a switch that a free link leads to adds only where the GPUs' own switches do.
  [[nodiscard]] bool is_free_of(const std::string& protocol) const {
    return protocol != to_string(LinkProtocol::nvls) ||
           part(*gpu_, "protocols").find(protocol) != nullptr;
  }

  // The part of a hop that one link has; nothing: it does not carry the protocol.
  [[nodiscard]] std::optional<Time> hop(const JsonValue& type, const std::string& protocol) const {
    const std::string& kind = kind_of(type);
    if (kind == "free") return is_free_of(protocol) ? std::optional(Time{}) : std::nullopt;
    const JsonValue* const row = part(constants_of(kind), "protocols").find(protocol);
    if (row == nullptr) return std::nullopt;
    const std::int64_t hops = count(type, "hops");
    if (hops == 0) return Time{};
    Time own = rounded_picoseconds(static_cast<double>(time_of(part(*row, "hop")).ps()) /
                                   static_cast<double>(hops));
    if (const JsonValue* const behind = type.find("behind"))
      for (const JsonValue& before : behind->items())
        own -= hop(part(types_, before.string()), protocol).value_or(Time{});
    return std::max(own, Time{});
  }

  [[nodiscard]] JsonValue protocols_of(const JsonValue& type) const {
    const std::string& kind = kind_of(type);
    JsonValue all = JsonValue::object();
    for (const LinkProtocol protocol : all_protocols) {
      if (protocol == LinkProtocol::collnet) continue;  // what adds is written ("sharp")
      const std::string name = to_string(protocol);
      const std::optional<Time> own = hop(type, name);
      if (!own) continue;
      JsonValue row = JsonValue::object({{"hop", exact_time(*own)}});
      if (kind == "free")
        row.set("rate", 1);
      else
        for (const JsonValue::Member& constant :
             part(part(constants_of(kind), "protocols"), name).members())
          if (constant.key != "hop") row.set(constant.key, constant.value);
      if (const JsonValue* const rate = gpu_->find("network_rate");
          rate != nullptr && kind == "network" && protocol == LinkProtocol::simple)
        row.set("rate", *rate);
      all.set(name, std::move(row));
    }
    return all;
  }

  [[nodiscard]] std::string source_of(const JsonValue& type) const {
    const std::string& kind = kind_of(type);
    if (kind == "free") return "what NCCL's protocols cost on this way the other links of it have";
    const std::string& source = part(constants_of(kind), "source").string();
    const std::int64_t hops = count(type, "hops");
    if (hops == 0) return source + "; the hop is that of other links of the way";
    std::string text = source;
    if (kind == "network" && gpu_->find("network_rate") != nullptr)
      text += "; the rate of Simple " + part(*gpu_, "source").string();
    if (hops > 1) text += fmt::format("; a link has 1/{} of the hop from GPU to GPU", hops);
    if (type.find("behind") != nullptr) text += ", less what PCIe links before it have";
    return text;
  }

  [[nodiscard]] JsonValue model() const {
    double links = 0;
    for (const JsonValue::Member& type : types_.members())
      links += static_cast<double>(count(type.value, "per_gpu")) *
               static_cast<double>(parse_bandwidth(part(type.value, "bandwidth").string())
                                       .value.value()
                                       .bytes_per_second());
    constexpr double megabytes = 1e6;
    const double local = part(*gpu_, "local_rate").number() * links;
    return JsonValue::object(
        {{"launch", part(*gpu_, "launch")},
         {"local_bandwidth", fmt::format("{}MB/s", std::llround(local / megabytes))},
         {"per_peer", part(*gpu_, "per_peer")}});
  }

  JsonValue* preset_;
  std::string gpu_kind_;
  const JsonValue* gpu_;
  const JsonValue* network_;
  JsonValue types_;  // as the preset writes them
};

std::string title_of(std::string_view kinds, const std::string& kind) {
  return part(part(part(fitted_constants(), kinds), kind), "title").string();
}

// "NVSwitch Hopper with InfiniBand"
std::string machines_text(const std::string& gpu, const std::string& network) {
  return title_of("gpus", gpu) + (network.empty() ? "" : " with " + title_of("networks", network));
}

// The nodes of the largest machine of a kind that a table of each operation was of; null: none was.
const JsonValue* most_nodes_of(const std::string& gpu, const std::string& network) {
  for (const JsonValue& one : part(part(fitted_constants(), "accuracy"), "most_nodes").items()) {
    const JsonValue* const joined = one.find("network");
    if (part(one, "gpu").string() == gpu && (joined == nullptr ? "" : joined->string()) == network)
      return &one;
  }
  return nullptr;
}

}  // namespace

const JsonValue& fitted_constants() {
  static const JsonValue constants =
      parse_builtin("fitted constants", embedded_fitted().front().text);
  return constants;
}

const Vocabulary& gpu_kind_words() {
  static const Vocabulary words = words_of("kind of GPU", "gpus");
  return words;
}

const Vocabulary& network_words() {
  static const Vocabulary words = [] {
    Vocabulary made = words_of("kind of network", "networks");
    made.aliases = {{"infiniband", "ib"}, {"ethernet", "roce"}, {"rocev2", "roce"}, {"tcpx", "tcp"},
                    {"tcpxo", "tcp"},     {"sockets", "tcp"},   {"socket", "tcp"}};
    return made;
  }();
  return words;
}

JsonValue with_fitted_constants(JsonValue preset, std::string_view network) {
  Constants(preset, network).fill_in();
  return preset;
}

ErrorClass error_class(const std::string& gpu, const std::string& network, Bytes size) {
  const char* const kinds = network.empty() ? "gpus" : "networks";
  const std::string& kind = network.empty() ? gpu : network;
  ErrorClass found{.machines = title_of(kinds, kind)};
  found.between_nodes = !network.empty();
  const JsonValue* const classes = part(fitted_constants(), "accuracy").find(kinds);
  const JsonValue* const ranges = classes == nullptr ? nullptr : classes->find(kind);
  if (ranges == nullptr) return found;
  for (const JsonValue& range : ranges->items()) {
    const JsonValue* const end = range.find("up_to");
    found.up_to = end == nullptr ? 0 : parse_size(end->string()).value.value();
    if (found.up_to != 0 && size > found.up_to) {
      found.above = found.up_to;
      continue;
    }
    found.half = part(range, "half").number();
    found.most = part(range, "most").number();
    if (const JsonValue* const half = range.find("unseen_half")) {
      found.unseen_half = half->number();
      found.unseen_most = part(range, "unseen_most").number();
    }
    found.rows = part(range, "rows").integer().value();
    found.tables = part(range, "tables").integer().value();
    return found;
  }
  return found;
}

std::string outside_of_tables(const std::string& gpu, const std::string& network,
                              std::int64_t nodes, std::string_view operation) {
  const std::string joined = nodes > 1 ? network : "";
  const std::string where = nodes > 1 ? "several nodes" : "one node";
  const std::string machines = machines_text(gpu, joined);
  const JsonValue* const most = most_nodes_of(gpu, joined);
  if (most == nullptr) return fmt::format("no published table of {} of {}", where, machines);
  const JsonValue* const known = most->find(operation);
  if (known == nullptr)
    return fmt::format("no published table of {} on {} of {}", operation, where, machines);
  if (nodes <= known->integer().value()) return {};
  return fmt::format("no published table of {} on more than {} nodes of {}", operation,
                     known->integer().value(), machines);
}

}  // namespace collsim
