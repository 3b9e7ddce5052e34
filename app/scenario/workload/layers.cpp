// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "app/json/screen_text.hpp"
#include "app/scenario/collective_internal.hpp"
#include "app/scenario/quantities.hpp"
#include "app/scenario/vocabulary.hpp"
#include "app/scenario/workload/workload_internal.hpp"
#include "collectives/workloads/named_models.hpp"

namespace collsim {
namespace {

using BytesOfLayer = Bytes Layer::*;

// Of the layers from `from` to `to`, of which parts count as such.
double bytes_between(const Model& model, BytesOfLayer bytes, double from, double to) {
  double sum = 0;
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    const auto begin = static_cast<double>(i);
    const double part = std::min(to, begin + 1) - std::max(from, begin);
    if (part > 0) sum += part * static_cast<double>(model.layers[i].*bytes);
  }
  return sum;
}

double bytes_of_stage(const Model& model, BytesOfLayer bytes, const TrainingLayout& layout,
                      int stage) {
  const int pieces = layout.pp * layout.chunks;
  const auto layers = static_cast<int>(model.layers.size());
  // Of whole layers, the first pieces have one more.
  const auto begin = [&](int piece) {
    if (layers < pieces) return static_cast<double>(piece) * layers / pieces;
    const int whole = piece * (layers / pieces) + std::min(piece, layers % pieces);
    return static_cast<double>(whole);
  };
  double sum = 0;
  for (int chunk = 0; chunk < layout.chunks; ++chunk) {
    const int piece = chunk * layout.pp + stage;
    sum += bytes_between(model, bytes, begin(piece), begin(piece + 1));
  }
  return sum;
}

// Stated limits: of a model, and of the bytes of all its layers together.
constexpr std::int64_t max_layers = 100'000;
constexpr double max_model_bytes = 1e18;

Bytes read_bytes(ObjectReader& layer, const char* key, ElementType type) {
  const Bytes bytes = layer.size(key).value_or(0);
  if (!layer.has(key)) layer.resolve(key, exact_size(0));
  if (bytes % size_of(type) != 0)
    layer.wrong(key, "not-whole-elements",
                fmt::format("{} is not a whole number of elements of {} bytes ({})",
                            exact_size(bytes), size_of(type), element_type_word(type)));
  return bytes;
}

class LayersReader {
 public:
  LayersReader(ObjectReader& model, Model& read) : model_(&model), read_(&read) {}

  void read() {
    const JsonValue* written = model_->raw("layers");
    if (written == nullptr) return model_->need({"layers"});
    if (file_read(*written) != nullptr) written = written->find("rows");
    if (!written->is_array() || written->items().empty()) {
      model_->wrong("layers", "wrong-type",
                    written->is_array()
                        ? "a model has at least one layer"
                        : fmt::format("layers are a list, not {}", written->kind_name()),
                    {}, R"(write [{"times": 24, "forward": "3ms", "backward": "6ms"}])");
      return;
    }
    JsonValue rows = JsonValue::array();
    for (std::size_t i = 0; i < written->items().size() && fits_; ++i)
      rows.items().push_back(read_row(written->items()[i], i));
    model_->resolve("layers", std::move(rows));
  }

 private:
  JsonValue read_row(const JsonValue& row, std::size_t number) {
    ObjectReader reader(row, pointer_to(model_->pointer_of("layers"), number),
                        model_->diagnostics());
    Layer layer;
    layer.name = reader.text("name").value_or("");
    const std::int64_t times = reader.integer("times", 1, max_layers, 1);
    layer.forward = reader.time("forward", Time{});
    layer.backward = reader.time("backward", Time{});
    layer.gradients = read_bytes(reader, "gradients", read_->type);
    layer.activations = read_bytes(reader, "activations", read_->type);
    bytes_ += static_cast<double>(times) * static_cast<double>(layer.gradients);
    const bool too_many = static_cast<std::int64_t>(read_->layers.size()) + times > max_layers;
    fits_ = !too_many && bytes_ <= max_model_bytes;
    if (too_many)
      wrong_item(*model_, "layers", number, "too-large",
                 "a model has at most " + with_commas(max_layers) + " layers");
    else if (!fits_)
      wrong_item(*model_, "layers", number, "too-large",
                 "the gradients of all layers together are more than 1e18 bytes");
    if (fits_) read_->layers.insert(read_->layers.end(), static_cast<std::size_t>(times), layer);
    return reader.finish();
  }

  ObjectReader* model_;
  Model* read_;
  double bytes_ = 0;
  bool fits_ = true;
};

// The layers of a model by name are its tensors of parameters; its times are spread over them by
// the FLOP of their products.
void read_named_model(ObjectReader& reader, Model& read) {
  static const Vocabulary words{.what = "model", .allowed = named_models()};
  reader.at_most_one_of({"name", "layers"});
  static_cast<void>(reader.raw("layers"));
  const Time forward = reader.time("forward", Time{});
  const Time backward = reader.time("backward", Time{});
  const auto name = reader.word("name", words);
  if (!name) return;
  const std::vector<ParameterTensor> tensors = parameters_of(*name);
  double all = 0;
  for (const ParameterTensor& tensor : tensors)
    all += static_cast<double>(tensor.elements * tensor.positions);
  const auto part = [&](Time whole, double flop) {
    return Time(std::llround(static_cast<double>(whole.ps()) * flop / all));
  };
  double before = 0;
  for (const ParameterTensor& tensor : tensors) {
    const double after = before + static_cast<double>(tensor.elements * tensor.positions);
    read.layers.push_back({.name = tensor.name,
                           .forward = part(forward, after) - part(forward, before),
                           .backward = part(backward, after) - part(backward, before),
                           .gradients = tensor.elements * size_of(read.type)});
    before = after;
  }
}

}  // namespace

std::optional<StepMemory> memory_of(const Model& model, const TrainingLayout& layout,
                                    const TrainingStep& step) {
  const auto needs_some = [](const Layer& layer) {
    return layer.gradients > 0 || layer.activations > 0;
  };
  if (layout.keeps_otherwise || std::none_of(model.layers.begin(), model.layers.end(), needs_some))
    return std::nullopt;
  Bytes largest = 0;
  for (const Layer& layer : model.layers) largest = std::max(largest, layer.gradients);
  StepMemory memory;
  const Bytes element = size_of(model.type);
  const auto count = static_cast<std::int64_t>(model.layers.size());
  for (int stage = 0; stage < layout.pp; ++stage) {
    const double parameters =
        bytes_of_stage(model, &Layer::gradients, layout, stage) / static_cast<double>(element);
    const auto number = static_cast<std::size_t>(stage);
    const double held = number < step.activations.size() ? step.activations[number] : 1;
    memory.most_bytes.push_back(
        parameters * bytes_per_parameter(layout.zero, layout.sharded_by, element) +
        held * bytes_of_stage(model, &Layer::activations, layout, stage) / layout.chunks +
        layout.most_whole_of(layers_of_stage(count, layout, stage)) * static_cast<double>(largest));
  }
  return memory;
}

TrainingType read_training_type(ObjectReader& model, const std::string& otherwise) {
  static const std::string float8 = "float8";
  static const Vocabulary words = [] {
    Vocabulary all = element_type_words();
    all.allowed.push_back(float8);
    for (const char* other : {"f8", "fp8", "f8e4m3", "f8e5m2", "float8_e4m3fn", "float8_e5m2",
                              "torch.float8_e4m3fn", "torch.float8_e5m2"})
      all.aliases.emplace(other, float8);
    return all;
  }();
  const std::string word = model.word("dtype", words, otherwise);
  if (word == float8) return {ElementType::u8, true};
  return {parse_element_type(word), false};
}

Model read_trained_model(const JsonValue& model, const std::string& pointer,
                         Diagnostics& diagnostics, JsonValue& resolved) {
  ObjectReader reader(model, pointer, diagnostics);
  Model read;
  read.type = read_training_type(reader, "float32").type;
  const bool is_named = reader.has("name");
  if (!is_named) read.forward = reader.time("forward", Time{});
  read.optimizer = reader.time("optimizer", Time{});
  if (is_named)
    read_named_model(reader, read);
  else
    LayersReader(reader, read).read();
  resolved = reader.finish();
  return read;
}

}  // namespace collsim
