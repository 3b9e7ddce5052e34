// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "collectives/element.hpp"
#include "topo/units.hpp"

namespace collsim {

// What is trained: layers in the order of the forward pass.
struct Layer {
  std::string name;
  Time forward{};
  Time backward{};
  Bytes gradients = 0;    // as many as its parameters
  Bytes activations = 0;  // that it hands to the next layer
  Time again{};           // of the backward pass: what is computed again of the forward pass, first
  Bytes keys = 0;         // keys and values of whole sequences, on one rank of a tensor group
};

struct Model {
  std::vector<Layer> layers;
  Bytes tied = 0;                       // gradients of a table that first and last layer share
  Time forward{};                       // of what is in no layer
  Time optimizer{};                     // of all parameters, on one rank
  Time launch{};                        // of a pass of a layer by the host, of Ddp, Fsdp and Train
  Time sharding{};                      // which a pass takes longer whose parameters are gathered
  ElementType type = ElementType::f32;  // of gradients and activations
};

// The same where the parameters of each layer are gathered for each pass.
[[nodiscard]] inline Model with_sharding(Model model) {
  for (Layer& layer : model.layers) {
    if (layer.gradients == 0) continue;
    layer.forward += model.sharding;
    layer.backward += model.sharding;
  }
  return model;
}

}  // namespace collsim
