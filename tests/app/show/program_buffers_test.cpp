// SPDX-License-Identifier: Apache-2.0
#include "app/show/program_buffers.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "app/scenario/workload/workload.hpp"
#include "tests/app/scenario/loading.hpp"
#include "tests/contains.hpp"
#include "tests/golden.hpp"

namespace collsim::testing {
namespace {

ProgramBuffers shown_program(int ranks, const std::string& workload) {
  const Loaded loaded = load_text(
      R"({"scenario": 1, "cluster": {"shape": "switch", "ranks": )" + std::to_string(ranks) +
          R"(, "link": {"bandwidth": "25GB/s"}}, "workload": {)" + workload + "}}",
      {.workloads = true});
  const std::optional<Case> one = case_of(loaded);
  EXPECT_TRUE(one && one->step) << loaded.mistake();
  return one ? show_program(*one) : ProgramBuffers{};
}

TEST(ShowProgram, MessagesCarryWhatTheBufferHeldWhenTheyWereSent) {
  expect_text(to_text(shown_program(3, R"("data": {"x": [[100, 200], [0, 0], [0, 0]]}, "program": [
      {"on": 0, "do": [{"send": "x", "to": 1}, {"set": {"x": "0 * x"}}]},
      {"on": 1, "do": [{"receive": "x", "from": 0}, {"set": {"x": "x + 100"}}, {"send": "x", "to": 2}]},
      {"on": 2, "do": [{"receive": "x", "from": 1}]}])")),
              "  rank  buffer  before      after\n"
              "     0  x       [100, 200]  [0, 0]\n"
              "     1  x       [0, 0]      [200, 300]\n"
              "     2  x       [0, 0]      [200, 300]\n");
}

TEST(ShowProgram, BareMessagesCarryNothing) {
  const ProgramBuffers buffers = shown_program(2, R"("data": {"x": [[1], [2]]}, "program": [
      {"on": 0, "do": [{"send": true, "to": 1, "size": "8B"}, {"send": "x", "to": 1, "tag": 1},
                       {"send": true, "to": 1, "size": "8B", "tag": 2}]},
      {"on": 1, "do": [{"receive": true, "from": 0, "size": "8B"},
                       {"receive": true, "from": 0, "size": "4B", "tag": 1},
                       {"receive": "y", "from": 0, "size": "8B", "tag": 2}]}])");
  EXPECT_EQ(buffers.problem, "");
  EXPECT_EQ(buffers.after[1][0], (std::vector<double>{2}));
  EXPECT_FALSE(buffers.after[1][1]);
}

TEST(ShowProgram, CollectivesFollowEachOther) {
  const ProgramBuffers buffers = shown_program(
      2, R"("data": {"x": [[0, 1], [10, 11]], "a": [[1, 2, 3], [4, 5, 6]]}, "program": [
      {"do": [{"all-gather": "x", "into": "all"}, {"all-reduce": "x"},
              {"reduce-scatter": "a", "into": "part"}, {"all-to-all": "x", "into": "swapped"}]}])");
  const auto after = [&](std::size_t rank, const char* name) {
    for (std::size_t i = 0; i < buffers.names.size(); ++i)
      if (buffers.names[i] == name) return buffers.after[rank][i].value_or(std::vector<double>{});
    return std::vector<double>{};
  };
  EXPECT_EQ(after(1, "all"), (std::vector<double>{0, 1, 10, 11}));
  EXPECT_EQ(after(1, "x"), (std::vector<double>{10, 12}));
  EXPECT_EQ(after(0, "part"), (std::vector<double>{5, 7}));  // the longer piece first
  EXPECT_EQ(after(1, "part"), (std::vector<double>{9}));
  EXPECT_EQ(after(1, "swapped"), (std::vector<double>{12, 12}));
}

TEST(ShowProgram, ElementTypesRound) {
  const ProgramBuffers buffers =
      shown_program(1, R"("data": {"n": {"dtype": "int64", "values": [[9]]}, "x": [[0.1]]},
            "program": [{"do": [{"set": {"n": "n / 4", "y": "exp(0 * x) + 0"}}]}])");
  EXPECT_EQ(buffers.after[0][0], (std::vector<double>{2}));
  EXPECT_EQ(buffers.after[0][2], (std::vector<double>{1}));
}

// As C++ and NCCL add.
TEST(ShowProgram, IntegersWrapAround) {
  const auto summed = [](const char* type, const char* values) {
    return shown_program(
        4, fmt::format(R"("data": {{"n": {{"dtype": "{}", "values": [{}, {}, {}, {}]}}}},
                          "program": [{{"do": [{{"all-reduce": "n"}}]}}])",
                       type, values, values, values, values));
  };
  EXPECT_EQ(summed("int8", "[100]").after[0][0], (std::vector<double>{-112}));
  EXPECT_EQ(summed("uint8", "[100]").after[0][0], (std::vector<double>{144}));
  expect_contains(to_text(summed("int32", "[2147483647]")), "[2147483647]  [-4]");
  expect_contains(to_text(summed("float32", "[0.1]")), "[0.1]");
}

TEST(ShowProgram, SaysWhatNeverEndsOrHasNoValue) {
  EXPECT_EQ(shown_program(2, R"("data": {"x": [[1], [1]]}, "program": [
      {"on": 0, "do": [{"receive": "x", "from": 1}]}])")
                .problem,
            "this program never ends: rank 0 waits for a message from rank 1; rank 1 ends before "
            "that; "
            "\"collsim check\" names the lines");
  expect_contains(
      shown_program(1, R"("data": {"x": [[0]]}, "program": [{"do": [{"set": {"y": "1 / x"}}]}])")
          .problem,
      "y has no value on rank 0: division by zero");
}

}  // namespace
}  // namespace collsim::testing
