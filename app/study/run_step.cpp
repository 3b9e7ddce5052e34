// SPDX-License-Identifier: Apache-2.0
#include "app/study/run_step.hpp"

#include "app/study/memory_over_time.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "app/json/screen_text.hpp"
#include "app/scenario/make_case.hpp"
#include "app/scenario/workload/program.hpp"
#include "app/scenario/workload/workload.hpp"
#include "app/study/run_case.hpp"
#include "app/study/run_job.hpp"
#include "collectives/workload_bounds.hpp"
#include "collectives/workload_checker.hpp"
#include "collectives/workloads/workloads.hpp"
#include "sim/effort.hpp"
#include "sim/simulate.hpp"

namespace collsim {
namespace {

// Roughly what simulating takes, from the script of one rank: what the members of a communicator
// do in a ring.
double instructions_of(const Workload& workload) {
  double instructions = 0;
  std::uint64_t actions = 0;
  Script script = workload.script(workload.group().front());
  while (const Action* const action = script.next()) {
    ++instructions;
    if (++actions > max_actions_of_a_rank)
      throw_error(ErrorCode::too_large,
                  "too large to simulate: a rank does more than 5,000,000 things; use fewer "
                  "layers, microbatches or rounds of \"repeat\"");
    if (instructions * workload.size() > max_instructions) break;
    if (action->kind != Action::Kind::collective) continue;
    const auto& groups = workload.communicators()[action->communicator].groups;
    const AlgorithmChoice plain;
    const AlgorithmChoice& choice = action->call.choice ? *action->call.choice : plain;
    instructions +=
        2.0 * static_cast<double>(groups.front().size()) * choice.chunks * choice.channels;
  }
  return instructions * workload.size();
}

void check_size(const TrainingStep& step) {
  const double instructions = instructions_of(step.workload);
  if (instructions > max_instructions)
    throw_error(ErrorCode::too_large,
                fmt::format("too large to simulate: more than {:.2g} instructions, the limit; use "
                            "fewer ranks, layers, buckets or chunks",
                            max_instructions));
}

StepResult::OfRank spent(const RankActivity& rank, Time end, Time step) {
  StepResult::OfRank spent{rank.computing.seconds(), (rank.communicating - rank.exposed).seconds(),
                           rank.exposed.seconds(),
                           (step - rank.computing - rank.exposed).seconds()};
  spent.end_s = end.seconds();
  spent.longest_call_s = rank.longest_call.seconds();
  if (rank.gives_up != Time::never()) spent.gives_up_s = rank.gives_up.seconds();
  return spent;
}

StepResult::Work done_work(const TrainingStep& step, Time time) {
  const StepWork& work = *step.work;
  const double seconds = time.seconds();
  return {work.model_flop / (seconds * work.peak), work.flop / (seconds * work.peak),
          work.tokens / seconds};
}

StepResult step_result(const TrainingStep& step, const Simulation& simulation) {
  StepResult result;
  result.scheme = step.scheme;
  result.buckets = step.buckets;
  result.microbatches = step.microbatches;
  result.activations = step.activations;
  if (step.work) result.work = done_work(step, simulation.time);
  if (step.memory)
    result.memory = {step.memory->most_bytes, step.memory->device, out_of_memory(step)};
  std::vector<std::size_t> used;  // those of several ranks
  const std::vector<Communicator>& communicators = step.workload.communicators();
  for (std::size_t i = 0; i < communicators.size(); ++i) {
    if (communicators[i].groups.front().size() == 1) continue;
    used.push_back(i);
    result.communicators.push_back({communicators[i].name});
  }
  const double ranks = step.workload.size();
  double idle = 0;
  if (step.timeout) result.timeout_s = step.timeout->seconds();
  for (std::size_t position = 0; position < simulation.activities.size(); ++position) {
    const RankActivity& rank = simulation.activities[position];
    const StepResult::OfRank one =
        result.ranks.emplace_back(spent(rank, simulation.finished[position], simulation.time));
    result.compute_s += one.compute_s / ranks;
    result.hidden_s += one.hidden_s / ranks;
    result.exposed_s += one.exposed_s / ranks;
    idle += one.idle_s / ranks;
    for (std::size_t i = 0; i < result.communicators.size(); ++i) {
      const RankActivity::Part& part = rank.communicators[used[i]];
      result.communicators[i].hidden_s += (part.communicating - part.exposed).seconds() / ranks;
      result.communicators[i].exposed_s += part.exposed.seconds() / ranks;
    }
  }
  if (simulation.time > Time{}) result.bubble = idle / simulation.time.seconds();
  return result;
}

// The simulator would name lanes; this names what its author wrote.
void must_fit_together(const TrainingStep& step) {
  const WorkloadReport report = check(step);
  if (!report.fault || concerns_data_only(*report.fault)) return;
  std::optional<SourceRange> place;
  const std::vector<WorkloadSite>& sites = report.fault->sites;
  if (step.program && !sites.empty() && sites.front().place < step.program->places.size())
    place = step.program->places[sites.front().place];
  throw MisfitError(why_it_cannot_run(*report.fault) + "; \"collsim check\" names the lines",
                    place);
}

void make_ready(const Case& one_case, SimulationOptions& how) {
  check_size(*one_case.step);
  const TrainingStep& step = *one_case.step;
  if ((step.program || step.room) && !how.may_hang) must_fit_together(step);
  how.late = one_case.cluster->late;
}

// Where simulating takes long only because the parts of the ranks differ by an element; as
// run_case() does for a single collective.  Steps are swept over many points, so a tenth of a
// second is long.
std::optional<Workload> equal_parts_of(const Case& one_case) {
  constexpr double takes_long = 1e5, takes_very_long = 4e6;  // instructions
  constexpr double hardly = 1e-3, little = 1e-2;
  const TrainingStep& step = *one_case.step;
  const Topology& topology = one_case.cluster->topology;
  // With another startup for longer messages, an element more may cost a lot.
  if (step.program || step.keeps_parts || !one_case.cluster->late.empty() ||
      topology.has_segments())
    return std::nullopt;
  const double instructions = instructions_of(step.workload);
  if (instructions < takes_long) return std::nullopt;
  std::optional<Workload> even =
      with_equal_parts(step.workload, instructions < takes_very_long ? hardly : little);
  if (even && ranks_for_each(topology, *even, one_case.costs) == 1) even.reset();
  return even;
}

struct SimulatedStep {
  Simulation simulation;
  bool evened = false;
};

SimulatedStep simulate_step(const Case& one_case, SimulationOptions how) {
  make_ready(one_case, how);
  const std::optional<Workload> even = equal_parts_of(one_case);
  const Workload& workload = even ? *even : one_case.step->workload;
  return {simulate(one_case.cluster->topology, workload, one_case.costs, how), even.has_value()};
}

SimulationOptions activities_of(const TrainingStep& step) {
  SimulationOptions how;
  how.recording = Recording::activities;
  if (step.timeout) how.timeout = *step.timeout;
  how.host = host_of(step.workload);
  return how;
}

}  // namespace

Simulation run_until_it_hangs(const Case& one_case) {
  SimulationOptions how = activities_of(*one_case.step);
  how.may_hang = true;
  return simulate_step(one_case, how).simulation;
}

CaseResult run_step(const Case& one_case) {
  const TrainingStep& step = *one_case.step;
  const CostModel& costs = one_case.costs;
  const auto [simulation, evened] = simulate_step(one_case, activities_of(step));
  CaseResult row;
  row.evened = evened;
  row.step = step_result(step, simulation);
  if (step.failures)
    row.step->job = job_of(step, simulation.time, [&](const TrainingStep& smaller) {
      Case other = one_case;
      other.step = std::make_shared<const TrainingStep>(smaller);
      other.cluster = cluster_of(smaller, one_case.bare_cluster);
      return simulate_step(other, {}).simulation.time;
    });
  row.ranks = step.workload.size();
  if (step.protocol) row.protocol = step.protocol->protocol;
  row.time = row.kernel = simulation.time;
  const WorkloadTotals totals =
      workload_totals(step.workload, NetworkCuts(one_case.cluster->topology, step.workload.group()),
                      host_of(step.workload));
  row.bounds.bandwidth = totals.bounds.bandwidth;
  row.bounds.compute = totals.bounds.compute;
  row.bound = totals.bounds.largest();
  COLLSIM_CHECK(row.bound <= row.time, "a step takes no less than its lower bound");
  const WorkPhases& phases = totals.phases;
  row.step->phases = {phases.forward_s, phases.backward_s, phases.other_s};
  if (costs.instruction_overhead == Time{} && costs.launch == Time{}) row.analytic = step.formula;
  row.messages = simulation.messages;
  row.wire_bytes = simulation.wire_bytes;
  row.engine = simulation.engine;
  row.fingerprint = simulation.fingerprint;
  set_symbols(row, one_case);
  return row;
}

void refuse_to_record(const Case& one_case, std::uint64_t max_steps) {
  const TrainingStep& step = *one_case.step;
  throw_error(
      ErrorCode::too_large,
      fmt::format("too large to record: {} take more than {} steps; fewer {} show the same "
                  "pattern",
                  count_text(step.workload.size(), "rank"), with_commas(std::to_string(max_steps)),
                  step.program ? "ranks, rounds of \"repeat\" or chunks"
                               : "ranks, layers, buckets or microbatches"));
}

Simulation record_step(const Case& one_case, std::uint64_t max_steps) {
  SimulationOptions how;
  how.recording = Recording::full;
  how.max_recorded_steps = max_steps;
  try {
    return simulate_step(one_case, how).simulation;
  } catch (const Error& error) {
    if (error.code() != ErrorCode::too_large) throw;
  }
  refuse_to_record(one_case, max_steps);
}

const Workload& workload_of(const Case& one_case) {
  return one_case.step->workload;
}

std::optional<int> host_of(const Workload& workload) {
  const std::vector<std::string>& names = workload.stream_names();
  const auto host = std::ranges::find(names, "host");
  if (host == names.end()) return std::nullopt;
  return static_cast<int>(host - names.begin());
}

}  // namespace collsim
