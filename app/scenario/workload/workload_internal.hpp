// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/scenario/object_reader.hpp"
#include "app/scenario/workload/workload.hpp"
#include "collectives/workloads/workloads.hpp"

// The parts of "workload".  All report what is wrong and go on.

namespace collsim {

// "model" of the workload.
//
//   layers     [{name, times, forward, backward, gradients, activations}, ...] in the order of the
//              forward pass; a row with `times` stands for so many layers
//   forward    time of the forward pass outside of all layers
//   optimizer  time of the update of all parameters
//   dtype      of gradients and activations
[[nodiscard]] Model read_trained_model(const JsonValue& model, const std::string& pointer,
                                       Diagnostics& diagnostics, JsonValue& resolved);

// What a scheme is made for.
struct SchemeContext {
  const Model* model = nullptr;
  const Cluster* cluster = nullptr;  // null: unknown
  bool varies = false;
  bool any_slow = false;

  [[nodiscard]] int ranks() const {
    return cluster == nullptr ? 0 : static_cast<int>(cluster->topology.rank_count());
  }
};

// In the order in which messages show them.
[[nodiscard]] const std::vector<std::string>& scheme_names();

// The options of a scheme, and the step.  Nothing when anything was wrong, here or before.
[[nodiscard]] std::optional<TrainingStep> read_scheme(
    const std::string& name, const JsonValue& written, const std::string& pointer,
    const SchemeContext& context, Diagnostics& diagnostics, JsonValue& resolved);

// What textbooks say of a pipeline alone whose stages are alike and whose messages cost nothing.
[[nodiscard]] std::optional<ClosedForm> pipeline_formula(const Train& train, const Model& model);

}  // namespace collsim
