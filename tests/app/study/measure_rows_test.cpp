// SPDX-License-Identifier: Apache-2.0
#include "app/study/measure_rows.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <set>

#include "tests/app/study/measuring.hpp"
#include "tests/app/study/scenarios.hpp"
#include "tests/app/study/testing.hpp"
#include "tests/contains.hpp"
#include "tests/golden.hpp"

namespace collsim::testing {
namespace {

const std::string three_chunk_counts = R"(, "sweep": {"collective.chunks": [1, 2, 4]})";

// A study whose rows are "measured" by `runs`.
Studied measured(FakeRuns& runs, const std::string& text, MeasureOptions options = {}) {
  Studied studied;
  load(studied, text);
  if (runs.answers.empty()) runs.answers.emplace_back(measurement_of(0.01));
  if (options.unavailable.empty()) options.run = runs.runner();
  StudyOptions study;
  study.measure = [&](Results& results) { measure_rows(*studied.scenario, options, results); };
  studied.results = run_study(*studied.scenario, study, studied.diagnostics);
  EXPECT_TRUE(studied.results) << to_text(studied.diagnostics, studied.sources);
  if (!studied.results) studied.results.emplace();
  return studied;
}

TEST(MeasureRows, FillsEveryRowInTurn) {
  FakeRuns runs;
  runs.answers = {measurement_of(0.02), measurement_of(0.03), measurement_of(0.04)};
  MeasureOptions options;
  options.how.backend = "host";
  options.how.protocol = Protocol::ll;
  const Studied studied = measured(runs, lecture(three_chunk_counts), options);
  ASSERT_EQ(runs.cases.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    const CaseResult& row = studied.results->rows[i];
    EXPECT_EQ(runs.cases[i].schedule().chunks(), row.chunks);
    EXPECT_EQ(runs.cases[i].protocol, Protocol::ll);
    ASSERT_TRUE(row.measured);
    EXPECT_DOUBLE_EQ(row.measured->times.median_s, 0.01 * static_cast<double>(i + 2));
    EXPECT_EQ(row.measured->backend, "host");
    EXPECT_EQ(row.measured->iterations, 5);
    expect_text(row.measured->device, "2 cores of a test");
    EXPECT_DOUBLE_EQ(*row.error(), row.time_s() / row.measured->times.median_s - 1);
    EXPECT_FALSE(row.not_measured);
  }
  EXPECT_TRUE(studied.results->complete);
  EXPECT_EQ(studied.results->comparison->backend, "host");
}

TEST(MeasureRows, PredictionsAreThoseOfARunWithoutAMeasurement) {
  FakeRuns runs;
  const Studied with = measured(runs, lecture(three_chunk_counts));
  const Studied without = results_of(lecture(three_chunk_counts));
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(with.results->rows[i].fingerprint, without.results->rows[i].fingerprint);
    EXPECT_EQ(with.results->rows[i].time, without.results->rows[i].time);
    EXPECT_FALSE(without.results->rows[i].measured);
  }
}

TEST(MeasureRows, RunsWhatAutoChose) {
  FakeRuns runs;
  const Studied studied = measured(runs, R"({"scenario": 1,
    "cluster": {"shape": "switch", "ranks": 4, "link": {"bandwidth": "1GB/s", "overhead": "1us"}},
    "collective": {"op": "all-reduce", "algorithm": "auto", "size": "8B"},
    "sweep": {"collective.size": ["8B", "4MiB"]}})");
  std::set<std::string> names;
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(runs.cases[i].schedule().algorithm(), studied.results->rows[i].algorithm);
    names.insert(runs.cases[i].schedule().algorithm());
  }
  EXPECT_EQ(names.size(), 2U) << "small and large want different algorithms";
}

TEST(MeasureRows, PacedRunsGetTheMachineOfTheirRow) {
  FakeRuns runs;
  MeasureOptions options;
  options.how.paced = true;
  measured(runs, R"({"scenario": 1, "model": {"launch": "3us"},
    "cluster": {"shape": "chain", "ranks": 4, "link": {"bandwidth": "1GB/s"}, "late": {"1": "2ms"}},
    "collective": {"op": "broadcast", "size": "8KiB"}, "sweep": {"cluster.ranks": [3, 4]}})",
           options);
  ASSERT_EQ(runs.cases.size(), 2U);
  for (std::size_t i = 0; i < 2; ++i) {
    ASSERT_TRUE(runs.cases[i].paced);
    const EmulatedMachine& machine = *runs.cases[i].paced;
    EXPECT_EQ(machine.topology.rank_count(), 3 + i);
    EXPECT_EQ(machine.costs.launch, microseconds(3));
    ASSERT_EQ(machine.late.size(), 1U);
    EXPECT_EQ(machine.late[0].second, milliseconds(2));
  }
  FakeRuns native;
  measured(native, lecture());
  EXPECT_FALSE(native.cases.at(0).paced);
}

TEST(MeasureRows, PacedRunsOnGpusWhoseMessagesOvertakeOthersAreNotJudged) {
  const auto why_no_verdict = [&](const std::string& backend, const std::string& algorithm) {
    FakeRuns runs;
    MeasureOptions options;
    options.how.paced = true;
    options.how.backend = backend;
    const Studied studied = measured(
        runs,
        R"({"scenario": 1, "cluster": {"shape": "ring", "ranks": 4, "link": {"bandwidth": "1GB/s",
            "overhead": "50us", "latency": "20us"}}, "collective": {"op": "all-reduce",
            "size": "4MiB", "chunks": 4, "algorithm": ")" +
            algorithm + R"("}})",
        options);
    return studied.results->rows[0].why_no_verdict();
  };
  expect_text(why_no_verdict("cuda", "ring"), "");
  for (const char* const algorithm : {"one-shot", "double-tree"}) {
    expect_text(
        why_no_verdict("cuda", algorithm),
        "not judged: messages overtake others on the way, which pacing on GPUs does not emulate");
    expect_text(why_no_verdict("host", algorithm), "");
  }
}

TEST(MeasureRows, NativeRunsSayWhatTheyLackOfThePrediction) {
  const auto note_of = [](const std::string& late, const std::string& launch, bool paced = false) {
    FakeRuns runs;
    MeasureOptions options;
    options.how.paced = paced;
    const std::string text = R"({"scenario": 1, "model": {"launch": ")" + launch + R"("},
        "cluster": {"shape": "chain", "ranks": 4, "link": {"bandwidth": "1GB/s"},
                    "late": {)" +
                             late + R"(}},
        "collective": {"op": "broadcast", "size": "8KiB", "ranks": [0, 1, 2]}})";
    const Studied studied = measured(runs, text, options);
    const std::vector<std::string>& notes = studied.results->rows.at(0).measured->notes;
    return notes.empty() ? std::string() : notes.front();
  };
  const std::string late = R"("1": "2ms")";
  EXPECT_EQ(note_of("", "0us"), "");
  EXPECT_EQ(note_of(R"("1": "0us", "3": "2ms")", "0us"), "") << "nobody who takes part is late";
  expect_text(note_of(late, "0us"), "the prediction counts late ranks, which only paced runs have");
  expect_text(note_of("", "3us"), "the prediction counts model.launch, which only paced runs have");
  expect_text(note_of(late, "3us"),
              "the prediction counts late ranks and model.launch, which only paced runs have");
  EXPECT_EQ(note_of(late, "3us", true), "");
}

TEST(MeasureRows, ThreadsAreNoGpusOfAPreset) {
  const auto why_not = [](bool paced, const std::string& backend, const std::string& cluster) {
    FakeRuns runs;
    MeasureOptions options;
    options.how.paced = paced;
    options.how.backend = backend;
    const std::string text = R"({"scenario": 1, "cluster": )" + cluster + R"(,
        "collective": {"op": "all-reduce", "algorithm": "ring", "size": "8KiB"}})";
    return measured(runs, text, options).results->rows.at(0).measured->why_no_verdict();
  };
  const std::string preset = R"({"preset": "dgx-h100", "nodes": 2})";
  expect_text(why_not(false, "host", preset),
              "not judged: threads of this machine, not the GPUs of dgx-h100");
  EXPECT_EQ(why_not(true, "host", preset), "");
  EXPECT_EQ(why_not(false, "cuda", preset), "");
  EXPECT_EQ(
      why_not(false, "host", R"({"shape": "ring", "ranks": 4, "link": {"bandwidth": "1GB/s"}})"),
      "");
}

TEST(MeasureRows, PassesOptionsOnAndWaitsInProportionToThePrediction) {
  FakeRuns runs;
  MeasureOptions options;
  options.how.iterations = 7;
  options.how.warmup = 3;
  options.how.paced = true;
  options.check = false;
  options.threads_per_lane = 2;
  // 7 hops of 64 MiB at 64 MiB/s are 7 s.
  const std::string slow = lecture("", "", R"("bandwidth": "64MiB/s")");
  measured(runs, slow, options);
  const RunOptions& asked = runs.options.at(0);
  EXPECT_EQ(asked.iterations, 7);
  EXPECT_EQ(asked.warmup, 3);
  EXPECT_FALSE(asked.check);
  EXPECT_FALSE(asked.timeline);
  EXPECT_EQ(asked.threads_per_lane, 2);
  EXPECT_DOUBLE_EQ(asked.patience_s, 70);
  measured(runs, lecture("", "", R"("bandwidth": "25GB/s")", "4KiB"), options);
  EXPECT_DOUBLE_EQ(runs.options.at(1).patience_s, 1);
  // Memory may be slower than the links that were predicted with.
  options.how.paced = false;
  measured(runs, lecture(), options);
  EXPECT_DOUBLE_EQ(runs.options.at(2).patience_s, 7 * 64 * 1048576 / 100e6);
}

TEST(MeasureRows, SaysWhyThereIsNoMeasurement) {
  FakeRuns runs;
  runs.answers = {NoMeasurement{NoMeasurement::Why::stuck, "rank 3 waited"}, Measurement{},
                  measurement_of(0.1)};
  const Studied studied = measured(runs, lecture(three_chunk_counts));
  const std::vector<CaseResult>& rows = studied.results->rows;
  ASSERT_TRUE(rows[0].not_measured && rows[1].not_measured);
  EXPECT_EQ(rows[0].not_measured->why, NoMeasurement::Why::stuck);
  expect_text(rows[0].why_no_verdict(), "not measured: rank 3 waited");
  EXPECT_FALSE(rows[0].error());
  expect_text(rows[1].not_measured->reason, "the run ended without a time");
  EXPECT_TRUE(rows[2].measured) << "the others are measured all the same";
  EXPECT_TRUE(studied.results->complete);
}

TEST(MeasureRows, WhereNothingCanBeMeasuredNothingRuns) {
  FakeRuns runs;
  MeasureOptions options;
  options.unavailable = "there is no GPU";
  const Studied studied = measured(runs, lecture(three_chunk_counts), options);
  EXPECT_TRUE(runs.cases.empty());
  for (const CaseResult& row : studied.results->rows) {
    ASSERT_TRUE(row.not_measured);
    EXPECT_EQ(row.not_measured->why, NoMeasurement::Why::unavailable);
    expect_text(row.not_measured->reason, "there is no GPU");
  }
}

TEST(MeasureRows, RefusesAWrongScheduleBeforeItRuns) {
  FakeRuns runs;
  MeasureOptions options;
  options.run = runs.runner();
  const Case point = lecture_case(2);
  const Schedule lazy =
      with_schedule(point).schedule->with_programs([](int, Lane) -> Program { co_return; });
  const RunOutcome outcome = measure_schedule(point, lazy, run_case(point), options, false);
  const auto* none = std::get_if<NoMeasurement>(&outcome);
  ASSERT_NE(none, nullptr);
  EXPECT_EQ(none->why, NoMeasurement::Why::bad_schedule);
  expect_contains(none->reason, "was not run");
  EXPECT_TRUE(runs.cases.empty());
}

TEST(MeasureRows, RefusesWhatIsTooLargeToRunForReal) {
  FakeRuns runs;
  const Studied studied =
      measured(runs, lecture("", R"(, "chunks": 2000000)", R"("bandwidth": "1GB/s")", "64MiB"));
  EXPECT_TRUE(runs.cases.empty());
  ASSERT_TRUE(studied.results->rows[0].not_measured);
  EXPECT_EQ(studied.results->rows[0].not_measured->why, NoMeasurement::Why::too_large);
  expect_contains(studied.results->rows[0].not_measured->reason, "fewer ranks or chunks");
}

TEST(MeasureRows, StopsBetweenRowsAndKeepsWhatWasMeasured) {
  FakeRuns runs;
  runs.answers.emplace_back(measurement_of(0.01));
  std::atomic<bool> stop = false;
  MeasureOptions options;
  options.stop = &stop;
  options.progress = [&](std::size_t done, std::size_t total) {
    EXPECT_EQ(total, 3U);
    stop = done == 2;
  };
  const Studied studied = measured(
      runs, lecture(three_chunk_counts + R"(, "expect": [{"metric": "time", "at_most": "1s"}])"),
      options);
  EXPECT_EQ(studied.results->rows.size(), 2U);
  EXPECT_FALSE(studied.results->complete);
  EXPECT_TRUE(studied.results->expect.empty());
  expect_text(studied.warning("interrupted"),
              "interrupted: 2 of 3 points were measured; the expectations were not checked");
}

TEST(MeasureRows, RecordsTheRowThatWasAskedFor) {
  FakeRuns runs;
  Measurement with_steps = measurement_of(0.01);
  with_steps.timeline.emplace().steps.resize(3);
  runs.answers = {measurement_of(0.01), with_steps};
  MeasureOptions options;
  options.record = 1;
  int recorded = 0;
  options.recorded = [&](const RecordedRun& run) {
    ++recorded;
    EXPECT_EQ(std::get<const Schedule*>(run.what)->chunks(), 2);
    EXPECT_EQ(run.timeline.steps.size(), 3U);
    EXPECT_EQ(run.one_case.choice.chunks, 2);
  };
  measured(runs, lecture(three_chunk_counts), options);
  EXPECT_EQ(recorded, 1);
  EXPECT_FALSE(runs.options[0].timeline);
  EXPECT_TRUE(runs.options[1].timeline);
}

TEST(MeasureRows, ExpectationsSeeWhatWasMeasured) {
  const std::string expect = R"j(, "sweep": {"collective.chunks": [1, 2, 4]}, "expect": [
      {"id": "near", "metric": "relative_error(time)", "of": "measured", "at_most": "20%"},
      {"id": "quick", "metric": "measured", "at_most": "1s"}])j";
  FakeRuns runs;
  runs.answers = {measurement_of(0.0188), measurement_of(0.0108), measurement_of(0.0068)};
  const Studied near = measured(runs, lecture(expect));
  EXPECT_TRUE(near.results->expect[0].ok) << near.results->expect[0].failure;
  EXPECT_TRUE(near.results->expect[1].ok);
  EXPECT_EQ(near.warning("expectations-skipped"), "");
  FakeRuns far;
  far.answers = {measurement_of(2)};
  const Studied off = measured(far, lecture(expect));
  EXPECT_EQ(off.results->expect[0].failed, 3U);
  EXPECT_EQ(off.results->expect[1].failed, 3U);
  const Studied none = results_of(lecture(expect));
  expect_text(none.results->expect[0].skipped, "needs a measurement: collsim validate");
  EXPECT_FALSE(none.results->expect[0].ok);
  EXPECT_NE(none.warning("expectations-skipped"), "");
}

}  // namespace
}  // namespace collsim::testing
