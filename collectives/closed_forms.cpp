// SPDX-License-Identifier: Apache-2.0
#include "collectives/closed_forms.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "collectives/closed_form_terms.hpp"

namespace collsim {
namespace {

using Kind = UniformNetwork::Kind;

double seconds_per_byte(const std::optional<Bandwidth>& reduce_bandwidth) {
  return reduce_bandwidth ? 1 / static_cast<double>(reduce_bandwidth->bytes_per_second()) : 0;
}

bool is_in_order(const Collective& collective) {
  for (std::size_t i = 0; i < collective.group.size(); ++i)
    if (collective.group[i] != Rank(i)) return false;
  return true;
}

// The same choice under the algorithm's own name; Error when it or the collective is not valid.
AlgorithmChoice valid_choice(const Collective& collective, const AlgorithmChoice& choice,
                             std::size_t ranks_of_network) {
  validate(collective);
  const Algorithm& algorithm = find_algorithm(collective.operation, choice.name);
  AlgorithmChoice valid = choice;
  valid.name = algorithm.name;
  valid.chunk_size.reset();
  validate(valid, algorithm, collective.size());
  check_members(collective.group, ranks_of_network);
  return valid;
}

// No connection of any algorithm carries more messages than there are ranks to pass S chunks on to
// and back; with as many slots nobody ever waits for one.
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

ClosedForm evaluated(const FormulaRow& row, const Terms& terms) {
  ClosedForm form;
  form.seconds = row.seconds(terms);
  form.formula = row.formula;
  form.reference = row.reference;
  form.exact = terms.collective.count % row.pieces(terms) == 0;
  if (row.best_chunks && terms.alpha > 0) {
    const double best = row.best_chunks(terms);
    if (!std::isnan(best)) form.best_chunks = std::max(1.0, best);
  }
  return form;
}

constexpr std::size_t most_searched_ranks = 1024;

bool routes_are_cheap(const Topology& topology) {
  return topology.parts().known_route || topology.rank_count() <= most_searched_ranks;
}

// --- level by level -----------------------------------------------------------------------------

struct Levels {
  std::vector<Terms> terms;  // inner first
  std::vector<int> sizes;
  std::vector<double> bytes;  // what a rank has of the vector when the level begins to add
  bool outermost_has_ranks = false;
};

// All rings of all levels, each level alike and free of contention for messages by `distances`.
std::optional<Levels> levels_of(const Collective& collective, const AlgorithmChoice& choice,
                                const Topology& topology, const std::vector<int>& dims,
                                double gamma, bool all_distances) {
  Levels levels;
  int stride = 1;
  for (auto dim = dims.rbegin(); dim != dims.rend(); stride *= *dim, ++dim) {
    if (*dim == 1) continue;
    std::optional<Hop> common;
    for (int distance = 1; distance < (all_distances ? *dim : 2); ++distance) {
      const std::optional<Hop> hop =
          shift_without_contention(topology, collective.group, stride, *dim, distance);
      if (!hop || (common && *common != *hop)) return std::nullopt;
      common = hop;
    }
    levels.terms.push_back(Terms{collective, choice, Kind::ring, false, common->alpha,
                                 common->bandwidth, common->latency, gamma});
    levels.sizes.push_back(*dim);
    levels.bytes.push_back(static_cast<double>(collective.bytes()) / stride);
  }
  levels.outermost_has_ranks = dims.front() > 1;
  return levels;
}

template <class Time>
std::optional<double> sum_of_rings(const Levels& levels, const Time& time_of) {
  double sum = 0;
  for (std::size_t i = 0; i < levels.terms.size(); ++i) {
    const RingTerms ring(levels.terms[i], levels.sizes[i], levels.bytes[i]);
    if (!ring.adds_fast) return std::nullopt;
    sum += time_of(ring, levels.outermost_has_ranks && i + 1 == levels.terms.size());
  }
  return sum;
}

double exchanges_by_levels(const Levels& levels) {
  double sum = 0;
  for (std::size_t i = 0; i < levels.terms.size(); ++i)
    sum += (levels.sizes[i] - 1) * levels.terms[i].pass(levels.terms[i].N / levels.sizes[i]);
  return sum;
}

std::optional<double> seconds_by_levels(Operation operation, const Levels& levels) {
  switch (operation) {
    case Operation::all_reduce:
      return sum_of_rings(levels, [](const RingTerms& ring, bool outermost) {
        return outermost ? ring.all_reduce() : ring.reduce_scatter() + ring.all_gather();
      });
    case Operation::all_gather:
      return sum_of_rings(levels, [](const RingTerms& ring, bool) { return ring.all_gather(); });
    case Operation::reduce_scatter:
      return sum_of_rings(levels,
                          [](const RingTerms& ring, bool) { return ring.reduce_scatter(); });
    case Operation::all_to_all: return exchanges_by_levels(levels);
    default: return std::nullopt;
  }
}

std::string formula_by_levels(Operation operation) {
  const std::string levels =
      "sum over levels of d ranks, inner first with n = N, then N/d, ..., of ";
  switch (operation) {
    case Operation::all_reduce:
      return levels +
             "a ring's reduce-scatter and all-gather; S = 1: 2*(d-1)*(tau(n/d) + L) + "
             "(d-1)/d*n/gamma";
    case Operation::all_gather: return levels + "a ring's all-gather; S = 1: (d-1)*(tau(n/d) + L)";
    case Operation::reduce_scatter:
      return levels + "a ring's reduce-scatter; S = 1: (d-1)*(tau(n/d) + L) + (d-1)/d*n/gamma";
    default: return "sum over levels of d ranks of (d-1)*pass(N/d)";
  }
}

std::optional<ClosedForm> form_by_levels(const Collective& collective,
                                         const AlgorithmChoice& choice, const Topology& topology,
                                         double gamma) {
  std::vector<int> dims = choice.dims.empty() ? squarest_dims(collective.size()) : choice.dims;
  const bool exchange = collective.operation == Operation::all_to_all;
  if (exchange) dims = {collective.size() / dims.back(), dims.back()};
  const std::optional<Levels> levels =
      levels_of(collective, choice, topology, dims, gamma, exchange);
  if (!levels) return std::nullopt;
  const std::optional<double> seconds = seconds_by_levels(collective.operation, *levels);
  if (!seconds) return std::nullopt;
  ClosedForm form;
  form.seconds = *seconds;
  form.formula = formula_by_levels(collective.operation);
  form.reference = "Cho, Finkler, Kung, Hunter (BlueConnect), MLSys 2019";
  form.exact = collective.count % (std::int64_t{collective.size()} * choice.chunks) == 0;
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
      "max over messages of pass(N), alpha the largest, B the smallest, L the sum on the "
      "route";
  form.reference = "Hockney, Parallel Computing 20 (1994); cut-through";
  return form;
}

// What is known without uniform links: the few algorithms that use every link for one purpose.
std::optional<ClosedForm> form_over_routes(const Collective& collective,
                                           const AlgorithmChoice& choice, const Topology& topology,
                                           double gamma) {
  std::optional<ClosedForm> form;
  std::int64_t pieces = choice.chunks;
  const Operation operation = collective.operation;
  if (operation == Operation::broadcast && choice.name == "chain") {
    form = chain_of_unequal_hops(collective, choice.chunks, topology);
  } else if (operation == Operation::send_recv) {
    form = messages_apart(collective, choice.chunks, topology);
  } else if (choice.name == "ring") {
    form = ring_of_unequal_hops(collective, choice.chunks, topology, gamma);
    pieces *= collective.size();
  }
  if (form) form->exact = collective.count % pieces == 0;
  return form;
}

// --- uniform networks ---------------------------------------------------------------------------

std::optional<ClosedForm> form_on_network(const Collective& collective,
                                          const AlgorithmChoice& choice,
                                          const UniformNetwork& network, double gamma) {
  const bool in_order = is_in_order(collective);
  Kind kind = network.kind;
  if (kind == Kind::chain || kind == Kind::ring) {
    if (!in_order) return std::nullopt;
    if (collective.group.size() < network.ranks) kind = Kind::chain;
  }
  const Terms terms{
      collective,          choice, kind, in_order, network.hop.alpha, network.hop.bandwidth,
      network.hop.latency, gamma};
  for (const std::span<const FormulaRow> table : formula_tables())
    for (const FormulaRow& row : table)
      if (row.operation == collective.operation && row.algorithm == choice.name &&
          (row.networks >> static_cast<unsigned>(kind) & 1U) != 0 &&
          (!row.holds || row.holds(terms)))
        return evaluated(row, terms);
  return std::nullopt;
}

std::optional<ClosedForm> form_on_topology(const Collective& collective,
                                           const AlgorithmChoice& choice, const Topology& topology,
                                           double gamma) {
  if (choice.name == "hierarchical" || choice.name == "torus") {
    if (!routes_are_cheap(topology)) return std::nullopt;
    return form_by_levels(collective, choice, topology, gamma);
  }
  if (const std::optional<UniformNetwork> network = uniform_network(topology))
    if (auto form = form_on_network(collective, choice, *network, gamma)) return form;
  if (!routes_are_cheap(topology)) return std::nullopt;
  return form_over_routes(collective, choice, topology, gamma);
}

}  // namespace

std::optional<ClosedForm> closed_form(const Collective& collective, const AlgorithmChoice& choice,
                                      const UniformNetwork& network,
                                      std::optional<Bandwidth> reduce_bandwidth) {
  const AlgorithmChoice valid = valid_choice(collective, choice, network.ranks);
  if (collective.size() == 1) return of_one_rank();
  if (valid.channels != 1 || !senders_never_wait(collective, valid)) return std::nullopt;
  return form_on_network(collective, valid, network, seconds_per_byte(reduce_bandwidth));
}

std::optional<ClosedForm> closed_form(const Collective& collective, const AlgorithmChoice& choice,
                                      const Topology& topology,
                                      std::optional<Bandwidth> reduce_bandwidth) {
  const AlgorithmChoice valid = valid_choice(collective, choice, topology.rank_count());
  if (collective.size() == 1) return of_one_rank();
  if (valid.channels != 1 || !senders_never_wait(collective, valid)) return std::nullopt;
  return form_on_topology(collective, valid, topology, seconds_per_byte(reduce_bandwidth));
}

}  // namespace collsim
