// SPDX-License-Identifier: Apache-2.0
//
// The k-nomial tree: the binomial tree with more arms.  Ranks are numbers with base-k digits;
// level by level, from the highest digit down, every rank that has the data sends it to the k-1
// ranks that differ from it in that digit only.
//
//   k = 4, K = 16:   level 4   0 -> 4, 8, 12
//                    level 1   0 -> 1, 2, 3   4 -> 5, 6, 7   8 -> 9, 10, 11   12 -> 13, 14, 15
//
// So rank r > 0 receives from r with its lowest nonzero digit set to 0, and serves the digits
// below.  Ranks that do not exist are left out.
//
// Cost with m = ceil(log_k K) levels and tau(n) = alpha + n/B:
//   one port per rank     (k-1) m tau(N)   for K = k^m: k = 2 is best, k = 3 close
//   k-1 ports per rank    m tau(N)
// Worth it where several messages can leave at once, or where the start-up is spent on the
// receiving side.
//
// In MPICH as "knomial" (MPIR_CVAR_BCAST_TREE_KVAL); the radix is the knob.
#include "collectives/algorithms/programs.hpp"
#include "collectives/algorithms/rooted.hpp"
#include "collectives/algorithms/single.hpp"

namespace collsim {
namespace {

// Holding the data, rank `me` serves all levels below this one: its lowest nonzero digit, or for
// the root the first level beyond the ranks.
std::int64_t level_of(int me, int size, int radix) {
  std::int64_t level = 1;
  while (me > 0 ? me % (level * radix) == 0 : level < size) level *= radix;
  return level;
}

Program pass_down(Group group, int radix, Span source, Span result, int chunks) {
  const int me = group.me();
  std::int64_t level = level_of(me, group.size(), radix);
  Instruction step;
  for (int c = 0; me > 0 && c < chunks; ++c) {
    const auto digit = static_cast<int>(me / level % radix * level);
    step = receive(group[me - digit], result.piece(c, chunks));
    co_yield step;
  }
  bool stored = me > 0;
  for (level /= radix; level > 0; level /= radix)
    for (int arm = 1; arm < radix && me + arm * level < group.size(); ++arm) {
      for (int c = 0; c < chunks; ++c) {
        const Endpoint to = group[static_cast<int>(me + arm * level)];
        const Span chunk = result.piece(c, chunks);
        step = stored ? send(to, chunk) : copy_send(source.piece(c, chunks), chunk, to);
        co_yield step;
      }
      stored = true;
    }
}

}  // namespace

Program broadcast_k_nomial(const Task& task) {
  const Span result = task.share(task.output);
  if (task.group.size() == 1) return copy_alone(own_vector(task), result);
  return pass_down(from_root(task), task.radix, own_vector(task), result, task.chunks);
}

}  // namespace collsim
