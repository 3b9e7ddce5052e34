// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "app/json/value.hpp"
#include "validate/backend.hpp"

namespace collsim {

// Links between ranks that send messages over a network, measured by a backend that has one.
//
//   ping-pong    one message alone:                  overhead + n/B + L
//   window       several from one rank to another:   overhead + n/B for each further one
//   fan-out      one rank to all others at once:     do they share its port?
//   passing on   one rank to two others, of which the first sends back what it got: twice the time
//                of a message where the port serves one after the other, three times where it
//                serves both at once
//   round        a row from every host to the next, all at once: collectives use a network so, and
//                get the bandwidth that this leaves (acknowledgements share ports with data)
//   reducing     a ping-pong that adds up:           1/rate for each byte more
//
// For every class of pairs (on one host; on different hosts) overhead, B and L are fitted to the
// sizes, each counting by its relative error: one line for all of them, or one each for up to four
// ranges of sizes where that fits clearly better, because the library changes its protocol in
// between.  No collective is measured, so that predictions of collectives are predictions.
struct NetworkProbe {
  std::string name;  // "window between hosts"
  Bytes bytes = 0;
  Summary times;  // of one message
};

struct FittedLink {
  struct Row {
    Bytes up_to = 0;  // the longest message measured; of the last row longer ones too
    double overhead_s = 0, latency_s = 0, bytes_per_s = 0;
  };
  std::vector<Row> rows;                     // by size, at least one
  double median_error = 0, worst_error = 0;  // of the time of a message alone
  bool shares_port = false;                  // what a rank sends to several shares one port,
  bool fairly = false;                       // which serves all of them at once
  double slower_in_round = 0;                // than a row between two hosts; counted in `rows`,
                                             // which fit messages alone as the errors say without
};

struct CalibratedNetwork {
  std::string device;
  int hosts = 1, ranks_per_host = 1;
  FittedLink within, between;  // of use where there are such pairs
  double reduce_bytes_per_s = 0;
  std::vector<NetworkProbe> probes;
};

struct NetworkOptions {
  const Backend* backend = nullptr;
  std::vector<int> host_of_rank;
  Bytes smallest = 64, largest = Bytes{1} << 20U;
  int iterations = 11;
  std::function<void(std::size_t done, std::size_t total)> progress = {};
};

// Or why there is none: fewer than two ranks, hosts with different numbers of ranks.
[[nodiscard]] std::variant<CalibratedNetwork, NoMeasurement> calibrate_network(
    const NetworkOptions& options);

// A machine file (validate --machine).
[[nodiscard]] JsonValue machine_value(const CalibratedNetwork& network, const std::string& version,
                                      const std::string& date);

}  // namespace collsim
