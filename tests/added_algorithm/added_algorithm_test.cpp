// SPDX-License-Identifier: Apache-2.0
//
// An algorithm is one file and one name in the list: this program is collsim with one more of them,
// in_turns.cpp, which nothing else has heard of.
#include <gtest/gtest.h>

#include <string>

#include "collectives/cost/closed_forms.hpp"
#include "sim/simulate.hpp"
#include "tests/app/commands/running.hpp"
#include "tests/collectives/algorithm_cases.hpp"
#include "tests/collectives/collective_of.hpp"
#include "tests/contains.hpp"
#include "topo/shapes.hpp"

namespace collsim::testing {
namespace {

TEST(AddedAlgorithm, IsProvedAndRuns) {
  for (int ranks = 1; ranks <= 9; ++ranks)
    for (const std::int64_t count : {0, 1, 12, 37})
      for (const int chunks : {1, 2, 5})
        for (const int channels : {1, 2})
          for (const bool in_place : {false, true}) {
            AlgorithmChoice choice;
            choice.name = "in-turns";
            choice.chunks = chunks;
            choice.channels = channels;
            expect_right(in_place_if(in_place, collective_of(Operation::all_gather, ranks, count)),
                         choice);
          }
}

TEST(AddedAlgorithm, TakesWhatItsCostSays) {
  const LinkParameters link{.bandwidth = gigabytes_per_second(25),
                            .latency = microseconds(1),
                            .startup = microseconds(2)};
  AlgorithmChoice choice;
  choice.name = "in-turns";
  choice.chunks = 3;
  const Collective collective = collective_of(Operation::all_gather, 6, 6 * 3 * 1000);
  const Topology topology = make_fully_connected(6, link);
  const std::optional<ClosedForm> form = closed_form(collective, choice, topology);
  ASSERT_TRUE(form);
  EXPECT_TRUE(form->exact);
  EXPECT_EQ(form->formula, "K*hop(N/K)");
  const double simulated = simulate(topology, make_schedule(collective, choice)).time.seconds();
  EXPECT_NEAR(simulated, form->seconds, 18 * 1e-12);  // every message rounds up to a picosecond
}

TEST(AddedAlgorithm, IsKnownToEveryCommand) {
  const Folder folder;
  const std::string file = folder.write("in-turns.json", R"({ "scenario": 1,
  "cluster": { "shape": "fully-connected", "ranks": 4, "link": { "bandwidth": "25GB/s" } },
  "collective": { "op": "all-gather", "algorithm": "in-turns", "size": "1MiB" } })");
  expect_contains(run_collsim({"algorithms", "all-gather"}).out, "in-turns");
  expect_contains(run_collsim({"run", file}).out, "in-turns");
  expect_contains(run_collsim({"explain", file}).out, "K*hop(N/K)");
  EXPECT_EQ(run_collsim({"check", file}).code, 0);
  const Ran misspelt = run_collsim({"run", file, "--set", "collective.algorithm=in-turn"});
  EXPECT_EQ(misspelt.code, 2);
  expect_contains(misspelt.err, "in-turns");
}

}  // namespace
}  // namespace collsim::testing
