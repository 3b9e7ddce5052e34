// SPDX-License-Identifier: Apache-2.0
#include "collectives/workloads/named_models.hpp"

#include <array>

#include "topo/error.hpp"

namespace collsim {

namespace {

class TensorList {
 public:
  std::int64_t positions = 1;  // of what is added

  void add(const std::string& name, std::int64_t elements) {
    all_.push_back({name, elements, positions});
  }
  void add_table(const std::string& name, std::int64_t elements) {  // looked up, not multiplied
    all_.push_back({name, elements, 0});
  }
  void linear(const std::string& name, std::int64_t from, std::int64_t to) {
    add(name + ".weight", from * to);
    add(name + ".bias", to);
  }
  void norm(const std::string& name, std::int64_t width) {
    add(name + ".weight", width);
    add(name + ".bias", width);
  }
  [[nodiscard]] std::vector<ParameterTensor> take() { return std::move(all_); }

 private:
  std::vector<ParameterTensor> all_;
};

// 1x1, 3x3, 1x1 with four times as many channels; the first of a group has a 1x1 besides them.
void bottleneck(TensorList& tensors, const std::string& name, std::int64_t from, std::int64_t width,
                std::int64_t pixels, std::int64_t pixels_before) {
  tensors.positions = pixels_before;
  tensors.add(name + ".conv1.weight", from * width);
  tensors.norm(name + ".bn1", width);
  tensors.positions = pixels;
  tensors.add(name + ".conv2.weight", 9 * width * width);
  tensors.norm(name + ".bn2", width);
  tensors.add(name + ".conv3.weight", width * 4 * width);
  tensors.norm(name + ".bn3", 4 * width);
  if (from == 4 * width) return;
  tensors.add(name + ".downsample.0.weight", from * 4 * width);
  tensors.norm(name + ".downsample.1", 4 * width);
}

std::vector<ParameterTensor> resnet_50() {
  constexpr std::array<int, 4> blocks{3, 4, 6, 3};
  TensorList tensors;
  std::int64_t side = 112;
  tensors.positions = side * side;
  tensors.add("conv1.weight", std::int64_t{64} * 3 * 7 * 7);
  tensors.norm("bn1", 64);
  std::int64_t from = 64;
  std::int64_t width = 64;
  side /= 2;  // a pooling layer
  std::int64_t before = side;
  for (std::size_t group = 0; group < blocks.size(); ++group) {
    for (int block = 0; block < blocks.at(group); ++block) {
      bottleneck(tensors, concat("layer", group + 1, ".", block), from, width, side * side,
                 before * before);
      from = 4 * width;
      before = side;
    }
    width *= 2;
    side /= 2;
  }
  tensors.positions = 1;
  tensors.linear("fc", from, 1000);
  return tensors.take();
}

std::vector<ParameterTensor> bert_base() {
  constexpr std::int64_t h = 768, layers = 12, tokens = 512;
  TensorList tensors;
  tensors.positions = tokens;
  tensors.add_table("embeddings.word", 30522 * h);
  tensors.add_table("embeddings.position", tokens * h);
  tensors.add_table("embeddings.token_type", 2 * h);
  tensors.norm("embeddings.LayerNorm", h);
  for (int layer = 0; layer < layers; ++layer) {
    const std::string name = concat("encoder.layer.", layer, ".");
    for (const char* part : {"query", "key", "value", "output.dense"})
      tensors.linear(concat(name, "attention.", part), h, h);
    tensors.norm(name + "attention.output.LayerNorm", h);
    tensors.linear(name + "intermediate.dense", h, 4 * h);
    tensors.linear(name + "output.dense", 4 * h, h);
    tensors.norm(name + "output.LayerNorm", h);
  }
  tensors.positions = 1;
  tensors.linear("pooler.dense", h, h);
  return tensors.take();
}

std::vector<ParameterTensor> gpt_2() {
  constexpr std::int64_t h = 768, layers = 12, tokens = 1024;
  TensorList tensors;
  tensors.positions = tokens;
  tensors.add("wte.weight", 50257 * h);
  tensors.add_table("wpe.weight", tokens * h);
  for (int layer = 0; layer < layers; ++layer) {
    const std::string name = concat("h.", layer, ".");
    tensors.norm(name + "ln_1", h);
    tensors.linear(name + "attn.c_attn", h, 3 * h);
    tensors.linear(name + "attn.c_proj", h, h);
    tensors.norm(name + "ln_2", h);
    tensors.linear(name + "mlp.c_fc", h, 4 * h);
    tensors.linear(name + "mlp.c_proj", 4 * h, h);
  }
  tensors.norm("ln_f", h);
  return tensors.take();
}

std::vector<ParameterTensor> llama(const Transformer& model) {
  const std::int64_t h = model.hidden, words = model.vocabulary;
  const std::int64_t width_of_keys = h * model.heads_of_keys / model.heads;
  TensorList tensors;
  tensors.positions = model.sequence;
  tensors.add_table("embed_tokens.weight", words * h);
  for (int layer = 0; layer < model.layers; ++layer) {
    const std::string name = concat("layers.", layer, ".");
    tensors.add(name + "self_attn.q_proj.weight", h * h);
    for (const char* part : {"k", "v"})
      tensors.add(concat(name, "self_attn.", part, "_proj.weight"), h * width_of_keys);
    tensors.add(name + "self_attn.o_proj.weight", h * h);
    for (const char* part : {"gate", "up", "down"})
      tensors.add(concat(name, "mlp.", part, "_proj.weight"), h * model.inner);
    tensors.add(name + "input_layernorm.weight", h);
    tensors.add(name + "post_attention_layernorm.weight", h);
  }
  tensors.add("norm.weight", h);
  tensors.add("lm_head.weight", words * h);
  return tensors.take();
}

struct NamedTransformer {
  const char* name;
  std::int64_t layers, hidden, heads, heads_of_keys, inner, tokens, words;
};
constexpr std::array<NamedTransformer, 4> transformers{{
    {"llama-2-7b", 32, 4096, 32, 32, 11008, 4096, 32000},
    {"llama-2-70b", 80, 8192, 64, 8, 28672, 4096, 32000},
    {"llama-3-8b", 32, 4096, 32, 8, 14336, 8192, 128256},
    {"llama-3-70b", 80, 8192, 64, 8, 28672, 8192, 128256},
}};

}  // namespace

const std::vector<std::string>& named_transformers() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    all.reserve(transformers.size());
    for (const NamedTransformer& one : transformers) all.emplace_back(one.name);
    return all;
  }();
  return names;
}

Transformer transformer_of(std::string_view name) {
  for (const NamedTransformer& one : transformers)
    if (name == one.name)
      return {.architecture = Transformer::Architecture::llama,
              .layers = one.layers,
              .hidden = one.hidden,
              .heads = one.heads,
              .heads_of_keys = one.heads_of_keys,
              .inner = one.inner,
              .sequence = one.tokens,
              .vocabulary = one.words};
  throw_error(ErrorCode::unknown_name, "there is no transformer ", name);
}

const std::vector<std::string>& named_models() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all{"resnet-50", "bert-base", "gpt-2"};
    all.insert(all.end(), named_transformers().begin(), named_transformers().end());
    return all;
  }();
  return names;
}

std::vector<ParameterTensor> parameters_of(std::string_view model) {
  if (model == "resnet-50") return resnet_50();
  if (model == "bert-base") return bert_base();
  if (model == "gpt-2") return gpt_2();
  return llama(transformer_of(model));
}

}  // namespace collsim
