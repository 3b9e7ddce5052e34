// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cmath>
#include <string>
#include <utility>

#include "app/output/writers.hpp"
#include "app/results/comparison.hpp"
#include "app/scenario/vocabulary.hpp"

namespace collsim {
namespace {

// Appends a member without looking for one of the same name.
void add(Value::Object& object, std::string_view key, Value value) {
  object.push_back({std::string(key), {}, std::move(value)});
}

// JSON has no infinity.
Value number(double value) {
  return std::isfinite(value) ? Value(value) : Value();
}

Value integer(std::uint64_t value) {
  return static_cast<std::int64_t>(value);
}

// The places of values are of no interest to readers of results, but cost nothing.
Value to_value(const Params& params) {
  Value::Object object;
  object.reserve(params.size());
  for (const auto& [path, value] : params) add(object, path, value);
  return object;
}

Value to_value(const ExpectationOutcome& outcome) {
  Value::Object object;
  add(object, "id", outcome.id);
  add(object, "ok", outcome.ok);
  add(object, "checked", integer(outcome.checked));
  add(object, "failed", integer(outcome.failed));
  add(object, "worst", number(outcome.worst));
  if (outcome.left_out > 0) {
    add(object, "left_out", integer(outcome.left_out));
    add(object, "why_left_out", outcome.why_left_out);
  }
  if (!outcome.why.empty()) add(object, "why", outcome.why);
  if (!outcome.skipped.empty()) add(object, "skipped", outcome.skipped);
  if (!outcome.failure.empty()) add(object, "failure", outcome.failure);
  return object;
}

Value to_value(const Warning& warning) {
  Value::Object object;
  add(object, "code", warning.code);
  add(object, "message", warning.message);
  return object;
}

template <class Item, class Convert>
Value list_of(const std::vector<Item>& items, const Convert& convert) {
  Value::Array array;
  array.reserve(items.size());
  for (const Item& item : items) array.push_back(convert(item));
  return array;
}

Value to_value(NoMeasurement::Why why) {
  switch (why) {
    case NoMeasurement::Why::unavailable: return "unavailable";
    case NoMeasurement::Why::too_large: return "too-large";
    case NoMeasurement::Why::bad_schedule: return "bad-schedule";
    case NoMeasurement::Why::stuck: return "stuck";
    case NoMeasurement::Why::failed: return "failed";
  }
  return "unknown";
}

Value to_value(const NoMeasurement& none) {
  Value::Object object;
  add(object, "why", to_value(none.why));
  add(object, "reason", none.reason);
  return object;
}

Value measured_to_value(const CaseResult& row) {
  if (!row.measured) return {};
  const Measured& measured = *row.measured;
  Value::Object object;
  add(object, "time_s", number(measured.times.median_s));
  add(object, "min_s", number(measured.times.min_s));
  add(object, "max_s", number(measured.times.max_s));
  add(object, "spread", measured.has_too_few_runs() ? Value() : number(measured.times.spread));
  add(object, "noisy", measured.is_noisy());
  add(object, "error", row.error() ? number(*row.error()) : Value());
  add(object, "data", to_string(measured.data));
  if (!measured.wrong_data.empty()) add(object, "wrong_data", measured.wrong_data);
  add(object, "algbw_bytes_per_s", number(row.measured_algbw()));
  add(object, "busbw_bytes_per_s",
      number(row.measured_algbw() * busbw_factor(row.operation, row.ranks)));
  add(object, "backend", measured.backend);
  add(object, "protocol", to_string(measured.protocol));
  add(object, "paced", measured.paced);
  add(object, "iters", measured.iterations);
  add(object, "device", measured.device);
  add(object, "notes",
      list_of(measured.notes, [](const std::string& note) { return Value(note); }));
  if (!measured.file.empty()) add(object, "file", measured.file);
  return object;
}

Value comparison_to_value(const Results& results) {
  const Comparison& how = *results.comparison;
  const ComparisonCounts counts = count_verdicts(results);
  const auto number_or_null = [](const std::optional<double>& value) {
    return value ? number(*value) : Value();
  };
  Value::Object object;
  add(object, "backend", how.backend);
  if (!how.file.empty()) add(object, "file", how.file);
  add(object, "protocol", to_string(how.protocol));
  add(object, "paced", how.paced);
  add(object, "max_error", number_or_null(how.max_error));
  add(object, "rows", integer(counts.rows));
  add(object, "not_measured", integer(counts.unmeasured));
  add(object, "wrong_data", integer(counts.wrong_data));
  add(object, "too_few_runs", integer(counts.too_few_runs));
  add(object, "too_noisy", integer(counts.noisy));
  add(object, "beyond_max_error", integer(counts.beyond));
  add(object, "median_error", number_or_null(counts.median_error));
  add(object, "worst_error", number_or_null(counts.worst_error));
  return object;
}

void add_formula(Value::Object& object, const std::optional<ClosedForm>& form) {
  const bool known = form.has_value();
  add(object, "formula", known ? Value(form->formula) : Value());
  add(object, "formula_exact", known ? Value(form->exact) : Value());
  add(object, "best_chunks", known && form->best_chunks ? number(*form->best_chunks) : Value());
}

}  // namespace

Value row_to_value(const CaseResult& row) {
  Value::Object object;
  constexpr std::size_t members = 32;
  object.reserve(members);
  add(object, "params", to_value(row.params));
  add(object, "op", to_string(row.operation));
  add(object, "algorithm", row.algorithm);
  add(object, "ranks", row.ranks);
  add(object, "size_bytes", row.size);
  add(object, "dtype", element_type_word(row.type));
  add(object, "reduction", row.reduction ? Value(to_string(*row.reduction)) : Value());
  add(object, "root", row.root);
  add(object, "chunks", row.chunks);
  add(object, "channels", row.channels);
  add(object, "time_s", number(row.time_s()));
  add(object, "analytic_s", row.analytic ? number(row.analytic->seconds) : Value());
  add(object, "bound_s", number(row.bound.seconds()));
  add(object, "bound_bandwidth_s", number(row.bounds.bandwidth.seconds()));
  add(object, "bound_latency_s", number(row.bounds.latency.seconds()));
  add(object, "bound_compute_s", number(row.bounds.compute.seconds()));
  add(object, "algbw_bytes_per_s", number(row.algbw()));
  add(object, "busbw_bytes_per_s", number(row.busbw()));
  add(object, "bottleneck_bandwidth_bytes_per_s",
      row.bottleneck_bandwidth ? number(*row.bottleneck_bandwidth) : Value());
  add(object, "messages", integer(row.messages));
  add(object, "wire_bytes", row.wire_bytes);
  add_formula(object, row.analytic);
  add(object, "engine", to_string(row.engine));
  add(object, "fingerprint", fmt::format("{:016x}", row.fingerprint));
  add(object, "measured", measured_to_value(row));
  if (row.not_measured) add(object, "not_measured", to_value(*row.not_measured));
  return object;
}

Value to_value(const Results& results) {
  Value::Object object;
  add(object, "collsim", COLLSIM_VERSION);
  add(object, "format", 1);
  add(object, "name", results.name);
  if (!results.title.empty()) add(object, "title", results.title);
  add(object, "description", results.description);
  add(object, "complete", results.complete);
  add(object, "points", integer(results.points));
  add(object, "axes", list_of(results.axes, [](const std::string& axis) { return Value(axis); }));
  add(object, "scenario", results.scenario);
  add(object, "rows", list_of(results.rows, row_to_value));
  if (results.comparison) add(object, "comparison", comparison_to_value(results));
  add(object, "expect",
      list_of(results.expect, [](const ExpectationOutcome& one) { return to_value(one); }));
  add(object, "warnings",
      list_of(results.warnings, [](const Warning& warning) { return to_value(warning); }));
  return object;
}

}  // namespace collsim
