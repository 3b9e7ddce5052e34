// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <utility>

#include "app/commands/command.hpp"
#include "app/commands/results_writer.hpp"
#include "app/output/trace_events.hpp"
#include "app/study/run_case.hpp"
#include "app/study/run_step.hpp"

namespace collsim {
namespace {

// The recording takes some 300 bytes for each.
constexpr std::uint64_t max_recorded_steps = 5'000'000;

struct TraceCommandOptions {
  OneCaseOptions one_case;
  std::string flows = "critical";
  std::string output;
  TraceOptions trace;
};

// Of a training step: the case as it is; of a collective: with its schedule.
Case ready_to_run(Case asked) {
  if (asked.step != nullptr) return asked;
  return with_calibrated_costs(within_limits(std::move(asked)));
}

[[noreturn]] void throw_too_large(const Case& one_case, const std::string& steps) {
  throw_error(ErrorCode::too_large,
              fmt::format("too large for a trace: {} ranks take {} steps (limit: {}); fewer ranks, "
                          "chunks or channels show the same pattern",
                          one_case.collective.size(), steps, max_recorded_steps));
}

Simulation record_fully(const Case& step, const std::string& file) {
  try {
    // Equal ranks are simulated once, which takes far less than to record until there are too many.
    if (run_step(step).messages > max_recorded_steps) refuse_to_record(step, max_recorded_steps);
    return record_step(step, max_recorded_steps);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::too_large) throw;
    throw_error(error.code(), file + ": " + error.what());
  }
}

Simulation simulate_fully(const Case& one_case, const std::string& file) {
  if (one_case.step != nullptr) return record_fully(one_case, file);
  // Before gigabytes are recorded; what the estimate is too low for is refused below.
  constexpr double trusted = 2;
  const double about = effort_of(one_case, *one_case.schedule).instructions;
  if (about > trusted * max_recorded_steps)
    throw_too_large(one_case, fmt::format("about {:.2g}", about));
  SimulationOptions options;
  options.recording = Recording::full;
  options.late = one_case.cluster->late;
  options.max_recorded_steps = max_recorded_steps;
  try {
    return simulate(one_case.cluster->topology, *one_case.schedule, one_case.costs, options);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::too_large) throw;
    throw_too_large(one_case, "too many");
  }
}

// Events belong together that begin together; where not even the first ones fit, nothing is left.
void refuse_empty_trace(const TraceInput& input, TraceOptions options) {
  constexpr std::uint64_t most_events_of_a_step = 32;  // far more than usual
  const std::uint64_t steps = input.simulation.timeline->steps.size() +
                              static_cast<std::uint64_t>(input.simulation.finished.size());
  if (options.max_events / most_events_of_a_step > steps) return;
  std::ostream nowhere(nullptr);
  const std::uint64_t wanted = options.max_events;
  TraceSummary summary = write_trace(nowhere, input, options);
  if (summary.events > 0) return;
  while (summary.events == 0) {
    options.max_events *= 2;
    summary = write_trace(nowhere, input, options);
  }
  throw UsageError(
      fmt::format("--limit {} is too small: use at least --limit {}", wanted, summary.events));
}

void tell(const TraceSummary& summary, const TraceCommandOptions& options, Terminal& terminal) {
  if (summary.inside_left_out)
    terminal.err << "the trace omits the messages inside of collectives: there are too many\n";
  if (summary.left_out > 0)
    terminal.err << fmt::format(
        "the trace has the {} events that begin before {}; {} more were omitted (--limit {} "
        "includes all)\n",
        summary.events, to_text(summary.shown_until), summary.left_out,
        summary.events + summary.left_out);
  if (terminal.quiet || options.output == "-") return;
  terminal.err << fmt::format("wrote {} events to {}; open it at https://ui.perfetto.dev\n",
                              summary.events, options.output);
}

int trace(const TraceCommandOptions& options, Terminal& terminal) {
  if (options.output == "-" && terminal.out_is_terminal)
    throw UsageError("refusing to print a trace to a terminal; use -o trace.json");
  refuse_overwriting(options.output, {options.one_case.file});
  std::optional<ChosenCase> chosen = load_one_case(options.one_case, terminal);
  if (!chosen) return exit_usage;

  const Case one_case = ready_to_run(std::move(chosen->chosen));
  const Simulation simulation = simulate_fully(one_case, options.one_case.file);
  const std::string& title = chosen->scenario.title;
  decltype(TraceInput::of) of;
  if (one_case.step != nullptr)
    of = &workload_of(one_case);
  else
    of = &*one_case.schedule;
  const TraceInput input{one_case.cluster->topology, of, simulation,
                         title.empty() ? chosen->scenario.name : title};
  TraceOptions trace_options = options.trace;
  trace_options.arrows = options.flows == "none"  ? Arrows::none
                         : options.flows == "all" ? Arrows::all
                                                  : Arrows::critical;
  refuse_empty_trace(input, trace_options);
  TraceSummary summary;
  write_file(options.output, terminal,
             [&](std::ostream& out) { summary = write_trace(out, input, trace_options); });
  tell(summary, options, terminal);
  return exit_fine;
}

}  // namespace

Action declare_trace(Options& command) {
  const auto options = std::make_shared<TraceCommandOptions>();
  options->output = "-";
  options->one_case.workloads = true;
  add_one_case_options(command, options->one_case);
  command.value("-o,--output", options->output, "FILE",
                "file to write the trace to (default: standard output, unless it is a terminal)");
  command.choice("--flows", options->flows, {"none", "critical", "all"},
                 "arrows from sender to receiver: for no message, those on the critical path "
                 "(default), or all");
  command.integer("--limit", options->trace.max_events,
                  "at most this many events; later ones are omitted (default 1000000)", 1,
                  1'000'000'000);
  return [options](Terminal& terminal) { return trace(*options, terminal); };
}

}  // namespace collsim
