// SPDX-License-Identifier: Apache-2.0
#include "app/study/run_job.hpp"

#include <algorithm>
#include <map>

namespace collsim {
namespace {

StepResult::Job random_failures(const FailurePlan& plan, int ranks, Time step) {
  Failures failures = *plan.random;
  if (plan.mtbf_ranks > 0) failures.mtbf *= static_cast<double>(plan.mtbf_ranks) / ranks;
  StepResult::Job result;
  result.best_interval_s = best_interval(failures);
  // A checkpoint is written between steps ...
  result.interval_s =
      std::max(plan.interval ? plan.interval->seconds() : *result.best_interval_s, step.seconds());
  double work = *result.interval_s;
  const double job = static_cast<double>(plan.steps) * step.seconds();
  // ... and none after the last.
  if (job > 0 && job <= work) {
    work = job;
    failures.checkpoint = 0;
  }
  result.useful = useful_fraction(failures, work);
  result.checkpoints = result.useful * failures.checkpoint / work;
  if (plan.steps > 0) result.time_s = job / result.useful;
  return result;
}

}  // namespace

StepResult::Job job_of(const TrainingStep& step, Time takes,
                       const std::function<Time(const TrainingStep&)>& time_of) {
  const FailurePlan& plan = *step.failures;
  if (plan.random) return random_failures(plan, step.workload.size(), takes);
  std::map<int, Time> times;
  for (const auto& [ranks, smaller] : plan.of_ranks) times[ranks] = time_of(*smaller);
  Job job = *plan.job;
  job.step = takes;
  for (std::size_t i = 0; i < job.failures.size(); ++i)
    if (plan.ranks[i] > 0) job.failures[i].step = times.at(plan.ranks[i]);
  const JobResult done = run_job(job);
  StepResult::Job result;
  result.useful = done.useful_fraction();
  result.time_s = done.time.seconds();
  result.steps_done_twice = done.steps_done_twice;
  result.steps = job.steps;
  const auto share = [&](Time time) { return time.seconds() / done.time.seconds(); };
  result.checkpoints = share(done.checkpoints);
  result.restarts = share(done.restarts);
  result.lost = share(done.time - done.useful - done.checkpoints - done.restarts);
  for (const int ranks : plan.ranks)
    if (ranks > 0) result.go_on.push_back({ranks, times.at(ranks).seconds()});
  return result;
}

}  // namespace collsim
