// SPDX-License-Identifier: Apache-2.0
#include "app/explain/step_explanation.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "app/explain/step_internal.hpp"
#include "app/explain/variations.hpp"
#include "app/study/run_step.hpp"
#include "topo/turns.hpp"

namespace collsim {
namespace {

constexpr std::uint64_t most_recorded_steps = 2'000'000;
constexpr std::uint64_t most_recorded_of_fewer_ranks = 4'000'000;
// Of one run that is simulated, where that is to be done 4 or some 20 times more.
constexpr std::uint64_t most_messages_of_a_knob = 2'000'000;
constexpr std::uint64_t most_messages_of_a_setting = 500'000;

// A message has an instruction at each end, and signals come with it.
constexpr std::uint64_t instructions_of_a_message = 3;

// Of the ranks that stand for all.
std::uint64_t simulated_messages(const CaseResult& row, const Workload& workload) {
  if (row.engine != Engine::symmetry) return row.messages;
  if (row.evened) return row.messages / static_cast<std::uint64_t>(workload.size());
  return row.messages / Turns::common(workload.turns(), workload.turns()).order();
}

// The path of `chosen`; false: there are too many steps to record.
bool record_path(const Case& chosen, StepExplanation& result,
                 std::uint64_t most = most_recorded_steps) {
  if (result.row.messages > most) return false;
  try {
    const Simulation recorded = record_step(chosen, most);
    explain_step_path(chosen, recorded, result);
    result.every_step_recorded = true;
  } catch (const Error& error) {
    if (error.code() != ErrorCode::too_large) throw;
  }
  return result.every_step_recorded;
}

// Of what there are fewer in a smaller step, and how many there are now.
struct Multiple {
  std::string path;
  std::int64_t now = 1, of_one = 1;  // of one microbatch
};

// Microbatches are alike, as replicas are.
std::optional<Multiple> microbatches_of(const StepExplanation& step, const JsonValue& workload) {
  const auto count = step.row.step->microbatches;
  if (!count || *count < 2) return std::nullopt;
  const JsonValue* const model = workload.find("model");
  const JsonValue* const transformer = model == nullptr ? nullptr : model->find("transformer");
  const JsonValue* const global =
      transformer == nullptr ? nullptr : transformer->find("global_batch");
  if (global != nullptr && global->integer())
    return Multiple{"workload.model.transformer.global_batch", *count, *global->integer() / *count};
  return Multiple{"workload." + step.scheme + ".microbatches", *count, 1};
}

// Fewer messages might be sent under another one, which would be a second change.
std::shared_ptr<StepExplanation> step_under_protocol_of(const StepExplanation& whole) {
  auto smaller = std::make_shared<StepExplanation>();
  if (whole.row.protocol)
    smaller->changes.emplace_back("workload.protocol", std::string(to_string(*whole.row.protocol)));
  return smaller;
}

// Replicas are alike: ever fewer ranks, but two whole nodes at least where there are several.
std::shared_ptr<StepExplanation> step_of_fewer_ranks(Variations& variations, const Case& chosen,
                                                     const StepExplanation& whole) {
  const auto ranks = static_cast<std::int64_t>(chosen.step->workload.size());
  const std::vector<int>& dims = chosen.cluster->topology.dims();
  const bool has_nodes = dims.size() == 2 && ranks > dims[1];
  const std::int64_t least = has_nodes ? 2 * std::int64_t{dims[1]} : 2;
  for (std::int64_t some = ranks / 2; some >= least; some /= 2) {
    // A rank of a ring sends to every other.
    const double part = static_cast<double>(some) / static_cast<double>(ranks);
    const double messages = static_cast<double>(whole.row.messages) * part * part;
    if (2 * messages > static_cast<double>(most_recorded_of_fewer_ranks)) continue;
    auto smaller = step_under_protocol_of(whole);
    smaller->changes.emplace_back("workload.ranks", some);
    try {
      const Case one = variations.with(smaller->changes);
      smaller->row = run_step(one);
      smaller->scheme = whole.scheme;
      smaller->machine = one.cluster->description;
      if (!record_path(one, *smaller, most_recorded_of_fewer_ranks)) continue;
      explain_step_knobs(one, variations, *smaller);
      return smaller;
    } catch (const Error&) {
      continue;  // there is no such step
    }
  }
  return nullptr;
}

// The same step with one replica, then with ever fewer microbatches, until it can be recorded.
std::shared_ptr<StepExplanation> smaller_step(Variations& variations, const JsonValue& workload,
                                              const Case& chosen, const StepExplanation& whole) {
  const auto microbatches = microbatches_of(whole, workload);
  std::int64_t replicas = 1;
  const JsonValue* const train = workload.find("train");
  if (train != nullptr && train->find("dp") != nullptr)
    replicas = train->find("dp")->integer().value_or(1);
  const std::int64_t stages = train != nullptr && train->find("pp") != nullptr
                                  ? train->find("pp")->integer().value_or(1)
                                  : 1;
  // Interleaved stages take microbatches by their number.
  const auto half = [&](std::int64_t m) {
    return m / 2 >= stages ? m / 2 / stages * stages : m / 2;
  };
  const auto ranks = static_cast<std::int64_t>(chosen.step->workload.size());
  for (std::int64_t m = microbatches ? microbatches->now : 1; m >= 1; m = half(m)) {
    const auto parts =
        static_cast<std::uint64_t>((microbatches ? microbatches->now : 1) * replicas);
    const std::uint64_t messages = whole.row.messages / parts * static_cast<std::uint64_t>(m);
    if (messages > most_recorded_steps / instructions_of_a_message) continue;
    auto smaller = step_under_protocol_of(whole);
    const std::size_t held = smaller->changes.size();
    if (replicas > 1) {
      smaller->changes.emplace_back("workload.train.dp", std::int64_t{1});
      smaller->changes.emplace_back("workload.ranks", ranks / replicas);
    }
    if (microbatches && (m < microbatches->now || microbatches->of_one > 1))
      smaller->changes.emplace_back(microbatches->path,
                                    m * std::max<std::int64_t>(1, microbatches->of_one / replicas));
    if (smaller->changes.size() == held) break;
    try {
      const Case one = variations.with(smaller->changes);
      smaller->row = run_step(one);
      smaller->scheme = whole.scheme;
      smaller->machine = one.cluster->description;
      if (record_path(one, *smaller)) return smaller;
    } catch (const Error&) {
      continue;  // there is no such step
    }
  }
  const bool has_replicas = whole.scheme == "ddp" || whole.scheme == "fsdp";
  return has_replicas ? step_of_fewer_ranks(variations, chosen, whole) : nullptr;
}

}  // namespace

StepExplanation explain_step(const Scenario& scenario, std::size_t point, const Case& chosen) {
  StepExplanation result;
  result.row = run_step(chosen);
  result.scheme = chosen.step->scheme;
  result.machine = chosen.cluster->description;
  Diagnostics ignored;  // the case was made before
  ClusterCache clusters(scenario);
  const JsonValue workload = read_point(scenario, point, {}, clusters, ignored).workload;
  Variations variations(scenario, point);
  if (!record_path(chosen, result))
    result.smaller = smaller_step(variations, workload, chosen, result);
  const std::uint64_t messages = simulated_messages(result.row, chosen.step->workload);
  if (messages <= most_messages_of_a_knob) explain_step_knobs(chosen, variations, result);
  if (messages <= most_messages_of_a_setting)
    explain_step_settings(variations, scenario.document, workload, result);
  return result;
}

}  // namespace collsim
