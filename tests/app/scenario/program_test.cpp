// SPDX-License-Identifier: Apache-2.0
#include "app/scenario/workload/program.hpp"

#include <gtest/gtest.h>

#include "app/scenario/workload/workload.hpp"
#include "collectives/workload_checker.hpp"
#include "sim/simulate.hpp"
#include "tests/app/scenario/loading.hpp"
#include "tests/contains.hpp"
#include "tests/golden.hpp"

namespace collsim::testing {
namespace {

// Four ranks behind a switch, 25 GB/s and 5 us.
Loaded load_program(const std::string& workload) {
  return load_text(R"({"scenario": 1, "cluster": {"shape": "switch", "ranks": 4,
      "link": {"bandwidth": "25GB/s", "overhead": "5us"}},
"workload": {)" + workload +
                       "}}",
                   {.workloads = true});
}

Case program_case(const std::string& workload) {
  const Loaded loaded = load_program(workload);
  std::optional<Case> one = case_of(loaded);
  EXPECT_TRUE(one && one->step) << loaded.mistake();
  return one.value_or(Case{});
}

std::int64_t picoseconds(const std::string& workload) {
  const Case one = program_case(workload);
  return simulate(one.cluster->topology, one.step->workload).time.ps();
}

std::string fault_of(const std::string& workload, Sends sends = Sends::post) {
  const WorkloadReport report = check(program_case(workload).step->workload, {sends});
  return report.fault ? to_text(*report.fault) : "";
}

TEST(Programs, BlockingMessagesFollowEachOther) {
  EXPECT_EQ(picoseconds(R"("data": {"x": "8B"}, "program": [
      {"on": 0, "do": [{"send": "x", "to": 1}]},
      {"on": 1, "do": [{"receive": "x", "from": 0}, {"send": "x", "to": "rank + 1"}]},
      {"on": 2, "do": [{"receive": "x", "from": "rank - 1"}]}])"),
            10'000'640);
}

TEST(Programs, AsynchronousMessagesHideBehindWork) {
  EXPECT_EQ(picoseconds(R"("data": {"x": "8B"}, "program": [
      {"on": 0, "do": [{"async": {"send": "x", "to": 1}, "as": "h"}, {"work": "3us"}, {"wait": "h"}]},
      {"on": 1, "do": [{"async": {"receive": "x", "from": 0}, "as": "h"}, {"work": "7us"},
                       {"wait": "h"}]}])"),
            7'000'000);
}

TEST(Programs, AWaitIsForItsOwnMessageOnly) {
  // The message from 2 comes after 1 s; that from 1 is there at once.
  EXPECT_EQ(picoseconds(R"("data": {"x": "8B", "y": "8B"}, "program": [
      {"on": 0, "do": [{"async": {"receive": "y", "from": 2}}, {"async": {"receive": "x", "from": 1},
                       "as": "h"}, {"wait": "h"}, {"work": "1s"}]},
      {"on": 1, "do": [{"send": "x", "to": 0}]},
      {"on": 2, "do": [{"work": "1s"}, {"send": "y", "to": 0}]}])"),
            1'000'005'000'320);
}

TEST(Programs, MessagesMeetReceivesOfTheirTag) {
  // What is asked for first comes last.
  const auto time = [](const std::string& receives) {
    return picoseconds(R"("data": {"x": "25kB", "y": "8B"}, "program": [
      {"on": 0, "do": [{"work": "1ms"}, {"post": "y", "to": 1, "tag": 7}, {"post": "x", "to": 1}]},
      {"on": 1, "do": [)" +
                       receives + "]}]");
  };
  const std::string late = R"({"receive": "x", "from": 0}, {"work": "1ms"})";
  const std::string early = R"({"receive": "y", "from": 0, "tag": 7})";
  EXPECT_EQ(time(late + "," + early), 2'011'000'320);
  EXPECT_EQ(time(early + "," + late), 2'011'000'320);
  const std::string data = R"("data": {"x": "8B"}, "program": [{"on": 0, "do": [{"post": "x", )";
  EXPECT_EQ(fault_of(data + R"("to": 1}]}, {"on": 1, "do": [{"receive": "x", "from": 0}]}])"), "");
  expect_contains(fault_of(data + R"("to": 1, "tag": 1}]},
                                    {"on": 1, "do": [{"receive": "x", "from": 0, "tag": 2}]}])"),
                  "rank 1 waits for a message from rank 0");
}

TEST(Programs, AGroupGoesBothWaysAtOnce) {
  const std::string both =
      R"({"send": "x", "to": "1 - rank"}, {"receive": "y", "from": "1 - rank"})";
  const std::string data =
      R"("data": {"x": "25kB", "y": "25kB"}, "program": [{"on": [0, 1], "do": [)";
  EXPECT_EQ(picoseconds(data + R"({"group": [)" + both + "]}]}]"), 6'000'000);
  EXPECT_EQ(fault_of(data + R"({"group": [)" + both + "]}]}]", Sends::rendezvous), "");
  EXPECT_EQ(fault_of(data + both + "]}]"), "");
  expect_contains(fault_of(data + both + "]}]", Sends::rendezvous),
                  "rank 0 sends to rank 1 and waits until it receives");
}

TEST(Programs, TwoGroupsRunAtOnce) {
  EXPECT_EQ(picoseconds(R"("groups": {"halves": [[0, 1], [2, 3]]}, "data": {"a": "32B", "b": "16B"},
      "program": [{"on": [0, 1], "do": [{"all-reduce": "a", "group": "halves"}]},
                  {"on": [2, 3], "do": [{"all-reduce": "b", "group": "halves"}]},
                  {"do": [{"all-reduce": "a"}, {"all-reduce": "b"}]}])"),
            70'004'160);
}

TEST(Programs, ConditionsAndLoopVariablesChooseWhoAndWhat) {
  // Rank 0 hears from 1, 2 and 3, each later than the one before.
  EXPECT_EQ(picoseconds(R"("data": {"x": "25kB"}, "program": [
      {"on": "rank > 0", "do": [{"work": "rank * 1ms"}, {"send": "x", "to": 0}]},
      {"on": "rank % 4 == 0", "do": [{"repeat": "K - 1", "as": "i", "do": [
          {"receive": "x", "from": "i + 1"}]}]}])"),
            3'006'000'000);
}

TEST(Programs, EventsOrderTwoStreams) {
  EXPECT_EQ(picoseconds(R"("program": [{"on": 0, "do": [
      {"stream": "a", "do": [{"work": "2ms"}, {"record": "e"}, {"work": "1ms"}]},
      {"stream": "b", "do": [{"work": "1ms"}, {"wait": "e"}, {"work": "5ms"}]}]}])"),
            7'000'000'000);
}

TEST(Programs, ALongLoopIsReadAtOnce) {
  const Case one = program_case(R"("program": [{"do": [
      {"repeat": 1000, "do": [{"repeat": 1000, "do": [{"work": "1us"}]}]}]}])");
  EXPECT_EQ(one.step->program->places.size(), 3U);
}

TEST(Programs, FaultsPointToTheirLines) {
  const Loaded loaded = load_program(R"("groups": {"tp": [0, 1], "dp": [0, 1]}, "data": {"a": "4B"},
"program": [{"on": 0, "do": [
  {"all-reduce": "a", "group": "tp"},
  {"all-reduce": "a", "group": "dp"}]},
{"on": 1, "do": [
   {"all-reduce": "a", "group": "dp"},
   {"all-reduce": "a", "group": "tp"}]}])");
  const std::optional<Case> one = case_of(loaded);
  ASSERT_TRUE(one) << loaded.mistake();
  const WorkloadReport report = check(one->step->workload);
  ASSERT_TRUE(report.fault);
  ASSERT_EQ(report.fault->sites.size(), 2U);
  const auto& places = one->step->program->places;
  EXPECT_EQ(loaded.sources.describe(places[report.fault->sites[0].place]), "scenario.json:5:3");
  EXPECT_EQ(loaded.sources.describe(places[report.fault->sites[1].place]), "scenario.json:8:4");
}

std::string mistake_of(const std::string& program) {
  return load_program(R"("groups": {"tp": [0, 1]}, "data": {"x": "8B"}, "program": [)" + program +
                      "]")
      .mistake();
}

TEST(Programs, RefusesWhatMakesNoSense) {
  expect_contains(mistake_of(R"({"do": [{"record": "e"}, {"wait": "e"}]})"),
                  "the stream main waits for itself");
  expect_contains(
      mistake_of(R"({"on": 0, "do": [{"stream": "a", "do": [{"wait": "f"}, {"record": "e"}]},
                                 {"stream": "b", "do": [{"wait": "e"}, {"record": "f"}]}]})"),
      "waits for \"f\", which nothing before this records");
  expect_contains(mistake_of(R"({"do": [{"all-reduce": "x", "group": "tp"}]})"),
                  "rank 2 is not in the group tp");
  expect_contains(mistake_of(R"({"do": [{"all-reduce": "x", "group": "pp"}]})"),
                  "there is no group \"pp\"");
  expect_contains(mistake_of(R"({"on": 0, "do": [{"work": "-3ms"}]})"), "-0.003 s");
  expect_contains(mistake_of(R"({"on": 0, "do": [{"work": 3}]})"), "a time is needed");
  expect_contains(mistake_of(R"({"on": 0, "do": [{"send": "x", "to": 4}]})"), "the receiver is 4");
  expect_contains(mistake_of(R"({"on": 0, "do": [{"send": "x", "to": 0}]})"), "sends to itself");
  expect_contains(mistake_of(R"({"on": 0, "do": [{"send": "y", "to": 1}]})"),
                  "there is no buffer \"y\"");
  expect_contains(mistake_of(R"({"on": 0, "do": [{"recieve": "x"}]})"), "did you mean receive?");
  expect_contains(mistake_of(R"({"do": [{"all-reduce": "x", "out": "y"}]})"),
                  "allowed: group, algorithm, chunks, channels, reduction, size, all-reduce, into");
  expect_contains(mistake_of(R"({"on": "rank", "do": []})"), "this compares nothing");
  expect_contains(mistake_of(R"({"on": 4, "do": []})"), "there is no rank 4");
  expect_contains(mistake_of(R"({"on": [1, 2, 1], "do": []})"), "rank 1 is there twice");
  expect_contains(mistake_of(R"({"on": 0, "do": [{"work": "3 parsecs"}]})"),
                  "\"3 parsecs\" is no time");
  expect_contains(mistake_of(R"({"on": 0, "do": [{"work": "1MB"}]})"), "\"1MB\" is no time");
  expect_contains(mistake_of(R"({"on": 0, "do": [{"work": "3ms 4ms"}]})"), "expected an operator");
  expect_contains(mistake_of(R"({"do": [{"repeat": -1, "do": []}]})"),
                  "the number of rounds is -1");
}

TEST(Programs, LoopsHaveNamesOfTheirOwn) {
  const auto named = [](const std::string& name) {
    return mistake_of("{\"do\": [\n{\"repeat\": 2, \"as\": \"" + name +
                      R"(", "do": [{"repeat": 2, "as": "j", "do": [{"work": "1us"}]}]}]})");
  };
  expect_contains(named("K"), "4:21 there is already a number K, that of all ranks");
  expect_contains(named("rank"), "4:21 there is already a number rank, that of the rank");
  expect_contains(named("a b"), "4:21 \"a b\" is no name of a number");
  expect_contains(named(""), "4:21 \"\" is no name of a number");
  expect_contains(named("j"), "there is already a number j, that of a loop around this one");
  EXPECT_EQ(named("i"), "0 mistakes");
}

TEST(Programs, ABadSizeIsToldOnce) {
  for (const char* const op : {R"({"all-reduce": "y", "size": "64M"})",
                               R"({"send": "y", "to": "(rank + 1) % K", "size": 3})"})
    expect_lacks(mistake_of(R"({"do": [)" + std::string(op) + "]}"), "mistakes");
}

// At once, whatever is in the rounds, and with the line of the outermost of them.
TEST(Programs, ProgramsWithoutEndAreRefused) {
  for (const char* const body :
       {R"({"repeat": 1000000000, "do": [{"all-reduce": "x", "size": "1MiB"}]})",
        R"({"repeat": 1000000000, "do": [{"repeat": 1000000000, "do": []}]})",
        R"({"repeat": 1000000000, "as": "j", "do": [{"repeat": "j", "do": [{"work": "1us"}]}]})",
        R"({"work": "1us"})"})
    expect_contains(mistake_of(R"({"do": [
{"repeat": 1000000000, "do": [)" +
                               std::string(body) + "]}]}"),
                    "4:1 the program is too long: with these rounds rank 0 does more than "
                    "5,000,000 things");
  EXPECT_EQ(mistake_of(R"({"do": [{"repeat": 1000000000, "do": []}]})"), "0 mistakes");
  expect_contains(load_text(R"({"scenario": 1, "cluster": {"shape": "switch", "ranks": 100,
          "link": {"bandwidth": "25GB/s"}}, "workload": {"program": [
              {"do": [{"repeat": 1000000, "do": [{"work": "1us"}]}]}]}})",
                            {.workloads = true})
                      .mistake(),
                  "all ranks together do more than 50,000,000 things");
}

TEST(Programs, AGroupWithoutRanksIsNamedOnce) {
  for (const char* const groups : {"[]", "5", "[[], [1]]"}) {
    const Loaded loaded =
        load_program("\"groups\": {\"tp\": " + std::string(groups) +
                     R"(}, "program": [{"do": [{"barrier": true, "group": "tp"}]}])");
    EXPECT_EQ(loaded.diagnostics.size(), 1U) << groups;
    expect_contains(loaded.mistake(), "/workload/groups/tp");
  }
}

TEST(Programs, MismatchedCountsAreNamedOnBothRanks) {
  const std::string fault = fault_of(R"("data": {"x": [[1, 2], [1], [1], [1]]}, "program": [
      {"on": 0, "do": [{"send": "x", "to": 1}]}, {"on": 1, "do": [{"receive": "x", "from": 0}]}])");
  expect_contains(fault, "rank 0 sends 8 bytes");
  expect_contains(fault, "rank 1 expects 4 bytes");
}

TEST(Programs, MismatchedTypesAreNamedOnBothRanks) {
  const auto from_x_to_y = [](const std::string& y) {
    return R"("data": {"x": {"dtype": "int64", "values": [[1], [2], [3], [4]]}, "y": )" + y +
           R"(}, "program": [{"on": 0, "do": [{"send": "x", "to": 1}]},
                             {"on": 1, "do": [{"receive": "y", "from": 0}]}])";
  };
  const std::string fault = fault_of(from_x_to_y("[[1, 2], [1, 2], [1, 2], [1, 2]]"));
  expect_contains(fault, "rank 0 sends 1 i64 (8 bytes)");
  expect_contains(fault, "rank 1 expects 2 f32 (8 bytes) from it");
  EXPECT_EQ(fault_of(from_x_to_y(R"({"dtype": "int64", "size": "8B"})")), "");
  EXPECT_EQ(fault_of(from_x_to_y(R"("8B")")), "");  // that is no type
}

// Only the root of a reduce gets its result, and with it the type.
TEST(Programs, OtherRanksThanTheRootKeepTheTypeOfTheirBuffer) {
  const auto sent_from_0_to = [](const std::string& receiver) {
    return R"("data": {"a": {"dtype": "int64", "values": [[1], [2], [3], [4]]},
                       "f": [[1, 2], [1, 2], [1, 2], [1, 2]],
                       "g": [[1, 2], [1, 2], [1, 2], [1, 2]]},
      "program": [{"do": [{"reduce": "a", "root": 1, "into": "f"}]},
                  {"on": 0, "do": [{"send": "f", "to": 1}]},
                  {"on": 1, "do": [{"receive": ")" +
           receiver + R"(", "from": 0}]}])";
  };
  EXPECT_EQ(fault_of(sent_from_0_to("g")), "");
  expect_contains(fault_of(sent_from_0_to("a")), "rank 0 sends 2 f32 (8 bytes)");
}

TEST(Programs, ABufferMustNotBeTouchedBeforeTheWait) {
  const std::string data = R"("data": {"x": "8B", "y": "8B"}, "program": [)";
  const auto fault = [&](const std::string& sender, const std::string& receiver) {
    return fault_of(data + R"({"on": 0, "do": [)" + sender + R"(]}, {"on": 1, "do": [)" + receiver +
                    "]}]");
  };
  const std::string send = R"({"async": {"send": "x", "to": 1}, "as": "h"})";
  const std::string receive = R"({"async": {"receive": "x", "from": 0}, "as": "h"})";
  const std::string receive2 = R"({"receive": "x", "from": 0})";
  const std::string set = R"({"set": {"x": "2"}})", use = R"({"set": {"y": "x"}})";
  const std::string wait = R"({"wait": "h"})";
  EXPECT_EQ(fault(send + "," + wait + "," + set, receive + "," + wait + "," + use), "");
  EXPECT_EQ(fault(send + "," + use, receive), "");  // reading does not hurt what is sent
  EXPECT_EQ(fault(send + "," + set + "," + wait, receive),
            "rank 0: send to rank 1 reads x\n"
            "rank 0: set writes x, perhaps before that has ended\n"
            "  let stream main wait for the handle (\"as\") of the first between the two");
  const std::string post = R"({"post": "x", "to": 1})";
  expect_contains(fault(post + "," + set, receive), "a post may be under way until a later send");
  EXPECT_EQ(fault(post + R"(,{"send": "x", "to": 1},)" + set, receive + "," + receive2), "");
  expect_contains(fault(R"({"group": [)" + post + "]}," + set, receive), "a post may be under way");
  expect_contains(fault(send + R"(,{"stream": "b", "do": [)" + set + "]}", receive),
                  R"(let stream b wait for the handle ("as") of the first)");
  expect_contains(fault(send, receive + "," + use + "," + wait),
                  "rank 1: receive from rank 0 writes x\nrank 1: set reads x");
}

TEST(Programs, StreamsThatShareABufferTakeTurns) {
  const auto fault = [&](const std::string& between, const std::string& before = {}) {
    return fault_of(R"("data": {"g": "8B"}, "program": [{"on": "all", "do": [
        {"set": {"g": "1"}}, {"record": "ready"},
        {"stream": "comm", "do": [{"wait": "ready"}, {"all-reduce": "g"}, {"record": "done"}]},)" +
                    between +
                    R"({"set": {"g": "g / 4"}}, {"record": "again"}, {"stream": "comm", "do": [)" +
                    before + R"({"all-reduce": "g"}]}]}])");
  };
  const std::string done = R"({"wait": "done"},)";
  const std::string again = R"({"wait": "again"},)";
  EXPECT_EQ(fault(done, again), "");
  expect_contains(fault(done),
                  "g, perhaps before that has ended\n  let stream comm wait for stream main");
  expect_contains(fault("", again),
                  "g, perhaps before that has ended\n  let stream main wait for stream comm");
}

}  // namespace
}  // namespace collsim::testing
