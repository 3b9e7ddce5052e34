// SPDX-License-Identifier: Apache-2.0
#include "app/study/prove_step.hpp"

#include <fmt/format.h>

#include "app/json/screen_text.hpp"
#include "app/scenario/quantities.hpp"
#include "app/scenario/workload/program.hpp"
#include "app/scenario/workload/workload.hpp"
#include "collectives/workload_checker.hpp"

namespace collsim {
namespace {

std::string_view word_of(WorkloadFault::Kind kind) {
  switch (kind) {
    case WorkloadFault::Kind::mismatch: return "mismatch";
    case WorkloadFault::Kind::missing: return "missing";
    case WorkloadFault::Kind::deadlock: return "deadlock";
    case WorkloadFault::Kind::unreceived: return "unreceived";
    case WorkloadFault::Kind::not_a_member: return "not-a-member";
  }
  return "?";
}

// "file.json:7:9"; empty: nobody wrote it.
std::string place_of(const WorkloadSite& site, const TrainingStep& step, const Sources& sources) {
  if (!step.program || site.place >= step.program->places.size()) return {};
  return sources.describe(step.program->places[site.place]);
}

std::string fault_text(const WorkloadFault& fault, const TrainingStep& step,
                       const Sources& sources) {
  std::string text;
  for (std::size_t i = 0; i < fault.sites.size(); ++i) {
    const std::string place = place_of(fault.sites[i], step, sources);
    text += fmt::format("{}{}{}", place, place.empty() ? "" : ": ", printable(fault.sites[i].text));
    text += i + 1 < fault.sites.size() ? ",\n" : "";
  }
  if (fault.kind == WorkloadFault::Kind::deadlock)
    text += fault.sites.size() == 2 ? ": neither can go on" : ": none of them can go on";
  text += "\n";
  if (!fault.hint.empty()) text += "  " + fault.hint + "\n";
  return text;
}

JsonValue fault_value(const std::optional<WorkloadFault>& fault, const TrainingStep& step,
                      const Sources& sources) {
  if (!fault) return {};
  const auto site = [&](const WorkloadSite& one) {
    return JsonValue::object({{"rank", one.rank.index()},
                              {"place", place_of(one, step, sources)},
                              {"message", one.text}});
  };
  return JsonValue::object({{"kind", word_of(fault->kind)},
                            {"sites", JsonValue::array(fault->sites, site)},
                            {"hint", fault->hint}});
}

}  // namespace

StepProof prove_step(const Case& one_case, const Sources& sources) {
  const TrainingStep& step = *one_case.step;
  const WorkloadReport report = check(step.workload);
  // The sends of schemes are posted on purpose.
  WorkloadReport strict;
  if (!report.fault && step.program) strict = check(step.workload, Sends::rendezvous);
  StepProof proof;
  proof.proved = !report.fault;
  proof.value = JsonValue::object({{"proved", proof.proved},
                                   {"actions", report.actions},
                                   {"collectives", report.calls},
                                   {"messages", report.messages},
                                   {"fault", fault_value(report.fault, step, sources)},
                                   {"rendezvous_fault", fault_value(strict.fault, step, sources)}});
  if (report.fault) {
    proof.text = fault_text(*report.fault, step, sources);
    if (step.timeout)
      proof.text += fmt::format("  a rank that waits in a collective gives up after {}\n",
                                exact_time(*step.timeout));
    return proof;
  }
  proof.text = fmt::format(
      "{} on {} proved, {} and {}: all members of a group call the same in the same "
      "order, every message is received, and no rank waits for ever\n",
      step.scheme, count_text(step.workload.size(), "rank"),
      count_text(static_cast<std::int64_t>(report.calls), "collective"),
      count_text(static_cast<std::int64_t>(report.messages), "message"));
  if (strict.fault)
    proof.text +=
        "but it would hang where a send waits for its receive (rendezvous), as long "
        "messages of MPI do:\n" +
        fault_text(*strict.fault, step, sources);
  else if (step.program && report.messages > 0)
    proof.text += "also where a send waits for its receive (rendezvous)\n";
  return proof;
}

}  // namespace collsim
