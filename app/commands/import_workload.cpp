// SPDX-License-Identifier: Apache-2.0
#include "app/commands/import_workload.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "app/json/screen_text.hpp"
#include "app/output/text_table.hpp"
#include "app/scenario/quantities.hpp"

namespace collsim {
namespace {

// Collectives that are alike in all but their order.
struct AlikeCalls {
  std::string operation, group, type;
  Bytes size = 0;
  std::size_t count = 0;
};

std::vector<AlikeCalls> calls_of(const ImportedWorkload& workload) {
  std::vector<AlikeCalls> calls;
  std::map<std::string, std::size_t> seen;
  for (const ImportedWorkload::Item& item : workload.items) {
    if (!item.operation) continue;
    AlikeCalls call{std::string(to_string(*item.operation)), workload.groups[item.group].name,
                    std::string(to_string(item.type)), item.bytes};
    const std::string key =
        fmt::format("{} {} {} {}", call.operation, call.group, call.type, call.size);
    const auto [at, is_new] = seen.emplace(key, calls.size());
    if (is_new) calls.push_back(std::move(call));
    ++calls[at->second].count;
  }
  return calls;
}

std::string calls_table(const std::vector<AlikeCalls>& calls) {
  constexpr std::size_t most = 40;
  TextTable table;
  for (const char* const heading : {"calls", "size"})
    table.add_column(heading, TextTable::Align::right);
  for (const char* const heading : {"collective", "group", "type"})
    table.add_column(heading, TextTable::Align::left);
  for (std::size_t i = 0; i < std::min(most, calls.size()); ++i)
    table.add_row({std::to_string(calls[i].count), exact_size(calls[i].size), calls[i].operation,
                   calls[i].group, calls[i].type});
  std::string text = table.text();
  if (calls.size() > most) text += fmt::format("  and {} other kinds\n", calls.size() - most);
  return text;
}

}  // namespace

void WorkloadOptions::declare(Options& command) {
  command.integer("--model-ranks", model_ranks,
                  "how many ranks share a model, where a workload does not say", 1,
                  max_workload_ranks);
  command.value("--cycle", cycle, "TIME", "what a cycle of ASTRA-sim is (default: 1ns)");
}

WorkloadAnswers WorkloadOptions::read(std::optional<std::int64_t> ranks) const {
  WorkloadAnswers answers;
  answers.ranks = ranks.value_or(0);
  answers.model_ranks = model_ranks.value_or(0);
  if (cycle.empty()) return answers;
  const auto time = parse_time(cycle);
  if (!time.value || time.value->ps() <= 0)
    throw UsageError(
        fmt::format("--cycle {}: {}", cycle, time.value ? "must not be 0" : time.error.message));
  answers.cycle_us = static_cast<double>(time.value->ps()) / 1e6;
  return answers;
}

std::string workload_in_words(const ImportedWorkload& workload, const std::string& file) {
  double work_us = 0;
  Bytes bytes = 0;
  std::size_t calls = 0;
  for (const ImportedWorkload::Item& item : workload.items) {
    work_us += item.operation ? 0 : item.us;
    bytes += item.bytes;
    calls += item.operation ? 1 : 0;
  }
  std::string text = printable(file) + ": " + workload.format;
  if (workload.ranks > 0) text += ", " + count_text(workload.ranks, "rank");
  for (const std::string& gpu : workload.gpus) text += ", " + printable(gpu);
  text += '\n';
  if (calls > 0)
    text += fmt::format("  {} of {} bytes, {:.6g} ms of other work on {}\n",
                        count_text(calls, "collective"), with_commas(bytes), work_us / 1e3,
                        count_text(workload.streams.size(), "stream"));
  for (const std::string& note : workload.notes) text += "  note: " + printable(note) + '\n';
  for (const std::string& assumed : workload.assumed)
    text += "  assumed: " + printable(assumed) + '\n';
  for (const std::string& question : workload.questions)
    text += "  missing: " + printable(question) + '\n';
  if (calls > 0) text += '\n' + calls_table(calls_of(workload));
  return text;
}

}  // namespace collsim
