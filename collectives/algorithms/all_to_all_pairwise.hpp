// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "collectives/group.hpp"
#include "collectives/program.hpp"
#include "collectives/span.hpp"

namespace collsim {

// The pairwise exchange as a part of others; all_to_all_pairwise.cpp explains it.  Block i of
// `source` goes to member i, block i of `result` comes from there.  A source is anything that says
// where chunk c of block i lies: Blocks, or blocks of lengths that those cannot have.
template <class Source>
Program pairwise_exchange(Group group, Source source, Blocks result, int chunks) {
  const int me = group.me();
  for (int c = 0; c < chunks; ++c) co_yield copy(source(me, c), result(me, c));
  for (int distance = 1; distance < group.size(); ++distance) {
    const int target = group.wrap(me + distance);
    for (int c = 0; c < chunks; ++c) {
      const Instruction give = send(group[target], source(target, c));
      co_yield give;
    }
    const int origin = group.wrap(me - distance);
    for (int c = 0; c < chunks; ++c) {
      const Instruction take = receive(group[origin], result(origin, c));
      co_yield take;
    }
  }
}

}  // namespace collsim
