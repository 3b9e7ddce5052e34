// SPDX-License-Identifier: Apache-2.0
#include "app/scenario/collective.hpp"

#include <gtest/gtest.h>

#include "app/json/value.hpp"
#include "tests/app/scenario/loading.hpp"
#include "tests/contains.hpp"
#include "tests/golden.hpp"

namespace collsim {
namespace {

using testing::load_collective;
using testing::Loaded;

Case made(const std::string& collective) {
  const Loaded loaded = load_collective(collective);
  EXPECT_TRUE(loaded.scenario) << collective << ": " << loaded.mistake();
  return case_of(loaded).value_or(Case{});
}
std::string mistake(const std::string& collective) {
  return load_collective(collective).mistake();
}
std::string resolved(const std::string& collective) {
  const Loaded loaded = load_collective(collective);
  return loaded.scenario ? to_json(*loaded.scenario->resolved.find("collective"), -1)
                         : loaded.mistake();
}

TEST(ReadCollective, DefaultsAreVisible) {
  EXPECT_EQ(resolved(R"("op": "ncclAllReduce", "size": "1024 KiB")"),
            R"({"op":"all-reduce","algorithm":"ring","dtype":"float32","reduction":"sum",)"
            R"("in_place":false,"chunks":1,"channels":1,"size":"1MiB"})");
  EXPECT_EQ(resolved(R"("op": "bcast", "algorithm": "knomial", "size": "1MiB", "dtype": "half")"),
            R"({"op":"broadcast","algorithm":"k-nomial","dtype":"float16","root":0,)"
            R"("in_place":false,"chunks":1,"channels":1,"radix":4,"size":"1MiB"})");
  EXPECT_EQ(resolved(R"("op": "barrier")"),
            R"({"op":"barrier","algorithm":"dissemination","dtype":"float32","chunks":1,)"
            R"("channels":1})");
  EXPECT_EQ(resolved(R"("op": "send-recv", "size": "4B", "chunk_size": "4B")"),
            R"({"op":"send-recv","algorithm":"direct","dtype":"float32","pattern":{"shift":1},)"
            R"("chunk_size":"4B","channels":1,"size":"4B"})");
}

TEST(ReadCollective, KnobsArrive) {
  const Case one = made(
      R"("op": "all-gather", "algorithm": "pat", "size": "1MiB", "dtype": "bf16", "chunks": 3,
         "channels": 2, "slots": 8, "aggregation": 2, "in_place": true)");
  EXPECT_EQ(one.collective.operation, Operation::all_gather);
  EXPECT_EQ(one.collective.count, 1 << 19);
  EXPECT_TRUE(one.collective.in_place);
  EXPECT_EQ(one.choice.name, "pat");
  EXPECT_EQ(one.choice.chunks, 3);
  EXPECT_EQ(one.choice.channels, 2);
  EXPECT_EQ(one.choice.slots, 8);
  EXPECT_EQ(one.choice.aggregation, 2);
  EXPECT_EQ(made(R"("op": "reduce", "size": "1KiB", "reduction": "MAX")").collective.reduction,
            Reduction::max);
  EXPECT_EQ(made(R"("op": "all-reduce", "algorithm": "auto", "size": "1KiB")").choice.name, "auto");
}

TEST(ReadCollective, TheCoreAcceptsTheLargestKnobsAndNoLarger) {
  const Algorithm& chain = find_algorithm(Operation::broadcast, "chain");
  EXPECT_NO_THROW(validate(made(R"("op": "broadcast", "size": "4B", "chunks": 16777216,
                                   "channels": 1024, "slots": 1073741824)")
                               .choice,
                           chain, 4));
  AlgorithmChoice choice;
  choice.chunks = (1 << 24) + 1;
  EXPECT_THROW(validate(choice, chain, 4), Error);
  choice = {};
  choice.channels = 1025;
  EXPECT_THROW(validate(choice, chain, 4), Error);
  choice = {};
  choice.radix = 1025;
  EXPECT_THROW(validate(choice, chain, 4), Error);
}

TEST(ReadCollective, UnknownWordsAndKeysOfferTheNearest) {
  expect_text(
      mistake(R"("op": "all-redcue", "size": "4B")"),
      "3:22 unknown operation \"all-redcue\" at /collective/op; did you mean all-reduce?; "
      "allowed: broadcast, reduce, all-reduce, all-gather, reduce-scatter, gather, scatter, "
      "all-to-all, barrier, send-recv");
  expect_text(mistake(R"("op": "gather", "size": "4B", "algorithm": "binmial")"),
              "3:59 unknown gather algorithm \"binmial\" at /collective/algorithm; did you mean "
              "binomial?; allowed: binomial, flat, auto, nccl");
  expect_text(mistake(R"("op": "gather", "size": "4B", "algoritm": "flat")"),
              "3:46 unknown key \"algoritm\" at /collective/algoritm; did you mean algorithm?");
}

TEST(ReadCollective, SizeMustBeWholeElements) {
  expect_text(mistake(R"("op": "broadcast", "size": "1030B", "dtype": "float64")"),
              "3:43 1030B is not a whole number of elements: float64 has 8 bytes at "
              "/collective/size; write \"1KiB\" or \"1032B\"");
  expect_text(mistake(R"("op": "broadcast", "size": "64M")").substr(0, 30),
              "3:43 \"64M\" could mean two size");
  expect_text(mistake(R"("op": "broadcast")"), "3:15 \"size\" is missing at /collective");
  EXPECT_EQ(made(R"("op": "all-reduce", "size": 0)").collective.count, 0);
  expect_contains(mistake(R"("op": "broadcast", "size": "8000000TiB")"), " at /collective/size");
}

TEST(ReadCollective, ABarrierMovesNothing) {
  EXPECT_EQ(made(R"("op": "barrier", "size": 0)").collective.count, 0);
  expect_text(mistake(R"("op": "barrier", "size": "4B")"),
              "3:41 a barrier moves no data at /collective/size; omit it");
  expect_text(mistake(R"("op": "barrier", "data": [])"),
              "3:41 a barrier moves no data at /collective/data; omit it");
}

TEST(ReadCollective, TheRootIsARankOfTheClusterNotAPosition) {
  const Case one = made(R"("op": "broadcast", "size": "4B", "ranks": [3, 1], "root": 1)");
  EXPECT_EQ(one.collective.root, 1);
  EXPECT_EQ(one.collective.group, (std::vector<Rank>{Rank(3), Rank(1)}));
  expect_contains(resolved(R"("op": "broadcast", "size": "4B", "ranks": [3, 1])"), "\"root\":3");
  expect_text(mistake(R"("op": "broadcast", "size": "4B", "ranks": [1, 3], "root": 2)"),
              "3:74 rank 2, the root, does not take part at /collective/root; these ranks take "
              "part: 1, 3");
  expect_text(mistake(R"("op": "broadcast", "size": "4B", "root": 9)"),
              "3:57 rank 9, the root, does not take part at /collective/root; ranks 0 to 3 take "
              "part");
}

TEST(ReadCollective, RanksMustExistAndBeThereOnce) {
  expect_text(mistake(R"("op": "broadcast", "size": "4B", "ranks": [0, 4])"),
              "3:62 there is no rank 4 at /collective/ranks/1; the cluster has ranks 0 to 3");
  expect_text(mistake(R"("op": "broadcast", "size": "4B", "ranks": [0, 0])"),
              "3:62 rank 0 is in the group more than once at /collective/ranks/1");
  expect_text(mistake(R"("op": "broadcast", "size": "4B", "ranks": [])"),
              "3:58 a list of whole numbers is needed, not an empty one at /collective/ranks");
  expect_text(mistake(R"("op": "broadcast", "size": "4B", "ranks": "0-3")"),
              "3:58 a list of whole numbers is needed, not a string at /collective/ranks");
}

TEST(ReadCollective, KeysThatMeanNothingAreMistakes) {
  const auto refused = [](const std::string& key, const std::string& collective) {
    const std::string found = mistake(collective);
    return found.find("\"" + key + "\"") != std::string::npos && found.ends_with("omit it");
  };
  EXPECT_TRUE(refused("reduction", R"("op": "broadcast", "size": "4B", "reduction": "sum")"));
  EXPECT_TRUE(refused("root", R"("op": "all-reduce", "size": "4B", "root": 0)"));
  EXPECT_TRUE(refused("pattern", R"("op": "all-reduce", "size": "4B", "pattern": "shift")"));
  EXPECT_TRUE(refused("radix", R"("op": "broadcast", "size": "4B", "radix": 3)"));
  EXPECT_TRUE(refused("aggregation", R"("op": "all-gather", "size": "4B", "aggregation": 3)"));
  EXPECT_TRUE(refused("dims", R"("op": "all-reduce", "size": "4B", "dims": [2, 2])"));
  EXPECT_TRUE(refused("in_place", R"("op": "all-to-all", "size": "4B", "in_place": true)"));
  EXPECT_EQ(
      made(R"("op": "all-reduce", "algorithm": "master", "size": "4B", "root": 2)").collective.root,
      2);
}

TEST(ReadCollective, KeysOfSomeAlgorithmsMayStandInASweepOverThem) {
  const Loaded loaded =
      load_collective(R"("op": "broadcast", "size": "4B", "radix": 3)",
                      R"("sweep": {"collective.algorithm": ["chain", "k-nomial"]})");
  ASSERT_TRUE(loaded.scenario) << loaded.mistake();
  EXPECT_EQ(case_of(loaded, 1)->choice.radix, 3);
  const Loaded operations = load_collective(
      R"("size": "4B", "root": 1, "reduction": "max")",
      R"("sweep": {"collective.op": ["broadcast", "reduce", "all-reduce", "barrier"]})");
  ASSERT_TRUE(operations.scenario) << operations.mistake();
  EXPECT_EQ(case_of(operations, 1)->collective.reduction, Reduction::max);
  EXPECT_EQ(case_of(operations, 3)->collective.count, 0);
}

TEST(ReadCollective, ChunksAndChunkSizeExcludeEachOther) {
  expect_text(mistake(R"("op": "broadcast", "size": "4B", "chunks": 2, "chunk_size": "4B")"),
              "3:62 \"chunks\" and \"chunk_size\" exclude each other at /collective; remove one of "
              "them");
  expect_text(mistake(R"("op": "broadcast", "size": "1TiB", "chunk_size": "4B")").substr(0, 30),
              "3:65 chunk_size 4 bytes cuts a");
  expect_text(mistake(R"("op": "broadcast", "size": "1TiB", "chunk_size": 0)"),
              "3:65 a chunk has at least 1 byte at /collective/chunk_size");
}

TEST(ReadCollective, DimsComeFromTheMachine) {
  const auto dims = [](const std::string& cluster, const std::string& collective) {
    const Loaded loaded = testing::load_text("{\"scenario\": 1, \"cluster\": " + cluster +
                                             ", \"collective\": {" + collective + "}}");
    EXPECT_TRUE(loaded.scenario) << loaded.mistake();
    return case_of(loaded).value_or(Case{}).choice.dims;
  };
  const std::string torus = R"({"shape": "torus", "dims": [3, 4], "link": {"bandwidth": "1GB/s"}})";
  const std::string all_reduce = R"("op": "all-reduce", "size": "48B", "algorithm": )";
  EXPECT_EQ(dims(torus, all_reduce + R"("torus")"), (std::vector<int>{3, 4}));
  EXPECT_EQ(dims(torus, all_reduce + R"("hierarchical", "dims": [2, 6])"),
            (std::vector<int>{2, 6}));
  EXPECT_EQ(dims(torus, all_reduce + R"("torus", "ranks": [0, 1, 2, 3, 4, 5])"),
            (std::vector<int>{2, 3}));
  EXPECT_EQ(dims(torus, all_reduce + R"("ring")"), std::vector<int>{});
  const std::string square =
      R"({"shape": "torus", "dims": [4, 4], "link": {"bandwidth": "1GB/s"}})";
  const std::string nodes =
      R"({"shape": "nodes", "nodes": 2, "gpus_per_node": 4, "intra": {"shape": "switch", "link": {"bandwidth": "1GB/s"}}, "inter": {"link": {"bandwidth": "1GB/s"}}})";
  EXPECT_EQ(dims(square, all_reduce + R"("swing")"), (std::vector<int>{4, 4}));
  EXPECT_EQ(dims(nodes, all_reduce + R"("swing")"), std::vector<int>{8});
  EXPECT_EQ(dims(nodes, all_reduce + R"("hierarchical")"), (std::vector<int>{2, 4}));
  expect_text(mistake(R"("op": "all-reduce", "size": "4B", "algorithm": "torus", "dims": [3, 2])"),
              "3:80 dims 3 x 2 do not arrange 4 ranks: their product must be that number at "
              "/collective/dims");
}

TEST(ReadCollective, ATorusIsCrossedInAllDirectionsByDefault) {
  const auto channels = [](const std::string& rest) {
    const Loaded loaded = testing::load_text(
        R"({"scenario": 1, "cluster": {"shape": "torus", "dims": [3, 4], "link": {"bandwidth": )"
        R"("1GB/s"}}, "collective": {"op": "all-reduce", "size": "48B", "algorithm": )" +
        rest + "}}");
    EXPECT_TRUE(loaded.scenario) << loaded.mistake();
    const int resolved = static_cast<int>(
        loaded.scenario->resolved.find("collective")->find("channels")->integer().value_or(0));
    EXPECT_EQ(case_of(loaded).value_or(Case{}).choice.channels, resolved);
    return resolved;
  };
  EXPECT_EQ(channels(R"("torus")"), 4);
  EXPECT_EQ(channels(R"("torus", "channels": 1)"), 1);
  EXPECT_EQ(channels(R"("torus", "dims": [2, 6])"), 1);
  EXPECT_EQ(channels(R"("torus", "ranks": [0, 1, 2, 3])"), 1);
  EXPECT_EQ(channels(R"("hierarchical")"), 1);
}

TEST(ReadCollective, WhatAutoMayChooseIsLeftOpen) {
  const auto open = [](const std::string& more) {
    const Loaded loaded = testing::load_text(
        R"({"scenario": 1, "cluster": {"shape": "ring", "ranks": 4, "link": {"bandwidth": )"
        R"("1GB/s"}}, "collective": {"op": "all-reduce", "size": "48B", "algorithm": "auto")" +
        more + "}}");
    EXPECT_TRUE(loaded.scenario) << loaded.mistake();
    const OpenKnobs open = case_of(loaded).value_or(Case{}).open;
    const JsonValue& resolved = *loaded.scenario->resolved.find("collective");
    EXPECT_EQ(resolved.find("chunks") == nullptr && resolved.find("chunk_size") == nullptr,
              open.chunks);
    EXPECT_EQ(resolved.find("channels") == nullptr, open.channels);
    return std::string(open.chunks ? "chunks " : "") + (open.channels ? "channels" : "");
  };
  EXPECT_EQ(open(""), "chunks channels");
  EXPECT_EQ(open(R"(, "chunks": 1)"), "channels");
  EXPECT_EQ(open(R"(, "chunk_size": "4B")"), "channels");
  EXPECT_EQ(open(R"(, "channels": 2)"), "chunks ");
}

TEST(ReadCollective, RankCountsThatAnAlgorithmRefusesAreItsMistake) {
  expect_contains(
      load_collective(
          R"("op": "all-reduce", "size": "4B", "algorithm": "swing", "ranks": [0, 1, 2])")
          .mistake(),
      "3:63 all-reduce 'swing' does not work with 3 ranks: ");
}

TEST(ReadCollective, PatternsAreReadInRanksOfTheCluster) {
  const Case pairs =
      made(R"("op": "send-recv", "size": "4B", "ranks": [3, 1], "pattern": [[1, 3]])");
  EXPECT_EQ(pairs.collective.pattern.kind, Pattern::Kind::pairs);
  EXPECT_EQ(pairs.collective.pattern.pairs, (std::vector<std::pair<int, int>>{{1, 0}}));
  EXPECT_EQ(made(R"("op": "send-recv", "size": "4B", "pattern": {"shift": -2})")
                .collective.pattern.distance,
            -2);
  EXPECT_EQ(
      made(R"("op": "send-recv", "size": "4B", "pattern": "exchange")").collective.pattern.kind,
      Pattern::Kind::exchange);
  expect_text(mistake(R"("op": "send-recv", "size": "4B", "pattern": [[0, 1], [0, 2]])"),
              "3:69 rank 0 sends more than once at /collective/pattern/1");
  expect_text(mistake(R"("op": "send-recv", "size": "4B", "pattern": [[0, 1], [2, 1]])"),
              "3:69 rank 1 receives more than once at /collective/pattern/1");
  expect_text(mistake(R"("op": "send-recv", "size": "4B", "pattern": [[0, 7]])"),
              "3:61 rank 7 does not take part at /collective/pattern/0; ranks 0 to 3 take part");
  expect_text(mistake(R"("op": "send-recv", "size": "4B", "pattern": 3)"),
              "3:60 a pattern is a word, an object or a list, not a number at /collective/pattern; "
              "\"shift\", \"exchange\", {\"shift\": 2} or [[0, 1], [1, 0]]");
  EXPECT_EQ(mistake(R"("op": "send-recv", "size": "4B", "pattern": {"by": 2})"), "2 mistakes");
}

TEST(ReadCollective, MistakesOfClusterAndCollectiveAreReportedTogether) {
  const Loaded loaded = testing::load_text(
      R"({"scenario": 1, "cluster": {"shape": "chain", "ranks": 4},
          "collective": {"op": "broadcast", "size": "64M", "chunks": 0, "root": 77}})");
  EXPECT_EQ(loaded.mistakes().size(), 3) << loaded.mistake();
}

TEST(ReadCollective, DataSayTheSize) {
  const Case sum = made(R"("op": "all-reduce", "data": [[1, 2], [3, 4], [5, 6], [7, 8]])");
  EXPECT_EQ(sum.collective.count, 2);
  ASSERT_TRUE(sum.data);
  EXPECT_EQ((*sum.data)[3], (std::vector<double>{7, 8}));
  EXPECT_EQ(made(R"("op": "all-gather", "data": [[1, 2], [3], [5], [7]])").collective.count, 5);
  EXPECT_EQ(made(R"("op": "all-to-all", "data": [[1, 2, 3, 4], [1, 2, 3, 4], [1, 2, 3, 4],
                                                 [1, 2, 3, 4]])")
                .collective.count,
            4);
  EXPECT_EQ(made(R"("op": "send-recv", "pattern": [[0, 1]], "data": [[1, 2], [], [], []])")
                .collective.count,
            2);
}

TEST(ReadCollective, DataOfABroadcastAreThoseOfItsRoot) {
  for (const char* data :
       {"[[1, 2, 3]]", "[[], [], [1, 2, 3], []]", "[[0, 0, 0], [0, 0, 0], [1, 2, 3], [0, 0, 0]]"}) {
    const Case one = made(std::string(R"("op": "broadcast", "root": 2, "data": )") + data);
    EXPECT_EQ(one.collective.count, 3) << data;
    ASSERT_TRUE(one.data) << data;
    EXPECT_EQ((*one.data)[2], (std::vector<double>{1, 2, 3})) << data;
    EXPECT_TRUE((*one.data)[0].empty()) << data;
  }
}

TEST(ReadCollective, DataMustFitOperationAndType) {
  expect_text(mistake(R"("op": "all-reduce", "data": [[1], [2]])"),
              "3:44 data has 2 lists, but 4 ranks take part at /collective/data; write one list of "
              "numbers per rank");
  expect_text(mistake(R"("op": "all-reduce", "data": [[1], [2], [3], [4, 5]])"),
              "3:45 rank 0 has 1 number, but its input is 2 at /collective/data/0; all have the "
              "same number of them");
  expect_text(mistake(R"("op": "all-gather", "data": [[1], [2], [3], [4, 5]])"),
              "3:45 rank 0 has 1 number, but its input is 2 at /collective/data/0; the gathered "
              "pieces are equal; the first ones may be one longer");
  expect_text(mistake(R"("op": "broadcast", "data": [[1], [2, 3], [], []])"),
              "3:49 rank 1 has 2 numbers, but its input is 0 at /collective/data/1; it sends "
              "nothing: write [], or as many numbers as the others have");
  expect_text(mistake(R"("op": "broadcast", "dtype": "uint8", "data": [[256]])"),
              "3:63 this is not in the range of uint8 at /collective/data/0/0");
  expect_text(mistake(R"("op": "broadcast", "dtype": "int32", "data": [[1.5]])"),
              "3:63 this is not whole, but the type is int32 at /collective/data/0/0");
  expect_text(mistake(R"("op": "broadcast", "dtype": "half", "data": [[1e6]])"),
              "3:62 this is too large for float16 at /collective/data/0/0");
  expect_text(mistake(R"("op": "broadcast", "dtype": "int64", "data": [[9007199254740993]])"),
              "3:63 this is beyond 2^53, the limit for exact data at "
              "/collective/data/0/0");
  expect_text(mistake(R"("op": "broadcast", "data": [["1"]])"),
              "3:45 this is not a number at /collective/data/0/0");
  expect_text(mistake(R"("op": "broadcast", "size": "4B", "data": [[1, 2]])"),
              "3:43 the size says 1 elements, \"data\" 2 at /collective/size; omit \"size\": it "
              "follows from the data");
  EXPECT_EQ(made(R"("op": "broadcast", "data": [[0.1, -3]])").data->at(0).at(0), 0.1);
}

}  // namespace
}  // namespace collsim
