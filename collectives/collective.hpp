// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "collectives/element.hpp"
#include "collectives/span.hpp"
#include "topo/ids.hpp"

namespace collsim {

enum class Operation : std::uint8_t {
  broadcast,
  reduce,
  all_reduce,
  all_gather,
  reduce_scatter,
  gather,
  scatter,
  all_to_all,
  barrier,
  send_recv
};

// "all-reduce", as in scenario files; parse_operation does not mind case, hyphens and underscores.
[[nodiscard]] std::string_view to_string(Operation operation);
[[nodiscard]] std::span<const Operation> all_operations();
[[nodiscard]] Operation parse_operation(std::string_view name);

// Broadcast, reduce, gather, scatter: one rank is different from the others.
[[nodiscard]] bool has_root(Operation operation);
// Reduce, all-reduce, reduce-scatter: contributions of several ranks become one.
[[nodiscard]] bool reduces(Operation operation);

// Who sends to whom in send_recv; positions in the group.
struct Pattern {
  enum class Kind : std::uint8_t { shift, exchange, pairs } kind = Kind::shift;
  // shift: i sends to (i + distance) mod K.
  // exchange: 2i and 2i+1 swap; a last odd one sends nothing.
  // pairs: each position sends at most once and receives at most once.
  int distance = 1;
  std::vector<std::pair<int, int>> pairs;
};

// WHAT must hold at the end, independent of how: which elements of which ranks must be where.
//
// With K ranks in the group, in positions 0..K-1, and `count` elements (what nccl-tests calls size,
// in elements; pieces are even and may differ by one element, the longer first):
//
// operation        input on position i  output on position i                    count is
// broadcast        count at the root    the root's input                        the vector
// reduce           count                at the root: sum over all               the vector
// all_reduce       count                sum over all                            the vector
// all_gather       piece i of count     all pieces in order                     the gathered vector
// reduce_scatter   count                piece i of the sum                      one rank's input
// gather           piece i of count     at the root: all pieces in order        the gathered vector
// scatter          count at the root    piece i of the root's input             the root's input
// all_to_all       count, in K pieces   from every j: piece i of j's input      one rank's input
// barrier          nothing              nothing; no rank ends before all began  0 send_recv
// count where i sends  count from the sender to i           one message
//
// In place, as in NCCL: input and output are the same memory (broadcast, reduce, all_reduce: at the
// ranks that have both), the input is piece i of the output (all_gather; gather: at the root) or
// the output is piece i of the input (reduce_scatter; scatter: at the root).  all_to_all and
// send_recv have no in-place form.
struct Collective {
  Operation operation = Operation::all_reduce;
  std::int64_t count = 0;
  ElementType type = ElementType::f32;
  Reduction reduction = Reduction::sum;
  std::vector<Rank> group;  // the ranks that take part, in order: at least one, none twice
  int root = 0;             // position in the group
  bool in_place = false;
  Pattern pattern{};

  [[nodiscard]] int size() const { return static_cast<int>(group.size()); }
  [[nodiscard]] Bytes bytes() const { return count * size_of(type); }
};

// Ranks 0..count-1, the usual group.
[[nodiscard]] std::vector<Rank> first_ranks(std::size_t count);

// Throws Error naming the value: empty or repeated group, root outside it, negative or overflowing
// count, an in-place form that does not exist, pairs that send twice.
void validate(const Collective& collective);

[[nodiscard]] std::int64_t input_count(const Collective& collective, int position);
[[nodiscard]] std::int64_t output_count(const Collective& collective, int position);

// Where the input of a position lies when it shares memory with the output: offset of the input's
// first element in the output (all_gather: the start of piece i) or the other way round
// (reduce_scatter), else nothing.
struct Aliasing {
  bool shared = false;
  std::int64_t input_at = 0;   // offset of the input within the shared memory
  std::int64_t output_at = 0;  // offset of the output within the shared memory
};
[[nodiscard]] Aliasing aliasing(const Collective& collective, int position);

// One stretch of a position's output and what it must hold: its element e is element
// input_offset + e of one rank's input, or the reduction of that element over all ranks of the
// group.  The stretches cover the output exactly.
struct Requirement {
  std::int64_t output_offset = 0;
  std::int64_t count = 0;
  std::optional<int> from;  // position; empty: reduced over all
  std::int64_t input_offset = 0;
};
[[nodiscard]] std::vector<Requirement> requirements(const Collective& collective, int position);

// For send_recv: to whom a position sends and from whom it receives, if at all.
[[nodiscard]] std::optional<int> target_of(const Collective& collective, int position);
[[nodiscard]] std::optional<int> source_of(const Collective& collective, int position);

// What nccl-tests multiplies size / time with: all-reduce 2(n-1)/n; reduce-scatter, all-gather,
// all-to-all, gather, scatter (n-1)/n; else 1.
[[nodiscard]] constexpr double busbw_factor(Operation operation, int ranks) {
  switch (operation) {
    case Operation::all_reduce: return 2.0 * (ranks - 1) / ranks;
    case Operation::reduce_scatter:
    case Operation::all_gather:
    case Operation::all_to_all:
    case Operation::gather:
    case Operation::scatter: return 1.0 * (ranks - 1) / ranks;
    default: return 1;
  }
}

}  // namespace collsim
