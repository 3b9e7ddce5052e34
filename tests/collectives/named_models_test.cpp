// SPDX-License-Identifier: Apache-2.0
#include "collectives/workloads/named_models.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "collectives/workloads/workloads.hpp"

namespace collsim {
namespace {

struct PublishedSize {
  const char* model;
  const char* file;  // with every tensor, where somebody has it; null: nobody does
  std::size_t tensors;
  std::int64_t elements;
};
constexpr PublishedSize published_sizes[] = {
    {"resnet-50", "resnet50.csv", 161, 25'557'032},
    {"bert-base", "bert_base.csv", 199, 109'482'240},
    {"gpt-2", "gpt2_small.csv", 148, 124'439'808},
    {"llama-2-7b", "llama2_7b.csv", 291, 6'738'415'616},
    {"llama-2-70b", nullptr, 723, 68'976'648'192},
    {"llama-3-8b", nullptr, 291, 8'030'261'248},
    {"llama-3-70b", nullptr, 723, 70'553'706'496},
};

std::int64_t elements_of(const std::vector<ParameterTensor>& tensors) {
  std::int64_t sum = 0;
  for (const ParameterTensor& tensor : tensors) sum += tensor.elements;
  return sum;
}

TEST(NamedModels, HaveAsManyParametersAsPublished) {
  ASSERT_EQ(named_models().size(), std::size(published_sizes));
  for (const PublishedSize& size : published_sizes) {
    const std::vector<ParameterTensor> tensors = parameters_of(size.model);
    EXPECT_EQ(tensors.size(), size.tensors) << size.model;
    EXPECT_EQ(elements_of(tensors), size.elements) << size.model;
  }
}

// The numbers of a transformer by name give as many parameters as its list of tensors, and as many
// products, but for those of the norms.
TEST(NamedModels, AgreeWithTheirNumbers) {
  for (const std::string& name : named_transformers()) {
    const Transformer model = transformer_of(name);
    const std::vector<ParameterTensor> tensors = parameters_of(name);
    EXPECT_EQ(parameters(model), elements_of(tensors)) << name;
    double products = 0;
    for (const ParameterTensor& tensor : tensors)
      if (tensor.name.find("norm") == std::string::npos)
        products += static_cast<double>(tensor.elements * tensor.positions);
    const auto tokens = static_cast<double>(model.sequence);
    const auto layers = static_cast<double>(model.layers);
    const auto width = static_cast<double>(model.hidden);
    const double attention = 4 * tokens * tokens * width * layers;
    EXPECT_NEAR(flop(model) / 3 / (2 * products + attention), 1, 1e-12) << name;
  }
}

// 4.1 billion products of ResNet-50's convolutions on an image, by its paper 3.8 with the stride in
// another place.
TEST(NamedModels, KnowTheProductsOfResNet50) {
  double products = 0;
  for (const ParameterTensor& tensor : parameters_of("resnet-50"))
    products += static_cast<double>(tensor.elements * tensor.positions);
  EXPECT_NEAR(products, 4.1e9, 0.05e9);
}

TEST(NamedModels, ListTensorsInTheOrderOfPyTorch) {
  const char* const named = std::getenv("COLLSIM_SHARED");
  const std::filesystem::path shared =
      named != nullptr ? std::filesystem::path(named)
                       : std::filesystem::path(COLLSIM_SOURCE_DIR) / "../shared";
  if (!std::filesystem::exists(shared / "samples/models"))
    GTEST_SKIP() << "skipped: no ../shared/samples, and COLLSIM_SHARED names none";
  for (const PublishedSize& size : published_sizes) {
    if (size.file == nullptr) continue;
    std::ifstream file(shared / "samples/models" / size.file);
    std::string line;
    std::getline(file, line);
    for (const ParameterTensor& tensor : parameters_of(size.model)) {
      ASSERT_TRUE(std::getline(file, line)) << size.file;
      EXPECT_EQ(line.substr(0, line.find(',')), tensor.name);
      EXPECT_EQ(line.substr(line.rfind(',') + 1), std::to_string(tensor.elements)) << tensor.name;
    }
    EXPECT_FALSE(std::getline(file, line)) << size.file;
  }
}

// Seen on the wire in a trace of two GPUs (HolisticTraceAnalysis, tests/data/nccl_parser_config).
TEST(NamedModels, GoOutInTheBucketsOfPyTorch) {
  Model model;
  for (const ParameterTensor& tensor : parameters_of("resnet-50"))
    model.layers.push_back({.name = tensor.name, .gradients = tensor.elements * 4});
  auto layer = model.layers.rbegin();
  std::vector<std::int64_t> elements;
  for (const int layers : layers_of_buckets(Ddp{}, model)) {
    elements.push_back(0);
    for (int i = 0; i < layers; ++i, ++layer) elements.back() += layer->gradients / 4;
  }
  EXPECT_EQ(elements,
            (std::vector<std::int64_t>{2'049'000, 7'875'584, 6'563'840, 6'637'568, 2'431'040}));
}

}  // namespace
}  // namespace collsim
