// SPDX-License-Identifier: Apache-2.0
//
// What NCCL 2.28.9's own tuning code printed for these machines.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "app/scenario/make_case.hpp"
#include "app/study/nccl.hpp"
#include "app/study/nccl_machine.hpp"
#include "tests/app/study/scenarios.hpp"
#include "tests/app/study/testing.hpp"
#include "tests/contains.hpp"

namespace collsim::testing {
namespace {

using enum NcclAlgorithm;
constexpr LinkProtocol ll = LinkProtocol::ll;
constexpr LinkProtocol ll128 = LinkProtocol::ll128;
constexpr LinkProtocol simple = LinkProtocol::simple;

const NcclTuner& tuner_2_28() {
  return NcclTuner::of_version("2.28");
}

Case tuned_case(const std::string& cluster, const std::string& collective,
                const std::string& model = "{}") {
  Studied studied;
  load(studied, fmt::format(R"({{"scenario": 1, "cluster": {}, "model": {}, "collective":
      {{"algorithm": "nccl", "nccl_tuner": "2.28", {}}}}})",
                            cluster, model, collective));
  EXPECT_TRUE(studied.scenario) << to_text(studied.diagnostics, studied.sources);
  ClusterCache clusters;
  return make_case(*studied.scenario, 0, clusters, studied.diagnostics).value();
}

std::string of_preset(const std::string& name, int nodes) {
  return fmt::format(R"({{"preset": "{}", "nodes": {}}})", name, nodes);
}
std::string first_ranks_of(int ranks) {
  std::string list;
  for (int rank = 0; rank < ranks; ++rank) list += fmt::format("{}{}", rank ? ", " : "", rank);
  return fmt::format(R"("op": "all-reduce", "size": "1MiB", "ranks": [{}])", list);
}

struct TunedMachine {
  TunerMachine machine;
  int ranks = 0, nodes = 1;

  [[nodiscard]] TunerCell cell(NcclAlgorithm algorithm, LinkProtocol protocol,
                               Operation operation = Operation::all_reduce) const {
    return tuner_2_28().cell(machine, {operation, ranks, nodes}, algorithm, protocol);
  }
  [[nodiscard]] double expected(NcclAlgorithm algorithm, LinkProtocol protocol, Bytes bytes) const {
    return tuner_2_28().expected_us(machine, {Operation::all_reduce, ranks, nodes}, algorithm,
                                    protocol, bytes);
  }
};

TunedMachine tuned(const std::string& preset, int nodes = 1, int ranks_of_node = 8) {
  const bool all = ranks_of_node == 8;
  const Case asked =
      tuned_case(of_preset(preset, nodes),
                 all ? R"("op": "all-reduce", "size": "1MiB")" : first_ranks_of(ranks_of_node));
  return {tuner_machine(asked, ranks_of_node, tuner_2_28()), nodes * ranks_of_node, nodes};
}

struct PrintedCell {
  NcclAlgorithm algorithm;
  LinkProtocol protocol;
  double latency_us, gb_per_s;
};

// The log prints a decimal of each, and none of those above 100 GB/s.
void expect_cells(const TunedMachine& machine, const std::vector<PrintedCell>& cells,
                  Operation operation = Operation::all_reduce) {
  for (const PrintedCell& printed : cells) {
    SCOPED_TRACE(nccl_text(printed.algorithm, printed.protocol));
    const TunerCell cell = machine.cell(printed.algorithm, printed.protocol, operation);
    EXPECT_NEAR(cell.latency_us, printed.latency_us, 0.06 + 5e-4 * printed.latency_us);
    EXPECT_NEAR(cell.gb_per_s, printed.gb_per_s, 0.06 + 5e-3 * printed.gb_per_s);
  }
}

TEST(NcclTuner, PrintsTheCellsOfNvswitchNodes) {
  expect_cells(tuned("dgx-a100"), {{ring, ll, 15.0, 50.1},
                                   {ring, ll128, 40.6, 126.2},
                                   {ring, simple, 56.0, 137.1},
                                   {tree, ll, 15.2, 29.1},
                                   {tree, ll128, 31.5, 85.9},
                                   {tree, simple, 64.4, 110.4}});
  expect_cells(tuned("dgx-h100"), {{ring, ll, 15.0, 80.6},
                                   {ring, ll128, 40.6, 189.3},
                                   {ring, simple, 56.0, 205.7},
                                   {tree, ll, 15.2, 43.6},
                                   {tree, ll128, 31.5, 128.8},
                                   {tree, simple, 64.4, 165.6},
                                   {nvls, simple, 25.0, 272.0}});
  expect_cells(tuned("dgx-b200"), {{ring, ll, 15.0, 161},
                                   {ring, ll128, 40.6, 378},
                                   {ring, simple, 56.0, 411.4},
                                   {tree, ll, 15.2, 77.5},
                                   {tree, ll128, 31.5, 229},
                                   {tree, simple, 64.4, 294},
                                   {nvls, simple, 25.0, 411.4}});
}

TEST(NcclTuner, PrintsTheCellsOfPartsOfANode) {
  expect_cells(tuned("dgx-h100", 1, 4), {{ring, ll, 10.2, 94.0},
                                         {ring, ll128, 25.4, 220.8},
                                         {ring, simple, 28.8, 240.0},
                                         {tree, ll, 10.4, 43.6},
                                         {tree, ll128, 21.5, 128.8},
                                         {tree, simple, 32.4, 165.6},
                                         {nvls, simple, 25.0, 160}});
  expect_cells(tuned("dgx-h100", 1, 2), {{ring, ll, 7.8, 141},
                                         {ring, ll128, 17.8, 331},
                                         {ring, simple, 15.2, 360},
                                         {tree, ll, 8.0, 61},
                                         {tree, ll128, 16.5, 181},
                                         {tree, simple, 16.4, 232},
                                         {nvls, simple, 25.0, 102}});
}

// No log was found that prints these: they are the formulas of its source.
TEST(NcclTuner, KnowsNetworksThatAdd) {
  using enum NcclAlgorithm;
  const TunedMachine two = tuned("dgx-h100", 2), four = tuned("dgx-h100", 4);
  expect_cells(two, {{collnet_direct, simple, 2 * (3.7 + 7 * 0.4) + 31, 8 * 48 * 0.85 / 2},
                     {collnet_chain, simple, 2 * 7 * 2.8 + 30, 8 * 48 / 2.0},
                     {nvls, simple, 25 + 18, 8 * 48 * 16 / 30.0}});
  expect_cells(four, {{collnet_direct, simple, 44, 163.2}, {nvls, simple, 43, 198.2}});
  expect_cells(four, {{collnet_direct, simple, 44, 8 * 48 * 0.9}, {nvls, simple, 43, 208}},
               Operation::all_gather);
}

// The bus bandwidth that it expects of NVLS on 2 to 8 H100.
TEST(NcclTuner, PrintsTheRatesOfNvls) {
  const std::vector<double> printed = {102, 180, 240, 300, 360, 408, 476};
  for (int ranks = 2; ranks <= 8; ++ranks) {
    const double rate = tuned("dgx-h100", 1, ranks).cell(nvls, simple).gb_per_s;
    EXPECT_NEAR(rate * 2 * (ranks - 1) / ranks, printed[static_cast<std::size_t>(ranks - 2)], 0.5)
        << ranks;
  }
}

TEST(NcclTuner, PrintsTheCellsOfNodes) {
  expect_cells(tuned("dgx-h100", 2), {{ring, ll, 40.0, 20.8},
                                      {ring, ll128, 75.2, 156.6},
                                      {ring, simple, 131.6, 204.8},
                                      {tree, ll, 25.2, 16.6},
                                      {tree, ll128, 48.5, 124.8},
                                      {tree, simple, 92.4, 140.8},
                                      {nvls_tree, simple, 66.8, 246.2}});
  expect_cells(tuned("dgx-h100", 4), {{ring, ll, 78.8, 10.5},
                                      {ring, ll128, 144.4, 151.5},
                                      {ring, simple, 282.8, 198.2},
                                      {tree, ll, 35.2, 8.7},
                                      {tree, ll128, 65.5, 98.6},
                                      {tree, simple, 120.4, 122.4},
                                      {nvls_tree, simple, 108.6, 187.9}});
  expect_cells(tuned("dgx-h100", 16), {{ring, ll, 311.6, 10.3},
                                       {ring, ll128, 559.6, 148.0},
                                       {ring, simple, 1190, 193.5},
                                       {tree, ll, 55.2, 8.7},
                                       {tree, ll128, 99.5, 98.6},
                                       {tree, simple, 176.4, 122.4},
                                       {nvls_tree, simple, 192.2, 183.4}});
  expect_cells(tuned("dgx-a100", 2), {{ring, ll, 68.0, 12.0},
                                      {ring, ll128, 78.0, 85.3},
                                      {ring, simple, 204.4, 102.4},
                                      {tree, ll, 25.2, 11.2},
                                      {tree, ll128, 48.5, 80.0},
                                      {tree, simple, 92.4, 94.4}});
  expect_cells(tuned("dgx-a100", 16), {{ring, ll, 535.6, 9.6},
                                       {ring, ll128, 582, 80.6},
                                       {ring, simple, 1772, 96.8},
                                       {tree, ll, 55.2, 9.5},
                                       {tree, ll128, 99.5, 66.8},
                                       {tree, simple, 176.4, 71.2}});
}

// 4 GPUs of PCIe Gen4 below two Intel CPUs.
TEST(NcclTuner, PrintsTheCellsOfAPcieBox) {
  const Case asked = tuned_case(
      R"({"devices": [{"id": "gpu", "kind": "gpu", "count": 4},
                      {"id": "cpu", "kind": "cpu", "count": 2}],
          "links": [{"from": "gpu[0-1]", "to": "cpu0", "bandwidth": "24GB/s"},
                    {"from": "gpu[2-3]", "to": "cpu1", "bandwidth": "24GB/s"},
                    {"from": "cpu0", "to": "cpu1", "bandwidth": "40GB/s"}]})",
      R"("op": "all-reduce", "size": "1MiB")",
      R"({"nccl_graph": {"gpu": "ampere", "cpu": "intel", "path": "pci"}})");
  const TunedMachine box{tuner_machine(asked, 4, tuner_2_28()), 4, 1};
  EXPECT_EQ(box.machine.ring.channels, 1);
  EXPECT_DOUBLE_EQ(box.machine.ring.intra, 20);
  expect_cells(box, {{ring, ll, 12.6, 6.7},
                     {ring, simple, 42.6, 13.3},
                     {tree, ll, 12.8, 2.4},
                     {tree, simple, 32.4, 9.2}});
}

TEST(NcclTuner, PrintsTheCellsOfOtherCollectives) {
  for (const Operation operation : {Operation::all_gather, Operation::reduce_scatter})
    expect_cells(tuned("dgx-h100"),
                 {{ring, ll, 10.8, 161},
                  {ring, ll128, 27.3, 378.5},
                  {ring, simple, 32.2, 411.4},
                  {nvls, simple, 25, 208}},
                 operation);
  expect_cells(tuned("dgx-h100"),
               {{ring, ll, 7.2, 141}, {ring, ll128, 15.9, 331}, {ring, simple, 11.8, 360}},
               Operation::broadcast);
  const TunedMachine two = tuned("dgx-h100", 2);
  EXPECT_NEAR(two.cell(ring, ll, Operation::all_gather).latency_us, 23.3, 1e-9);
  EXPECT_NEAR(two.cell(ring, ll128, Operation::all_gather).latency_us, 44.6, 1e-9);
  EXPECT_NEAR(two.cell(ring, simple, Operation::all_gather).latency_us, 70.0, 1e-9);
}

TEST(NcclTuner, ExpectsTheTimesThatNcclDoes) {
  EXPECT_NEAR(tuned("dgx-h100").expected(nvls, simple, mebibytes(64)), 271.7, 0.1);
  EXPECT_NEAR(tuned("dgx-h100").expected(ring, simple, mebibytes(64)), 382.2, 0.1);
  EXPECT_NEAR(tuned("dgx-h100").expected(nvls, simple, mebibytes(1024)), 3972.6, 0.1);
  EXPECT_NEAR(tuned("dgx-a100").expected(ring, simple, mebibytes(1024)), 7885.4, 0.1);
}

TEST(NcclTuner, UsesFewChannelsForFewBytes) {
  const TunedMachine h100 = tuned("dgx-h100");
  const auto work = [&](Bytes bytes) {
    const TunerWork got =
        tuner_2_28().work(h100.machine, {Operation::all_reduce, 8, 1}, ring, ll, bytes);
    return std::pair(got.channels, got.threads);
  };
  constexpr Bytes kibibyte = 1024;
  EXPECT_EQ(work(4 * kibibyte), std::pair(1, 96));
  EXPECT_EQ(work(8 * kibibyte), std::pair(1, 128));
  EXPECT_EQ(work(32 * kibibyte), std::pair(1, 512));
  EXPECT_EQ(work(64 * kibibyte), std::pair(2, 512));
  EXPECT_EQ(work(1024 * kibibyte), std::pair(24, 512));
}

// What the tuner takes among these for sizes that double: "Ring LL <= 2 MiB; ...".
std::string choices(const TunedMachine& machine,
                    const std::vector<std::pair<NcclAlgorithm, LinkProtocol>>& among,
                    Operation operation = Operation::all_reduce) {
  std::string text, last;
  for (Bytes bytes = 1024; bytes <= mebibytes(16384); bytes *= 2) {
    std::string best;
    double least = 0;
    for (const auto& [algorithm, protocol] : among) {
      const double time = tuner_2_28().expected_us(
          machine.machine, {operation, machine.ranks, machine.nodes}, algorithm, protocol, bytes);
      if (!best.empty() && time >= least) continue;
      least = time;
      best = nccl_text(algorithm, protocol);
    }
    if (best != last)
      text += last.empty() ? best : fmt::format(" < {} <= {}", bytes_to_text(bytes), best);
    last = best;
  }
  return text;
}

using Ways = std::vector<std::pair<NcclAlgorithm, LinkProtocol>>;
const Ways rings_and_trees = {{tree, ll}, {tree, ll128}, {tree, simple},
                              {ring, ll}, {ring, ll128}, {ring, simple}};
Ways with(Ways ways, NcclAlgorithm algorithm) {
  ways.emplace_back(algorithm, simple);
  return ways;
}

TEST(NcclTuner, ChoosesOnOneNode) {
  EXPECT_EQ(choices(tuned("dgx-a100"), rings_and_trees),
            "Ring LL < 4 MiB <= Ring LL128 < 32 MiB <= Ring Simple");
  EXPECT_EQ(choices(tuned("dgx-h100"), rings_and_trees),
            "Ring LL < 4 MiB <= Ring LL128 < 64 MiB <= Ring Simple");
  EXPECT_EQ(choices(tuned("dgx-h100"), with(rings_and_trees, nvls)),
            "Ring LL < 2 MiB <= NVLS Simple");
  EXPECT_EQ(choices(tuned("dgx-h100", 1, 4), with(rings_and_trees, nvls)),
            "Ring LL < 4 MiB <= Ring LL128 < 16 MiB <= Ring Simple");
  EXPECT_EQ(choices(tuned("dgx-h100", 1, 2), with(rings_and_trees, nvls)),
            "Ring LL < 2 MiB <= Ring Simple");
  EXPECT_EQ(choices(tuned("dgx-b200"), with(rings_and_trees, nvls)),
            "Ring LL < 4 MiB <= NVLS Simple");
  const Ways rings = {{ring, ll}, {ring, ll128}, {ring, simple}};
  EXPECT_EQ(choices(tuned("dgx-h100"), with(rings, nvls), Operation::all_gather),
            "Ring LL < 8 MiB <= Ring LL128 < 32 MiB <= Ring Simple");
  EXPECT_EQ(choices(tuned("dgx-h100"), rings, Operation::broadcast),
            "Ring LL < 2 MiB <= Ring Simple");
}

TEST(NcclTuner, ChoosesAmongNodes) {
  EXPECT_EQ(choices(tuned("dgx-h100", 2), with(rings_and_trees, nvls_tree)),
            "Tree LL < 256 KiB <= Tree LL128 < 2 MiB <= NVLSTree Simple");
  EXPECT_EQ(choices(tuned("dgx-h100", 4), with(rings_and_trees, nvls_tree)),
            "Tree LL < 256 KiB <= Tree LL128 < 8 MiB <= NVLSTree Simple < 1 GiB <= Ring Simple");
  EXPECT_EQ(choices(tuned("dgx-h100", 16), with(rings_and_trees, nvls_tree)),
            "Tree LL < 256 KiB <= Tree LL128 < 16 MiB <= NVLSTree Simple < 8 GiB <= Ring Simple");
  EXPECT_EQ(choices(tuned("dgx-a100", 2), rings_and_trees),
            "Tree LL < 256 KiB <= Tree LL128 < 16 MiB <= Ring LL128 < 128 MiB <= Ring Simple");
  EXPECT_EQ(choices(tuned("dgx-a100", 16), rings_and_trees),
            "Tree LL < 256 KiB <= Tree LL128 < 256 MiB <= Ring LL128 < 1 GiB <= Ring Simple");
}

// The latencies that the collection of closed forms has of it (tests/sim/oracles_test.cpp).
TEST(NcclTuner, HasTheLatenciesOfTheOracles) {
  std::ifstream file(COLLSIM_TEST_DATA "/oracles.json");
  const TunedMachine h100 = tuned("dgx-h100");
  int compared = 0;
  for (const nlohmann::json& entry : nlohmann::json::parse(file)) {
    const std::string name = entry["algorithm"];
    if (!name.starts_with("nccl_") || !entry["name"].get<std::string>().starts_with("nccl_tuner"))
      continue;
    const NcclAlgorithm algorithm = name.starts_with("nccl_ring") ? ring : tree;
    const LinkProtocol protocol = name.ends_with("_LL")      ? ll
                                  : name.ends_with("_LL128") ? ll128
                                                             : simple;
    EXPECT_NEAR(h100.cell(algorithm, protocol).latency_us / 1e6, entry["expected_seconds"], 1e-12)
        << name;
    ++compared;
  }
  EXPECT_EQ(compared, 6);
}

TEST(NcclTuner, SaysWhatItDoesNotKnow) {
  const std::string shape = R"({"shape": "switch", "ranks": 8, "link": {"bandwidth": "100GB/s",
      "protocols": {"LL": {"hop": "1us", "rate": 0.5}}}})";
  try {
    static_cast<void>(run_case(tuned_case(shape, R"("op": "all-reduce", "size": "1MiB")")));
    FAIL() << "a machine was invented";
  } catch (const Error& error) {
    expect_contains(error.what(), "nothing says which GPUs these are");
    expect_contains(error.what(), R"("nccl_graph": {"gpu": "hopper")");
  }
  const Case known = tuned_case(shape, R"("op": "all-reduce", "size": "1MiB")",
                                R"({"nccl_graph": {"gpu": "hopper", "cpu": "amd", "path": "nvlink",
                                    "ring": {"channels": 4, "intra": "20GB/s"}}})");
  EXPECT_EQ(run_case(known).algorithm_text(), "Ring LL");
  EXPECT_EQ(tuner_verdict(known)->machine.ring.channels, 4);
}

// Its choice is simulated, even where another would be faster.
TEST(NcclTuner, ChoosesWhatIsSimulated) {
  const auto asked = [](const std::string& size) {
    return tuned_case(of_preset("dgx-a100", 1), R"("op": "all-reduce", "size": ")" + size + '"');
  };
  EXPECT_EQ(run_case(asked("1MiB")).algorithm_text(), "Ring LL");
  EXPECT_EQ(run_case(asked("8MiB")).algorithm_text(), "Ring LL128");
  EXPECT_EQ(run_case(asked("64MiB")).algorithm_text(), "Ring Simple");
  EXPECT_EQ(nccl_choices(asked("1MiB")).size(), 1U);
  EXPECT_FALSE(
      tuner_verdict(tuned_case(of_preset("dgx-a100", 1), R"("op": "all-to-all", "size": "1MiB")")));
}

}  // namespace
}  // namespace collsim::testing
