// SPDX-License-Identifier: Apache-2.0
#include "validate/host/host_backend.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "collectives/checker.hpp"
#include "collectives/execute.hpp"
#include "collectives/workload_checker.hpp"
#include "validate/data_check.hpp"
#include "validate/host/host_machine.hpp"
#include "validate/host/step_watch.hpp"
#include "validate/host/threads.hpp"

namespace collsim {
namespace {

using Inputs = std::vector<std::vector<std::byte>>;

std::string cores_text() {
  const std::size_t cores = usable_cores();
  return std::to_string(cores) + (cores == 1 ? " core" : " cores");
}

class HostRun {
 public:
  HostRun(const RunCase& run_case, const RunOptions& options)
      : options_(options), plan_(plan_for(run_case)) {
    if (plan_.workload && options.check) watch_step();
    if (run_case.paced) pacing_ = make_pacing(plan_, *run_case.paced);
    threads_ = plan_.lanes.size() * static_cast<std::size_t>(threads_per_lane());
    measured_.device = cores_text() + " of " + processor_name();
  }

  RunOutcome run() {
    if (threads_ > max_host_threads)
      return NoMeasurement{NoMeasurement::Why::too_large,
                           "this run needs " + std::to_string(threads_) + " threads; at most " +
                               std::to_string(max_host_threads) +
                               " are started: use fewer ranks, channels or threads per lane"};
    if (!pacing_ && is_crowded())
      measured_.notes.push_back("there were more threads than the " + cores_text() +
                                ": they took turns, which predictions do not model");
    HostMachine machine(plan_, host_options());
    if (plan_.schedule) machine.fill(make_test_inputs(plan_.schedule->collective(), options_.seed));
    if (checks_data() && !run_checked(machine, options_.seed)) return stuck(machine);
    const int before = std::max(0, options_.warmup - (checks_data() ? 1 : 0));
    if (!machine.run<HostPolicy>(before + options_.iterations)) return stuck(machine);
    measured_.times_s.assign(machine.times_s().end() - options_.iterations,
                             machine.times_s().end());
    if (pacing_)
      measured_.lag_s =
          summary_of({machine.lags_s().end() - options_.iterations, machine.lags_s().end()})
              .median_s;
    if (!go_on(machine)) return stuck(machine);
    // Once more when caches are warm and slots have been used, with other data: what an earlier run
    // left behind would not pass for a result.
    if (checks_data() && !pacing_ && !run_checked(machine, options_.seed + 1))
      return stuck(machine);
    if (options_.timeline) record();
    return std::move(measured_);
  }

 private:
  static Plan plan_for(const RunCase& run_case) {
    return run_case.workload() != nullptr ? make_plan(*run_case.workload(), run_case.protocol)
                                          : make_plan(run_case.schedule(), run_case.protocol);
  }
  // A step's data are checked where it is certain what they are.
  void watch_step() {
    const WorkloadReport report = collsim::check(*plan_.workload, {}, &contents_);
    watches_step_ = !report.fault || report.fault->kind == WorkloadFault::Kind::wrong_data;
    if (!report.fault) return;
    std::string note = watches_step_ ? "the step computes something wrong" : "unchecked data";
    const char* between = ": ";
    for (const WorkloadSite& site : report.fault->sites)
      note += std::exchange(between, "; ") + site.text;
    measured_.notes.push_back(std::move(note));
  }
  [[nodiscard]] bool checks_data() const {
    return options_.check && (plan_.schedule || watches_step_);
  }

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

  // One run with data of this seed; false if it stalled.
  bool run_checked(HostMachine& machine, std::uint64_t seed) {
    if (plan_.workload) return run_watched(machine, seed);
    const Inputs inputs = make_test_inputs(plan_.schedule->collective(), seed);
    machine.fill(inputs);
    if (!machine.run<HostPolicy>(1)) return false;
    check(machine, inputs);
    return true;
  }

  bool run_watched(HostMachine& machine, std::uint64_t seed) {
    StepWatch watch(plan_, contents_, seed);
    std::vector<std::byte*> memory;
    memory.reserve(static_cast<std::size_t>(plan_.programs.size()));
    for (int position = 0; position < plan_.programs.size(); ++position)
      memory.push_back(machine.memory(position));
    watch.begin_run(std::move(memory));
    machine.watch(watch.of_lanes());
    const bool ended = machine.run<HostPolicy>(1);
    machine.watch({});
    if (!ended || measured_.data == DataVerdict::wrong) return ended;
    measured_.wrong_data = watch.wrong();
    measured_.data = measured_.wrong_data.empty() ? DataVerdict::right : DataVerdict::wrong;
    return true;
  }

  void check(const HostMachine& machine, const Inputs& inputs) {
    if (measured_.data == DataVerdict::wrong) return;
    measured_.data = DataVerdict::right;
    const Collective& collective = plan_.schedule->collective();
    for (int position = 0; position < collective.size(); ++position) {
      const auto output = finished_output(collective, position, machine.output(position));
      measured_.wrong_data = first_difference(collective, inputs, position, output);
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
    if (machine.run<HostPolicy>(std::max(1, options_.warmup) + 1))
      measured_.timeline = machine.timeline();
    else
      measured_.notes.push_back("the recorded run stalled: " + machine.trouble());
  }

  const RunOptions& options_;
  Plan plan_;
  std::optional<Pacing> pacing_;
  std::size_t threads_ = 0;
  StepContents contents_;  // of a step
  bool watches_step_ = false;
  Measurement measured_;
};

}  // namespace

RunOutcome run_on_host(const RunCase& run_case, const RunOptions& options) {
  return HostRun(run_case, options).run();
}

}  // namespace collsim
