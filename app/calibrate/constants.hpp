// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "app/json/value.hpp"
#include "app/scenario/scenario.hpp"
#include "topo/protocols.hpp"

namespace collsim {

// The numbers by which NCCL's time on a kind of machine is predicted, as the file of fitted
// constants has them (scenarios/presets/fitted.json), in SI units:
//
//   of a protocol   hop, growth, rate, per_chunk (bytes): on the way from one GPU to the next
//                   (topo/protocols.hpp)
//   launch          base, host, pair, and besides local_rate (local_bandwidth as a share of the
//                   GPU's link) and per_peer (app/scenario/model.hpp)
//   network_rate    of Simple between nodes, in place of the network's rate, for kinds of GPUs
//                   that have one of their own
enum class Quantity : std::uint8_t {
  hop,
  growth,
  rate,
  per_chunk,
  base,
  host,
  pair,
  local_rate,
  per_peer,
  network_rate
};

struct Constant {
  Quantity quantity{};
  std::optional<LinkProtocol> protocol = {};  // of hop, growth and rate
};
[[nodiscard]] std::span<const Constant> all_constants();
[[nodiscard]] std::size_t index_of(Constant constant);  // among them
[[nodiscard]] std::string name_of(Constant constant);   // "LL.hop", "launch.base", "local_rate"
// "1.23 us", "0.48"
[[nodiscard]] std::string text_of(Constant constant, double value);
[[nodiscard]] bool is_time(Quantity quantity);
[[nodiscard]] bool is_rate(Quantity quantity);

// By index of all_constants(); nothing: such machines do not have it.
using KindConstants = std::vector<std::optional<double>>;

// "hopper", ... and "common", from which a kind that nobody measured starts.
struct MachineConstants {
  std::map<std::string, KindConstants> gpus, networks;

  [[nodiscard]] static MachineConstants read(const JsonValue& document);
  // The document with these numbers in place of its own.
  [[nodiscard]] JsonValue written_into(JsonValue document) const;
};

// wanted / present; 1 where either does not have it.
[[nodiscard]] double change_of(Constant constant, const KindConstants& present,
                               const KindConstants& wanted);

// Which constants a case depends on.
struct KindsOfCase {
  std::string gpu, network;  // network: empty on one node
};

// The network's constants between nodes of such GPUs, which may have a rate of their own there.
[[nodiscard]] KindConstants network_constants(const MachineConstants& all,
                                              const KindsOfCase& kinds);

// The case with the constants of its machine replaced: its links' protocols and its launch become
// `wanted` times what they are divided by `present`, with which they were made; so whatever part of
// a hop a link carries, it goes on to carry.
[[nodiscard]] Case with_constants(const Case& asked, const KindsOfCase& kinds,
                                  const MachineConstants& present, const MachineConstants& wanted);

}  // namespace collsim
