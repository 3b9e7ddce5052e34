// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/app/commands/running.hpp"
#include "tests/contains.hpp"

namespace collsim {
namespace {

TEST(CommandLine, EveryCommandHasASummaryThatFitsAndExamplesOfItself) {
  for (const Command& command : commands()) {
    const std::string summary = command.summary;
    EXPECT_LE(summary.size(), 80U) << command.name;
    EXPECT_EQ(summary.back(), '.') << command.name;
    EXPECT_EQ(std::string(command.examples).rfind("collsim " + std::string(command.name), 0), 0U);
  }
}

TEST(CommandLine, NoArgumentsShowTheShortHelpAsAMistake) {
  const Ran none = run_collsim({});
  EXPECT_EQ(none.code, exit_usage);
  EXPECT_EQ(none.out, "");
  EXPECT_EQ(none.err, run_collsim({"-h"}).out);
}

TEST(CommandLine, HelpOfACommandEndsWithItsExamples) {
  for (const char* flag : {"-h", "--help"}) {
    const Ran help = run_collsim({"check", flag});
    EXPECT_EQ(help.code, exit_fine);
    EXPECT_EQ(help.err, "");
    expect_contains(help.out, "usage: collsim check [OPTIONS] FILE\n");
    expect_contains(help.out.substr(help.out.find("examples:")), "  collsim check ");
  }
  expect_contains(run_collsim({"presets", "show", "--help"}).out,
                  "usage: collsim presets show [OPTIONS] PRESET\n");
}

TEST(CommandLine, HelpIsShownAlsoWhenTheRestIsWrong) {
  EXPECT_EQ(run_collsim({"run", "--hlep", "--help"}).code, exit_fine);
}

TEST(CommandLine, HelpIsACommandToo) {
  EXPECT_EQ(run_collsim({"help"}).out, run_collsim({"--help"}).out);
  EXPECT_EQ(run_collsim({"help", "run"}).out, run_collsim({"run", "--help"}).out);
}

TEST(CommandLine, AlgorithmsShowSomeRankCountsAndTwoOtherNames) {
  const std::string table = run_collsim({"algorithms"}).out;
  expect_contains(table, " neighbor-exchange ");
  expect_contains(table, " 1, 2, 4, 6, 8, 10, ...  ");
  EXPECT_EQ(table.find("12, 14"), std::string::npos);
  expect_contains(table, " rabenseifner, rhd  ");
  expect_contains(run_collsim({"algorithms", "--format", "json"}).out,
                  "\"recursive-halving-doubling\"");
}

TEST(CommandLine, Version) {
  const Ran version = run_collsim({"--version"});
  EXPECT_EQ(version.code, exit_fine);
  EXPECT_EQ(version.out.rfind("collsim ", 0), 0U);
}

TEST(CommandLine, GlobalOptionsWorkOnBothSidesOfTheCommand) {
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"--color", "never", "-q", "algorithms"},
        std::vector<std::string>{"algorithms", "--quiet", "--colour=never"}})
    EXPECT_EQ(run_collsim(arguments).code, exit_fine);
}

struct MistakeCase {
  std::vector<std::string> arguments;
  std::string message;
};

class Mistake : public ::testing::TestWithParam<MistakeCase> {};

TEST_P(Mistake, IsNamedInWords) {
  const Ran ran = run_collsim(GetParam().arguments);
  EXPECT_EQ(ran.code, exit_usage);
  EXPECT_EQ(ran.out, "");
  EXPECT_EQ(ran.err.substr(0, ran.err.rfind("\n  see collsim")), GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    CommandLine, Mistake,
    ::testing::Values(
        MistakeCase{
            {"rnu"},
            "collsim: there is no command \"rnu\"; did you mean \"run\"?\n  known: run, merge, "
            "explain, predict, check, show, trace, report, diff, validate, calibrate, export, "
            "compare, import, algorithms, presets, topo, schema, "
            "completion"},
        MistakeCase{{"x.json"},
                    "collsim: \"x.json\" is not a command; did you mean \"collsim run x.json\"?"},
        MistakeCase{{"presets", "shwo", "x"},
                    "collsim presets: there is no command \"shwo\"; did you mean \"show\"?\n  "
                    "known: show"},
        MistakeCase{{"topo"}, "collsim topo: no command given"},
        MistakeCase{
            {"help", "rnu"},
            "collsim: there is no command \"rnu\"; did you mean \"run\"?\n  known: run, merge, "
            "explain, predict, check, show, trace, report, diff, validate, calibrate, export, "
            "compare, import, algorithms, presets, topo, schema, completion"},
        MistakeCase{{"--\x1b[31mred", "run", "x"},
                    "collsim run: there is no option \"--?[31mred\""},
        MistakeCase{{"run", "x", "--jobs", "\x1b[31m2"},
                    "collsim run: --jobs takes a whole number, not \"?[31m2\""},
        MistakeCase{{"topo", "shwo", "--help"},
                    "collsim topo: there is no command \"shwo\"; did you mean \"show\"?\n  "
                    "known: show, import, export"},
        MistakeCase{{"-q"}, "collsim: no command given"},
        MistakeCase{{"run"}, "collsim run: FILE is missing"},
        MistakeCase{{"run", "x", "--fromat=json"},
                    "collsim run: there is no option \"--fromat\"; did you mean \"--format\"?"},
        MistakeCase{{"run", "--frobnicate"}, "collsim run: there is no option \"--frobnicate\""},
        MistakeCase{{"--jobs", "2", "run", "x"},
                    "collsim run: --jobs belongs to \"collsim run\"; put it after that"},
        MistakeCase{{"run", "x", "--format", "jsn"},
                    "collsim run: --format cannot be \"jsn\"; did you mean \"json\"?\n  known: "
                    "table, json, jsonl, csv, markdown, nccl-tests"},
        MistakeCase{{"run", "x", "--format"}, "collsim run: --format needs a value"},
        MistakeCase{{"run", "--format=", "x"},
                    "collsim run: --format= has nothing after the \"=\""},
        MistakeCase{{"run", "x", "--format", "csv", "--format", "json"},
                    "collsim run: --format takes one value, not 2"},
        MistakeCase{{"run", "x", "--jobs", "0"},
                    "collsim run: --jobs cannot be 0: it takes 1 to 1024"},
        MistakeCase{{"predict", "reduce", "--chunks", "many"},
                    "collsim predict: --chunks takes a whole number, not \"many\""},
        MistakeCase{{"predict", "reduce", "-f", "2", "-i", "4"},
                    "collsim predict: -f and -i do not go together"},
        MistakeCase{{"completion", "bash", "zsh"},
                    "collsim completion: \"zsh\" is an unexpected argument"},
        MistakeCase{{"completion", "csh"},
                    "collsim completion: SHELL cannot be \"csh\"; did you mean \"zsh\"?\n  known: "
                    "bash, zsh, fish"}));

class Colour : public ::testing::Test {
 protected:
  void SetUp() override {
    clear();
    ::setenv("TERM", "xterm", 1);
  }
  void TearDown() override { clear(); }

 private:
  static void clear() {
    for (const char* name : {"NO_COLOR", "CLICOLOR_FORCE", "FORCE_COLOR"}) ::unsetenv(name);
  }
};

TEST_F(Colour, FollowsTheTerminalByItself) {
  EXPECT_TRUE(wants_colour("auto", true));
  EXPECT_FALSE(wants_colour("auto", false));
  ::setenv("TERM", "dumb", 1);
  EXPECT_FALSE(wants_colour("auto", true));
}

TEST_F(Colour, EnvironmentBeatsTheTerminalAndNoBeatsForce) {
  ::setenv("CLICOLOR_FORCE", "1", 1);
  EXPECT_TRUE(wants_colour("auto", false));
  ::setenv("NO_COLOR", "1", 1);
  EXPECT_FALSE(wants_colour("auto", true));
  ::setenv("NO_COLOR", "", 1);
  EXPECT_TRUE(wants_colour("auto", false));
}

TEST_F(Colour, TheFlagBeatsTheEnvironment) {
  ::setenv("NO_COLOR", "1", 1);
  EXPECT_TRUE(wants_colour("always", false));
  ::unsetenv("NO_COLOR");
  ::setenv("FORCE_COLOR", "1", 1);
  EXPECT_FALSE(wants_colour("never", true));
}

}  // namespace
}  // namespace collsim
