// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "app/scenario/object_reader.hpp"
#include "collectives/workloads/failures.hpp"

namespace collsim {

struct TrainingStep;

// A long job of training steps whose machines fail: at random, or at given times.
struct FailurePlan {
  // At random: what is written is of a job with so many ranks (0: of this one).
  std::optional<Failures> random;
  int mtbf_ranks = 0;
  std::optional<Time> interval;  // of work between checkpoints; the best one when absent
  std::int64_t steps = 0;        // of the whole job; 0: not said
  // Given; how long the steps take is found by simulating them.
  std::optional<Job> job;
  std::vector<int> ranks;  // by failure: that go on after it; 0: as many as before
  // The step with other numbers of ranks: the first ones of the cluster.
  std::map<int, std::shared_ptr<const TrainingStep>> of_ranks;
};

// "failures" of the workload.
//
//   checkpoint, restart   how long they take
// at random:
//   mtbf                  mean time between failures
//   mtbf_ranks            of a job with so many ranks; those of the cluster by default
//   interval              of work between checkpoints
//   steps                 of the whole job
// or given:
//   at                    [{"time": "4321s"}, {"steps": 40, "ranks": 12}, ...]: when, or after how
//                         many steps, and how many ranks go on
//   checkpoint_every      steps
//   steps
//
// `ranks`: of the cluster; 0: unknown.
[[nodiscard]] std::optional<FailurePlan> read_failures(ObjectReader& workload, int ranks);

}  // namespace collsim
