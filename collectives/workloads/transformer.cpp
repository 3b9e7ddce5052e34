// SPDX-License-Identifier: Apache-2.0
#include "collectives/workloads/transformer.hpp"

#include <cmath>

#include "topo/error.hpp"

namespace collsim {

namespace {

double number(std::int64_t value) {
  return static_cast<double>(value);
}

// s b h: the values that a layer hands to the next.
double values_between_layers(const Transformer& model) {
  return number(model.sequence) * number(model.micro_batch) * number(model.hidden);
}

double forward_flop_of_logits(const Transformer& model) {
  return 2 * values_between_layers(model) * number(model.vocabulary);
}

// What a forward pass of a layer moves on one of the ranks of a tensor group.
double bytes_of_pass(const Transformer& model, int tp) {
  const double attention =
      5 * number(model.heads) * number(model.sequence) / (number(model.hidden) * tp);
  return values_between_layers(model) * (10 + 24.0 / tp + attention);
}

// Of each logit, forward and backward together: a 16-bit number that becomes a 32-bit one, whose
// maximum, difference, exponential, sum and quotient are passes of their own, and the same back.
constexpr double bytes_of_logit = 52;
// Of each parameter: Adam in mixed precision reads parameter, both moments (32 bits each) and the
// gradient, and writes all three and the parameter in 16 bits.
constexpr double bytes_of_adam = 28;

// The times of one rank.
struct DeviceShare {
  const Device& device;
  int tp;

  [[nodiscard]] double flop(double of_group) const {
    return of_group / (device.flops * device.efficiency * tp);
  }
  [[nodiscard]] double bytes(double moved) const {
    return device.memory_bandwidth > 0 ? moved / device.memory_bandwidth : 0;
  }
  [[nodiscard]] double waits() const {
    double slowest = 0;
    for (int rank = 2; rank <= tp; ++rank) slowest += 1.0 / rank;
    return device.latency.seconds() + 2 * device.skew.seconds() * slowest;
  }
};

Bytes whole(double bytes) {
  return static_cast<Bytes>(std::llround(bytes));
}

}  // namespace

std::int64_t parameters_of_layer(const Transformer& model) {
  return 12 * model.hidden * model.hidden + 13 * model.hidden;
}

std::int64_t parameters(const Transformer& model) {
  return model.layers * parameters_of_layer(model) +
         (model.vocabulary + model.sequence) * model.hidden;
}

double forward_flop_of_layer(const Transformer& model) {
  return 24 * values_between_layers(model) * number(model.hidden) *
         (1 + number(model.sequence) / (6 * number(model.hidden)));
}

double flop(const Transformer& model) {
  const double passes = model.recompute == Transformer::Recompute::full ? 4 : 3;
  return passes * number(model.layers) * forward_flop_of_layer(model) +
         3 * forward_flop_of_logits(model);
}

Model model_of(const Transformer& model, const Device& device, int tp) {
  if (!(device.flops > 0) || !(device.efficiency > 0))
    throw_error(ErrorCode::invalid_argument, "a device computes more than 0 FLOP/s");
  if (model.layers < 1) throw_error(ErrorCode::invalid_argument, "a transformer has layers");
  const DeviceShare share{device, tp};
  const double bytes = number(size_of(model.type));
  const bool again = model.recompute == Transformer::Recompute::full;
  const double computed = share.flop(forward_flop_of_layer(model));
  const double moved = share.bytes(bytes_of_pass(model, tp));
  Layer layer;
  layer.forward = from_seconds(share.waits() + computed + moved);
  layer.again = again ? layer.forward : Time{};
  layer.backward = from_seconds(share.waits() + 2 * (computed + moved)) + layer.again;
  layer.gradients = whole(number(parameters_of_layer(model)) * bytes / tp);
  layer.activations = whole(values_between_layers(model) * bytes);
  Model result;
  result.type = model.type;
  result.launch = device.launch;
  for (std::int64_t i = 0; i < model.layers; ++i) {
    layer.name = concat("layer ", i + 1);
    result.layers.push_back(layer);
  }
  const double embedding = number((model.vocabulary + model.sequence) * model.hidden) * bytes / tp;
  result.layers.front().gradients += whole(embedding);
  const double logits = number(model.sequence) * number(model.micro_batch) *
                        number(model.vocabulary) * bytes_of_logit / tp;
  const double forward_logits = share.flop(forward_flop_of_logits(model)) + share.bytes(logits) / 3;
  result.layers.back().forward += from_seconds(forward_logits);
  result.layers.back().backward += from_seconds(2 * forward_logits);
  result.optimizer = from_seconds(share.bytes(number(parameters(model)) / tp * bytes_of_adam));
  return result;
}

double activation_bytes(const Transformer& model, int tp, int pp, int chunks,
                        bool sequence_parallel) {
  const double values = values_between_layers(model);
  const double attention =
      5 * number(model.heads) * number(model.sequence) / (number(model.hidden) * tp);
  double of_layer = 0;
  switch (model.recompute) {
    case Transformer::Recompute::none:
      of_layer = (sequence_parallel ? 34.0 / tp : 10 + 24.0 / tp) + attention;
      break;
    case Transformer::Recompute::selective:
      of_layer = sequence_parallel ? 34.0 / tp : 10 + 24.0 / tp;
      break;
    case Transformer::Recompute::full: of_layer = sequence_parallel ? 2.0 / tp : 2; break;
  }
  const double more = chunks > 1 ? 1 + (pp - 1.0) / (pp * chunks) : 1;
  return values * number(model.layers) * of_layer * more;
}

double bytes_per_parameter(int zero_stage, int ranks) {
  const double part = 1.0 / ranks;
  return (zero_stage >= 3 ? 2 * part : 2) + (zero_stage >= 2 ? 2 * part : 2) +
         (zero_stage >= 1 ? 12 * part : 12);
}

}  // namespace collsim
