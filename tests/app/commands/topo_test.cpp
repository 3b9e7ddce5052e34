// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tests/app/commands/running.hpp"
#include "tests/contains.hpp"
#include "tests/golden.hpp"

namespace collsim {
namespace {

constexpr const char* see_help = "  see collsim topo show --help\n";

std::string shown(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {"topo", "show"});
  const Ran ran = run_collsim(arguments);
  EXPECT_EQ(ran.code, exit_fine) << ran.err;
  EXPECT_EQ(ran.err, "");
  return ran.out;
}

std::string mistake(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {"topo", "show"});
  const Ran ran = run_collsim(arguments);
  EXPECT_EQ(ran.code, exit_usage);
  EXPECT_EQ(ran.out, "");
  return ran.err;
}

TEST(TopoShow, NamesWhatLiesBetweenTwoRanks) {
  expect_text(shown({"--preset", "dgx-1-v100"}), R"(dgx-1-v100 (8 ranks); calibrated
NVIDIA DGX-1: 8 V100, hybrid cube mesh of NVLink 2, 4 NICs of 100 Gb/s

      gpu0  gpu1  gpu2  gpu3  gpu4  gpu5  gpu6  gpu7
gpu0     X  LINK  LINK  LINK  LINK   SYS   SYS   SYS
gpu1  LINK     X  LINK  LINK   SYS  LINK   SYS   SYS
gpu2  LINK  LINK     X  LINK   SYS   SYS  LINK   SYS
gpu3  LINK  LINK  LINK     X   SYS   SYS   SYS  LINK
gpu4  LINK   SYS   SYS   SYS     X  LINK  LINK  LINK
gpu5   SYS  LINK   SYS   SYS  LINK     X  LINK  LINK
gpu6   SYS   SYS  LINK   SYS  LINK  LINK     X  LINK
gpu7   SYS   SYS   SYS  LINK  LINK  LINK  LINK     X

X     the rank itself
LINK  one link, directly
SYS   crosses the inter-socket link (QPI/UPI)
)");
}

TEST(TopoShow, TellsSwitchesCpusAndTheNetworkApart) {
  const std::string text =
      shown({"--preset", "pcie-gen4-8gpu", "--nodes", "2", "--ranks", "0-1,4,8"});
  expect_text(text, R"(pcie-gen4-8gpu x 2 (16 ranks); not calibrated
PCIe Gen4 box: 8 GPUs behind two PCIe switches, one socket, 2 NICs of 200 Gb/s

      gpu0  gpu1  gpu4  gpu8
gpu0     X   SW1   CPU   NET
gpu1   SW1     X   CPU   NET
gpu4   CPU   CPU     X   NET
gpu8   NET   NET   NET     X

X    the rank itself
SW1  over one switch
CPU  over one CPU
NET  over NICs and the network
)");
}

TEST(TopoShow, CountsRelaysAndSwitches) {
  const Folder folder;
  const std::string file = folder.write("chain.json", chain_scenario());
  expect_text(shown({file}), R"(chain of 4 ranks, 25 GB/s, 5 us per message

      gpu0  gpu1  gpu2  gpu3
gpu0     X  LINK    R1    R2
gpu1  LINK     X  LINK    R1
gpu2    R1  LINK     X  LINK
gpu3    R2    R1  LINK     X

X     the rank itself
LINK  one link, directly
R#    relayed by # GPUs
)");
  const std::string tree = folder.write("tree.json", R"({ "scenario": 1,
      "cluster": { "shape": "fat-tree", "ports": 4, "link": { "bandwidth": "25GB/s" } },
      "collective": { "op": "all-reduce", "size": "1MiB" } })");
  expect_contains(shown({tree}), "\nSW#  over # switches\n");
  expect_contains(shown({tree, "--ranks", "0-1"}), "\nSW1  over one switch\n");
}

TEST(TopoShow, TheShapeNodesHasANetworkWithoutNicDevices) {
  const Folder folder;
  const std::string file = folder.write("nodes.json", R"({ "scenario": 1,
      "cluster": { "shape": "nodes", "nodes": 2, "gpus_per_node": 2,
                   "intra": { "shape": "switch", "link": { "bandwidth": "400GB/s" } },
                   "inter": { "link": { "bandwidth": "50GB/s" } } },
      "collective": { "op": "all-reduce", "size": "1MiB" } })");
  const std::string text = shown({file});
  expect_contains(text, "gpu0     X   SW1   NET   NET\n");
}

TEST(TopoShow, SaysWhereThereIsNoRoute) {
  const Folder folder;
  const std::string file = folder.write("apart.json", R"({ "scenario": 1,
      "cluster": { "devices": [ { "id": "gpu", "kind": "gpu", "count": 3 } ],
                   "links": [ { "from": "gpu0", "to": "gpu1", "bandwidth": "1GB/s" } ] },
      "collective": { "op": "broadcast", "size": "1MiB", "ranks": [0, 1] } })");
  expect_contains(shown({file}), "gpu0     X  LINK     -\n");
  expect_contains(shown({file}), "\n-     not connected\n");
  expect_contains(shown({file, "--with", "bandwidth"}), "gpu0     X     1     -\n");
}

TEST(TopoShow, GivesNumbersWithTheirUnitInTheLegend) {
  const std::vector<std::string> box{"--preset", "pcie-gen4-4gpu-2s", "--ranks", "0-2", "--with"};
  const auto with = [&](const std::string& what) {
    std::vector<std::string> arguments = box;
    arguments.push_back(what);
    const std::string text = shown(arguments);
    return text.substr(text.find("\n\n") + 2);
  };
  expect_text(with("bandwidth"), R"(      gpu0  gpu1  gpu2
gpu0     X    24    16
gpu1    24     X    16
gpu2    16    16     X

GB/s in one direction, row to column: the slowest link on the path
)");
  expect_text(with("latency"), R"(      gpu0  gpu1  gpu2
gpu0     X     1   1.4
gpu1     1     X   1.4
gpu2   1.4   1.4     X

zero-byte one-way latency in us, row to column: overhead + latencies
)");
  expect_text(with("hops"), R"(      gpu0  gpu1  gpu2
gpu0     X     2     3
gpu1     2     X     3
gpu2     3     3     X

links on the path, row to column
)");
}

TEST(TopoShow, ListsLinksBothDirectionsOnOneLineWhenTheyAreAlike) {
  const Folder folder;
  const std::string file = folder.write("slow.json", R"({ "scenario": 1,
      "cluster": { "shape": "chain", "ranks": 3,
                   "link": { "bandwidth": "25GB/s", "overhead": "5us" }, "late": { "1": "2ms" },
                   "links_override": [ { "from": "gpu1", "to": "gpu2", "bandwidth": "1GB/s" } ] },
      "collective": { "op": "broadcast", "size": "1MiB" } })");
  expect_text(shown({file, "--links"}),
              R"(chain of 3 ranks, 25 GB/s, 5 us per message, link gpu1 -> gpu2 changed
rank 1 starts 2 ms late

from       to    bandwidth  latency  overhead  sharing
gpu0  <->  gpu1    25 GB/s        0      5 us  exclusive
gpu1  ->   gpu2     1 GB/s        0      5 us  exclusive
gpu2  ->   gpu1    25 GB/s        0      5 us  exclusive
)");
  expect_text(shown({file, "--links", "--ranks", "0-1"}),
              R"(chain of 3 ranks, 25 GB/s, 5 us per message, link gpu1 -> gpu2 changed
rank 1 starts 2 ms late

from       to    bandwidth  latency  overhead  sharing
gpu0  <->  gpu1    25 GB/s        0      5 us  exclusive
)");
  expect_contains(shown({file, "--links", "--set", "cluster.link.duplex=half", "--set",
                         "cluster.links_override=[]"}),
                  "sharing    duplex\ngpu0  <->  gpu1    25 GB/s        0      5 us  exclusive  "
                  "half\n");
  expect_contains(shown({file, "--links", "--set", "cluster.ranks=1", "--set", "cluster.late={}",
                         "--set", "cluster.links_override=[]"}),
                  "\nno links\n");
}

TEST(TopoShow, ShowsAPartOfManyRanksAndSaysHowToChoose) {
  const Ran ran = run_collsim({"topo", "show", "--preset", "gb200-nvl72"});
  EXPECT_EQ(ran.code, exit_fine);
  expect_contains(ran.out, "gpu15");
  expect_lacks(ran.out, "gpu16");
  expect_text(
      ran.err,
      "showing ranks 0 to 15 of 72; choose others with --ranks, such as --ranks 0,8,16-23\n");
  EXPECT_EQ(run_collsim({"--quiet", "topo", "show", "--preset", "gb200-nvl72"}).err, "");
}

TEST(TopoShow, MistakesAreExplained) {
  EXPECT_EQ(
      mistake({}),
      std::string("collsim topo show: a scenario file or --preset NAME is missing\n") + see_help);
  EXPECT_EQ(mistake({"a.json", "--preset", "dgx-2"}),
            std::string("collsim topo show: FILE and --preset do not go together\n") + see_help);
  EXPECT_EQ(mistake({"a.json", "--nodes", "2"}),
            std::string("collsim topo show: --nodes goes with --preset; for a file write --set "
                        "cluster.nodes=2\n") +
                see_help);
  EXPECT_EQ(mistake({"--preset", "dgx-2", "--set", "a=b"}),
            std::string("collsim topo show: --set and --at go with a scenario file, not with "
                        "--preset\n") +
                see_help);
  EXPECT_TRUE(mistake({"--preset", "dgx-h10"})
                  .starts_with("collsim topo show: there is no preset \"dgx-h10\"; did you mean "
                               "\"dgx-h100\"?\n  known: a100-nvlink-pair, "));
  expect_text(mistake({"--preset", "dgx-h100", "--nodes", "0"}),
              "collsim: 0 is too small at /cluster/nodes\n    |   allowed: 1 to 131072\n"
              "1 error; nothing was run\n");
  EXPECT_EQ(mistake({"--preset", "dgx-2", "--ranks", "0-99"}),
            std::string("collsim topo show: --ranks: there is no rank 99; ranks are 0 to 15\n") +
                see_help);
  EXPECT_EQ(mistake({"--preset", "dgx-2", "--ranks", "0-x"}),
            std::string("collsim topo show: --ranks is not valid at \"0-x\"; write numbers and "
                        "ranges, such as 0-7 or 0,8,16-23\n") +
                see_help);
  EXPECT_EQ(mistake({"--preset", "dgx-2", "--ranks", "3-1"}),
            std::string("collsim topo show: --ranks 3-1 selects no rank\n") + see_help);
  EXPECT_EQ(
      mistake({"--preset", "dgx-h100", "--nodes", "100", "--ranks", "0-700"}),
      std::string("collsim topo show: --ranks 0-700 selects too many; at most 256\n") + see_help);
  EXPECT_EQ(run_collsim({"topo"}).code, exit_usage);
}

}  // namespace
}  // namespace collsim
