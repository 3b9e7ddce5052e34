// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "app/results/case_result.hpp"
#include "app/scenario/model.hpp"
#include "app/scenario/scenario.hpp"
#include "app/study/auto_search.hpp"
#include "app/study/cuts_cache.hpp"
#include "collectives/schedule.hpp"
#include "sim/effort.hpp"
#include "sim/simulate.hpp"

namespace collsim {

// What the instructions of a schedule cost on a machine that was measured.  The size that counts is
// its working_set(), which frequent callers keep.  How many lanes work at once is what a first
// simulation says in which none slows down another: the sum of the time that all of them work,
// divided by the time that the whole takes.  (With a slowdown both grow alike, as far as the work
// is what takes the time.)  Launch is not among them.
[[nodiscard]] CostModel calibrated_costs(const Topology& topology, const Schedule& schedule,
                                         Bytes working_set, const Calibration& calibration,
                                         const SimulationOptions& options = {});

// The same case with its costs in place of its calibration; unchanged when it has none, or when its
// algorithm is "auto".  Where all lanes together are too much to simulate, all count as working.
[[nodiscard]] Case with_calibrated_costs(Case asked);

// How far a simulation is, for those who wait; in instructions, of which the number is estimated.
class SimulationGauge {
 public:
  // The next one: "Tree LL".
  void begin(std::string what, double expected);
  void end() { begin("", 0); }
  // "Tree LL about 12%"; empty where it cannot be said.
  [[nodiscard]] std::string text() const;

  std::atomic<std::uint64_t> executed{0};

 private:
  mutable std::mutex mutex_;  // of the others
  std::string what_;
  double expected_ = 0;
};

struct CaseOptions {
  bool bottleneck_bandwidth = false;
  // Cases that need much memory take turns, when several are simulated at a time.
  std::mutex* turns = nullptr;
  // With it bounds know the tightest cuts; without, only those that the structure suggests.
  CutsCache* cuts = nullptr;
  bool idle_links = false;  // look for them
  std::shared_ptr<SimulationGauge> gauge = nullptr;
};

// Simulates; "auto" takes the fastest algorithm of the operation, with the fastest number of chunks
// and channels where the scenario leaves these open (auto_search.hpp), "nccl" the fastest way in
// which NCCL carries it out.  A training step is simulated as it is.  Throws Error.
[[nodiscard]] CaseResult run_case(const Case& one_case, const CaseOptions& options = {});

// What run_case() simulates, with a name of the table instead of "auto" or "nccl", and its row.
[[nodiscard]] Chosen choose(const Case& asked, const CaseOptions& options = {});
[[nodiscard]] Case chosen_case(Case asked);

// The case with its schedule and, instead of "auto", the algorithm that run_case() chooses.  Throws
// Error when simulating it is beyond the limits.
[[nodiscard]] Case within_limits(Case asked);

// What expressions call alpha, B, L and gamma.
void set_symbols(CaseResult& row, const Case& one_case);

// What a closed form says of a case that has its schedule; nothing where the case has anything that
// formulas do not know.
[[nodiscard]] std::optional<ClosedForm> formula_of(const Case& one_case);

// What a case may cost at most, beside max_instructions_per_lane and memory_limit(); more is
// Error{too_large}.  The instructions take some minutes.
inline constexpr double max_instructions = 1e10;  // of all ranks that are simulated
inline constexpr double much_memory_bytes = 250e6;

[[nodiscard]] inline Effort effort_of(const Case& one_case, const Schedule& schedule) {
  return effort_of(schedule, one_case.choice,
                   ways_of_messages(one_case.cluster->topology, one_case.collective.group));
}

// For how many ranks each that is simulated will probably stand.  Longer routes share links with
// those of other ranks, and which of them comes first matters where messages queue.
[[nodiscard]] double expected_ranks_for_each(const Case& one_case, const Schedule& schedule);

// Beyond a limit: on one lane alone, or for the sum of all ranks.  The latter may still be
// within reach where one rank stands for all.
[[nodiscard]] bool exceeds_lane_limit(const Effort& effort);
[[nodiscard]] bool exceeds_total_limit(const Effort& effort);

// Error{too_large} with the numbers, the limit and what would make the case smaller.
[[noreturn]] void throw_too_large(const Case& one_case, const Effort& effort,
                                  const Schedule& schedule);

// Ranks of the group that start late, in order.
[[nodiscard]] std::vector<std::pair<Rank, Time>> late_ranks(const Cluster& cluster,
                                                            const std::vector<Rank>& group);

}  // namespace collsim
