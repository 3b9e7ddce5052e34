// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cmath>
#include <string>
#include <utility>

#include "app/output/comparison_table.hpp"
#include "app/output/writers.hpp"
#include "app/results/results.hpp"
#include "app/scenario/vocabulary.hpp"

namespace collsim {
namespace {

// Appends a member without looking for one of the same name.
void add(JsonValue::Object& object, std::string_view key, JsonValue value) {
  object.push_back({std::string(key), {}, std::move(value)});
}

// JSON has no infinity.
JsonValue number(std::optional<double> value) {
  return value && std::isfinite(*value) ? JsonValue(*value) : JsonValue();
}

// The places of values are of no interest to readers of results, but cost nothing.
JsonValue to_value(const Params& params) {
  JsonValue::Object object;
  object.reserve(params.size());
  for (const auto& [path, value] : params) add(object, path, value);
  return object;
}

JsonValue to_value(const ExpectationOutcome& outcome) {
  JsonValue::Object object;
  add(object, "id", outcome.id);
  add(object, "ok", outcome.ok);
  add(object, "checked", outcome.checked);
  add(object, "failed", outcome.failed);
  add(object, "worst", number(outcome.worst));
  if (outcome.left_out > 0) {
    add(object, "left_out", outcome.left_out);
    add(object, "why_left_out", outcome.why_left_out);
  }
  if (!outcome.why.empty()) add(object, "why", outcome.why);
  if (!outcome.skipped.empty()) add(object, "skipped", outcome.skipped);
  if (!outcome.failure.empty()) add(object, "failure", outcome.failure);
  return object;
}

JsonValue to_value(const Warning& warning) {
  return JsonValue::object({{"code", warning.code}, {"message", warning.message}});
}

JsonValue to_value(NoMeasurement::Why why) {
  switch (why) {
    case NoMeasurement::Why::unavailable: return "unavailable";
    case NoMeasurement::Why::too_large: return "too-large";
    case NoMeasurement::Why::bad_schedule: return "bad-schedule";
    case NoMeasurement::Why::stuck: return "stuck";
    case NoMeasurement::Why::failed: return "failed";
    case NoMeasurement::Why::interrupted: return "interrupted";
  }
  return "unknown";
}

JsonValue measured_to_value(const CaseResult& row) {
  if (!row.measured) return {};
  const Measured& measured = *row.measured;
  JsonValue::Object object;
  add(object, "time_s", number(measured.times.median_s));
  add(object, "min_s", number(measured.times.min_s));
  add(object, "max_s", number(measured.times.max_s));
  const bool scatter = !measured.has_too_few_runs() && !measured.is_average;
  add(object, "spread", scatter ? number(measured.times.spread) : JsonValue());
  add(object, "noisy", measured.is_noisy());
  if (measured.lag_s) add(object, "lag_s", number(measured.lag_s));
  if (!measured.doubt.empty()) add(object, "doubt", measured.doubt);
  add(object, "error", number(row.error()));
  add(object, "data", to_string(measured.data));
  if (!measured.wrong_data.empty()) add(object, "wrong_data", measured.wrong_data);
  if (!row.step) {
    add(object, "algbw_bytes_per_s", number(row.measured_algbw()));
    add(object, "busbw_bytes_per_s",
        number(row.measured_algbw() * busbw_factor(row.operation, row.ranks)));
  }
  add(object, "backend", measured.backend);
  add(object, "protocol",
      measured.is_average ? JsonValue() : JsonValue(to_string(measured.protocol)));
  add(object, "paced", measured.paced);
  add(object, "iters", measured.iterations);
  if (measured.is_average) add(object, "average", true);
  if (!measured.ran.empty()) add(object, "ran", measured.ran);
  add(object, "device", measured.device);
  add(object, "notes", JsonValue::array(measured.notes));
  if (!measured.file.empty()) add(object, "file", measured.file);
  if (!measured.own_name.empty())
    add(object, "mpi",
        JsonValue::object({{"function", measured.own_name},
                           {"time_s", number(measured.own_times.median_s)},
                           {"min_s", number(measured.own_times.min_s)},
                           {"max_s", number(measured.own_times.max_s)},
                           {"spread", number(measured.own_times.spread)}}));
  return object;
}

JsonValue comparison_to_value(const Results& results) {
  const Comparison& how = *results.comparison;
  const ComparisonCounts counts = count_verdicts(results);
  JsonValue::Object object;
  add(object, "backend", how.backend);
  if (!how.file.empty()) add(object, "file", how.file);
  add(object, "protocol", how.of_averages ? JsonValue() : JsonValue(to_string(how.protocol)));
  add(object, "paced", how.paced);
  add(object, "max_error", number(how.max_error));
  add(object, "rows", counts.rows);
  add(object, "not_measured", counts.unmeasured);
  add(object, "wrong_data", counts.wrong_data);
  add(object, "too_few_runs", counts.too_few_runs);
  add(object, "too_noisy", counts.noisy);
  add(object, "beyond_max_error", counts.beyond);
  add(object, "median_error", number(counts.median_error));
  add(object, "p95_error", number(counts.p95_error));
  add(object, "worst_error", number(counts.worst_error));
  add(object, "below_class", JsonValue::array(beyond_class(results, ClassSide::below)));
  add(object, "above_class", JsonValue::array(beyond_class(results, ClassSide::above)));
  return object;
}

// Nobody has measured such machines: no errors are known.
JsonValue to_value(const ErrorClass& of) {
  JsonValue value = JsonValue::object({{"machines", of.machines}, {"tables", of.tables}});
  if (!of.outside.empty()) value.set("outside", of.outside);
  if (of.tables == 0) return value;
  if (of.forced) value.set("forced", true);
  if (of.own_logs) value.set("own_logs", true);
  value.set("rows", of.rows);
  value.set("half_within", number(of.half));
  value.set("most_within", number(of.most));
  value.set("unseen_half_within", of.unseen_half ? number(*of.unseen_half) : JsonValue());
  value.set("unseen_most_within", of.unseen_most ? number(*of.unseen_most) : JsonValue());
  return value;
}

JsonValue by_communicator(const StepResult& step) {
  JsonValue::Object object;
  for (const StepResult::Communicator& one : step.communicators)
    add(object, one.name,
        JsonValue::object({{"hidden_s", one.hidden_s}, {"exposed_s", one.exposed_s}}));
  return object;
}

JsonValue to_value(const StepResult::OfRank& rank) {
  return JsonValue::object({{"compute_s", rank.compute_s},
                            {"hidden_s", rank.hidden_s},
                            {"exposed_s", rank.exposed_s},
                            {"idle_s", rank.idle_s},
                            {"end_s", rank.end_s},
                            {"longest_call_s", rank.longest_call_s},
                            {"gives_up_s", rank.gives_up_s}});
}

// Null where there is no job, so that all rows of a sweep have the same keys.
void add_job(JsonValue::Object& object, const std::optional<StepResult::Job>& job) {
  const StepResult::Job one = job.value_or(StepResult::Job{});
  add(object, "useful", job ? JsonValue(one.useful) : JsonValue());
  add(object, "job_s", one.time_s);
  add(object, "checkpoint_interval_s", one.interval_s);
  add(object, "best_interval_s", one.best_interval_s);
  add(object, "steps_done_twice", one.steps_done_twice);
}

void add_measured(JsonValue::Object& object, const CaseResult& row) {
  add(object, "measured", measured_to_value(row));
  if (row.not_measured)
    add(object, "not_measured",
        JsonValue::object(
            {{"why", to_value(row.not_measured->why)}, {"reason", row.not_measured->reason}}));
}

JsonValue step_to_value(const CaseResult& row) {
  const StepResult& step = *row.step;
  JsonValue::Object object;
  add(object, "params", to_value(row.params));
  add(object, "workload", step.scheme);
  add(object, "ranks", row.ranks);
  if (row.protocol) add(object, "protocol", to_string(*row.protocol));
  add(object, "step_s", row.time_s());
  add(object, "analytic_s", row.analytic ? number(row.analytic->seconds) : JsonValue());
  add(object, "formula", row.analytic ? JsonValue(row.analytic->formula) : JsonValue());
  add(object, "bound_s", row.bound.seconds());
  add(object, "bound_bandwidth_s", row.bounds.bandwidth.seconds());
  add(object, "bound_compute_s", row.bounds.compute.seconds());
  add(object, "compute_s", step.compute_s);
  add(object, "forward_s", step.phases.forward_s);
  add(object, "backward_s", step.phases.backward_s);
  add(object, "other_work_s", step.phases.other_s);
  add(object, "hidden_s", step.hidden_s);
  add(object, "exposed_s", step.exposed_s);
  add(object, "bubble", step.bubble);
  add(object, "buckets", step.buckets);
  add(object, "microbatches", step.microbatches);
  add(object, "activations", JsonValue::array(step.activations));
  add(object, "timeout_s", step.timeout_s);
  add(object, "least_timeout_s", step.least_timeout_s());
  if (step.work) {
    add(object, "mfu", step.work->mfu);
    add(object, "hfu", step.work->hfu);
    add(object, "tokens_per_s", step.work->tokens_per_s);
  }
  if (step.memory) {
    add(object, "memory_bytes", JsonValue::array(step.memory->bytes));
    add(object, "out_of_memory",
        step.memory->runs_out.empty() ? JsonValue() : JsonValue(step.memory->runs_out));
  }
  add_job(object, step.job);
  add(object, "messages", row.messages);
  add(object, "wire_bytes", row.wire_bytes);
  add(object, "by_communicator", by_communicator(step));
  add(object, "by_rank",
      JsonValue::array(step.ranks, [](const StepResult::OfRank& rank) { return to_value(rank); }));
  add(object, "engine", to_string(row.engine));
  add(object, "fingerprint", fmt::format("{:016x}", row.fingerprint));
  if (row.measured || row.not_measured) add_measured(object, row);
  return object;
}

}  // namespace

JsonValue search_to_value(const Search& search) {
  return JsonValue::object({{"candidates", search.candidates},
                            {"simulated", search.simulated},
                            {"ruled_out", search.ruled_out},
                            {"by_formula", search.formulas},
                            {"unpromising", search.unpromising},
                            {"too_large", JsonValue::array(search.too_large)}});
}

JsonValue row_to_value(const CaseResult& row) {
  if (row.step) return step_to_value(row);
  JsonValue::Object object;
  constexpr std::size_t members = 32;
  object.reserve(members);
  add(object, "params", to_value(row.params));
  add(object, "op", to_string(row.operation));
  add(object, "algorithm", row.algorithm);
  if (row.protocol) add(object, "protocol", to_string(*row.protocol));
  if (row.nccl) add(object, "nccl_algorithm", to_string(*row.nccl));
  if (row.protocol) add(object, "nccl_protocol", to_string(nccl_protocol_of(*row.protocol)));
  if (row.protocol) add(object, "kernel_s", row.kernel.seconds());
  if (row.protocol) add(object, "host_s", row.host.seconds());
  if (row.error_class) add(object, "error_class", to_value(*row.error_class));
  if (row.calibrated) add(object, "calibrated", *row.calibrated);
  add(object, "ranks", row.ranks);
  add(object, "size_bytes", row.size);
  add(object, "dtype", element_type_word(row.type));
  add(object, "reduction", row.reduction ? JsonValue(to_string(*row.reduction)) : JsonValue());
  add(object, "root", row.root);
  if (row.search) add(object, "search", search_to_value(*row.search));
  add(object, "chunks", row.chunks);
  add(object, "channels", row.channels);
  add(object, "time_s", number(row.time_s()));
  add(object, "analytic_s", row.analytic ? number(row.analytic->seconds) : JsonValue());
  add(object, "bound_s", number(row.bound.seconds()));
  add(object, "bound_bandwidth_s", number(row.bounds.bandwidth.seconds()));
  add(object, "bound_latency_s", number(row.bounds.latency.seconds()));
  add(object, "bound_compute_s", number(row.bounds.compute.seconds()));
  if (!row.bound_cut.empty()) add(object, "bound_cut", row.bound_cut);
  add(object, "algbw_bytes_per_s", number(row.algbw()));
  add(object, "busbw_bytes_per_s", number(row.busbw()));
  add(object, "bottleneck_bandwidth_bytes_per_s", number(row.bottleneck_bandwidth));
  add(object, "messages", row.messages);
  add(object, "wire_bytes", row.wire_bytes);
  const ClosedForm* const form = row.analytic ? &*row.analytic : nullptr;
  add(object, "formula", form != nullptr ? JsonValue(form->formula) : JsonValue());
  add(object, "formula_exact", form != nullptr ? JsonValue(form->exact) : JsonValue());
  add(object, "best_chunks", form != nullptr ? number(form->best_chunks) : JsonValue());
  add(object, "engine", to_string(row.engine));
  add(object, "fingerprint", fmt::format("{:016x}", row.fingerprint));
  add_measured(object, row);
  return object;
}

JsonValue to_value(const Results& results) {
  JsonValue::Object object;
  add(object, "collsim", COLLSIM_VERSION);
  add(object, "format", 1);
  add(object, "name", results.name);
  if (!results.title.empty()) add(object, "title", results.title);
  add(object, "description", results.description);
  add(object, "complete", results.complete);
  add(object, "points", results.points);
  add(object, "axes", JsonValue::array(results.axes));
  add(object, "scenario", results.scenario);
  add(object, "rows", JsonValue::array(results.rows, row_to_value));
  if (std::vector<std::string> sureness = sureness_lines(results); !sureness.empty())
    add(object, "how_sure", JsonValue::array(sureness));
  if (results.comparison) add(object, "comparison", comparison_to_value(results));
  add(object, "expect", JsonValue::array(results.expect, [](const ExpectationOutcome& one) {
        return to_value(one);
      }));
  add(object, "warnings",
      JsonValue::array(results.warnings, [](const Warning& warning) { return to_value(warning); }));
  return object;
}

}  // namespace collsim
