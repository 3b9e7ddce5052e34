// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "validate/host/emulated_links.hpp"
#include "validate/host/emulated_pace.hpp"
#include "validate/host/host_mover.hpp"
#include "validate/host/host_policy.hpp"
#include "validate/host/threads.hpp"
#include "validate/lane_runner.hpp"
#include "validate/pacing.hpp"
#include "validate/plan.hpp"

namespace collsim {

// The memory of all ranks of a plan, in this process, and the lanes that run on it, one thread or
// several each.
//
//   HostMachine machine(plan, {});
//   machine.fill(inputs);
//   if (machine.run<HostPolicy>(3)) use(machine.times_s(), machine.output(0));
//   else complain(machine.trouble());
struct HostOptions {
  const Pacing* pacing = nullptr;  // null: unpaced
  int threads_per_lane = 1;
  Waiting waiting = Waiting::spin;
  double patience_s = 1;
  bool record = false;  // every step of the last run
};

class HostMachine {
 public:
  HostMachine(const Plan& plan, const HostOptions& options);

  // Puts every rank's input where it belongs; everything else is poison, as in RankMemory.
  void fill(std::span<const std::vector<std::byte>> inputs);

  // This many runs, one after the other, on threads that live for all of them.  False if one
  // stalled; the machine cannot be used again then.  Error{too_large} if the system cannot create
  // so many threads.  Policy is HostPolicy or, in tests, something derived from it.
  template <class Policy>
  [[nodiscard]] bool run(int runs);

  // One for each lane, or null; none any more: an empty list.
  void watch(std::span<LaneWatch* const> watches);
  [[nodiscard]] std::byte* memory(int position) {
    return memory_[static_cast<std::size_t>(position)].get();
  }

  [[nodiscard]] const std::vector<double>& times_s() const { return times_s_; }  // of every run
  // Of every run, by how much it ended later than on the emulated machine.
  [[nodiscard]] const std::vector<double>& lags_s() const { return lags_s_; }
  [[nodiscard]] std::vector<std::byte> output(int position) const;  // raw
  [[nodiscard]] std::string trouble() const;
  [[nodiscard]] Timeline timeline() const;  // of the last run; options.record

 private:
  // Memory on the boundary of a page.
  struct Free {
    std::size_t alignment = 0;
    void operator()(std::byte* memory) const;
  };
  using Block = std::unique_ptr<std::byte[], Free>;
  static Block allocate(std::uint64_t bytes);

  void lay_out();
  void make_jobs();
  void collect_time(std::size_t run);

  // A lane's times in every run, and whether it got through.
  struct LaneLog {
    LaneTimes last;
    std::vector<LaneTimes> runs;
    bool completed = true;
  };

  const Plan& plan_;
  HostOptions options_;
  std::vector<Block> memory_;  // per rank
  std::vector<Block> blocks_;  // slots, counters
  std::vector<Wire> wires_;
  std::unique_ptr<RunShared> shared_;
  std::vector<std::uint64_t*> runs_done_;  // per lane
  std::vector<StepTimes> step_times_;
  std::unique_ptr<EmulatedLinks> links_;  // if paced
  std::vector<LaneJob> jobs_;
  std::vector<LaneLog> logs_;
  std::vector<std::unique_ptr<LaneTeam>> teams_;
  std::vector<double> times_s_, lags_s_;
};

template <class Policy>
bool HostMachine::run(int runs) {
  const HostMover mover;
  for (LaneLog& log : logs_) {
    log.runs.clear();
    log.runs.reserve(static_cast<std::size_t>(runs));  // here, where memory that lacks can be told
  }
  const auto work = [&](std::size_t lane, int thread) {
    ask_for_punctual_sleep();
    if (options_.waiting == Waiting::spin)
      stay_on_core(lane * static_cast<std::size_t>(options_.threads_per_lane) +
                   static_cast<std::size_t>(thread));
    Policy policy(*teams_[lane], thread, options_.waiting);
    using Pace = EmulatedPace<Policy>;
    LaneRunner<Policy, HostMover, Pace> runner(policy, mover, jobs_[lane], plan_.protocol,
                                               Pace(policy, jobs_[lane], links_.get()));
    for (int i = 0; i < runs; ++i) {
      const bool completed = runner.run();
      if (thread == 0) {
        logs_[lane].runs.push_back(logs_[lane].last);
        logs_[lane].completed = completed;
      }
      if (!completed) return;
    }
  };
  run_on_threads(jobs_.size(), options_.threads_per_lane, work);
  for (const LaneLog& log : logs_)
    if (!log.completed) return false;
  for (int i = 0; i < runs; ++i) collect_time(static_cast<std::size_t>(i));
  return true;
}

}  // namespace collsim
