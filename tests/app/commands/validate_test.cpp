// SPDX-License-Identifier: Apache-2.0
#include "app/commands/validate.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/app/commands/running.hpp"
#include "tests/app/study/measuring.hpp"
#include "tests/contains.hpp"
#include "tests/golden.hpp"

namespace collsim {
namespace {

using nlohmann::json;
using testing::FakeRuns;
using testing::measurement_of;

FakeRuns runs;  // of the test that is running
std::string unavailable;

RunOutcome fake_run(const RunCase& run_case, const RunOptions& options) {
  return runs.runner()(run_case, options);
}
std::optional<std::string> fake_unavailable() {
  return unavailable.empty() ? std::nullopt : std::optional(unavailable);
}
constexpr Backend fakes[] = {{"host", "a fake", fake_unavailable, fake_run}};

// `collsim validate` with backends that do not depend on the machine.
class Validate : public ::testing::Test {
 protected:
  void SetUp() override {
    runs = {};
    unavailable.clear();
  }

  // The chain broadcast among four takes 140.8 us.
  std::string file(const std::string& more = "") {
    return folder_.write("a.json", chain_scenario(more));
  }
  std::string swept(const std::string& more = "") {
    return file(R"(, "sweep": {"collective.chunks": [1, 2, 4]})" + more);
  }
  Ran validate(
      const std::vector<std::string>& files,
      const std::function<void(ValidateOptions&)>& change = [](ValidateOptions&) {},
      bool interrupted = false) {
    if (runs.answers.empty()) runs.answers.emplace_back(measurement_of(140e-6));
    ValidateOptions options;
    options.run.files = files;
    change(options);
    std::ostringstream out, err;
    const std::atomic<bool> flag{interrupted};
    Terminal terminal{out, err, false, false, false, false, false, flag};
    const int code = validate_files(options, fakes, terminal);
    return {code, out.str(), err.str()};
  }
  static auto with_error(const std::string& limit) {
    return [limit](ValidateOptions& options) { options.max_error = limit; };
  }

  Folder folder_;
};

TEST_F(Validate, MeasuresEveryRow) {
  const Ran ran = validate({swept()});
  EXPECT_EQ(ran.code, exit_fine) << ran.err;
  EXPECT_EQ(runs.cases.size(), 3U);
  expect_contains(ran.out,
                  "measured on host, protocol simple: median of 20 runs, more of short ones\n");
  expect_contains(ran.out, "3 rows: median error");
  expect_text(ran.err,
              "measuring with the default backend, host: threads of this machine (choose with "
              "--backend)\n");
}

TEST_F(Validate, SaysBeforeItRunsThatThreadsAreNoGpus) {
  const std::string on_gpus = folder_.write("gpus.json", R"({"scenario": 1,
      "cluster": {"preset": "dgx-h100"},
      "collective": {"op": "all-reduce", "size": "1KiB", "algorithm": "ring"}})");
  expect_contains(validate({on_gpus}).err, "they are not the GPUs of dgx-h100: data are checked");
  const auto paced = [](ValidateOptions& options) { options.paced = true; };
  EXPECT_EQ(validate({on_gpus}, paced).err.find("GPUs of"), std::string::npos);
}

TEST_F(Validate, TheScenarioSaysHowAndOptionsWin) {
  const std::string scenario = file(
      R"(, "measure": {"backend": "host", "paced": true, "protocol": "ll", "iters": 7, "warmup": 2,
                       "check": false})");
  EXPECT_EQ(validate({scenario}).err, "");
  EXPECT_TRUE(runs.cases[0].paced);
  EXPECT_EQ(runs.cases[0].protocol, Protocol::ll);
  EXPECT_EQ(runs.options[0].iterations, 7);
  EXPECT_EQ(runs.options[0].warmup, 2);
  EXPECT_FALSE(runs.options[0].check);
  (void)validate({scenario}, [](ValidateOptions& options) {
    options.native = true;
    options.protocol = "simple";
    options.iterations = 3;
    options.warmup = 0;
    options.threads_per_lane = 4;
  });
  EXPECT_FALSE(runs.cases[1].paced);
  EXPECT_EQ(runs.cases[1].protocol, Protocol::simple);
  EXPECT_EQ(runs.options[1].iterations, 3);
  EXPECT_EQ(runs.options[1].warmup, 0);
  EXPECT_EQ(runs.options[1].threads_per_lane, 4);
  (void)validate({file()}, [](ValidateOptions& options) {
    options.paced = true;
    options.no_check = true;
  });
  EXPECT_TRUE(runs.cases[2].paced);
  EXPECT_FALSE(runs.options[2].check);
}

std::string step_scenario(const std::string& more = "") {
  return R"({"scenario": 1,
    "cluster": {"shape": "switch", "ranks": 2, "link": {"bandwidth": "1GB/s"}},
    "workload": {"program": [{"on": "all", "do": [{"work": "10ms"}]}]})" +
         more + "}";
}

TEST_F(Validate, MeasuresTrainingSteps) {
  runs.answers = {measurement_of(10.5e-3)};
  const std::string step = folder_.write("step.json", step_scenario());
  const Ran ran = validate({step}, with_error("10%"));
  EXPECT_EQ(ran.code, exit_fine) << ran.err;
  ASSERT_NE(runs.cases.at(0).workload(), nullptr);
  expect_contains(ran.out, "predicted");
  expect_contains(ran.out, "-4.8%  right");
  EXPECT_EQ(validate({step}, with_error("1%")).code, exit_failed);
  const json row = json::parse(validate({step}, [](ValidateOptions& options) {
                                 options.run.format = "json";
                               }).out)["rows"][0];
  EXPECT_EQ(row["step_s"], 0.01);
  EXPECT_EQ(row["measured"]["time_s"], 0.0105);
  EXPECT_FALSE(row["measured"].contains("algbw_bytes_per_s"));
}

TEST_F(Validate, ComparesTrainingStepsWithRunsOnly) {
  const std::string step =
      folder_.write("step.json", step_scenario(R"(, "measure": {"file": "old.json"})"));
  const Ran ran = validate({step});
  EXPECT_EQ(ran.code, exit_usage);
  expect_contains(ran.err, "training steps are compared with runs only, not with files");
}

TEST_F(Validate, EndsWith1PastTheLargestError) {
  EXPECT_EQ(validate({file()}, with_error("1%")).code, exit_fine);
  runs.answers = {measurement_of(200e-6)};
  EXPECT_EQ(validate({file()}).code, exit_fine) << "without a limit there is no verdict";
  EXPECT_EQ(validate({file()}, with_error("30%")).code, exit_fine);
  const Ran ran = validate({file()}, with_error("0.29"));
  EXPECT_EQ(ran.code, exit_failed);
  expect_contains(ran.out, "beyond 29%");
  expect_contains(ran.out, "1 row: error 30%; 0 of 1 within 29%");
}

TEST_F(Validate, NoisyRowsAreListedAndNoVerdictIsNoSuccess) {
  runs.answers = {measurement_of(200e-6, 0.12)};
  EXPECT_EQ(validate({swept()}).code, exit_fine);
  const Ran ran = validate({swept()}, with_error("1%"));
  EXPECT_EQ(ran.code, exit_not_measurable);
  expect_contains(ran.out, "too noisy: spread 12%");
  expect_contains(ran.out, "3 rows, all too noisy to judge");
}

TEST_F(Validate, WithoutASingleJudgedRowThereIsNoSuccess) {
  Measurement twice = measurement_of(140e-6);
  twice.times_s.resize(2);
  runs.answers = {twice};
  EXPECT_EQ(validate({swept()}).code, exit_fine);
  const Ran ran = validate({swept()}, with_error("99%"));
  EXPECT_EQ(ran.code, exit_not_measurable);
  expect_contains(ran.out, "  right   not judged: fewer than 3 runs\n");
  expect_contains(ran.out, "3 rows: fewer than 3 runs give no error");
  runs = {};
  runs.answers = {measurement_of(1, 0.5), NoMeasurement{NoMeasurement::Why::too_large, "too large"},
                  twice};
  const Ran mixed = validate({swept()}, [](ValidateOptions& options) {
    options.max_error = "99%";
    options.run.format = "json";
  });
  EXPECT_EQ(mixed.code, exit_not_measurable);
  expect_contains(mixed.err, "no row could be judged: too noisy: spread 50%");
  const json results = json::parse(mixed.out);
  EXPECT_EQ(results["comparison"]["too_few_runs"], 1);
  EXPECT_TRUE(results["rows"][2]["measured"]["spread"].is_null());
  EXPECT_EQ(results["rows"][2]["measured"]["noisy"], false);
}

TEST_F(Validate, WrongDataWin) {
  runs.answers = {measurement_of(1, 0.01, DataVerdict::wrong),
                  NoMeasurement{NoMeasurement::Why::stuck, "rank 1 waited"}, measurement_of(1)};
  const Ran ran = validate({swept()}, with_error("1%"));
  EXPECT_EQ(ran.code, exit_wrong_data);
  expect_contains(ran.out, "WRONG DATA at collective.chunks = 1: rank 1 element 5 is 3, not 4");
  runs = {};
  runs.answers = {measurement_of(1, 0.01, DataVerdict::wrong)};
  const Ran several = validate({folder_.write("bad.json", "{"), swept()});
  EXPECT_EQ(several.code, exit_wrong_data) << "also over what cannot be read";
}

TEST_F(Validate, EndsWith3WhereNothingCanBeMeasured) {
  unavailable = "there are no threads here";
  const Ran ran = validate({swept()});
  EXPECT_EQ(ran.code, exit_not_measurable);
  expect_contains(ran.out,
                  "none of 3 rows could be measured\n"
                  "not measured: there are no threads here\n");
  EXPECT_TRUE(runs.cases.empty());
  const Ran missing =
      validate({file()}, [](ValidateOptions& options) { options.backend = "nccl"; });
  EXPECT_EQ(missing.code, exit_not_measurable);
  expect_contains(missing.out, "built without the backend nccl");
}

TEST_F(Validate, SomeRowsMayBeMissingUnlessAMeasurementIsRequired) {
  const NoMeasurement too_large{NoMeasurement::Why::too_large, "too many threads"};
  runs.answers = {too_large, measurement_of(140e-6)};
  EXPECT_EQ(validate({swept()}).code, exit_fine);
  runs = {};
  runs.answers = {too_large, measurement_of(140e-6)};
  EXPECT_EQ(validate({swept(R"(, "measure": {"required": true})")}).code, exit_not_measurable);
}

TEST_F(Validate, ARunThatWentWrongIsNeverFine) {
  for (const auto why :
       {NoMeasurement::Why::stuck, NoMeasurement::Why::failed, NoMeasurement::Why::bad_schedule}) {
    runs = {};
    runs.answers = {NoMeasurement{why, "rank 1 waited"}, measurement_of(140e-6)};
    EXPECT_EQ(validate({swept()}).code, exit_not_measurable);
  }
}

TEST_F(Validate, ExpectationsMaySpeakOfMeasurements) {
  const std::string near =
      R"j(, "expect": [{"id": "near", "metric": "relative_error(time)", "of": "measured",
                        "at_most": "20%"}])j";
  const Ran good = validate({file(near)});
  EXPECT_EQ(good.code, exit_fine);
  expect_contains(good.out, "ok    near (1 row)");
  runs.answers = {measurement_of(1)};
  EXPECT_EQ(validate({file(near)}).code, exit_failed);
  runs.answers = {measurement_of(1, 0.3)};
  const Ran noisy = validate({file(near)});
  EXPECT_EQ(noisy.code, exit_fine);
  expect_contains(noisy.out, "skip  near: too noisy: spread 30%");
}

TEST_F(Validate, RunDoesNotCheckThemUnlessTheyAreRequired) {
  const std::string near = R"j(, "expect": [{"metric": "measured", "at_most": "1s"}])j";
  const Ran ran = run_collsim({"run", file(near)});
  EXPECT_EQ(ran.code, exit_fine);
  expect_contains(ran.out, "needs a measurement: collsim validate\n");
  expect_contains(ran.out, "0 of 1 expectations hold, 1 not checked");
  const Ran required = run_collsim({"run", file(near + R"(, "measure": {"required": true})")});
  EXPECT_EQ(required.code, exit_not_measurable);
  expect_contains(required.err, "requires a measurement");
}

TEST_F(Validate, OtherFormatsSayOnStandardErrorWhatTheExitCodeMeans) {
  const auto as_csv = [](ValidateOptions& options) {
    options.run.format = "csv";
    options.max_error = "1%";
    options.backend = "host";
  };
  runs.answers = {measurement_of(1)};
  const Ran far = validate({file()}, as_csv);
  EXPECT_EQ(far.code, exit_failed);
  EXPECT_EQ(far.err, folder_.path("a.json") + ": 1 of 1 row is off by more than 1%\n");
  runs.answers = {measurement_of(1, 0.01, DataVerdict::wrong)};
  EXPECT_EQ(validate({file()}, as_csv).err,
            folder_.path("a.json") + ": wrong data in 1 of 1 row: rank 1 element 5 is 3, not 4\n");
  runs.answers = {NoMeasurement{NoMeasurement::Why::failed, "it was killed"}};
  EXPECT_EQ(validate({file()}, as_csv).err,
            folder_.path("a.json") + ": 1 of 1 row was not measured: it was killed\n");
}

TEST_F(Validate, InterruptedResultsAreWrittenAsIncomplete) {
  const Ran ran = validate(
      {swept()}, [](ValidateOptions& options) { options.run.format = "json"; }, true);
  EXPECT_EQ(ran.code, exit_interrupted);
  EXPECT_EQ(json::parse(ran.out)["complete"], false);
}

TEST_F(Validate, AMachineReplacesClusterAndModel) {
  const std::string machine = folder_.write("machine.json", R"({
    "name": "ours", "points": [1, 2],
    "cluster": {"shape": "fully-connected", "ranks": 2, "link": {"bandwidth": "1GB/s"}},
    "model": {"launch": "1ms"}})");
  const auto on_machine = [&](ValidateOptions& options) {
    options.machine = machine;
    options.run.format = "json";
  };
  const json row = json::parse(validate({file()}, on_machine).out)["rows"][0];
  EXPECT_EQ(row["ranks"], 2);
  EXPECT_DOUBLE_EQ(row["time_s"], 0.001 + 1048576 / 1e9);
  const json changed = json::parse(validate({file()}, [&](ValidateOptions& options) {
                                     on_machine(options);
                                     options.run.set = {"cluster.ranks=3"};
                                   }).out);
  EXPECT_EQ(changed["rows"][0]["ranks"], 3);
}

TEST_F(Validate, AFileThatIsNoMachineIsRefused) {
  const auto on = [&](const std::string& machine) {
    return validate({file()}, [&](ValidateOptions& options) { options.machine = machine; });
  };
  const Ran none = on(folder_.write("m.json", R"({"model": {}})"));
  EXPECT_EQ(none.code, exit_usage);
  expect_contains(none.err, "it has no \"cluster\"");
  EXPECT_EQ(on(folder_.path("nowhere.json")).code, exit_usage);
  const Ran bad = on(folder_.write("m.json", R"({"cluster": {"shape": "rign"}})"));
  EXPECT_EQ(bad.code, exit_usage);
  expect_contains(bad.err, "m.json:1:23");
}

TEST_F(Validate, ALogIsComparedWithInsteadOfARun) {
  (void)validate({swept()}, [&](ValidateOptions& options) {
    options.run.outputs = {folder_.path("log.json")};
  });
  runs = {};
  const std::string scenario = swept(R"(, "measure": {"file": "log.json"})");
  const Ran ran = validate({scenario}, with_error("50%"));
  EXPECT_TRUE(runs.cases.empty());
  EXPECT_EQ(ran.err, "");
  expect_contains(ran.out, "measured on host elsewhere, as " + folder_.path("log.json"));
  expect_contains(ran.out, "3 rows: median error");
  (void)validate({scenario}, [](ValidateOptions& options) { options.backend = "host"; });
  EXPECT_EQ(runs.cases.size(), 3U) << "who names a backend wants a run";
  const Ran missing = validate({swept(R"(, "measure": {"file": "nowhere.json"})")});
  EXPECT_EQ(missing.code, exit_usage);
  expect_contains(missing.err, "nowhere.json");
}

TEST_F(Validate, OptionsForRunsAreRefusedWhereALogIsRead) {
  (void)validate({swept()}, [&](ValidateOptions& options) {
    options.run.outputs = {folder_.path("log.json")};
  });
  runs = {};
  const std::string scenario = swept(R"(, "measure": {"file": "log.json"})");
  const Ran ran = validate({scenario}, [](ValidateOptions& options) {
    options.iterations = 50;
    options.paced = true;
  });
  EXPECT_EQ(ran.code, exit_usage);
  for (const char* option : {"--iters", "--paced"})
    expect_contains(ran.err, std::string(option) + " has no effect on results read from this file");
  expect_contains(ran.err, "\"log.json\"");
  const Ran run = validate({scenario}, [](ValidateOptions& options) {
    options.iterations = 50;
    options.backend = "host";
  });
  EXPECT_EQ(run.code, exit_fine) << run.err;
  EXPECT_EQ(runs.options.at(0).iterations, 50);
}

TEST_F(Validate, ATraceIsOfOneMeasuredRow) {
  Measurement with_steps = measurement_of(140e-6);
  with_steps.timeline.emplace();
  runs.answers = {with_steps};
  const std::string trace = folder_.path("trace.json");
  const Ran ran = validate({swept()}, [&](ValidateOptions& options) {
    options.trace = trace;
    options.at = {"chunks=2"};
  });
  EXPECT_EQ(ran.code, exit_fine) << ran.err;
  EXPECT_FALSE(runs.options[0].timeline || runs.options[2].timeline);
  EXPECT_TRUE(runs.options[1].timeline);
  EXPECT_EQ(json::parse(folder_.read("trace.json"))["otherData"]["measured"],
            "measured on host, protocol simple: median of 20 runs, more of short ones");
}

TEST_F(Validate, WithoutRecordedStepsThereIsNoTrace) {
  const auto traced = [&](ValidateOptions& options) { options.trace = folder_.path("t.json"); };
  const Ran ran = validate({file()}, traced);
  EXPECT_EQ(ran.code, exit_not_measurable);
  expect_contains(ran.err, "no trace was written: backend host records no steps");
  expect_contains(ran.out, "1 row: error");
  Measurement with_steps = measurement_of(140e-6);
  with_steps.timeline.emplace();
  runs.answers = {with_steps};
  const Ran nowhere = validate({file()}, [&](ValidateOptions& options) {
    options.trace = folder_.path("no/such/folder.json");
  });
  EXPECT_EQ(nowhere.code, exit_usage);
  expect_contains(nowhere.out, "1 row: error");
}

TEST_F(Validate, RefusesOptionsThatMakeNoSense) {
  const auto refused = [&](const std::function<void(ValidateOptions&)>& change,
                           std::vector<std::string> files = {}) -> std::string {
    if (files.empty()) files.push_back(file());
    try {
      (void)validate(files, change);
    } catch (const UsageError& error) {
      return error.what();
    }
    return "accepted";
  };
  for (const char* error : {"a lot", "15 %", "-1%", "nan", "inf%", "%", "1%%"})
    EXPECT_EQ(refused(with_error(error)), "--max-error cannot be \"" + std::string(error) +
                                              "\": write a percentage, such as 15%");
  expect_text(refused([](ValidateOptions& options) { options.at = {"chunks=2"}; }),
              "--at selects the row that --trace records; add --trace");
  const auto to_standard_output = [](ValidateOptions& options) { options.trace = "-"; };
  expect_contains(refused(to_standard_output), "needs a file");
  expect_contains(refused(to_standard_output, {file(), file()}), "one scenario");
  expect_contains(refused([&](ValidateOptions& options) { options.trace = file(); }),
                  "would overwrite");
  const std::string machine = folder_.write("machine.json", "{}");
  expect_contains(refused([&](ValidateOptions& options) {
                    options.machine = machine;
                    options.run.outputs = {machine};
                  }),
                  "would overwrite");
  const std::string log = folder_.write("log.json", "{}");
  expect_contains(refused([&](ValidateOptions& options) { options.run.outputs = {log}; },
                          {file(R"(, "measure": {"file": "log.json"})")}),
                  "would overwrite");
}

TEST(ValidateCommand, RunsRealThreads) {
  const Folder folder;
  const Ran ran =
      run_collsim({"validate", folder.write("a.json", chain_scenario()), "--backend", "host",
                   "--iters", "2", "--format", "json", "--set", "collective.size=\"4KiB\""});
  EXPECT_EQ(ran.code, exit_fine) << ran.err;
  const json measured = json::parse(ran.out)["rows"][0]["measured"];
  ASSERT_TRUE(measured.is_object()) << ran.out;
  EXPECT_EQ(measured["data"], "right");
  EXPECT_GE(measured["iters"], 2);  // short runs are repeated
  EXPECT_GT(measured["time_s"], 0);
}

TEST(ValidateCommand, OptionsAreChecked) {
  for (const std::vector<std::string>& arguments : {std::vector<std::string>{"--backend", "gpu"},
                                                    {"--paced", "--native"},
                                                    {"--iters", "0"},
                                                    {"--protocol", "tcp"},
                                                    {"--max-error", "much"}}) {
    std::vector<std::string> all{"validate", "x.json"};
    all.insert(all.end(), arguments.begin(), arguments.end());
    const Ran ran = run_collsim(all);
    EXPECT_EQ(ran.code, exit_usage);
    expect_contains(ran.err, arguments[0]);
  }
}

TEST(ValidateCommand, OfSeveralTroublesTheWorstIsTheExitCode) {
  EXPECT_EQ(worse_of(exit_fine, exit_failed), exit_failed);
  EXPECT_EQ(worse_of(exit_failed, exit_not_measurable), exit_not_measurable);
  EXPECT_EQ(worse_of(exit_not_measurable, exit_usage), exit_usage);
  EXPECT_EQ(worse_of(exit_usage, exit_wrong_data), exit_wrong_data);
  EXPECT_EQ(worse_of(exit_wrong_data, exit_fine), exit_wrong_data);
}

}  // namespace
}  // namespace collsim
