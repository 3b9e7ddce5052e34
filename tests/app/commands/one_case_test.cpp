// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tests/app/commands/running.hpp"
#include "tests/golden.hpp"

namespace collsim {
namespace {

const char* const two_axes = R"(, "sweep": { "collective.size": ["1MiB", "64MiB"],
                                             "zip: collective.chunks, collective.slots":
                                               [[1, 8], [4, 2]] })";

class OneCase : public ::testing::Test {
 protected:
  std::optional<ChosenCase> choose(std::vector<std::string> at,
                                   const std::string& sweep = two_axes) {
    OneCaseOptions options;
    options.file = folder_.write("a.json", chain_scenario(sweep));
    options.at = std::move(at);
    return load_one_case(options, terminal_);
  }
  std::string mistake(std::vector<std::string> at, const std::string& sweep = two_axes) {
    try {
      return choose(std::move(at), sweep) ? "none" : err_.str();
    } catch (const UsageError& error) {
      return error.what();
    }
  }

  Folder folder_;
  std::ostringstream out_, err_;
  std::atomic<bool> interrupted_{false};
  Terminal terminal_{out_, err_, false, false, false, false, false, interrupted_};
};

TEST_F(OneCase, WithoutASweepIsTheOnlyOne) {
  const auto chosen = choose({}, "");
  ASSERT_TRUE(chosen);
  EXPECT_EQ(chosen->point, 0U);
  EXPECT_EQ(err_.str(), "");
}

TEST_F(OneCase, IsTheFirstOfThoseThatFitAndTheNoteSaysSo) {
  const auto chosen = choose({"size=64MiB"});
  ASSERT_TRUE(chosen) << err_.str();
  EXPECT_EQ(chosen->point, 2U);
  expect_text(err_.str(),
              "this is the first of several points of the sweep: collective.size = 64MiB, "
              "collective.chunks = 1, collective.slots = 8; select another with --at\n");
}

TEST_F(OneCase, ConditionsMayBeSpelledInSeveralWays) {
  const std::vector<std::vector<std::string>> same{{"collective.size=64MiB", "collective.chunks=4"},
                                                   {"size=64M", "chunks=4"},
                                                   {"size=65536KiB,slots=2"},
                                                   {"chunks=4.0", "size=67108864"}};
  for (const std::vector<std::string>& at : same) {
    const auto chosen = choose(at);
    ASSERT_TRUE(chosen) << at.front();
    EXPECT_EQ(chosen->point, 3U) << at.front();
    EXPECT_EQ(err_.str(), "");
    EXPECT_EQ(chosen->chosen.choice.chunks, 4);
    EXPECT_EQ(chosen->chosen.collective.bytes(), mebibytes(64));
  }
}

TEST_F(OneCase, MistakesNameWhatThereIs) {
  expect_text(mistake({"chunks=2"}),
              "no point of the sweep has collective.chunks = 2; it takes 1, 4");
  expect_text(mistake({"chunks=4", "slots=8"}),
              "no such point of the sweep has collective.slots = 8; it takes 2");
  expect_text(
      mistake({"collective.chunsk=4"}),
      "the sweep does not change \"collective.chunsk\"; did you mean \"collective.chunks\"?\n"
      "  known: collective.size, collective.chunks, collective.slots");
  expect_text(mistake({"chunks"}), "--at chunks has no value; write --at chunks=VALUE");
  expect_text(mistake({"=4"}), "--at =4 does not say what \"=4\" is; write PATH=VALUE");
  expect_text(mistake({"4,chunks=4"}),
              "--at 4,chunks=4 does not say what \"4\" is; write PATH=VALUE");
  EXPECT_EQ(mistake({"chunks=4"}, ""),
            "--at chunks: " + folder_.path("a.json") +
                " has no sweep; --set changes a value, such as --set collective.chunks=4");
}

}  // namespace
}  // namespace collsim
