// SPDX-License-Identifier: Apache-2.0
#include "app/measured/measured_table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <charconv>
#include <limits>
#include <utility>

#include "app/json/screen_text.hpp"
#include "app/scenario/vocabulary.hpp"
#include "collectives/collective.hpp"

namespace collsim {
namespace {

bool holds(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

std::string_view launch_words(MeasuredLaunch mode) {
  switch (mode) {
    case MeasuredLaunch::one_thread: return "one thread for all GPUs of a process";
    case MeasuredLaunch::thread_per_gpu: return "a thread per GPU";
    case MeasuredLaunch::process_per_gpu: return "a process per GPU";
    case MeasuredLaunch::unknown: break;
  }
  return "";
}

struct GpuOfPreset {
  std::string_view part;  // of the GPU's name, lower case
  std::string_view preset;
};
// The first that fits; those whose name has another's come before it.  An empty preset: there are
// several such machines.
constexpr std::array<GpuOfPreset, 24> gpus_of_presets = {{
    {"gb300", "gb300-nvl72"},
    {"gb200", "gb200-nvl72"},
    {"gh200", "gh200-quad"},
    {"b300", "dgx-b300"},
    {"b200", "dgx-b200"},
    {"h200", "hgx-h200"},
    {"h800", "hgx-h800"},
    {"h100 pcie", ""},
    {"h100 nvl", ""},
    {"h100-pcie", ""},
    {"h100", "dgx-h100"},
    {"h20", "hgx-h20"},
    {"a100-pcie", "a100-pcie"},
    {"a100 80gb pcie", "a100-pcie"},
    {"a100-sxm", "dgx-a100"},
    {"v100-sxm3", "dgx-2"},
    {"v100-sxm2", "dgx-1-v100"},
    {"mi300x", "mi300x"},
    {"l40s", "l40s"},
    {"rtx 2080 ti", "rtx-2080ti"},
    {"rtx 3090", "rtx-3090"},
    {"rtx 4090", "rtx-4090"},
    {"rtx 5090", "rtx-5090"},
    {"rtx pro 6000", "rtx-pro-6000"},
}};

std::string options_text(const std::vector<std::string>& operations) {
  std::vector<std::string> options;
  options.reserve(operations.size());
  for (const std::string& operation : operations) options.push_back("--op " + operation);
  return fmt::format("{}", fmt::join(options, " or "));
}

}  // namespace

std::string_view to_string(MeasuredLaunch mode) {
  switch (mode) {
    case MeasuredLaunch::one_thread: return "one-thread";
    case MeasuredLaunch::thread_per_gpu: return "thread-per-gpu";
    case MeasuredLaunch::process_per_gpu: return "process-per-gpu";
    case MeasuredLaunch::unknown: break;
  }
  return "";
}

MeasuredLaunch parse_launch_mode(std::string_view text) {
  const std::string words = lower(text);
  if (holds(words, "process per gpu") || holds(words, "process-per-gpu"))
    return MeasuredLaunch::process_per_gpu;
  if (holds(words, "thread per gpu") || holds(words, "thread-per-gpu"))
    return MeasuredLaunch::thread_per_gpu;
  if (holds(words, "driving all") || holds(words, "one thread") || holds(words, "one-thread"))
    return MeasuredLaunch::one_thread;
  return MeasuredLaunch::unknown;
}

std::vector<std::string> questions_about(const MeasuredTable& table) {
  std::vector<std::string> questions;
  if (table.operation.empty())
    questions.push_back("which collective ran? " + (table.candidates.empty()
                                                        ? std::string("--op NAME")
                                                        : options_text(table.candidates)));
  if (!table.ranks) questions.emplace_back("how many ranks took part? --ranks N");
  if (!element_bytes(table.dtype))
    questions.emplace_back("of which type were the elements? --dtype NAME");
  return questions;
}

std::vector<std::string> unknown_facts(const MeasuredTable& table) {
  std::vector<std::string> unknown;
  if (!table.nodes) unknown.emplace_back("nodes (--nodes N)");
  if (table.gpu.empty()) unknown.emplace_back("GPU (--gpu NAME)");
  if (table.library.empty()) unknown.emplace_back("version of NCCL");
  if (table.launch == MeasuredLaunch::unknown) unknown.emplace_back("processes and threads");
  return unknown;
}

void answer(MeasuredTable& table, const MeasuredAnswers& answers) {
  const auto contradict = [&](const char* option, const std::string& given,
                              const std::string& said) {
    table.notes.push_back(fmt::format("{} {} takes the place of {}, which the log says", option,
                                      printable(given), printable(said)));
  };
  const auto replace = [&](const char* option, std::string& there, const std::string& given) {
    if (given.empty()) return;
    if (!there.empty() && !holds(lower(there), lower(given))) contradict(option, given, there);
    there = given;
  };
  const auto replace_count = [&](const char* option, std::optional<std::int64_t>& there,
                                 const std::optional<std::int64_t>& given) {
    if (!given) return;
    if (there && *there != *given)
      contradict(option, std::to_string(*given), std::to_string(*there));
    there = given;
  };
  replace("--op", table.operation, answers.operation);
  replace("--dtype", table.dtype, answers.dtype);
  replace("--gpu", table.gpu, answers.gpu);
  replace_count("--ranks", table.ranks, answers.ranks);
  replace_count("--nodes", table.nodes, answers.nodes);
  // Of its bytes it makes hardly a difference.
  if (table.dtype.empty()) {
    table.dtype = "float32";
    table.notes.emplace_back(
        "assumed: the elements are float32, as of nccl-tests; --dtype NAME says otherwise");
  }
}

std::string description_of(const MeasuredTable& table) {
  std::vector<std::string> parts;
  const std::string what = table.operation.empty()
                               ? fmt::format("{}", fmt::join(table.candidates, " or "))
                               : table.operation;
  std::string first = what.empty() ? "a collective" : what;
  if (element_bytes(table.dtype)) first += " of " + printable(table.dtype);
  if (!table.reduction.empty()) first += " (" + printable(table.reduction) + ")";
  if (table.root) first += fmt::format(", root {}", *table.root);
  parts.push_back(std::move(first));
  std::string ranks = table.ranks ? count_text(*table.ranks, "rank") : "ranks not known";
  if (table.nodes) ranks += " on " + count_text(*table.nodes, "node");
  parts.push_back(std::move(ranks));
  for (const std::string& fact : {table.gpu, table.interconnect, table.library})
    if (!fact.empty()) parts.push_back(printable(fact));
  if (table.launch != MeasuredLaunch::unknown) parts.emplace_back(launch_words(table.launch));
  if (table.iterations) parts.push_back(count_text(*table.iterations, "iteration"));
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string preset_for_gpu(std::string_view gpu) {
  std::string name = lower(gpu);
  for (const auto& [part, preset] : gpus_of_presets)
    if (holds(name, part)) return std::string(preset);
  return {};
}

double in_seconds(double time, double units_per_second) {
  std::array<char, 32> digits{};
  const auto written = std::to_chars(digits.begin(), digits.end(), time / units_per_second,
                                     std::chars_format::scientific, 11);
  double seconds = 0;
  static_cast<void>(std::from_chars(digits.begin(), written.ptr, seconds));
  return seconds;
}

double bus_bandwidth(const MeasuredTable& table, Bytes size, double time_s) {
  if (table.operation.empty() || !table.ranks || !(time_s > 0) || *table.ranks < 1 ||
      *table.ranks > std::numeric_limits<int>::max())
    return 0;
  return static_cast<double>(size) / time_s *
         busbw_factor(parse_operation(table.operation), static_cast<int>(*table.ranks));
}

std::string known_element_type(std::string_view word) {
  return element_type_words().canonical(word).value_or(std::string(word));
}

std::string known_operation(std::string_view word) {
  constexpr std::string_view end_of_programs = "_perf";
  const std::size_t slash = word.rfind('/');
  if (slash != std::string_view::npos) word.remove_prefix(slash + 1);
  if (word.ends_with(end_of_programs)) word.remove_suffix(end_of_programs.size());
  return operation_words().canonical(word).value_or(std::string());
}

std::string known_reduction(std::string_view word) {
  return reduction_words().canonical(word).value_or(std::string());
}

std::optional<Bytes> element_bytes(std::string_view type) {
  if (const std::optional<std::string> known = element_type_words().canonical(type))
    return size_of(parse_element_type(*known));
  if (type.starts_with("f8") || type.starts_with("fp8") || type.starts_with("float8")) return 1;
  return std::nullopt;
}

}  // namespace collsim
