// SPDX-License-Identifier: Apache-2.0
#include "bench/cases.hpp"

namespace collsim::bench {

Schedule whole_machine(Operation operation, std::size_t ranks, std::int64_t count,
                       const AlgorithmChoice& choice) {
  Collective collective;
  collective.operation = operation;
  collective.count = count;
  collective.group = first_ranks(ranks);
  return make_schedule(collective, choice);
}

}  // namespace collsim::bench
