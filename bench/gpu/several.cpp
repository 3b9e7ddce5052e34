// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "bench/gpu/calibration.hpp"
#include "bench/gpu/cases.hpp"
#include "bench/gpu/phases.hpp"
#include "validate/cuda/nccl_backend.hpp"
#include "validate/in_child.hpp"

namespace collsim::bench {
namespace {

Schedule ring(Operation operation, int ranks, Bytes bytes) {
  return make_schedule(
      collective_of(operation, ranks, bytes),
      {.name = "ring", .chunks = 4, .channels = channels_of_nccl, .slots = slots_of_nccl});
}

// From one GPU to another, by the lanes that collectives use; GB/s, or why not.
std::string rate_between(int from, int to, int gpus) {
  constexpr Bytes bytes = mebibytes(64);
  Collective collective = collective_of(Operation::send_recv, gpus, bytes);
  collective.pattern.kind = Pattern::Kind::pairs;
  collective.pattern.pairs = {{from, to}};
  AlgorithmChoice choice;
  choice.channels = channels_of_nccl;
  choice.chunks = 16;
  choice.slots = slots_of_nccl;
  RunOptions options;
  options.warmup = 3;
  options.iterations = 5;
  options.check = false;
  const Ran ran = run_on_gpus({make_schedule(collective, choice)}, options);
  if (!ran.measured) return "FAILED: " + ran.problem;
  return number(static_cast<double>(bytes) / summary_of(ran.measured->times_s).median_s / 1e9, 0);
}

void report_pairs(Part& part, int gpus) {
  part.text(concat("From each GPU to each other, GB/s: 64 MiB over ", channels_of_nccl,
                   " channels, nothing else under way. A pair far below the others goes through "
                   "the host or over a slower link."));
  std::vector<std::string> names{"from \\ to"};
  for (int to = 0; to < gpus; ++to) names.push_back(std::to_string(to));
  part.columns(names);
  for (int from = 0; from < gpus; ++from) {
    std::vector<std::string> cells{std::to_string(from)};
    for (int to = 0; to < gpus; ++to)
      cells.push_back(from == to ? "" : rate_between(from, to, gpus));
    part.row(cells);
  }
  part.end_of_table();
}

struct RingCase {
  Operation operation;
  int ranks;
  Bytes bytes;
  auto operator<=>(const RingCase&) const = default;
};

std::vector<RingCase> cases_for(int gpus) {
  std::vector<RingCase> cases;
  for (const int ranks : {2, 4, 8})
    for (const Operation operation : {Operation::all_reduce, Operation::all_gather})
      for (const Bytes bytes : {mebibytes(1), mebibytes(16), mebibytes(128)})
        if (ranks <= gpus) cases.push_back({operation, ranks, bytes});
  return cases;
}

// NCCL's runs are children of this process, which must not have started CUDA before.
std::map<RingCase, std::string> times_of_nccl(const std::vector<RingCase>& cases) {
  constexpr double limit_s = 40;
  std::map<RingCase, std::string> times;
  const auto reason = nccl_unavailable();
  for (const RingCase& one : cases) {
    if (reason) {
      times[one] = "none: " + *reason;
      continue;
    }
    RunOptions options;
    options.check = false;
    const RunCase run_case{ring(one.operation, one.ranks, one.bytes)};
    const RunOutcome outcome =
        run_in_child([&] { return run_on_free_nccl(run_case, options); }, limit_s);
    const auto* measured = std::get_if<Measurement>(&outcome);
    times[one] = measured != nullptr ? number(summary_of(measured->times_s).median_s * 1e6)
                                     : "none: " + std::get<NoMeasurement>(outcome).reason;
  }
  return times;
}

class RingRows {
 public:
  RingRows(Part& part, std::map<RingCase, std::string> nccl) : part_(part), nccl_(std::move(nccl)) {
    part.columns({"case", "GPUs", "size", "predicted us", "measured us", "error", "NCCL us"});
  }

  void add(const RingCase& one, const Calibration& machine) {
    const Schedule schedule = ring(one.operation, one.ranks, one.bytes);
    const double predicted_s = machine.predicted_s(schedule);
    RunOptions options;
    options.warmup = 3;
    options.at_least_s = 0.1;
    options.check = one.bytes <= mebibytes(1);
    const Ran ran = run_on_gpus({schedule}, options);
    is_well_ = is_well_ && ran.measured;
    part_.row({std::string(to_string(one.operation)) + " ring", std::to_string(one.ranks),
               bytes_to_text(one.bytes), number(predicted_s * 1e6), measured_text(ran),
               error_text(ran, predicted_s), nccl_[one]});
  }
  [[nodiscard]] Verdict conclude() {
    part_.end_of_table();
    return is_well_ ? Verdict::passed : Verdict::failed;
  }

 private:
  static std::string measured_text(const Ran& ran) {
    return ran.measured ? number(summary_of(ran.measured->times_s).median_s * 1e6)
                        : "FAILED: " + ran.problem;
  }
  static std::string error_text(const Ran& ran, double predicted_s) {
    if (!ran.measured) return "";
    if (!ran.measured->doubt.empty()) return "not judged: " + ran.measured->doubt;
    return percent(predicted_s / summary_of(ran.measured->times_s).median_s - 1);
  }

  Part& part_;
  std::map<RingCase, std::string> nccl_;
  bool is_well_ = true;
};

}  // namespace

Verdict report_several(Part& part) {
  part.heading("Several GPUs");
  constexpr int most_gpus = 8;
  const int gpus = std::min(count_gpus(), most_gpus);
  if (gpus < 2) {
    part.text("Not measured: there are fewer than two GPUs.");
    return Verdict::impossible;
  }
  const std::vector<RingCase> cases = cases_for(gpus);
  std::map<RingCase, std::string> nccl = times_of_nccl(cases);
  report_pairs(part, gpus);
  std::map<int, Calibration> machines;  // by ranks
  for (const RingCase& one : cases) {
    if (machines.contains(one.ranks)) continue;
    auto found = calibrate_lanes(one.ranks, channels_of_nccl, Protocol::simple, run_on_gpus);
    if (const auto* problem = std::get_if<std::string>(&found)) {
      part.text(concat("- ", one.ranks, " GPUs: FAILED: ", *problem));
      return Verdict::failed;
    }
    machines.emplace(one.ranks, std::get<Calibration>(found));
    part.text(concat("- ", one.ranks, " GPUs: ", machines.at(one.ranks).text()));
  }
  RingRows rows(part, std::move(nccl));
  for (const RingCase& one : cases) rows.add(one, machines.at(one.ranks));
  return rows.conclude();
}

}  // namespace collsim::bench
