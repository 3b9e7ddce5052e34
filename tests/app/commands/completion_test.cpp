// SPDX-License-Identifier: Apache-2.0
#include "app/commands/completion.hpp"

#include <gtest/gtest.h>

#include "tests/app/commands/running.hpp"
#include "tests/contains.hpp"

namespace collsim {
namespace {

TEST(Completion, QuotesWhatShellsWouldExpand) {
  CompletedCommand program;
  program.options.push_back({{"--odd"}, "it's `this` $HOME: \\ and more", true, {{"a", "b"}}});
  const std::vector<CompletedCommand> commands{program};
  expect_contains(zsh_completion(commands), R"('--odd:it'\''s `this` $HOME\: \ and more')");
  expect_contains(fish_completion(commands), R"(-d 'it\'s `this` $HOME: \\ and more')");
}

TEST(Completion, NamesEveryCommandInEveryShell) {
  for (const char* shell : {"bash", "zsh", "fish"}) {
    const Ran ran = run_collsim({"completion", shell});
    EXPECT_EQ(ran.code, exit_fine);
    for (const Command& command : commands())
      expect_contains(ran.out, "'" + std::string(command.name) + "'");
    expect_contains(ran.out, "'topo show'");
  }
}

TEST(Completion, KnowsWhatAnOptionTakes) {
  Options program("collsim", "", "");
  Options& command = program.command("go", "Goes.", "");
  std::string text;
  bool flag = false;
  command.value("OP", text, "NAME", "");
  command.choice("--color", text, {"red", "blue"}, "");
  command.value("-o", text, "FILE", "");
  command.value("--preset", text, "NAME", "");
  command.value("--set", text, "PATH=VALUE", "");
  command.flag("--secret", flag, "").hidden = true;
  const std::vector<CompletedCommand> all = completed_commands(program);
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[1].path, "go");
  EXPECT_TRUE(all[1].is_below(""));
  EXPECT_EQ(all[1].argument.words.front(), "broadcast");
  ASSERT_EQ(all[1].options.size(), 4U);
  EXPECT_EQ(all[1].options[0].value.words, (std::vector<std::string>{"red", "blue"}));
  EXPECT_EQ(all[1].options[1].value.files, Offer::Files::any);
  EXPECT_FALSE(all[1].options[2].value.words.empty());
  EXPECT_TRUE(all[1].options[3].value.words.empty());
  EXPECT_TRUE(all[1].options[3].takes_value);
}

}  // namespace
}  // namespace collsim
