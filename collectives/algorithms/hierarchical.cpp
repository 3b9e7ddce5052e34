// SPDX-License-Identifier: Apache-2.0
//
// Hierarchical collectives: K = G x L ranks, G nodes of L; position = node * L + local.  The L
// ranks of a node form a ring, and so do the G ranks with the same local number (a rail: one NIC
// each).
//
// All-reduce, a vector of N bytes:
//   1. ring reduce-scatter in the node: local l has the node's sum of piece l (N/L)
//   2. ring all-reduce along the rail: all on rail l have the sum of piece l
//   3. ring all-gather in the node
// Each byte crosses the slow network as rarely as in a ring over nodes alone, in 2(G-1) steps.
//
// All-gather: first along the rail (every block crosses the slow network once per node), then in
// the node, where local l passes on the G blocks of its rail as one message.  Those are not
// neighbours in the output, so blocks are gathered in scratch, rail by rail, and copied to their
// places at the end: one message per step, the fewest alphas.  Reduce-scatter is the mirror image:
// the input is copied to scratch rail by rail, then reduced in the node, then along the rail.
//
// Nothing here depends on two levels: any number of dimensions works, each a ring.  The torus
// all-reduce (BlueConnect) is the same program on a grid of rings, where all links are equal: a
// reduce-scatter along the rows, an all-reduce along the columns, an all-gather along the rows.  As
// many bytes as one long ring in far fewer steps, but at any time one channel keeps only one
// direction of one dimension busy.
//
// So channel c begins with another dimension, c mod D of D, and goes around all of its rings the
// other way if c div D is odd (the multi-directional bucket algorithm of BlueGene and TPUs).  With
// 2D channels on equal dimensions every link is busy all the time, none with two channels at once:
//
//   D = 2   channel 0   rows up, columns up, rows up
//           channel 1   columns up, rows up, columns up
//           channel 2   rows down, columns down, rows down
//           channel 3   columns down, rows down, columns down
//
// The time is 2(K-1)/K N/(2D B), what no algorithm beats that sends over all 2D links of a rank.
// Between two ranks up and down are the same, so dimensions of 2 need D channels.  On a mesh, a
// ring closes through all links of its line, those of the other direction: D channels, too.
//
// On unequal dimensions channels meet (4x8: 1.13 times the bound with fair links, 1.52 with
// exclusive ones).  Other shares than equal ones would not help much: a channel's own steps come
// one after the other and take 2(K-1)/K of its share, so the best is 1.08 on 4x8 without waiting.
//
// M. Cho, U. Finkler, D. Kung, H. Hunter: BlueConnect, MLSys 2019.
// P. Sack, W. Gropp: Collective algorithms for multiported torus networks, ACM Trans. Parallel
// Comput. 1 (2015).
#include <algorithm>
#include <vector>

#include "collectives/algorithms/idioms.hpp"
#include "collectives/algorithms/roles.hpp"

namespace collsim {
namespace {

// The rings through my position, one per dimension of the arrangement, the fastest dimension (the
// GPUs of a node, the columns of a torus) first.
std::vector<Ring> rings_of_dimensions(const Task& task, bool down = false) {
  const Group& group = task.group;
  std::vector<Ring> rings;
  int stride = 1;
  for (auto dim = task.dims.rbegin(); dim != task.dims.rend(); ++dim) {
    const int place = group.me() / stride % *dim;
    const Group line = group.every(stride, group.me() - place * stride, *dim);
    rings.push_back(down ? Ring::down(line) : Ring::up(line));
    stride *= *dim;
  }
  return rings;
}

// The same in the order and direction of a channel of the torus.
std::vector<Ring> rings_of_torus(const Task& task) {
  const int dimensions = std::max(1, dimensions_to_cross(task.dims));
  const int channel = task.channel.part;
  std::vector<Ring> rings = rings_of_dimensions(task, channel / dimensions % 2 == 1);
  const Ring first = rings.front();
  std::erase_if(rings, [](const Ring& ring) { return ring.size == 1; });
  if (rings.empty()) return {first};
  std::rotate(rings.begin(), rings.begin() + channel % dimensions, rings.end());
  return rings;
}

Program all_reduce_by_dimensions(std::vector<Ring> rings, Span source, Span result) {
  std::vector<Span> held{result};  // what is mine to finish before each level
  for (std::size_t level = 0; level + 1 < rings.size(); ++level) {
    const Ring& ring = rings[level];
    const Span mine = held.back().piece(ring.place, ring.size);
    co_yield ring_reduce_scatter(ring, Blocks(source, ring.size), mine);
    held.push_back(mine);
    source = mine;
  }
  const Ring& last = rings.back();
  co_yield ring_all_reduce(last, Blocks(source, last.size), Blocks(held.back(), last.size));
  for (std::size_t level = rings.size() - 1; level-- > 0;) {
    const Ring& ring = rings[level];
    co_yield ring_all_gather(ring, held[level + 1], Blocks(held[level], ring.size));
  }
}

// Blocks in scratch are ordered with the coordinates reversed, the fastest dimension slowest, so
// that what one message carries has no gaps.  Which block of the vector is the i-th in scratch?
int block_in_scratch(const std::vector<Ring>& rings, int i) {
  int position = 0;
  int stride = 1;
  for (const Ring& ring : rings) stride *= ring.size;
  for (auto ring = rings.rbegin(); ring != rings.rend(); ++ring) {
    stride /= ring->size;
    position += i % ring->size * stride;
    i /= ring->size;
  }
  return position;
}

// The part of scratch in which each level works: all of it, my piece of that, and so on.
std::vector<Span> parts_of_scratch(const std::vector<Ring>& rings, Span scratch) {
  std::vector<Span> parts{scratch};
  for (const Ring& ring : rings) parts.push_back(parts.back().piece(ring.place, ring.size));
  return parts;
}

Program hierarchical_all_gather(std::vector<Ring> rings, int ranks, Span mine, Blocks all,
                                Span scratch) {
  const std::vector<Span> parts = parts_of_scratch(rings, scratch);
  for (std::size_t level = rings.size(); level-- > 0;) {
    const Ring& ring = rings[level];
    const Blocks blocks(parts[level], ring.size);
    co_yield ring_all_gather(ring, mine, blocks);
    mine = parts[level];
  }
  std::int64_t offset = 0;
  for (int i = 0; i < ranks; ++i) {
    const Span block = all[block_in_scratch(rings, i)];
    co_yield copy(scratch.sub(offset, block.count), block);
    offset += block.count;
  }
}

Program hierarchical_reduce_scatter(std::vector<Ring> rings, int ranks, Blocks input, Span mine,
                                    Span scratch) {
  std::int64_t offset = 0;
  for (int i = 0; i < ranks; ++i) {
    const Span block = input[block_in_scratch(rings, i)];
    co_yield copy(block, scratch.sub(offset, block.count));
    offset += block.count;
  }
  const std::vector<Span> parts = parts_of_scratch(rings, scratch);
  for (std::size_t level = 0; level < rings.size(); ++level) {
    const Ring& ring = rings[level];
    const Span sum = level + 1 < rings.size() ? parts[level + 1] : mine;
    co_yield ring_reduce_scatter(ring, Blocks(parts[level], ring.size), sum);
  }
}

// Inner levels reduce-scatter and all-gather; the outermost does both at once.
constexpr Levels levels_of_all_reduce{.inner = {&reduce_scatter_ring, &all_gather_ring},
                                      .outer = &all_reduce_ring};

}  // namespace

extern const Algorithm all_reduce_hierarchical{
    .operation = Operation::all_reduce,
    .name = "hierarchical",
    .summary = "reduce-scatter in the node, all-reduce between nodes, all-gather in the node",
    .program =
        [](const Task& task) {
          return all_reduce_by_dimensions(rings_of_dimensions(task), source_vector(task),
                                          result_vector(task));
        },
    .knobs = {.dims = true},
    .symmetry = Symmetry::dimensions,
    .messages_exceed_a_block = true,
    .levels = levels_of_all_reduce};

extern const Algorithm all_reduce_torus{
    .operation = Operation::all_reduce,
    .name = "torus",
    .aliases = {"blueconnect"},
    .summary =
        "rings along one dimension after the other, channels beginning elsewhere (BlueConnect)",
    .program =
        [](const Task& task) {
          return all_reduce_by_dimensions(rings_of_torus(task), source_vector(task),
                                          result_vector(task));
        },
    .knobs = {.dims = true},
    .symmetry = Symmetry::dimensions,
    .channel_per_direction = true,
    .messages_exceed_a_block = true,
    .levels = levels_of_all_reduce};

extern const Algorithm all_gather_hierarchical{
    .operation = Operation::all_gather,
    .name = "hierarchical",
    .summary = "between nodes along rails, then in the node",
    .program =
        [](const Task& task) {
          return hierarchical_all_gather(rings_of_dimensions(task), task.group.size(),
                                         gathered_block(task), task.blocks(task.output),
                                         scratch_for_shares(task, task.output));
        },
    .knobs = {.dims = true},
    .symmetry = Symmetry::dimensions,
    .scratch = [](const Task& task) { return count_of_shares(task, task.output); },
    .messages_exceed_a_block = true,
    .levels = {.inner = {&all_gather_ring}, .outer = &all_gather_ring}};

extern const Algorithm reduce_scatter_hierarchical{
    .operation = Operation::reduce_scatter,
    .name = "hierarchical",
    .summary = "in the node, then between nodes along rails",
    .program =
        [](const Task& task) {
          return hierarchical_reduce_scatter(rings_of_dimensions(task), task.group.size(),
                                             scattered_blocks(task), scattered_block(task),
                                             scratch_for_shares(task, task.input));
        },
    .knobs = {.dims = true},
    .symmetry = Symmetry::dimensions,
    .scratch = [](const Task& task) { return count_of_shares(task, task.input); },
    .messages_exceed_a_block = true,
    .levels = {.inner = {&reduce_scatter_ring}, .outer = &reduce_scatter_ring}};

}  // namespace collsim
