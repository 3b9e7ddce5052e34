// SPDX-License-Identifier: Apache-2.0
#include "app/study/auto_search.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "app/study/auto_candidates.hpp"
#include "tests/app/study/scenarios.hpp"
#include "tests/app/study/testing.hpp"
#include "tests/contains.hpp"
#include "tests/sanitized.hpp"
#include "topo/shapes.hpp"

namespace collsim::testing {
namespace {

Case open_case(Topology topology, Operation operation, Bytes size) {
  Case point = case_on(std::move(topology), operation, size, "auto");
  point.open = {true, true};
  if (point.cluster->topology.shape() == "torus")
    point.choice.dims = point.cluster->topology.dims();
  return point;
}

// What a user finds who tries all candidates by hand.
Time fastest_by_hand(const Case& asked) {
  Time best = Time::never();
  std::vector<Error> reasons;
  for (const AutoFamily& family : auto_families(asked, reasons))
    for (const int chunks : family.chunks())
      best = std::min(best, run_case(family.with_chunks(chunks)).time);
  return best;
}

Topology drawn_network(std::mt19937& random) {
  const auto draw = [&](std::uint64_t from, std::uint64_t to) {
    return from + random() % (to - from + 1);
  };
  const auto link = [&] {
    return link_of(gigabytes_per_second(static_cast<std::int64_t>(draw(5, 60))),
                   nanoseconds(static_cast<std::int64_t>(draw(0, 3) * draw(0, 1500))),
                   nanoseconds(static_cast<std::int64_t>(draw(0, 2) * draw(0, 900))),
                   random() % 2 == 0 ? Sharing::fair : Sharing::exclusive);
  };
  const std::size_t ranks = draw(2, 9);
  switch (draw(0, 6)) {
    case 0: return make_ring(ranks, link());
    case 1: return make_switch(ranks, link());
    case 2: return make_chain(ranks, link());
    case 3: return make_torus({static_cast<int>(draw(2, 3)), static_cast<int>(draw(2, 4))}, link());
    case 4: return make_fully_connected(ranks, link());
    case 5: return make_hypercube(8, link());
    default: break;
  }
  NodesShape nodes{.intra_link = link(), .inter_link = link()};
  nodes.nodes = static_cast<int>(draw(2, 3));
  nodes.gpus_per_node = static_cast<int>(draw(2, 3));
  nodes.nics_per_node = nodes.gpus_per_node;
  return make_nodes(nodes);
}

TEST(AutoSearch, NeverLosesToWhatIsFoundByHand) {
  std::mt19937 random(20240611);
  const Operation operations[] = {Operation::all_reduce,     Operation::broadcast,
                                  Operation::reduce,         Operation::all_gather,
                                  Operation::reduce_scatter, Operation::all_to_all};
  int ruled_out = 0;
  for (int i = 0; i < random_cases(400); ++i) {
    const Bytes size = Bytes{1} << (random() % 22);
    Case asked = open_case(drawn_network(random), operations[random() % 6], size + random() % 97);
    if (random() % 4 == 0) asked.costs.reduce_bandwidth = gigabytes_per_second(30);
    if (random() % 6 == 0) asked.costs.launch = microseconds(4);
    const CaseResult row = run_case(asked);
    ASSERT_LE(row.time, fastest_by_hand(asked))
        << i << ": " << to_string(row.operation) << " of " << row.size << " B on "
        << asked.cluster->topology.shape() << ", " << row.algorithm << " " << row.chunks << " "
        << row.channels;
    ASSERT_TRUE(row.search);
    const Search& search = *row.search;
    EXPECT_EQ(search.candidates,
              search.simulated + search.ruled_out + search.formulas + search.unpromising);
    EXPECT_TRUE(search.too_large.empty());
    ruled_out += search.ruled_out + search.formulas;
  }
  EXPECT_GT(ruled_out, random_cases(1000)) << "bounds are of use";
}

TEST(AutoSearch, CutsAChainAsTheFormulaDoes) {
  Case point = lecture_case();
  point.collective.root = 0;
  point.choice.name = "auto";
  point.open.chunks = true;
  const CaseResult row = run_case(point);
  EXPECT_EQ(row.algorithm, "chain");
  EXPECT_EQ(row.chunks, 57);
}

TEST(AutoSearch, LeavesAloneWhatTheScenarioSays) {
  const LinkParameters link{gigabytes_per_second(25), Time{}, microseconds(5)};
  Case point = open_case(make_torus({4, 4}, link), Operation::all_reduce, mebibytes(16));
  point.choice.dims = {4, 4};
  const CaseResult free = run_case(point);
  EXPECT_EQ(free.algorithm, "swing");
  EXPECT_EQ(free.channels, 4);
  point.open = {false, true};
  point.choice.chunks = 3;
  EXPECT_EQ(run_case(point).chunks, 3);
  EXPECT_EQ(run_case(point).channels, 4);
  point.open = {true, false};
  point.choice.channels = 2;
  EXPECT_EQ(run_case(point).channels, 2);
  point.open = {};
  const auto all = algorithms(Operation::all_reduce);
  EXPECT_EQ(run_case(point).search->candidates,
            std::count_if(all.begin(), all.end(), [](const Algorithm* algorithm) {
              return !algorithm->for_adding_networks;  // as no switch here does
            }));
}

// GPU 13 is not behind the switch of its node, which is found when the programs of all ranks are
// read: what adds in switches is out, all else is tried.
TEST(AutoSearch, GoesOnWithoutWhatCannotRun) {
  for (const char* const size : {"64KiB", "64MiB"}) {
    const Studied studied = results_of(R"({"scenario": 1, "cluster": {"preset": "dgx-h100",
        "nodes": 4, "override": {"nvlink.sharing": "exclusive", "nic.sharing": "exclusive"},
        "links_override": [{"from": "gpu13", "to": "node1.nvswitch", "down": true}]},
        "collective": {"op": "all-reduce", "algorithm": "auto", "size": ")" +
                                       std::string(size) + "\"}}");
    ASSERT_EQ(studied.results->rows.size(), 1U);
    EXPECT_GT(studied.results->rows[0].search->candidates, 100);
  }
}

TEST(AutoSearch, NamesWhatIsTooLargeToSimulate) {
  // Eight million messages, which nothing rules out.
  const LinkParameters link{gigabytes_per_second(50), nanoseconds(200)};
  NodesShape nodes{.intra_link = link, .inter_link = link};
  nodes.nodes = 700;
  nodes.gpus_per_node = nodes.nics_per_node = 4;
  const CaseResult row =
      run_case(open_case(make_nodes(nodes), Operation::all_to_all, mebibytes(64)));
  const Search& search = *row.search;
  const std::string text = to_text(search);
  expect_contains(text, "pairwise");
  const int left = search.candidates - search.simulated - search.ruled_out - search.formulas -
                   search.unpromising;
  EXPECT_GT(left, 0);
  expect_contains(text, "; " + std::to_string(left) + " too large to simulate");
  EXPECT_LT(row.search->simulated, 40);
}

TEST(AutoSearch, StartsWithWhatIsFastByAFormula) {
  // On a ring all but rings are far slower, whose messages cross many links.
  const LinkParameters link{gigabytes_per_second(25), Time{}, microseconds(1)};
  const CaseResult row =
      run_case(open_case(make_ring(1000, link), Operation::all_reduce, mebibytes(32)));
  EXPECT_EQ(row.algorithm, "bidirectional-ring");
  EXPECT_EQ(row.search->simulated, 1) << to_text(*row.search);
}

TEST(AutoSearch, CountsInWords) {
  Search search{.candidates = 214, .simulated = 37, .ruled_out = 177};
  EXPECT_EQ(to_text(search),
            "chosen from 214 candidates (algorithm, channels, chunks): 37 "
            "simulated, 177 ruled out by lower bounds");
  search.add({.candidates = 2, .formulas = 1, .too_large = {"naive"}});
  search.add({.candidates = 3, .unpromising = 1, .too_large = {"naive"}});
  EXPECT_EQ(to_text(search),
            "chosen from 219 candidates (algorithm, channels, chunks): 37 simulated, 177 ruled out "
            "by lower bounds, 1 by exact formulas, 1 not worth the work: they could win next to "
            "nothing; 3 too large to simulate, though they may be faster: naive");
}

}  // namespace
}  // namespace collsim::testing
