// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <variant>

#include "bench/gpu/cases.hpp"
#include "collectives/cost/cost_model.hpp"
#include "topo/units.hpp"

namespace collsim::bench {

// What a GPU's lanes cost, for predicting native runs of so many ranks and channels.
//
// Ranks reach each other's memory, so links have a latency and no limit; copying and reducing keep
// the lane busy, the more so the more lanes share the memory.  All is found with a ring all-gather,
// which only copies, and a ring reduce-scatter:
//   overhead and latency   their times with hardly any data, in one piece and in many: many keep
//                          every lane busy all the time, one waits for each message
//   rates                  how long their steps take at two sizes, with one channel and with all
class Calibration {
 public:
  // Seconds per byte.
  struct Rates {
    double copy = 0, second_write = 0, reduce = 0;
  };

  Calibration(int ranks, int channels, double overhead_s, double latency_s, const Rates& few_lanes,
              const Rates& all_lanes);

  // Simulates it twice: to see how many lanes are at work on average, and with what that costs.
  [[nodiscard]] double predicted_s(const Schedule& schedule) const;

  [[nodiscard]] std::string text() const;  // the numbers, for people

 private:
  [[nodiscard]] CostModel costs_with(double lanes_at_work) const;

  int ranks_, channels_;
  double overhead_s_, latency_s_;
  Rates few_lanes_, all_lanes_;
};

using RunOne = Ran (*)(const RunCase&, const RunOptions&);
[[nodiscard]] std::variant<Calibration, std::string> calibrate_lanes(int ranks, int channels,
                                                                     Protocol protocol,
                                                                     RunOne run = run_case);

}  // namespace collsim::bench
