// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <vector>

#include "bench/gpu/cases.hpp"
#include "bench/gpu/paced_cases.hpp"
#include "bench/gpu/phases.hpp"
#include "sim/simulate.hpp"

namespace collsim::bench {
namespace {

constexpr double most_paced_error = 0.03;

}  // namespace

Verdict report_paced(Part& part) {
  part.heading("Paced runs against the simulation");
  part.text(
      "Real blocks with real data, 64 KiB per rank, held back to the links of an emulated machine: "
      "100 us overhead, 50 us latency, 8 MB/s (2 MB/s where slow). All ranks are virtual, on one "
      "GPU. "
      "Medians of 10 runs.");
  part.columns({"case", "predicted ms", "measured ms", "min .. max", "error"});
  std::vector<double> errors;
  Verdict verdict = Verdict::passed;
  for (const PacedCase& paced : paced_cases()) {
    const int ranks = static_cast<int>(paced.topology.rank_count());
    const Schedule schedule = make_schedule(collective_of(paced.operation, ranks, kibibytes(64)),
                                            {.name = paced.algorithm, .chunks = paced.chunks});
    SimulationOptions simulation;
    simulation.late = paced.late;
    const double predicted_s =
        simulate(paced.topology, schedule, paced.costs, simulation).time.seconds();
    RunOptions options;
    options.iterations = 10;
    options.patience_s = 5;
    const Ran ran = run_case(
        {schedule, paced.protocol, EmulatedMachine{paced.topology, paced.costs, paced.late}},
        options);
    if (!ran.measured) {
      part.row({paced.name, number(predicted_s * 1e3, 3), "FAILED: " + ran.problem, "", ""});
      verdict = Verdict::failed;
      continue;
    }
    const Summary summary = summary_of(ran.measured->times_s);
    const double error = predicted_s / summary.median_s - 1;
    errors.push_back(std::abs(error));
    part.row({paced.name, number(predicted_s * 1e3, 3), number(summary.median_s * 1e3, 3),
              number(summary.min_s * 1e3, 3) + " .. " + number(summary.max_s * 1e3, 3),
              percent(error, 2)});
  }
  part.end_of_table();
  if (errors.empty()) return Verdict::failed;
  std::sort(errors.begin(), errors.end());
  const double median = errors[errors.size() / 2];
  const bool is_met = median <= most_paced_error;
  part.text("Median error " + percent(median, 2) + ", worst " + percent(errors.back(), 2) +
            "; promised are " + percent(most_paced_error, 0) +
            " median: " + (is_met ? "met" : "MISSED"));
  return is_met ? verdict : Verdict::failed;
}

}  // namespace collsim::bench
