// SPDX-License-Identifier: Apache-2.0
#include "app/study/measure_rows.hpp"
#include "app/scenario/make_case.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "app/study/auto_candidates.hpp"
#include "app/study/run_case.hpp"
#include "app/study/run_step.hpp"
#include "collectives/checker.hpp"
#include "collectives/workload.hpp"
#include "sim/simulate.hpp"
#include "validate/plan.hpp"

namespace collsim {
namespace {

double patience_for(const CaseResult& predicted) {
  constexpr double least_s = 1;
  constexpr double times_the_prediction = 10;
  constexpr double slowest_machine = 100e6;  // bytes/s, of all messages one after the other
  return std::max({least_s, times_the_prediction * predicted.time_s(),
                   static_cast<double>(predicted.wire_bytes) / slowest_machine});
}

RunOptions run_options(const CaseResult& predicted, const MeasureOptions& options, bool record) {
  RunOptions run;
  run.warmup = options.how.warmup;
  run.iterations = options.how.iterations;
  run.check = options.check;
  run.timeline = record;
  run.threads_per_lane = options.threads_per_lane;
  run.patience_s = patience_for(predicted);
  run.at_least_s = 0.3;
  run.meanwhile = options.meanwhile ? &options.meanwhile : nullptr;
  run.trust_schedule = true;  // it was proved before
  return run;
}

// Without pacing all ranks start at once.
std::string missing_in_native_runs(const Case& one_case, const std::vector<Rank>& group) {
  const bool late = !late_ranks(*one_case.cluster, group).empty();
  const bool launch = one_case.costs.launch > Time{};
  if (!late && !launch) return {};
  return fmt::format("the prediction counts {}{}{}, which only paced runs have",
                     late ? "late ranks" : "", late && launch ? " and " : "",
                     launch ? "model.launch" : "");
}

// Whether a message asks for a link before another that was sent earlier, or at the same moment by
// another rank.
bool messages_overtake(const Topology& topology, const Timeline& timeline) {
  struct Ask {
    Time asked, sent;
    Rank rank;
  };
  std::map<LinkId, std::vector<Ask>> asks;
  for (const Step& step : timeline.steps)
    for (const Crossing& crossing : timeline.crossings_of(step))
      if (const Link& link = topology.link(crossing.link); link.sharing == Sharing::exclusive)
        asks[link.resource].push_back({crossing.asked, step.ended, step.rank});
  for (auto& [link, of_link] : asks) {
    std::sort(of_link.begin(), of_link.end(), [](const Ask& a, const Ask& b) {
      return std::pair(a.asked, a.sent) < std::pair(b.asked, b.sent);
    });
    const Ask* latest = nullptr;
    for (const Ask& ask : of_link) {
      if (latest != nullptr &&
          (ask.sent < latest->sent ||
           (ask.sent == latest->sent && ask.rank != latest->rank && ask.asked > latest->asked)))
        return true;
      if (latest == nullptr || ask.sent > latest->sent) latest = &ask;
    }
  }
  return false;
}

// Why the paced times of a run say nothing about its prediction; empty: they do.  On GPUs a message
// takes all links of its route when it is sent.
std::string doubt_of_pacing(const Case& one_case, const Programs& programs,
                            const MeasureOptions& options) {
  if (options.how.backend != "cuda") return {};
  SimulationOptions how;
  how.late = one_case.cluster->late;
  how.recording = Recording::full;
  try {
    const Topology& topology = one_case.cluster->topology;
    const Simulation simulation = simulate(topology, programs, one_case.costs, how);
    if (!messages_overtake(topology, *simulation.timeline)) return {};
    return "messages overtake others on the way, which pacing on GPUs does not emulate";
  } catch (const Error& error) {
    if (error.code() == ErrorCode::too_large) return {};
    throw;
  }
}

// Threads at full speed say nothing about the GPUs of a preset; on emulated links they do.
std::string why_elsewhere(const Case& one_case, const MeasureOptions& options) {
  const std::string& preset = one_case.cluster->preset;
  if (preset.empty() || options.how.paced || options.how.backend != "host") return {};
  return "threads of this machine, not the GPUs of " + preset;
}

void add_doubt(Measurement& measured, std::string doubt) {
  if (measured.doubt.empty()) measured.doubt = std::move(doubt);
}

Measured measured_of(Measurement measurement, const std::string& why_elsewhere,
                     const MeasureOptions& options) {
  Measured measured;
  measured.is_elsewhere = !why_elsewhere.empty();
  measured.backend = options.how.backend;
  measured.protocol = options.how.protocol;
  measured.paced = options.how.paced;
  measured.iterations = static_cast<int>(measurement.times_s.size());
  measured.times = summary_of(std::move(measurement.times_s));
  measured.lag_s = measurement.lag_s;
  measured.doubt = measured.is_elsewhere ? why_elsewhere : measurement.doubt;
  measured.data = measurement.data;
  measured.wrong_data = std::move(measurement.wrong_data);
  measured.device = std::move(measurement.device);
  measured.notes = std::move(measurement.notes);
  if (measurement.own) {
    measured.own_name = std::move(measurement.own->name);
    measured.own_times = summary_of(std::move(measurement.own->times_s));
  }
  return measured;
}

RunCase case_to_run(const Case& one_case, const MeasureOptions& options,
                    std::variant<Schedule, std::shared_ptr<const Workload>> what) {
  RunCase run_case{std::move(what), options.how.protocol};
  if (options.how.paced)
    run_case.paced =
        EmulatedMachine{one_case.cluster->topology, one_case.costs, one_case.cluster->late};
  return run_case;
}

RunOutcome measure_step(const Case& one_case, const CaseResult& row, const MeasureOptions& options,
                        bool record) {
  const Workload& workload = workload_of(one_case);
  RunOptions run = run_options(row, options, record);
  run.trust_schedule = false;
  RunOutcome outcome =
      options.run(case_to_run(one_case, options, std::make_shared<const Workload>(workload)), run);
  auto* const measured = std::get_if<Measurement>(&outcome);
  if (measured == nullptr) return outcome;
  if (one_case.costs.slowdown > 0)
    measured->notes.push_back(
        "the prediction counts device.slowdown, which real runs of work that only takes time have "
        "not");
  if (options.how.paced)
    add_doubt(*measured, doubt_of_pacing(one_case, workload, options));
  else if (std::string missing = missing_in_native_runs(one_case, workload.group());
           !missing.empty())
    measured->notes.push_back(std::move(missing));
  if (record && options.recorded && measured->timeline)
    options.recorded({one_case, workload, &workload, *measured->timeline});
  return outcome;
}

RunOutcome measure_row(const Scenario& scenario, std::size_t number, ClusterCache& clusters,
                       const CaseResult& row, const MeasureOptions& options,
                       std::string& elsewhere) {
  if (!options.run) return NoMeasurement{NoMeasurement::Why::unavailable, options.unavailable};
  Diagnostics diagnostics;
  std::optional<Case> one_case = make_case(scenario, number, clusters, diagnostics);
  COLLSIM_CHECK(one_case, "a row that was simulated can be made again");
  elsewhere = why_elsewhere(*one_case, options);
  if (one_case->step) return measure_step(*one_case, row, options, options.record == number);
  if (one_case->choice.name == "auto")
    *one_case = as_chosen(*one_case, row.algorithm, row.channels, row.chunks);
  const bool record = options.record == number;
  try {
    *one_case = with_calibrated_costs(within_limits(std::move(*one_case)));
    const Schedule& schedule = *one_case->schedule;
    RunOutcome outcome = measure_schedule(*one_case, schedule, row, options, record);
    const Measurement* const measured = std::get_if<Measurement>(&outcome);
    if (record && options.recorded && measured != nullptr && measured->timeline)
      options.recorded({*one_case, schedule, &schedule, *measured->timeline});
    return outcome;
  } catch (const Error& error) {
    return NoMeasurement{why_of(error.code()), error.what()};
  }
}

}  // namespace

RunOutcome measure_schedule(const Case& one_case, const Schedule& schedule,
                            const CaseResult& predicted, const MeasureOptions& options,
                            bool record) {
  const double instructions = effort_of(one_case, schedule).instructions;
  if (const auto most = static_cast<double>(PlanLimits{}.steps); instructions > most)
    return NoMeasurement{NoMeasurement::Why::too_large,
                         fmt::format("about {:.2g} instructions are too many for a real run "
                                     "({:.2g} is the limit): use fewer ranks or chunks",
                                     instructions, most)};
  const CheckReport report = check(schedule);
  if (!report.ok)
    return NoMeasurement{NoMeasurement::Why::bad_schedule,
                         "the schedule is wrong and was not run: " +
                             (report.fault ? report.fault->text : std::string("no reason given"))};
  RunOutcome outcome = options.run(case_to_run(one_case, options, schedule),
                                   run_options(predicted, options, record));
  auto* const measured = std::get_if<Measurement>(&outcome);
  if (measured != nullptr && measured->times_s.empty())
    return NoMeasurement{NoMeasurement::Why::failed, "the run ended without a time"};
  if (measured == nullptr) return outcome;
  if (options.how.paced)
    add_doubt(*measured, doubt_of_pacing(one_case, schedule, options));
  else if (std::string missing = missing_in_native_runs(one_case, schedule.group());
           !missing.empty())
    measured->notes.push_back(std::move(missing));
  return outcome;
}

void measure_rows(const Scenario& scenario, const MeasureOptions& options, Results& results) {
  COLLSIM_CHECK(results.rows.size() == scenario.points(),
                "every point is predicted before any runs");
  results.comparison = options.how;
  ClusterCache clusters(scenario);
  for (std::size_t i = 0; i < results.rows.size(); ++i) {
    if (options.stop != nullptr && *options.stop) {
      results.rows.resize(i);
      return;
    }
    CaseResult& row = results.rows[i];
    std::string elsewhere;
    RunOutcome outcome = measure_row(scenario, i, clusters, row, options, elsewhere);
    if (auto* measurement = std::get_if<Measurement>(&outcome))
      row.measured = measured_of(std::move(*measurement), elsewhere, options);
    else
      row.not_measured = std::move(std::get<NoMeasurement>(outcome));
    if (row.not_measured && row.not_measured->why == NoMeasurement::Why::interrupted) {
      results.rows.resize(i);
      return;
    }
    if (options.row) options.row(row);
    if (options.progress) options.progress(i + 1, results.rows.size());
  }
}

}  // namespace collsim
