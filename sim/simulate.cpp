// SPDX-License-Identifier: Apache-2.0
#include "sim/simulate.hpp"

#include <algorithm>

#include "collectives/checker.hpp"
#include "sim/engines.hpp"
#include "topo/routes.hpp"

namespace collsim {

std::string_view to_string(Engine engine) {
  switch (engine) {
    case Engine::automatic: return "automatic";
    case Engine::dataflow: return "dataflow";
    case Engine::event: return "event";
    case Engine::symmetry: return "symmetry";
  }
  return "unknown";
}

namespace {

std::optional<Simulation> simulate_with(Engine engine, const Topology& topology,
                                        const Programs& programs, const CostModel& costs,
                                        const SimulationOptions& options) {
  if (engine != Engine::event && chooses_per_message(topology)) return std::nullopt;
  if (engine == Engine::dataflow) return simulate_by_dataflow(topology, programs, costs, options);
  if (engine == Engine::symmetry) return simulate_by_symmetry(topology, programs, costs, options);
  return simulate_by_events(topology, programs, costs, options);
}

void check_time(const std::string& what, Time time) {
  if (time < Time{})
    throw_error(ErrorCode::invalid_argument, what + " must not be negative, not " + to_text(time));
  if (time == Time::never())
    throw_error(ErrorCode::invalid_argument, what + " is longer than a simulation can be");
}

void check_costs(const CostModel& costs) {
  check_time("instruction_overhead", costs.instruction_overhead);
  check_time("launch", costs.launch);
  if (costs.slowdown < 0 || costs.slowdown >= CostModel::millionths)
    throw_error(ErrorCode::invalid_argument, "slowdown must be at least 0 and less than ",
                CostModel::millionths, " millionths, not ", costs.slowdown);
}

void check_late_ranks(const Topology& topology, const SimulationOptions& options) {
  std::vector<Rank> named;
  for (const auto& [rank, late] : options.late) named.push_back(rank);
  std::sort(named.begin(), named.end());
  const auto twice = std::adjacent_find(named.begin(), named.end());
  if (twice != named.end())
    throw_error(ErrorCode::invalid_argument,
                "rank " + std::to_string(twice->index()) + " is late twice");
  for (const auto& [rank, late] : options.late) {
    if (rank.index() >= topology.rank_count())
      throw_error(ErrorCode::invalid_argument, "late rank " + std::to_string(rank.index()) +
                                                   " does not exist; the topology has ranks 0 to " +
                                                   std::to_string(topology.rank_count() - 1));
    check_time("the lateness of rank " + std::to_string(rank.index()), late);
  }
}

// No result may beat its lower bound.  If one does, either its programs do not carry out the
// collective, which the checker can tell, or the simulator is wrong.
Simulation checked(Simulation simulation, const Topology& topology, const Schedule& schedule,
                   const CostModel& costs, const NetworkCuts* cuts) {
  const auto bounds_by = [&](const auto& network) {
    return lower_bounds(schedule.collective(), network, costs.reduce_bandwidth, schedule.lanes());
  };
  simulation.bounds = cuts != nullptr ? bounds_by(*cuts) : bounds_by(topology);
  const Time bound = simulation.bounds.largest();
  if (simulation.time >= bound) return simulation;
  const std::string verdict = std::string(to_string(schedule.collective().operation)) + " by " +
                              schedule.algorithm() + " takes " + to_text(simulation.time) +
                              ", less than the lower bound " + to_text(bound);
  const CheckReport report = check(schedule);
  COLLSIM_CHECK(!report.ok, verdict);
  throw_error(ErrorCode::bad_schedule,
              verdict + ": it does not carry out the collective. " + report.fault->text);
}

std::string why_not(Engine engine) {
  if (engine == Engine::dataflow)
    return "the dataflow engine needs every link to be used by one lane only (fair links: by one "
           "connection), in the order of sending, routes that do not depend on load, and computing "
           "that collectives do not slow down; use the event engine";
  return "the symmetry engine needs turns of the ranks that change neither the schedule nor the "
         "network nor its routes (so none by hash or load), blocks of equal length, all ranks of "
         "the machine taking part, none late, no recording of steps or links, and no link on which "
         "it matters which rank comes first";
}

}  // namespace

Simulation simulate(const Topology& topology, const Programs& programs, const CostModel& costs,
                    const SimulationOptions& options) {
  check_costs(costs);
  check_late_ranks(topology, options);
  if (options.engine != Engine::automatic) {
    std::optional<Simulation> result =
        simulate_with(options.engine, topology, programs, costs, options);
    if (!result) throw_error(ErrorCode::engine_not_applicable, why_not(options.engine));
    return std::move(*result);
  }
  for (const Engine engine : {Engine::symmetry, Engine::dataflow, Engine::event})
    if (std::optional<Simulation> result =
            simulate_with(engine, topology, programs, costs, options))
      return std::move(*result);
  COLLSIM_CHECK(false, "the event engine applies to everything");
}

double lanes_at_work(const Simulation& simulation) {
  Time working;
  for (const RankUsage& rank : simulation.ranks) working += rank.working;
  return simulation.time == Time{} ? 1.0 : working.seconds() / simulation.time.seconds();
}

Simulation simulate(const Topology& topology, const Schedule& schedule, const CostModel& costs,
                    const SimulationOptions& options) {
  const Programs& programs = schedule;
  return checked(simulate(topology, programs, costs, options), topology, schedule, costs,
                 options.cuts);
}

}  // namespace collsim
