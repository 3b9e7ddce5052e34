// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "app/explain/explanation_internal.hpp"
#include "app/study/run_case.hpp"
#include "collectives/cost/uniform_network.hpp"

namespace collsim {
namespace {

// closed_form() looks at chunks only.
AlgorithmChoice choice_for_formula(const Case& one_case, const CaseResult& row) {
  AlgorithmChoice choice = one_case.choice;
  choice.chunks = row.chunks;
  choice.chunk_size.reset();
  return choice;
}

std::optional<ClosedForm> form_of(const Case& one_case, const CaseResult& row) {
  return closed_form(one_case.collective, choice_for_formula(one_case, row),
                     one_case.cluster->topology, one_case.costs.reduce_bandwidth);
}

std::string joined(const std::vector<std::string>& parts) {
  std::string text;
  for (std::size_t i = 0; i < parts.size(); ++i)
    text += (i == 0 ? "" : i + 1 == parts.size() ? " and " : ", ") + parts[i];
  return text;
}

// What the case has and the model of the formulas has not.
std::vector<std::string> beyond_formulas(const Case& one_case) {
  std::vector<std::string> reasons;
  for (const auto& [rank, late] : late_ranks(*one_case.cluster, one_case.collective.group))
    if (reasons.size() < 3)
      reasons.push_back(fmt::format("rank {} starts {} late", rank.index(), to_text(late)));
  const CostModel& costs = one_case.costs;
  if (costs.launch > Time{})
    reasons.push_back(fmt::format("the launch takes {}", to_text(costs.launch)));
  if (costs.instruction_overhead > Time{})
    reasons.push_back(
        fmt::format("every instruction costs {}", to_text(costs.instruction_overhead)));
  if (costs.copy_bandwidth)
    reasons.push_back(fmt::format("copies run at {}", to_text(*costs.copy_bandwidth)));
  if (costs.second_write_bandwidth)
    reasons.push_back(fmt::format("storing what is also sent runs at {}",
                                  to_text(*costs.second_write_bandwidth)));
  return reasons;
}

std::string why_no_form(const Case& one_case, const CaseResult& row) {
  if (row.channels > 1) return "none is known for more than one channel";
  if (one_case.choice.slots) {
    Case unlimited = one_case;
    unlimited.choice.slots.reset();
    if (form_of(unlimited, row))
      return fmt::format(
          "none is known if a sender may have to wait for a free slot (here {} per connection)",
          *one_case.choice.slots);
  }
  const Topology& topology = one_case.cluster->topology;
  const auto links = topology.links();
  if (std::any_of(links.begin(), links.end(), [](const Link& link) { return link.half_duplex; }))
    return "none is known for half duplex links";
  if (std::any_of(links.begin(), links.end(),
                  [](const Link& link) { return link.sharing == Sharing::fair; }))
    return "none is known for links that messages share";
  if (topology.has_segments())
    return "none is known where a link costs what the size of a message says (\"segments\")";
  if (!uniform_network(topology))
    return "none is known for this algorithm on a network that is not uniform (a chain, ring or "
           "switch with equal links, or a link for every pair)";
  Case simpler = one_case;
  simpler.costs.reduce_bandwidth.reset();
  if (one_case.costs.reduce_bandwidth && form_of(simpler, row))
    return fmt::format("none is known for this algorithm with additions as slow as {}",
                       to_text(*one_case.costs.reduce_bandwidth));
  CaseResult uncut = row;
  uncut.chunks = 1;
  if (row.chunks > 1 && form_of(one_case, uncut))
    return "none is known for this algorithm with more than one chunk";
  return fmt::format("none is known for {} with {} and {} on this network", row.algorithm,
                     count_in_words(row.ranks, "rank"), count_in_words(row.chunks, "chunk"));
}

// --- symbols ------------------------------------------------------------------------------------

std::string chunks_meaning(const Case& point) {
  const Algorithm& algorithm = find_algorithm(point.collective.operation, point.choice.name);
  return algorithm.messages_exceed_a_block ? "chunks of each step's message"
                                           : "messages that each rank's block is cut into";
}

void add_symbols(const Case& one_case, const ClosedForm& form, const FormulaLegend& legend,
                 FormulaExplanation& result) {
  const auto add = [&](std::string_view name, double value, const Units& units,
                       std::string_view meaning) {
    if (legend.has(name))
      result.symbols.push_back({std::string(name), value, units, std::string(meaning)});
  };
  for (const FormulaSymbol& symbol : formula_symbols()) {
    const bool of_a_link = symbol.name == "alpha" || symbol.name == "B" || symbol.name == "L";
    const bool of_a_level = symbol.name == "K" || symbol.name == "N";
    if ((of_a_link && form.in_words) || (of_a_level && form.by_levels)) continue;
    const double value = form.symbols.*symbol.value;
    std::string meaning(symbol.name == "S" ? chunks_meaning(one_case) : symbol.meaning);
    if (symbol.name == "gamma" && value == 0) meaning += ": adding is free";
    add(symbol.name, value, symbol.units, meaning);
    for (const FormulaDefinition& definition : formula_definitions())
      if (symbol.name == "K" && definition.parameter.empty())
        add(definition.name, Formula(definition.name).value(form.symbols), units_none,
            definition.meaning);
  }
}

// --- parts --------------------------------------------------------------------------------------

// Making bandwidths unlimited must not lead messages another way.
bool routes_stand(const Topology& topology) {
  const auto links = topology.links();
  return topology.parts().routes_ignore_bandwidth ||
         std::all_of(links.begin(), links.end(),
                     [&](const Link& link) { return link.bandwidth == links.front().bandwidth; });
}

void add_parts(const Case& one_case, const CaseResult& row, FormulaExplanation& result) {
  const double whole = result.form->seconds;
  double sum = 0;
  bool complete = true;
  const auto without = [&](const char* name, const Case& changed) {
    const std::optional<ClosedForm> form = form_of(changed, row);
    if (!form) {
      complete = false;
      return;
    }
    const double seconds = whole - form->seconds;
    sum += seconds;
    if (seconds > whole * 1e-12) result.parts.push_back({name, seconds});
  };
  without("startup", with_links(one_case, [](LinkParameters& link) { link.startup = {}; }));
  if (routes_stand(one_case.cluster->topology))
    without("bandwidth", with_links(one_case, [](LinkParameters& link) {
              link.bandwidth = Bandwidth(std::numeric_limits<std::int64_t>::max());
            }));
  else
    complete = false;
  without("latency", with_links(one_case, [](LinkParameters& link) { link.latency = {}; }));
  if (one_case.costs.reduce_bandwidth) {
    Case changed = one_case;
    changed.costs.reduce_bandwidth.reset();
    without("reduction", changed);
  }
  result.parts_add_up = complete && std::abs(sum - whole) <= 1e-6 * whole;
}

}  // namespace

FormulaExplanation explain_formula(const Case& one_case, const CaseResult& row) {
  FormulaExplanation result;
  const std::vector<std::string> beyond = beyond_formulas(one_case);
  result.form = row.analytic ? row.analytic : form_of(one_case, row);
  result.applies = row.analytic.has_value();
  if (!result.form) {
    result.why_not = why_no_form(one_case, row);
    return result;
  }
  if (!result.applies)
    result.why_not = beyond.empty() ? "this case has more than its model" : joined(beyond);

  const ClosedForm& form = *result.form;
  const FormulaLegend legend = legend_of(form.formula, form.symbols);
  result.definitions = legend.functions;
  add_symbols(one_case, form, legend, result);
  if (!form.in_words) {
    const Formula formula(form.formula);
    result.terms = formula.terms(form.symbols);
    result.calls = formula.calls(form.symbols);
  }
  if (row.ranks > 1 && form.seconds > 0) add_parts(one_case, row, result);
  return result;
}

}  // namespace collsim
