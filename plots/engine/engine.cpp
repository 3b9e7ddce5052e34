// SPDX-License-Identifier: Apache-2.0
//
// The border between the core and JavaScript: functions with C linkage that pass nothing but
// numbers and places in memory.  See README.md.  plots/playground/engine.js is the other side; its
// lists of fields follow the structs here in order.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "collectives/cost/bound_text.hpp"
#include "collectives/cost/closed_forms.hpp"
#include "collectives/result_warnings.hpp"
#include "plots/engine/border.hpp"
#include "plots/engine/preset_machines.hpp"
#include "plots/engine/setting.hpp"
#include "sim/effort.hpp"
#include "sim/idle_links.hpp"
#include "sim/records.hpp"

namespace collsim {
namespace {

// What is said about a case; the closed form may be missing.
struct Answer {
  std::int64_t time_ps;
  std::uint64_t fingerprint;
  std::int64_t bound_ps;
  double formula_s;    // NaN: none
  double best_chunks;  // NaN: none
  double exact;        // 1: the formula holds to the rounding of picoseconds
  double messages;
  double instructions;
  double recorded;  // 1: the columns hold every step; 0: there were too many
  double pieces;
  double bus_factor;     // of busbw, see busbw_factor()
  double contention_ps;  // see Records; 0 where no step is recorded
  View formula, reference;
  View formula_values;       // the formula with numbers put in; empty where it is in words
  View formula_definitions;  // lines
  View warnings;             // lines
  View bound_cut;            // empty: something else is the bound
};
static_assert(sizeof(Answer) == 18 * 8, "engine.js counts fields of 8 bytes");

// Column after column, as engine.js names them.
struct Columns {
  View numbers[16];
  View whole[22];
};

Setting setting{};
Answer answer{};
Columns columns{};
Records records;
ClosedForm form;
std::string text, formula_values, definition_lines, warnings, bound_cut;

constexpr double nothing = std::numeric_limits<double>::quiet_NaN();
// More would take seconds.
constexpr double max_instructions = 12e6;

// What the words of the formula mean, and how its numbers came about.
void add_definitions() {
  formula_values.clear();
  definition_lines.clear();
  if (form.formula.empty()) return;
  const FormulaLegend legend = legend_of(form.formula, form.symbols);
  for (const std::string& line : legend.functions) definition_lines += line + '\n';
  for (const FormulaDefinition& one : formula_definitions())
    if (one.parameter.empty() && legend.has(one.name))
      definition_lines += std::string(one.name) + " = " +
                          value_text(Formula(one.name).value(form.symbols), units_none) + ": " +
                          std::string(one.meaning) + '\n';
  if (form.in_words) return;
  const Formula formula(form.formula);
  formula_values = formula.with_values(form.symbols);
  for (const FormulaTerm& call : formula.calls(form.symbols)) {
    definition_lines += call.text + " = " + call.with_values;
    if (call.value > 0) definition_lines += " = " + value_text(call.value, units_time);
    definition_lines += '\n';
  }
}

// Formulas know no late ranks.
void add_formula(const Collective& collective, const AlgorithmChoice& choice,
                 const Topology& topology) {
  std::optional<ClosedForm> found;
  if (options_of(setting).late.empty())
    found = closed_form(collective, choice, topology, costs_of(setting).reduce_bandwidth);
  form = found.value_or(ClosedForm{});
  answer.formula_s = found ? form.seconds : nothing;
  answer.best_chunks = found ? form.best_chunks.value_or(nothing) : nothing;
  answer.exact = found && form.exact ? 1 : 0;
  answer.formula = view_of(form.formula);
  answer.reference = view_of(form.reference);
  add_definitions();
  answer.formula_values = view_of(formula_values);
  answer.formula_definitions = view_of(definition_lines);
}

void add_warnings(const Topology& topology, const Schedule& schedule,
                  const Simulation& simulation) {
  const RunFacts ran{.algorithm = &algorithm_of(setting),
                     .ranks = schedule.collective().size(),
                     .chunks = schedule.chunks(),
                     .channels = schedule.channels(),
                     .elements = schedule.collective().count,
                     .messages = simulation.messages,
                     .wire_bytes = simulation.wire_bytes,
                     .time = simulation.time,
                     .links_are_free = has_one_kind_of_link(setting) && setting.overhead_ps == 0 &&
                                       setting.latency_ps == 0};
  warnings.clear();
  for (const ResultWarning warning : all_result_warnings)
    if (applies(warning, ran)) warnings += to_text(warning, ran) + '\n';
  if (const auto idle = find_idle_links(topology, schedule, simulation.time))
    warnings += to_text(*idle) + '\n';
  answer.warnings = view_of(warnings);
}

void add_bound(const Collective& collective, const NetworkCuts& cuts, const LowerBounds& bounds) {
  answer.bound_ps = bounds.largest().ps();
  bound_cut.clear();
  if (bounds.largest() == bounds.bandwidth)
    if (const auto narrowest = narrowest_links(collective, cuts))
      bound_cut = to_text(*narrowest, collective, cuts.topology());
  answer.bound_cut = view_of(bound_cut);
}

void refuse(double instructions) {
  throw_error(ErrorCode::too_large,
              "this would be " + std::to_string(std::llround(instructions / 1e6)) +
                  " million instructions, and the page stops at " +
                  std::to_string(std::llround(max_instructions / 1e6)) +
                  " million: take fewer chunks or ranks, or use the command line");
}

void add_columns() {
  const NumberColumns& n = records.numbers;
  const WholeColumns& w = records.whole;
  columns = {{view_of(n.reached), view_of(n.began), view_of(n.ended), view_of(n.departed),
              view_of(n.left), view_of(n.arrived), view_of(n.bytes), view_of(n.path_from),
              view_of(n.path_to), view_of(n.crossing_begun), view_of(n.crossing_ended),
              view_of(n.link_busy), view_of(n.link_messages), view_of(n.link_startup),
              view_of(n.had_begun), view_of(n.had_done)},
             {view_of(w.rank),           view_of(w.index),           view_of(w.to),
              view_of(w.piece),          view_of(w.mixed),           view_of(w.added),
              view_of(w.wait),           view_of(w.waited_for),      view_of(w.queued_behind),
              view_of(w.first_crossing), view_of(w.crossing_behind), view_of(w.route),
              view_of(w.route_first),    view_of(w.route_links),     view_of(w.path_kind),
              view_of(w.path_step),      view_of(w.path_link),       view_of(w.had_rank),
              view_of(w.had_piece),      view_of(w.brought_rank),    view_of(w.brought_first),
              view_of(w.brought_end)}};
}

// One case with the setting's chunks; keeps every step when there are at most `max_steps`.
void run(double max_steps) {
  const Topology topology = topology_of(setting);
  const Collective collective = collective_of(setting);
  const AlgorithmChoice choice = choice_of(setting, topology);
  const Schedule schedule = make_schedule(collective, choice);
  SimulationOptions options = options_of(setting);
  const double expected = effort_of(schedule, choice).instructions;
  if (expected > max_instructions) refuse(expected);
  if (expected <= max_steps) options.recording = Recording::full;
  NetworkCuts cuts(topology, collective.group);
  cuts.search(collective.operation, collective.root);
  options.cuts = &cuts;
  Simulation simulation = simulate(topology, schedule, costs_of(setting), options);

  answer.time_ps = simulation.time.ps();
  answer.fingerprint = simulation.fingerprint;
  add_bound(collective, cuts, simulation.bounds);
  answer.messages = static_cast<double>(simulation.messages);
  answer.instructions = static_cast<double>(simulation.instructions);
  add_formula(collective, choice, topology);
  add_warnings(topology, schedule, simulation);
  answer.recorded = simulation.timeline ? 1 : 0;
  records = {};
  if (simulation.timeline) {
    const Pieces pieces = find_pieces(schedule, *simulation.timeline);
    records = records_of(topology, schedule, simulation, pieces);
    add_holdings(schedule, simulation, pieces, records);
  }
  answer.pieces = records.pieces;
  answer.contention_ps = static_cast<double>(records.contention.ps());
  answer.bus_factor = busbw_factor(collective.operation, schedule.collective().size());
  add_columns();
}

View* lines_at(std::string lines) {
  static View place;
  text = std::move(lines);
  place = view_of(text);
  return &place;
}

// Without its slow link, which may be one that this network does not have.
Topology network_of_setting() {
  Setting without = setting;
  without.slow_link = -1;
  return topology_of(without);
}

}  // namespace

const Setting& setting_of_page() {
  return setting;
}

}  // namespace collsim

// Where JavaScript writes the setting before it calls one of those below.
COLLSIM_EXPORT(setting) collsim::Setting* collsim_setting() {
  return &collsim::setting;
}

COLLSIM_EXPORT(run) collsim::Answer* collsim_run(double max_steps) {
  collsim::run(max_steps);
  return &collsim::answer;
}

COLLSIM_EXPORT(columns) collsim::Columns* collsim_columns() {
  return &collsim::columns;
}

// Only the closed form's fields are filled in.
COLLSIM_EXPORT(formula) collsim::Answer* collsim_formula() {
  using namespace collsim;
  const Topology topology = topology_of(setting);
  add_formula(collective_of(setting), choice_of(setting, topology), topology);
  return &answer;
}

// Texts: lines, and within a line tabs.

// operation, name, summary, and 1 when it matters which rank is the root.
COLLSIM_EXPORT(algorithms) collsim::View* collsim_algorithms() {
  using namespace collsim;
  std::string lines;
  for (const Algorithm& row : algorithms())
    lines += std::string(to_string(row.operation)) + '\t' + std::string(row.name) + '\t' +
             std::string(row.summary) + '\t' + (takes_root(row) ? '1' : '0') + '\n';
  return lines_at(std::move(lines));
}

COLLSIM_EXPORT(shapes) collsim::View* collsim_shapes() {
  using namespace collsim;
  std::string lines;
  for (const std::string_view shape : setting_shapes()) lines += std::string(shape) + '\n';
  return lines_at(std::move(lines));
}

// name, title, GPUs of one node, and accuracy.
COLLSIM_EXPORT(presets) collsim::View* collsim_presets() {
  using namespace collsim;
  std::string lines;
  for (const PresetMachine& preset : preset_machines())
    lines += std::string(preset.name) + '\t' + std::string(preset.title) + '\t' +
             std::to_string(preset.gpus) + '\t' + std::string(preset.accuracy) + '\n';
  return lines_at(std::move(lines));
}

// From where to where, and bytes per second, for each link of the setting's network.
COLLSIM_EXPORT(links) collsim::View* collsim_links() {
  using namespace collsim;
  const Topology topology = network_of_setting();
  std::string lines;
  for (const Link& link : topology.links())
    lines += topology.name(link.from) + '\t' + topology.name(link.to) + '\t' +
             std::to_string(link.bandwidth.bytes_per_second()) + '\n';
  return lines_at(std::move(lines));
}

// The sizes of a torus or mesh, slowest first.
COLLSIM_EXPORT(dims) collsim::View* collsim_dims() {
  using namespace collsim;
  const Topology topology = network_of_setting();
  std::string lines;
  for (const int dim : topology.dims()) lines += std::to_string(dim) + '\n';
  return lines_at(std::move(lines));
}
