// SPDX-License-Identifier: Apache-2.0
//
// PAT (parallel aggregated trees; NCCL since 2.23): Bruck's algorithm with the dimensions reversed.
// Every block travels down a binomial tree of its own, all trees being one tree, shifted; the far
// hops come first, when there is least to carry.
//
// All-gather: in step d = 2^(q-1), ..., 2, 1 (q = ceil(log2 K)) rank r has the blocks r-m for all
// multiples m of 2d; it sends those that the rank d above still lacks (m + d < K) to r+d (mod K).
//
//   K = 6:   d = 4   r sends block r to r+4
//            d = 2   r sends block r to r+2             (block r-4 would come to r-6, its owner)
//            d = 1   r sends blocks r, r-2, r-4 to r+1
//
// Reduce-scatter is the mirror image, d = 1, 2, 4, ...: rank r sends its partial sums of the blocks
// r-(m+d) to r-d and adds what it gets from r+d to its partial sums of the blocks r-m.
//
// Messages hold at most A blocks (the aggregation factor), because they have to fit a buffer.  The
// blocks of one message are not neighbours in memory: they are packed in scratch and unpacked from
// there; a message of one block goes without.
//
// S. Jeaugey: PAT: a new algorithm for all-gather and reduce-scatter operations at scale,
// arXiv:2506.20252.
#include <algorithm>
#include <bit>

#include "collectives/algorithms/roles.hpp"
#include "collectives/cost/conditions.hpp"

namespace collsim {
namespace {

int farthest_distance(int ranks) {
  return static_cast<int>(std::bit_floor(static_cast<unsigned>(ranks - 1)));
}

// How many multiples m of 2d have m + d < K: the blocks that travel by d.
int blocks_that_travel(int ranks, int d) {
  return (ranks - d - 1) / (2 * d) + 1;
}

// The blocks of one message: me - offset, me - offset - stride, ...
struct Run {
  Group group;
  int offset, stride, count;

  [[nodiscard]] int block(int i) const { return group.wrap(group.me() - offset - i * stride); }
  [[nodiscard]] std::int64_t elements(const Blocks& blocks) const {
    std::int64_t sum = 0;
    for (int i = 0; i < count; ++i) sum += blocks[block(i)].count;
    return sum;
  }
  // The span that goes through the network: the block itself or the packed ones.
  [[nodiscard]] Span message(const Blocks& blocks, Span scratch) const {
    return count == 1 ? blocks[block(0)] : scratch.sub(0, elements(blocks));
  }
};

Span following(Span before, std::int64_t count) {
  return {before.buffer, before.offset + before.count, count};
}

Program pat_all_gather(Group group, Span mine, Blocks all, Span scratch,
                       std::optional<int> aggregation) {
  const int me = group.me(), ranks = group.size();
  if (mine != all[me]) co_yield copy(mine, all[me]);
  if (ranks == 1) co_return;
  for (int d = farthest_distance(ranks); d >= 1; d /= 2) {
    const int blocks = blocks_that_travel(ranks, d);
    const int most = aggregation.value_or(blocks);
    for (int first = 0; first < blocks; first += most) {
      const int count = std::min(most, blocks - first);
      const Run have{group, 2 * d * first, 2 * d, count};
      Span packed = scratch.sub(0, 0);
      for (int i = 0; count > 1 && i < count; ++i) {
        packed = following(packed, all[have.block(i)].count);
        co_yield copy(all[have.block(i)], packed);
      }
      Span message = have.message(all, scratch);
      co_yield send(group[me + d], message);

      const Run missing{group, have.offset + d, 2 * d, count};
      message = missing.message(all, scratch);
      co_yield receive(group[me - d], message);
      packed = scratch.sub(0, 0);
      for (int i = 0; count > 1 && i < count; ++i) {
        packed = following(packed, all[missing.block(i)].count);
        co_yield copy(packed, all[missing.block(i)]);
      }
    }
  }
}

// Where rank r has its partial sum of block r-m: for m = 0 in the output; for other m in scratch
// once something has been added (even m, in the first step), before that, and for all others, in
// the input.
//
//   K = 6: step d = 1 adds to m = 0 (output), 2 and 4 (the first and second slot of scratch); m = 2
//          leaves from there in step d = 2, m = 4 in step d = 4.
//   K = 5: nothing is added to m = 4, since m + 1 = K; it leaves from the input in step d = 4.
class PartialSums {
 public:
  PartialSums(Group group, Span own, Span mine, Blocks input, Span scratch)
      : group_(group),
        own_(own),
        mine_(mine),
        input_(input),
        scratch_(scratch),
        slot_(input[0].count) {}

  [[nodiscard]] Span given(int m) const {
    return m == 0 ? own_ : input_[group_.wrap(group_.me() - m)];
  }
  [[nodiscard]] Span sum(int m) const {
    return m == 0 ? mine_ : scratch_.sub((m / 2 - 1) * slot_, given(m).count);
  }
  [[nodiscard]] Span before_step(int m, int d) const {
    const bool added = d > 1 && m % 2 == 0 && m + 1 < group_.size();
    return added ? sum(m) : given(m);
  }

 private:
  Group group_;
  Span own_, mine_;
  Blocks input_;
  Span scratch_;
  std::int64_t slot_;
};

// Elements that PartialSums keeps in scratch; messages are packed behind them.
std::int64_t count_of_sums(int ranks, std::int64_t longest_block) {
  return (std::max(ranks / 2, 1) - 1) * longest_block;
}

Program pat_reduce_scatter(Group group, PartialSums partial, Blocks input, Span packing,
                           std::optional<int> aggregation) {
  const int me = group.me(), ranks = group.size();
  if (ranks == 1 && partial.given(0) != partial.sum(0))
    co_yield copy(partial.given(0), partial.sum(0));
  for (int d = 1; d < ranks; d *= 2) {
    const int blocks = blocks_that_travel(ranks, d);
    const int most = aggregation.value_or(blocks);
    for (int first = 0; first < blocks; first += most) {
      const int count = std::min(most, blocks - first);
      const Run leaving{group, 2 * d * first + d, 2 * d, count};
      Span message = count == 1 ? partial.before_step(leaving.offset, d)
                                : packing.sub(0, leaving.elements(input));
      Span packed = packing.sub(0, 0);
      for (int i = 0; count > 1 && i < count; ++i) {
        const Span block = partial.before_step(leaving.offset + i * 2 * d, d);
        packed = following(packed, block.count);
        co_yield copy(block, packed);
      }
      co_yield send(group[me - d], message);

      const Run staying{group, 2 * d * first, 2 * d, count};
      if (count == 1) {
        const Span before = partial.before_step(staying.offset, d);
        const Span sum = partial.sum(staying.offset);
        co_yield receive_reduce(group[me + d], before, sum);
        continue;
      }
      message = packing.sub(0, staying.elements(input));
      co_yield receive(group[me + d], message);
      packed = packing.sub(0, 0);
      for (int i = 0; i < count; ++i) {
        const int m = staying.offset + i * 2 * d;
        const Span before = partial.before_step(m, d), sum = partial.sum(m);
        if (before != sum) co_yield copy(before, sum);
        packed = following(packed, sum.count);
        co_yield local_reduce(packed, sum);
      }
    }
  }
}

// The most elements a message of several blocks has; block 0 is as long as any.
std::int64_t count_of_packing(const Task& task, std::int64_t longest_block) {
  const int ranks = task.group.size();
  const int blocks = ranks == 1 ? 0 : blocks_that_travel(ranks, 1);
  return std::min(blocks, task.aggregation.value_or(blocks)) * longest_block;
}

Program all_gather_by_pat(const Task& task) {
  return pat_all_gather(task.group, gathered_block(task), task.blocks(task.output), task.scratch,
                        task.aggregation);
}

Program reduce_scatter_by_pat(const Task& task) {
  const Blocks input = scattered_blocks(task);
  const Span mine = scattered_block(task);
  const Span own = task.in_place ? mine : input[task.group.me()];
  const std::int64_t sums = count_of_sums(task.group.size(), input[0].count);
  const Span packing = task.scratch.sub(sums, task.scratch.count - sums);
  return pat_reduce_scatter(task.group, {task.group, own, mine, input, task.scratch}, input,
                            packing, task.aggregation);
}

// Cost.  In step i, at distance 2^i, m blocks travel in messages of at most a.
constexpr std::string_view jeaugey = "Jeaugey, arXiv:2506.20252";

bool sends_all_at_once(const CostCase& c) {
  return !c.choice.aggregation;
}
bool one_chunk_or_adding_free(const CostCase& c) {
  return when::one_chunk(c) || when::adding_is_free(c);
}

}  // namespace

extern const Algorithm all_gather_pat{
    .operation = Operation::all_gather,
    .name = "pat",
    .summary = "Bruck with far hops first and limited messages (NCCL PAT)",
    .program = all_gather_by_pat,
    .knobs = {.aggregation = true},
    .symmetry = Symmetry::rotation,
    .scratch =
        [](const Task& task) { return count_of_packing(task, task.blocks(task.output)[0].count); },
    .messages_exceed_a_block = true,
    .costs = {{{on::ports | on::links, "q*(S*alpha + L) + (K-1)/K*N/B", "K*S", jeaugey,
                sends_all_at_once},
               {on::ports | on::links,
                "sum(i = 0..q-1, ceil(m/a)*(S*alpha + L)) + (K-1)/K*N/B, "
                "m = floor((K-2^i-1)/2^(i+1)) + 1, a = min(m, A)",
                "K*S", jeaugey}}}};

extern const Algorithm reduce_scatter_pat{
    .operation = Operation::reduce_scatter,
    .name = "pat",
    .summary = "Bruck backwards, near hops first, with limited messages (NCCL PAT)",
    .program = reduce_scatter_by_pat,
    .knobs = {.aggregation = true},
    .symmetry = Symmetry::rotation,
    .scratch =
        [](const Task& task) {
          const std::int64_t longest = task.blocks(task.input)[0].count;
          return count_of_sums(task.group.size(), longest) + count_of_packing(task, longest);
        },
    .messages_exceed_a_block = true,
    .costs = {{{on::ports | on::links, "q*(S*alpha + L) + (K-1)/K*N/B", "K*S", jeaugey,
                when::all_of<sends_all_at_once, when::adding_is_free>},
               {on::ports | on::links,
                "sum(i = 0..q-1, ceil(m/a)*(S*alpha + L)) + (K-1)/K*N*(1/B + gamma), "
                "m = floor((K-2^i-1)/2^(i+1)) + 1, a = min(m, A)",
                "K*S", jeaugey, one_chunk_or_adding_free},
               // A message of one block is added as its chunks arrive, others are unpacked first.
               {on::ports | on::links,
                "sum(i = 0..q-1, (ceil(m/a)-u)*(S*alpha + L) + (m-u)*(n/B + n*gamma) + "
                "u*reduce_hop(n)), m = floor((K-2^i-1)/2^(i+1)) + 1, a = min(m, A), "
                "r = m - a*floor(m/a), "
                "u = floor(m/a)*max(0, 2-a) + max(0, 1 - abs(r-1)), n = N/K",
                "K*S", jeaugey}}}};

}  // namespace collsim
