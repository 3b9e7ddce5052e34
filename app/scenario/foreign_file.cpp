// SPDX-License-Identifier: Apache-2.0
#include "app/scenario/foreign_file.hpp"

#include <algorithm>
#include <cctype>
#include <initializer_list>
#include <string>
#include <vector>

#include "app/import/workload/imported_workload.hpp"

namespace collsim {
namespace {

bool holds_any(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::any_of(words.begin(), words.end(), [&](std::string_view word) {
    return text.find(word) != std::string_view::npos;
  });
}

bool is_json_lines_of_results(std::string_view head) {
  return head.starts_with("{\"params\":");
}

bool is_csv_of_results(std::string_view head) {
  return head.front() != '{' && head.front() != '[' &&
         holds_any(head.substr(0, head.find_first_of("\r\n")), {",engine,fingerprint"});
}

// By its first line: half of the columns that such a table needs, under whatever names.
bool looks_like_training_runs(std::string_view line) {
  std::string head = ",";
  for (const char c : line) head += c == ' ' ? '_' : static_cast<char>(std::tolower(c));
  head += ',';
  const std::vector<std::vector<std::string_view>> columns = {
      {",tp,", "tensor"},
      {",pp,", "pipeline"},
      {",dp,", "data_parallel", "replicas"},
      {"batch", ",gbs,"},
      {"micro", ",mbs,"},
      {"hidden", "d_model"},
      {"heads"},
      {"layers"},
      {",seq", "sequence_length", "context"},
      {"iter", "step", "mfu", "tflop"}};
  const auto known = std::ranges::count_if(columns, [&](const auto& words) {
    return std::ranges::any_of(words, [&](auto word) { return head.find(word) != head.npos; });
  });
  return 2 * static_cast<std::size_t>(known) >= columns.size();
}

// Tables by their columns, and schedules of GOAL.
std::optional<ForeignFile> foreign_lines(std::string_view head) {
  const std::string_view line = head.substr(0, head.find_first_of("\r\n"));
  if (line.starts_with("num_ranks "))
    return ForeignFile{"a schedule in GOAL",
                       "collsim does not read GOAL; write it as a \"program\" of a workload"};
  if (line.find(',') == std::string_view::npos) return std::nullopt;
  const auto has = [&](std::string_view column) { return line.find(column) != line.npos; };
  if (looks_like_training_runs(line))
    return ForeignFile{"a table of training runs",
                       "collsim calibrate --from-training FILE --preset NAME fits a machine to it; "
                       "it needs the columns tp, pp, dp, global_batch, micro_batch, hidden, heads, "
                       "layers, seq and iteration_ms"};
  if (has("parameter") && has("elements"))
    return ForeignFile{"a list of a model's parameters",
                       "collsim does not read these; a scenario takes a table of layers as "
                       "\"model\": {\"layers\": \"FILE\"}"};
  return std::nullopt;
}

}  // namespace

std::optional<ForeignFile> foreign_file(std::string_view text) {
  constexpr std::size_t enough = 64U << 10U;  // a log may begin with pages of NCCL_DEBUG
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return std::nullopt;
  const std::string_view head = text.substr(first, enough);
  constexpr std::string_view whole_results =
      "collsim run SCENARIO -o results.json writes what report and diff read";
  if (is_json_lines_of_results(head))
    return ForeignFile{"a list of rows as JSON lines", whole_results};
  if (is_csv_of_results(head)) return ForeignFile{"a table of rows as CSV", whole_results};
  if (head.front() == '{') return std::nullopt;
  if (const auto lines = foreign_lines(head)) return lines;
  const std::size_t next = text.find_first_not_of(" \t\r\n", first + 1);
  if (text[first] == '[' && next != std::string_view::npos &&
      (text[next] == '{' || text[next] == ']'))
    return std::nullopt;  // "[1,0]<stdout>:" is a line of a log
  if (head.front() == '<') {
    if (holds_any(head, {"<algo"}))
      return ForeignFile{"an MSCCL file",
                         "a scenario takes it as \"algorithm\": {\"msccl\": \"FILE\"}"};
    if (holds_any(head, {"<system"}))
      return ForeignFile{"a topology that NCCL wrote",
                         "collsim topo import FILE reads it; a scenario takes it as \"cluster\": "
                         "{\"nccl_topo\": \"FILE\"}"};
    return ForeignFile{"XML", "scenarios are JSON"};
  }
  if (holds_any(head, {"\"scenario\"", "\"cluster\""})) return std::nullopt;  // with a mistake
  if (holds_any(head, {"nThread", "nccl-tests", "rccl-tests", "out-of-place", "redop", "busbw"}))
    return ForeignFile{"a log of nccl-tests",
                       "collsim compare FILE sets it beside the prediction, collsim import FILE "
                       "shows what it says",
                       true};
  if (holds_any(head, {"NCCL INFO"}))
    return ForeignFile{"a log of NCCL", "collsim topo import FILE reads its lines on the topology"};
  if (holds_any(head, {"GPU0", "Weight between", "P2P"}))
    return ForeignFile{"a table of links between GPUs",
                       "collsim topo import FILE reads it; a scenario takes it as \"cluster\": "
                       "{\"topo_matrix\": \"FILE\"}"};
  return std::nullopt;
}

std::optional<ForeignFile> foreign_json(const JsonValue& document) {
  if (document.is_array() && !document.items().empty())
    return foreign_json(document.items().front());
  if (!document.is_object()) return std::nullopt;
  const auto has = [&](std::string_view key) { return document.find(key) != nullptr; };
  if (is_own_trace(document)) return ForeignFile{"a trace that collsim wrote", use_of_own_trace};
  if (has("traceEvents"))
    return ForeignFile{"a trace",
                       "collsim import FILE makes a scenario of a training step's trace"};
  if (has("measured") && has("rows"))
    return ForeignFile{"a measured table", "collsim compare FILE sets it beside the prediction"};
  if (has("collsim") && has("format"))
    return ForeignFile{"a file of results", "collsim report FILE -o report.html draws them"};
  if (has("collective") && has("gpus") && has("protocol"))
    return ForeignFile{
        "an execution plan of MSCCL++",
        "collsim does not read these; a scenario takes programs of MSCCL, in XML, as "
        "\"algorithm\": {\"msccl\": \"FILE\"}"};
  if (has("collective") || has("workload"))
    return ForeignFile{.what = "a scenario",
                       .hint = "collsim run FILE simulates it, collsim explain FILE says why",
                       .is_scenario = true};
  if (has("cluster"))
    return ForeignFile{.what = "a machine",
                       .hint =
                           "collsim predict OP --machine FILE and scenarios, by \"include\", "
                           "take it",
                       .is_scenario = true};
  return std::nullopt;
}

}  // namespace collsim
