// SPDX-License-Identifier: Apache-2.0
#include "app/commands/measured_answers.hpp"

#include <fmt/format.h>

#include "app/scenario/vocabulary.hpp"

namespace collsim {
namespace {

constexpr std::int64_t most_ranks_of_a_log = 1'000'000;

}  // namespace

void AnswerOptions::declare(Options& command) {
  command.value("--op", operation, "NAME",
                "the collective, where the log does not name it: all-gather, or all_gather_perf");
  command.integer("--ranks", ranks, "how many ranks took part", 1, most_ranks_of_a_log);
  command.integer("--nodes", nodes, "on how many nodes", 1, most_ranks_of_a_log);
  command.value("--dtype", dtype, "TYPE", "element type");
  command.value("--gpu", gpu, "NAME", "model of the GPUs: \"H100 SXM\"");
}

MeasuredAnswers AnswerOptions::read() const {
  MeasuredAnswers answers;
  answers.ranks = ranks;
  answers.nodes = nodes;
  answers.gpu = gpu;
  answers.operation = known_operation(operation);
  if (!operation.empty() && answers.operation.empty())
    throw UsageError(fmt::format("--op: there is no collective{}",
                                 did_you_mean(operation, operation_words().allowed)));
  answers.dtype = element_type_words().canonical(dtype).value_or(std::string());
  if (answers.dtype.empty() && element_bytes(dtype)) answers.dtype = dtype;  // such as f8e4m3
  if (!dtype.empty() && answers.dtype.empty())
    throw UsageError(fmt::format("--dtype: there is no element type{}",
                                 did_you_mean(dtype, element_type_words().allowed)));
  if (ranks && nodes && *ranks % *nodes != 0)
    throw UsageError(fmt::format("--ranks {} on --nodes {}: not as many on each", *ranks, *nodes));
  return answers;
}

const Preset* preset_of(const MeasuredTable& table) {
  const Preset* const named = find_preset(table.preset);
  return named != nullptr ? named : find_preset(preset_for_gpu(table.gpu));
}

bool are_gpus_of(const MeasuredTable& table, const Preset& preset) {
  const Preset* const by_gpu = find_preset(preset_for_gpu(table.gpu));
  const auto kind = [](const Preset& of) { return of.written.find("gpu")->string(); };
  return table.gpu.empty() || (by_gpu != nullptr && kind(*by_gpu) == kind(preset));
}

}  // namespace collsim
