// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/import/machine_parts.hpp"
#include "app/import/workload/imported_workload.hpp"

// What the readers of workloads share.

namespace collsim {

struct WorkloadSource {
  std::uint32_t source;
  const Sources* sources;
  const WorkloadAnswers* answers;
  Diagnostics* diagnostics;

  [[nodiscard]] const std::string& text() const { return sources->text(source); }
  // NOLINTNEXTLINE(modernize-use-nodiscard): it is reported whether or not the caller refuses
  Refusal wrong(const SourceRange& place, std::string code, std::string message,
                std::string hint = {}) const;
  // Of the whole file.
  // NOLINTNEXTLINE(modernize-use-nodiscard)
  Refusal refuse(std::string code, std::string message, std::string hint = {}) const;
  // A call that PyTorch names so and that is no collective.
  // NOLINTNEXTLINE(modernize-use-nodiscard)
  Refusal refuse_call(const SourceRange& place, const std::string& name) const;
};

[[nodiscard]] std::optional<ImportedWorkload> read_kineto_trace(const JsonValue& document,
                                                                const WorkloadSource& file);
[[nodiscard]] std::optional<ImportedWorkload> read_pytorch_host_trace(const JsonValue& document,
                                                                      const WorkloadSource& file);
[[nodiscard]] std::optional<ImportedWorkload> read_chakra_json(const JsonValue& document,
                                                               const WorkloadSource& file);
[[nodiscard]] bool looks_like_chakra_protobuf(std::string_view bytes);
[[nodiscard]] std::optional<ImportedWorkload> read_chakra_protobuf(const WorkloadSource& file);
[[nodiscard]] bool looks_like_astra_text(std::string_view text);
[[nodiscard]] std::optional<ImportedWorkload> read_astra_text(const WorkloadSource& file);
[[nodiscard]] bool looks_like_ddp_table(std::string_view text);
[[nodiscard]] std::optional<ImportedWorkload> read_ddp_table(const WorkloadSource& file);

// What the user says (0: nothing) or, without it, the file; a note where they contradict.
[[nodiscard]] std::int64_t answered(const char* option, std::int64_t given, std::int64_t said,
                                    ImportedWorkload& workload);
// The same of the number of ranks.  A file that does not say it (0) may still have groups, the
// largest of `largest` ranks: without --ranks that is the number, and fewer contradict it.
[[nodiscard]] std::int64_t answered_ranks(const WorkloadSource& file, std::int64_t said,
                                          std::int64_t largest, ImportedWorkload& workload);

// By PyTorch's names: "_allgather_base", "BFloat16" (of types that collectives do not have, one of
// the same size).  Nothing for what no collective is, such as "send" and "wait".
[[nodiscard]] std::optional<Operation> operation_of_pytorch(std::string_view name);
[[nodiscard]] std::optional<ElementType> type_of_pytorch(std::string_view name);
// What scenarios count of a collective that takes `in` elements of each rank and gives it `out`; 0:
// not said.  Nothing: more than 64 bits.
[[nodiscard]] std::optional<Bytes> collective_bytes(Operation operation, std::int64_t in,
                                                    std::int64_t out, ElementType type, int ranks);

// One kernel of NCCL on a timeline.
struct TracedCollective {
  double begin_us = 0, end_us = 0;
  double ready_us = 0;  // when it was launched and what it waits for was done, at most begin_us
  int stream = 0;
  ImportedWorkload::Item item;
};
struct TracedKernel {
  double begin_us = 0, end_us = 0;
};
// Turns a timeline of one rank into items: computing on the main stream, collectives on those of
// the trace.
//
//   * A collective waits for the computing before its ready_us, and was not yet called while the
//     GPU did nothing: it would have begun.
//   * Where no kernel computes while a collective is under way that ends before computing goes on,
//     the main stream waits for it.
//   * Where it does neither, time passes as if it were work: the host was late.
//
// So the step takes as long as the trace when the collectives take as long as in it.
void replay(std::vector<TracedKernel> kernels, std::vector<TracedCollective> collectives,
            ImportedWorkload& workload);

// A node of a Chakra graph.
struct ChakraNode {
  enum class Kind : std::uint8_t {
    metadata = 1,
    load = 2,
    store = 3,
    compute = 4,
    send = 5,
    receive = 6,
    collective = 7
  };
  std::int64_t id = 0;
  std::string name;
  std::int64_t kind = 0;
  std::vector<std::int64_t> after;
  double us = 0;
  bool on_host = false;
  std::optional<std::int64_t> collective, bytes, operations;
  std::string group;
  bool some_dimensions = false;  // its collective is in some of the network's dimensions only
  SourceRange place;
};
[[nodiscard]] std::optional<ImportedWorkload> workload_of(std::vector<ChakraNode> nodes,
                                                          const WorkloadSource& file);

}  // namespace collsim
