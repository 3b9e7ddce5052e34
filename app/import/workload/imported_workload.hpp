// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/json/diagnostics.hpp"
#include "collectives/collective.hpp"

namespace collsim {

// What a rank puts on its streams, as a trace or a workload of another program says it.  All ranks
// do the same, each in its own groups.
struct ImportedWorkload {
  struct Group {
    std::string name;
    std::vector<std::vector<int>> ranks;  // those that do the same beside each other; none: all
  };
  struct Item {
    std::size_t stream = 0;              // of `streams`
    double us = 0;                       // of work, if there is no operation
    std::optional<Operation> operation;  // on `bytes`, as scenarios count them
    Bytes bytes = 0;
    ElementType type = ElementType::f32;
    std::size_t group = 0;           // of `groups`
    std::vector<std::size_t> after;  // earlier items, of other streams
  };

  std::string format;             // "PyTorch profiler trace"
  std::int64_t ranks = 0;         // 0: neither the file nor the user says
  std::vector<std::string> gpus;  // models, as the file names them
  std::vector<std::string> streams = {"main"};
  std::vector<Group> groups = {{"world", {}}};
  std::vector<Item> items;             // in an order in which one after the other could run
  std::vector<std::string> notes;      // what the file says beyond that, what was left out of it
  std::vector<std::string> assumed;    // what it does not say, and what was taken instead
  std::vector<std::string> questions;  // what only the user can say; nothing runs before

  std::size_t stream_named(const std::string& name);  // adds it when it is new
  // That of these ranks and, all over the ranks, of others alike: [0, 2] of 4 ranks and [1, 3].
  // Nothing when it is not one of several alike.
  [[nodiscard]] std::optional<std::size_t> group_of(const std::vector<int>& members);
  // The same of `size` ranks, each `stride` from the next.
  [[nodiscard]] std::optional<std::size_t> group_of(int first, int stride, int size);
};

// What a user says about a workload beyond its file; it wins over the file.
struct WorkloadAnswers {
  std::int64_t ranks = 0;        // 0: not said
  std::int64_t model_ranks = 0;  // that share a model
  double cycle_us = 0;           // ASTRA-sim's unit of time
};

// Stated limits on what is imported: traces are long, but most of a trace is not about GPUs.
inline constexpr std::size_t max_workload_bytes = std::size_t{256} << 20U;
inline constexpr std::size_t max_workload_items = 200'000;
inline constexpr std::int64_t max_workload_ranks = 65'536;

// Whether it is a trace of collsim itself, which is only for viewers.
[[nodiscard]] bool is_own_trace(const JsonValue& document);
inline constexpr std::string_view use_of_own_trace =
    "it is for looking at, in ui.perfetto.dev or chrome://tracing; the scenario that it is of is "
    "what other commands read";

// Reads a workload in any of these formats, which it tells apart by themselves:
//
//   PyTorch's profiler, JSON              read_kineto_trace()
//   PyTorch's execution traces, JSON      read_pytorch_host_trace()
//   Chakra, JSON and protobuf (.et)       read_chakra_json(), read_chakra_protobuf()
//   ASTRA-sim 1, SimAI, AICB, text        read_astra_text()
//   buckets of DDP and NCCL kernels, CSV  read_ddp_table()
//
// Cheap; true for what is near to these, too, such as a compressed trace, so that the refusal says
// what to do.
[[nodiscard]] bool looks_like_workload(std::string_view text);
// Nothing when it is none, or wrong, or holds no collective, which is then in the diagnostics.
[[nodiscard]] std::optional<ImportedWorkload> read_workload(std::uint32_t source,
                                                            const Sources& sources,
                                                            const WorkloadAnswers& answers,
                                                            Diagnostics& diagnostics);

// A scenario with the workload as a program, on a switch with links that are assumed.  There must
// be no questions.
[[nodiscard]] JsonValue scenario_value(const ImportedWorkload& workload, const std::string& file);

}  // namespace collsim
