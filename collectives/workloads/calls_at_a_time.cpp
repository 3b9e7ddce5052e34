// SPDX-License-Identifier: Apache-2.0
//
// Ranks that have room for so many collectives at a time: a GPU whose kernels all go through one
// queue (CUDA_DEVICE_MAX_CONNECTIONS=1), or one whose processors NCCL fills.
//
//   n = 1     communication   call 1 |        call 3
//             other                  | call 2 |
//
// A stream more, on which nothing takes time, follows the calls in the order in which the rank asks
// for them: it waits for the end of call j, and lets call j + n begin.
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "collectives/workloads/workloads.hpp"
#include "topo/error.hpp"

namespace collsim {

namespace {

Script in_turns(Workload workload, Rank rank, std::size_t most) {
  const auto turns = static_cast<int>(workload.stream_names().size());
  struct Ending {
    std::uint16_t stream;
    std::int64_t number;  // among the records of that stream for `turns`
  };
  std::deque<Ending> under_way;  // the latest calls, `most` at most
  std::vector<std::int64_t> recorded(workload.stream_names().size());
  Script script = workload.script(rank);
  while (const Action* const action = script.next()) {
    const Action asked = *action;
    if (asked.kind != Action::Kind::collective) {
      co_yield asked;
      continue;
    }
    if (under_way.size() == most) {
      co_yield wait(turns, under_way.front().stream, under_way.front().number);
      co_yield record(turns, asked.stream);
      co_yield wait(asked.stream, turns);
      under_way.pop_front();
    }
    co_yield asked;
    co_yield record(asked.stream, turns);
    under_way.push_back({asked.stream, ++recorded[asked.stream]});
  }
}

}  // namespace

Workload with_calls_at_a_time(const Workload& workload, int most) {
  if (most < 1)
    throw_error(ErrorCode::invalid_argument, "a rank has room for a collective at least");
  Workload::Parts parts;
  parts.group = workload.group();
  parts.stream_names = workload.stream_names();
  parts.stream_names.emplace_back("turns of collectives");
  parts.communicators = workload.communicators();
  parts.slots = workload.slots();
  parts.turns = workload.turns();
  parts.script = [workload, most](Rank rank) {
    return in_turns(workload, rank, static_cast<std::size_t>(most));
  };
  return Workload(std::move(parts));
}

}  // namespace collsim
