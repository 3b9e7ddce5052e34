// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <map>
#include <utility>
#include <vector>

#include "app/scenario/make_case.hpp"
#include "app/scenario/nccl_rings.hpp"
#include "app/study/nccl.hpp"
#include "tests/app/study/scenarios.hpp"
#include "tests/app/study/testing.hpp"
#include "tests/contains.hpp"

namespace collsim::testing {
namespace {

// 8 ranks on a switch, half of a hop on each of the two links of a route.
std::string machine(const std::string& operation, const std::string& size) {
  return R"({"scenario": 1,
    "cluster": {"shape": "switch", "ranks": 8,
      "link": {"bandwidth": "100GB/s", "sharing": "fair", "protocols": {
        "LL": {"hop": "500ns", "rate": 0.5},
        "Simple": {"hop": "3us", "rate": 1},
        "p2p-Simple": {"hop": "4us", "rate": 0.8}}}},
    "collective": {"op": ")" +
         operation + R"(", "size": ")" + size + R"(", "algorithm": "nccl"},
    "model": {"launch": {"base": "5us", "host": "4us", "pair": "1us"},
              "local_bandwidth": "200GB/s", "per_peer": "100ns"}})";
}

Case case_of(const std::string& text) {
  Studied studied;
  load(studied, text);
  ClusterCache clusters;
  return make_case(*studied.scenario, 0, clusters, studied.diagnostics).value();
}

CaseResult run(const std::string& operation, const std::string& size) {
  return run_case(case_of(machine(operation, size)));
}

// 14 steps of a hop and an eighth of the vector, the launch before them, and a local pass over an
// eighth.
Time ring_time(double hop_us, double rate_gb_s, double mebibytes) {
  const double block = mebibytes * 1048576 / 8;
  return rounded_picoseconds(
      1e12 * (5e-6 + 14 * (hop_us * 1e-6 + block / (rate_gb_s * 1e9)) + block / 200e9));
}

TEST(Nccl, TakesTheFastestProtocol) {
  const CaseResult small = run("all-reduce", "64KiB");
  EXPECT_EQ(small.algorithm_text(), "Ring LL");
  EXPECT_NEAR(small.kernel.seconds(), ring_time(1, 50, 1.0 / 16).seconds(), 1e-10);
  const CaseResult large = run("all-reduce", "64MiB");
  EXPECT_EQ(large.algorithm_text(), "Ring Simple");
  EXPECT_NEAR(large.kernel.seconds(), ring_time(6, 100, 64).seconds(), 1e-10);
}

TEST(Nccl, HasOneAlgorithmPerOperation) {
  EXPECT_EQ(run("all-gather", "1MiB").algorithm, "ring");
  EXPECT_EQ(run("reduce-scatter", "1MiB").algorithm, "ring");
  EXPECT_EQ(run("broadcast", "1MiB").algorithm, "chain");
  EXPECT_EQ(run("reduce", "1MiB").algorithm, "chain");
  EXPECT_EQ(run("all-to-all", "1MiB").algorithm_text(), "p2p Simple");
  EXPECT_EQ(run("gather", "1MiB").algorithm_text(), "p2p Simple");
}

TEST(Nccl, QueuedLaunchesOverlapWithKernels) {
  EXPECT_EQ(with_launches(Time(1000), Time{}), Time(1000));
  EXPECT_EQ(with_launches(Time{}, Time(1000)), Time(1000));
  EXPECT_EQ(with_launches(Time(1000), Time(1000)), Time(1091)) << "2^(1/8)";
  EXPECT_EQ(with_launches(Time(1000), Time(100)), Time(1000));
}

// One thread launches 8 kernels, one after the other; send/recv pairs cost it time, too.
TEST(Nccl, LaunchModesDifferByWhoLaunches) {
  Case asked = case_of(machine("all-reduce", "1KiB"));
  EXPECT_EQ(run_case(asked).host, microseconds(4));
  asked.launch.mode = LaunchMode::one_thread;
  EXPECT_EQ(run_case(asked).host, microseconds(32));
  Case exchange = case_of(machine("all-to-all", "1KiB"));
  EXPECT_EQ(run_case(exchange).host, microseconds(4 + 8));
}

TEST(Nccl, NeedsLinksThatKnowProtocols) {
  Case asked = lecture_case();
  asked.choose_algorithm("nccl");
  try {
    static_cast<void>(run_case(asked));
    FAIL() << "a protocol was invented";
  } catch (const Error& error) {
    expect_contains(error.what(), "say nothing of NCCL's protocols");
  }
}

// As it is written, and as the resolved scenario says it.
TEST(Nccl, PresetsBringTheCostOfLaunching) {
  const std::string text = R"({"scenario": 1, "cluster": {"preset": "dgx-h100"},
    "collective": {"op": "all-reduce", "size": "8B", "algorithm": "nccl"},
    "model": {"launch": {"mode": "one-thread"}}})";
  const Case asked = case_of(text);
  EXPECT_EQ(asked.launch.mode, LaunchMode::one_thread);
  EXPECT_GT(asked.launch.base, microseconds(1));
  EXPECT_GT(asked.launch.host, microseconds(1));
  EXPECT_TRUE(asked.launch.local_bandwidth);
  Studied studied;
  load(studied, text);
  const Case again = case_of(to_json(studied.scenario->resolved));
  EXPECT_EQ(run_case(again).time, run_case(asked).time);
}

TEST(Nccl, IsWhatAPresetWithoutAnAlgorithmMeans) {
  const auto named = [](const std::string& cluster, const std::string& op) {
    return case_of(R"({"scenario": 1, "cluster": )" + cluster + R"(, "collective": {"op": ")" + op +
                   R"(", "size": "0B"}})")
        .choice.name;
  };
  EXPECT_EQ(named(R"({"preset": "dgx-h100"})", "broadcast"), "nccl");
  EXPECT_EQ(named(R"({"preset": "dgx-h100"})", "barrier"), "dissemination") << "NCCL has none";
  EXPECT_EQ(named(R"({"shape": "ring", "ranks": 4, "link": {"bandwidth": "1GB/s"}})", "broadcast"),
            "chain");
}

TEST(Nccl, AThreadLaunchesOneAfterTheOther) {
  const auto host = [](const std::string& launch, const std::string& ranks = "", int nodes = 1) {
    Case asked =
        case_of(R"({"scenario": 1, "cluster": {"preset": "dgx-h100", "nodes": )" +
                std::to_string(nodes) + R"(}, "collective": {)" + ranks +
                R"("op": "all-reduce", "size": "8B"}, "model": {"launch": )" + launch + "}}");
    return run_case(asked).host;
  };
  EXPECT_EQ(host(R"({"host": "1us"})"), microseconds(1));
  EXPECT_EQ(host(R"({"host": "1us", "mode": "thread-per-gpu"})"), microseconds(1));
  EXPECT_EQ(host(R"({"host": "1us", "mode": "one-thread"})"), microseconds(8));
  EXPECT_EQ(host(R"({"host": "1us", "mode": "one-thread", "gpus_per_thread": 2})"),
            microseconds(2));
  EXPECT_EQ(host(R"({"host": "1us", "mode": "one-thread", "gpus_per_thread": 99})"),
            microseconds(8));
  const char* one_thread = R"({"host": "1us", "mode": "one-thread"})";
  EXPECT_EQ(host(one_thread, R"("ranks": [0, 8, 16, 24], )", 4), microseconds(1))
      << "each on a node of its own";
  EXPECT_EQ(host(one_thread, R"("ranks": [0, 8, 9, 10], )", 4), microseconds(3))
      << "the busiest thread";
}

// In parts it is that of NCCL's kernels.
TEST(Nccl, PartsOfALaunchAreOfNcclAlone) {
  const auto launch = [](const std::string& written) {
    return case_of(R"({"scenario": 1, "cluster": {"preset": "dgx-h100"},
      "collective": {"op": "all-reduce", "size": "8B", "algorithm": "ring"},
      "model": {"launch": )" +
                   written + "}}")
        .costs.launch;
  };
  EXPECT_EQ(launch(R"("7us")"), microseconds(7));
  EXPECT_EQ(launch(R"({"base": "7us"})"), Time{});
}

TEST(Nccl, HasNoBarrier) {
  try {
    static_cast<void>(run("barrier", "0"));
    FAIL() << "NCCL got a barrier";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "NCCL has no barrier");
  }
}

Case candidate_of(const Case& asked, std::string_view algorithm, LinkProtocol protocol) {
  for (Case& candidate : nccl_candidates(asked))
    if (candidate.choice.name == algorithm && candidate.protocol == protocol) return candidate;
  ADD_FAILURE() << "NCCL has no " << algorithm << " under " << to_string(protocol);
  return asked;
}

// Two nodes of 8: every GPU's NIC carries an eighth of the data, whichever way they take.
TEST(Nccl, EveryNicCarriesItsShare) {
  const double size = 1 << 30;
  const double nics = 8 * 48e9;  // what PCIe lets through
  const auto asked = [](const std::string& collective) {
    return case_of(R"({"scenario": 1, "cluster": {"preset": "dgx-h100", "nodes": 2},
      "collective": {"size": "1GiB", "algorithm": "nccl", "op": )" +
                   collective + "}}");
  };
  const CaseResult ring =
      run_case(candidate_of(asked(R"("all-reduce")"), "ring", LinkProtocol::simple));
  EXPECT_EQ(ring.channels, 8);
  EXPECT_GT(ring.time_s(), 2.0 * 15 / 16 * size / nics);
  EXPECT_LT(ring.time_s(), 1.3 * 2.0 * 15 / 16 * size / nics);
  const CaseResult chain =
      run_case(candidate_of(asked(R"("broadcast", "root": 3)"), "chain", LinkProtocol::simple));
  EXPECT_GT(chain.time_s(), size / nics);
  EXPECT_LT(chain.time_s(), 1.5 * size / nics);  // with 15 hops
}

// Bounds spare simulations and change nothing: the fastest is that of all ways.
TEST(Nccl, IsTheFastestOfItsWays) {
  for (const char* cluster :
       {R"("preset": "dgx-h100", "nodes": 3)", R"("preset": "dgx-a100", "nodes": 5)",
        R"("preset": "dgx-1-v100", "nodes": 4)"})
    for (const char* size : {"8B", "1MiB", "64MiB"}) {
      const Case asked =
          case_of(R"({"scenario": 1, "cluster": {)" + std::string(cluster) +
                  R"(}, "collective": {"op": "all-reduce", "algorithm": "nccl", "size": ")" + size +
                  "\"}}");
      std::optional<CaseResult> best;
      for (const Case& way : nccl_candidates(asked)) {
        CaseResult row = run_case(way);
        if (!best || row.time < best->time) best = std::move(row);
      }
      const CaseResult row = run_case(asked);
      EXPECT_EQ(row.time, best->time) << cluster << " " << size;
      EXPECT_EQ(row.algorithm_text(), best->algorithm_text()) << cluster << " " << size;
    }
}

// On a switch that adds, a link carries S + S/n each way.
TEST(Nccl, NvlsCarriesEveryByteOnce) {
  const Case asked = case_of(R"({"scenario": 1,
    "cluster": {"devices": [{"id": "gpu", "kind": "gpu", "count": 6},
                            {"id": "nvswitch", "kind": "switch"}],
                "links": [{"from": "gpu[0-5]", "to": "nvswitch", "bandwidth": "100GB/s",
                           "sharing": "fair", "protocols": {"NVLS": {"hop": "1us", "rate": 0.5}}}]},
    "collective": {"op": "all-reduce", "size": "600MB", "algorithm": "nccl"}})");
  const CaseResult row = run_case(asked);
  EXPECT_EQ(row.algorithm_text(), "NVLS Simple");
  EXPECT_NEAR(row.time_s(), 600e6 * 7 / 6 / 50e9, 0.02 * row.time_s());
  EXPECT_LT(row.bound, row.time);
}

// Of the halves of an all-reduce one way carries S, the other S/n; each takes two hops.
TEST(Nccl, HalvesOfNvlsCarryEveryByteOnceOneWay) {
  for (const std::string op : {"all-gather", "reduce-scatter"}) {
    const auto row = [&](const std::string& size) {
      return run_case(case_of(R"({"scenario": 1,
    "cluster": {"devices": [{"id": "gpu", "kind": "gpu", "count": 6},
                            {"id": "nvswitch", "kind": "switch"}],
                "links": [{"from": "gpu[0-5]", "to": "nvswitch", "bandwidth": "100GB/s",
                           "sharing": "fair", "protocols": {"NVLS": {"hop": "5us", "rate": 0.5}}}]},
    "collective": {"algorithm": "nccl", "nccl_algo": "NVLS", "op": ")" +
                              op + R"(", "size": ")" + size + R"("}})"));
    };
    const CaseResult large = row("600MB");
    EXPECT_EQ(large.algorithm_text(), "NVLS Simple") << op;
    EXPECT_NEAR(large.time_s(), 600e6 / 50e9, 0.02 * large.time_s()) << op;
    EXPECT_LT(large.bound, large.time) << op;
    EXPECT_NEAR(row("24B").time_s(), 10e-6, 0.1e-6) << op;
  }
}

// Its GPUs' link, 4 times along it.
TEST(Nccl, NvlsTakesFourHops) {
  const std::string text = R"({"scenario": 1,
    "cluster": {"devices": [{"id": "gpu", "kind": "gpu", "count": 4},
                            {"id": "nvswitch", "kind": "switch"}],
                "links": [{"from": "gpu[0-3]", "to": "nvswitch", "bandwidth": "100GB/s",
                           "sharing": "fair", "protocols": {"NVLS": {"hop": "5us", "rate": 1}}}]},
    "collective": {"op": "all-reduce", "size": "16B", "algorithm": "nccl"}})";
  EXPECT_NEAR(run_case(case_of(text)).time_s(), 20e-6, 0.1e-6);
}

TEST(Nccl, ImportedMachinesAreJudgedByTheirKindOfGpu) {
  const CaseResult row = run_case(case_of(R"({"scenario": 1,
      "cluster": {"gpu": "RTX-4090", "topo_matrix":
        "\tGPU0\tGPU1\tCPU Affinity\nGPU0\tX\tSYS\t0\nGPU1\tSYS\tX\t1\n"},
      "collective": {"op": "all-reduce", "size": "1MiB"}})"));
  ASSERT_TRUE(row.error_class);
  EXPECT_EQ(row.error_class->machines, "PCIe through host memory");
  EXPECT_GT(row.error_class->tables, 0);
  expect_contains(row.error_class->outside, "an imported machine");
}

// A DGX-1's cube mesh falls into three rings, which channels go around both ways: every link
// carries the same share of its bandwidth.
TEST(Nccl, RingsOverDirectLinksUseAllOfThem) {
  const Case asked = case_of(R"({"scenario": 1, "cluster": {"preset": "dgx-1-v100"},
    "collective": {"op": "all-reduce", "size": "96MiB", "algorithm": "nccl"}})");
  const Topology& topology = asked.cluster->topology;
  const auto rings = rings_of_direct_links(topology, asked.collective.group);
  ASSERT_GE(rings.size(), 6U);
  const double of_six = 6.0 / static_cast<double>(rings.size());
  std::map<std::pair<int, int>, double> crossings;
  for (const std::vector<int>& ring : rings)
    for (std::size_t i = 0; i < ring.size(); ++i)
      ++crossings[{ring[i], ring[(i + 1) % ring.size()]}];
  for (const auto& [ends, count] : crossings) {
    const auto node = [&](int rank) {
      return topology.node_of(Rank(static_cast<std::size_t>(rank)));
    };
    const auto links = topology.links_between(node(ends.first), node(ends.second));
    ASSERT_EQ(links.size(), 1U) << ends.first << " to " << ends.second;
    EXPECT_EQ(count * of_six * 20e9,
              static_cast<double>(topology.link(links.front()).bandwidth.bytes_per_second()));
  }
  EXPECT_GT(run_case(asked).busbw(), 80e9);
}

// Between nodes the same rings are cut open, so that GPUs still send along direct links only, and
// no NIC carries more channels than it must.
TEST(Nccl, PathsBetweenNodesUseDirectLinksAndNicsInTurn) {
  struct Machine {
    std::string preset;
    int nics = 0, gpus_of_nic = 1;
    double nic_bandwidth = 0;
  };
  for (const Machine& machine :
       {Machine{"dgx-1-v100", 4, 2, 12.5e9}, Machine{"mi300x", 8, 1, 50e9}}) {
    SCOPED_TRACE(machine.preset);
    const Case asked =
        case_of(R"({"scenario": 1, "cluster": {"nodes": 2, "preset": ")" + machine.preset + R"("},
      "collective": {"op": "all-reduce", "size": "1GiB", "algorithm": "nccl"}})");
    const Topology& topology = asked.cluster->topology;
    const auto node_of = [&](int rank) {
      return topology.node_of(Rank(static_cast<std::size_t>(rank)));
    };
    const auto paths = paths_of_direct_links(topology, asked.collective.group, 8);
    ASSERT_FALSE(paths.empty());
    const int most = (static_cast<int>(paths.size()) + machine.nics - 1) / machine.nics;
    std::map<int, int> entered, left;
    for (const std::vector<int>& path : paths) {
      EXPECT_LE(++entered[path.front() / machine.gpus_of_nic], most);
      EXPECT_LE(++left[path.back() / machine.gpus_of_nic], most);
      for (std::size_t i = 0; i + 1 < path.size(); ++i)
        EXPECT_FALSE(topology.links_between(node_of(path[i]), node_of(path[i + 1])).empty());
    }
    EXPECT_GT(run_case(asked).busbw(), 0.6 * machine.nics * machine.nic_bandwidth);
  }
}

TEST(Nccl, ThereAreNoRingsOverDirectLinksThroughASwitch) {
  const Case asked = case_of(R"({"scenario": 1, "cluster": {"preset": "dgx-2"},
    "collective": {"op": "all-reduce", "size": "8B", "ranks": [0, 1, 2, 3], "algorithm": "nccl"}})");
  EXPECT_TRUE(rings_of_direct_links(asked.cluster->topology, asked.collective.group).empty());
}

std::string asked_on(const std::string& cluster, const std::string& collective) {
  return R"({"scenario": 1, "cluster": )" + cluster + R"(, "collective": {"size": "1MiB",
      "algorithm": "nccl", )" +
         collective + "}}";
}

std::vector<std::string> names_of(const std::vector<Case>& candidates) {
  std::vector<std::string> names;
  for (const Case& one : candidates) names.push_back(nccl_text(*one.nccl, *one.protocol));
  return names;
}

TEST(Nccl, ForcesAsItsVariablesDo) {
  const auto left = [](const std::string& wish) {
    return names_of(nccl_candidates(case_of(
        asked_on(R"({"preset": "dgx-a100", "nodes": 2})", R"("op": "all-reduce", )" + wish))));
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(left(R"("nccl_algo": "ring")"), (Names{"Ring LL", "Ring LL128", "Ring Simple"}));
  EXPECT_EQ(left(R"("nccl_proto": " ll128 ")"), (Names{"Ring LL128", "Tree LL128"}));
  EXPECT_EQ(left(R"("nccl_algo": "^RING,nvls", "nccl_proto": "^LL,LL128")"),
            (Names{"Tree Simple"}));
}

// A chain, because a tree in a node is one.
TEST(Nccl, HasTreesOnOneNodeWhenAsked) {
  const Case asked =
      case_of(asked_on(R"({"preset": "dgx-a100"})", R"("op": "all-reduce", "nccl_algo": "Tree")"));
  const CaseResult row = run_case(asked);
  EXPECT_EQ(row.algorithm, "chain");
  EXPECT_TRUE(row.algorithm_text().starts_with("Tree "));
}

// 48 of 50 GB/s are what NCCL counts a NIC with.
TEST(Nccl, RingsBetweenNodesOfHopperAreNearTheRateOfTheirNics) {
  const CaseResult row = run_case(case_of(R"({"scenario": 1,
      "cluster": {"preset": "dgx-h100", "nodes": 2},
      "collective": {"op": "all-reduce", "size": "1GiB", "nccl_algo": "Ring"}})"));
  const double carried = 2.0 * 15 / 16 * (1 << 30) / (8 * 48e9);
  EXPECT_EQ(row.algorithm_text(), "Ring Simple");
  EXPECT_GT(row.time_s() / carried, 1);
  EXPECT_LT(row.time_s() / carried, 1.2);
}

// NCCL's tuner hardly ever takes NVLS for the halves of an all-reduce.
TEST(Nccl, HasHalvesOfNvlsOnOneNodeWhenAsked) {
  const auto names = [](const std::string& cluster, const std::string& collective) {
    const std::vector<std::string> all = names_of(nccl_candidates(
        case_of(asked_on(R"({"preset": )" + cluster + "}", R"("op": "all-gather")" + collective))));
    return all.back();
  };
  const std::string asked = R"(, "nccl_algo": "Ring,NVLS")";
  EXPECT_EQ(names(R"("dgx-h100")", ""), "Ring Simple");
  EXPECT_EQ(names(R"("dgx-h100")", asked), "NVLS Simple");
  EXPECT_EQ(names(R"("dgx-h100")", R"(, "nccl_tuner": "2.28")"), "NVLS Simple");
  EXPECT_EQ(names(R"("dgx-h100")", asked + R"(, "ranks": [0, 1])"), "Ring Simple");
  EXPECT_EQ(names(R"("dgx-h100", "nodes": 2)", asked), "Ring Simple");
  EXPECT_EQ(names(R"("dgx-a100")", asked), "Ring Simple");
  EXPECT_EQ(names(R"("gb200-nvl72")", asked), "Ring Simple") << "72 heads";
}

TEST(Nccl, HasNoNvlsWithoutNvswitches) {
  for (const char* preset : {"mi300x", "gh200-quad"})
    for (const char* nodes : {"1", "2"})
      for (const std::string& name : names_of(nccl_candidates(case_of(
               asked_on(std::string(R"({"preset": ")") + preset + R"(", "nodes": )" + nodes + "}",
                        R"("op": "all-reduce", "nccl_algo": "^PAT")")))))
        EXPECT_FALSE(name.starts_with("NVLS")) << preset << " x " << nodes << ": " << name;
}

// NVSwitches have no product, and minima of integers and short floats only.
TEST(Nccl, HasNvlsForWhatSwitchesAdd) {
  const auto has_nvls = [](const std::string& collective) {
    const std::vector<std::string> all = names_of(nccl_candidates(
        case_of(asked_on(R"({"preset": "dgx-h100"})",
                         R"("op": "reduce-scatter", "nccl_algo": "NVLS,Ring", )" + collective))));
    return std::find(all.begin(), all.end(), "NVLS Simple") != all.end();
  };
  EXPECT_TRUE(has_nvls(R"("dtype": "float32")"));
  EXPECT_TRUE(has_nvls(R"("dtype": "bfloat16", "reduction": "max")"));
  EXPECT_TRUE(has_nvls(R"("dtype": "int32", "reduction": "min")"));
  EXPECT_FALSE(has_nvls(R"("dtype": "float32", "reduction": "max")"));
  EXPECT_FALSE(has_nvls(R"("dtype": "int32", "reduction": "prod")"));
  EXPECT_FALSE(has_nvls(R"("dtype": "int8")"));
}

// The switch of the network adds: a node's NICs carry S/n each way, its GPUs' links 2(n-1)/n S.
TEST(Nccl, CollNetCarriesEveryByteOnceThroughTheNetwork) {
  const auto time = [](int nodes, const std::string& inside, const std::string& algorithm) {
    const CaseResult row = run_case(case_of(
        R"({"scenario": 1, "cluster": {"shape": "nodes", "nodes": )" + std::to_string(nodes) +
        R"(, "gpus_per_node": 4, "nics_per_node": 4, "intra": {"shape": "switch", "link":
          {"bandwidth": ")" +
        inside + R"(", "sharing": "fair", "protocols": {"Simple": {}}}},
        "inter": {"link": {"bandwidth": "10GB/s", "sharing": "fair", "protocols": {"Simple": {},
          "CollNet": {"hop": "5us"}}}}},
        "collective": {"op": "all-reduce", "size": "400MB", "algorithm": "nccl",
                       "nccl_algo": ")" +
        algorithm + R"("}})"));
    EXPECT_EQ(row.algorithm_text(), algorithm + " Simple");
    EXPECT_LT(row.bound, row.time);
    return row.time_s();
  };
  for (const int nodes : {2, 5})
    for (const char* algorithm : {"CollnetDirect", "CollnetChain"}) {
      EXPECT_NEAR(time(nodes, "1000GB/s", algorithm), 100e6 / 10e9, 0.03 * 0.01) << algorithm;
      EXPECT_NEAR(time(nodes, "20GB/s", algorithm), 1.5 * 400e6 / 20e9, 0.03 * 0.03) << algorithm;
    }
}

TEST(Nccl, HasCollNetWhereSwitchesOfTheNetworkAdd) {
  const auto names = [](const std::string& cluster, const std::string& collective) {
    std::string all;
    for (const std::string& name :
         names_of(nccl_candidates(case_of(asked_on("{" + cluster + "}", collective)))))
      if (!name.starts_with("Ring") && !name.starts_with("Tree")) all += name + "; ";
    return all;
  };
  const std::string two = R"("preset": "dgx-h100", "nodes": 2, "sharp": )";
  const std::string sum = R"("op": "all-reduce")";
  EXPECT_EQ(names(two + "false", sum), "NVLSTree Simple; ");
  EXPECT_EQ(names(two + "true", sum),
            "NVLSTree Simple; CollnetDirect Simple; CollnetChain Simple; NVLS Simple; ");
  EXPECT_EQ(names(two + "true", R"("op": "all-gather")"), "CollnetDirect Simple; NVLS Simple; ");
  EXPECT_EQ(names(two + "true", sum + R"(, "reduction": "prod")"), "");
  EXPECT_EQ(names(two + "true", sum + R"(, "reduction": "max")"),
            "CollnetDirect Simple; CollnetChain Simple; ")
      << "no NVLS for maxima of 32 bit floats";
  EXPECT_EQ(names(R"("preset": "dgx-h100", "sharp": true)", sum), "NVLS Simple; ");
  EXPECT_EQ(names(R"("preset": "dgx-2", "nodes": 2, "sharp": true)", sum), "CollnetChain Simple; ")
      << "16 GPUs of a node";
  for (const char* without : {"dgx-1-v100", "mi300x", "gh200-quad"})
    EXPECT_EQ(names(R"("nodes": 2, "sharp": true, "preset": ")" + std::string(without) + "\"", sum),
              "CollnetChain Simple; ")
        << "no NVSwitch";
}

TEST(Nccl, SaysWhatCollNetNeeds) {
  const Case asked = case_of(asked_on(R"({"preset": "dgx-h100", "nodes": 2})",
                                      R"("op": "all-reduce", "nccl_algo": "CollnetDirect")"));
  try {
    static_cast<void>(run_case(asked));
    FAIL() << "something was run";
  } catch (const Error& error) {
    expect_contains(error.what(), "CollNet needs a network that adds: \"sharp\": true");
  }
}

// Not only as NCCL's choice.
TEST(Nccl, WhatRunsInSwitchesKnowsTheNodes) {
  for (const char* algorithm : {"nvls", "nvls-sharp", "collnet-direct", "collnet-chain"}) {
    const CaseResult row = run_case(case_of(
        R"({"scenario": 1, "cluster": {"preset": "dgx-h100", "nodes": 2, "sharp": true},
            "collective": {"op": "all-reduce", "size": "1MiB", "algorithm": ")" +
        std::string(algorithm) + R"("}})"));
    EXPECT_EQ(row.algorithm, algorithm);
  }
}

TEST(Nccl, OneOfSeveralNodesNeedsNoNetwork) {
  const auto seconds = [](const std::string& machine, const std::string& algorithm) {
    return run_case(case_of(R"({"scenario": 1, "cluster": {"preset": "dgx-h100")" + machine +
                            R"(}, "collective": {"op": "all-reduce", "size": "1MiB",
                                "ranks": [0, 1, 2, 3, 4, 5, 6, 7], "algorithm": ")" +
                            algorithm + R"("}})"))
        .time_s();
  };
  const std::string two_nodes = R"(, "nodes": 2, "sharp": true)";
  EXPECT_EQ(seconds(two_nodes, "collnet-direct"), seconds("", "two-shot"));
  EXPECT_EQ(seconds(two_nodes, "collnet-chain"), seconds("", "chain"));
}

// What is tried needs to know them, too, however many channels were written.
TEST(Nccl, AutoTriesWhatRunsInSwitchesOnTheChannelsWritten) {
  const CaseResult row = run_case(case_of(
      R"({"scenario": 1, "cluster": {"preset": "dgx-h100", "nodes": 2, "sharp": true},
          "collective": {"op": "all-reduce", "size": "64KiB", "algorithm": "auto",
                         "channels": 1}})"));
  EXPECT_EQ(row.algorithm, "collnet-direct");
}

TEST(Nccl, AddsInTheRailsOfTheNetwork) {
  const Case asked = case_of(
      asked_on(R"({"preset": "dgx-h100", "nodes": 4, "sharp": true, "inter": {"shape": "rail"}})",
               R"("op": "all-reduce", "nccl_algo": "CollnetDirect")"));
  EXPECT_EQ(run_case(asked).algorithm_text(), "CollnetDirect Simple");
}

TEST(Nccl, SaysWhatIsLeftWhenNothingIs) {
  const Case asked =
      case_of(asked_on(R"({"preset": "dgx-a100"})", R"("op": "all-gather", "nccl_algo": "NVLS")"));
  try {
    static_cast<void>(run_case(asked));
    FAIL() << "something was run";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "NCCL has no NVLS for all-gather here: as far as collsim simulates it, it has "
                 "Ring LL, Ring LL128, Ring Simple");
  }
}

TEST(Nccl, TakesPatWithOneGpuPerNode) {
  const std::string nodes = R"({"preset": "dgx-a100", "nodes": 4})";
  const Case asked = case_of(
      asked_on(nodes, R"("op": "all-gather", "nccl_algo": "PAT", "ranks": [0, 8, 16, 24])"));
  EXPECT_EQ(run_case(asked).algorithm_text(), "PAT Simple");
  const Case two_each =
      case_of(asked_on(nodes, R"("op": "all-gather", "nccl_algo": "PAT", "ranks": [0, 1, 8, 9])"));
  EXPECT_THROW(static_cast<void>(run_case(two_each)), Error);
}

TEST(Nccl, RefusesWishesThatMeanNothing) {
  const auto mistake = [](const std::string& collective) {
    Studied studied;
    const auto source = studied.sources.add(Sources::Kind::file, "test.json",
                                            R"({"scenario": 1, "cluster": {"preset": "dgx-a100"},
            "collective": {"op": "all-reduce", "size": "1MiB", )" +
                                                collective + "}}");
    static_cast<void>(
        load_scenario(parse_json(source, studied.sources, studied.diagnostics).value(), "test.json",
                      {}, studied.sources, studied.diagnostics));
    const std::vector<std::string> messages = studied.messages();
    return messages.empty() ? std::string() : messages.front();
  };
  EXPECT_EQ(mistake(R"("algorithm": "nccl", "nccl_algo": "Rnig")"),
            "NCCL knows no \"Rnig\", did you mean Ring? It has Tree, Ring, CollnetDirect, "
            "CollnetChain, NVLS, NVLSTree, PAT");
  EXPECT_EQ(mistake(R"("algorithm": "nccl", "nccl_proto": "LL,")"),
            "a name is missing between its commas");
  EXPECT_EQ(mistake(R"("algorithm": "ring", "nccl_proto": "LL")"),
            "\"nccl_proto\" is only for the algorithm nccl");
  EXPECT_EQ(mistake(R"("algorithm": "nccl", "nccl_tuner": "2.18")"),
            "unknown tuner of NCCL \"2.18\"");
}

// 72 GPUs of a node do not cut a power of two evenly.
TEST(Nccl, OneGpuStandsForItsNodeOnLargeMachinesAtAnySize) {
  const Case asked = case_of(R"({"scenario": 1,
      "cluster": {"preset": "gb200-nvl72", "nodes": 4},
      "collective": {"op": "all-reduce", "size": "1MiB", "algorithm": "nccl"}})");
  const Chosen chosen = choose(asked, {});
  const CaseResult& row = chosen.row;
  EXPECT_EQ(row.engine, Engine::symmetry);
  const CaseResult all = run_case(chosen.one_case);
  EXPECT_EQ(all.engine, Engine::event);
  EXPECT_EQ(row.algorithm_text(), all.algorithm_text());
  EXPECT_EQ(row.size, kibibytes(1024));
  EXPECT_EQ(row.bound, all.bound);
  EXPECT_EQ(row.chunks, all.chunks);
  EXPECT_EQ(row.messages, all.messages);
  EXPECT_NE(row.wire_bytes, all.wire_bytes);
  EXPECT_NEAR(row.kernel.seconds() / all.kernel.seconds(), 1, 1e-4);
}

TEST(Nccl, SomeGpusStandForAllThatSendToEachOther) {
  const CaseResult row = run_case(case_of(R"({"scenario": 1,
      "cluster": {"preset": "dgx-h100", "nodes": 64},
      "collective": {"op": "all-to-all", "size": "1MiB", "algorithm": "nccl"}})"));
  EXPECT_EQ(row.engine, Engine::symmetry);
}

}  // namespace
}  // namespace collsim::testing
