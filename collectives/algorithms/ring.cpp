// SPDX-License-Identifier: Apache-2.0
//
// The ring: K ranks in a circle, each sends only to the next and receives only from the previous.
// The vector is cut into K blocks; in every step every rank sends one block, so all links of the
// circle are busy all the time.
//
// Reduce-scatter, step t = 0 .. K-2: rank r sends its partial sum of block r-1-t, receives that of
// block r-2-t from rank r-1 and adds its own contribution.  A block starts at the rank after its
// owner and goes once around; block r arrives complete at rank r.
//
//   K = 4, block 0:   rank 1 -> rank 2 -> rank 3 -> rank 0
//                      x1       x1+x2    x1+x2+x3   complete
//
// All-gather, step t = 0 .. K-2: rank r sends block r-t and receives block r-1-t.
//
// All-reduce is one after the other: the last step of the reduce-scatter and the first of the
// all-gather are one instruction.  Nothing is copied and no scratch is needed.
//
// Among nodes of several GPUs each, every channel may have a ring of its own: the same order of
// nodes, another GPU at which it enters and leaves each of them, so that all NICs carry their
// share.
//
// The bidirectional ring sends half of the vector up the ring and half of it down, in two lanes
// that share nothing, so that both directions of every cable are busy.  Nothing is gained on a
// switch, where both directions leave through the same port, nor with K = 2, where both neighbours
// are the same.
//
// The bytes are optimal for any K; the number of steps is the worst there is.  Every step's message
// may be cut into S chunks, which hides latency.  Connections then need S + 1 slots: every rank has
// sent S messages before any receives, and passes one on before its slot is free again.
//
// P. Patarasuk, X. Yuan: Bandwidth optimal all-reduce algorithms for clusters of workstations,
// J. Parallel Distrib. Comput. 69 (2009).  It is NCCL's Ring.
#include "collectives/algorithms/idioms.hpp"
#include "collectives/algorithms/roles.hpp"
#include "collectives/cost/conditions.hpp"

namespace collsim {

Program ring_reduce_scatter(Ring ring, Blocks source, Span mine) {
  if (ring.size == 1) co_yield copy_alone(source[0], mine);
  if (ring.size == 1) co_return;
  const BlocksOfMembers of{ring, source};
  const int first = ring.before(ring.place);
  co_yield send(ring.next, of[first]);
  Repeated steps;
  for (auto run = ring.first_run(ring.before(first), of); run.length > 0;
       run = ring.next_run(run, of)) {
    steps = {receive_reduce_send(ring.previous, of[run.place], ring.next), -of.stride(run.place),
             run.length};
    co_yield steps;
  }
  co_yield receive_reduce(ring.previous, of[ring.place], mine);
}

Program ring_all_gather(Ring ring, Span mine, Blocks all) {
  const BlocksOfMembers of{ring, all};
  const Span own = of[ring.place];
  if (ring.size == 1) co_yield copy_alone(mine, own);
  if (ring.size == 1) co_return;
  co_yield store_and_send(mine, own, ring.next);
  Repeated steps;
  for (auto run = ring.first_run(ring.before(ring.place), of); run.length > 0;
       run = ring.next_run(run, of)) {
    steps = {receive_send(ring.previous, of[run.place], ring.next), -of.stride(run.place),
             run.length};
    co_yield steps;
  }
  co_yield receive(ring.previous, of[ring.after(ring.place)]);
}

Program ring_all_reduce(Ring ring, Blocks source, Blocks result) {
  if (ring.size == 1) co_yield copy_alone(source[0], result[0]);
  if (ring.size == 1) co_return;
  const int first = ring.before(ring.place);
  co_yield send(ring.next, source[first]);
  Repeated steps;
  for (auto run = ring.first_run(ring.before(first), source); run.length > 0;
       run = ring.next_run(run, source)) {
    steps = {receive_reduce_send(ring.previous, source[run.place], ring.next),
             -source.stride(run.place), run.length};
    co_yield steps;
  }
  co_yield receive_reduce_store_send(ring.previous, source[ring.place], result[ring.place],
                                     ring.next);
  for (auto run = ring.first_run(first, result); run.length > 0; run = ring.next_run(run, result)) {
    steps = {receive_send(ring.previous, result[run.place], ring.next), -result.stride(run.place),
             run.length};
    co_yield steps;
  }
  co_yield receive(ring.previous, result[ring.after(ring.place)]);
}

namespace {

Program all_reduce_up_ring(const Task& task) {
  const int ranks = task.group.size();
  return ring_all_reduce(Ring::up(task), Blocks(source_vector(task), ranks),
                         Blocks(result_vector(task), ranks));
}

Program all_reduce_both_ways(const Task& task) {
  const int ranks = task.group.size();
  const Ring ring = task.role == 0 ? Ring::up(task.group) : Ring::down(task.group);
  return ring_all_reduce(ring, Blocks(source_vector(task).piece(task.role, 2), ranks),
                         Blocks(result_vector(task).piece(task.role, 2), ranks));
}

int block_per_rank(int ranks, int /*members*/) {
  return ranks;
}

// Cost.  A step begins when the chunk before has left the link and when the same chunk of the step
// before has come and, while blocks are summed, has been added.  t is the time of a chunk on a
// link, g the time to add it.

constexpr std::string_view patarasuk = "Patarasuk, Yuan, J. Parallel Distrib. Comput. 69 (2009)";

// A chunk is added before the next one comes.
bool ring_adds_fast(const CostCase& c) {
  const FormulaSymbols& s = c.symbols;
  const double chunk = s.N / (s.K * s.S);
  return when::one_chunk(c) || chunk * s.gamma <= s.alpha + chunk / s.B;
}
bool both_rings_add_fast(const CostCase& c) {
  const FormulaSymbols& s = c.symbols;
  const double chunk = s.N / (2 * s.K * s.S);
  return when::more_than_two_ranks(c) &&
         (when::one_chunk(c) || chunk * s.gamma <= s.alpha + chunk / s.B);
}

}  // namespace

extern const Algorithm all_reduce_ring{
    .operation = Operation::all_reduce,
    .name = "ring",
    .summary = "reduce-scatter, then all-gather, around a ring: fewest bytes, most steps",
    .program = all_reduce_up_ring,
    .symmetry = Symmetry::rotation,
    .node_turns = {.nodes = true, .members = true, .channels = true},
    .node_pieces = block_per_rank,
    .messages = MessagesAtOnce::ring,
    .costs = {
        {{on::rings, "2*(K-1)*(tau(N/K) + L) + (K-1)/K*N*gamma", "K*S", patarasuk, when::one_chunk},
         {on::rings,
          "(K-1)*max(S*t, t+L+g) + (K-2)*max(S*t, t+L) + S*t + L, t = tau(N/(K*S)), "
          "g = N/(K*S)*gamma",
          "K*S", patarasuk, ring_adds_fast}}}};

extern const Algorithm all_reduce_bidirectional_ring{
    .operation = Operation::all_reduce,
    .name = "bidirectional-ring",
    .summary = "half of the vector around the ring each way",
    .program = all_reduce_both_ways,
    .lanes = 2,
    .symmetry = Symmetry::rotation,
    .costs = {{{on::both_ways_around,
                "(K-1)*max(S*t, t+L+g) + (K-2)*max(S*t, t+L) + S*t + L, t = tau(N/(2*K*S)), "
                "g = N/(2*K*S)*gamma",
                "2*K*S", patarasuk, both_rings_add_fast}}}};

extern const Algorithm all_gather_ring{
    .operation = Operation::all_gather,
    .name = "ring",
    .summary = "every block goes once around a ring",
    .program =
        [](const Task& task) {
          return ring_all_gather(Ring::up(task), gathered_block(task), task.blocks(task.output));
        },
    .symmetry = Symmetry::rotation,
    .node_turns = {.nodes = true, .members = true, .channels = true},
    .node_pieces = block_per_rank,
    .messages = MessagesAtOnce::ring,
    .costs = {{{on::rings, "(K-1)*(tau(N/K) + L)", "K*S", literature::thakur, when::one_chunk},
               {on::rings, "(K-2)*max(S*t, t+L) + S*t + L, t = tau(N/(K*S))", "K*S",
                literature::thakur}}}};

extern const Algorithm reduce_scatter_ring{
    .operation = Operation::reduce_scatter,
    .name = "ring",
    .summary = "every block goes once around a ring to its owner",
    .program =
        [](const Task& task) {
          return ring_reduce_scatter(Ring::up(task), scattered_blocks(task), scattered_block(task));
        },
    .symmetry = Symmetry::rotation,
    .node_turns = {.nodes = true, .members = true, .channels = true},
    .node_pieces = block_per_rank,
    .messages = MessagesAtOnce::ring,
    .costs = {
        {{on::rings, "(K-1)*(tau(N/K) + L) + (K-1)/K*N*gamma", "K*S", literature::thakur,
          when::one_chunk},
         {on::rings, "(K-2)*max(S*t, t+L+g) + S*t + L + g, t = tau(N/(K*S)), g = N/(K*S)*gamma",
          "K*S", literature::thakur, ring_adds_fast}}}};

}  // namespace collsim
