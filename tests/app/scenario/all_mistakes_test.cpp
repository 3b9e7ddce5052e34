// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/app/scenario/cluster_reading.hpp"
#include "tests/app/scenario/loading.hpp"
#include "tests/contains.hpp"
#include "tests/golden.hpp"

// No mistake hides another one.

namespace collsim {
namespace {

using testing::load_text;

int lines_of(const std::string& text) {
  return static_cast<int>(std::count(text.begin(), text.end(), '\n'));
}

TEST(AllMistakes, OfAClusterComeTogether) {
  const std::string mistakes = read_cluster_text(
                                   R"({"shape": "chian", "ranks": "8",
          "link": {"bandwith": "25GB", "overhead": 5, "duplex": "halff"},
          "links_override": [{"from": "gpu0", "too": "gpu1", "latency": "1"}],
          "late": {"9": "5ms", "x": 3}})")
                                   .mistakes;
  for (const char* pointer :
       {"/cluster/shape: unknown shape \"chian\"", "/cluster/ranks: expected a whole number",
        "/cluster/link/bandwith: ", "/cluster/link/overhead: ", "/cluster/link/duplex: ",
        "/cluster/links_override/0/too: ", "/cluster/links_override/0/latency: ",
        "/cluster/late/x: \"x\" is not a rank |  | write the number of a rank, such as"})
    expect_contains(mistakes, pointer);
  EXPECT_EQ(lines_of(mistakes), 8) << mistakes;
}

TEST(AllMistakes, RanksAreCountedAlthoughTheLinkIsWrong) {
  expect_text(
      read_cluster_text(R"({"shape": "chain", "ranks": 8, "link": {"bandwidth": "1GB/s",
                                  "duplex": 1}, "late": {"9": "5ms"}})")
          .mistakes,
      "/cluster/link/duplex: expected a string, but this is a number |  | allowed: full, half\n"
      "/cluster/late/9: there is no rank 9 |  | ranks are 0 to 7\n");
}

TEST(AllMistakes, OfAnUnknownShapeAreThoseOfItsKeys) {
  expect_lacks(read_cluster_text(R"({"shape": "pretzel", "ranks": 0, "groups": 2, "x": 1,
                                  "link": {"bandwidth": "1GB/s"}})")
                   .mistakes,
               "/cluster/groups");
  EXPECT_EQ(lines_of(read_cluster_text(R"({"shape": "pretzel", "ranks": 0, "groups": 2, "x": 1,
                                           "link": {"bandwidth": "1GB/s", "latency": "1"}})")
                         .mistakes),
            4);
}

TEST(AllMistakes, AWrongAxisHidesNoneAndInventsNone) {
  const std::string cluster =
      R"("cluster": {"shape": "chain", "link": {"bandwidth": "1GB/s"}, "late": {"5": "1ms"}})";
  const auto load = [&](const std::string& collective, const std::string& sweep) {
    return load_text("{\"scenario\": 1, " + cluster + ", \"collective\": {" + collective +
                     "}, \"sweep\": {" + sweep + "}}")
        .mistakes();
  };
  EXPECT_EQ(
      load(R"("op": "broadcast", "size": "1MiB", "root": 3)", R"("cluster.ranks": [])").size(), 1U);
  EXPECT_EQ(load(R"("op": "broadcast", "radix": 4)",
                 R"("cluster.ranks": [], "collective.size": [], "collective.algorithm": [])")
                .size(),
            3U);
  EXPECT_EQ(load(R"("op": "brodcast", "chunks": 0, "size": "6B")",
                 R"("cluster.ranks": [], "collective.dtype": [])")
                .size(),
            4U);
  EXPECT_EQ(load(R"("op": "broadcast", "size": "1")", R"("cluster.ranks": [2], "collectve.x": [1])")
                .size(),
            3U)
      << "late of rank 5 is wrong as well";
}

TEST(AllMistakes, OfExpectationsComeWithTheOthers) {
  LoadOptions options;
  options.also_check = [](const Scenario& scenario, Diagnostics& diagnostics) {
    for (const char* code : {"bad-unit", "not-swept", "unknown-path"})
      diagnostics.add({code, code, scenario.expect.place, "/expect/0", "", ""});
  };
  const auto load = [&](const std::string& size) {
    return testing::load_collective(R"("op": "broadcast", "size": ")" + size + "\"",
                                    R"("expect": [{}])", options)
        .mistakes()
        .size();
  };
  EXPECT_EQ(load("1MiB"), 3U);
  EXPECT_EQ(load("1"), 2U) << "what is not known may be right where something could not be read";
}

TEST(AllMistakes, SetTakesKeysAway) {
  LoadOptions options;
  options.set = {"collective.root=null", "cluster.preset=dgx-h100"};
  const std::string with_both =
      testing::load_collective(R"("op": "broadcast", "size": "1MiB", "root": 99)", "", options)
          .mistake();
  expect_contains(with_both, "such as --set cluster.KEY=null");
  for (const char* key : {"shape", "ranks", "link"})
    options.set.push_back(std::string("cluster.") + key + "=null");
  EXPECT_TRUE(
      testing::load_collective(R"("op": "broadcast", "size": "1MiB", "root": 99)", "", options)
          .scenario.has_value());
  options.set = {"collective.rot=null"};
  expect_contains(
      testing::load_collective(R"("op": "broadcast", "size": "1MiB")", "", options).mistake(),
      "there is no \"collective.rot\" to take away");
}

TEST(AllMistakes, LinksWrittenFromBothSidesAreOne) {
  const auto graph = [](const std::string& links) {
    return R"({"devices": [{"id": "gpu[0-2]", "kind": "gpu"}], "links": [)" + links + "]}";
  };
  const std::string there = R"({"from": "gpu0", "to": "gpu[1-2]", "bandwidth": "1GB/s"})";
  EXPECT_EQ(cluster_of(graph(there + "," + there)).topology.links().size(), 8U);
  expect_text(
      mistake_of(graph(there + R"(,{"from": "gpu2", "to": "gpu0", "bandwidth": "2GB/s"})")),
      "/cluster/links/1: \"gpu2\" and \"gpu0\" are linked from both sides |  | links go both "
      "ways already; for two parallel cables, write the same direction twice");
  expect_text(mistake_of(graph(
                  R"({"from": "gpu0", "to": "gpu[1-2]", "bandwidth": "1GB/s", "both": true})")),
              "/cluster/links/0/both: \"both\" is not needed here |  | links go both ways already");
}

TEST(AllMistakes, DevicesMayBeRanges) {
  const auto with = [](const std::string& device) {
    return R"({"devices": [{"id": "gpu", "kind": "gpu"}, )" + device + R"(], "links": []})";
  };
  EXPECT_EQ(cluster_of(with(R"({"id": "gpu[0,2-3]", "kind": "gpu"})")).topology.name(NodeId(2)),
            "gpu2");
  expect_text(mistake_of(with(R"({"id": "gpu[0-3]", "kind": "gpu", "count": 4})")),
              "/cluster/devices/1/count: \"gpu[0-3]\" already says how many devices there are |  | "
              "omit \"count\", or write \"id\": \"gpu\"");
  expect_text(
      mistake_of(with(R"({"id": "gpu[0..3]", "kind": "gpu"})")),
      "/cluster/devices/1/id: \"gpu[0..3]\" is not a list of devices: numbers and ranges of "
      "numbers stand between [ and ] |  | write \"gpu[0-3]\" for gpu0 to gpu3, or "
      "\"gpu[0,2-3]\"");
}

TEST(AllMistakes, OverridesByKindOfLinkSayHowToWriteThem) {
  expect_text(
      mistake_of(R"({"preset": "dgx-h100", "override": {"nic": {"bandwidth": "800Gb/s"}}})"),
      "/cluster/override/nic: \"nic\" is a link type; change a single value of it "
      "|  | write \"nic.bandwidth\": \"800Gb/s\"");
}

}  // namespace
}  // namespace collsim
