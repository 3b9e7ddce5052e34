// SPDX-License-Identifier: Apache-2.0
#include "collectives/workloads/failures.hpp"

#include <cmath>

#include "topo/error.hpp"

namespace collsim {

namespace {

void check_failures(const Failures& failures) {
  if (!(failures.mtbf > 0) || !(failures.checkpoint > 0) || !(failures.restart >= 0))
    throw_error(ErrorCode::invalid_argument,
                "mtbf and checkpoint are longer than 0, and restart is not negative");
}

}  // namespace

double useful_fraction(const Failures& failures, double interval) {
  const double m = failures.mtbf;
  return interval /
         (m * std::exp(failures.restart / m) * std::expm1((interval + failures.checkpoint) / m));
}

double young_interval(const Failures& failures) {
  check_failures(failures);
  return std::sqrt(2 * failures.checkpoint * failures.mtbf);
}

// Where the derivative is 0: (tau/M - 1) e^((tau+d)/M) + 1 = 0, which grows with tau.
double best_interval(const Failures& failures) {
  const double m = failures.mtbf;
  const auto slope = [&](double tau) {
    return (tau / m - 1) + std::exp(-(tau + failures.checkpoint) / m);
  };
  double low = 0;
  double high = young_interval(failures);
  while (slope(high) < 0) high *= 2;
  for (int i = 0; i < 200; ++i) {
    const double middle = (low + high) / 2;
    (slope(middle) < 0 ? low : high) = middle;
  }
  return high;
}

JobResult run_job(const Job& job) {
  if (job.steps < 0 || job.checkpoint_every < 1 || job.step <= Time{})
    throw_error(ErrorCode::invalid_argument, "a job has steps that take some time");
  JobResult result;
  auto next = job.failures.begin();
  const auto by_steps = [&] { return next != job.failures.end() && next->after_steps > 0; };
  const auto by_time = [&] { return next != job.failures.end() && next->after_steps == 0; };
  Time step = job.step;
  std::int64_t done = 0;
  std::int64_t saved = 0;
  while (done < job.steps) {
    const bool saves = (done + 1) % job.checkpoint_every == 0 && done + 1 < job.steps;
    const Time step_ends = result.time + step;
    const Time ends = step_ends + (saves ? job.checkpoint : Time{});
    const bool is_interrupted = by_time() && next->at < ends;
    if (!is_interrupted || next->at >= step_ends) {
      ++done;
      result.useful += step;
    }
    if (!is_interrupted) {
      result.time = ends;
      if (saves) saved = done;
      if (saves) result.checkpoints += job.checkpoint;
      if (done == job.steps || !by_steps() || next->after_steps > done) continue;
    }
    result.steps_done_twice += done - saved;
    result.useful -= Time((done - saved) * step.ps());
    done = saved;
    if (is_interrupted) result.time = next->at;
    const Time failed = result.time;
    result.time += job.restart;
    step = next->step.value_or(step);
    for (++next; by_time() && next->at < result.time; ++next) {
      result.time = next->at + job.restart;
      step = next->step.value_or(step);
    }
    result.restarts += result.time - failed;
  }
  return result;
}

double chance_of_a_slow_rank(double p, int ranks) {
  return -std::expm1(ranks * std::log1p(-p));
}

double expected_maximum(double base, double exponential_mean, int ranks) {
  double harmonic = 0;
  for (int k = ranks; k > 0; --k) harmonic += 1.0 / k;
  return base + exponential_mean * harmonic;
}

}  // namespace collsim
