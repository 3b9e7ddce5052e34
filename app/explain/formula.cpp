// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <limits>

#include "app/explain/explanation_internal.hpp"
#include "collectives/cost/uniform_network.hpp"

namespace collsim {
namespace {

// closed_form() looks at chunks only.
AlgorithmChoice choice_for_formula(const Case& point, const Row& row) {
  AlgorithmChoice choice = point.choice;
  choice.chunks = row.chunks;
  choice.chunk_size.reset();
  return choice;
}

std::optional<ClosedForm> form_of(const Case& point, const Row& row) {
  return closed_form(point.collective, choice_for_formula(point, row), point.cluster->topology,
                     point.costs.reduce_bandwidth);
}

std::string joined(const std::vector<std::string>& parts) {
  std::string text;
  for (std::size_t i = 0; i < parts.size(); ++i)
    text += (i == 0 ? "" : i + 1 == parts.size() ? " and " : ", ") + parts[i];
  return text;
}

// What the case has and the model of the formulas has not.
std::vector<std::string> beyond_formulas(const Case& point) {
  std::vector<std::string> reasons;
  const auto takes_part = [&](Rank rank) {
    const auto& group = point.collective.group;
    return std::find(group.begin(), group.end(), rank) != group.end();
  };
  for (const auto& [rank, late] : point.cluster->late)
    if (late > Time{} && takes_part(rank) && reasons.size() < 3)
      reasons.push_back(fmt::format("rank {} starts {} late", rank.index(), to_text(late)));
  const CostModel& costs = point.costs;
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

std::string why_no_form(const Case& point, const Row& row) {
  if (row.channels > 1) return "none is known for more than one channel";
  if (point.choice.slots) {
    Case unlimited = point;
    unlimited.choice.slots.reset();
    if (form_of(unlimited, row))
      return fmt::format(
          "none is known when a sender may have to wait for a free slot (here {} per connection)",
          *point.choice.slots);
  }
  const Topology& topology = point.cluster->topology;
  const auto links = topology.links();
  if (std::any_of(links.begin(), links.end(),
                  [](const Link& link) { return link.sharing == Sharing::fair; }))
    return "none is known for links that messages share";
  if (!uniform_network(topology))
    return "none is known for this algorithm on a network that is not uniform (a chain, ring or "
           "switch with all links alike, or a link for every pair)";
  Case simpler = point;
  simpler.costs.reduce_bandwidth.reset();
  if (point.costs.reduce_bandwidth && form_of(simpler, row))
    return fmt::format("none is known for this algorithm with additions as slow as {}",
                       to_text(*point.costs.reduce_bandwidth));
  Row uncut = row;
  uncut.chunks = 1;
  if (row.chunks > 1 && form_of(point, uncut))
    return "none is known for this algorithm with more than one chunk";
  return fmt::format("none is known for {} with {} ranks and {} on this network", row.algorithm,
                     row.ranks, row.chunks == 1 ? "1 chunk" : fmt::format("{} chunks", row.chunks));
}

// --- symbols ------------------------------------------------------------------------------------

std::vector<std::string> names_in(const std::string& text) {
  std::vector<std::string> names;
  std::string name;
  for (const char c : text + " ") {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_') {
      name += c;
    } else if (!name.empty()) {
      names.push_back(name);
      name.clear();
    }
  }
  return names;
}

bool has(const std::vector<std::string>& names, const char* name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Of "pass" and "step", as far as this case needs them: with one message, or with adding for free,
// less is left of them.
std::string pass_definition(const FormulaValues& values) {
  return values.S == 1 ? "pass(n) = tau(n) + L: n bytes over one link"
                       : "pass(n) = S*tau(n/S) + L: n bytes over one link in S messages";
}

std::string step_definition(const FormulaValues& values) {
  if (std::isinf(values.gamma))
    return values.S == 1
               ? "step(n) = tau(n) + L: n bytes over one link and added up there, which is free"
               : "step(n) = S*tau(n/S) + L: n bytes over one link in S messages and added up "
                 "there, which is free";
  return values.S == 1
             ? "step(n) = tau(n) + L + n/gamma: n bytes over one link, then added up there"
             : "step(n) = tau(n/S) + L + (S-1)*max(tau(n/S), n/(S*gamma)) + n/(S*gamma): n bytes "
               "over one link in S messages; each is added up while the next one comes";
}

// Adds the names that the definitions use.
void add_definitions(const FormulaValues& values, std::vector<std::string>& names,
                     FormulaExplanation& result) {
  const auto define = [&](const char* name, const std::string& text) {
    if (!has(names, name)) return;
    result.definitions.push_back(text);
    const std::string_view formula(text.data(), text.find(':'));
    for (std::string& used : names_in(std::string(formula.substr(formula.find('=')))))
      names.push_back(std::move(used));
  };
  define("step", step_definition(values));
  define("pass", pass_definition(values));
  define("tau", "tau(n) = alpha + n/B: for so long one message of n bytes keeps a link busy");
  for (const char* name : {"floor", "ceil"})
    if (has(names, name))
      result.definitions.push_back(
          fmt::format("{0}(x): x rounded {1}", name, *name == 'f' ? "down" : "up"));
  if (has(names, "q")) names.emplace_back("K");
}

std::string chunks_meaning(const Case& point) {
  const Algorithm& algorithm = find_algorithm(point.collective.operation, point.choice.name);
  return algorithm.cuts_whole_vector ? "messages that the vector is cut into"
                                     : "messages that each rank's block is cut into";
}

void add_symbols(const Case& point, const std::vector<std::string>& names,
                 const FormulaValues& values, bool uniform, FormulaExplanation& result) {
  using Unit = FormulaSymbol::Unit;
  const auto add = [&](const char* symbol, double value, Unit unit, const std::string& meaning) {
    if (has(names, symbol)) result.symbols.push_back({symbol, value, unit, meaning});
  };
  add("K", values.K, Unit::number, "ranks");
  add("q", std::ceil(std::log2(values.K)), Unit::number,
      "log2(K), rounded up: in q doublings 1 rank becomes K");
  add("k", values.radix, Unit::number, "the radix of the tree");
  add("N", values.N, Unit::bytes, "the size");
  add("S", values.S, Unit::number, chunks_meaning(point));
  if (uniform) {
    add("alpha", values.alpha, Unit::seconds, "start-up of every message; keeps the link busy");
    add("B", values.B, Unit::bytes_per_second, "bandwidth of a link");
    add("L", values.L, Unit::seconds, "latency from rank to rank; keeps nothing busy");
  }
  add("gamma", values.gamma, Unit::bytes_per_second,
      std::isinf(values.gamma) ? "rate at which a rank adds: adding is free"
                               : "rate at which a rank adds");
}

// --- parts --------------------------------------------------------------------------------------

// Making bandwidths unlimited must not lead messages another way.
bool routes_stand(const Topology& topology) {
  const auto links = topology.links();
  return topology.parts().routes_ignore_bandwidth ||
         std::all_of(links.begin(), links.end(),
                     [&](const Link& link) { return link.bandwidth == links.front().bandwidth; });
}

void add_parts(const Case& point, const Row& row, FormulaExplanation& result) {
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
  without("start-up", with_links(point, [](LinkParameters& link) { link.overhead = {}; }));
  if (routes_stand(point.cluster->topology))
    without("wire", with_links(point, [](LinkParameters& link) {
              link.bandwidth = Bandwidth(std::numeric_limits<std::int64_t>::max());
            }));
  else
    complete = false;
  without("latency", with_links(point, [](LinkParameters& link) { link.latency = {}; }));
  if (point.costs.reduce_bandwidth) {
    Case changed = point;
    changed.costs.reduce_bandwidth.reset();
    without("reduction", changed);
  }
  result.parts_add_up = complete && std::abs(sum - whole) <= 1e-6 * whole;
}

}  // namespace

FormulaExplanation explain_formula(const Case& point, const Row& row) {
  FormulaExplanation result;
  const std::vector<std::string> beyond = beyond_formulas(point);
  result.form = row.analytic ? row.analytic : form_of(point, row);
  result.applies = row.analytic.has_value();
  if (!result.form) {
    result.why_not = why_no_form(point, row);
    return result;
  }
  if (!result.applies)
    result.why_not = beyond.empty() ? "this case has more than its model" : joined(beyond);

  const std::optional<UniformNetwork> network = uniform_network(point.cluster->topology);
  const Hop hop = network ? network->hop : Hop{};
  const FormulaValues values{
      .K = static_cast<double>(row.ranks),
      .N = static_cast<double>(point.collective.bytes()),
      .S = static_cast<double>(row.chunks),
      .radix = static_cast<double>(point.choice.radix),
      .alpha = hop.alpha,
      .B = hop.bandwidth,
      .L = hop.latency,
      .gamma = point.costs.reduce_bandwidth
                   ? static_cast<double>(point.costs.reduce_bandwidth->bytes_per_second())
                   : std::numeric_limits<double>::infinity()};
  std::vector<std::string> names = names_in(result.form->formula);
  add_definitions(values, names, result);
  add_symbols(point, names, values, network.has_value(), result);
  const double seconds = result.form->seconds;
  if (std::optional<EvaluatedFormula> evaluated = evaluate_formula(result.form->formula, values);
      network && evaluated && std::abs(evaluated->seconds - seconds) <= 1e-9 * seconds) {
    result.terms = std::move(evaluated->terms);
    result.calls = std::move(evaluated->calls);
  }
  if (row.ranks > 1 && seconds > 0) add_parts(point, row, result);
  return result;
}

}  // namespace collsim
