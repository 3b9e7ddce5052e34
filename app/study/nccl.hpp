// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/scenario/fitted.hpp"
#include "app/scenario/scenario.hpp"
#include "app/study/nccl_tuner.hpp"

namespace collsim {

// What NCCL would run: "algorithm": "nccl".
//
// For each operation NCCL has few algorithms, each under few protocols:
//
//   all-reduce, all-gather, reduce-scatter   ring under LL, LL128, Simple
//   the latter two, one GPU per node         PAT under Simple
//   all-reduce among nodes                   double tree, likewise; on one node a chain, when asked
//   all-reduce, switches that add            NVLS; NVLSTree among nodes
//   broadcast, reduce                        chain, in small pieces, likewise
//   all-to-all, gather, scatter, send-recv   send/recv with every peer under p2p-LL, p2p-Simple
//
// A ring message is one hop, because NCCL's slices only overlap within a hop; every channel's ring
// enters and leaves a node at another GPU, and ends with a pass over the rank's own block.  Where
// links join GPUs directly, rings go along them (nccl_rings.hpp).
// What a hop costs under a protocol the links say (topo/protocols.hpp), what the kernel costs
// beside them the model.  NCCL has no barrier.
//
// Each of these is a case of its own, with the network as the protocol uses it: those that the
// case's nccl_choice allows.  None: NCCL does not have the operation.  Error when nothing is
// allowed, or when the cluster's links carry no protocol.
[[nodiscard]] std::vector<Case> nccl_candidates(const Case& asked);

// Whether NCCL has an algorithm of that name, whatever the cluster; for its users' information.
[[nodiscard]] bool nccl_has(Operation operation, std::string_view algorithm);

// What NCCL's tuner expects, the fastest, which it takes, first.
struct TunerVerdict {
  struct Expected {
    NcclAlgorithm algorithm{};
    LinkProtocol protocol{};
    double microseconds = 0;
  };
  std::string version;
  TunerMachine machine = {};
  std::vector<Expected> expected = {};
  TunerWork work = {};
};
// Nothing where no tuner was asked for, and for sends and receives, of which NCCL's knows nothing.
[[nodiscard]] std::optional<TunerVerdict> tuner_verdict(const Case& asked);

// Those candidates of which the fastest is what NCCL runs: the tuner's choice, or without one all.
[[nodiscard]] std::vector<Case> nccl_choices(const Case& asked);

// The time from one launch to the next, which is what nccl-tests measures: launches are queued, so
// the host's part and the GPU's overlap, and the longer one counts; an 8-norm, because neither is
// constant, so that each waits at times for the other when they are about as long.
[[nodiscard]] Time with_launches(Time kernel, Time host);
// How far such predictions were from what was measured; nothing: not what NCCL would run.
[[nodiscard]] std::optional<ErrorClass> error_class(const Case& candidate);
// The host's part for a candidate.
[[nodiscard]] Time host_time(const Case& candidate);

}  // namespace collsim
