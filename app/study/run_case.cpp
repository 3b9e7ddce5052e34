// SPDX-License-Identifier: Apache-2.0
#include "app/study/run_case.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/scenario/presets.hpp"
#include "app/scenario/vocabulary.hpp"
#include "app/study/memory_limit.hpp"
#include "app/study/nccl.hpp"
#include "app/study/run_step.hpp"
#include "sim/idle_links.hpp"

#include "collectives/cost/bound_text.hpp"
#include "collectives/cost/link_load.hpp"
#include "collectives/cost/uniform_network.hpp"
#include "collectives/schedule.hpp"
#include "sim/busy_link.hpp"
#include "sim/causal_chain.hpp"
#include "topo/routes.hpp"

namespace collsim {
namespace {

bool has_late_rank(const Case& one_case) {
  return !late_ranks(*one_case.cluster, one_case.collective.group).empty();
}

std::optional<double> slowest_used_link(const Topology& topology, const Simulation& simulation) {
  std::optional<Bandwidth> slowest;
  for (std::size_t i = 0; i < simulation.links.size(); ++i) {
    const Bandwidth bandwidth = topology.link(LinkId(i)).bandwidth;
    if (simulation.links[i].bytes > 0 && (!slowest || bandwidth < *slowest)) slowest = bandwidth;
  }
  if (!slowest) return std::nullopt;
  return static_cast<double>(slowest->bytes_per_second());
}

// `how` has cuts, engine and perhaps a limit.  If all ranks together are too much, one of them may
// stand for all.
Simulation simulation_of(const Case& one_case, const Schedule& schedule, const CaseOptions& options,
                         SimulationOptions how) {
  how.late = one_case.cluster->late;
  if (how.engine != Engine::automatic)
    return simulate(one_case.cluster->topology, schedule, one_case.costs, how);
  const Effort effort = effort_of(one_case, schedule);
  if (exceeds_lane_limit(effort)) throw_too_large(one_case, effort, schedule);
  if (options.gauge != nullptr) {
    options.gauge->begin(one_case.nccl && one_case.protocol
                             ? nccl_text(*one_case.nccl, *one_case.protocol)
                             : std::string(schedule.algorithm()),
                         effort.instructions / expected_ranks_for_each(one_case, schedule));
    how.executed = &options.gauge->executed;
  }
  std::unique_lock<std::mutex> turn;
  if (options.turns != nullptr && effort.bytes > much_memory_bytes)
    turn = std::unique_lock(*options.turns);
  if (!exceeds_total_limit(effort)) {
    if (options.bottleneck_bandwidth) how.recording = Recording::summary;
    return simulate(one_case.cluster->topology, schedule, one_case.costs, how);
  }
  if (options.bottleneck_bandwidth) throw_too_large(one_case, effort, schedule);
  how.engine = Engine::symmetry;
  try {
    return simulate(one_case.cluster->topology, schedule, one_case.costs, how);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::engine_not_applicable) throw;
  }
  throw_too_large(one_case, effort, schedule);
}

LowerBounds bounds_of(const Case& made, const NetworkCuts* cuts = nullptr) {
  const auto& additions = made.costs.reduce_bandwidth;
  const int lanes = made.schedule->lanes();
  return cuts != nullptr ? lower_bounds(made.collective, *cuts, additions, lanes)
                         : lower_bounds(made.collective, made.cluster->topology, additions, lanes);
}

// The same with a vector that is cut into so many equal pieces, none longer by more than an
// element.
Case with_equal_pieces(const Case& made, std::int64_t pieces) {
  Case even = made;
  even.collective.count = (made.collective.count + pieces - 1) / pieces * pieces;
  even.schedule.reset();
  return with_schedule(std::move(even));
}

// Where simulating takes long only because parts of the ranks differ by an element: with equal
// parts, so that one rank stands for others.  A message may have many parts; each of them is so
// long that an element more is less than 1%.
std::optional<Case> with_equal_parts(const Case& made) {
  constexpr double takes_long = 20e6;  // instructions
  constexpr std::int64_t least_elements = 100;
  const Topology& topology = made.cluster->topology;
  const std::int64_t parts = std::int64_t{made.collective.size()} * made.choice.channels;
  const std::int64_t count = made.collective.count;
  if (count / parts < least_elements || count % parts == 0 || made.choice.list ||
      has_late_rank(made) || effort_of(made, *made.schedule).instructions < takes_long ||
      ranks_for_each(topology, *made.schedule, made.costs) > 1)
    return std::nullopt;
  Case even = with_equal_pieces(made, parts);
  if (ranks_for_each(topology, *even.schedule, even.costs) == 1) return std::nullopt;
  return even;
}

CaseResult row_of(const Case& asked, const CaseOptions& options, SimulationOptions how = {}) {
  const Case one_case = with_calibrated_costs(with_schedule(asked));
  const Topology& topology = one_case.cluster->topology;
  const Schedule& schedule = *one_case.schedule;
  const std::shared_ptr<const NetworkCuts> cuts =
      options.cuts != nullptr ? options.cuts->of(one_case) : nullptr;
  how.cuts = cuts.get();
  const std::optional<Case> even =
      how.engine == Engine::automatic ? with_equal_parts(one_case) : std::nullopt;
  if (even) how.busy_link = nullptr;  // of other messages
  const Case& simulated = even ? *even : one_case;
  const Simulation simulation = simulation_of(simulated, *simulated.schedule, options, how);

  CaseResult row;
  row.operation = one_case.collective.operation;
  row.algorithm = schedule.algorithm();
  row.ranks = one_case.collective.size();
  row.size = one_case.collective.bytes();
  row.type = one_case.collective.type;
  if (reduces(row.operation)) row.reduction = one_case.collective.reduction;
  row.root = static_cast<int>(
      one_case.collective.group[static_cast<std::size_t>(one_case.collective.root)].index());
  row.chunks = schedule.chunks();
  row.channels = schedule.channels();
  row.radix = one_case.choice.radix;
  row.aggregation = one_case.choice.aggregation;
  row.protocol = one_case.protocol;
  row.nccl = one_case.nccl;
  row.error_class = error_class(one_case);
  if (const Preset* const preset = find_preset(one_case.cluster->preset))
    row.calibrated = row.protocol && preset->calibrated;
  row.kernel = simulation.time;
  row.host = one_case.protocol ? host_time(one_case) : Time{};
  row.time = with_launches(row.kernel, row.host);
  row.analytic = formula_of(one_case);
  row.bounds = even ? bounds_of(one_case, cuts.get()) : simulation.bounds;
  row.evened = even.has_value();
  row.bound = row.bounds.largest() + one_case.costs.launch;
  if (cuts != nullptr && row.bounds.largest() == row.bounds.bandwidth)
    if (const auto narrowest = narrowest_links(one_case.collective, *cuts))
      row.bound_cut = to_text(*narrowest, one_case.collective, topology);
  row.messages = simulation.messages;
  row.wire_bytes = simulation.wire_bytes;
  row.engine = simulation.engine;
  row.fingerprint = simulation.fingerprint;
  if (options.bottleneck_bandwidth)
    row.bottleneck_bandwidth = slowest_used_link(topology, simulation);
  set_symbols(row, one_case);
  return row;
}

// Among very many ranks, the same with a vector that all of them cut into equal pieces: no piece
// is longer by more than an element, and one rank of a node may stand for all of its node.
Case cut_evenly(const Case& made) {
  constexpr double very_large = 200'000;
  const AlgorithmChoice& choice = made.choice;
  const Algorithm& algorithm = find_algorithm(made.collective.operation, choice.name);
  if (algorithm.node_pieces == nullptr || choice.per_node == 1 ||
      effort_of(made, *made.schedule).instructions < very_large)
    return made;
  const int pieces = algorithm.node_pieces(made.collective.size(), choice.per_node);
  return with_equal_pieces(made, std::int64_t{pieces} * choice.channels);
}

// One of NCCL's ways, and what it takes at least, found without simulating it.
struct NcclWay {
  std::size_t place = 0;  // in the list
  Case one_case;
  Case simulated;  // cut_evenly()
  Time least;
  // What `least` is of.  More is asked only where simulating takes a while.
  enum class Known : std::uint8_t { launch, starts, traffic, busy_link, all } known = Known::launch;
  Time of_starts;
  BusyLink busy_link;
  Time guess;  // about what it takes: the first messages, then the traffic of all other chunks

  void learn_least(Time kernel) {
    least = std::max(least, simulated.costs.launch + kernel);
    guess = std::max(guess, least);
  }
  // Whether more may be learnt that matters.  Pipelines take about what their busiest links do, so
  // that longer chains only help to tell that one is slower than another.
  [[nodiscard]] bool is_open(bool has_rival) const {
    const bool is_pipeline = simulated.schedule->chunks() > 1;
    return known < (is_pipeline && !has_rival ? Known::busy_link : Known::all);
  }
};

NcclWay way_of(Case candidate, std::size_t place) {
  NcclWay way{.place = place, .one_case = with_schedule(std::move(candidate))};
  way.simulated = cut_evenly(way.one_case);
  way.learn_least(Time{});
  return way;
}

// Simulating it is quicker than looking further.
bool is_quick(const Case& made) {
  constexpr double few = 20'000, very_many = 2'000'000;  // instructions
  const double of_all = effort_of(made, *made.schedule).instructions;
  return of_all <= few ||
         (of_all <= very_many && of_all / expected_ranks_for_each(made, *made.schedule) <= few);
}

// Finds a larger bound, if it can, that need not be larger than `enough`: from the first messages
// of chains of causes; then from its own traffic; then from its busiest link, which is all that
// pipelines wait for; then from longer chains, as of a ring of very many ranks.
void learn(NcclWay& way, Time enough) {
  constexpr ChainBudget short_chains{.messages = 200, .instructions = 20'000};
  constexpr ChainBudget long_chains{.messages = 6'000, .instructions = 200'000};
  using enum NcclWay::Known;
  const Case& made = way.simulated;
  const Topology& topology = made.cluster->topology;
  CausalChains chains(topology, *made.schedule);
  switch (way.known) {
    case launch:
      way.known = is_quick(made) ? all : starts;
      way.learn_least(chains.longest(enough, short_chains));
      way.of_starts = way.least;
      break;
    case starts: {
      const LinkLoad load(made.collective, made.choice, topology);
      const int chunks = made.schedule->chunks();
      const Time busy = load.at_least(chunks);
      way.known = traffic;
      way.learn_least(busy);
      way.guess = std::max(way.guess, way.of_starts + (chunks - 1) * Time(busy.ps() / chunks));
      break;
    }
    case traffic:
      way.known = busy_link;
      way.busy_link = busiest_link(topology, *made.schedule, chains);
      way.learn_least(way.busy_link.bound);
      break;
    case busy_link:
      way.known = all;
      way.learn_least(chains.longest(enough, long_chains));
      break;
    case all: break;
  }
}

// One that cannot run, as where no switch adds for one of the ranks, says so when it is simulated.
void learn_more(NcclWay& way, Time enough) {
  try {
    learn(way, enough);
  } catch (const Error&) {
    way.known = NcclWay::Known::all;
  }
}

CaseResult row_of(const NcclWay& way, const CaseOptions& options, Time at_most) {
  SimulationOptions how;
  how.at_most = at_most;
  how.busy_link = &way.busy_link;
  CaseResult row = row_of(way.simulated, options, how);
  const Case& made = way.one_case;
  if (made.collective.count == way.simulated.collective.count) return row;
  row.size = made.collective.bytes();
  row.bounds = bounds_of(made);
  row.evened = true;
  row.bound = row.bounds.largest() + made.costs.launch;
  return row;
}

// The one that is likely the fastest is simulated first.  Then the one with the least bound is, or
// more is learnt of it: the others are slower than their bounds.  Ties are for the first of them.
Chosen fastest_of_nccl(const Case& asked, const CaseOptions& options) {
  std::optional<Chosen> best;
  std::size_t place_of_best = 0;
  std::string reasons;
  ErrorCode code = ErrorCode::unsupported_ranks;
  std::vector<NcclWay> ways;
  for (Case& candidate : nccl_choices(asked))
    ways.push_back(way_of(std::move(candidate), ways.size()));
  while (!ways.empty()) {
    const auto next = std::ranges::min_element(ways, {}, best ? &NcclWay::least : &NcclWay::guess);
    if (best && with_launches(next->least, host_time(next->one_case)) > best->row.time) {
      ways.erase(next);
      continue;
    }
    if (next->is_open(best.has_value()) && (best || ways.size() > 1)) {
      learn_more(*next, best ? best->row.time : Time::never());
      continue;
    }
    const NcclWay way = std::move(*next);
    ways.erase(next);
    try {
      CaseResult row = row_of(way, options, best ? best->row.time : Time::never());
      if (best && std::pair(best->row.time, place_of_best) < std::pair(row.time, way.place))
        continue;
      best = Chosen{way.one_case, std::move(row)};
      place_of_best = way.place;
    } catch (const Error& error) {
      if (reasons.empty()) code = error.code();
      const std::string reason = fmt::format("; {}: {}", way.one_case.choice.name, error.what());
      if (!reasons.ends_with(reason)) reasons += reason;  // several protocols, one reason
    }
  }
  if (best) return std::move(*best);
  const std::string_view operation = to_string(asked.collective.operation);
  if (reasons.empty())
    throw_error(ErrorCode::invalid_argument, fmt::format("NCCL has no {}", operation));
  throw_error(code, fmt::format("no algorithm of {} works here{}", operation, reasons));
}

Chosen fastest(const Case& asked, const CaseOptions& options) {
  if (asked.choice.name == "nccl") return fastest_of_nccl(asked, options);
  return search_fastest(asked, [&](const Case& candidate, Engine engine) {
    SimulationOptions how;
    how.engine = engine;
    return row_of(candidate, options, how);
  });
}

// Direct all-to-alls, mostly: of messages that flow side by side all ranks see the same, of those
// that queue each rank sees another order.
bool would_be_small_if_fair(const Case& one_case) {
  const Topology& topology = one_case.cluster->topology;
  const auto is_exclusive = [](const Link& link) { return link.sharing == Sharing::exclusive; };
  if (std::none_of(topology.links().begin(), topology.links().end(), is_exclusive)) return false;
  Topology::Parts parts = topology.parts();
  for (Link& link : parts.links) link.sharing = Sharing::fair;
  return ranks_for_each(Topology(std::move(parts)), *one_case.schedule, one_case.costs) > 1;
}

// Beside fewer ranks: what keeps one of them from standing for others.
std::string what_else_would_help(const Case& one_case, const Effort& effort) {
  if (exceeds_lane_limit(effort)) return "";
  const Topology& topology = one_case.cluster->topology;
  if (chooses_per_message(topology))
    return fmt::format(
        "; each pair of ranks has about {:.0f} ways here, all of which take memory: \"routing\" by "
        "which a pair has one way takes less",
        ways_of_messages(topology, one_case.collective.group));
  if (has_late_rank(one_case)) return "; every rank is simulated because one is late";
  const auto is_down = [](const Link& link) { return link.down; };
  if (std::any_of(topology.links().begin(), topology.links().end(), is_down))
    return "; every rank is simulated because links are down";
  Case even = one_case;
  const std::int64_t ranks = one_case.collective.size();
  const std::int64_t left = even.collective.count % ranks;
  if (!one_case.schedule || one_case.choice.list) return "";
  even.collective.count -= left;
  if (even.collective.count == 0) even.collective.count = ranks;
  even.schedule.reset();
  even = with_schedule(std::move(even));
  if (would_be_small_if_fair(even))
    return "; every rank is simulated because messages queue at exclusive links: with \"sharing\": "
           "\"fair\" for all links one rank may stand for others";
  if (left == 0 || ranks_for_each(topology, *even.schedule, even.costs) == 1) return "";
  return fmt::format(
      "; every rank is simulated because their parts differ by an element: with a "
      "size that is a multiple of {} one rank may stand for others",
      bytes_to_text(ranks * size_of(even.collective.type)));
}

// "8", "0.25", "1100".
std::string gigabytes(double bytes) {
  return bytes < 1e10 ? fmt::format("{:.2g}", bytes / 1e9)
                      : fmt::format("{:.0f}", std::ceil(bytes / 1e9));
}

std::string number(double value) {
  return value < 1e15 ? fmt::format("{:.2g}", value) : "more than 1e15";
}

}  // namespace

void SimulationGauge::begin(std::string what, double expected) {
  const std::lock_guard lock(mutex_);
  what_ = std::move(what);
  expected_ = expected;
  executed = 0;
}

// As long as the estimate can be true.
std::string SimulationGauge::text() const {
  const std::lock_guard lock(mutex_);
  const double share = static_cast<double>(executed) / expected_;
  if (!(share < 1)) return "";
  if (share < 0.01) return what_ + " less than 1%";
  return fmt::format("{} about {:.0f}%", what_, std::floor(100 * share));
}

void set_symbols(CaseResult& row, const Case& one_case) {
  if (const auto& link = one_case.cluster->link; link && link->segments.empty()) {
    row.alpha = link->startup.seconds();
    row.B = static_cast<double>(link->bandwidth.bytes_per_second());
    row.L = link->latency.seconds();
    if (const auto network = uniform_network(one_case.cluster->topology))
      row.L = network->hop.latency;
  }
  if (const auto& additions = one_case.costs.reduce_bandwidth)
    row.gamma = 1 / static_cast<double>(additions->bytes_per_second());
}

std::vector<std::pair<Rank, Time>> late_ranks(const Cluster& cluster,
                                              const std::vector<Rank>& group) {
  std::vector<std::pair<Rank, Time>> late;
  if (cluster.late.empty()) return late;
  std::vector<Rank> sorted = group;
  std::sort(sorted.begin(), sorted.end());
  for (const auto& entry : cluster.late)
    if (entry.second > Time{} && std::binary_search(sorted.begin(), sorted.end(), entry.first))
      late.push_back(entry);
  return late;
}

// Formulas know links and the rate of additions, nothing else.
std::optional<ClosedForm> formula_of(const Case& one_case) {
  const CostModel& costs = one_case.costs;
  if (costs.copy_bandwidth || costs.second_write_bandwidth || costs.instruction_overhead > Time{} ||
      costs.launch > Time{} || one_case.calibration || has_late_rank(one_case))
    return std::nullopt;
  AlgorithmChoice choice = one_case.choice;
  choice.chunks = one_case.schedule->chunks();
  choice.chunk_size.reset();
  return closed_form(one_case.collective, choice, one_case.cluster->topology,
                     costs.reduce_bandwidth);
}

CostModel calibrated_costs(const Topology& topology, const Schedule& schedule, Bytes working_set,
                           const Calibration& calibration, const SimulationOptions& options) {
  SimulationOptions how = options;
  how.recording = Recording::summary;
  const CostModel alone = calibration.costs_at(working_set, 1);
  return calibration.costs_at(working_set, lanes_at_work(simulate(topology, schedule, alone, how)));
}

Case with_calibrated_costs(Case asked) {
  if (!asked.calibration || is_policy(asked.choice.name)) return asked;
  Case one_case = with_schedule(std::move(asked));
  const auto calibration = std::exchange(one_case.calibration, nullptr);
  const Time launch = one_case.costs.launch;
  const Schedule& schedule = *one_case.schedule;
  const Effort effort = effort_of(one_case, schedule);
  if (exceeds_lane_limit(effort)) throw_too_large(one_case, effort, schedule);
  const Bytes size = working_set(schedule);
  if (exceeds_total_limit(effort)) {
    one_case.costs = calibration->costs_at(size, 1.0 * schedule.size() * schedule.lanes());
  } else {
    SimulationOptions how;
    how.late = one_case.cluster->late;
    one_case.costs =
        calibrated_costs(one_case.cluster->topology, schedule, size, *calibration, how);
  }
  one_case.costs.launch = launch;
  return one_case;
}

Chosen choose(const Case& asked, const CaseOptions& options) {
  Chosen chosen = is_policy(asked.choice.name) ? fastest(asked, options)
                                               : Chosen{asked, row_of(asked, options)};
  if (options.idle_links)
    chosen.row.idle_links =
        find_idle_links(chosen.one_case.cluster->topology, *with_schedule(chosen.one_case).schedule,
                        chosen.row.kernel);
  return chosen;
}

CaseResult run_case(const Case& one_case, const CaseOptions& options) {
  return one_case.step ? run_step(one_case) : choose(one_case, options).row;
}

Case chosen_case(Case asked) {
  return is_policy(asked.choice.name) ? fastest(asked, {}).one_case : std::move(asked);
}

Case within_limits(Case asked) {
  Case one_case = with_schedule(chosen_case(std::move(asked)));
  const Effort effort = effort_of(one_case, *one_case.schedule);
  if (exceeds_lane_limit(effort) || exceeds_total_limit(effort))
    throw_too_large(one_case, effort, *one_case.schedule);
  return one_case;
}

double expected_ranks_for_each(const Case& one_case, const Schedule& schedule) {
  const Topology& topology = one_case.cluster->topology;
  const auto is_shared = [](const Link& link) { return link.sharing == Sharing::fair; };
  if (has_late_rank(one_case) ||
      (links_per_message(topology, schedule) > 2 &&
       !std::all_of(topology.links().begin(), topology.links().end(), is_shared)))
    return 1;
  return static_cast<double>(ranks_for_each(topology, schedule, one_case.costs));
}

bool exceeds_lane_limit(const Effort& effort) {
  return effort.per_lane > static_cast<double>(max_instructions_per_lane);
}

bool exceeds_total_limit(const Effort& effort) {
  return effort.instructions > max_instructions || effort.bytes > memory_limit();
}

void throw_too_large(const Case& one_case, const Effort& effort, const Schedule& schedule) {
  std::string knobs = fmt::format("{} rank{}", schedule.size(), schedule.size() == 1 ? "" : "s");
  std::string fewer = "ranks";
  if (schedule.chunks() > 1) {
    knobs += fmt::format(", {} chunks", schedule.chunks());
    fewer = "chunks, " + fewer;
  }
  if (schedule.channels() > 1) {
    knobs += fmt::format(", {} channels", schedule.channels());
    fewer = "channels, " + fewer;
  }
  std::string size;
  if (exceeds_lane_limit(effort))
    size =
        fmt::format("more than {} instructions for one rank, the limit", max_instructions_per_lane);
  else if (effort.instructions > max_instructions)
    size = fmt::format("about {} instructions (limit: {})", number(effort.instructions),
                       number(max_instructions));
  else
    size = fmt::format("about {} GB of memory (limit: {} GB; --memory sets it)",
                       gigabytes(std::ceil(effort.bytes / 1e8) * 1e8), gigabytes(memory_limit()));
  throw_error(ErrorCode::too_large,
              fmt::format("too large to simulate: {} by {} with {} takes {}; use fewer {}{}",
                          to_string(schedule.collective().operation), schedule.algorithm(), knobs,
                          size, fewer, what_else_would_help(one_case, effort)));
}

}  // namespace collsim
