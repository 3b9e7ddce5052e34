// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>

#include "app/scenario/make_case.hpp"
#include "app/study/memory_limit.hpp"
#include "tests/app/study/scenarios.hpp"
#include "tests/app/study/testing.hpp"
#include "tests/sanitized.hpp"

namespace collsim::testing {
namespace {

TEST(RunCase, FillsARowFromTheSimulationAndTheFormula) {
  const CaseResult row = run_case(lecture_case(16));
  EXPECT_EQ(row.operation, Operation::broadcast);
  EXPECT_EQ(row.algorithm, "chain");
  EXPECT_EQ(row.ranks, 8);
  EXPECT_EQ(row.size, mebibytes(64));
  EXPECT_EQ(row.chunks, 16);
  EXPECT_EQ(row.channels, 1);
  EXPECT_EQ(row.messages, 7U * 16);
  EXPECT_EQ(row.wire_bytes, 7 * mebibytes(64));
  ASSERT_TRUE(row.analytic);
  EXPECT_TRUE(row.analytic->exact);
  EXPECT_NEAR(row.analytic->seconds, row.time_s(), 1e-9);
  EXPECT_NEAR(*row.analytic->best_chunks, 56.8, 0.05);
  EXPECT_GT(row.bound, Time{});
  EXPECT_LE(row.bound, row.time);
  EXPECT_DOUBLE_EQ(row.algbw(), static_cast<double>(mebibytes(64)) / row.time_s());
  EXPECT_EQ(row.busbw(), row.algbw());
  EXPECT_FALSE(row.reduction);
  EXPECT_FALSE(row.bottleneck_bandwidth);
}

TEST(RunCase, KnowsTheSymbolsOfTheLinkAndOfAdding) {
  Case point = lecture_case();
  CaseResult row = run_case(point);
  EXPECT_DOUBLE_EQ(*row.alpha, 5e-6);
  EXPECT_DOUBLE_EQ(*row.B, 25e9);
  EXPECT_DOUBLE_EQ(*row.L, 0);
  EXPECT_EQ(row.gamma, 0);
  point.costs.reduce_bandwidth = gigabytes_per_second(100);
  EXPECT_DOUBLE_EQ(run_case(point).gamma, 1e-11);
  point = changed(point, [](Cluster& cluster) { cluster.link.reset(); });
  row = run_case(point);
  EXPECT_FALSE(row.alpha || row.B || row.L);
}

TEST(RunCase, ChunkSizeBecomesChunksInTheRowAndInTheFormula) {
  Case point = lecture_case();
  point.choice.chunk_size = mebibytes(4);
  const CaseResult row = run_case(point);
  EXPECT_EQ(row.chunks, 16);
  EXPECT_EQ(row.time, run_case(lecture_case(16)).time);
  EXPECT_EQ(row.analytic->seconds, run_case(lecture_case(16)).analytic->seconds);
}

TEST(RunCase, HasNoFormulaWhereSomethingElseBendsTime) {
  const auto has_formula = [](const Case& point) { return run_case(point).analytic.has_value(); };
  Case point = lecture_case(4);
  EXPECT_TRUE(has_formula(point));
  point.costs.launch = microseconds(3);
  EXPECT_FALSE(has_formula(point));
  point.costs = {};
  point.costs.copy_bandwidth = gigabytes_per_second(1000);
  EXPECT_FALSE(has_formula(point));
  point.costs = {};
  point.costs.instruction_overhead = nanoseconds(1);
  EXPECT_FALSE(has_formula(point));
  point.costs = {};
  point.choice.slots = 1;
  EXPECT_FALSE(has_formula(point));
  point.choice.slots = 1000;
  EXPECT_TRUE(has_formula(point)) << "so many slots change nothing";
  point.choice.slots.reset();
  point.choice.channels = 2;
  EXPECT_FALSE(has_formula(point));
}

TEST(RunCase, HasAFormulaWhenOnlyOutsidersAreLate) {
  Case point = lecture_case(4);
  point.collective.group = first_ranks(4);
  const Time in_time = run_case(point).time;
  const auto late = [&](std::size_t rank) {
    return run_case(changed(point, [&](Cluster& cluster) {
      cluster.late = {{Rank(rank), milliseconds(100)}};
    }));
  };
  EXPECT_TRUE(late(6).analytic);
  EXPECT_EQ(late(6).time, in_time);
  EXPECT_FALSE(late(0).analytic);
  EXPECT_EQ(late(0).time, in_time + milliseconds(100));
}

TEST(RunCase, TheBoundCountsTheLaunch) {
  Case point = lecture_case(4);
  const CaseResult before = run_case(point);
  point.costs.launch = microseconds(7);
  const CaseResult after = run_case(point);
  EXPECT_EQ(after.bound, before.bound + microseconds(7));
  EXPECT_EQ(after.time, before.time + microseconds(7));
  EXPECT_EQ(after.bounds.bandwidth, before.bounds.bandwidth);
}

// In place the root's result is its source, and nothing is stored a second time.
TEST(RunCase, ABroadcastInPlaceStoresNothingTwice) {
  for (const Algorithm* const algorithm : algorithms(Operation::broadcast)) {
    const auto time_of = [&](bool in_place, std::optional<Bandwidth> second_write) {
      const LinkParameters link = link_of(gigabytes_per_second(25));
      Case point = case_on(make_switch(8, link), Operation::broadcast, mebibytes(8),
                           std::string(algorithm->name));
      point.collective.in_place = in_place;
      point.costs.second_write_bandwidth = second_write;
      return run_case(point).time;
    };
    const Bandwidth slow = gigabytes_per_second(5);
    EXPECT_GE(time_of(false, slow), time_of(true, slow)) << algorithm->name;
    // What every rank stores and sends on costs all the same.
    if (algorithm->name == "flat") {
      EXPECT_EQ(time_of(true, slow), time_of(true, {}));
      EXPECT_GT(time_of(false, slow), time_of(false, {}));
    }
  }
}

TEST(RunCase, OneRankTakesNoTime) {
  const LinkParameters link = link_of(gigabytes_per_second(1));
  const CaseResult row = run_case(case_on(make_chain(1, link), Operation::all_reduce, 100, "ring"));
  EXPECT_EQ(row.time, Time{});
  EXPECT_EQ(row.bound, Time{});
  EXPECT_EQ(row.algbw(), 0);
  EXPECT_EQ(row.messages, 0U);
}

TEST(RunCase, FindsTheSlowestLinkThatCarriedDataWhenAsked) {
  const LinkParameters link = link_of(gigabytes_per_second(10));
  Topology topology = make_chain(4, link);
  const auto slow = topology.links_between(NodeId(1), NodeId(2)).front();
  const auto unused = topology.links_between(NodeId(2), NodeId(1)).front();
  const std::vector<Topology::LinkChange> changes{{slow, link_of(gigabytes_per_second(4))},
                                                  {unused, link_of(gigabytes_per_second(1))}};
  const Case point =
      case_on(topology.with_changed_links(changes), Operation::broadcast, 1000, "chain");
  EXPECT_EQ(*run_case(point, {.bottleneck_bandwidth = true}).bottleneck_bandwidth, 4e9);
  EXPECT_FALSE(run_case(point).bottleneck_bandwidth);
}

TEST(RunCase, SaysWhichReductionOnlyWhereThereIsOne) {
  const LinkParameters link = link_of(gigabytes_per_second(10));
  EXPECT_TRUE(run_case(case_on(make_ring(4, link), Operation::all_reduce, 64, "ring")).reduction);
  EXPECT_FALSE(run_case(case_on(make_ring(4, link), Operation::all_gather, 64, "ring")).reduction);
}

TEST(RunCase, AutoTakesTheFastestAlgorithm) {
  const LinkParameters link = link_of(gigabytes_per_second(10), microseconds(5));
  for (const Bytes size : {Bytes{64}, mebibytes(64)}) {
    Case point = case_on(make_switch(8, link), Operation::all_reduce, size, "auto");
    const CaseResult chosen = run_case(point);
    for (const Algorithm* const algorithm : algorithms(Operation::all_reduce)) {
      point.choice.name = algorithm->name;
      const CaseResult row = run_case(point);
      EXPECT_LE(chosen.time, row.time) << algorithm->name;
      if (algorithm->name == chosen.algorithm) {
        EXPECT_EQ(chosen.fingerprint, row.fingerprint);
      }
    }
  }
}

TEST(RunCase, AutoTakesTheFirstOfEquals) {
  const LinkParameters link = link_of(gigabytes_per_second(10), microseconds(5));
  const Case point = case_on(make_switch(1, link), Operation::all_reduce, 64, "auto");
  EXPECT_EQ(run_case(point).algorithm, "ring");
}

TEST(RunCase, AutoLeavesOutAlgorithmsThatRefuseTheNumberOfRanks) {
  const LinkParameters link = link_of(gigabytes_per_second(10), microseconds(5));
  const CaseResult row = run_case(case_on(make_switch(6, link), Operation::all_gather, 60, "auto"));
  EXPECT_NE(row.algorithm, "recursive-doubling");
}

TEST(RunCase, AutoSaysWhyNothingWorks) {
  Case point = lecture_case();
  point.choice.name = "auto";
  point.choice.chunks = 1 << 25;
  expect_error(ErrorCode::too_large,
               {"no algorithm of broadcast works here", "; chain: chunks must"},
               [&] { (void)run_case(point); });
}

TEST(RunCase, RefusesMoreInstructionsForOneRankThanTheLimit) {
  const LinkParameters link = link_of(gigabytes_per_second(10));
  Case point = case_on(make_ring(64, link), Operation::all_reduce, gibibytes(1), "ring");
  point.choice.chunks = 1 << 22;
  for (const auto& run : {+[](const Case& one) { (void)run_case(one); },
                          +[](const Case& one) { (void)within_limits(one); }})
    expect_error(
        ErrorCode::too_large,
        {"too large to simulate: all-reduce by ring with 64 ranks, 4194304 chunks takes more "
         "than 67108864 instructions for one rank, the limit; use fewer chunks, "
         "ranks"},
        [&] { run(point); });
}

TEST(RunCase, RefusesMoreInstructionsInAllThanTheLimit) {
  const LinkParameters link = link_of(gigabytes_per_second(10));
  Case point = case_on(make_mesh({64, 64}, link), Operation::all_gather, gibibytes(1), "ring");
  point.choice.chunks = 1 << 13;
  expect_error(ErrorCode::too_large,
               {"all-gather by ring with 4096 ranks, 8192 chunks takes about 1.4e+11 instructions "
                "(limit: 1e+10)"},
               [&] { (void)run_case(point); });
}

// One rank would stand for all of them, but for one thing that the message names.
TEST(RunCase, SaysWhyEveryRankOfATooLargeCaseIsSimulated) {
  LinkParameters link = link_of(gigabytes_per_second(10));
  link.sharing = Sharing::fair;
  const Topology network =
      make_tree({.ends = 6144, .ends_per_leaf = 48, .spines = 16, .links = {link, link}});
  const auto expect_refusal = [](const Topology& topology, Bytes bytes, const std::string& why) {
    expect_error(ErrorCode::too_large, {why}, [&] {
      (void)run_case(case_on(topology, Operation::all_to_all, bytes, "direct"));
    });
  };
  const Bytes whole = Bytes{6144} * 1000;
  EXPECT_NO_THROW((void)run_case(case_on(network, Operation::all_to_all, whole, "direct")));
  const Case odd = case_on(network, Operation::all_to_all, whole + 8, "direct");
  EXPECT_TRUE(run_case(odd).evened);
  expect_error(ErrorCode::too_large, {"because their parts differ by an element"},
               [&] { (void)within_limits(odd); });
  expect_refusal(with_routing(network, Routing::spray, 0), whole,
                 "each pair of ranks has about 16 ways here");
  LinkParameters down = link;
  down.down = true;
  const std::size_t links = network.links().size();
  const std::vector<Topology::LinkChange> changes = {{LinkId(links - 1), down},
                                                     {LinkId(links - 2), down}};
  expect_refusal(network.with_changed_links(changes), whole, "because links are down");
}

TEST(RunCase, ATooLargeAllToAllSaysThatFairLinksWouldDo) {
  const auto case_of = [](Sharing sharing, Bytes bytes) {
    LinkParameters link = link_of(gigabytes_per_second(10));
    link.sharing = sharing;
    const Topology network =
        make_tree({.ends = 6144, .ends_per_leaf = 48, .spines = 16, .links = {link, link}});
    return case_on(network, Operation::all_to_all, bytes, "direct");
  };
  for (const Bytes bytes : {Bytes{6144} * 1000, Bytes{6144} * 1000 + 8}) {
    expect_error(ErrorCode::too_large,
                 {"\"sharing\": \"fair\" for all links one rank may stand for others"},
                 [&] { (void)run_case(case_of(Sharing::exclusive, bytes)); });
    EXPECT_NO_THROW((void)run_case(case_of(Sharing::fair, bytes)));
  }
}

// 1,024 ranks alone would fit.
TEST(RunCase, CountsTheWaysThatMessagesAreSprayedOver) {
  LinkParameters link = link_of(gigabytes_per_second(10));
  link.sharing = Sharing::fair;
  const Topology network =
      make_tree({.ends = 1024, .ends_per_leaf = 32, .spines = 32, .links = {link, link}});
  const Case point = case_on(with_routing(network, Routing::spray, 0), Operation::all_to_all,
                             mebibytes(1), "direct");
  const double ways = ways_of_messages(point.cluster->topology, point.collective.group);
  EXPECT_GT(ways, 28);
  EXPECT_LE(ways, 32);
  expect_error(ErrorCode::too_large, {"GB of memory"}, [&] { (void)run_case(point); });
}

TEST(RunCase, RefusesMoreMemoryThanTheLimit) {
  const double before = memory_limit();
  set_memory_limit(8e9);
  const LinkParameters link = link_of(gigabytes_per_second(10));
  Case point = case_on(make_mesh({64, 64}, link), Operation::all_to_all, gibibytes(1), "direct");
  point.choice.chunks = 64;
  expect_error(ErrorCode::too_large,
               {"GB of memory (limit: 8 GB; --memory sets it); use fewer chunks, ranks"},
               [&] { (void)run_case(point); });
  set_memory_limit(before);
}

// 64 million messages otherwise.
TEST(RunCase, SimulatesEqualPartsWhereAnElementKeepsRanksFromStandingForOthers) {
  const LinkParameters link = link_of(gigabytes_per_second(10), microseconds(1));
  const Topology ring = make_ring(8192, link);
  const Bytes whole = Bytes{8192} * 4096;
  const CaseResult even = run_case(case_on(ring, Operation::all_reduce, whole, "ring"));
  const CaseResult odd = run_case(case_on(ring, Operation::all_reduce, whole - 8, "ring"));
  EXPECT_FALSE(even.evened);
  EXPECT_TRUE(odd.evened);
  EXPECT_EQ(odd.engine, Engine::symmetry);
  EXPECT_EQ(odd.size, whole - 8);
  EXPECT_EQ(odd.time, even.time);
  EXPECT_LT(odd.bounds.bandwidth, even.bounds.bandwidth);
  // One element more in each of the many parts of a message would double its time.
  if (!is_sanitized) {
    const Topology slow = make_ring(4096, link_of(Bandwidth(1'000'000)));
    EXPECT_FALSE(run_case(case_on(slow, Operation::all_gather, Bytes{16'388}, "pat")).evened);
  }
  EXPECT_FALSE(
      run_case(case_on(make_ring(64, link), Operation::all_reduce, whole - 8, "ring")).evened);
}

TEST(RunCase, SimulatesOneRankForAllWhereAllAreTooMany) {
  const LinkParameters link = link_of(gigabytes_per_second(10), microseconds(1));
  const std::size_t ranks = std::size_t{1} << 19U;
  const Case point = case_on(make_ring(ranks, link), Operation::all_gather, kibibytes(512), "ring");
  EXPECT_THROW((void)within_limits(point), Error);
  const CaseResult row = run_case(point);
  EXPECT_EQ(row.engine, Engine::symmetry);
  EXPECT_EQ(row.messages, std::uint64_t{ranks} * (ranks - 1));
}

std::string nccl_on_two_nodes(const std::string& of_cluster, const std::string& of_collective) {
  return R"({"scenario": 1, "cluster": {"preset": "dgx-h100", "nodes": 2, )" + of_cluster +
         R"(}, "collective": {"op": "all-reduce", "algorithm": "nccl", )" + of_collective + "}}";
}

CaseResult run_text(const std::string& text) {
  Studied studied;
  load(studied, text);
  ClusterCache clusters;
  return run_case(make_case(studied.scenario.value(), 0, clusters, studied.diagnostics).value());
}

TEST(RunCase, LeavesOutWaysOfNcclThatCannotRun) {
  const std::string uneven = R"("ranks": [0, 1, 2, 3, 8], "size": )";
  for (const std::string size : {R"("8B")", R"("64MB")"}) {
    const CaseResult some = run_text(nccl_on_two_nodes(R"("sharp": true)", uneven + size));
    const CaseResult others = run_text(
        nccl_on_two_nodes(R"("sharp": true)", R"("nccl_algo": "Ring,Tree", )" + uneven + size));
    EXPECT_EQ(some.time, others.time) << "CollNet and NVLS have no switch that adds for all";
  }
}

// One cable of 50 GB/s between two groups of two nodes, over which 512 MiB of data go.
TEST(RunCase, FlagsOfLlNeedRoomAboveTheNics) {
  const auto seconds = [](const std::string& proto) {
    return run_text(R"({"scenario": 1, "cluster": {"preset": "dgx-h100", "nodes": 4, "inter":
        {"shape": "dragonfly", "groups": 2, "routers_per_group": 2}},
        "collective": {"op": "all-to-all", "algorithm": "nccl", "size": "64MiB", "nccl_proto": ")" +
                    proto + R"("}})")
        .time_s();
  };
  const double cable = 512.0 * 1024 * 1024 / 50e9;
  EXPECT_GT(seconds("LL"), 2 * cable);
  EXPECT_LT(seconds("Simple"), 1.01 * cable);
}

TEST(RunCase, NodesOfAnUnevenGroupAreCounted) {
  const std::string uneven = R"("ranks": [0, 1, 2, 3, 8], "size": "64MB")";
  const CaseResult row = run_text(nccl_on_two_nodes(R"("late": {})", uneven));
  ASSERT_TRUE(row.error_class);
  EXPECT_EQ(row.error_class->outside, "") << "there are tables of two nodes";
}

TEST(RunCase, NoSwitchAddsOverALinkThatIsDown) {
  const std::string down =
      R"("links_override": [{"from": "gpu3", "to": "node0.nvswitch", "down": true}])";
  for (const std::string size : {R"("1MB")", R"("64MB")"}) {
    const CaseResult row = run_text(nccl_on_two_nodes(down, R"("size": )" + size));
    EXPECT_NE(row.algorithm, "nvls");
    EXPECT_GE(row.time, row.bound);
  }
}

}  // namespace
}  // namespace collsim::testing
