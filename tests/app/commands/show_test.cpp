// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/app/commands/running.hpp"
#include "tests/contains.hpp"
#include "tests/golden.hpp"

namespace collsim {
namespace {

using nlohmann::json;

std::string on_three(const std::string& collective) {
  return R"({ "scenario": 1,
  "cluster": { "shape": "switch", "ranks": 3, "link": { "bandwidth": "25GB/s", "overhead": "5us" } },
  "collective": )" +
         collective + "}";
}

std::string tutorial(const std::string& name) {
  return std::string(COLLSIM_SOURCE_DIR) + "/scenarios/tutorial/" + name + ".json";
}

// What every rank holds afterwards.
json after(const std::string& name) {
  const Ran ran = run_collsim({"show", tutorial(name), "--format", "json"});
  EXPECT_EQ(ran.code, exit_fine) << ran.err;
  json all = json::array();
  const json shown = json::parse(ran.out);
  for (const json& rank : shown["ranks"]) all.push_back(rank["after"]);
  return all;
}

TEST(Show, TutorialExamplesComeOutExactly) {
  const json fives = json::parse("[[1,1,1,1,1],[2,2,2,2,2],[3,3,3,3,3]]");
  const json six = json::parse("[6,6,6,6,6]");
  EXPECT_EQ(after("broadcast"), json::parse("[[1,2,3,4,5],[1,2,3,4,5],[1,2,3,4,5]]"));
  EXPECT_EQ(after("broadcast-from-rank-1"), json::parse("[[4,5],[4,5],[4,5],[4,5]]"));
  EXPECT_EQ(after("reduce"), json::array({six, fives[1], fives[2]}));
  EXPECT_EQ(after("all-reduce"), json::array({six, six, six}));
  EXPECT_EQ(after("all-reduce-in-a-sub-group"), json::parse("[null,[2,2,2,2],null,[2,2,2,2]]"));
  EXPECT_EQ(after("gather"), json::array({fives, fives[1], fives[2]}));
  EXPECT_EQ(after("all-gather"), json::array({fives, fives, fives}));
  EXPECT_EQ(after("all-gather-pairs")[3], json::parse("[[0,1],[10,11],[20,21],[30,31]]"));
  EXPECT_EQ(after("scatter"), fives);
  EXPECT_EQ(after("reduce-scatter"), json::parse("[[6,12],[14,56],[36,288]]"));
  EXPECT_EQ(after("softmax-max"), json::parse("[[2.25],[2.25],[2.25],[2.25]]"));
}

TEST(Show, StepsAsAClassFollowsThem) {
  const Folder folder;
  const std::string file = folder.write(
      "a.json", on_three(R"({"op": "all-reduce", "data": [[1, 1, 1], [2, 2, 2], [3, 3, 3]]})"));
  const Ran ran = run_collsim({"show", file, "--steps"});
  EXPECT_EQ(ran.code, exit_fine);
  EXPECT_EQ(ran.err, "");
  expect_text(ran.out,
              "all-reduce (sum) by ring on 3 ranks, float32\n"
              "\n"
              "  rank  before     after\n"
              "     0  [1, 1, 1]  [6, 6, 6]\n"
              "     1  [2, 2, 2]  [6, 6, 6]\n"
              "     2  [3, 3, 3]  [6, 6, 6]\n"
              "\n"
              "step 1 of 4\n"
              "  rank 2 -> rank 0   [3] + [1] = [4]   passed on\n"
              "  rank 0 -> rank 1   [1] + [2] = [3]   passed on\n"
              "  rank 1 -> rank 2   [2] + [3] = [5]   passed on\n"
              "\n"
              "step 2 of 4\n"
              "  rank 2 -> rank 0   [5] + [1] = [6]   rank 0 now [6, -, -]\n"
              "  rank 0 -> rank 1   [4] + [2] = [6]   rank 1 now [-, 6, -]\n"
              "  rank 1 -> rank 2   [3] + [3] = [6]   rank 2 now [-, -, 6]\n"
              "\n"
              "step 3 of 4\n"
              "  rank 2 -> rank 0   [6]               rank 0 now [6, -, 6]\n"
              "  rank 0 -> rank 1   [6]               rank 1 now [6, 6, -]\n"
              "  rank 1 -> rank 2   [6]               rank 2 now [-, 6, 6]\n"
              "\n"
              "step 4 of 4\n"
              "  rank 2 -> rank 0   [6]               rank 0 now [6, 6, 6]\n"
              "  rank 0 -> rank 1   [6]               rank 1 now [6, 6, 6]\n"
              "  rank 1 -> rank 2   [6]               rank 2 now [6, 6, 6]\n");
}

TEST(Show, AFewElementsStandForMany) {
  const Folder folder;
  const std::string file =
      folder.write("a.json", on_three(R"({"op": "all-gather", "size": "48MiB"})"));
  expect_contains(run_collsim({"show", file}).out, "shown with 6 elements instead of 12,582,912\n");
  expect_contains(run_collsim({"show", file, "--elements", "3"}).out, "[[10], [20], [30]]");
}

TEST(Show, AutoIsTheAlgorithmThatRunTakes) {
  const Folder folder;
  const std::string file = folder.write(
      "a.json", on_three(R"({"op": "all-reduce", "algorithm": "auto", "size": "1GiB"})"));
  const Ran ran = run_collsim({"show", file, "--format", "json"});
  EXPECT_EQ(ran.code, exit_fine) << ran.err;
  EXPECT_NE(json::parse(ran.out)["algorithm"], "auto");
}

TEST(Show, ProgramsThatWaitForEachOtherFail) {
  const Folder folder;
  const std::string file = folder.write(
      "a.json", on_three(R"({"op": "all-reduce", "size": "1MiB", "chunks": 3, "slots": 1})"));
  const Ran ran = run_collsim({"show", file});
  EXPECT_EQ(ran.code, exit_failed);
  expect_contains(ran.out,
                  "\nThe programs of this schedule do not finish: position 0 lane 0 step 1 "
                  "waits forever for a free slot to position 1 lane 0\n");
}

TEST(Show, MistakesAreMistakesOfUsage) {
  const Folder folder;
  const std::string file = folder.write("a.json", on_three(R"({"op": "all-reduce",
      "data": [[1], [2], [3]]})"));
  const Ran elements = run_collsim({"show", file, "--elements", "3"});
  EXPECT_EQ(elements.code, exit_usage);
  expect_text(elements.err,
              "the scenario has its own data; the number of elements cannot be changed\n");
  EXPECT_EQ(run_collsim({"show", file, "--elements", "0"}).code, exit_usage);
  EXPECT_EQ(run_collsim({"show", file, "--format", "yaml"}).code, exit_usage);
  EXPECT_EQ(run_collsim({"show", folder.path("no.json")}).code, exit_usage);
}

// A switch that adds stands between the ranks, and is said to do what it does.
TEST(Show, NamesSwitchesThatAdd) {
  const Folder folder;
  const std::string file = folder.write("a.json", R"({ "scenario": 1,
    "cluster": { "preset": "dgx-h100" },
    "collective": { "op": "all-reduce", "algorithm": "nvls", "size": "32B" } })");
  const std::string text = run_collsim({"show", file, "--steps"}).out;
  expect_contains(text, "rank 0 -> switch for rank 1 ");
  expect_contains(text, "switch for rank 0 -> rank ");
  const std::string ring =
      run_collsim({"show", file, "--steps", "--set", "collective.algorithm=ring"}).out;
  expect_contains(ring, "rank 0 -> rank 1 ");
  expect_lacks(ring, "switch");
}

}  // namespace
}  // namespace collsim
