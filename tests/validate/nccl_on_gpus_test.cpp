// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <variant>

#include "collectives/algorithms.hpp"
#include "tests/collectives/collective_of.hpp"
#include "validate/cuda/nccl_backend.hpp"
#include "validate/in_child.hpp"

// What only real GPUs can show.  Skipped without them, unless COLLSIM_REQUIRE_GPU=1 asks for
// failure.

namespace collsim {
namespace {

class NcclOnGpus : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::optional<std::string> reason = nccl_unavailable();
    if (!reason) return;
    EXPECT_FALSE(reason->empty());
    const char* required = std::getenv("COLLSIM_REQUIRE_GPU");
    if (required != nullptr && std::string(required) == "1") FAIL() << *reason;
    GTEST_SKIP() << *reason;
  }
};

RunOutcome run(const Collective& collective, const std::string& algorithm = "",
               Protocol protocol = Protocol::simple) {
  const RunCase run_case{make_schedule(collective, {.name = algorithm}), protocol};
  constexpr double limit_s = 100;
  return run_in_child(
      [&] {
        RunOptions options;
        options.iterations = 5;
        options.patience_s = 10;
        return run_on_nccl(run_case, options);
      },
      limit_s);
}

void expect_right(const RunOutcome& outcome) {
  const auto* none = std::get_if<NoMeasurement>(&outcome);
  ASSERT_EQ(none, nullptr) << none->reason;
  const auto& measured = std::get<Measurement>(outcome);
  EXPECT_EQ(measured.data, DataVerdict::right) << measured.wrong_data;
  EXPECT_EQ(measured.times_s.size(), 5U);
}

// As many ranks as there are GPUs, 16 at most.
int most_ranks() {
  int ranks = 1;
  while (ranks < 16 &&
         std::holds_alternative<Measurement>(run(collective_of(Operation::barrier, ranks + 1, 0))))
    ++ranks;
  return ranks;
}

TEST_F(NcclOnGpus, OneRankNeedsNobodyElse) {
  for (const Operation operation : all_operations()) {
    SCOPED_TRACE(to_string(operation));
    expect_right(run(collective_of(operation, 1, 1009)));
  }
}

TEST_F(NcclOnGpus, MoreRanksThanGpusAreRefused) {
  const RunOutcome outcome = run(collective_of(Operation::all_reduce, 1000, 1000));
  ASSERT_TRUE(std::holds_alternative<NoMeasurement>(outcome));
  EXPECT_EQ(std::get<NoMeasurement>(outcome).why, NoMeasurement::Why::unavailable);
}

TEST_F(NcclOnGpus, EveryCollectiveIsRight) {
  const int ranks = most_ranks();
  if (ranks == 1) GTEST_SKIP() << "NCCL has one rank per GPU, and there is one GPU";
  for (const Operation operation : all_operations())
    for (const std::int64_t count : {std::int64_t{1009}, std::int64_t{1000} * ranks}) {
      SCOPED_TRACE(std::string(to_string(operation)) + " of " + std::to_string(count));
      expect_right(run(collective_of(operation, ranks, count)));
    }
}

TEST_F(NcclOnGpus, AlgorithmAndProtocolCanBeForced) {
  if (most_ranks() == 1) GTEST_SKIP() << "NCCL has one rank per GPU, and there is one GPU";
  for (const char* algorithm : {"ring", "double-tree", "chain", "swing"})
    for (const Protocol protocol : {Protocol::simple, Protocol::ll}) {
      SCOPED_TRACE(algorithm);
      int ranks = most_ranks();
      while (!find_algorithm(Operation::all_reduce, algorithm).works_with(ranks)) --ranks;
      expect_right(run(collective_of(Operation::all_reduce, ranks, 100'000), algorithm, protocol));
    }
}

// Holds everywhere, with GPUs and without.
TEST(NcclWithoutGpus, ARunSaysTheSameAsTheQuestionWhether) {
  const std::optional<std::string> reason = nccl_unavailable();
  if (!reason) GTEST_SKIP() << "there are GPUs and NCCL";
  const RunOutcome outcome = run(collective_of(Operation::all_reduce, 1, 1000), "ring");
  ASSERT_TRUE(std::holds_alternative<NoMeasurement>(outcome));
  EXPECT_EQ(std::get<NoMeasurement>(outcome).why, NoMeasurement::Why::unavailable);
  EXPECT_EQ(std::get<NoMeasurement>(outcome).reason, *reason);
}

}  // namespace
}  // namespace collsim
