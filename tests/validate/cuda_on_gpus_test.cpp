// SPDX-License-Identifier: Apache-2.0
// What only real GPUs can show.  Skipped without them, unless COLLSIM_REQUIRE_GPU=1 asks for
// failure.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <string>
#include <variant>

#include "collectives/algorithms.hpp"
#include "tests/collectives/collective_of.hpp"
#include "tests/contains.hpp"
#include "tests/validate/real_cases.hpp"
#include "validate/cuda/cuda_backend.hpp"
#include "validate/in_child.hpp"

namespace collsim {
namespace {

// CUDA must not be touched in a process that will fork.
RunOutcome in_child(const std::function<RunOutcome()>& work) {
  constexpr double limit_s = 100;
  return run_in_child(work, limit_s);
}

RunOutcome availability() {
  return in_child([]() -> RunOutcome {
    if (const auto reason = cuda_unavailable())
      return NoMeasurement{NoMeasurement::Why::unavailable, *reason};
    return Measurement{};
  });
}

class CudaOnGpus : public ::testing::Test {
 protected:
  void SetUp() override {
    const RunOutcome outcome = availability();
    const auto* none = std::get_if<NoMeasurement>(&outcome);
    if (none == nullptr) return;
    EXPECT_EQ(none->why, NoMeasurement::Why::unavailable) << none->reason;
    EXPECT_FALSE(none->reason.empty());
    const char* required = std::getenv("COLLSIM_REQUIRE_GPU");
    if (required != nullptr && std::string(required) == "1") FAIL() << none->reason;
    GTEST_SKIP() << none->reason;
  }
};

Schedule ring(ElementType type, Reduction reduction) {
  Collective collective = collective_of(Operation::all_reduce, 4, 10'007, type);
  collective.reduction = reduction;
  return make_schedule(collective, {.name = "ring", .channels = 2, .slots = 2});
}

TEST_F(CudaOnGpus, EveryTypeAndReduction) {
  for (const Protocol protocol : {Protocol::simple, Protocol::ll}) {
    const RunOutcome outcome = in_child([=]() -> RunOutcome {
      for (const ElementType type : all_element_types())
        for (const Reduction reduction : all_reductions()) {
          RunOptions options;
          options.iterations = 2;
          RunOutcome one = run_on_cuda({ring(type, reduction), protocol}, options);
          const auto* measured = std::get_if<Measurement>(&one);
          if (measured == nullptr || measured->data != DataVerdict::right) return one;
        }
      return Measurement{.data = DataVerdict::right};
    });
    const auto* none = std::get_if<NoMeasurement>(&outcome);
    ASSERT_EQ(none, nullptr) << none->reason;
    EXPECT_EQ(std::get<Measurement>(outcome).data, DataVerdict::right)
        << std::get<Measurement>(outcome).wrong_data;
  }
}

TEST_F(CudaOnGpus, ABrokenScheduleEndsWithADiagnosis) {
  const Schedule whole = ring(ElementType::f32, Reduction::sum);
  const Schedule broken = whole.with_programs([=](int position, Lane lane) {
    return position == 1 && lane.index() == 0 ? testing::without(whole, position, lane, 0)
                                              : whole.program(position, lane);
  });
  const RunOutcome outcome = in_child([=]() -> RunOutcome {
    static_cast<void>(run_on_cuda({whole}, {.iterations = 1}));  // starts up CUDA
    const auto begin = std::chrono::steady_clock::now();
    RunOutcome stuck = run_on_cuda({broken}, {.iterations = 1});
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    if (took.count() < 2) return stuck;
    return NoMeasurement{NoMeasurement::Why::failed,
                         "it took " + std::to_string(took.count()) + " s"};
  });
  const auto* none = std::get_if<NoMeasurement>(&outcome);
  ASSERT_NE(none, nullptr) << "it was measured";
  EXPECT_EQ(none->why, NoMeasurement::Why::stuck) << none->reason;
  expect_contains(none->reason, "waited 1 s for message");
}

}  // namespace
}  // namespace collsim
