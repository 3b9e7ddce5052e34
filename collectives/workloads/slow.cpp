// SPDX-License-Identifier: Apache-2.0
//
// Ranks that take longer than the others: a GPU that throttles, a spike, an older machine.
#include <algorithm>
#include <cmath>

#include "collectives/workloads/workloads.hpp"

namespace collsim {

namespace {

Script slow_step(Workload workload, SlowRank slow) {
  const auto streams = static_cast<int>(workload.stream_names().size());
  const bool is_late = slow.delay > Time{};
  if (is_late) co_yield work(0, slow.delay);
  for (int stream = 1; is_late && stream < streams; ++stream) {
    co_yield record(0, stream);
    co_yield wait(stream, 0);
  }
  Script script = workload.script(slow.rank);
  while (const Action* const action = script.next()) {
    Action slower = *action;
    const bool counts_records = slower.kind == Action::Kind::wait && slower.amount > 0;
    if (is_late && counts_records && slower.other == 0) ++slower.amount;  // after the one above
    if (slower.kind == Action::Kind::work)
      slower.amount = std::llround(static_cast<double>(slower.amount) * slow.factor);
    co_yield slower;
  }
}

}  // namespace

Workload slowed(const Workload& workload, const std::vector<SlowRank>& slow) {
  Workload::Parts parts;
  parts.group = workload.group();
  parts.stream_names = workload.stream_names();
  parts.communicators = workload.communicators();
  parts.slots = workload.slots();
  parts.script = [workload, slow](Rank rank) {
    const auto found = std::find_if(slow.begin(), slow.end(),
                                    [rank](const SlowRank& one) { return one.rank == rank; });
    return found == slow.end() ? workload.script(rank) : slow_step(workload, *found);
  };
  return Workload(std::move(parts));
}

}  // namespace collsim
