// SPDX-License-Identifier: Apache-2.0
//
// Point-to-point: every rank sends its vector to at most one other and receives from at most one,
// as the pattern says (shift: r -> r+d, a pipeline of neighbours; exchange: 2i <-> 2i+1; or any
// pairs).
//
// Sending and receiving are two lanes, as they are two calls in a group in NCCL: a rank whose
// partner is slow to take its data is not kept from receiving.
//
// Cost with tau(n) = alpha + n/B, wire latency L:   tau(N) + L on a full-duplex network, for all
// pairs at once; S chunks gain nothing over one link and give S tau(N/S) + L.
#include "collectives/algorithms/programs.hpp"
#include "collectives/algorithms/single.hpp"

namespace collsim {
namespace {

constexpr int sender = 0;  // the role of the lane that sends; the other one receives

// The same channel's lane of the other role.
Endpoint on_other_role(Endpoint endpoint, int role) {
  const std::size_t lane = endpoint.lane.index();
  return endpoint.on(Lane(role == sender ? lane + 1 : lane - 1));
}

}  // namespace

Program send_recv_direct(const Task& task) {
  const int me = task.group.me();
  const bool sends = task.role == sender;
  const std::optional<int> peer =
      sends ? target_of(*task.collective, me) : source_of(*task.collective, me);
  const Span source = task.share(task.input);
  const Span result = task.share(task.output);
  if (!peer) return {};
  if (*peer == me) return sends ? copy_alone(source, result) : Program();
  const Endpoint other = on_other_role(task.group[*peer], task.role);
  return sends ? send_chunks(other, source, task.chunks)
               : receive_chunks(other, result, task.chunks);
}

}  // namespace collsim
