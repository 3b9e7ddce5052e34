// SPDX-License-Identifier: Apache-2.0
//
// Throws bytes at everything that reads workloads of other programs: traces, execution traces, text
// workloads, tables.  Whatever comes in, there must be a workload, questions,
// or a diagnostic, never a crash.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "app/import/workload/imported_workload.hpp"
#include "app/json/value.hpp"

using namespace collsim;

namespace {

void must(bool condition) {
  if (!condition) std::abort();
}

void look(const std::string& text, const WorkloadAnswers& answers) {
  Sources sources;
  Diagnostics diagnostics;
  const std::uint32_t source = sources.add(Sources::Kind::file, "fuzz", text);
  const auto workload = read_workload(source, sources, answers, diagnostics);
  must(workload.has_value() == diagnostics.empty());
  (void)to_text(diagnostics, sources);
  if (!workload) return;
  for (std::size_t i = 0; i < workload->items.size(); ++i) {
    const ImportedWorkload::Item& item = workload->items[i];
    must(item.stream < workload->streams.size() && item.group < workload->groups.size());
    must(std::isfinite(item.us) && item.us >= 0 && item.bytes >= 0);
    for (const std::size_t other : item.after) must(other < i);
  }
  if (workload->questions.empty()) (void)to_json(scenario_value(*workload, "fuzz"));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(data, data + size);
  look(text, {});
  look(text, {.ranks = 8, .model_ranks = 2, .cycle_us = 1});
  return 0;
}
