// SPDX-License-Identifier: Apache-2.0
#include "app/explain/explanation.hpp"

#include <algorithm>
#include <utility>

#include "app/explain/explanation_internal.hpp"
#include "app/scenario/vocabulary.hpp"
#include "app/study/nccl.hpp"
#include "app/study/run_case.hpp"
#include "collectives/listed_schedule.hpp"

namespace collsim {
namespace {

// The part of the late start that is not the launch.
Time waiting_for_late_ranks(const Case& one_case, const Breakdown& breakdown) {
  if (breakdown.every_step_recorded) return breakdown.path.start - breakdown.launch;
  Time longest{};
  for (const auto& [rank, late] : late_ranks(*one_case.cluster, one_case.collective.group))
    longest = std::max(longest, late);
  return longest;
}

// Instructions that may be simulated to find out what would help; some seconds at most.
constexpr double work_allowed = 10e6;

void put_fastest_first(std::vector<Contender>& contenders) {
  std::stable_sort(contenders.begin(), contenders.end(),
                   [](const Contender& a, const Contender& b) {
                     return a.time.value_or(Time::never()) < b.time.value_or(Time::never());
                   });
}

// What is explained is the kernel.
Case without_launches(Case one_case) {
  one_case.launch.host = one_case.launch.pair = Time{};
  return one_case;
}

// Of the same kernel.
Time with_process_per_gpu(Case one_case, Time kernel) {
  if (!one_case.protocol) return kernel;
  one_case.launch.mode = LaunchMode::process_per_gpu;
  return with_launches(kernel, host_time(one_case));
}

// The algorithm's case, as a run would make it.
Case with_algorithm(const Case& one_case, Variations* variations, const Params& set) {
  if (variations != nullptr) return variations->with(set);
  Case other = one_case;
  other.choose_algorithm(set.front().second.string());
  return other;
}

// What "auto" chose besides the algorithm, as values of the scenario.
Params cuts_chosen(const CaseResult& row) {
  return {{"collective.chunks", row.chunks}, {"collective.channels", row.channels}};
}

std::vector<Contender> all_algorithms(const Case& one_case, const CaseResult& row,
                                      Variations* variations, WorkBudget& budget) {
  std::vector<Contender> contenders;
  if (one_case.choice.name == "nccl") {
    for (const Case& other : nccl_candidates(without_launches(one_case))) {
      Attempt result = attempt([&] { return other; }, budget);
      contenders.push_back({nccl_text(*other.nccl, *other.protocol),
                            result.time,
                            std::move(result.why_not),
                            result.too_long,
                            {}});
    }
    put_fastest_first(contenders);
    return contenders;
  }
  for (const Algorithm* const algorithm : algorithms(row.operation)) {
    const std::string name(algorithm->name);
    if (algorithm->for_adding_networks && name != row.algorithm &&
        !one_case.cluster->topology.network_adds())
      continue;
    Params set{{"collective.algorithm", name}};
    if (row.search) {
      const Params cuts = cuts_chosen(row);
      set.insert(set.end(), cuts.begin(), cuts.end());
    }
    Attempt result{row.time, "", false};
    if (name != row.algorithm)
      result = attempt([&] { return with_algorithm(one_case, variations, set); }, budget);
    contenders.push_back({name, result.time, std::move(result.why_not), result.too_long,
                          variations != nullptr ? set : Params{}});
  }
  if (one_case.choice.list) contenders.push_back({row.algorithm, row.time, "", false, {}});
  put_fastest_first(contenders);
  return contenders;
}

// Of the first rank's and the root's programs, whole messages without chunks.
Bytes largest_message(const Case& one_case) {
  AlgorithmChoice uncut = one_case.choice;
  uncut.chunks = 1;
  uncut.chunk_size.reset();
  Case whole = one_case;
  whole.choose(uncut);
  const Schedule schedule = *with_schedule(std::move(whole)).schedule;
  std::int64_t largest = 0;
  for (const int position : {0, one_case.collective.root})
    for (int lane = 0; lane < schedule.lanes(); ++lane) {
      LaneProgram program = schedule.program(position, Lane(static_cast<std::size_t>(lane)));
      int seen = 0;
      while (const Instruction* const instruction = program.next()) {
        if (sends(instruction->op)) largest = std::max(largest, instruction->count);
        if (++seen == 10'000) break;
      }
    }
  return largest * size_of(one_case.collective.type);
}

}  // namespace

BoundExplanation explain_bound(const Case& one_case, const CaseResult& row,
                               const Breakdown& breakdown, CutsCache& cache) {
  using Kind = BoundExplanation::Kind;
  BoundExplanation result;
  const Time bound = row.bounds.largest();
  if (bound == Time{}) return result;
  result.ratio = row.time.seconds() / row.bound.seconds();
  result.launch = row.bound - bound;
  result.late = waiting_for_late_ranks(one_case, breakdown);
  // Of equals, the one that says most.
  result.binding = bound == row.bounds.bandwidth ? Kind::bandwidth
                   : bound == row.bounds.latency ? Kind::latency
                                                 : Kind::compute;
  if (result.binding != Kind::bandwidth) return result;
  const std::shared_ptr<const NetworkCuts> cuts = cache.of(one_case);
  result.narrowest = narrowest_links(one_case.collective, *cuts);
  if (row.operation == Operation::all_reduce) {
    NetworkCuts more = *cuts;
    result.best_known_s = best_known_all_reduce(one_case.collective, more);
  }
  return result;
}

CaseResult row_as_run(const Explanation& explanation) {
  CaseResult row = explanation.row;
  row.time = explanation.launched;
  return row;
}

namespace {

std::optional<ChangedOrder> order_changed_by_overrides(const Explanation& explanation,
                                                       const Simulation& simulation,
                                                       Variations* variations) {
  const auto& all = explanation.knobs.all;
  const auto knob = std::ranges::find_if(all, [](const Knob& one) {
    return one.name == "links_override" || one.name == "switches_down";
  });
  if (variations == nullptr || knob == all.end() || !knob->time ||
      *knob->time >= explanation.row.time || !simulation.timeline)
    return std::nullopt;
  const Case without = with_calibrated_costs(with_schedule(variations->with(knob->set)));
  const Simulation other = recorded_run(without, *without.schedule, explanation.row);
  if (!other.timeline) return std::nullopt;
  std::optional<ChangedOrder> changed =
      changed_order(explanation.one_case.cluster->topology, *simulation.timeline, *other.timeline);
  if (changed) changed->by = knob->name;
  return changed;
}

}  // namespace

Explanation explain(const Case& one_case, Variations* variations) {
  CutsCache cuts;
  const auto [settled, row] = choose(one_case, {.cuts = &cuts, .idle_links = true});
  Explanation result{settled, row, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}};
  result.chosen_automatically = is_policy(one_case.choice.name);
  if (one_case.choice.name == "nccl") result.tuner = tuner_verdict(one_case);
  result.launched = result.row.time;
  result.row.time = result.row.kernel;
  result.launched_apart = with_process_per_gpu(settled, result.row.kernel);
  result.one_case = with_calibrated_costs(with_schedule(without_launches(settled)));
  const Case& chosen = result.one_case;
  result.summary =
      chosen.choice.list
          ? describe(*chosen.choice.list)
          : std::string(find_algorithm(result.row.operation, result.row.algorithm).summary);
  result.largest_message = largest_message(chosen);
  result.formula = explain_formula(chosen, result.row);

  const Schedule& schedule = *chosen.schedule;
  const Simulation simulation = recorded_run(chosen, schedule, result.row);
  COLLSIM_CHECK(simulation.time == result.row.time, "recording changes no times");
  result.breakdown = explain_breakdown(chosen, schedule, simulation);
  result.bound = explain_bound(chosen, result.row, result.breakdown, cuts);

  WorkBudget budget(work_allowed);
  budget.keep(work_allowed / 2);  // the knobs want their share
  // The others of "auto" are compared with as many chunks and channels as it chose.
  const bool searched = result.row.search.has_value();
  result.algorithms = all_algorithms(searched ? settled : one_case, result.row, variations, budget);
  budget.keep(0);
  Params kept;
  if (result.chosen_automatically) kept = {{"collective.algorithm", result.row.algorithm}};
  if (searched)
    for (auto& cut : cuts_chosen(result.row)) kept.push_back(std::move(cut));
  // What NCCL chooses is more than a scenario can say.
  const bool is_nccl = result.row.protocol.has_value();
  result.knobs = explain_knobs({chosen, result.row, is_nccl ? nullptr : variations, kept},
                               simulation, result.breakdown, result.algorithms, budget);
  result.changed_order = order_changed_by_overrides(result, simulation, variations);
  return result;
}

}  // namespace collsim
