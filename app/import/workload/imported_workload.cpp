// SPDX-License-Identifier: Apache-2.0
#include "app/import/workload/imported_workload.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <limits>
#include <utility>

#include "app/import/workload/workload_parts.hpp"
#include "app/json/parse_json.hpp"
#include "app/json/screen_text.hpp"
#include "topo/error.hpp"

namespace collsim {
namespace {

constexpr std::string_view gzip_mark = "\x1F\x8B";

bool is_json_object(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && text[first] == '{';
}

bool has_key(std::string_view text, std::string_view key) {
  return text.find('"' + std::string(key) + '"') != std::string_view::npos;
}

bool is_workload_json(std::string_view text) {
  if (!is_json_object(text) || has_key(text, "scenario")) return false;
  return has_key(text, "traceEvents") || has_key(text, "workload_graph") ||
         (has_key(text, "nodes") && has_key(text, "schema"));
}

// Tables of nsys know every kernel, but not what it sends.
bool is_nsys_table(std::string_view text) {
  const std::string_view head = text.substr(0, std::size_t{64} << 10U);
  const auto has = [&](std::string_view word) { return head.find(word) != std::string_view::npos; };
  return has("ncclDevKernelArgsStorage") || has("Total Time (ns),Instances") ||
         has("Start (ns),Duration (ns)");
}

// Of a trace only what is about GPUs, and of that not the many small things that they do at once.
bool is_of_interest(const JsonValue& event) {
  const JsonValue* const category = event.find("cat");
  if (category == nullptr || !category->is_string()) return false;
  std::string word = category->string();
  for (char& c : word) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (word == "user_annotation") {
    const JsonValue* const name = event.find("name");
    return name != nullptr && name->is_string() &&
           (name->string().starts_with("ProfilerStep#") || name->string().starts_with("nccl:"));
  }
  constexpr std::array kept = {"kernel", "gpu_memcpy", "gpu_memset", "cuda_runtime", "cuda_driver"};
  return std::find(kept.begin(), kept.end(), word) != kept.end();
}

std::optional<ImportedWorkload> read_json(const WorkloadSource& file) {
  ForgottenItems forgotten;
  const auto document = parse_json(file.source, *file.sources, *file.diagnostics,
                                   {.bytes = max_workload_bytes,
                                    .long_list = "traceEvents",
                                    .kept_items = max_json_values,
                                    .keeps = is_of_interest},
                                   forgotten);
  if (!document || !file.diagnostics->empty()) return std::nullopt;
  const auto has_list = [&](std::string_view key) {
    const JsonValue* const list = document->find(key);
    return list != nullptr && list->is_array();
  };
  if (is_own_trace(*document))
    return file.refuse("no-workload", "this is a trace that collsim wrote, not one of a profiler",
                       std::string(use_of_own_trace));
  if (has_list("traceEvents")) return read_kineto_trace(*document, file);
  if (has_list("workload_graph")) return read_chakra_json(*document, file);
  if (has_list("nodes")) return read_pytorch_host_trace(*document, file);
  return file.refuse("no-workload",
                     "there is no list \"traceEvents\", \"workload_graph\" or \"nodes\" at the top "
                     "of this file");
}

// "_all_gather_base" is "allgatherbase".
std::string plain_name_of_pytorch(std::string_view name) {
  std::string letters;
  for (const char c : name)
    if (c != '_' && c != '-')
      letters += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return letters;
}

}  // namespace

Refusal WorkloadSource::wrong(const SourceRange& place, std::string code, std::string message,
                              std::string hint) const {
  return diagnostics->add({.code = std::move(code),
                           .message = std::move(message),
                           .place = place,
                           .hint = std::move(hint)});
}

Refusal WorkloadSource::refuse(std::string code, std::string message, std::string hint) const {
  return wrong({source, 0, 0}, std::move(code), std::move(message), std::move(hint));
}

Refusal WorkloadSource::refuse_call(const SourceRange& place, const std::string& name) const {
  const std::string plain = plain_name_of_pytorch(name);
  if (!plain.starts_with("send") && !plain.starts_with("recv"))
    return wrong(place, "not-collective", "there is no collective " + quoted(name));
  return wrong(
      place, "not-collective",
      fmt::format("\"{}\" is between two ranks, and the trace of one rank does not say what "
                  "the other does",
                  printable(name)),
      "write pipelines as a scheme: {\"pipeline\": {...}}");
}

std::int64_t answered(const char* option, std::int64_t given, std::int64_t said,
                      ImportedWorkload& workload) {
  if (given == 0) return said;
  if (said != 0 && given != said)
    workload.notes.push_back(
        fmt::format("{} {} takes the place of {}, which the file says", option, given, said));
  return given;
}

std::int64_t answered_ranks(const WorkloadSource& file, std::int64_t said, std::int64_t largest,
                            ImportedWorkload& workload) {
  const std::int64_t given = file.answers->ranks;
  if (said == 0 && given >= largest && given > 0) return given;
  return answered("--ranks", given, std::max(said, largest), workload);
}

std::size_t ImportedWorkload::stream_named(const std::string& name) {
  const auto found = std::find(streams.begin(), streams.end(), name);
  if (found == streams.end()) streams.push_back(name);
  return static_cast<std::size_t>(std::find(streams.begin(), streams.end(), name) -
                                  streams.begin());
}

std::optional<std::size_t> ImportedWorkload::group_of(int first, int stride, int size) {
  if (size == ranks) return 0;
  if (first < 0 || stride < 1 || size < 1) return std::nullopt;
  const std::int64_t block = std::int64_t{stride} * size;
  if (ranks < block || ranks % block != 0 || first % block >= stride) return std::nullopt;
  const std::string name = fmt::format("every{}_of{}", stride, size);
  const auto found = std::find_if(groups.begin(), groups.end(),
                                  [&](const Group& group) { return group.name == name; });
  if (found != groups.end()) return static_cast<std::size_t>(found - groups.begin());
  Group group{name, {}};
  for (int start = 0; start < ranks; start += static_cast<int>(block))
    for (int offset = 0; offset < stride; ++offset) {
      group.ranks.emplace_back();
      for (int i = 0; i < size; ++i) group.ranks.back().push_back(start + offset + i * stride);
    }
  groups.push_back(std::move(group));
  return groups.size() - 1;
}

std::optional<std::size_t> ImportedWorkload::group_of(const std::vector<int>& members) {
  if (members.empty()) return std::nullopt;
  const int stride = members.size() < 2 ? 1 : members[1] - members[0];
  for (std::size_t i = 1; i < members.size(); ++i)
    if (members[i] - members[i - 1] != stride) return std::nullopt;
  return group_of(members.front(), stride, static_cast<int>(members.size()));
}

bool is_own_trace(const JsonValue& document) {
  if (!document.is_object()) return false;
  const JsonValue* const job = document.find("distributedInfo");
  const JsonValue* const backend = job == nullptr ? nullptr : job->find("backend");
  return document.find("traceEvents") != nullptr && backend != nullptr && backend->is_string() &&
         backend->string() == "collsim";
}

bool looks_like_workload(std::string_view text) {
  return text.starts_with(gzip_mark) || is_workload_json(text) || looks_like_astra_text(text) ||
         looks_like_ddp_table(text) || looks_like_chakra_protobuf(text) || is_nsys_table(text);
}

std::optional<ImportedWorkload> read_workload(std::uint32_t source, const Sources& sources,
                                              const WorkloadAnswers& answers,
                                              Diagnostics& diagnostics) {
  const WorkloadSource file{source, &sources, &answers, &diagnostics};
  const std::string& text = sources.text(source);
  if (text.size() > max_workload_bytes)
    return file.refuse("too-large",
                       fmt::format("the file is larger than {} MiB", max_workload_bytes >> 20U),
                       "profile one step, without stacks and shapes");
  if (text.starts_with(gzip_mark))
    return file.refuse("compressed", "the file is compressed by gzip",
                       "gunzip it first: gunzip -c FILE.gz | collsim import -");
  std::optional<ImportedWorkload> workload;
  if (is_workload_json(text))
    workload = read_json(file);
  else if (looks_like_ddp_table(text))
    workload = read_ddp_table(file);
  else if (looks_like_astra_text(text))
    workload = read_astra_text(file);
  else if (looks_like_chakra_protobuf(text))
    workload = read_chakra_protobuf(file);
  else if (is_nsys_table(text))
    return file.refuse("no-sizes", "a table of nsys does not say how much its kernels of NCCL send",
                       "import a trace of PyTorch's profiler: it has the sizes");
  else
    return file.refuse("no-workload", "this is no trace and no workload that collsim knows");
  if (workload && workload->items.size() > max_workload_items)
    return file.refuse("too-large",
                       fmt::format("the workload has {} pieces of work and collectives; at most {}",
                                   workload->items.size(), max_workload_items),
                       "import fewer steps");
  return workload;
}

std::optional<Operation> operation_of_pytorch(std::string_view name) {
  const std::string letters = plain_name_of_pytorch(name);
  constexpr std::array<std::pair<std::string_view, Operation>, 9> begins = {{
      {"allreduce", Operation::all_reduce},
      {"allgather", Operation::all_gather},
      {"reducescatter", Operation::reduce_scatter},
      {"broadcast", Operation::broadcast},
      {"reduce", Operation::reduce},
      {"gather", Operation::gather},
      {"scatter", Operation::scatter},
      {"alltoall", Operation::all_to_all},
      {"barrier", Operation::barrier},
  }};
  for (const auto& [word, operation] : begins)
    if (letters.starts_with(word)) return operation;
  return std::nullopt;
}

std::optional<ElementType> type_of_pytorch(std::string_view name) {
  constexpr std::array<std::pair<std::string_view, ElementType>, 15> types = {{
      {"Float", ElementType::f32},
      {"Half", ElementType::f16},
      {"BFloat16", ElementType::bf16},
      {"Double", ElementType::f64},
      {"Long", ElementType::i64},
      {"Int", ElementType::i32},
      {"Short", ElementType::f16},
      {"Byte", ElementType::u8},
      {"Char", ElementType::i8},
      {"Bool", ElementType::u8},
      {"UInt32", ElementType::u32},
      {"UInt64", ElementType::u64},
      {"ComplexFloat", ElementType::f64},
      {"Float8_e4m3fn", ElementType::u8},
      {"Float8_e5m2", ElementType::u8},
  }};
  for (const auto& [word, type] : types)
    if (word == name) return type;
  try {
    return parse_element_type(name);  // as others write it: "float32", "torch.bfloat16"
  } catch (const Error&) {
    return std::nullopt;
  }
}

std::optional<Bytes> collective_bytes(Operation operation, std::int64_t in, std::int64_t out,
                                      ElementType type, int ranks) {
  constexpr std::int64_t most = std::int64_t{1} << 48U;
  if (in < 0 || out < 0 || in > most || out > most) return std::nullopt;
  std::int64_t elements = in > 0 ? in : out;
  if (operation == Operation::all_gather || operation == Operation::gather)
    elements = out > in ? out : in * ranks;
  if (operation == Operation::reduce_scatter && out > in) elements = out * ranks;
  if (operation == Operation::scatter) elements = in > out ? in : out * ranks;
  if (elements > most) return std::nullopt;
  return elements * size_of(type);
}

}  // namespace collsim
