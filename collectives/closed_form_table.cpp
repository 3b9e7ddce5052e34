// SPDX-License-Identifier: Apache-2.0
#include "collectives/closed_form_terms.hpp"

namespace collsim {
namespace {

using Kind = Terms::Kind;
using enum Operation;

constexpr unsigned bit(Kind kind) {
  return 1U << static_cast<unsigned>(kind);
}
constexpr unsigned links = bit(Kind::independent_links);
constexpr unsigned ports = bit(Kind::ports);
constexpr unsigned rings = bit(Kind::ring) | links;  // both directions are free
constexpr unsigned neighbours = bit(Kind::ring) | links | ports;
constexpr unsigned lines = bit(Kind::chain) | neighbours;

// References.
constexpr std::string_view hockney = "Hockney, Parallel Computing 20 (1994)";
constexpr std::string_view chan =
    "Chan, Heimlich, Purkayastha, van de Geijn, Concurrency Computat. Pract. Exper. 19 (2007)";
constexpr std::string_view thakur =
    "Thakur, Rabenseifner, Gropp, Int. J. High Perform. Comput. Appl. 19 (2005)";
constexpr std::string_view patarasuk = "Patarasuk, Yuan, J. Parallel Distrib. Comput. 69 (2009)";
constexpr std::string_view rabenseifner = "Rabenseifner, ICCS 2004";
constexpr std::string_view bruck = "Bruck et al., IEEE Trans. Parallel Distrib. Syst. 8 (1997)";
constexpr std::string_view dissemination =
    "Hensgen, Finkel, Manber, Int. J. Parallel Programming 17 (1988)";
constexpr std::string_view trees =
    "Sanders, Speck, Traff, Parallel Computing 35 (2009), as the baseline";
constexpr std::string_view pat = "Jeaugey, arXiv:2506.20252";
constexpr std::string_view swing = "De Sensi, Bonato, Saam, Hoefler, NSDI 2024";
constexpr std::string_view slow_pipeline =
    "flow shop of equal jobs: sum of stages + (S-1) * slowest stage";

// Into how many even pieces the vector must fall.
std::int64_t by_chunks(const Terms& t) {
  return t.chunks;
}
std::int64_t by_half_chunks(const Terms& t) {
  return 2 * by_chunks(t);
}
std::int64_t by_blocks(const Terms& t) {
  return by_chunks(t) * t.ranks;
}
std::int64_t by_half_blocks(const Terms& t) {
  return 2 * by_blocks(t);
}

// Conditions.
bool one_chunk(const Terms& t) {
  return t.chunks == 1;
}
bool power_of_two(const Terms& t) {
  return t.power_of_two();
}
bool more_than_two(const Terms& t) {
  return t.ranks > 2;
}
bool from_the_end(const Terms& t) {
  return !t.on(Kind::chain) || t.collective.root == 0;
}
bool no_gamma(const Terms& t) {
  return t.gamma == 0;
}
bool one_chunk_power_of_two(const Terms& t) {
  return one_chunk(t) && power_of_two(t);
}
bool complete_binary_tree(const Terms& t) {
  return std::has_single_bit(static_cast<unsigned>(t.ranks) + 1);
}
bool exchange_without_wrap(const Terms& t) {
  return t.collective.pattern.kind == Pattern::Kind::exchange;
}
// Sum of cost(n) over the messages of a butterfly: n = N/2, N/4, ..., N/K.
template <class Cost>
double over_halves(const Terms& t, const Cost& cost) {
  double sum = 0;
  for (int parts = 2; parts <= t.ranks; parts *= 2) sum += cost(t.N / parts);
  return sum;
}

// --- pipelines ----------------------------------------------------------------------------------

double best_pipeline(const Terms& t, double free_stages, double n) {
  return std::sqrt(free_stages * n / (t.alpha * t.B));
}
double chain_time(const Terms& t) {
  return (t.K - 2 + t.S) * t.tau(t.N / t.S) + (t.K - 1) * t.L;
}
double two_chains_time(const Terms& t) {
  return (t.K - 2 + t.S) * t.tau(t.N / (2 * t.S)) + (t.K - 1) * t.L;
}
double reducing_chain_time(const Terms& t) {
  const double n = t.N / t.S;
  return (t.K - 1) * (t.tau(n) + t.gamma * n + t.L) + (t.S - 1) * std::max(t.tau(n), t.gamma * n);
}
double best_reducing_chain(const Terms& t) {
  return std::sqrt(((t.K - 2) / t.B + (t.K - 1) * t.gamma) * t.N / t.alpha);
}
double up_and_down_time(const Terms& t) {
  const double n = t.N / t.S;
  return (t.K - 1) * (2 * t.tau(n) + 2 * t.L + t.gamma * n) +
         (t.S - 1) * std::max(t.tau(n), t.gamma * n);
}

// --- rings: a vector of n bytes in K blocks -----------------------------------------------------

double ring_all_reduce_time(const Terms& t, double n) {
  return RingTerms(t, t.K, n).all_reduce();
}
bool ring_adds_fast(const Terms& t) {
  return RingTerms(t, t.K, t.N).adds_fast;
}
bool both_rings_add_fast(const Terms& t) {
  return t.ranks > 2 && RingTerms(t, t.K, t.N / 2).adds_fast;
}

// --- trees --------------------------------------------------------------------------------------

// Ranks 2^i send to and from everybody in the same rounds; with other numbers of ranks the rounds
// are still those of the busiest port, if nothing but links costs.
bool tree_on_ports(const Terms& t) {
  return t.power_of_two() || t.only_links_cost();
}
bool one_chunk_tree_on_ports(const Terms& t) {
  return t.chunks == 1 && tree_on_ports(t);
}
bool tree_on_links(const Terms& t) {
  return t.power_of_two() || t.gamma == 0;
}
bool one_chunk_tree_on_links(const Terms& t) {
  return t.chunks == 1 && tree_on_links(t);
}
double tree_height(const Terms& t) {
  return t.floor_log();
}
double k_nomial_levels(const Terms& t) {
  double levels = 0;
  for (std::int64_t reach = 1; reach < t.ranks; reach *= t.choice.radix) ++levels;
  return levels;
}
bool power_of_radix(const Terms& t) {
  std::int64_t reach = 1;
  while (reach < t.ranks) reach *= t.choice.radix;
  return reach == t.ranks;
}
double best_binary_tree(const Terms& t) {
  return best_pipeline(t, tree_height(t) - 1, t.N);
}

constexpr FormulaRow rows_from_or_to_one[] = {
    {broadcast, "chain", lines, from_the_end, chain_time, "(K-2+S)*tau(N/S) + (K-1)*L", chan,
     by_chunks, [](const Terms& t) { return best_pipeline(t, t.K - 2, t.N); }},
    {broadcast, "bidirectional-chain", rings, more_than_two, two_chains_time,
     "(K-2+S)*tau(N/(2*S)) + (K-1)*L", chan, by_half_chunks,
     [](const Terms& t) { return best_pipeline(t, t.K - 2, t.N / 2); }},
    {broadcast, "flat", ports, nullptr,
     [](const Terms& t) { return (t.K - 1) * t.S * t.tau(t.N / t.S) + t.L; },
     "(K-1)*S*tau(N/S) + L", hockney, by_chunks},
    {broadcast, "flat", links, nullptr, [](const Terms& t) { return t.pass(t.N); }, "pass(N)",
     hockney, by_chunks},
    {broadcast, "binomial", ports, tree_on_ports,
     [](const Terms& t) { return t.ceil_log() * t.pass(t.N); }, "q*pass(N)", thakur, by_chunks},
    {broadcast, "binomial", links, nullptr,
     [](const Terms& t) { return t.floor_log() * t.pass(t.N); }, "floor(log2(K))*pass(N)", thakur,
     by_chunks},
    {broadcast, "k-nomial", ports, power_of_radix,
     [](const Terms& t) {
       return k_nomial_levels(t) * ((t.choice.radix - 1) * t.S * t.tau(t.N / t.S) + t.L);
     },
     "log_k(K)*((k-1)*S*tau(N/S) + L), k the radix", hockney, by_chunks},
    {broadcast, "k-nomial", links, power_of_radix,
     [](const Terms& t) { return k_nomial_levels(t) * t.pass(t.N); },
     "log_k(K)*pass(N), k the radix", hockney, by_chunks},
    {broadcast, "binary-tree", ports, complete_binary_tree,
     [](const Terms& t) {
       return 2 * (tree_height(t) + t.S - 1) * t.tau(t.N / t.S) + tree_height(t) * t.L;
     },
     "2*(h+S-1)*tau(N/S) + h*L, h = log2(K+1) - 1", trees, by_chunks, best_binary_tree},
    {broadcast, "binary-tree", links, nullptr,
     [](const Terms& t) {
       return (tree_height(t) + t.S - 1) * t.tau(t.N / t.S) + tree_height(t) * t.L;
     },
     "(h+S-1)*tau(N/S) + h*L, h = floor(log2(K))", trees, by_chunks, best_binary_tree},
    {broadcast, "scatter-allgather", ports | links, one_chunk_power_of_two,
     [](const Terms& t) {
       return (t.ceil_log() + t.K - 1) * (t.alpha + t.L) + 2 * (t.K - 1) / t.K * t.N / t.B;
     },
     "(q+K-1)*(alpha+L) + 2*(K-1)/K*N/B", chan, by_blocks},

    {reduce, "chain", lines, from_the_end, reducing_chain_time,
     "(K-1)*(tau(N/S) + N/(S*gamma) + L) + (S-1)*max(tau(N/S), N/(S*gamma))", slow_pipeline,
     by_chunks, [](const Terms& t) { return t.gamma * t.B <= 1 ? best_reducing_chain(t) : NAN; }},
    {reduce, "flat", ports, no_gamma,
     [](const Terms& t) { return (t.K - 1) * t.S * t.tau(t.N / t.S) + t.L; },
     "(K-1)*S*tau(N/S) + L", hockney, by_chunks},
    {reduce, "flat", ports, [](const Terms& t) { return t.chunks == 1 && t.root_takes_in_order(); },
     [](const Terms& t) { return t.train(t.K - 1, t.N); },
     "tau(N) + L + (K-2)*max(tau(N), N/gamma) + N/gamma", hockney, by_chunks},
    {reduce, "flat", links, nullptr,
     [](const Terms& t) { return t.step(t.N) + (t.K - 2) * t.gamma * t.N; },
     "step(N) + (K-2)*N/gamma", hockney, by_chunks},
    {reduce, "binomial", ports, one_chunk_tree_on_ports,
     [](const Terms& t) { return t.ceil_log() * t.step(t.N); }, "q*(tau(N) + N/gamma + L)", thakur,
     by_chunks},
    {reduce, "binomial", links, one_chunk_tree_on_links,
     [](const Terms& t) { return t.floor_log() * t.step(t.N); },
     "floor(log2(K))*(tau(N) + N/gamma + L)", thakur, by_chunks},
    {reduce, "binary-tree", ports,
     [](const Terms& t) {
       return t.chunks == 1 && complete_binary_tree(t) && (t.gamma == 0 || t.root_takes_in_order());
     },
     [](const Terms& t) { return tree_height(t) * t.train(2, t.N); },
     "h*(tau(N) + L + max(tau(N), N/gamma) + N/gamma), h = log2(K+1) - 1", trees, by_chunks},
    {reduce, "binary-tree", links,
     [](const Terms& t) { return t.gamma == 0 || complete_binary_tree(t); },
     [](const Terms& t) {
       const double n = t.N / t.S;
       return tree_height(t) * (t.tau(n) + t.L + 2 * t.gamma * n) +
              (t.S - 1) * std::max(t.tau(n), 2 * t.gamma * n);
     },
     "h*(tau(N/S) + L + 2*N/(S*gamma)) + (S-1)*max(tau(N/S), 2*N/(S*gamma)), h = floor(log2(K))",
     slow_pipeline, by_chunks,
     [](const Terms& t) { return t.gamma == 0 ? best_binary_tree(t) : NAN; }},

    {scatter, "flat", ports, nullptr,
     [](const Terms& t) { return (t.K - 1) * t.S * t.tau(t.N / (t.K * t.S)) + t.L; },
     "(K-1)*S*tau(N/(K*S)) + L", hockney, by_blocks},
    {gather, "flat", ports, nullptr,
     [](const Terms& t) { return (t.K - 1) * t.S * t.tau(t.N / (t.K * t.S)) + t.L; },
     "(K-1)*S*tau(N/(K*S)) + L", hockney, by_blocks},
    {scatter, "flat", links, nullptr, [](const Terms& t) { return t.pass(t.N / t.K); }, "pass(N/K)",
     hockney, by_blocks},
    {gather, "flat", links, nullptr, [](const Terms& t) { return t.pass(t.N / t.K); }, "pass(N/K)",
     hockney, by_blocks},
};

// A binomial tree carries half, a quarter, ... of the vector; any K if nothing but links costs.
double binomial_pieces_time(const Terms& t) {
  return t.ceil_log() * (t.S * t.alpha + t.L) + (t.K - 1) / t.K * t.N / t.B;
}

// --- all-reduce ---------------------------------------------------------------------------------

double halving_time(const Terms& t) {
  return over_halves(t, [&](double n) { return t.step(n); });
}
double doubling_time(const Terms& t) {
  return over_halves(t, [&](double n) { return t.pass(n); });
}
double serial_ports_time(const Terms& t, double n) {
  return (t.K - 1) * t.S * t.tau(n / t.S) + t.L;
}

constexpr FormulaRow rows_all_reduce[] = {
    {all_reduce, "ring", neighbours, one_chunk,
     [](const Terms& t) { return ring_all_reduce_time(t, t.N); },
     "2*(K-1)*(tau(N/K) + L) + (K-1)/K*N/gamma", patarasuk, by_blocks},
    {all_reduce, "ring", neighbours, ring_adds_fast,
     [](const Terms& t) { return ring_all_reduce_time(t, t.N); },
     "(K-1)*max(S*t, t+L+g) + (K-2)*max(S*t, t+L) + S*t + L, t = tau(N/(K*S)), g = "
     "N/(K*S*gamma)",
     patarasuk, by_blocks},
    {all_reduce, "bidirectional-ring", rings, both_rings_add_fast,
     [](const Terms& t) { return ring_all_reduce_time(t, t.N / 2); },
     "(K-1)*max(S*t, t+L+g) + (K-2)*max(S*t, t+L) + S*t + L, t = tau(N/(2*K*S)), g = "
     "N/(2*K*S*gamma)",
     patarasuk, by_half_blocks},
    {all_reduce, "naive", ports | links, nullptr,
     [](const Terms& t) { return (t.K - 1) * t.step(t.N); }, "(K-1)*step(N)", hockney, by_chunks},
    {all_reduce, "one-shot", ports, nullptr,
     [](const Terms& t) { return t.train((t.K - 1) * t.S, t.N / t.S); },
     "tau(N/S) + L + ((K-1)*S-1)*max(tau(N/S), N/(S*gamma)) + N/(S*gamma)", hockney, by_chunks},
    {all_reduce, "one-shot", links, nullptr,
     [](const Terms& t) { return t.step(t.N) + (t.K - 2) * t.gamma * t.N; },
     "step(N) + (K-2)*N/gamma", hockney, by_chunks},
    {all_reduce, "two-shot", ports, nullptr,
     [](const Terms& t) {
       return t.train((t.K - 1) * t.S, t.N / (t.K * t.S)) + serial_ports_time(t, t.N / t.K);
     },
     "t + L + ((K-1)*S-1)*max(t, g) + g + (K-1)*S*t + L, t = tau(N/(K*S)), g = N/(K*S*gamma)",
     hockney, by_blocks},
    {all_reduce, "two-shot", links, nullptr,
     [](const Terms& t) {
       return t.step(t.N / t.K) + (t.K - 2) * t.gamma * t.N / t.K + t.pass(t.N / t.K);
     },
     "step(N/K) + (K-2)/K*N/gamma + pass(N/K)", hockney, by_blocks},
    {all_reduce, "master", ports, no_gamma,
     [](const Terms& t) { return 2 * serial_ports_time(t, t.N); }, "2*((K-1)*S*tau(N/S) + L)",
     hockney, by_chunks},
    {all_reduce, "master", ports,
     [](const Terms& t) { return t.chunks == 1 && t.root_takes_in_order(); },
     [](const Terms& t) { return t.train(t.K - 1, t.N) + serial_ports_time(t, t.N); },
     "tau(N) + L + (K-2)*max(tau(N), N/gamma) + N/gamma + (K-1)*tau(N) + L", hockney, by_chunks},
    {all_reduce, "master", links, nullptr,
     [](const Terms& t) { return t.step(t.N) + (t.K - 2) * t.gamma * t.N + t.pass(t.N); },
     "step(N) + (K-2)*N/gamma + pass(N)", hockney, by_chunks},
    {all_reduce, "chain", lines,
     [](const Terms& t) { return !t.on_ports() || t.chunks == 1 || t.ranks == 2; },
     up_and_down_time, "(K-1)*(2*tau(N/S) + 2*L + N/(S*gamma)) + (S-1)*max(tau(N/S), N/(S*gamma))",
     slow_pipeline, by_chunks,
     [](const Terms& t) {
       return t.gamma == 0 && !t.on_ports() ? best_pipeline(t, 2 * t.K - 3, t.N) : NAN;
     }},
    {all_reduce, "binomial", ports, tree_on_ports,
     [](const Terms& t) { return t.ceil_log() * (t.step(t.N) + t.pass(t.N)); },
     "q*(step(N) + pass(N))", thakur, by_chunks},
    {all_reduce, "binomial", links, tree_on_links,
     [](const Terms& t) { return t.floor_log() * (t.step(t.N) + t.pass(t.N)); },
     "floor(log2(K))*(step(N) + pass(N))", thakur, by_chunks},
    {all_reduce, "recursive-doubling", ports | links, power_of_two,
     [](const Terms& t) { return t.ceil_log() * t.step(t.N); }, "log2(K)*step(N)", thakur,
     by_chunks},
    {all_reduce, "recursive-doubling", ports,
     [](const Terms& t) { return t.only_links_cost() && t.in_order && t.chunks == 1; },
     [](const Terms& t) { return (t.floor_log() + 2) * t.tau(t.N); }, "(floor(log2(K)) + 2)*tau(N)",
     thakur, by_chunks},
    {all_reduce, "halving-doubling", ports | links, power_of_two,
     [](const Terms& t) { return halving_time(t) + doubling_time(t); },
     "sum over i=1..log2(K) of step(N/2^i) + pass(N/2^i)", rabenseifner, by_blocks},
    {all_reduce, "halving-doubling", ports,
     [](const Terms& t) {
       // With start-ups, ranks that need not fold run ahead and their messages get in the way.
       return t.only_links_cost() && t.alpha == 0 && t.in_order && t.chunks == 1;
     },
     [](const Terms& t) {
       const double core = std::exp2(t.floor_log());
       return 2 * (core - 1) / core * t.N / t.B + 2 * t.N / t.B;
     },
     "2*(p-1)/p*N/B + 2*N/B, p = 2^floor(log2(K))", rabenseifner,
     [](const Terms& t) { return std::int64_t{1} << t.floor_log(); }},
    {all_reduce, "swing", ports | links, power_of_two,
     [](const Terms& t) { return halving_time(t) + doubling_time(t); },
     "sum over i=1..log2(K) of step(N/2^i) + pass(N/2^i)", swing, by_blocks},
};

// --- all-gather, reduce-scatter, all-to-all, barrier, send-recv ---------------------------------

double bruck_time(const Terms& t) {
  double sum = 0;
  for (int d = 1; d < t.ranks; d *= 2) sum += t.pass(std::min(d, t.ranks - d) * t.N / t.K);
  return sum;
}

// PAT's messages by their number of blocks.
template <class Cost>
double over_pat_messages(const Terms& t, const Cost& cost) {
  double sum = 0;
  for (int d = 1; d < t.ranks; d *= 2) {
    const int blocks = (t.ranks - d - 1) / (2 * d) + 1;
    const int most = t.choice.aggregation.value_or(blocks);
    for (int first = 0; first < blocks; first += most) sum += cost(std::min(most, blocks - first));
  }
  return sum;
}
double pat_gather_time(const Terms& t) {
  return over_pat_messages(t, [&](int m) { return t.pass(m * t.N / t.K); });
}
// A message of several blocks is unpacked, then added.
double pat_scatter_time(const Terms& t) {
  return over_pat_messages(t, [&](int m) {
    const double n = m * t.N / t.K;
    return m == 1 ? t.step(n) : t.pass(n) + t.gamma * n;
  });
}

double bruck_exchange_time(const Terms& t) {
  double sum = 0;
  for (int bit = 1; bit < t.ranks; bit *= 2) {
    int blocks = 0;
    for (int slot = 0; slot < t.ranks; ++slot) blocks += (slot & bit) != 0 ? 1 : 0;
    sum += t.pass(blocks * t.N / t.K);
  }
  return sum;
}

constexpr FormulaRow rows_of_pieces[] = {
    {scatter, "binomial", ports, tree_on_ports, binomial_pieces_time,
     "q*(S*alpha + L) + (K-1)/K*N/B", chan, by_blocks},
    {scatter, "binomial", links, power_of_two, binomial_pieces_time,
     "q*(S*alpha + L) + (K-1)/K*N/B", chan, by_blocks},
    {gather, "binomial", ports, tree_on_ports, binomial_pieces_time,
     "q*(S*alpha + L) + (K-1)/K*N/B", chan, by_blocks},
    {gather, "binomial", links, power_of_two, binomial_pieces_time, "q*(S*alpha + L) + (K-1)/K*N/B",
     chan, by_blocks},

    {all_gather, "ring", neighbours, one_chunk,
     [](const Terms& t) { return (t.K - 1) * t.pass(t.N / t.K); }, "(K-1)*(tau(N/K) + L)", thakur,
     by_blocks},
    {all_gather, "ring", neighbours, nullptr,
     [](const Terms& t) { return RingTerms(t, t.K, t.N).all_gather(); },
     "(K-2)*max(S*t, t+L) + S*t + L, t = tau(N/(K*S))", thakur, by_blocks},
    {all_gather, "direct", ports, nullptr,
     [](const Terms& t) { return serial_ports_time(t, t.N / t.K); }, "(K-1)*S*tau(N/(K*S)) + L",
     hockney, by_blocks},
    {all_gather, "direct", links, nullptr, [](const Terms& t) { return t.pass(t.N / t.K); },
     "pass(N/K)", hockney, by_blocks},
    {all_gather, "recursive-doubling", ports | links, power_of_two, doubling_time,
     "log2(K)*(S*alpha + L) + (K-1)/K*N/B", thakur, by_blocks},
    {all_gather, "bruck", ports | links, nullptr, bruck_time, "q*(S*alpha + L) + (K-1)/K*N/B",
     bruck, by_blocks},
    {all_gather, "pat", ports | links, nullptr, pat_gather_time,
     "sum of pass(m*N/K) over messages of m blocks; all at once: q*(S*alpha + L) + (K-1)/K*N/B",
     pat, by_blocks},

    {reduce_scatter, "ring", neighbours, one_chunk,
     [](const Terms& t) { return (t.K - 1) * t.step(t.N / t.K); },
     "(K-1)*(tau(N/K) + L) + (K-1)/K*N/gamma", thakur, by_blocks},
    {reduce_scatter, "ring", neighbours, ring_adds_fast,
     [](const Terms& t) { return RingTerms(t, t.K, t.N).reduce_scatter(); },
     "(K-2)*max(S*t, t+L+g) + S*t + L + g, t = tau(N/(K*S)), g = N/(K*S*gamma)", thakur, by_blocks},
    {reduce_scatter, "direct", ports, nullptr,
     [](const Terms& t) { return t.train((t.K - 1) * t.S, t.N / (t.K * t.S)); },
     "t + L + ((K-1)*S-1)*max(t, g) + g, t = tau(N/(K*S)), g = N/(K*S*gamma)", hockney, by_blocks},
    {reduce_scatter, "direct", links, nullptr,
     [](const Terms& t) { return t.step(t.N / t.K) + (t.K - 2) * t.gamma * t.N / t.K; },
     "step(N/K) + (K-2)/K*N/gamma", hockney, by_blocks},
    {reduce_scatter, "recursive-halving", ports | links, power_of_two, halving_time,
     "sum over i=1..log2(K) of step(N/2^i)", thakur, by_blocks},
    {reduce_scatter, "pat", ports | links, nullptr, pat_scatter_time,
     "sum of pass(m*N/K) + m*N/(K*gamma) over messages of m blocks", pat, by_blocks},

    {all_to_all, "pairwise", ports | links, nullptr,
     [](const Terms& t) { return (t.K - 1) * t.pass(t.N / t.K); }, "(K-1)*pass(N/K)", thakur,
     by_blocks},
    {all_to_all, "direct", ports, nullptr,
     [](const Terms& t) { return serial_ports_time(t, t.N / t.K); }, "(K-1)*S*tau(N/(K*S)) + L",
     hockney, by_blocks},
    {all_to_all, "direct", links, nullptr, [](const Terms& t) { return t.pass(t.N / t.K); },
     "pass(N/K)", hockney, by_blocks},
    {all_to_all, "bruck", ports | links, power_of_two, bruck_exchange_time,
     "log2(K)*(S*alpha + N/(2*B) + L)", bruck, by_blocks},
    {all_to_all, "bruck", ports | links, nullptr, bruck_exchange_time,
     "sum over bits b of pass(m*N/K), m = numbers below K with bit b", bruck, by_blocks},

    {barrier, "dissemination", ports | links, nullptr,
     [](const Terms& t) { return t.ceil_log() * (t.alpha + t.L); }, "q*(alpha + L)", dissemination,
     by_chunks},
    {barrier, "flat", ports, nullptr,
     [](const Terms& t) { return 2 * ((t.K - 1) * t.alpha + t.L); }, "2*((K-1)*alpha + L)", hockney,
     by_chunks},
    {barrier, "flat", links, nullptr, [](const Terms& t) { return 2 * (t.alpha + t.L); },
     "2*(alpha + L)", hockney, by_chunks},
    {barrier, "binomial", ports, tree_on_ports,
     [](const Terms& t) { return 2 * t.ceil_log() * (t.alpha + t.L); }, "2*q*(alpha + L)", thakur,
     by_chunks},
    {barrier, "binomial", links, nullptr,
     [](const Terms& t) { return 2 * t.floor_log() * (t.alpha + t.L); },
     "2*floor(log2(K))*(alpha + L)", thakur, by_chunks},

    {send_recv, "direct", lines, exchange_without_wrap, [](const Terms& t) { return t.pass(t.N); },
     "pass(N)", hockney, by_chunks},
    {send_recv, "direct", bit(Kind::ring),
     [](const Terms& t) {
       const int distance = t.collective.pattern.distance % t.ranks;
       return t.collective.pattern.kind == Pattern::Kind::shift &&
              (distance == 1 || distance == -1 || std::abs(distance) == t.ranks - 1);
     },
     [](const Terms& t) { return t.pass(t.N); }, "pass(N)", hockney, by_chunks},
    {send_recv, "direct", ports | links,
     [](const Terms& t) {
       const Pattern& pattern = t.collective.pattern;
       return pattern.kind == Pattern::Kind::shift
                  ? pattern.distance % t.ranks != 0
                  : std::any_of(pattern.pairs.begin(), pattern.pairs.end(),
                                [](const auto& pair) { return pair.first != pair.second; });
     },
     [](const Terms& t) { return t.pass(t.N); }, "pass(N)", hockney, by_chunks},
};

}  // namespace

std::span<const std::span<const FormulaRow>> formula_tables() {
  static const std::span<const FormulaRow> tables[] = {rows_from_or_to_one, rows_all_reduce,
                                                       rows_of_pieces};
  return tables;
}

}  // namespace collsim
