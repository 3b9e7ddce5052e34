// SPDX-License-Identifier: Apache-2.0
#include "collectives/workloads/transformer.hpp"

#include <algorithm>
#include <cmath>

#include "topo/error.hpp"

namespace collsim {

namespace {

double number(std::int64_t value) {
  return static_cast<double>(value);
}

bool is_gpt(const Transformer& model) {
  return model.architecture == Transformer::Architecture::gpt;
}

std::int64_t inner_of(const Transformer& model) {
  return model.inner > 0 ? model.inner : usual_inner(model.architecture, model.hidden);
}

// Width of all keys of a token, or of all values.
std::int64_t width_of_keys(const Transformer& model) {
  const std::int64_t heads = model.heads_of_keys > 0 ? model.heads_of_keys : model.heads;
  return model.hidden * heads / model.heads;
}

// Parameters of a layer that every token is multiplied with.
std::int64_t multiplied_of_layer(const Transformer& model) {
  const std::int64_t of_mlp = (is_gpt(model) ? 2 : 3) * inner_of(model);
  return model.hidden * (2 * model.hidden + 2 * width_of_keys(model) + of_mlp);
}

// s b h: the values that a layer hands to the next.
double values_between_layers(const Transformer& model) {
  return number(model.sequence) * number(model.micro_batch) * number(model.hidden);
}

double forward_flop_of_logits(const Transformer& model) {
  return 2 * values_between_layers(model) * number(model.vocabulary);
}

// 4 b s^2 h: scores, and the mean of values that they weigh.
double forward_flop_of_attention(const Transformer& model) {
  return 4 * values_between_layers(model) * number(model.sequence);
}

// Of the scores on one rank of a tensor group, as values of a hidden width.
double scores(const Transformer& model, int tp) {
  if (model.fused_attention) return 0;
  return 5 * number(model.heads) * number(model.sequence) / (number(model.hidden) * tp);
}

// What of a layer's activations without scores one rank of a tensor group has: without sequence
// parallelism, every rank has those that are not of the products.
double kept_without_scores(const Transformer& model, TensorGroup group) {
  const double h = number(model.hidden);
  const double inner = number(inner_of(model)) / h;
  const double of_mlp = (is_gpt(model) ? 4 : 8) * inner;
  const double less = model.has_8_bits ? 1 + inner : 0;
  const double of_products = 4 + 4 * number(width_of_keys(model)) / h + of_mlp - less;
  const double others = (is_gpt(model) ? 10 : 8) - (model.has_8_bits ? 2 : 0);
  return group.sequence_parallel ? (others + of_products) / group.size
                                 : others + of_products / group.size;
}

// Two of a byte each, after attention and after the MLP.
constexpr double masks_of_dropout = 2;

// What is counted of 16-bit values, in wider ones.
double times_of_16_bits(const Transformer& model) {
  return std::max(1.0, number(size_of(model.type)) / 2);
}

// Of each logit, forward and backward together: a 16-bit number that becomes a 32-bit one, whose
// maximum, difference, exponential, sum and quotient are passes of their own, and the same back.
constexpr double bytes_of_logit = 52;
// In one kernel: 16-bit numbers that products write once and read twice, and that it reads twice
// and writes once.
constexpr double bytes_of_fused_logit = 12;
// Of each parameter: Adam in mixed precision reads parameter, both moments (32 bits each) and the
// gradient, and writes all three and the parameter in 16 bits.
constexpr double bytes_of_adam = 28;

// The times of one rank, of work that all ranks of a replica's stage share.
struct DeviceRates {
  const Device& device;
  int tp;
  int context;

  [[nodiscard]] double flop(double of_group, bool has_8_bits = false) const {
    const double flops = has_8_bits ? device.flops_of_8_bits : device.flops;
    return of_group / (flops * device.efficiency * tp * context);
  }
  [[nodiscard]] double attention(double of_group) const {
    return of_group / (device.flops * device.attention * tp * context);
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

// The forward pass of a layer, and what of the backward pass is attention computed again.
struct PassTimes {
  double computed = 0, attention_again = 0;
};

PassTimes times_of_pass(const Transformer& model, const DeviceRates& share, TensorGroup group) {
  const double values = values_between_layers(model) / group.context * times_of_16_bits(model);
  const double of_attention = forward_flop_of_attention(model);
  const double of_scores = share.bytes(values * scores(model, group.size));
  const double attention = share.attention(of_attention) + of_scores;
  const double products =
      share.flop(forward_flop_of_layer(model) - of_attention, model.has_8_bits) +
      share.bytes(values * kept_without_scores(model, group));
  const bool again = model.recompute == Transformer::Recompute::selective;
  return {products + attention, again ? attention : 0};
}

// Keys and values of all tokens, on one rank of a tensor group, which has whole heads.  Attention
// has 16 bits where products have 8.
double bytes_of_keys(const Transformer& model, int tp) {
  const std::int64_t all_heads = model.heads_of_keys > 0 ? model.heads_of_keys : model.heads;
  const std::int64_t heads = (all_heads + tp - 1) / tp;
  const double width = number(model.hidden) / number(model.heads) * number(heads);
  return 2 * number(model.sequence) * number(model.micro_batch) * width *
         std::max(2.0, number(size_of(model.type)));
}

Bytes whole(double bytes) {
  return static_cast<Bytes>(std::llround(bytes));
}

}  // namespace

std::int64_t usual_inner(Transformer::Architecture architecture, std::int64_t hidden) {
  constexpr std::int64_t whole = 256;
  if (architecture == Transformer::Architecture::gpt) return 4 * hidden;
  return (8 * hidden / 3 + whole - 1) / whole * whole;
}

std::int64_t parameters_of_layer(const Transformer& model) {
  const std::int64_t biases =
      2 * model.hidden + 2 * width_of_keys(model) + inner_of(model) + model.hidden;
  const std::int64_t of_norms = (is_gpt(model) ? 4 : 2) * model.hidden;
  return multiplied_of_layer(model) + of_norms + (is_gpt(model) ? biases : 0);
}

std::int64_t parameters_before_layers(const Transformer& model) {
  return (model.vocabulary + (is_gpt(model) ? model.sequence : 0)) * model.hidden;
}

std::int64_t parameters_after_layers(const Transformer& model) {
  return is_gpt(model) ? 0 : (model.vocabulary + 1) * model.hidden;
}

std::int64_t parameters(const Transformer& model) {
  return parameters_before_layers(model) + model.layers * parameters_of_layer(model) +
         parameters_after_layers(model);
}

double forward_flop_of_layer(const Transformer& model) {
  return 2 * number(model.sequence) * number(model.micro_batch) *
             number(multiplied_of_layer(model)) +
         forward_flop_of_attention(model);
}

double flop(const Transformer& model) {
  using Recompute = Transformer::Recompute;
  const double again = model.recompute == Recompute::full        ? forward_flop_of_layer(model)
                       : model.recompute == Recompute::selective ? forward_flop_of_attention(model)
                                                                 : 0;
  return number(model.layers) * (3 * forward_flop_of_layer(model) + again) +
         3 * forward_flop_of_logits(model);
}

Model model_of(const Transformer& model, const Device& device, TensorGroup group) {
  if (!(device.flops > 0) || !(device.efficiency > 0) || !(device.attention > 0))
    throw_error(ErrorCode::invalid_argument, "a device computes more than 0 FLOP/s");
  if (model.has_8_bits && !(device.flops_of_8_bits > 0))
    throw_error(ErrorCode::invalid_argument, "the device does not say what it computes in 8 bits");
  if (model.layers < 1) throw_error(ErrorCode::invalid_argument, "a transformer has layers");
  const int tp = group.size;
  const DeviceRates share{device, tp, group.context};
  const double bytes = number(size_of(model.type));
  const bool again = model.recompute == Transformer::Recompute::full;
  const PassTimes pass = times_of_pass(model, share, group);
  Layer layer;
  layer.forward = from_seconds(share.waits() + pass.computed);
  layer.again = again ? layer.forward : Time{};
  layer.backward =
      from_seconds(share.waits() + 2 * pass.computed + pass.attention_again) + layer.again;
  layer.gradients = whole(number(parameters_of_layer(model)) * bytes / tp);
  layer.activations = whole(values_between_layers(model) / group.context * bytes);
  if (group.context > 1) layer.keys = whole(bytes_of_keys(model, tp));
  Model result;
  result.type = model.type;
  result.launch = device.launch;
  result.sharding = device.sharding;
  for (std::int64_t i = 0; i < model.layers; ++i) {
    layer.name = concat("layer ", i + 1);
    result.layers.push_back(layer);
  }
  result.layers.front().gradients += whole(number(parameters_before_layers(model)) * bytes / tp);
  result.layers.back().gradients += whole(number(parameters_after_layers(model)) * bytes / tp);
  if (is_gpt(model))
    result.tied = whole(number(model.vocabulary) * number(model.hidden) * bytes / tp);
  const double logits =
      number(model.sequence) * number(model.micro_batch) * number(model.vocabulary) *
      (model.fused_loss ? bytes_of_fused_logit : bytes_of_logit) / tp / group.context;
  const double forward_logits = share.flop(forward_flop_of_logits(model)) + share.bytes(logits) / 3;
  result.layers.back().forward += from_seconds(forward_logits);
  result.layers.back().backward += from_seconds(2 * forward_logits);
  result.optimizer = from_seconds(share.bytes(number(parameters(model)) / tp * bytes_of_adam));
  return result;
}

double activation_bytes(const Transformer& model, TensorGroup group, int pp, int chunks) {
  double of_layer = kept_without_scores(model, group);
  if (model.fused_attention && is_gpt(model))
    of_layer -= masks_of_dropout / (group.sequence_parallel ? group.size : 1);
  if (model.recompute == Transformer::Recompute::none) of_layer += scores(model, group.size);
  if (model.recompute == Transformer::Recompute::full)
    of_layer = group.sequence_parallel ? 2.0 / group.size : 2;
  const double more = chunks > 1 ? 1 + (pp - 1.0) / (pp * chunks) : 1;
  return values_between_layers(model) / group.context * times_of_16_bits(model) *
         number(model.layers) * of_layer * more;
}

double bytes_while_computing(const Transformer& model, TensorGroup group, bool has_logits) {
  constexpr double of_16_bits = 2, of_32_bits = 4;
  const double own = std::max(of_16_bits, number(size_of(model.type)));
  const double of_logit = model.fused_loss   ? own
                          : own < of_32_bits ? 2 * (of_32_bits + own)
                                             : 2 * own;
  const double tokens = number(model.sequence) * number(model.micro_batch) / group.context;
  const double keys = group.context > 1 ? 2 * bytes_of_keys(model, group.size) : 0;
  const double logits = has_logits ? tokens * number(model.vocabulary) * of_logit / group.size : 0;
  if (model.recompute != Transformer::Recompute::full) return std::max(logits, keys);
  Transformer layer = model;
  layer.layers = 1;
  layer.recompute = Transformer::Recompute::none;
  return std::max(logits, activation_bytes(layer, group, 1, 1) + keys);
}

double bytes_per_parameter(int zero_stage, int ranks, Bytes element) {
  constexpr Bytes full = 4;
  const double part = 1.0 / ranks;
  const auto own = static_cast<double>(element);
  const double moments = 2 * static_cast<double>(std::max(element, full));
  const double adam = element < full ? static_cast<double>(full) + moments : moments;
  return (zero_stage >= 3 ? own * part : own) + (zero_stage >= 2 ? own * part : own) +
         (zero_stage >= 1 ? adam * part : adam);
}

}  // namespace collsim
