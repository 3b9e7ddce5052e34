// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/app/commands/running.hpp"
#include "tests/contains.hpp"

namespace collsim {
namespace {

using nlohmann::json;

// Two lanes that send to each other before they receive need a slot for each message.
const char* const exchange = R"({ "scenario": 1,
  "cluster": { "shape": "fully-connected", "ranks": 4, "link": { "bandwidth": "25GB/s" } },
  "collective": { "op": "all-reduce", "algorithm": "ring", "size": "1MiB" },
  "sweep": { "collective.chunks": [1, 3] } })";

TEST(Check, ProvesEveryPoint) {
  const Folder folder;
  const Ran ran = run_collsim({"check", folder.write("a.json", exchange), "--format", "json"});
  EXPECT_EQ(ran.code, exit_fine) << ran.err;
  const json proofs = json::parse(ran.out)["proofs"];
  ASSERT_EQ(proofs.size(), 2U);
  EXPECT_EQ(proofs[1]["params"], json({{"collective.chunks", 3}}));
  EXPECT_EQ(proofs[1]["proved"], true);
  EXPECT_EQ(proofs[0]["messages"], 24);  // 2 (K-1) of each of 4 ranks
  EXPECT_EQ(proofs[1]["messages"], 72);
  EXPECT_TRUE(proofs[0]["fault"].is_null());
}

TEST(Check, RefusesTooFewSlotsAndSaysWhatHappens) {
  const Folder folder;
  const std::string file = folder.write("a.json", exchange);
  const json proofs = json::parse(run_collsim({"check", file, "--format", "json"}).out)["proofs"];
  const int least = proofs[1]["least_slots"].get<int>();
  ASSERT_GT(least, 1);
  const Ran ran =
      run_collsim({"check", file, "--set", "collective.slots=" + std::to_string(least - 1)});
  EXPECT_EQ(ran.code, exit_failed);
  expect_contains(ran.out, "REFUSED");
  expect_contains(ran.out, "\nrefused, collective.chunks = 3: ");
}

TEST(Check, ProvesWhatAutoChooses) {
  const Folder folder;
  const std::string file = folder.write("a.json", exchange);
  const Ran ran =
      run_collsim({"check", file, "--format", "json", "--set", "collective.algorithm=auto"});
  EXPECT_EQ(ran.code, exit_fine) << ran.err;
  EXPECT_NE(json::parse(ran.out)["proofs"][0]["algorithm"], "auto");
}

TEST(Check, WhatWouldTakeForEverIsRefusedInWords) {
  const Folder folder;
  const Ran ran = run_collsim({"check", folder.write("a.json", exchange), "--set",
                               "cluster.ranks=1024", "--set", "sweep.collective.chunks=[2000]",
                               "--set", "collective.size=\"10GiB\""});
  EXPECT_EQ(ran.code, exit_usage);
  expect_contains(ran.err, "fewer ranks or chunks");
}

TEST(Check, MistakesInTheFileComeAsJsonWhenAskedFor) {
  const Folder folder;
  const Ran ran = run_collsim({"check", folder.write("a.json", "{}"), "--format", "json"});
  EXPECT_EQ(ran.code, exit_usage);
  EXPECT_TRUE(json::parse(ran.out).contains("errors"));
}

}  // namespace
}  // namespace collsim
