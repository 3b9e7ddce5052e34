// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "topo/units.hpp"

namespace collsim {

// A long job whose machines fail: after a failure it restarts from its last checkpoint.
//
// With failures at random (exponential, mean time between them M; also during checkpoints d and
// restarts R) and a checkpoint after every tau of work, the useful part of the time is
//
//   tau / (M e^(R/M) (e^((tau+d)/M) - 1))
//
// It is largest near Young's interval, sqrt(2 d M).
//
// J. Young: A first order approximation to the optimum checkpoint interval, CACM 17 (1974).
// J. Daly: A higher order estimate of the optimum checkpoint interval, FGCS 22 (2006).
struct Failures {
  double mtbf = 0;        // seconds, of the whole job
  double checkpoint = 0;  // seconds
  double restart = 0;     // seconds
};
[[nodiscard]] double useful_fraction(const Failures& failures, double interval);
[[nodiscard]] double best_interval(const Failures& failures);
[[nodiscard]] double young_interval(const Failures& failures);

// The same with given failures, to the picosecond; one during a restart begins it anew.  There is
// no checkpoint after the last step.
struct Failure {
  Time at{};                      // or, where after_steps is not 0,
  std::int64_t after_steps = 0;   // when so many steps have been done, with their checkpoint
  std::optional<Time> step = {};  // of the steps from then on: other ranks go on
};
struct Job {
  std::int64_t steps = 0;
  Time step{};
  std::int64_t checkpoint_every = 1;  // steps
  Time checkpoint{};
  Time restart{};
  std::vector<Failure> failures{};  // in order
};
struct JobResult {
  Time time{};
  Time useful{};       // of the steps that were not lost
  Time checkpoints{};  // those that were finished
  Time restarts{};     // the rest is what failures lost
  std::int64_t steps_done_twice = 0;
  [[nodiscard]] double useful_fraction() const { return useful.seconds() / time.seconds(); }
};
[[nodiscard]] JobResult run_job(const Job& job);

// That a step waits for at least one of K ranks, each slow with probability p; and how long the
// slowest of K takes whose times are base + an exponential one.
[[nodiscard]] double chance_of_a_slow_rank(double p, int ranks);
[[nodiscard]] double expected_maximum(double base, double exponential_mean, int ranks);

}  // namespace collsim
