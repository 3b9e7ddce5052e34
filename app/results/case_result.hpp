// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "app/results/measured.hpp"
#include "app/scenario/scenario.hpp"
#include "collectives/collective.hpp"
#include "collectives/cost/bounds.hpp"
#include "collectives/cost/closed_forms.hpp"
#include "sim/simulate.hpp"

namespace collsim {

// The answer for one case: a row of every table and of the results file.  SI units.
struct CaseResult {
  Params params;
  Operation operation{};
  std::string algorithm;  // the one that ran, also when "auto" chose it
  int ranks = 0;          // that take part
  Bytes size = 0;         // what nccl-tests calls size
  ElementType type{};
  std::optional<Reduction> reduction;  // of operations that reduce
  int root = 0;                        // a rank of the machine; 0 too where there is none
  int chunks = 1;
  int channels = 1;
  int radix = 4;
  std::optional<int> aggregation;
  Time time;                           // simulated
  std::optional<ClosedForm> analytic;  // where a closed form applies to exactly this case
  LowerBounds bounds;
  Time bound;
  std::uint64_t messages = 0;
  Bytes wire_bytes = 0;
  Engine engine{};
  std::uint64_t fingerprint = 0;
  // The bandwidth of the slowest link that carried data; only when asked for (CaseOptions).
  std::optional<double> bottleneck_bandwidth;
  // Symbols of expressions that the case defines: alpha, B, L when all links are alike (L from
  // rank to rank, where all are equally far apart); the time that adding a byte takes.
  std::optional<double> alpha, B, L;
  double gamma = 0;
  // Of real runs (collsim validate).  Neither: no measurement was requested.
  std::optional<Measured> measured;
  std::optional<NoMeasurement> not_measured;

  [[nodiscard]] double time_s() const { return time.seconds(); }
  // size / time, and that times nccl-tests' factor.  0 for a time or a size of 0.
  [[nodiscard]] double algbw() const {
    return time == Time{} ? 0 : static_cast<double>(size) / time_s();
  }
  [[nodiscard]] double busbw() const { return algbw() * busbw_factor(operation, ranks); }
  [[nodiscard]] double measured_algbw() const {
    const bool has_time = measured && measured->times.median_s > 0;
    return has_time ? static_cast<double>(size) / measured->times.median_s : 0;
  }

  // (predicted - measured) / measured; less than 0: reality is slower.
  [[nodiscard]] std::optional<double> error() const {
    if (!measured || !(measured->times.median_s > 0)) return std::nullopt;
    return time_s() / measured->times.median_s - 1;
  }
  // Why no measurement can be compared with the prediction; empty if one can.
  [[nodiscard]] std::string why_no_verdict() const {
    if (measured) return measured->why_no_verdict();
    if (not_measured) return "not measured: " + not_measured->reason;
    return "needs a measurement: collsim validate";
  }
};

}  // namespace collsim
