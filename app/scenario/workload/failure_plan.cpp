// SPDX-License-Identifier: Apache-2.0
#include "app/scenario/workload/failure_plan.hpp"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "app/json/screen_text.hpp"
#include "app/scenario/collective_internal.hpp"
#include "app/scenario/vocabulary.hpp"

namespace collsim {
namespace {

// Stated limits.
constexpr std::int64_t max_job_steps = 10'000'000;
constexpr std::size_t max_failures = 1000;

class FailuresReader {
 public:
  FailuresReader(ObjectReader& reader, int ranks) : reader_(&reader), ranks_(ranks) {}

  FailurePlan read() {
    const bool is_random = reader_->has("mtbf");
    reader_->at_most_one_of({"mtbf", "at"});
    if (!is_random && !reader_->has("at"))
      reader_->wrong("", "missing-key", "\"failures\" says neither how often nor when", {},
                     R"(add "mtbf": "3h", or "at": [{"time": "1h"}])");
    static_cast<void>(reader_->raw("at"));
    is_random ? read_random() : read_given();
    return std::move(plan_);
  }

 private:
  void read_random();
  void read_given();
  void read_entries(Job& job);
  JsonValue read_entry(const JsonValue& written, std::size_t number, Job& job);

  ObjectReader* reader_;
  int ranks_;
  FailurePlan plan_;
};

void FailuresReader::read_random() {
  const auto positive = [&](const char* key) {
    const auto time = reader_->time(key);
    if (time == Time{}) reader_->wrong(key, "out-of-range", "0 is too small");
    return time.value_or(Time{}).seconds();
  };
  Failures failures;
  failures.mtbf = positive("mtbf");
  failures.checkpoint = positive("checkpoint");
  failures.restart = reader_->time("restart", Time{}).seconds();
  plan_.random = failures;
  plan_.mtbf_ranks = static_cast<int>(reader_->integer("mtbf_ranks", 1, 1'000'000'000).value_or(0));
  plan_.interval = reader_->time("interval");
  if (plan_.interval == Time{}) reader_->wrong("interval", "out-of-range", "0 is too small");
  plan_.steps = reader_->integer("steps", 1, 1'000'000'000'000).value_or(0);
  reader_->need({"checkpoint"}, R"(how long writing one takes, such as "60s")");
  if (reader_->raw("checkpoint_every") != nullptr)
    reader_->wrong("checkpoint_every", "not-applicable", "\"checkpoint_every\" goes with \"at\"",
                   {}, "\"interval\" says how much work is between checkpoints");
}

void FailuresReader::read_given() {
  Job job;
  job.checkpoint = reader_->time("checkpoint", Time{});
  job.restart = reader_->time("restart", Time{});
  job.checkpoint_every = reader_->integer("checkpoint_every", 1, max_job_steps, 1);
  job.steps = reader_->integer("steps", 1, max_job_steps).value_or(1);
  for (const char* key : {"interval", "mtbf_ranks"})
    if (reader_->raw(key) != nullptr)
      reader_->wrong(key, "not-applicable", fmt::format("\"{}\" goes with \"mtbf\"", key), {},
                     "omit it");
  read_entries(job);
  if (reader_->has("at")) reader_->need({"steps"}, "of the whole job");
  plan_.steps = job.steps;
  plan_.job = std::move(job);
}

void FailuresReader::read_entries(Job& job) {
  const JsonValue* const written = reader_->raw("at");
  if (written == nullptr) return;
  if (!written->is_array() || written->items().size() > max_failures) {
    reader_->wrong("at", "wrong-type",
                   written->is_array()
                       ? fmt::format("more than {} failures", max_failures)
                       : fmt::format("\"at\" is a list, not {}", written->kind_name()),
                   {}, R"(write [{"time": "1h"}, {"steps": 40, "ranks": 12}])");
    return;
  }
  JsonValue entries = JsonValue::array();
  for (std::size_t i = 0; i < written->items().size(); ++i)
    entries.items().push_back(read_entry(written->items()[i], i, job));
  reader_->resolve("at", std::move(entries));
}

JsonValue FailuresReader::read_entry(const JsonValue& written, std::size_t number, Job& job) {
  ObjectReader entry(written, pointer_to(reader_->pointer_of("at"), number),
                     reader_->diagnostics());
  Failure failure;
  const auto time = entry.time("time");
  failure.at = time.value_or(Time{});
  failure.after_steps = entry.integer("steps", 1, max_job_steps).value_or(0);
  entry.at_most_one_of({"time", "steps"});
  if (!entry.has("time") && !entry.has("steps"))
    entry.wrong("", "missing-key", "this failure has no time", {},
                R"(write {"time": "1h"} or {"steps": 40}: after so many)");
  const auto too_early = [&](const Failure& before) {
    return failure.after_steps > 0 ? before.after_steps > failure.after_steps
                                   : before.after_steps == 0 && before.at > failure.at;
  };
  if (!job.failures.empty() && too_early(job.failures.back()))
    entry.wrong(failure.after_steps > 0 ? "steps" : "time", "out-of-order",
                "this failure comes before the one above", {}, "write them in order");
  if (failure.after_steps >= job.steps && failure.after_steps > 0)
    entry.wrong("steps", "out-of-range",
                fmt::format("the job has {} only", count_text(job.steps, "step")));
  const std::int64_t most = ranks_ > 0 ? ranks_ : std::int64_t{max_ranks};
  plan_.ranks.push_back(static_cast<int>(entry.integer("ranks", 1, most).value_or(0)));
  if (plan_.ranks.back() > 0) plan_.of_ranks.try_emplace(plan_.ranks.back());
  job.failures.push_back(failure);
  return entry.finish();
}

}  // namespace

std::optional<FailurePlan> read_failures(ObjectReader& workload, int ranks) {
  const JsonValue* const written = workload.raw("failures");
  if (written == nullptr) return std::nullopt;
  ObjectReader reader(*written, workload.pointer_of("failures"), workload.diagnostics());
  FailurePlan plan = FailuresReader(reader, ranks).read();
  workload.resolve("failures", reader.finish());
  return plan;
}

}  // namespace collsim
