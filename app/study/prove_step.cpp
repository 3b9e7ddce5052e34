// SPDX-License-Identifier: Apache-2.0
#include "app/study/prove_step.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "app/json/screen_text.hpp"
#include "app/scenario/quantities.hpp"
#include "app/scenario/workload/program.hpp"
#include "app/scenario/workload/workload.hpp"
#include "app/study/run_step.hpp"
#include "collectives/workload_checker.hpp"
#include "collectives/workload_data.hpp"

namespace collsim {
namespace {

std::string_view word_of(WorkloadFault::Kind kind) {
  switch (kind) {
    case WorkloadFault::Kind::mismatch: return "mismatch";
    case WorkloadFault::Kind::missing: return "missing";
    case WorkloadFault::Kind::deadlock: return "deadlock";
    case WorkloadFault::Kind::unreceived: return "unreceived";
    case WorkloadFault::Kind::not_a_member: return "not-a-member";
    case WorkloadFault::Kind::race: return "race";
    case WorkloadFault::Kind::wrong_data: return "wrong-data";
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

// What else is proved where the workload says what it computes with.
std::string data_text(const Workload& workload) {
  if (!workload.data()) return {};
  const auto& claims = workload.data()->claims;
  const auto claimed = [&](WorkloadData::Claim::Kind kind) {
    return std::any_of(claims.begin(), claims.end(),
                       [kind](const auto& one) { return one.kind == kind; });
  };
  std::string text = "; no stream touches data that another one may still use";
  if (claimed(WorkloadData::Claim::Kind::mean) || claimed(WorkloadData::Claim::Kind::part_of_mean))
    text += ", the optimizer reads the mean of all gradients, each counted once";
  if (claimed(WorkloadData::Claim::Kind::sum))
    text += ", the optimizer reads all gradients, each counted once";
  if (claimed(WorkloadData::Claim::Kind::same)) text += ", and replicas are the same afterwards";
  return text;
}

// The same step where it has less room.
struct StricterReports {
  WorkloadReport rendezvous, one_at_a_time;
};

StricterReports stricter_reports(const TrainingStep& step) {
  StricterReports reports;
  // The sends of schemes are posted on purpose.
  const Workload& workload = asked_for(step);
  if (step.program) reports.rendezvous = check(workload, {Sends::rendezvous});
  if (workload.communicators().size() > 1)
    reports.one_at_a_time = check(workload, {.collectives_at_a_time = 1});
  return reports;
}

std::string proved_text(const WorkloadReport& report, const StricterReports& stricter,
                        const TrainingStep& step, const Sources& sources) {
  std::string text = fmt::format(
      "{} on {} proved, {} and {}: all members of a group call the same in the same "
      "order, every message is received, and no rank waits for ever{}\n",
      step.scheme, count_text(step.workload.size(), "rank"),
      count_text(static_cast<std::int64_t>(report.calls), "collective"),
      count_text(static_cast<std::int64_t>(report.messages), "message"),
      data_text(asked_for(step)));
  if (stricter.rendezvous.fault)
    text +=
        "but it would hang where a send waits for its receive (rendezvous), as long "
        "messages of MPI do:\n" +
        fault_text(*stricter.rendezvous.fault, step, sources);
  else if (step.program && report.messages > 0)
    text += "also where a send waits for its receive (rendezvous)\n";
  if (stricter.one_at_a_time.fault)
    text +=
        "but it would hang where a GPU runs one collective at a time, in the order in which they "
        "are called:\n" +
        fault_text(*stricter.one_at_a_time.fault, step, sources);
  else if (step.workload.communicators().size() > 1)
    text += "also where a GPU runs one collective at a time\n";
  return text;
}

// Ranks that give up at the same time.
using GiveUps = std::map<Time, std::vector<std::size_t>>;

GiveUps give_ups_of(const Simulation& run, const Workload& workload) {
  GiveUps all;
  for (std::size_t position = 0; position < run.activities.size(); ++position) {
    const Time time = run.activities[position].gives_up;
    if (time != Time::never())
      all[time].push_back(workload.rank(static_cast<int>(position)).index());
  }
  return all;
}

// "ranks 0, 1 and 3", of many the first ones.
std::string ranks_text(const std::vector<std::size_t>& ranks) {
  constexpr std::size_t most = 8;
  if (ranks.size() == 1) return fmt::format("rank {}", ranks.front());
  if (ranks.size() > most)
    return fmt::format("ranks {}, ... ({} of them)",
                       fmt::join(ranks.begin(), ranks.begin() + most, ", "), ranks.size());
  return fmt::format("ranks {} and {}", fmt::join(ranks.begin(), ranks.end() - 1, ", "),
                     ranks.back());
}

std::string give_ups_text(const GiveUps& all) {
  constexpr std::size_t most = 4;
  std::string text;
  std::size_t lines = 0;
  for (const auto& [time, ranks] : all) {
    if (++lines > most) return text + "  ...\n";
    text += fmt::format("  {} {} up at {}\n", ranks_text(ranks),
                        ranks.size() == 1 ? "gives" : "give", to_text(time));
  }
  return text;
}

// Who gives up when at the time-out, which is a matter of times: the only one here.
void add_give_ups(const Case& one_case, StepProof& proof) {
  const Time timeout = *one_case.step->timeout;
  const Simulation run = run_until_it_hangs(one_case);
  const GiveUps all = give_ups_of(run, one_case.step->workload);
  Time least;
  for (const RankActivity& rank : run.activities) least = std::max(least, rank.longest_call);
  proof.text += fmt::format("with its time-out of {}{}\n{}", exact_time(timeout),
                            all.empty() ? " nobody gives up" : ":", give_ups_text(all));
  if (!run.hangs && !all.empty())
    proof.text += fmt::format("  a time-out of {} would pass\n", exact_time(least));
  JsonValue list = JsonValue::array();
  for (const auto& [time, ranks] : all)
    for (const std::size_t rank : ranks)
      list.items().push_back(JsonValue::object({{"rank", rank}, {"gives_up_s", time.seconds()}}));
  proof.value.set("timeout",
                  JsonValue::object(
                      {{"timeout_s", timeout.seconds()},
                       {"gives_up", std::move(list)},
                       {"least_timeout_s", run.hangs ? JsonValue() : JsonValue(least.seconds())}}));
}

// Whether times mean something: where calls or messages do not fit together, they do not.
bool has_times(const std::optional<WorkloadFault>& fault) {
  return !fault || fault->kind == WorkloadFault::Kind::deadlock ||
         fault->kind == WorkloadFault::Kind::missing || concerns_data_only(*fault);
}

}  // namespace

StepProof prove_step(const Case& one_case, const Sources& sources) {
  constexpr int most_ranks = 131'072;
  const TrainingStep& step = *one_case.step;
  if (step.workload.size() > most_ranks)
    throw_error(ErrorCode::too_large,
                fmt::format("too large to check: {}, and {} are the most; check fewer replicas",
                            count_text(step.workload.size(), "rank"), with_commas(most_ranks)));
  const WorkloadReport report = check(step);
  const StricterReports stricter = report.fault ? StricterReports{} : stricter_reports(step);
  StepProof proof;
  proof.proved = !report.fault;
  proof.value = JsonValue::object(
      {{"proved", proof.proved},
       {"actions", report.actions},
       {"collectives", report.calls},
       {"messages", report.messages},
       {"fault", fault_value(report.fault, step, sources)},
       {"rendezvous_fault", fault_value(stricter.rendezvous.fault, step, sources)},
       {"one_at_a_time_fault", fault_value(stricter.one_at_a_time.fault, step, sources)}});
  proof.text = report.fault ? fault_text(*report.fault, step, sources)
                            : proved_text(report, stricter, step, sources);
  if (step.timeout && has_times(report.fault)) add_give_ups(one_case, proof);
  return proof;
}

}  // namespace collsim
