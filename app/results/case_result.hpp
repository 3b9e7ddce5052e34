// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/results/step_result.hpp"
#include "app/scenario/fitted.hpp"
#include "app/scenario/scenario.hpp"
#include "collectives/collective.hpp"
#include "collectives/cost/bounds.hpp"
#include "collectives/cost/closed_forms.hpp"
#include "sim/idle_links.hpp"
#include "sim/simulate.hpp"
#include "validate/backend.hpp"

namespace collsim {

[[nodiscard]] constexpr std::string_view to_string(Protocol protocol) {
  return protocol == Protocol::ll ? "ll" : "simple";
}
[[nodiscard]] constexpr std::string_view to_string(DataVerdict verdict) {
  switch (verdict) {
    case DataVerdict::right: return "right";
    case DataVerdict::wrong: return "wrong";
    case DataVerdict::unchecked: break;
  }
  return "unchecked";
}

inline constexpr int least_runs_for_a_verdict = 3;

// What real runs of a row's case gave.
struct Measured {
  std::string backend;  // host, cuda, nccl; log: of a benchmark that another program ran
  Protocol protocol = Protocol::simple;
  bool paced = false;  // the scenario's links were emulated
  int iterations = 0;
  // The mean of the iterations, which is all that a log gives: how far they scatter is not known,
  // and perhaps not how many there were (0).
  bool is_average = false;
  std::string ran;  // what NCCL chose, as its log says: "Ring/LL128"
  Summary times;
  std::optional<double> lag_s = {};  // Measurement::lag_s, of paced runs
  std::string doubt = {};            // Measurement::doubt, or:
  bool is_elsewhere = false;         // not on the machine that was predicted, says the doubt
  DataVerdict data = DataVerdict::unchecked;
  std::string wrong_data;  // the first difference
  std::string device;
  std::vector<std::string> notes;  // what a reader of the numbers must know
  std::string own_name;            // of the MPI library's own collective: "MPI_Allreduce"; may be
  Summary own_times;               // empty
  std::string file;                // where they were read, when nothing was run

  // One or two runs do not show how far they scatter.
  [[nodiscard]] bool has_too_few_runs() const {
    return iterations < least_runs_for_a_verdict && !(is_average && iterations == 0);
  }
  // Of paced runs: so far behind the emulated machine that their times are those of the real one.
  [[nodiscard]] bool lags() const { return lag_s && *lag_s > noisy_lag * times.median_s; }
  [[nodiscard]] bool is_noisy() const {
    return !has_too_few_runs() && (times.spread > noisy_spread || lags() || !doubt.empty());
  }
  // Why these times say nothing about a prediction; empty when they do.
  [[nodiscard]] std::string why_no_verdict() const {
    if (data == DataVerdict::wrong) return "the data was wrong";
    if (has_too_few_runs())
      return "not judged: fewer than " + std::to_string(least_runs_for_a_verdict) + " runs";
    if (!is_noisy()) return {};
    if (!doubt.empty()) return "not judged: " + doubt;
    if (times.spread > noisy_spread)
      return "too noisy: spread " + std::to_string(std::lround(100 * times.spread)) + "%";
    return "too noisy: lag " +
           std::to_string(std::lround(std::ceil(100 * *lag_s / times.median_s))) + "%";
  }
};

// How "auto" came to its choice.  Candidates are algorithms with numbers of chunks and channels.
struct Search {
  int candidates = 0;  // whatever is below, and those that are too large
  int simulated = 0;
  int ruled_out = 0;    // a lower bound says that they are no faster,
  int formulas = 0;     // or a closed form that is exact
  int unpromising = 0;  // could win very little, or had stopped winning with fewer chunks
  // What takes too long to simulate, and might be faster: "naive", "ring in 64 chunks or more".
  std::vector<std::string> too_large = {};

  void add(const Search& other);
};
// "chosen from 214 candidates (algorithm, channels, chunks): 37 simulated, 177 ruled out by lower
// bounds"
[[nodiscard]] std::string to_text(const Search& search);

// The answer for one case: a row of every table and of the results file.  SI units.
struct CaseResult {
  Params params;
  // Of a training step.  Then nothing else is told of below but ranks, times, the closed form, what
  // was sent and the symbols.
  std::optional<StepResult> step;
  Operation operation{};
  std::string algorithm;         // the one that ran, also when "auto" chose it
  std::optional<Search> search;  // only then
  int ranks = 0;                 // that take part
  Bytes size = 0;                // what nccl-tests calls size
  ElementType type{};
  std::optional<Reduction> reduction;  // of operations that reduce
  int root = 0;                        // a rank of the machine; 0 too where there is none
  int chunks = 1;
  int channels = 1;
  int radix = 4;
  std::optional<int> aggregation;
  std::optional<LinkProtocol> protocol;  // of NCCL, that it ran under
  std::optional<NcclAlgorithm> nccl;     // and what NCCL calls the algorithm
  // How sure a prediction of NCCL's time on a preset is.
  std::optional<ErrorClass> error_class;
  // On a preset: whether what NCCL's protocols cost was fitted to measurements, and the row is one
  // of NCCL's.  Other algorithms stand on latencies and overheads that nobody measured.
  std::optional<bool> calibrated;
  Time kernel;                         // simulated, the kernel's launch included,
  Time host;                           // what the host needs for launching it, where that is known,
  Time time;                           // and what both come to
  std::optional<ClosedForm> analytic;  // where a closed form applies to exactly this case
  LowerBounds bounds;
  bool evened = false;  // simulated with parts of the ranks that are equal, not one element apart
  Time bound;
  std::string bound_cut;  // what must pass where, when that is the bound; empty: something else is
  std::uint64_t messages = 0;
  Bytes wire_bytes = 0;
  Engine engine{};
  std::uint64_t fingerprint = 0;
  // The bandwidth of the slowest link that carried data; only when asked for (CaseOptions).
  std::optional<double> bottleneck_bandwidth;
  std::optional<IdleLinks> idle_links;  // likewise
  // Symbols of expressions that the case defines: alpha, B, L when all links are alike (L from
  // rank to rank, where all are equally far apart); the time that adding a byte takes.
  std::optional<double> alpha, B, L;
  double gamma = 0;
  // Of real runs (collsim validate).  Neither: no measurement was requested.
  std::optional<Measured> measured;
  std::optional<NoMeasurement> not_measured;

  // "ring", or of NCCL "Ring LL".
  [[nodiscard]] std::string algorithm_text() const {
    return nccl && protocol ? nccl_text(*nccl, *protocol) : algorithm;
  }
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
