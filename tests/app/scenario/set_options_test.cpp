// SPDX-License-Identifier: Apache-2.0
#include "app/scenario/document_path.hpp"

#include <gtest/gtest.h>

#include "app/json/value.hpp"
#include "tests/app/scenario/loading.hpp"
#include "tests/golden.hpp"

namespace collsim {
namespace {

using testing::Loaded;

Loaded load_with(std::vector<std::string> set, const std::string& more = "") {
  return testing::load_collective(R"("op": "broadcast", "size": "1MiB")", more,
                                  {.set = std::move(set), .max_points = 1000});
}

TEST(SetOptions, AValueIsJsonOrElseAString) {
  const Loaded loaded =
      load_with({"collective.size=64MiB", "collective.chunks=16", "collective.in_place=true",
                 "cluster.late={\"1\": \"5ms\"}", "title=a = b"});
  ASSERT_TRUE(loaded.scenario) << loaded.mistake();
  const auto made = case_of(loaded);
  EXPECT_EQ(made->collective.bytes(), 64 << 20);
  EXPECT_EQ(made->choice.chunks, 16);
  EXPECT_TRUE(made->collective.in_place);
  EXPECT_EQ(made->cluster->late.size(), 1);
  EXPECT_EQ(loaded.scenario->title, "a = b");
}

TEST(SetOptions, ALaterOneWins) {
  EXPECT_EQ(case_of(load_with({"collective.chunks=2", "collective.chunks=3"}))->choice.chunks, 3);
}

TEST(SetOptions, AWholeAxisCanBeSetAndTheSweepDropped) {
  const char* sweep = R"("sweep": {"collective.chunks": [1, 2, 4]})";
  EXPECT_EQ(load_with({"sweep.collective.chunks=[8, 16]"}, sweep).scenario->points(), 2);
  EXPECT_EQ(load_with({"sweep.cluster.ranks=[2, 4]"}, sweep).scenario->points(), 6);
  EXPECT_EQ(load_with({"sweep={}"}, sweep).scenario->points(), 1);
  const Loaded loaded =
      load_with({"expect=[]"}, R"("expect": [{"metric": "time", "at_least": 0}])");
  EXPECT_TRUE(loaded.scenario->expect.items().empty());
}

TEST(SetOptions, MistakesPointIntoTheArgument) {
  const Loaded loaded = load_with({"collective.chunks=0", "collective.chnks=3"});
  expect_text(to_text(loaded.diagnostics, loaded.sources),
              "--set collective.chunks=0: 0 is too small at /collective/chunks\n"
              "    | collective.chunks=0\n"
              "    |                   ^\n"
              "    |   allowed: 1 to 16777216\n"
              "--set collective.chnks=3: unknown key \"chnks\" at /collective/chnks\n"
              "    | collective.chnks=3\n"
              "    | ^^^^^^^^^^^^^^^^ did you mean \"chunks\"?\n"
              "2 errors; nothing was run\n");
}

TEST(SetOptions, WhatLooksLikeJsonMustBeJson) {
  const Loaded loaded = load_with({"sweep.collective.chunks=[1, 2"});
  ASSERT_EQ(loaded.mistakes().size(), 1);
  EXPECT_EQ(loaded.mistake().substr(0, 4), "1:30");
}

TEST(SetOptions, WhatIsSweptCannotBeSetToo) {
  expect_text(
      load_with({"collective.chunks=2"}, R"("sweep": {"collective.chunks": [1, 2]})").mistake(),
      "1:1 \"collective.chunks\" is swept, so --set would change nothing; --set "
      "sweep.collective.chunks=null as well sweeps it no more; --set "
      "'sweep.collective.chunks=[...]' alone replaces the axis");
  EXPECT_EQ(load_with({"collective.chunks=2", "sweep.collective.chunks=null"},
                      R"("sweep": {"collective.chunks": [1, 2]})")
                .scenario->points(),
            1);
  expect_text(load_with({"cluster.ranks=2"},
                        R"("sweep": {"zip: cluster.ranks, collective.chunks": [[2, 1]]})")
                  .mistake(),
              "1:1 \"cluster.ranks\" is swept, so --set would change nothing; use one of the two: "
              "--set 'sweep={}' removes the sweep");
}

TEST(SetOptions, WhatIsNoPathAndValueIsAMistake) {
  expect_text(load_with({"collective.chunks"}).mistake(),
              "1:1 \"collective.chunks\" has no value; write path=value, such as --set "
              "collective.chunks=16");
  expect_text(load_with({"=1"}).mistake(),
              "1:1 \"\" is not a path; a path is names with dots between them, such as "
              "\"collective.chunks\"");
  expect_text(load_with({"collective.op.x=1"}).mistake(),
              "1:1 \"collective.op\" is a string, so there is no \"x\" in it");
  expect_text(load_with({"include=[\"x.json\"]"}).mistake(),
              "1:1 \"include\" cannot be set: files are read before");
}

}  // namespace
}  // namespace collsim
