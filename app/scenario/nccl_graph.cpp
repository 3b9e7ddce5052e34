// SPDX-License-Identifier: Apache-2.0
#include "app/scenario/nccl_graph.hpp"

namespace collsim {
namespace {

constexpr std::int64_t most_channels = 64;  // NCCL's

const Vocabulary& words_of_gpus() {
  static const Vocabulary words{.what = "GPU",
                                .allowed = {"volta", "ampere", "hopper", "blackwell"}};
  return words;
}
const Vocabulary& words_of_cpus() {
  static const Vocabulary words{.what = "CPU", .allowed = {"intel", "amd", "arm"}};
  return words;
}
const Vocabulary& words_of_paths() {
  static const Vocabulary words{
      .what = "path", .allowed = {"nvlink", "pci"}, .aliases = {{"pcie", "pci"}}};
  return words;
}

double gigabytes_per_second_of(Bandwidth bandwidth) {
  return static_cast<double>(bandwidth.bytes_per_second()) / 1e9;
}

std::optional<NcclChannels> read_channels(ObjectReader& owner, std::string_view key) {
  const JsonValue* const written = owner.raw(key);
  if (written == nullptr) return std::nullopt;
  ObjectReader reader(*written, owner.pointer_of(key), owner.diagnostics());
  NcclChannels read;
  read.channels = static_cast<int>(reader.integer("channels", 1, most_channels).value_or(1));
  const std::optional<Bandwidth> intra = reader.bandwidth("intra");
  const std::optional<Bandwidth> inter = reader.bandwidth("inter");
  reader.need({"channels", "intra"});
  owner.resolve(key, reader.finish());
  if (!intra) return std::nullopt;
  read.intra = gigabytes_per_second_of(*intra);
  read.inter = inter ? gigabytes_per_second_of(*inter) : read.intra;
  return read;
}

}  // namespace

JsonValue to_value(const NcclGraph& graph) {
  JsonValue value = JsonValue::object();
  if (!graph.gpu.empty()) value.set("gpu", graph.gpu);
  if (!graph.cpu.empty()) value.set("cpu", graph.cpu);
  if (!graph.gpu.empty()) value.set("path", graph.path);
  return value;
}

NcclGraph read_nccl_graph(ObjectReader& owner, std::string_view key) {
  NcclGraph read;
  const JsonValue* const written = owner.raw(key);
  if (written == nullptr) return read;
  ObjectReader reader(*written, owner.pointer_of(key), owner.diagnostics());
  read.gpu = reader.word("gpu", words_of_gpus()).value_or("");
  read.cpu = reader.word("cpu", words_of_cpus()).value_or("");
  read.path = reader.word("path", words_of_paths()).value_or("");
  read.ring = read_channels(reader, "ring");
  read.tree = read_channels(reader, "tree");
  read.nvls = read_channels(reader, "nvls");
  read.collnet = read_channels(reader, "collnet");
  read.same_channels = reader.boolean("same_channels");
  owner.resolve(key, reader.finish());
  return read;
}

}  // namespace collsim
