// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <variant>

#include "collectives/algorithms.hpp"
#include "tests/collectives/collective_of.hpp"
#include "tests/contains.hpp"
#include "tests/validate/cuda/fake_gpus.hpp"
#include "validate/cuda/nccl_backend.hpp"

// The backend as it is, on a CUDA and an NCCL that only pretend: no time here means anything.

namespace collsim::testing {
namespace {

std::string fake_library(const std::string& name) {
  return std::string(COLLSIM_FAKE_NCCL) + "/" + name + ".so";
}

class NcclBackend : public ::testing::Test {
 protected:
  void SetUp() override {
    reset_fake_gpus();
    fake_gpus.count = 8;
    for (const char* name : {"NCCL_ALGO", "NCCL_PROTO", "FAKE_NCCL"}) unsetenv(name);
    use("fake_nccl");
    aborted_before_ = ask<int()>("fake_nccl_aborted_communicators")();
  }
  void use(const std::string& library) {
    library_ = fake_library(library);
    setenv("COLLSIM_NCCL", library_.c_str(), 1);
  }
  template <class Function>
  Function* ask(const char* name) {
    void* handle = dlopen(library_.c_str(), RTLD_NOW);
    return reinterpret_cast<Function*>(dlsym(handle, name));
  }
  int living_communicators() { return ask<int()>("fake_nccl_living_communicators")(); }
  int aborted() { return ask<int()>("fake_nccl_aborted_communicators")() - aborted_before_; }

 private:
  std::string library_;
  int aborted_before_ = 0;
};

RunCase case_of(Operation operation, int ranks, std::int64_t count, const std::string& name = "") {
  return {make_schedule(collective_of(operation, ranks, count), {.name = name})};
}

RunOptions quick(double patience_s = 1) {
  RunOptions options;
  options.iterations = 5;
  options.patience_s = patience_s;
  return options;
}

bool has_note(const Measurement& measured, const std::string& part) {
  return std::any_of(measured.notes.begin(), measured.notes.end(),
                     [&](const std::string& note) { return note.find(part) != std::string::npos; });
}

void expect_none(const RunOutcome& outcome, NoMeasurement::Why why, const std::string& part) {
  const auto* none = std::get_if<NoMeasurement>(&outcome);
  ASSERT_NE(none, nullptr) << "there is a measurement";
  EXPECT_EQ(none->why, why) << none->reason;
  expect_contains(none->reason, part);
}

TEST_F(NcclBackend, MeasuresAndChecks) {
  const RunOutcome outcome = run_on_nccl(case_of(Operation::all_reduce, 4, 1000, "ring"), quick());
  const auto* measured = std::get_if<Measurement>(&outcome);
  ASSERT_NE(measured, nullptr) << std::get<NoMeasurement>(outcome).reason;
  EXPECT_EQ(measured->times_s.size(), 5U);
  EXPECT_GT(*std::min_element(measured->times_s.begin(), measured->times_s.end()), 0);
  EXPECT_EQ(measured->data, DataVerdict::right) << measured->wrong_data;
  EXPECT_EQ(measured->device, "4 x Fake GPU");
  EXPECT_TRUE(has_note(*measured, "NCCL 2.28.9 ("));
  EXPECT_TRUE(has_note(*measured, "Ring with Simple"));
  EXPECT_TRUE(has_note(*measured, "nccl-tests' method"));
  EXPECT_TRUE(has_note(*measured, "NCCL expects 12.50 us"));
  EXPECT_STREQ(ask<const char*()>("fake_nccl_algorithm_at_init")(), "Ring");
  EXPECT_STREQ(ask<const char*()>("fake_nccl_protocol_at_init")(), "Simple");
  EXPECT_EQ(living_communicators(), 0);
  EXPECT_EQ(aborted(), 0);
  EXPECT_EQ(fake_log.living, 0);
}

TEST_F(NcclBackend, WhereLaunchingTakesMostOfTheTimeGraphsAreMeasured) {
  setenv("FAKE_NCCL", "slow-launch", 1);
  const RunOutcome outcome = run_on_nccl(case_of(Operation::all_reduce, 4, 100), quick());
  const auto& measured = std::get<Measurement>(outcome);
  EXPECT_TRUE(has_note(measured, "launched as CUDA graphs of 20"));
  EXPECT_EQ(measured.doubt, "");
  EXPECT_EQ(measured.times_s.size(), 5U);
  EXPECT_LT(summary_of(measured.times_s).median_s, 0.0015);
}

TEST_F(NcclBackend, WithoutGraphsThereIsNoVerdictOnSlowLaunches) {
  setenv("FAKE_NCCL", "slow-launch", 1);
  fake_gpus.capture_error = 900;
  const RunOutcome outcome = run_on_nccl(case_of(Operation::all_reduce, 4, 100), quick());
  const auto& measured = std::get<Measurement>(outcome);
  EXPECT_FALSE(has_note(measured, "CUDA graphs"));
  expect_contains(measured.doubt, "these are times of the CPU");
  expect_contains(measured.doubt, "in a CUDA graph it failed");
  EXPECT_GT(summary_of(measured.times_s).median_s, 0.0015);
  EXPECT_EQ(fake_log.living, 0);
}

TEST_F(NcclBackend, RunsEveryOperation) {
  for (const Operation operation : all_operations())
    for (const std::int64_t count : {24, 25}) {
      const RunOutcome outcome = run_on_free_nccl(case_of(operation, 3, count), quick());
      const auto* measured = std::get_if<Measurement>(&outcome);
      ASSERT_NE(measured, nullptr) << std::get<NoMeasurement>(outcome).reason;
      EXPECT_EQ(measured->data, DataVerdict::right)
          << to_string(operation) << ": " << measured->wrong_data;
    }
  EXPECT_STREQ(ask<const char*()>("fake_nccl_algorithm_at_init")(), "");
  EXPECT_EQ(fake_log.living, 0);
}

TEST_F(NcclBackend, FindsWrongData) {
  setenv("FAKE_NCCL", "wrong-data", 1);
  const RunOutcome outcome = run_on_nccl(case_of(Operation::all_reduce, 4, 1000), quick());
  const auto* measured = std::get_if<Measurement>(&outcome);
  ASSERT_NE(measured, nullptr) << std::get<NoMeasurement>(outcome).reason;
  EXPECT_EQ(measured->data, DataVerdict::wrong);
  expect_contains(measured->wrong_data, "rank 0 element 999");
  RunOptions unchecked = quick();
  unchecked.check = false;
  const RunOutcome other = run_on_nccl(case_of(Operation::all_reduce, 4, 1000), unchecked);
  EXPECT_EQ(std::get<Measurement>(other).data, DataVerdict::unchecked);
}

TEST_F(NcclBackend, ARoundedAverageIsRightAndANoteSaysSo) {
  RunCase run_case = case_of(Operation::all_reduce, 7, 1000);
  Collective collective = run_case.schedule().collective();
  collective.reduction = Reduction::avg;
  run_case.what = make_schedule(collective);
  const RunOutcome outcome = run_on_nccl(run_case, quick());
  EXPECT_EQ(std::get<Measurement>(outcome).data, DataVerdict::right);
  EXPECT_TRUE(has_note(std::get<Measurement>(outcome), "average"));
}

TEST_F(NcclBackend, AnNcclWithoutEstimatesServesToo) {
  use("fake_nccl_2_18");
  const RunOutcome outcome = run_on_nccl(case_of(Operation::all_reduce, 2, 10), quick());
  ASSERT_TRUE(std::holds_alternative<Measurement>(outcome));
  EXPECT_TRUE(has_note(std::get<Measurement>(outcome), "NCCL 2.18.5 ("));
  EXPECT_FALSE(has_note(std::get<Measurement>(outcome), "NCCL expects"));
}

TEST_F(NcclBackend, AHangIsAborted) {
  setenv("FAKE_NCCL", "hangs", 1);
  expect_none(run_on_nccl(case_of(Operation::all_gather, 3, 30), quick(0.05)),
              NoMeasurement::Why::stuck,
              "NCCL's all-gather did not end within 0.05 s and was aborted; late: rank 0 on GPU 0");
  EXPECT_EQ(aborted(), 3);
  EXPECT_EQ(living_communicators(), 0);
}

TEST_F(NcclBackend, AnErrorUnderWayIsReported) {
  setenv("FAKE_NCCL", "async-error", 1);
  expect_none(run_on_nccl(case_of(Operation::all_gather, 3, 30), quick(60)),
              NoMeasurement::Why::failed, "rank 0 on GPU 0: remote process exited");
  EXPECT_EQ(aborted(), 3);
}

TEST_F(NcclBackend, AnErrorOfAGpuIsReported) {
  fake_gpus.event_error = 700;
  expect_none(run_on_nccl(case_of(Operation::all_gather, 3, 30), quick(60)),
              NoMeasurement::Why::failed, "rank 0 on GPU 0 failed");
  EXPECT_EQ(aborted(), 3);
}

TEST_F(NcclBackend, ARefusalIsReported) {
  setenv("FAKE_NCCL", "refuses", 1);
  expect_none(run_on_nccl(case_of(Operation::all_reduce, 2, 10), quick()),
              NoMeasurement::Why::failed, "ncclGroupEnd failed: fake error");
  setenv("FAKE_NCCL", "init-fails", 1);
  expect_none(run_on_nccl(case_of(Operation::all_reduce, 2, 10), quick()),
              NoMeasurement::Why::failed,
              "ncclCommInitAll failed: fake error (the fake has no network)");
  EXPECT_EQ(living_communicators(), 0);
}

TEST_F(NcclBackend, FewerGpusThanRanksCannotBeCompared) {
  fake_gpus.count = 1;
  expect_none(run_on_nccl(case_of(Operation::all_reduce, 8, 10), quick()),
              NoMeasurement::Why::unavailable,
              "one rank per GPU: 8 ranks cannot be compared with it on 1 GPU");
  const RunOutcome alone = run_on_nccl(case_of(Operation::all_reduce, 1, 10), quick());
  ASSERT_TRUE(std::holds_alternative<Measurement>(alone));
  EXPECT_EQ(std::get<Measurement>(alone).device, "Fake GPU");
  EXPECT_TRUE(has_note(std::get<Measurement>(alone), "nothing is communicated"));
}

TEST_F(NcclBackend, PositionsGoToGpusInOrder) {
  RunCase run_case = case_of(Operation::all_reduce, 2, 10);
  Collective collective = run_case.schedule().collective();
  collective.group = {Rank(60), Rank(3)};
  run_case.what = make_schedule(collective);
  setenv("FAKE_NCCL", "hangs", 1);
  expect_none(run_on_nccl(run_case, quick(0.05)), NoMeasurement::Why::stuck,
              "late: rank 60 on GPU 0, rank 3 on GPU 1");
}

TEST_F(NcclBackend, WhatDoesNotFitIsTooLarge) {
  fake_gpus.largest_allocation = std::size_t{1} << 20U;
  expect_none(run_on_nccl(case_of(Operation::all_reduce, 2, 1 << 20), quick()),
              NoMeasurement::Why::too_large, "needs 0.00781 GiB on GPU 0");
}

TEST_F(NcclBackend, SaysWhatItCannotDo) {
  expect_none(run_on_nccl(case_of(Operation::all_reduce, 2, 0), quick()),
              NoMeasurement::Why::unavailable, "nothing to measure");
  RunOptions options = quick();
  options.timeline = true;
  const RunOutcome outcome = run_on_nccl(case_of(Operation::all_reduce, 2, 10), options);
  EXPECT_TRUE(has_note(std::get<Measurement>(outcome), "no timeline"));
  use("fake_nccl_2_17");
  expect_none(run_on_nccl(case_of(Operation::all_reduce, 2, 10), quick()),
              NoMeasurement::Why::unavailable, "2.17.1");
}

TEST_F(NcclBackend, IsAvailableWithGpusAndNccl) {
  EXPECT_EQ(nccl_unavailable(), std::nullopt);
  use("fake_nccl_2_17");
  expect_contains(nccl_unavailable().value_or(""), "no usable NCCL");
}

TEST_F(NcclBackend, SaysWhyThereIsNoGpu) {
  fake_gpus.count = 0;
  EXPECT_EQ(nccl_unavailable(), "no GPU: the NVIDIA driver sees none");
  expect_none(run_on_nccl(case_of(Operation::all_reduce, 2, 10), quick()),
              NoMeasurement::Why::unavailable, "no GPU: the NVIDIA driver sees none");
}

}  // namespace
}  // namespace collsim::testing
