// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "bench/gpu/calibration.hpp"
#include "bench/gpu/cases.hpp"
#include "bench/gpu/phases.hpp"

namespace collsim::bench {
namespace {

constexpr double most_native_error = 0.10;

struct NativeCase {
  Operation operation;
  const char* algorithm;
  int chunks;
};
// Neither of the two that were calibrated with.
constexpr NativeCase native_cases[] = {
    {Operation::all_reduce, "ring", 1},        {Operation::all_reduce, "ring", 4},
    {Operation::all_reduce, "double-tree", 4}, {Operation::all_reduce, "halving-doubling", 1},
    {Operation::broadcast, "chain", 8},        {Operation::broadcast, "binomial", 1},
    {Operation::all_to_all, "pairwise", 1},
};

class Rows {
 public:
  explicit Rows(Part& part) : part_(part) {
    part.columns(
        {"case", "size", "channels", "predicted us", "measured us", "min .. max", "error"});
  }

  void add(const NativeCase& native, Bytes bytes, int channels, const Calibration& machine) {
    const Schedule schedule =
        make_schedule(collective_of(native.operation, virtual_ranks, bytes),
                      {.name = native.algorithm, .chunks = native.chunks, .channels = channels});
    const double predicted_s = machine.predicted_s(schedule);
    RunOptions options;
    options.warmup = 3;
    options.check = bytes <= mebibytes(1);  // the host makes and compares the data: that takes long
    const Ran ran = run_case({schedule}, options);
    const std::string name = std::string(to_string(native.operation)) + " " + native.algorithm +
                             (native.chunks > 1 ? concat(", ", native.chunks, " chunks") : "");
    const std::string predicted = number(predicted_s * 1e6);
    if (!ran.measured) {
      part_.row({name, bytes_to_text(bytes), std::to_string(channels), predicted,
                 "FAILED: " + ran.problem, "", ""});
      has_failed_ = true;
      return;
    }
    const Summary summary = summary_of(ran.measured->times_s);
    const double error = predicted_s / summary.median_s - 1;
    const bool is_noisy = summary.spread > noisy_spread;
    if (!is_noisy) errors_.push_back(std::abs(error));
    part_.row({name, bytes_to_text(bytes), std::to_string(channels), predicted,
               number(summary.median_s * 1e6),
               number(summary.min_s * 1e6) + " .. " + number(summary.max_s * 1e6),
               is_noisy ? "too noisy: spread " + percent(summary.spread) : percent(error)});
  }

  Verdict conclude() {
    part_.end_of_table();
    if (errors_.empty()) return Verdict::failed;
    std::sort(errors_.begin(), errors_.end());
    const double median = errors_[errors_.size() / 2];
    const bool is_met = median <= most_native_error;
    part_.text("Median error " + percent(median) + ", worst " + percent(errors_.back()) +
               "; promised are " + percent(most_native_error, 0) +
               " median: " + (is_met ? "met" : "MISSED"));
    return is_met && !has_failed_ ? Verdict::passed : Verdict::failed;
  }

 private:
  Part& part_;
  std::vector<double> errors_;
  bool has_failed_ = false;
};

}  // namespace

Verdict report_native(Part& part) {
  part.heading("Native runs against the simulation");
  part.text(
      "8 virtual ranks, f32, sum, 20 runs after 3 to warm up, calibrated for each number of "
      "channels "
      "with a ring all-gather and a ring reduce-scatter, which are not among the rows.");
  std::vector<std::pair<int, Calibration>> machines;
  for (const int channels : {1, 8}) {
    auto found = calibrate_lanes(virtual_ranks, channels, Protocol::simple);
    if (const auto* problem = std::get_if<std::string>(&found)) {
      part.text(concat("- ", channels, " channels: FAILED: ", *problem));
      return Verdict::failed;
    }
    machines.emplace_back(channels, std::get<Calibration>(found));
    part.text(concat("- ", channels, (channels == 1 ? " channel: " : " channels: "),
                     machines.back().second.text()));
  }
  Rows rows(part);
  for (const auto& [channels, machine] : machines)
    for (const Bytes bytes : {kibibytes(64), mebibytes(1), mebibytes(16), mebibytes(64)})
      for (const NativeCase& native : native_cases) rows.add(native, bytes, channels, machine);
  return rows.conclude();
}

}  // namespace collsim::bench
