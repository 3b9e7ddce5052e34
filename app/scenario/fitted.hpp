// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "app/json/value.hpp"
#include "app/scenario/object_reader.hpp"
#include "topo/units.hpp"

namespace collsim {

// What NCCL's protocols and kernels cost on kinds of GPUs and of networks: constants fitted to
// published measurements, each written once, in scenarios/presets/fitted.json, which a fit writes.
//
//   { "fitted": 1, "source": "...",
//     "gpus": { "hopper": { "title": "NVSwitch Hopper", "source": "fitted to ...",
//         "protocols": { "LL": { "hop": "740ns", "growth": 0.36, "rate": 0.5 }, ... },
//         "launch": { "base": "5us", "host": "3.4us", "pair": "400ns" },
//         "local_rate": 1.5, "per_peer": "207ns", "network_rate": 0.78 }, ... },
//     "networks": { "ib": { "title", "source", "protocols" }, ... },
//     "intervals": { "gpus": { "hopper": { "LL.hop": "0.5 us .. 0.9 us", ... }, ... },
//                    "networks": {...} },   // 95% of each constant
//     "accuracy": { "gpus": { "hopper": [ { "up_to": "64KiB", "half": 0.05, "most": 0.21,
//                                           "rows": 80, "tables": 14 }, ... ] },
//                   "networks": {...}, "tables_of_nodes": { "ib": { "2": 5, "4": 1 } },
//                   "most_nodes": [ { "gpu": "hopper", "all-gather": 1, "all-reduce": 1 },
//                                   { "gpu": "hopper", "network": "ib", "all-reduce": 4 }, ...] } }
//
// A hop here is the whole way from GPU to GPU, of a network between nodes.  `rate` is the share of
// a link's bandwidth that a protocol has; network_rate, where given, that of Simple between nodes.
// The last pass over a rank's own block runs at local_rate times the bandwidth of a GPU's links.
[[nodiscard]] const JsonValue& fitted_constants();

// "a100", "hopper", ..., "common": what a machine starts from that nobody has measured.
[[nodiscard]] const Vocabulary& gpu_kind_words();
// "ib", "roce", "efa", "tcp"
[[nodiscard]] const Vocabulary& network_words();

// A preset (app/scenario/presets.hpp) with these numbers in place of the names of kinds, its NICs
// as part of a network of that kind: the "protocols" of link types and the "model".  Of a hop a
// link carries its part:
//
//   "protocols": "hopper", "hops": 2   half of it, because such links are crossed twice on the way
//                                      from GPU to GPU; "hops": 0: nothing of it, all the rate
//   "protocols": "network", "hops": 2, "behind": ["pcie", "pcie"]
//                                      half of the network's, less what these links, on the way to
//                                      the NIC, have of it already
//   "protocols": "free"                nothing, at the link's full bandwidth
//
// Of "per_gpu" links of a type, 0 by default, a GPU's bandwidth is the sum.
[[nodiscard]] JsonValue with_fitted_constants(JsonValue preset, std::string_view network);

// How far predictions with these constants were from published measurements: |predicted / measured
// - 1| was within `half` for half of the rows, and within `most` for 95% of them.
struct ErrorClass {
  std::string machines;        // "NVSwitch Hopper", "InfiniBand"
  Bytes above = 0, up_to = 0;  // sizes; 0: without end
  double half = 0, most = 0;
  std::int64_t rows = 0, tables = 0;  // 0: nobody has measured such machines
  // The same of constants that had not been fitted to tables of the row's owner.
  std::optional<double> unseen_half, unseen_most;
  bool between_nodes = false;  // judged by their network
  // The user left NCCL no choice, or a smaller one: what was measured is what NCCL chooses.
  bool forced = false;
  // Why what is predicted is none of what was measured: "no published table of ..."; empty: it is.
  std::string outside = {};
  // The machine was fitted to logs of its user: the errors of that fit, not of a class.
  bool own_logs = false;
  // Whether it tells what to expect of a machine in order.
  [[nodiscard]] bool is_yardstick() const {
    return tables > 0 && !forced && outside.empty() && !own_logs;
  }
  bool operator==(const ErrorClass&) const = default;
};
// Machines are judged by the kind of their network when several nodes take part, else by that of
// their GPUs; network: empty for one node.
[[nodiscard]] ErrorClass error_class(const std::string& gpu, const std::string& network,
                                     Bytes size);
// ErrorClass::outside of a collective on so many nodes of such machines.
[[nodiscard]] std::string outside_of_tables(const std::string& gpu, const std::string& network,
                                            std::int64_t nodes, std::string_view operation);

// "fitted" of a cluster: how many logs `collsim calibrate` fitted it to, and how far its
// predictions are from their rows.
struct FitToLogs {
  std::int64_t logs = 0, rows = 0;
  double half = 0, most = 0;
};

}  // namespace collsim
