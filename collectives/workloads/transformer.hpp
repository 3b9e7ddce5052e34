// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "collectives/workloads/model.hpp"

namespace collsim {

// A transformer as its authors describe it, and what a step of it costs.  With h hidden, a heads,
// L layers, s tokens in a sequence, V words in the vocabulary, b sequences in a microbatch, t ranks
// of a tensor group, p stages; k heads of keys and values (a unless said otherwise), together
// w = h k/a wide, and an MLP of the inner width f (4 h):
//
//   GPT          parameters of a layer 12 h^2 + 13 h, of the embedding (V + s) h, with positions;
//                the table of words is that of the logits, too
//   Llama        no biases, an MLP of three products (SwiGLU) and positions by rotation: of a layer
//                2 h^2 + 2 h w + 3 h f + 2 h, V h of the embedding, and V h + h of the logits
//   FLOP         of a layer forward 24 b s h^2 (1 + s/6h), of the logits 2 b s h V; backward twice
//                that, three times where the forward pass of the layer is computed again.  All
//                together 96 B s L h^2 (1 + s/6h + V/16Lh) for B sequences with full recomputation.
//                4 b s^2 h of a layer's are attention's, which selective recomputation does again.
//                Of Llama forward 4 b s (h^2 + h w) + 6 b s h f + 4 b s^2 h
//   activations  between layers b s h values; kept by a layer s b h (10 + 24/t + 5 a s/(h t))
//                bytes of 16-bit numbers, 34 s b h/t with selective recomputation and sequence
//                parallelism, 2 s b h with full recomputation.  Attention in one kernel
//                (FlashAttention) keeps no scores, which are the 5 a s/(h t), and programs that use
//                it no masks of dropout, which are 2 of the 10.  Nor has Llama any: 8 + (4 +
//                4 w/h + 8 f/h)/t in place of 10 + 24/t.  What products with parameters take has
//                half as many bytes in 8 bits: 2 + (1 + f/h)/t less
//
// D. Narayanan et al.: Efficient Large-Scale Language Model Training on GPU Clusters Using
// Megatron-LM, SC21.  V. Korthikanti et al.: Reducing Activation Recomputation in Large Transformer
// Models, MLSys 2023.  H. Touvron et al.: Llama 2, 2023.
struct Transformer {
  enum class Recompute : std::uint8_t { none, selective, full };
  enum class Architecture : std::uint8_t { gpt, llama };

  Architecture architecture = Architecture::gpt;
  std::int64_t layers = 1;
  std::int64_t hidden = 1;
  std::int64_t heads = 1;
  std::int64_t heads_of_keys = 0;  // and of values; 0: `heads`
  std::int64_t inner = 0;          // width; 0: usual_inner()
  std::int64_t sequence = 1;
  std::int64_t vocabulary = 0;
  std::int64_t micro_batch = 1;
  Recompute recompute = Recompute::none;
  bool fused_attention = false;
  bool fused_loss = false;  // of one kernel, which leaves the gradient where the logits were
  ElementType type = ElementType::f16;
  // 8-bit numbers, one byte each as of `type`: parameters, gradients, what layers hand on, and what
  // products with parameters take, which are computed at Device::flops_of_8_bits.
  bool has_8_bits = false;
};

inline constexpr std::int64_t megatron_vocabulary = 51'200;  // GPT-2's, padded by Megatron-LM

// What computes it.  A pass of a layer takes, besides its collectives,
//
//   latency + FLOP / (flops efficiency) + bytes / memory_bandwidth + 2 skew (1/2 + ... + 1/t)
//
// of the device, and not less than `launch` of the host; attention's FLOP have an efficiency of
// their own.  The bytes are those of the activations that a layer keeps without recomputation: each
// is written, or read, about once; backward twice.
// The last term is what t ranks wait for the slowest of them at each of two collectives, when each
// comes late by an exponential time with the mean `skew`.  Where FSDP gathers the parameters of a
// layer for a pass, that takes `sharding` longer, besides the messages.
struct Device {
  double flops = 0;             // FLOP/s, at best
  double efficiency = 1;        // what of that products with parameters reach, ...
  double attention = 1;         // ... and those of attention
  double memory_bandwidth = 0;  // bytes/s that are reached; 0: memory is no limit
  Time latency{};
  Time launch{};
  Time skew{};
  Time sharding{};
  double flops_of_8_bits = 0;  // 0: unknown
};

// 4 h; of Llama 8/3 h in whole multiples of 256, as many products.
[[nodiscard]] std::int64_t usual_inner(Transformer::Architecture architecture, std::int64_t hidden);

[[nodiscard]] std::int64_t parameters_of_layer(const Transformer& model);
[[nodiscard]] std::int64_t parameters_before_layers(const Transformer& model);
[[nodiscard]] std::int64_t parameters_after_layers(const Transformer& model);
[[nodiscard]] std::int64_t parameters(const Transformer& model);

// Of one microbatch, on all ranks of a tensor group together.
[[nodiscard]] double forward_flop_of_layer(const Transformer& model);
[[nodiscard]] double flop(const Transformer& model);  // forward, backward and what is done again

// How a transformer is spread over ranks, as far as the times of its layers depend on it.  Groups
// that share a sequence have equal parts of attention's work, as causal masks are balanced.
struct TensorGroup {
  int size = 1;
  bool sequence_parallel = false;
  int context = 1;  // groups that share a sequence: each has an equal part of its tokens
};

// Its layers with the times and bytes of one rank of a tensor group; the last has the logits, the
// first the embedding.
[[nodiscard]] Model model_of(const Transformer& model, const Device& device, TensorGroup group);

// Activations that the first of `pp` stages keeps with 1F1B, in bytes; `chunks` pieces of the model
// on each stage need a little more.
[[nodiscard]] double activation_bytes(const Transformer& model, TensorGroup group, int pp,
                                      int chunks);

// What a rank needs besides while it computes a microbatch, in bytes: logits and their gradient,
// each in 32 bits and in those of the model (with a fused loss in these alone, and in one place),
// or what a layer keeps that is computed again, with the gathered keys and values of a shared
// sequence and their gradients; the one goes before the other comes.
[[nodiscard]] double bytes_while_computing(const Transformer& model, TensorGroup group,
                                           bool has_logits);

// What a rank keeps for each parameter with Adam: parameter and gradient of `element` bytes each,
// two moments of 4 bytes at least, and, where an element has less, 4 of the parameter itself (in
// mixed precision 2 + 2 + 12); ZeRO's stages spread over `ranks` the state (1), the gradients as
// well (2), the parameters too (3).
[[nodiscard]] double bytes_per_parameter(int zero_stage, int ranks, Bytes element = 2);

}  // namespace collsim
