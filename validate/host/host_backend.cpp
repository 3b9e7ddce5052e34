// SPDX-License-Identifier: Apache-2.0
#include "validate/host/host_backend.hpp"

#include <algorithm>
#include <numeric>

#include "collectives/checker.hpp"
#include "collectives/execute.hpp"
#include "validate/data_check.hpp"
#include "validate/host/host_machine.hpp"
#include "validate/host/threads.hpp"

namespace collsim {
namespace {

using Inputs = std::vector<std::vector<std::byte>>;

class HostRun {
 public:
  HostRun(const RunCase& run_case, const RunOptions& options)
      : options_(options), plan_(make_plan(run_case.schedule, run_case.protocol)) {
    if (run_case.paced) pacing_ = make_pacing(plan_, *run_case.paced);
    threads_ = plan_.lanes.size() * static_cast<std::size_t>(threads_per_lane());
    measured_.device = std::to_string(usable_cores()) + " cores of " + processor_name();
  }

  RunOutcome run() {
    if (threads_ > max_host_threads)
      return NoMeasurement{NoMeasurement::Why::too_large,
                           "this run needs " + std::to_string(threads_) + " threads; at most " +
                               std::to_string(max_host_threads) +
                               " are started: use fewer ranks, channels or threads per lane"};
    if (!pacing_ && is_crowded())
      measured_.notes.push_back("there were more threads than the " +
                                std::to_string(usable_cores()) +
                                " cores: they took turns, which predictions do not model");
    const Collective& collective = plan_.schedule.collective();
    inputs_ = make_test_inputs(collective, options_.seed);
    HostMachine machine(plan_, host_options());
    machine.fill(inputs_);
    const int before = std::max(options_.warmup, options_.check ? 1 : 0);
    const bool again = options_.check && before > 0;
    if (again && !machine.run<HostPolicy>(1)) return stuck(machine);
    if (again) check(machine);
    if (!machine.run<HostPolicy>(before - (again ? 1 : 0) + options_.iterations))
      return stuck(machine);
    measured_.times_s.assign(machine.times_s().end() - options_.iterations,
                             machine.times_s().end());
    if (!go_on(machine)) return stuck(machine);
    // Once more when caches are warm and slots have been used, with other data: what an earlier run
    // left behind would not pass for a result.
    if (options_.check && !pacing_) {
      inputs_ = make_test_inputs(collective, options_.seed + 1);
      machine.fill(inputs_);
      if (!machine.run<HostPolicy>(1)) return stuck(machine);
      check(machine);
    }
    if (options_.timeline) record();
    return std::move(measured_);
  }

 private:
  [[nodiscard]] int threads_per_lane() const { return std::max(1, options_.threads_per_lane); }
  [[nodiscard]] bool is_crowded() const { return threads_ > usable_cores(); }
  [[nodiscard]] HostOptions host_options() const {
    HostOptions host;
    host.pacing = pacing_ ? &*pacing_ : nullptr;
    host.threads_per_lane = threads_per_lane();
    host.waiting = pacing_ || is_crowded() ? Waiting::sleep : Waiting::spin;
    host.patience_s = options_.patience_s;
    return host;
  }

  static NoMeasurement stuck(const HostMachine& machine) {
    return {NoMeasurement::Why::stuck, machine.trouble()};
  }

  // Until at_least_s is over.
  bool go_on(HostMachine& machine) {
    constexpr double most_runs = 20'000;
    std::vector<double>& times = measured_.times_s;
    const double taken = std::accumulate(times.begin(), times.end(), 0.0);
    if (pacing_ || taken <= 0) return true;
    const double each = taken / static_cast<double>(times.size());
    const auto more = static_cast<int>(std::min(most_runs, (options_.at_least_s - taken) / each));
    if (more <= 0) return true;
    if (!machine.run<HostPolicy>(more)) return false;
    times.insert(times.end(), machine.times_s().end() - more, machine.times_s().end());
    return true;
  }

  void check(const HostMachine& machine) {
    if (measured_.data == DataVerdict::wrong) return;
    measured_.data = DataVerdict::right;
    const Collective& collective = plan_.schedule.collective();
    for (int position = 0; position < collective.size(); ++position) {
      const auto output = finished_output(collective, position, machine.output(position));
      measured_.wrong_data = first_difference(collective, inputs_, position, output);
      if (measured_.wrong_data.empty()) continue;
      measured_.data = DataVerdict::wrong;
      return;
    }
  }

  // Writing down the times costs time: a run that does so does not count.
  void record() {
    HostOptions host = host_options();
    host.record = true;
    HostMachine machine(plan_, host);
    machine.fill(inputs_);
    if (machine.run<HostPolicy>(std::max(1, options_.warmup) + 1))
      measured_.timeline = machine.timeline();
    else
      measured_.notes.push_back("the recorded run stalled: " + machine.trouble());
  }

  const RunOptions& options_;
  Plan plan_;
  std::optional<Pacing> pacing_;
  std::size_t threads_ = 0;
  Inputs inputs_;
  Measurement measured_;
};

}  // namespace

RunOutcome run_on_host(const RunCase& run_case, const RunOptions& options) {
  return HostRun(run_case, options).run();
}

}  // namespace collsim
