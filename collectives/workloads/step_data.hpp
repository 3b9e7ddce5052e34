// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "collectives/workload_data.hpp"
#include "collectives/workloads/workloads.hpp"

// What the lines of the generators' scripts compute with, as their labels say: parameters and
// gradients by layer, what goes forward (activations) and backward (their gradients) as one item
// each, for every microbatch and piece of the model on a stage.  A line without a label uses
// nothing.
//
// All claim that the optimizer reads the mean (or sum) of the gradients of all replicas, each
// counted once; those whose replicas hold whole parameters, or the same parts of them, that these
// are the same after the step.

namespace collsim {

// Of what the constructor hands out, only rank 0 has it before.
[[nodiscard]] std::shared_ptr<const WorkloadData> data_of(const Ddp& ddp, const Model& model,
                                                          const std::vector<Rank>& ranks);
// With its shards as the workload has them.  Each microbatch has gradients of its own, because they
// are scattered before they are added up.  Gathered parameters are in as many places as may be
// whole at a time, which layers take in turn: one more than `unsharded` where that is 1, because
// the backward pass gathers ahead.
[[nodiscard]] std::shared_ptr<const WorkloadData> data_of(const Fsdp& fsdp, const Model& model,
                                                          const std::vector<Rank>& ranks);
// Every rank has experts and tokens of its own, and updates these experts alone.
[[nodiscard]] std::shared_ptr<const WorkloadData> data_of(const Experts& scheme, const Model& model,
                                                          const std::vector<Rank>& ranks);
// GPU 0 has parameters, inputs and the sum of the gradients.
inline constexpr std::uint32_t place_of_errors = 1;  // Action::place: gradients of outputs
[[nodiscard]] std::shared_ptr<const WorkloadData> data_of(const DataParallel& scheme,
                                                          const std::vector<Rank>& ranks);
// Action::place is the piece of the model on the stage.  From zero 2 on, each microbatch has
// gradients of its own; gathered parameters (3) have a place for each layer.  Of those that share
// sequences each has its own tokens; what they gather for them is left out.
enum TrainCommunicators : std::uint8_t { tensor_group, replicas, context_group };
[[nodiscard]] std::shared_ptr<const WorkloadData> data_of(const Train& train, const Model& model);
// Servers keep what each worker has sent.  An asynchronous one answers with what
// it has then, so nothing is claimed of it.
[[nodiscard]] std::shared_ptr<const WorkloadData> data_of(const ParameterServer& scheme, int ranks);

}  // namespace collsim
