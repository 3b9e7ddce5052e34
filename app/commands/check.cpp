// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "app/commands/command.hpp"
#include "app/commands/interrupts.hpp"
#include "app/commands/progress.hpp"
#include "app/json/screen_text.hpp"
#include "app/json/value.hpp"
#include "app/output/text_table.hpp"
#include "app/scenario/make_case.hpp"
#include "app/study/prove_step.hpp"
#include "app/study/run_case.hpp"
#include "collectives/checker.hpp"
#include "collectives/listed_schedule.hpp"

namespace collsim {
namespace {

// What takes minutes; a smaller case shows the same.
constexpr double most_instructions = 2e9;

struct CheckCommandOptions {
  std::string file;
  std::vector<std::string> set;
  std::string format = "table";
};

struct Proof {
  Params params;
  std::string algorithm;
  CheckReport report;
  std::optional<int> slots;        // as given
  std::optional<int> least_slots;  // nothing: deadlocks with any number
  std::string in_file = {};        // the fault in terms of the file that lists the program
};

// Uses nothing that may go before it: it may run on when nobody waits for it.
Proof prove(Case asked, Params params) {
  const Case one_case = within_limits(std::move(asked));
  const Schedule& schedule = *one_case.schedule;
  const double instructions = effort_of(one_case, schedule).instructions;
  if (instructions > most_instructions)
    throw_error(ErrorCode::too_large,
                fmt::format("about {:.2g} instructions are too many to prove (limit: {:.2g}); use "
                            "fewer ranks or chunks, which shows as much",
                            instructions, most_instructions));
  Proof proof{std::move(params), schedule.algorithm(), check(schedule), schedule.slots(),
              least_slots(schedule)};
  if (one_case.choice.list && !proof.report.ok) {
    const CheckReport report = check_in_blocks(*one_case.choice.list, one_case.collective);
    if (report.fault)
      proof.in_file =
          fmt::format("{}, in chunks: {}", one_case.choice.list->file,
                      fault_in_file(*one_case.choice.list, one_case.collective, *report.fault));
  }
  return proof;
}

std::string slots_text(const Proof& proof) {
  return proof.least_slots ? std::to_string(*proof.least_slots) : "deadlocks with any number";
}

// Has a column anyway, which also says what "auto" became.
constexpr std::string_view algorithm_path = "collective.algorithm";

std::string text(const std::vector<Proof>& proofs) {
  TextTable table;
  for (const auto& [path, value] : proofs.front().params)
    if (path != algorithm_path) table.add_column(path.substr(path.rfind('.') + 1));
  table.add_column("algorithm", TextTable::Align::left);
  table.add_column("result", TextTable::Align::left);
  for (const char* heading : {"messages", "instructions", "least slots"}) table.add_column(heading);
  std::string faults;
  std::size_t proved = 0;
  for (const Proof& proof : proofs) {
    std::vector<std::string> cells;
    for (const auto& [path, value] : proof.params)
      if (path != algorithm_path) cells.push_back(printable(plain_text(value)));
    cells.insert(cells.end(), {proof.algorithm, proof.report.ok ? "proved" : "REFUSED",
                               std::to_string(proof.report.messages),
                               std::to_string(proof.report.instructions), slots_text(proof)});
    table.add_row(std::move(cells));
    proved += proof.report.ok ? 1 : 0;
    if (proof.report.ok) continue;
    const std::string point = printable(to_text(proof.params));
    faults += fmt::format("\nrefused{}{}: {}\n", point.empty() ? "" : ", ", point,
                          proof.report.fault ? proof.report.fault->text : "no reason given");
    if (!proof.in_file.empty()) faults += fmt::format("  {}\n", proof.in_file);
  }
  return table.text() +
         fmt::format("\n{} of {} schedules proved: correct result, deadlock-free, race-free\n",
                     proved, proofs.size()) +
         faults;
}

JsonValue fault_value(const Fault& fault) {
  return JsonValue::object({{"kind", to_string(fault.kind)},
                            {"rank", fault.rank.index()},
                            {"lane", fault.lane.index()},
                            {"step", fault.step},
                            {"expected", fault.expected},
                            {"found", fault.found},
                            {"message", fault.text}});
}

JsonValue document(const Scenario& scenario, const std::vector<Proof>& proofs, bool complete) {
  const auto entry = [](const Proof& proof) {
    JsonValue params = JsonValue::object();
    for (const auto& [path, value] : proof.params) params.set(path, value);
    JsonValue fault = proof.report.fault ? fault_value(*proof.report.fault) : JsonValue();
    if (!proof.in_file.empty()) fault.set("in_file", proof.in_file);
    return JsonValue::object({{"params", std::move(params)},
                              {"algorithm", proof.algorithm},
                              {"proved", proof.report.ok},
                              {"messages", proof.report.messages},
                              {"instructions", proof.report.instructions},
                              {"wire_bytes", proof.report.wire_bytes},
                              {"slots", proof.slots},
                              {"least_slots", proof.least_slots},
                              {"fault", std::move(fault)}});
  };
  return JsonValue::object({{"name", scenario.name},
                            {"complete", complete},
                            {"proofs", JsonValue::array(proofs, entry)}});
}

// Nothing when a point makes no sense.
std::optional<std::vector<Proof>> prove_all(const Scenario& scenario, Diagnostics& diagnostics,
                                            Terminal& terminal) {
  std::vector<Proof> proofs;
  ClusterCache clusters;
  Progress progress(terminal);
  for (std::size_t point = 0; point < scenario.points() && !terminal.interrupted; ++point) {
    const std::optional<Case> one = make_case(scenario, point, clusters, diagnostics);
    if (!one) return std::nullopt;
    const Params params = scenario.params(point);
    const std::string where = printable(to_text(params));
    try {
      const auto proof = std::make_shared<std::optional<Proof>>();
      const auto work = [=, one_case = *one] { *proof = prove(one_case, params); };
      if (!finishes(work, terminal.interrupted)) break;
      proofs.push_back(std::move(**proof));
    } catch (const Error& error) {
      const JsonValue* collective = scenario.document.find("collective");
      return diagnostics.add({.code = std::string(to_string(error.code())),
                              .message = where.empty() ? error.what() : where + ": " + error.what(),
                              .place = collective == nullptr ? SourceRange{} : collective->place,
                              .pointer = "/collective"});
    }
    progress.update(point + 1, scenario.points());
  }
  return proofs;
}

int tell_interrupted(std::size_t proofs, const Scenario& scenario, Terminal& terminal) {
  terminal.err << fmt::format("interrupted: {} {} checked\n",
                              part_text(proofs, scenario.points(), "point"),
                              proofs == 1 || scenario.points() == 1 ? "was" : "were");
  return exit_interrupted;
}

// Of training steps.
int check_steps(const Scenario& scenario, const std::shared_ptr<const Sources>& sources,
                Diagnostics& diagnostics, Terminal& terminal, bool json) {
  ClusterCache clusters;
  JsonValue::Array proofs;
  bool all = true;
  std::string text;
  for (std::size_t point = 0; point < scenario.points() && !terminal.interrupted; ++point) {
    const std::optional<Case> one = make_case(scenario, point, clusters, diagnostics);
    if (!one) return show_mistakes(diagnostics, *sources, terminal, json);
    const auto proved = std::make_shared<StepProof>();
    const auto work = [=, one_case = *one] { *proved = prove_step(one_case, *sources); };
    if (!finishes(work, terminal.interrupted)) break;
    const StepProof& proof = *proved;
    const std::string params = printable(to_text(scenario.params(point)));
    text += params.empty() ? proof.text : params + "\n" + proof.text;
    all = all && proof.proved;
    JsonValue row = JsonValue::object({{"params", JsonValue::object()}});
    for (const auto& [path, value] : scenario.params(point)) row.find("params")->set(path, value);
    for (const JsonValue::Member& member : proof.value.members()) row.set(member.key, member.value);
    proofs.push_back(std::move(row));
  }
  if (json)
    terminal.out << to_json(JsonValue::object({{"name", scenario.name},
                                               {"complete", !terminal.interrupted},
                                               {"proofs", proofs}}))
                 << '\n';
  else
    terminal.out << text;
  if (terminal.interrupted) return tell_interrupted(proofs.size(), scenario, terminal);
  return all ? exit_fine : exit_failed;
}

int check_file(const CheckCommandOptions& options, Terminal& terminal) {
  const bool json = options.format == "json";
  const auto sources = std::make_shared<Sources>();
  Diagnostics diagnostics;
  LoadOptions load;
  load.set = options.set;
  load.workloads = true;
  const std::optional<Scenario> scenario = load_scenario(options.file, load, *sources, diagnostics);
  if (!scenario) return show_mistakes(diagnostics, *sources, terminal, json);
  const InterruptWatch watch;
  if (scenario->is_step()) return check_steps(*scenario, sources, diagnostics, terminal, json);
  const auto proofs = prove_all(*scenario, diagnostics, terminal);
  if (!proofs) return show_mistakes(diagnostics, *sources, terminal, json);
  if (json)
    terminal.out << to_json(document(*scenario, *proofs, !terminal.interrupted)) << '\n';
  else if (!proofs->empty())
    terminal.out << text(*proofs);
  if (terminal.interrupted) return tell_interrupted(proofs->size(), *scenario, terminal);
  const auto is_proved = [](const Proof& proof) { return proof.report.ok; };
  return std::all_of(proofs->begin(), proofs->end(), is_proved) ? exit_fine : exit_failed;
}

}  // namespace

Action declare_check(Options& command) {
  const auto options = std::make_shared<CheckCommandOptions>();
  command.value("FILE", options->file, "FILE", "a scenario file; \"-\" reads standard input")
      .required = true;
  command.value("--set", options->set, "PATH=VALUE", "override a scenario value (may be repeated)");
  command.choice("--format", options->format, {"table", "json"}, "output format (default: table)");
  return [options](Terminal& terminal) { return check_file(*options, terminal); };
}

}  // namespace collsim
