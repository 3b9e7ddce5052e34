// SPDX-License-Identifier: Apache-2.0
#include "collectives/cost/closed_forms.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <vector>

#include "collectives/cost/conditions.hpp"
#include "collectives/cost/formula.hpp"

namespace collsim {
namespace {

using NetworkKind = UniformNetwork::Kind;

double seconds_per_byte(const std::optional<Bandwidth>& reduce_bandwidth) {
  return reduce_bandwidth ? 1 / static_cast<double>(reduce_bandwidth->bytes_per_second()) : 0;
}

bool is_in_order(const Collective& collective) {
  for (std::size_t i = 0; i < collective.group.size(); ++i)
    if (collective.group[i] != Rank(i)) return false;
  return true;
}

// Error when the choice or the collective is not valid.
const Algorithm& algorithm_of(const Collective& collective, const AlgorithmChoice& choice,
                              std::size_t ranks_of_network) {
  validate(collective);
  const Algorithm& algorithm = find_algorithm(collective.operation, choice.name);
  AlgorithmChoice in_chunks = choice;
  in_chunks.chunk_size.reset();
  validate(in_chunks, algorithm, collective.size());
  check_members(collective.group, ranks_of_network);
  return algorithm;
}

// No connection of any algorithm carries more messages than there are ranks to pass S chunks on to
// and back; with as many slots no sender ever waits for one.
bool senders_never_wait(const Collective& collective, const AlgorithmChoice& choice) {
  const std::int64_t most = 2 * std::int64_t{collective.size()} * choice.chunks;
  return !choice.slots || *choice.slots >= most;
}

ClosedForm of_one_rank() {
  return {.seconds = 0,
          .formula = "0",
          .reference = "one rank sends nothing",
          .exact = true,
          .best_chunks = std::nullopt};
}

FormulaSymbols symbols_of(const Collective& collective, const AlgorithmChoice& choice,
                          const Hop& hop, double gamma) {
  FormulaSymbols symbols;
  symbols.K = collective.size();
  symbols.N = static_cast<double>(collective.bytes());
  symbols.S = choice.chunks;
  symbols.k = choice.radix;
  if (choice.aggregation) symbols.A = *choice.aggregation;
  symbols.alpha = hop.alpha;
  symbols.B = hop.bandwidth;
  symbols.L = hop.latency;
  symbols.gamma = gamma;
  return symbols;
}

// The first cost that is for the case; null: none.
const Cost* cost_of(const Algorithm& algorithm, const CostCase& one_case) {
  const unsigned network = 1U << static_cast<unsigned>(one_case.network);
  for (const Cost& cost : algorithm.costs)
    if ((cost.networks & network) != 0 && (cost.holds == nullptr || cost.holds(one_case)))
      return &cost;
  return nullptr;
}

bool divides_evenly(const Cost& cost, const CostCase& one_case) {
  const double pieces = Formula(cost.even).value(one_case.symbols);
  return one_case.collective.count % std::llround(pieces) == 0;
}

ClosedForm evaluated(const Cost& cost, const CostCase& one_case) {
  ClosedForm form;
  form.seconds = Formula(cost.time).value(one_case.symbols);
  form.formula = cost.time;
  form.symbols = one_case.symbols;
  form.reference = cost.reference;
  form.exact = divides_evenly(cost, one_case);
  if (!cost.best_chunks.empty() && one_case.symbols.alpha > 0)
    form.best_chunks = std::max(1.0, Formula(cost.best_chunks).value(one_case.symbols));
  return form;
}

constexpr std::size_t most_searched_ranks = 1024;

bool routes_are_cheap(const Topology& topology) {
  return topology.parts().ways != nullptr || topology.rank_count() <= most_searched_ranks;
}

// --- level by level -----------------------------------------------------------------------------

// What one message costs on all rings of a level; nothing when they differ, or when messages by one
// of the first `distances` distances share links.
std::optional<Hop> hop_of_level(const Collective& collective, const Topology& topology, int stride,
                                int size, int distances) {
  std::optional<Hop> common;
  for (int distance = 1; distance <= distances; ++distance) {
    const std::optional<Hop> hop =
        shift_without_contention(topology, collective.group, stride, size, distance);
    if (!hop || (common && *common != *hop)) return std::nullopt;
    common = hop;
  }
  return common;
}

std::string words_for_levels(const Algorithm& algorithm, int channels,
                             std::span<const std::string_view> costs) {
  const bool shrinks = algorithm.operation != Operation::all_to_all;
  std::string text = "sum over levels of K ranks each, ";
  if (channels > 1) text += "in each of " + std::to_string(channels) + " channels, N its share, ";
  text += shrinks ? "inner first with N bytes, then N/K, ..." : "all with N bytes";
  for (std::size_t i = 0; i < costs.size(); ++i)
    text += (i == 0 ? "; of " : "; plus ") + std::string(costs[i]);
  return text;
}

// Channels that take other dimensions and directions of a torus, all equally long, never meet.
bool channels_never_meet(const Collective& collective, int channels, const Algorithm& algorithm,
                         const std::vector<int>& dims, const Topology& topology) {
  if (channels == 1) return true;
  if (channels > default_channels(algorithm, dims, topology, collective.group)) return false;
  const int longest = *std::max_element(dims.begin(), dims.end());
  return std::all_of(dims.begin(), dims.end(), [&](int dim) { return dim == 1 || dim == longest; });
}

// The sum of what the levels' own algorithms cost, each with the level's ranks, bytes and links.
std::optional<ClosedForm> form_by_levels(const Collective& collective,
                                         const AlgorithmChoice& choice, const Algorithm& algorithm,
                                         const Topology& topology, double gamma) {
  const bool exchanges = collective.operation == Operation::all_to_all;
  std::vector<int> dims = choice.dims.empty() ? squarest_dims(collective.size()) : choice.dims;
  if (exchanges) dims = {collective.size() / dims.back(), dims.back()};
  if (!channels_never_meet(collective, choice.channels, algorithm, dims, topology))
    return std::nullopt;
  // A torus has no levels of one rank; a hierarchy may, where the outermost does both halves.
  if (algorithm.channel_per_direction) std::erase(dims, 1);
  ClosedForm form;
  std::vector<std::string_view> texts;
  int stride = 1;
  for (auto dim = dims.rbegin(); dim != dims.rend(); stride *= *dim, ++dim) {
    if (*dim == 1) continue;
    const std::optional<Hop> hop =
        hop_of_level(collective, topology, stride, *dim, exchanges ? *dim - 1 : 1);
    if (!hop) return std::nullopt;
    CostCase level{collective, choice,
                   exchanges ? NetworkKind::independent_links : NetworkKind::ring, false,
                   symbols_of(collective, choice, *hop, gamma)};
    level.symbols.K = *dim;
    level.symbols.N /= choice.channels;
    if (!exchanges) level.symbols.N /= stride;
    const bool outermost = std::next(dim) == dims.rend();
    const auto parts = outermost ? std::array<const Algorithm*, 2>{algorithm.levels.outer}
                                 : algorithm.levels.inner;
    for (const Algorithm* part : parts) {
      if (part == nullptr) continue;
      const Cost* const cost = cost_of(*part, level);
      if (cost == nullptr) return std::nullopt;
      form.seconds += Formula(cost->time).value(level.symbols);
      if (std::find(texts.begin(), texts.end(), cost->time) == texts.end())
        texts.push_back(cost->time);
    }
  }
  form.formula = words_for_levels(algorithm, choice.channels, texts);
  form.in_words = true;
  form.by_levels = true;
  form.reference = "Cho, Finkler, Kung, Hunter (BlueConnect), MLSys 2019";
  const std::int64_t pieces = std::int64_t{collective.size()} * choice.chunks * choice.channels;
  form.exact = collective.count % pieces == 0;
  return form;
}

// --- unequal links ------------------------------------------------------------------------------

double tau(const Hop& hop, double bytes) {
  return hop.alpha + bytes / hop.bandwidth;
}

double largest_tau(const std::vector<Hop>& hops, double bytes) {
  double largest = 0;
  for (const Hop& hop : hops) largest = std::max(largest, tau(hop, bytes));
  return largest;
}

// From every position to the next, from `first` on.
std::vector<RankPair> steps_along(const Collective& collective, int first, int steps) {
  std::vector<RankPair> messages;
  const auto size = collective.group.size();
  auto position = static_cast<std::size_t>(first);
  for (int step = 0; step < steps; ++step, position = (position + 1) % size)
    messages.emplace_back(collective.group[position], collective.group[(position + 1) % size]);
  return messages;
}

std::optional<ClosedForm> chain_of_unequal_hops(const Collective& collective, double chunks,
                                                const Topology& topology) {
  const auto hops = hops_without_contention(
      topology, steps_along(collective, collective.root, collective.size() - 1));
  if (!hops) return std::nullopt;
  const double n = static_cast<double>(collective.bytes()) / chunks;
  ClosedForm form;
  for (const Hop& hop : *hops) form.seconds += tau(hop, n) + hop.latency;
  form.seconds += (chunks - 1) * largest_tau(*hops, n);
  form.formula = "sum over hops of (tau(N/S) + L) + (S-1)*max tau(N/S)";
  form.reference = "flow shop of equal jobs: sum of stages + (S-1) * slowest stage";
  return form;
}

// All messages are alike and wait for each other around the ring: the heaviest chain of messages is
// one that stays on the slowest link.  With wire latency it might rather move on.
std::optional<ClosedForm> ring_of_unequal_hops(const Collective& collective, double chunks,
                                               const Topology& topology, double gamma) {
  const auto hops =
      hops_without_contention(topology, steps_along(collective, 0, collective.size()));
  if (!hops || gamma > 0 ||
      std::any_of(hops->begin(), hops->end(), [](const Hop& hop) { return hop.latency > 0; }))
    return std::nullopt;
  const bool both = collective.operation == Operation::all_reduce;
  const double steps = (both ? 2.0 : 1.0) * (collective.size() - 1);
  const double n = static_cast<double>(collective.bytes()) / (collective.size() * chunks);
  ClosedForm form;
  form.seconds = steps * chunks * largest_tau(*hops, n);
  form.formula = both ? "2*(K-1)*S*max tau(N/(K*S))" : "(K-1)*S*max tau(N/(K*S))";
  form.reference = "max-plus algebra: the heaviest path stays on the slowest link";
  return form;
}

std::optional<ClosedForm> messages_apart(const Collective& collective, double chunks,
                                         const Topology& topology) {
  std::vector<RankPair> messages;
  for (int p = 0; p < collective.size(); ++p) {
    const std::optional<int> to = target_of(collective, p);
    if (to && *to != p)
      messages.emplace_back(collective.group[static_cast<std::size_t>(p)],
                            collective.group[static_cast<std::size_t>(*to)]);
  }
  const auto hops = hops_without_contention(topology, messages);
  if (!hops || hops->empty()) return std::nullopt;
  const auto bytes = static_cast<double>(collective.bytes());
  ClosedForm form;
  for (const Hop& hop : *hops)
    form.seconds = std::max(form.seconds, chunks * tau(hop, bytes / chunks) + hop.latency);
  form.formula =
      "max over messages of hop(N), alpha the largest, B the smallest, L the sum on the "
      "route";
  form.reference = "Hockney, Parallel Computing 20 (1994); cut-through";
  return form;
}

// What is known without uniform links: the few algorithms that use every link for one purpose.
std::optional<ClosedForm> form_over_routes(const Collective& collective,
                                           const AlgorithmChoice& choice,
                                           const Algorithm& algorithm, const Topology& topology,
                                           double gamma) {
  std::optional<ClosedForm> form;
  std::int64_t pieces = choice.chunks;
  switch (algorithm.messages) {
    case MessagesAtOnce::unknown: return std::nullopt;
    case MessagesAtOnce::chain_from_root:
      form = chain_of_unequal_hops(collective, choice.chunks, topology);
      break;
    case MessagesAtOnce::pairs: form = messages_apart(collective, choice.chunks, topology); break;
    case MessagesAtOnce::ring:
      form = ring_of_unequal_hops(collective, choice.chunks, topology, gamma);
      pieces *= collective.size();
      break;
  }
  if (!form) return std::nullopt;
  form->in_words = true;
  form->exact = collective.count % pieces == 0;
  return form;
}

// --- uniform networks ---------------------------------------------------------------------------

std::optional<ClosedForm> form_on_network(const Collective& collective,
                                          const AlgorithmChoice& choice, const Algorithm& algorithm,
                                          const UniformNetwork& network, double gamma) {
  const bool in_order = is_in_order(collective);
  NetworkKind kind = network.kind;
  if (kind == NetworkKind::chain || kind == NetworkKind::ring) {
    if (!in_order) return std::nullopt;
    if (collective.group.size() < network.ranks) kind = NetworkKind::chain;
  }
  const CostCase one_case{collective, choice, kind, in_order,
                          symbols_of(collective, choice, network.hop, gamma)};
  const Cost* const cost = cost_of(algorithm, one_case);
  if (cost == nullptr) return std::nullopt;
  return evaluated(*cost, one_case);
}

std::optional<ClosedForm> form_on_topology(const Collective& collective,
                                           const AlgorithmChoice& choice,
                                           const Algorithm& algorithm, const Topology& topology,
                                           double gamma) {
  if (algorithm.levels.outer != nullptr) {
    if (!routes_are_cheap(topology)) return std::nullopt;
    return form_by_levels(collective, choice, algorithm, topology, gamma);
  }
  if (const std::optional<UniformNetwork> network = uniform_network(topology))
    if (auto form = form_on_network(collective, choice, algorithm, *network, gamma)) return form;
  if (!routes_are_cheap(topology)) return std::nullopt;
  return form_over_routes(collective, choice, algorithm, topology, gamma);
}

}  // namespace

std::optional<ClosedForm> closed_form(const Collective& collective, const AlgorithmChoice& choice,
                                      const UniformNetwork& network,
                                      std::optional<Bandwidth> reduce_bandwidth) {
  const Algorithm& algorithm = algorithm_of(collective, choice, network.ranks);
  if (collective.size() == 1) return of_one_rank();
  if (choice.channels != 1 || !senders_never_wait(collective, choice)) return std::nullopt;
  return form_on_network(collective, choice, algorithm, network,
                         seconds_per_byte(reduce_bandwidth));
}

std::optional<ClosedForm> closed_form(const Collective& collective, const AlgorithmChoice& choice,
                                      const Topology& topology,
                                      std::optional<Bandwidth> reduce_bandwidth) {
  const Algorithm& algorithm = algorithm_of(collective, choice, topology.rank_count());
  if (collective.size() == 1) return of_one_rank();
  if (topology.has_segments()) return std::nullopt;  // no alpha, no B
  // Of algorithms that work level by level it is known where channels do not meet.
  if (choice.channels != 1 && algorithm.levels.outer == nullptr) return std::nullopt;
  if (!senders_never_wait(collective, choice)) return std::nullopt;
  const double gamma = seconds_per_byte(reduce_bandwidth);
  auto form = form_on_topology(collective, choice, algorithm, topology, gamma);
  if (form && form->in_words) form->symbols = symbols_of(collective, choice, Hop{}, gamma);
  return form;
}

}  // namespace collsim
