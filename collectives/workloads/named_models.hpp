// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "collectives/workloads/transformer.hpp"

namespace collsim {

// A tensor of parameters, and at how many positions of one sample it is multiplied: pixels of what
// a convolution puts out, tokens of a sequence.  A forward pass takes about 2 elements positions
// FLOP.
struct ParameterTensor {
  std::string name;
  std::int64_t elements = 0;
  std::int64_t positions = 1;
};

// resnet-50, bert-base, gpt-2 and named_transformers()
[[nodiscard]] const std::vector<std::string>& named_models();

// The parameters of one of them in the order in which its modules are defined, as PyTorch lists
// them: DDP fills its buckets from the end.  Made from the published architectures:
//
//   resnet-50   K. He et al.: Deep Residual Learning for Image Recognition, CVPR 2016; with the
//               stride in the 3x3 convolutions, as in torchvision; images of 224 x 224
//   bert-base   J. Devlin et al.: BERT, NAACL 2019; 512 tokens
//   gpt-2       A. Radford et al.: Language Models are Unsupervised Multitask Learners, 2019; the
//               smallest; 1,024 tokens; the embedding of words is the last layer as well
//   llama-2-7b and others: see named_transformers()
[[nodiscard]] std::vector<ParameterTensor> parameters_of(std::string_view model);

// llama-2-7b, llama-2-70b (H. Touvron et al.: Llama 2, 2023; 4,096 tokens), llama-3-8b, llama-3-70b
// (A. Grattafiori et al.: The Llama 3 Herd of Models, 2024; 8,192 tokens)
[[nodiscard]] const std::vector<std::string>& named_transformers();
[[nodiscard]] Transformer transformer_of(std::string_view name);

}  // namespace collsim
