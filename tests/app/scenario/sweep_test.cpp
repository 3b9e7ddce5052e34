// SPDX-License-Identifier: Apache-2.0
#include "app/scenario/sweep.hpp"

#include <gtest/gtest.h>

#include "app/json/value.hpp"
#include "tests/app/scenario/loading.hpp"
#include "tests/contains.hpp"
#include "tests/golden.hpp"

namespace collsim {
namespace {

using testing::broadcast;
using testing::load_collective;
using testing::Loaded;

// The values of one axis, as JSON on one line; or what is wrong.
std::string swept(const std::string& path, const std::string& axis, std::size_t max_points = 1000) {
  Sources sources;
  Diagnostics diagnostics;
  const auto source = sources.add(Sources::Kind::file, "sweep", "{\"" + path + "\": " + axis + "}");
  const std::optional<JsonValue> sweep = parse_json(source, sources, diagnostics);
  const Sweep read = read_sweep(*sweep, max_points, diagnostics);
  for (const Diagnostic& d : diagnostics.sorted())
    return d.message + " at " + d.pointer + (d.hint.empty() ? "" : "; " + d.hint);
  std::string text;
  for (const auto& point : read.axes.at(0).points)
    for (const JsonValue& value : point) text += (text.empty() ? "" : " ") + to_json(value, -1);
  return text;
}
std::string range(const std::string& axis) {
  return swept("collective.size", axis);
}

TEST(Sweep, WithoutOneThereIsOnePoint) {
  const Loaded loaded = load_collective(broadcast);
  ASSERT_TRUE(loaded.scenario);
  EXPECT_EQ(loaded.scenario->points(), 1);
  EXPECT_TRUE(loaded.scenario->params(0).empty());
}

TEST(Sweep, AxesMultiplyAndTheLastChangesFastest) {
  const Loaded loaded = load_collective(
      broadcast, R"("sweep": {"cluster.ranks": [2, 4], "collective.chunks": [1, 8, 16]})");
  ASSERT_TRUE(loaded.scenario) << loaded.mistake();
  ASSERT_EQ(loaded.scenario->points(), 6);
  const Params params = loaded.scenario->params(4);
  ASSERT_EQ(params.size(), 2);
  EXPECT_EQ(params[0].first, "cluster.ranks");
  EXPECT_EQ(params[0].second.integer(), 4);
  EXPECT_EQ(params[1].first, "collective.chunks");
  EXPECT_EQ(params[1].second.integer(), 8);
  const auto made = case_of(loaded, 4);
  ASSERT_TRUE(made);
  EXPECT_EQ(made->cluster->topology.rank_count(), 4);
  EXPECT_EQ(made->choice.chunks, 8);
}

TEST(Sweep, ZippedPathsWalkTogether) {
  const Loaded loaded = load_collective(
      R"("op": "broadcast")",
      R"("sweep": {"zip: cluster.ranks,collective.size": [[2, "1MiB"], [8, "4MiB"]]})");
  ASSERT_TRUE(loaded.scenario) << loaded.mistake();
  ASSERT_EQ(loaded.scenario->points(), 2);
  const auto made = case_of(loaded, 1);
  ASSERT_TRUE(made);
  EXPECT_EQ(made->collective.size(), 8);
  EXPECT_EQ(made->collective.bytes(), 4 << 20);
  EXPECT_EQ(loaded.scenario->params(1)[1].first, "collective.size");
}

TEST(Sweep, AFactorReachesTheEndWhereItHitsIt) {
  expect_text(range(R"({"from": 1, "to": 8192, "factor": 2})"),
              "1 2 4 8 16 32 64 128 256 512 1024 2048 4096 8192");
  expect_text(range(R"({"from": 1, "to": 8191, "factor": 2})"),
              "1 2 4 8 16 32 64 128 256 512 1024 2048 4096");
  EXPECT_EQ(range(R"({"from": 3, "to": 3, "factor": 2})"), "3");
  EXPECT_EQ(range(R"({"from": 0.1, "to": 1, "factor": 10})"), "0.1 1.0");
}

TEST(Sweep, WholeNumbersAreRoundedAndThereOnce) {
  expect_text(range(R"({"from": 1, "to": 10, "factor": 1.3})"), "1 2 3 4 5 6 8");
  EXPECT_EQ(range(R"({"from": 1, "to": 3, "points": 9})"), "1 2 3");
}

TEST(Sweep, StepsAndPointsAreEvenlySpaced) {
  EXPECT_EQ(range(R"({"from": 1, "to": 10, "step": 4})"), "1 5 9");
  EXPECT_EQ(range(R"({"from": 1, "to": 9, "step": 4})"), "1 5 9");
  expect_text(range(R"({"from": 0, "to": 1, "step": 0.25})"), "0.0 0.25 0.5 0.75 1.0");
  expect_text(range(R"({"from": 0, "to": 100, "points": 5})"), "0 25 50 75 100");
  EXPECT_EQ(range(R"({"from": 0.5, "to": 1.5, "points": 3})"), "0.5 1.0 1.5");
  EXPECT_EQ(range(R"({"from": -4, "to": 4, "step": 4})"), "-4 0 4");
}

TEST(Sweep, QuantitiesComeOutExactly) {
  EXPECT_EQ(range(R"({"from": "1KiB", "to": "1MiB", "factor": 32})"),
            "\"1KiB\" \"32KiB\" \"1MiB\"");
  EXPECT_EQ(range(R"({"from": 0, "to": "1us", "step": "500ns"})"), "\"0s\" \"500ns\" \"1us\"");
  expect_text(range(R"({"from": "100Gb/s", "to": "400Gb/s", "points": 4})"),
              "\"12.5GB/s\" \"25GB/s\" \"37.5GB/s\" \"50GB/s\"");
}

TEST(Sweep, TheEndsOf64BitsAreNoTrap) {
  EXPECT_EQ(range(R"({"from": -9223372036854775807, "to": 9223372036854775807, "points": 3})"),
            "-9223372036854775807 0 9223372036854775807");
  EXPECT_EQ(range(R"({"from": 9223372036854775806, "to": 9223372036854775807, "step": 1})"),
            "9223372036854775806 9223372036854775807");
  EXPECT_EQ(range(R"({"from": 1, "to": 9223372036854775807, "factor": 4000000000})"),
            "1 4000000000");
  EXPECT_EQ(range(R"({"from": -1e308, "to": 1e308, "points": 3})"), "-1e+308 0.0 1e+308");
}

TEST(Sweep, RangesThatMakeNoSenseAreMistakes) {
  const std::string at = " at /sweep/collective.size";
  EXPECT_EQ(range(R"({"from": 8, "to": 1, "factor": 2})"),
            "\"to\" is below \"from\"" + at + "/to; ranges ascend; swap \"from\" and \"to\"");
  EXPECT_EQ(range(R"({"from": 0, "to": 1, "factor": 2})"),
            "a range with a factor must begin above 0" + at +
                "/from; 0 times any factor stays 0; begin higher, or use \"step\" or \"points\"");
  EXPECT_EQ(range(R"({"from": 1, "to": 8, "factor": 1})"),
            "a factor is a number above 1" + at + "/factor; such as 2");
  EXPECT_EQ(range(R"({"from": 1, "to": 8, "step": 0})"),
            "a step must be above 0" + at + "/step; ranges ascend");
  EXPECT_EQ(range(R"({"from": "1KiB", "to": "1ms", "factor": 2})"),
            "\"from\" is a size, but \"to\" is a time" + at + "/to");
  EXPECT_EQ(range(R"({"from": "1KiB", "to": 64, "factor": 2})"),
            "\"from\" is a size, but \"to\" is a number" + at + "/to");
  EXPECT_EQ(
      range(R"({"from": "1KiB", "to": "1MiB", "step": 2})"),
      "\"step\" is a number, but the range is of another kind: \"from\" is a size" + at + "/step");
  EXPECT_EQ(
      range(R"({"from": 1, "to": 5, "step": "2B"})"),
      "\"step\" is a size, but the range is of another kind: \"from\" is a number" + at + "/step");
  EXPECT_EQ(range(R"({"from": 0, "to": "1GB/s", "points": 3})"),
            "a bandwidth must be above 0" + at + "/from");
  EXPECT_EQ(range(R"({"from": "fast", "to": "1GB/s", "points": 3})"),
            "\"fast\" is neither a number nor a quantity" + at +
                "/from; quantities are sizes (\"64MiB\"), times (\"5us\") and bandwidths "
                "(\"25GB/s\")");
  EXPECT_EQ(range(R"({"from": 1, "to": 4})"),
            "the range needs one of \"factor\", \"step\" and \"points\"" + at +
                "/to; write for example {\"from\": 1, \"to\": 64, \"factor\": 2}");
}

TEST(Sweep, AHugeRangeIsRefusedBeforeItIsBuilt) {
  for (const char* axis :
       {R"({"from": 1, "to": 1000000000, "step": 1})", R"({"from": 0, "to": 1, "step": 1e-300})",
        R"({"from": 1, "to": 1e300, "factor": 1.0000000000001})",
        R"({"from": -9223372036854775807, "to": 9223372036854775807, "step": 1})",
        R"({"from": -1e308, "to": 1e308, "step": 1e-3})"})
    expect_text(range(axis),
                "the range has more than 10,000,000 values at /sweep/collective.size/to");
}

TEST(Sweep, TooManyPointsSayHowToAllowThem) {
  expect_text(swept("collective.chunks", R"({"from": 1, "to": 200000, "step": 1})", 100'000),
              "the sweep has 200,000 points; at most 100,000 are run at /sweep; "
              "--yes allows up to 10,000,000");
  std::string axes;
  for (int i = 0; i < 12; ++i)
    axes += (i == 0 ? "" : ", ") + ("\"model.x" + std::to_string(i)) +
            R"(": {"from": 1, "to": 1000000, "step": 1})";
  const Loaded loaded = load_collective(broadcast, "\"sweep\": {" + axes + "}",
                                        {.max_points = max_sweep_points * 100});
  expect_text(loaded.mistakes().at(0),
              "4:10 the sweep has more than 1,000,000,000,000,000 points; at most 10,000,000 are "
              "run at /sweep; more than 10,000,000 are always refused: use fewer values");
}

TEST(Sweep, OnlyWhatIsSimulatedCanBeSwept) {
  const auto mistake = [](const char* sweep) {
    return load_collective(broadcast, std::string("\"sweep\": ") + sweep).mistake();
  };
  const std::string hint =
      "; paths begin with \"cluster.\", \"collective.\", \"workload.\" or \"model.\", such as "
      "\"collective.chunks\"";
  EXPECT_EQ(mistake(R"({"colective.chunks": [1]})"),
            "4:11 \"colective.chunks\" cannot be swept at /sweep/colective.chunks; did you mean "
            "collective.chunks?" +
                hint);
  EXPECT_EQ(mistake(R"({"measure.iters": [1]})"),
            "4:11 \"measure.iters\" cannot be swept at /sweep/measure.iters" + hint);
  EXPECT_EQ(mistake(R"({"collective": [{}]})"),
            "4:11 \"collective\" cannot be swept at /sweep/collective" + hint);
  expect_text(mistake(R"({"collective..chunks": [1]})"),
              "4:11 \"collective..chunks\" is not a path at /sweep/collective..chunks; a path is "
              "names with dots between them, such as \"collective.chunks\"");
  expect_text(mistake(R"({"collective.chunks": []})"),
              "4:32 an axis needs at least one value at /sweep/collective.chunks; write [1, 2, 4] "
              "or {\"from\": 1, \"to\": 64, \"factor\": 2}");
  expect_text(mistake(R"({"collective.chunks": 3})"),
              "4:32 an axis is a list of values or a range, not a number at "
              "/sweep/collective.chunks; write [1, 2, 4] or {\"from\": 1, \"to\": 64, \"factor\": "
              "2}");
  expect_text(mistake(R"({"zip: collective.chunks": [[1]]})"),
              "4:11 a zip needs at least two paths at /sweep/zip: collective.chunks; write \"zip: "
              "cluster.ranks, collective.size\"");
  expect_text(mistake(R"({"zip: collective.chunks, cluster.ranks": [[1, 2], 3]})"),
              "4:61 each point of this zip is a list of 2 values, not a number at /sweep/zip: "
              "collective.chunks, cluster.ranks/1; write one value for each path, in the order of "
              "the paths");
}

TEST(Sweep, APathIsSweptOnce) {
  const auto mistake = [](const char* sweep) {
    return load_collective(broadcast, std::string("\"sweep\": ") + sweep).mistake();
  };
  expect_text(
      mistake(R"({"cluster.ranks": [2], "zip: cluster.ranks, collective.chunks": [[2, 1]]})"),
      "4:33 \"cluster.ranks\" is swept twice at /sweep/zip: cluster.ranks, "
      "collective.chunks");
  expect_text(
      mistake(R"({"cluster.link": [{"bandwidth": "1GB/s"}], "cluster.link.bandwidth": ["2GB/s"]})"),
      "4:53 \"cluster.link.bandwidth\" and \"cluster.link\" are both swept, but one contains the "
      "other at /sweep/cluster.link.bandwidth");
}

TEST(Sweep, APathThatNamesNothingPointsAtTheSweep) {
  expect_text(load_collective(broadcast, R"("sweep": {"collective.chnks": [1, 2]})").mistake(),
              "4:11 unknown key \"chnks\" at /collective/chnks; did you mean chunks?");
  expect_text(load_collective(broadcast, R"("sweep": {"cluster.lnk.bandwidth": ["1GB/s"]})")
                  .mistakes()
                  .at(0),
              "4:11 unknown key \"lnk\" at /cluster/lnk; did you mean link?");
  expect_text(load_collective(broadcast, R"("sweep": {"cluster.ranks.of": [1]})").mistake(),
              "4:11 \"cluster.ranks\" is a number, so there is no \"of\" in it at "
              "/sweep/cluster.ranks.of");
}

TEST(Sweep, EveryValueIsCheckedOnceAndReportedOnce) {
  const Loaded loaded = load_collective(
      broadcast, R"("sweep": {"collective.chunks": [1, 0, 2, -1], "cluster.ranks": [2, 3, "x"]})");
  EXPECT_EQ(loaded.mistakes(),
            (std::vector<std::string>{
                "4:36 0 is too small at /collective/chunks; allowed: 1 to 16777216",
                "4:42 -1 is too small at /collective/chunks; allowed: 1 to 16777216",
                "4:71 expected a whole number, but this is a string at /cluster/ranks; "
                "allowed: 1 to 1048576"}));
}

TEST(Sweep, WhatTheSweepReplacesNeedNotBeRight) {
  const Loaded loaded = load_collective(R"("op": "broadcast", "size": "64M")",
                                        R"("sweep": {"collective.size": ["1MiB", "2MiB"]})");
  EXPECT_TRUE(loaded.scenario) << loaded.mistake();
}

TEST(Sweep, WhatIsNeededMayComeFromTheSweepAlone) {
  const Loaded loaded = testing::load_text(
      R"({"scenario": 1, "cluster": {"shape": "ring", "link": {"bandwidth": "1GB/s"}},
          "sweep": {"cluster.ranks": [2, 4], "collective.op": ["broadcast"],
                    "collective.size": ["1MiB"]}})");
  EXPECT_TRUE(loaded.scenario) << loaded.mistake();
}

TEST(Sweep, AWrongAxisDoesNotMakeItsKeyMissing) {
  const Loaded loaded =
      load_collective(R"("op": "broadcast")", R"("sweep": {"collective.size": {"from": "1KiB"}})");
  expect_text(loaded.mistakes().at(0), "4:30 \"to\" is missing at /sweep/collective.size");
  for (const std::string& mistake : loaded.mistakes()) expect_lacks(mistake, "\"size\" is missing");
}

TEST(Sweep, OfAVeryLongAxisOnlySomeValuesAreChecked) {
  const Loaded loaded = load_collective(
      broadcast, R"("sweep": {"collective.chunks": {"from": 1, "to": 1000000, "step": 1}})",
      {.max_points = max_sweep_points});
  ASSERT_TRUE(loaded.scenario) << loaded.mistake();
  EXPECT_EQ(loaded.scenario->points(), 1'000'000);
  EXPECT_EQ(case_of(loaded, 999'999)->choice.chunks, 1'000'000);
}

TEST(Sweep, AMistakeInTheLastValueOfAVeryLongAxisIsFound) {
  const Loaded loaded = load_collective(
      broadcast, R"("sweep": {"collective.channels": {"from": 1, "to": 100000, "step": 1}})");
  EXPECT_FALSE(loaded.scenario);
}

}  // namespace
}  // namespace collsim
