// SPDX-License-Identifier: Apache-2.0
#include "app/study/calibrated.hpp"

#include <utility>

#include "app/study/limits.hpp"
#include "app/study/run_case.hpp"
#include "collectives/working_set.hpp"

namespace collsim {
namespace {

double lanes_at_work(const Simulation& simulation) {
  Time working;
  for (const RankUsage& rank : simulation.ranks) working += rank.working;
  return simulation.time == Time{} ? 1.0 : working.seconds() / simulation.time.seconds();
}

}  // namespace

CostModel calibrated_costs(const Topology& topology, const Schedule& schedule, Bytes working_set,
                           const Calibration& calibration, const SimulationOptions& options) {
  SimulationOptions how = options;
  how.recording = Recording::summary;
  const CostModel alone = calibration.costs_at(working_set, 1);
  return calibration.costs_at(working_set, lanes_at_work(simulate(topology, schedule, alone, how)));
}

Case with_calibrated_costs(Case asked) {
  if (!asked.calibration || asked.choice.name == "auto") return asked;
  Case point = with_schedule(std::move(asked));
  const auto calibration = std::exchange(point.calibration, nullptr);
  const Time launch = point.costs.launch;
  const Schedule& schedule = *point.schedule;
  const Effort effort = effort_of(point, schedule);
  if (exceeds_lane_limit(effort)) throw_too_large(effort, schedule);
  const Bytes size = working_set(schedule);
  if (exceeds_total_limit(effort)) {
    point.costs = calibration->costs_at(size, 1.0 * schedule.size() * schedule.lanes());
  } else {
    SimulationOptions how;
    how.late = point.cluster->late;
    point.costs = calibrated_costs(point.cluster->topology, schedule, size, *calibration, how);
  }
  point.costs.launch = launch;
  return point;
}

}  // namespace collsim
