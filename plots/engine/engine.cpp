// SPDX-License-Identifier: Apache-2.0
//
// The border between the core and JavaScript: functions with C linkage that pass nothing but numbers
// and places in memory.  See README.md.  plots/playground/engine.js is the other side; its lists of
// fields follow the structs here in order.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "collectives/cautions.hpp"
#include "collectives/cost/closed_forms.hpp"
#include "plots/engine/setting.hpp"
#include "sim/effort.hpp"
#include "sim/records.hpp"

#define COLLSIM_EXPORT(name) extern "C" __attribute__((export_name(#name)))

namespace collsim {
namespace {

// Where a text or a column is.
struct Place {
  const void* data = nullptr;
  std::uint32_t count = 0;
};

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
  Place formula, reference;
  Place formula_values;       // the formula with numbers put in; empty where it is in words
  Place formula_definitions;  // lines
  Place cautions;             // lines
};
static_assert(sizeof(Answer) == 15 * 8, "engine.js counts fields of 8 bytes");

// Column after column, as engine.js names them.
struct Columns {
  Place numbers[14];
  Place whole[18];
};

Setting setting{};
Answer answer{};
Columns columns{};
Records records;
ClosedForm form;
std::string text, formula_values, definition_lines, cautions;

Place place_of(const std::string& of) {
  return {of.data(), static_cast<std::uint32_t>(of.size())};
}
template <class T>
Place place_of(const std::vector<T>& of) {
  return {of.data(), static_cast<std::uint32_t>(of.size())};
}

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
  if (options_of(setting).late.empty()) found = closed_form(collective, choice, topology);
  form = found.value_or(ClosedForm{});
  answer.formula_s = found ? form.seconds : nothing;
  answer.best_chunks = found ? form.best_chunks.value_or(nothing) : nothing;
  answer.exact = found && form.exact ? 1 : 0;
  answer.formula = place_of(form.formula);
  answer.reference = place_of(form.reference);
  add_definitions();
  answer.formula_values = place_of(formula_values);
  answer.formula_definitions = place_of(definition_lines);
}

void add_cautions(const Schedule& schedule, const Simulation& simulation) {
  const RanCase ran{.algorithm = &algorithm_of(setting),
                    .ranks = schedule.collective().size(),
                    .chunks = schedule.chunks(),
                    .channels = schedule.channels(),
                    .elements = schedule.collective().count,
                    .messages = simulation.messages,
                    .wire_bytes = simulation.wire_bytes,
                    .time = simulation.time,
                    .links_are_free = has_one_kind_of_link(setting) && setting.overhead_ps == 0 &&
                                      setting.latency_ps == 0};
  cautions.clear();
  for (const Caution caution : all_cautions)
    if (applies(caution, ran)) cautions += to_text(caution, ran) + '\n';
  answer.cautions = place_of(cautions);
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
  columns = {
      {place_of(n.reached), place_of(n.began), place_of(n.ended), place_of(n.departed),
       place_of(n.left), place_of(n.arrived), place_of(n.bytes), place_of(n.path_from),
       place_of(n.path_to), place_of(n.route_startup), place_of(n.link_busy),
       place_of(n.link_messages), place_of(n.had_begun), place_of(n.had_done)},
      {place_of(w.rank), place_of(w.index), place_of(w.to), place_of(w.piece), place_of(w.mixed),
       place_of(w.wait), place_of(w.waited_for), place_of(w.queued_behind), place_of(w.route),
       place_of(w.route_first), place_of(w.route_links), place_of(w.path_kind),
       place_of(w.path_step), place_of(w.had_rank), place_of(w.had_piece), place_of(w.brought_rank),
       place_of(w.brought_first), place_of(w.brought_end)}};
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
  Simulation simulation = simulate(topology, schedule, {}, options);

  answer.time_ps = simulation.time.ps();
  answer.fingerprint = simulation.fingerprint;
  answer.bound_ps = simulation.bounds.largest().ps();
  answer.messages = static_cast<double>(simulation.messages);
  answer.instructions = static_cast<double>(simulation.instructions);
  add_formula(collective, choice, topology);
  add_cautions(schedule, simulation);
  answer.recorded = simulation.timeline ? 1 : 0;
  records = {};
  if (simulation.timeline) {
    const Pieces pieces = find_pieces(schedule, *simulation.timeline);
    records = records_of(topology, schedule, simulation, pieces);
    add_holdings(schedule, simulation, pieces, records);
  }
  answer.pieces = records.pieces;
  add_columns();
}

Place* lines_at(std::string lines) {
  static Place place;
  text = std::move(lines);
  place = place_of(text);
  return &place;
}

// Without its slow link, which may be one that this network does not have.
Topology network_of_setting() {
  Setting without = setting;
  without.slow_link = -1;
  return topology_of(without);
}

}  // namespace
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
COLLSIM_EXPORT(algorithms) collsim::Place* collsim_algorithms() {
  using namespace collsim;
  std::string lines;
  for (const Algorithm& row : algorithms())
    lines += std::string(to_string(row.operation)) + '\t' + std::string(row.name) + '\t' +
             std::string(row.summary) + '\t' + (takes_root(row) ? '1' : '0') + '\n';
  return lines_at(std::move(lines));
}

COLLSIM_EXPORT(shapes) collsim::Place* collsim_shapes() {
  using namespace collsim;
  std::string lines;
  for (const std::string_view shape : setting_shapes()) lines += std::string(shape) + '\n';
  return lines_at(std::move(lines));
}

// From where to where, for each link of the setting's network.
COLLSIM_EXPORT(links) collsim::Place* collsim_links() {
  using namespace collsim;
  const Topology topology = network_of_setting();
  std::string lines;
  for (const Link& link : topology.links())
    lines += topology.name(link.from) + '\t' + topology.name(link.to) + '\n';
  return lines_at(std::move(lines));
}

// The sizes of a torus or mesh, slowest first.
COLLSIM_EXPORT(dims) collsim::Place* collsim_dims() {
  using namespace collsim;
  const Topology topology = network_of_setting();
  std::string lines;
  for (const int dim : topology.dims()) lines += std::to_string(dim) + '\n';
  return lines_at(std::move(lines));
}
