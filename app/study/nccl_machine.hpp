// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/scenario/scenario.hpp"
#include "app/study/nccl_tuner.hpp"

namespace collsim {

// The machine of a case as NCCL's tuner would know it, when `members` neighbouring ranks of the
// group share a node.  Holds what "nccl_graph" of the model says, else what the tuner's file says
// of the preset, else what these rules give, which stand in for NCCL's search through its graph:
//
//   one node     NVLink: of the speeds that NCCL tries, the fastest among those that use most of a
//                GPU's NVLinks, in so many channels; from 25 GB/s on twice as many channels of half
//                the speed (not since Hopper below 50 GB/s, with more than 4 channels).
//                PCI: one channel, as fast as the narrowest link between neighbours allows; Intel
//                CPUs let peers that meet there have 5/6 of it.
//                Tree: as Ring; with two GPUs twice as fast, because a tree of two uses one way
//   nodes        a channel per NIC, at most one per GPU, as fast as a NIC; inside a node a tree's
//                are as fast as the GPU's links allow so many to be
//   NVLS         a channel per GPU, as fast as S + S/n on its link allows
//   CollNet      as Ring
//
// They give all that is known of NCCL's own searches on NVSwitch machines (8 x 60 as 12 x 30 GB/s,
// 8 x 48 GB/s, ...).  Error{invalid_argument}, with what to write, when nothing says which GPUs and
// CPUs these are, or what connects the nodes.
[[nodiscard]] TunerMachine tuner_machine(const Case& asked, int members, const NcclTuner& tuner);

}  // namespace collsim
