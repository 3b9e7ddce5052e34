// SPDX-License-Identifier: Apache-2.0
#include "app/calibrate/constants.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <string_view>
#include <utility>

#include "app/scenario/quantities.hpp"
#include "topo/routes.hpp"

namespace collsim {
namespace {

constexpr std::array of_a_protocol = {Quantity::hop, Quantity::growth, Quantity::rate,
                                      Quantity::per_chunk};
constexpr std::array of_a_machine = {Quantity::base,     Quantity::host,
                                     Quantity::pair,     Quantity::local_rate,
                                     Quantity::per_peer, Quantity::network_rate};

const char* key_of(Quantity quantity) {
  switch (quantity) {
    case Quantity::hop: return "hop";
    case Quantity::growth: return "growth";
    case Quantity::rate: return "rate";
    case Quantity::per_chunk: return "per_chunk";
    case Quantity::base: return "base";
    case Quantity::host: return "host";
    case Quantity::pair: return "pair";
    case Quantity::local_rate: return "local_rate";
    case Quantity::per_peer: return "per_peer";
    case Quantity::network_rate: return "network_rate";
  }
  return "";
}

bool is_of_launch(Quantity quantity) {
  return quantity == Quantity::base || quantity == Quantity::host || quantity == Quantity::pair;
}

// Where a kind of machine keeps it: the object, which is null where there is none.
template <class Value>  // JsonValue, const or not
Value* home_of(Constant constant, Value& kind) {
  if (!constant.protocol) return is_of_launch(constant.quantity) ? kind.find("launch") : &kind;
  Value* const protocols = kind.find("protocols");
  return protocols == nullptr ? nullptr : protocols->find(to_string(*constant.protocol));
}

std::optional<double> read_constant(Constant constant, const JsonValue& kind) {
  const JsonValue* const home = home_of(constant, kind);
  const JsonValue* const value = home == nullptr ? nullptr : home->find(key_of(constant.quantity));
  if (value == nullptr) return std::nullopt;
  if (constant.quantity == Quantity::per_chunk) {
    if (!value->is_string()) return std::nullopt;
    const Parsed<Bytes> size = parse_size(value->string());
    return size.value ? std::optional(static_cast<double>(*size.value)) : std::nullopt;
  }
  if (!is_time(constant.quantity))
    return value->is_number() ? std::optional(value->number()) : std::nullopt;
  if (!value->is_string()) return std::nullopt;
  const Parsed<Time> time = parse_time(value->string());
  return time.value ? std::optional(time.value->seconds()) : std::nullopt;
}

std::map<std::string, KindConstants> read_kinds(const JsonValue* kinds) {
  std::map<std::string, KindConstants> read;
  if (kinds == nullptr || !kinds->is_object()) return read;
  for (const JsonValue::Member& kind : kinds->members())
    for (const Constant& constant : all_constants())
      read[kind.key].push_back(read_constant(constant, kind.value));
  return read;
}

// Times in nanoseconds, shares with four digits: more no table can tell.
JsonValue written(Constant constant, double value) {
  if (is_time(constant.quantity))
    return fmt::format("{}ns", std::max<std::int64_t>(1, std::llround(value * 1e9)));
  if (constant.quantity == Quantity::per_chunk) return fmt::format("{}B", std::llround(value));
  return std::stod(fmt::format("{:.4g}", value));
}

void write_kinds(const std::map<std::string, KindConstants>& kinds, JsonValue* document) {
  if (document == nullptr) return;
  for (const auto& [name, constants] : kinds) {
    JsonValue* const kind = document->find(name);
    if (kind == nullptr) continue;
    for (const Constant& constant : all_constants()) {
      const std::optional<double>& value = constants[index_of(constant)];
      JsonValue* const home = home_of(constant, *kind);
      if (value && home != nullptr) home->set(key_of(constant.quantity), written(constant, *value));
    }
  }
}

// wanted / present of a kind; all 1 where there is no such kind.
class Change {
 public:
  Change(const KindConstants* present, const KindConstants* wanted)
      : present_(present), wanted_(wanted) {}

  [[nodiscard]] double of(Constant constant) const {
    if (present_ == nullptr || wanted_ == nullptr) return 1;
    return change_of(constant, *present_, *wanted_);
  }
  [[nodiscard]] Time of(Constant constant, Time time) const {
    return rounded_picoseconds(static_cast<double>(time.ps()) * of(constant));
  }
  [[nodiscard]] std::optional<double> wanted(Constant constant) const {
    return wanted_ == nullptr ? std::nullopt : (*wanted_)[index_of(constant)];
  }

 private:
  const KindConstants* present_;
  const KindConstants* wanted_;
};

// A link that costs nothing whatever the constants are, such as that from a GPU to its NIC.
bool is_free(const ProtocolCost& cost) {
  return cost.hop == Time{} && cost.rate == 1;
}

bool is_port(const Topology::Parts& parts, const Link& link) {
  const NodeKind from = parts.kinds[link.from.index()], to = parts.kinds[link.to.index()];
  return (from == NodeKind::nic && to == NodeKind::network_switch) ||
         (to == NodeKind::nic && from == NodeKind::network_switch);
}

// Of the way from a GPU to its NIC, for messages to other nodes.
Time hop_before_port(const Topology& topology, LinkProtocol protocol) {
  Router router(topology);
  Time hop;
  for (const LinkId id : router.route(Rank(0), Rank(topology.rank_count() - 1))) {
    if (is_port(topology.parts(), topology.link(id))) return hop;
    const auto& cost = cost_of(topology.protocols_of(topology.link(id)), protocol);
    if (cost) hop += cost->hop;
  }
  return {};
}

// A port has half of the network's hop, less what the links before it have (see presets' "behind").
void leave_to_ports(Topology::Parts& parts, const std::vector<char>& leads_out,
                    const Change& network) {
  if (std::count(leads_out.begin(), leads_out.end(), 1) == 0) return;
  const Topology changed(parts);
  for (const LinkProtocol protocol : all_protocols) {
    const Time before = hop_before_port(changed, protocol);
    const std::optional<double> hop = network.wanted({Quantity::hop, protocol});
    if (before == Time{} || !hop) continue;
    const Time own = std::max(Time{}, rounded_picoseconds(1e12 * *hop / 2) - before);
    for (std::size_t kind = 0; kind < parts.protocols.size(); ++kind) {
      auto& cost = parts.protocols[kind][static_cast<std::size_t>(protocol)];
      if (leads_out[kind] != 0 && cost) cost->hop = own;
    }
  }
}

Topology with_changed_protocols(const Topology& topology, const Change& gpu,
                                const Change& network) {
  Topology::Parts parts = topology.parts();
  // Kinds of links of which none leads anywhere but from a NIC to a switch: its ports.
  std::vector<char> leads_out(parts.protocols.size(), 0);
  for (const Link& link : parts.links) leads_out[link.protocols] = 1;
  for (const Link& link : parts.links)
    if (!is_port(parts, link)) leads_out[link.protocols] = 0;
  for (std::size_t kind = 0; kind < parts.protocols.size(); ++kind) {
    const Change& change = leads_out[kind] != 0 ? network : gpu;
    for (const LinkProtocol protocol : all_protocols) {
      std::optional<ProtocolCost>& cost = parts.protocols[kind][static_cast<std::size_t>(protocol)];
      if (!cost || is_free(*cost)) continue;
      cost->hop = change.of({Quantity::hop, protocol}, cost->hop);
      cost->growth *= change.of({Quantity::growth, protocol});
      cost->rate *= change.of({Quantity::rate, protocol});
      cost->per_chunk = std::llround(static_cast<double>(cost->per_chunk) *
                                     change.of({Quantity::per_chunk, protocol}));
    }
  }
  leave_to_ports(parts, leads_out, network);
  return Topology(std::move(parts));
}

}  // namespace

std::span<const Constant> all_constants() {
  static const std::vector<Constant> all = [] {
    std::vector<Constant> made;
    for (const LinkProtocol protocol : all_protocols)
      for (const Quantity quantity : of_a_protocol) made.push_back({quantity, protocol});
    for (const Quantity quantity : of_a_machine) made.push_back({quantity});
    return made;
  }();
  return all;
}

std::size_t index_of(Constant constant) {
  const auto quantity = static_cast<std::size_t>(constant.quantity);
  if (constant.protocol)
    return static_cast<std::size_t>(*constant.protocol) * of_a_protocol.size() + quantity;
  return all_protocols.size() * of_a_protocol.size() + quantity - of_a_protocol.size();
}

std::string name_of(Constant constant) {
  const char* const key = key_of(constant.quantity);
  if (constant.protocol) return fmt::format("{}.{}", to_string(*constant.protocol), key);
  return is_of_launch(constant.quantity) ? fmt::format("launch.{}", key) : key;
}

double change_of(Constant constant, const KindConstants& present, const KindConstants& wanted) {
  const std::optional<double>& before = present[index_of(constant)];
  const std::optional<double>& after = wanted[index_of(constant)];
  return before && after && *before > 0 ? *after / *before : 1;
}

std::string text_of(Constant constant, double value) {
  if (constant.quantity == Quantity::per_chunk) return fmt::format("{:.3g} KiB", value / 1024);
  if (!is_time(constant.quantity)) return fmt::format("{:.3g}", value);
  return value < 1e-3 ? fmt::format("{:.3g} us", value * 1e6)
                      : fmt::format("{:.3g} ms", value * 1e3);
}

bool is_rate(Quantity quantity) {
  return quantity == Quantity::rate || quantity == Quantity::local_rate ||
         quantity == Quantity::network_rate;
}

bool is_time(Quantity quantity) {
  return quantity != Quantity::growth && quantity != Quantity::per_chunk && !is_rate(quantity);
}

MachineConstants MachineConstants::read(const JsonValue& document) {
  return {read_kinds(document.find("gpus")), read_kinds(document.find("networks"))};
}

JsonValue MachineConstants::written_into(JsonValue document) const {
  write_kinds(gpus, document.find("gpus"));
  write_kinds(networks, document.find("networks"));
  return document;
}

KindConstants network_constants(const MachineConstants& all, const KindsOfCase& kinds) {
  KindConstants seen = all.networks.at(kinds.network);
  if (const auto& own = all.gpus.at(kinds.gpu)[index_of({Quantity::network_rate})])
    seen[index_of({Quantity::rate, LinkProtocol::simple})] = own;
  return seen;
}

Case with_constants(const Case& asked, const KindsOfCase& kinds, const MachineConstants& present,
                    const MachineConstants& wanted) {
  const Change gpu(&present.gpus.at(kinds.gpu), &wanted.gpus.at(kinds.gpu));
  KindConstants network_now, network_then;
  if (!kinds.network.empty()) {
    network_now = network_constants(present, kinds);
    network_then = network_constants(wanted, kinds);
  }
  const Change network(kinds.network.empty() ? nullptr : &network_now,
                       kinds.network.empty() ? nullptr : &network_then);
  Case made = asked;
  auto cluster = std::make_shared<Cluster>(*asked.cluster);
  cluster->topology = with_changed_protocols(asked.cluster->topology, gpu, network);
  made.cluster = std::move(cluster);
  LaunchCosts& launch = made.launch;
  launch.base = gpu.of({Quantity::base}, launch.base);
  launch.host = gpu.of({Quantity::host}, launch.host);
  launch.pair = gpu.of({Quantity::pair}, launch.pair);
  launch.per_peer = gpu.of({Quantity::per_peer}, launch.per_peer);
  if (launch.local_bandwidth)
    launch.local_bandwidth = Bandwidth(std::max<std::int64_t>(
        1, std::llround(static_cast<double>(launch.local_bandwidth->bytes_per_second()) *
                        gpu.of({Quantity::local_rate}))));
  return made;
}

}  // namespace collsim
