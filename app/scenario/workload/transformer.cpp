// SPDX-License-Identifier: Apache-2.0
//
// "transformer" of a workload's model: the numbers of its authors; times and bytes of its layers
// follow from them and from the device.
#include <fmt/format.h>

#include <algorithm>

#include "app/json/screen_text.hpp"
#include "app/scenario/vocabulary.hpp"
#include "app/scenario/workload/workload_internal.hpp"
#include "collectives/workloads/named_models.hpp"

namespace collsim {
namespace {

// Stated limits, far above what anyone trains, so that no product of them overflows.
constexpr std::int64_t max_blocks = 10'000;
constexpr std::int64_t max_width = 1'000'000;
constexpr std::int64_t max_tokens = 100'000'000;
constexpr std::int64_t max_batch = 10'000'000;

int degree(const JsonValue& scheme, const char* key, int otherwise) {
  const JsonValue* const written = scheme.find(key);
  const auto value = written == nullptr ? std::nullopt : written->integer();
  return value && *value >= 1 && *value <= max_width ? static_cast<int>(*value) : otherwise;
}

// Of layers, with their gradients, that a rank of "fsdp" has whole at once.  In its backward pass:
// one that computes and its gradients; gathered ahead, the layer before (post: when the computation
// has ended), and while that computes, the gradients that are still being scattered.
int whole_layers_of(const JsonValue& fsdp) {
  const JsonValue* const prefetch = fsdp.find("prefetch");
  const auto is = [&](const char* word) {
    return prefetch != nullptr && *prefetch == JsonValue(word);
  };
  const int backward = is("none") ? 2 : is("post") ? 3 : 4;
  return std::max(degree(fsdp, "unsharded", 2), backward);
}

}  // namespace

// What is wrong with the degrees is the business of the scheme's reader.
TrainingLayout layout_of(const std::string& scheme, const JsonValue* written, int ranks) {
  static const JsonValue none = JsonValue::object();
  const JsonValue& options = written != nullptr && written->is_object() ? *written : none;
  const int all = std::max(ranks, 1);
  TrainingLayout layout;
  const bool train = scheme == "train";
  const JsonValue* const sequence = options.find("sequence_parallel");
  layout.sequence_parallel = sequence != nullptr && *sequence == JsonValue(true);
  const JsonValue* const schedule = options.find("schedule");
  if (schedule != nullptr && *schedule == JsonValue("interleaved"))
    layout.chunks = degree(options, "chunks", 2);
  if (scheme == "fsdp") layout.zero = degree(options, "zero", 3);
  if (train) layout.zero = degree(options, "zero", 0);
  layout.fused_attention = scheme == "fsdp" || scheme == "ddp";
  layout.keeps_otherwise = scheme == "data-parallel" || scheme == "parameter-server" ||
                           degree(options, "devices_per_replica", 1) > 1;
  layout.tp = scheme == "tensor" ? all : train ? degree(options, "tp", 1) : 1;
  layout.pp = scheme == "pipeline" ? all : train ? degree(options, "pp", 1) : 1;
  layout.cp = train ? degree(options, "cp", 1) : 1;
  layout.dp = std::max(1, all / layout.tp / layout.pp / layout.cp);
  if (train) layout.dp = degree(options, "dp", layout.dp);
  const std::int64_t replicas = std::int64_t{layout.dp} * layout.cp;
  layout.sharded_by = static_cast<int>(std::min<std::int64_t>(replicas, max_ranks));
  if (train && replicas == 1) layout.zero = 0;  // nobody to share with
  if (layout.zero == 3) layout.most_whole = whole_layers_of(options);
  if (layout.zero == 2) layout.most_whole = 2;
  if (layout.zero == 3 && !train)
    layout.sharded_by = std::min(degree(options, "hybrid", layout.dp), all);
  return layout;
}

namespace {

// A name gives what is not written.
void read_shape(ObjectReader& reader, Transformer& transformer) {
  using Architecture = Transformer::Architecture;
  static const Vocabulary names{.what = "transformer", .allowed = named_transformers()};
  static const Vocabulary architectures{.what = "architecture", .allowed = {"gpt", "llama"}};
  if (!reader.has("name")) reader.need({"layers", "hidden", "heads", "seq"});
  if (const auto name = reader.word("name", names)) transformer = transformer_of(*name);
  const bool is_gpt = transformer.architecture == Architecture::gpt;
  const std::string architecture =
      reader.word("architecture", architectures, is_gpt ? "gpt" : "llama");
  transformer.architecture = architecture == "gpt" ? Architecture::gpt : Architecture::llama;
  transformer.layers = reader.integer("layers", 1, max_blocks, transformer.layers);
  transformer.hidden = reader.integer("hidden", 1, max_width, transformer.hidden);
  transformer.heads = reader.integer("heads", 1, max_width, transformer.heads);
  const std::int64_t inner = usual_inner(transformer.architecture, transformer.hidden);
  transformer.inner =
      reader.integer("ffn", 1, 4 * max_width, transformer.inner > 0 ? transformer.inner : inner);
  if (transformer.heads > 0 && transformer.hidden % transformer.heads != 0)
    reader.wrong("heads", "does-not-fit",
                 fmt::format("{} values of a token cannot be divided evenly among {}",
                             transformer.hidden, count_text(transformer.heads, "head")));
  const std::int64_t keys = transformer.heads_of_keys;
  transformer.heads_of_keys =
      reader.integer("kv_heads", 1, max_width, keys > 0 ? keys : transformer.heads);
  if (transformer.heads % transformer.heads_of_keys != 0)
    reader.wrong("kv_heads", "does-not-fit",
                 fmt::format("{} of attention cannot share {} of keys and values evenly",
                             count_text(transformer.heads, "head"), transformer.heads_of_keys));
  transformer.sequence = reader.integer("seq", 1, max_tokens, transformer.sequence);
  transformer.vocabulary = reader.integer("vocab", 0, max_tokens, transformer.vocabulary);
}

// Each rank of a tensor group has whole heads; of fewer keys than ranks, several have the same.
void read_spread(ObjectReader& reader, const Transformer& transformer, int tp) {
  const auto unfit = [&](const char* key, const std::string& heads) {
    reader.wrong(key, "does-not-fit",
                 fmt::format("{} cannot be spread evenly over a tensor group of {}", heads,
                             count_text(tp, "rank")));
  };
  if (transformer.heads % tp != 0)
    unfit("heads", count_text(transformer.heads, "head"));
  else if (transformer.heads_of_keys % tp != 0 && tp % transformer.heads_of_keys != 0)
    unfit("kv_heads", count_text(transformer.heads_of_keys, "head") + " of keys and values");
}

}  // namespace

TransformerReading read_transformer(ObjectReader& model, const TrainingLayout& layout) {
  using Recompute = Transformer::Recompute;
  static const Vocabulary recomputes{.what = "recomputation",
                                     .allowed = {"none", "selective", "full"}};
  static const Vocabulary attentions{
      .what = "attention", .allowed = {"plain", "fused"}, .aliases = {{"flash", "fused"}}};
  static const Vocabulary losses{.what = "loss", .allowed = {"plain", "fused"}};
  ObjectReader reader(*model.raw("transformer"), model.pointer_of("transformer"),
                      model.diagnostics());
  TransformerReading read;
  Transformer& transformer = read.transformer;
  transformer.vocabulary = megatron_vocabulary;
  read_shape(reader, transformer);
  read_spread(reader, transformer, layout.tp);
  if (transformer.sequence % layout.cp != 0)
    reader.wrong("seq", "does-not-fit",
                 fmt::format("{} tokens cannot be spread evenly over {} (\"cp\")",
                             with_commas(transformer.sequence), count_text(layout.cp, "rank")));
  transformer.micro_batch = reader.integer("micro_batch", 1, max_batch, 1);
  const auto global = reader.integer("global_batch", 1, max_batch);
  const TrainingType type = read_training_type(reader, "float16");
  transformer.type = type.type;
  transformer.has_8_bits = type.has_8_bits;
  const std::string recompute = reader.word("recompute", recomputes, "none");
  transformer.recompute = recompute == "full"        ? Recompute::full
                          : recompute == "selective" ? Recompute::selective
                                                     : Recompute::none;
  const char* const usual = layout.fused_attention ? "fused" : "plain";
  transformer.fused_attention = reader.word("attention", attentions, usual) == "fused";
  transformer.fused_loss = reader.word("loss", losses, "plain") == "fused";
  const std::int64_t at_once = transformer.micro_batch * layout.dp;
  if (global && *global % at_once != 0)
    reader.wrong("global_batch", "does-not-fit",
                 fmt::format("{} sequences are no whole number of microbatches of {} on {}",
                             with_commas(*global), transformer.micro_batch,
                             count_text(layout.dp, "replica")),
                 {}, fmt::format("write a multiple of {}", at_once));
  else if (global)
    read.microbatches = *global / at_once;
  model.resolve("transformer", reader.finish());
  return read;
}

StepWork work_of(const TransformerReading& read, const TrainingDevice& device,
                 const TrainingLayout& layout, const TrainingStep& step) {
  const Transformer& model = read.transformer;
  const double micro = static_cast<double>(step.microbatches.value_or(1)) * layout.dp;
  StepWork work;
  work.tokens = micro * static_cast<double>(model.micro_batch * model.sequence);
  work.flop = micro * flop(model);
  Transformer once = model;
  once.recompute = Transformer::Recompute::none;
  work.model_flop = micro * flop(once);
  const Device& rates = device.device;
  work.peak = (model.has_8_bits ? rates.flops_of_8_bits : rates.flops) * layout.tp * layout.pp *
              layout.cp * layout.dp;
  return work;
}

// The first pieces have one more where layers do not divide evenly.
double layers_of_stage(std::int64_t layers, const TrainingLayout& layout, int stage) {
  const std::int64_t pieces = std::int64_t{layout.pp} * layout.chunks;
  if (layers < pieces) return static_cast<double>(layers) / layout.pp;
  std::int64_t count = 0;
  for (std::int64_t piece = stage; piece < pieces; piece += layout.pp)
    count += layers / pieces + (piece < layers % pieces ? 1 : 0);
  return static_cast<double>(count);
}

// Parameters are spread evenly over the stages, as the pipeline's layers are, but for those before
// and after all layers.
namespace {

// A GPT's last stage has the table of words too, for its logits.
double parameters_of_stage(const Transformer& model, const TrainingLayout& layout, int stage) {
  auto owned = static_cast<double>(parameters_of_layer(model)) *
               layers_of_stage(model.layers, layout, stage);
  if (stage == 0) owned += static_cast<double>(parameters_before_layers(model));
  if (stage + 1 < layout.pp) return owned;
  owned += static_cast<double>(parameters_after_layers(model));
  if (layout.pp > 1 && model.architecture == Transformer::Architecture::gpt)
    owned += static_cast<double>(model.vocabulary * model.hidden);
  return owned;
}

}  // namespace

StepMemory memory_of(const TransformerReading& read, const TrainingDevice& device,
                     const TrainingLayout& layout, const TrainingStep& step) {
  const Transformer& model = read.transformer;
  StepMemory memory{.most_bytes = {}, .device = device.memory};
  const TensorGroup group = layout.tensor_group();
  const auto pieces = static_cast<std::int64_t>(layout.pp) * layout.chunks;
  memory.activation_bytes =
      activation_bytes(model, group, 1, 1) / static_cast<double>(std::max(model.layers, pieces));
  const double of_parameter = static_cast<double>(size_of(model.type)) / layout.tp;
  memory.whole_bytes = static_cast<double>(parameters_of_layer(model)) * of_parameter;
  // With the first layer comes what is before it, with the last one what is behind it.
  const double beyond_layers =
      layout.most_whole == 0
          ? 0
          : of_parameter * static_cast<double>(std::max(parameters_before_layers(model),
                                                        parameters_after_layers(model)));
  for (int stage = 0; stage < layout.pp; ++stage) {
    const auto number = static_cast<std::size_t>(stage);
    const double held = number < step.activations.size() ? step.activations[number] : 1;
    const double of_stage = layers_of_stage(model.layers, layout, stage);
    const double layers = of_stage * static_cast<double>(std::max(model.layers, pieces)) /
                          static_cast<double>(model.layers);
    memory.most_whole.push_back(layout.most_whole_of(of_stage));
    memory.kept_bytes.push_back(
        parameters_of_stage(model, layout, stage) / layout.tp *
            bytes_per_parameter(layout.zero, layout.sharded_by, size_of(model.type)) +
        bytes_while_computing(model, group, stage + 1 == layout.pp) + beyond_layers);
    memory.most_bytes.push_back(memory.kept_bytes.back() +
                                held * layers / layout.chunks * memory.activation_bytes +
                                memory.most_whole.back() * memory.whole_bytes);
  }
  return memory;
}

}  // namespace collsim
