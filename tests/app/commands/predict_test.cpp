// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iomanip>
#include <nlohmann/json.hpp>
#include <sstream>

#include "app/scenario/fitted.hpp"
#include "app/scenario/presets.hpp"
#include "app/scenario/quantities.hpp"
#include "collectives/collective.hpp"
#include "tests/app/commands/running.hpp"
#include "tests/contains.hpp"
#include "tests/golden.hpp"
#include "tests/sanitized.hpp"

namespace collsim {
namespace {

using nlohmann::json;

std::vector<std::string> on_a_ring(const std::string& operation,
                                   const std::vector<std::string>& more) {
  std::vector<std::string> words = {"predict",     operation, "--shape",    "ring",
                                    "--bandwidth", "25GB/s",  "--overhead", "5us"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

json scenario_of(const std::string& operation, std::vector<std::string> more) {
  more.emplace_back("--print-scenario");
  const Ran ran = run_collsim(on_a_ring(operation, more));
  EXPECT_EQ(ran.code, exit_fine) << ran.err;
  return json::parse(ran.out, nullptr, false);
}

json sizes_of(const std::string& operation, const std::vector<std::string>& more) {
  const json scenario = scenario_of(operation, more);
  if (!scenario.contains("sweep")) return scenario["collective"]["size"];
  return scenario["sweep"]["collective.size"];
}

TEST(Predict, NamesTheFlagsThatItIgnoresBecauseNothingIsMeasured) {
  const std::vector<std::string> plain = {"-b", "1M", "-g", "4"};
  std::vector<std::string> pasted = plain;
  for (const char* word : {"-n", "20", "-w", "5",  "-c", "1",  "-t", "1",  "-m", "1",  "-a",
                           "1",  "-z", "0",  "-G", "0",  "-p", "1",  "-C", "0",  "-R", "1"})
    pasted.emplace_back(word);
  const Ran ran = run_collsim(on_a_ring("all-reduce", pasted));
  EXPECT_EQ(ran.code, exit_fine);
  expect_text(ran.err,
              "ignored, because nothing is measured: -n, -w, -m, -c, -p, -a, -z, -G, -C, -R\n");
  EXPECT_EQ(ran.out, run_collsim(on_a_ring("all-reduce", plain)).out);
  const Ran long_names = run_collsim(
      on_a_ring("all-reduce", {"-g", "4", "--iters", "5", "--check=0", "--local_register", "1"}));
  expect_text(long_names.err, "ignored, because nothing is measured: -n, -c, -R\n");
  pasted.emplace_back("--quiet");
  EXPECT_EQ(run_collsim(on_a_ring("all-reduce", pasted)).err, "");
}

json scenario_on_preset(const std::vector<std::string>& more) {
  std::vector<std::string> words = {"predict", "all-reduce", "--preset", "dgx-h100",
                                    "--print-scenario"};
  words.insert(words.end(), more.begin(), more.end());
  const Ran ran = run_collsim(words);
  EXPECT_EQ(ran.code, exit_fine) << ran.err;
  return json::parse(ran.out, nullptr, false);
}

// As nccl-tests with as many processes as nodes; with neither flag, as with one for each GPU.
TEST(Predict, GpusAndThreadsAreThoseOfEachNode) {
  const auto one_thread = json::parse(R"({"launch": {"mode": "one-thread"}})");
  json scenario = scenario_on_preset({"-g", "2", "--nodes", "2"});
  EXPECT_EQ(scenario["collective"]["ranks"], json::parse("[0, 1, 8, 9]"));
  EXPECT_EQ(scenario["model"], one_thread);
  scenario = scenario_on_preset({"-g", "8"});
  EXPECT_FALSE(scenario["collective"].contains("ranks"));
  EXPECT_EQ(scenario["model"], one_thread);
  scenario = scenario_on_preset({"-t", "8"});
  EXPECT_EQ(scenario["model"], json::parse(R"({"launch": {"mode": "thread-per-gpu"}})"));
  scenario = scenario_on_preset({"-t", "2", "-g", "2"});
  EXPECT_EQ(scenario["collective"]["ranks"], json::parse("[0, 1, 2, 3]"));
  EXPECT_EQ(scenario["model"],
            json::parse(R"({"launch": {"mode": "one-thread", "gpus_per_thread": 2}})"));
  scenario = scenario_on_preset({"--nodes", "2"});
  EXPECT_FALSE(scenario.contains("model")) << "a process for each GPU";
  EXPECT_FALSE(scenario["collective"].contains("ranks"));
  const Ran many = run_collsim({"predict", "all-reduce", "--preset", "h100", "-t", "2", "-g", "8"});
  EXPECT_EQ(many.code, exit_usage);
  expect_contains(many.err,
                  "-t times -g 16: a dgx-h100 has 8 GPUs; -t times -g counts those of each node, "
                  "and --nodes joins several");
  for (const char* gpus : {"0", "-1"})
    EXPECT_EQ(run_collsim({"predict", "all-reduce", "--preset", "h100", "-g", gpus}).code,
              exit_usage);
}

TEST(Predict, OnAPresetIsWhatNcclWouldRun) {
  EXPECT_FALSE(scenario_on_preset({})["collective"].contains("algorithm")) << "nccl by default";
  EXPECT_EQ(scenario_on_preset({"--network", "efa"})["cluster"]["network"], "efa");
  EXPECT_EQ(scenario_on_preset({"--network", "InfiniBand"})["cluster"]["network"], "ib");
  const Ran ran = run_collsim({"predict", "all-reduce", "--preset", "dgx-h100", "-b", "1K", "-e",
                               "8G", "-f", "1000000", "--format", "json"});
  EXPECT_EQ(ran.code, exit_fine) << ran.err;
  const json rows = json::parse(ran.out)["rows"];
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0]["protocol"], "LL");
  EXPECT_GT(rows[0]["kernel_s"], 0);
  EXPECT_GT(rows[0]["host_s"], 0);
  EXPECT_NE(rows[1]["protocol"], "LL");
  const Ran faster =
      run_collsim({"predict", "all-reduce", "--preset", "h100", "--set",
                   "cluster.override.nvlink.bandwidth=800GB/s", "--set", "model.launch.base=0"});
  EXPECT_EQ(faster.code, exit_fine) << faster.err;
  expect_contains(faster.out, "8 ranks, overridden");
  EXPECT_EQ(scenario_on_preset({"--set", "cluster.nodes=3"})["cluster"]["nodes"], 3);
  expect_contains(run_collsim({"predict", "all-reduce", "--preset", "h100", "--chunks", "4"}).err,
                  "omit it, or name an algorithm: on a preset or an imported machine nccl is the "
                  "default");
  expect_contains(run_collsim({"predict", "all-reduce", "--preset", "h100", "-r", "3"}).err,
                  "omit it\n");
}

// What fewer bytes than ranks leave of sizes are empty messages, no error.
TEST(Predict, EveryOperationWorksOnEveryPresetFromTheSmallestSizeOn) {
  for (const Preset& preset : presets())
    for (const Operation operation : all_operations()) {
      if (operation == Operation::barrier) continue;
      const bool rack = preset.gpus > 16;  // several of these only take time
      for (const char* nodes : testing::listed_cases<const char*>({"1"}, {"2"})) {
        if (rack && nodes == std::string("2")) continue;
        const Ran ran =
            run_collsim({"predict", std::string(to_string(operation)), "--preset", preset.name,
                         "--nodes", nodes, "-b", "8", "-e", "8K", "-f", "1024", "--quiet"});
        EXPECT_EQ(ran.code, exit_fine)
            << preset.name << " " << to_string(operation) << " " << nodes << ran.err;
      }
    }
}

TEST(Predict, ThreadsMultiplyTheRanks) {
  EXPECT_EQ(scenario_of("all-reduce", {"-g", "4", "-t", "2"})["cluster"]["ranks"], 8);
  EXPECT_EQ(scenario_of("all-reduce", {"-t", "8"})["cluster"]["ranks"], 8);
  for (const char* gpus : {"-9223372036854775808", "0", "9223372036854775807"}) {
    const Ran ran = run_collsim(on_a_ring("all-reduce", {"-t", "1000000", "-g", gpus}));
    EXPECT_EQ(ran.code, exit_usage) << gpus;
    expect_contains(ran.err, "not a number of ranks");
  }
  EXPECT_EQ(run_collsim(on_a_ring("all-reduce", {"-t", "0", "-g", "4"})).code, exit_usage);
}

TEST(Predict, SaysThatTheOperatorHasAnotherOption) {
  for (const char* word : {"sum", "ncclMax", "avg", "all"}) {
    const Ran ran = run_collsim(on_a_ring("all-reduce", {"-g", "4", "-o", word}));
    EXPECT_EQ(ran.code, exit_usage);
    expect_contains(ran.err, "nccl-tests' -o is --redop here");
  }
}

TEST(Predict, TakesTheNamesOfTheProgramsOfNcclTests) {
  const std::vector<std::pair<const char*, const char*>> names = {
      {"all_reduce_perf", "all-reduce"},
      {"all_gather_perf", "all-gather"},
      {"reduce_scatter_perf", "reduce-scatter"},
      {"broadcast_perf", "broadcast"},
      {"reduce_perf", "reduce"},
      {"alltoall_perf", "all-to-all"},
      {"sendrecv_perf", "send-recv"},
      {"gather_perf", "gather"},
      {"scatter_perf", "scatter"},
      {"./build/all_reduce_perf", "all-reduce"}};
  for (const auto& [program, operation] : names) {
    const Ran ran = run_collsim(on_a_ring(program, {"-g", "4", "--format", "csv"}));
    EXPECT_EQ(ran.code, exit_fine) << program << ran.err;
    EXPECT_EQ(ran.out, run_collsim(on_a_ring(operation, {"-g", "4", "--format", "csv"})).out);
  }
  EXPECT_EQ(run_collsim(on_a_ring("all_redduce_perf", {"-g", "4"})).code, exit_usage);
}

TEST(Predict, RoundsSizesDownToWholeElements) {
  EXPECT_EQ(sizes_of("all-reduce", {"-g", "4", "-b", "1"}), "0B");
  EXPECT_EQ(sizes_of("all-reduce", {"-g", "4", "-b", "7"}), "4B");
  EXPECT_EQ(sizes_of("all-reduce", {"-g", "4", "-b", "7", "-d", "half"}), "6B");
  EXPECT_EQ(sizes_of("broadcast", {"-g", "4", "-b", "9", "-d", "int8"}), "9B");
  EXPECT_EQ(sizes_of("all-reduce", {"-g", "4", "-b", "1", "-e", "3", "-f", "2"}), "0B");
  EXPECT_EQ(sizes_of("all-reduce", {"-g", "4", "-b", "1", "-e", "9", "-i", "1"}),
            json::parse(R"(["0B", "4B", "8B"])"));
}

TEST(Predict, SaysThatASizeBecomesNothing) {
  const auto ran = [](const std::string& size, const std::vector<std::string>& more = {}) {
    std::vector<std::string> words{"predict", "all-gather", "-b",       size,
                                   "-d",      "half",       "--preset", "dgx-h100"};
    words.insert(words.end(), more.begin(), more.end());
    return run_collsim(words);
  };
  const Ran nothing = ran("10");
  EXPECT_EQ(nothing.code, exit_fine);
  expect_text(nothing.err,
              "warning: 10B is less than 16B, an element for each rank that has a part: as in "
              "nccl-tests it becomes 0B, and nothing is sent\n");
  expect_contains(nothing.out, "busbw");
  expect_contains(nothing.out, "0 B/s  0 B/s");
  EXPECT_EQ(ran("10", {"-q"}).err, "");
  expect_text(ran("17").err, "assumed: 17B is taken as 16B, a multiple of 16B, as in nccl-tests\n");
  EXPECT_EQ(ran("17", {"-e", "17"}).err, ran("17").err);
  EXPECT_EQ(ran("17", {"-e", "64", "-f", "2"}).err, "") << "the rows have their sizes";
  EXPECT_EQ(ran("16").err, "");
  EXPECT_EQ(ran("0").err, "");
}

TEST(Predict, RoundsSizesOfWhichEachRankHasAPartToWholeElementsPerRank) {
  for (const char* operation : {"all-gather", "reduce-scatter", "alltoall", "gather", "scatter"})
    EXPECT_EQ(sizes_of(operation, {"-g", "8", "-b", "8", "-e", "100", "-f", "2"}),
              json::parse(R"(["0B", "32B", "64B"])"))
        << operation;
  EXPECT_EQ(sizes_of("all-gather", {"-t", "2", "-g", "8", "-b", "100"}), "64B");
  const Ran ran = run_collsim(
      on_a_ring("all-gather", {"-b", "8", "-g", "8", "--format", "nccl-tests", "--quiet"}));
  EXPECT_EQ(ran.code, exit_fine) << ran.err;
  expect_contains(ran.out, "\n           0             0     float");
  const Ran preset = run_collsim({"predict", "all-gather", "-b", "1000", "--preset", "dgx-h100",
                                  "--nodes", "2", "--print-scenario"});
  EXPECT_EQ(json::parse(preset.out)["collective"]["size"], "960B");
}

TEST(Predict, KeepsTheRangeWhereNothingIsRounded) {
  EXPECT_EQ(sizes_of("all-gather", {"-g", "4", "-b", "1K", "-e", "1M", "-f", "4"}),
            json::parse(R"({"from": "1KiB", "to": "1MiB", "factor": 4})"));
}

TEST(Predict, LeavesMistakesToTheLoader) {
  const Ran type = run_collsim(on_a_ring("all-gather", {"-g", "4", "-d", "flaot", "-b", "7"}));
  EXPECT_EQ(type.code, exit_usage);
  expect_contains(type.err, "flaot");
  EXPECT_EQ(run_collsim(on_a_ring("all-gather", {"-g", "0", "-b", "7"})).code, exit_usage);
  EXPECT_EQ(run_collsim(on_a_ring("all-gather", {"-g", "9223372036854775807"})).code, exit_usage);
  const Ran points =
      run_collsim(on_a_ring("all-reduce", {"-g", "4", "-b", "1", "-e", "1M", "-i", "1"}));
  EXPECT_EQ(points.code, exit_usage);
  EXPECT_EQ(points.out, "");
}

TEST(Predict, SaysHowSureItIsOnAPreset) {
  const auto said = [](std::vector<std::string> more) {
    std::vector<std::string> words = {"predict", "all-reduce", "-b", "1K", "--preset", "dgx-h100"};
    words.insert(words.end(), more.begin(), more.end());
    const std::string out = run_collsim(words).out;
    return out.substr(std::min(out.find("how sure"), out.size()));
  };
  const ErrorClass known = error_class("hopper", "", 1024);
  expect_text(
      said({}),
      fmt::format("how sure: {}, fitted to {} published tables; in brackets: owners left "
                  "out of the fit\n  up to {}: half of the times within {:.0f}% ({:.0f}%), "
                  "95% within {:.0f}% ({:.0f}%)\n",
                  known.machines, known.tables, bytes_to_text(known.up_to), 100 * known.half,
                  100 * *known.unseen_half, 100 * known.most, 100 * *known.unseen_most));
  expect_contains(said({"--nccl-algo", "Ring"}),
                  "tables, in which NCCL chose freely, so that none");
  expect_contains(said({"--nccl-proto", "LL"}), "tables, in which NCCL chose freely, so that none");
  expect_contains(said({"--nodes", "2", "--network", "tcp"}),
                  "how sure: unknown, because no published table of such machines (TCP");
  EXPECT_EQ(said({"--algorithm", "ring"}), "") << "an algorithm of collsim has no protocols";
  const std::string outside = "how sure: outside of what was measured: no published table of ";
  expect_contains(said({"--nodes", "8"}), outside + "all-reduce on more than 4 nodes of ");
  expect_contains(run_collsim({"predict", "all-reduce", "--preset", "gh200-quad"}).out,
                  outside + "gh200-quad;");
  expect_contains(said({"--nodes", "2"}),
                  "how sure: InfiniBand, fitted to 6 published tables (5 of 2 nodes, 1 of 4); in ");
  expect_contains(said({"--set", "cluster.override.nvlink.bandwidth=100GB/s"}),
                  "how sure: unknown, because links are not those of the preset");
}

TEST(Predict, SaysHowAShapeIsSized) {
  const auto on = [](const std::string& shape, const std::vector<std::string>& more) {
    std::vector<std::string> words = {"predict", "all-reduce", "-b", "1M", "--shape", shape, "-q"};
    words.insert(words.end(), more.begin(), more.end());
    return run_collsim(words);
  };
  const std::vector<std::string> rate = {"--bandwidth", "50GB/s"};
  for (const char* shape :
       {"torus", "mesh", "nodes", "fat-tree", "leaf-spine", "rail", "dragonfly"}) {
    const Ran unsized = on(shape, rate);
    EXPECT_EQ(unsized.code, exit_usage) << shape;
    std::istringstream words(unsized.err.substr(unsized.err.find(": --set ") + 2));
    std::vector<std::string> as_told = rate;
    for (std::string word; words >> std::quoted(word, '\'') && word != "see";)
      as_told.push_back(word);
    const Ran sized = on(shape, as_told);
    EXPECT_EQ(sized.code, exit_fine) << shape << ": " << sized.err;
  }
  expect_contains(on("dragonfly", {"-g", "8"}).err, "size it by --set cluster.groups=9");
}

TEST(Predict, TakesTheMachineOfAFile) {
  const Folder folder;
  const std::string machine =
      folder.write("machine.json", R"({"cluster": {"preset": "dgx-h100", "fitted":
          {"logs": 2, "rows": 45, "half": 0.031, "most": 0.12}}})");
  const Ran ran = run_collsim({"predict", "all-reduce", "-b", "1K", "--machine", machine});
  EXPECT_EQ(ran.code, exit_fine) << ran.err;
  expect_contains(ran.out, "dgx-h100 (8 ranks)");
  expect_contains(ran.out,
                  "how sure: calibrated from 2 logs, 45 rows: half of the times within 3%");
  const std::string torus = folder.write("torus.json", R"({"scenario": 1,
      "cluster": {"shape": "torus", "dims": [4, 4], "link": {"bandwidth": "50GB/s"}},
      "collective": {"op": "broadcast", "size": "1MiB"}})");
  const Ran other = run_collsim({"predict", "all-reduce", "-b", "1K", "--machine", torus});
  EXPECT_EQ(other.code, exit_fine) << other.err;
  expect_contains(other.out, "all-reduce of 1 KiB; torus");
  const Ran counted =
      run_collsim({"predict", "all-reduce", "-b", "1K", "--machine", torus, "-g", "2"});
  EXPECT_EQ(counted.code, exit_usage);
  expect_contains(counted.err, "-g and -t go with --preset and --shape");
  const Ran none = run_collsim({"predict", "all-reduce", "--machine", folder.write("x", "{}")});
  EXPECT_EQ(none.code, exit_usage);
  expect_contains(none.err, "is not a machine file: it has no \"cluster\"");
}

TEST(Predict, JoinsMachinesOfAFile) {
  const Folder folder;
  const auto on = [&](const std::string& cluster, const std::vector<std::string>& more) {
    const std::string file = folder.write("machine.json", R"({"cluster": )" + cluster + "}");
    std::vector<std::string> words = {"predict", "all-reduce", "-b", "1K", "--machine", file};
    words.insert(words.end(), more.begin(), more.end());
    const Ran ran = run_collsim(words);
    return ran.out + ran.err;
  };
  expect_contains(on(R"({"preset": "p5"})", {"--nodes", "2"}), "p5 x 2 (16 ranks)");
  expect_contains(on(R"({"preset": "p5", "nodes": 2})", {"--nodes", "4", "--network", "ib"}),
                  "p5 x 4 (32 ranks, ib network)");
  const std::string box = R"({"devices": [{"id": "gpu", "kind": "gpu", "count": 2},
      {"id": "nic", "kind": "nic"}], "links": [{"from": "gpu[0-1]", "to": "nic",
      "bandwidth": "25GB/s"}])";
  const std::string network = R"(, "network": {"link": {"bandwidth": "12GB/s"}}})";
  expect_contains(on(box + network, {"--nodes", "3"}), "3 nodes of 2 ranks");
  expect_contains(on(box + "}", {"--nodes", "3"}), "no network joins the 3 nodes");
  const std::string refused = on(box + network, {"--network", "efa"});
  expect_contains(refused, "choose it there: collsim topo import FILE --network efa;");
  expect_contains(refused, "such as --set cluster.network.link.bandwidth=400Gb/s");
  expect_contains(
      on(R"({"shape": "ring", "ranks": 4, "link": {"bandwidth": "1GB/s"}})", {"--network", "efa"}),
      "its links are, which --set changes, such as --set cluster.link.bandwidth");
  expect_contains(on(R"({"preset": "p5", "nodes": 2, "fitted": {}})", {"--network", "efa"}),
                  "was fitted to logs of its own");
  expect_contains(
      on(R"({"shape": "ring", "ranks": 4, "link": {"bandwidth": "1GB/s"}})", {"--nodes", "2"}),
      "--nodes joins machines, but the file's cluster is a shape");
}

// NCCL's Tree always is; a ring has blocks, and small messages gain nothing.
TEST(Predict, SaysThatATreeIsNotCut) {
  const auto warnings = [](const std::vector<std::string>& more) {
    std::vector<std::string> words = {"predict", "all-reduce", "--preset", "dgx-h100"};
    words.insert(words.end(), more.begin(), more.end());
    return run_collsim(words).err;
  };
  const std::string uncut = "sends its messages in one piece, NCCL in many";
  expect_contains(warnings({"-b", "1G", "--algorithm", "double-tree"}), "double-tree " + uncut);
  expect_contains(warnings({"-b", "1K", "-e", "1G", "-f", "1024", "--algorithm", "double-tree"}),
                  "in 2 of 3 rows: double-tree " + uncut);
  expect_lacks(warnings({"-b", "1G", "--algorithm", "double-tree", "--chunks", "1"}), uncut);
  expect_lacks(warnings({"-b", "1K", "--algorithm", "double-tree"}), uncut);
  expect_lacks(warnings({"-b", "1G", "--algorithm", "ring"}), uncut);
  expect_lacks(warnings({"-b", "1G", "--nccl-algo", "Tree"}), uncut);
  expect_contains(run_collsim({"algorithms", "all-reduce"}).out, "(cut into chunks: NCCL's Tree)");
}

// A box whose GPUs send through host memory shares the link between its sockets, too.
TEST(Predict, WithoutP2pABoxIsSlower) {
  const auto times = [](const std::string& operation, const std::string& preset) {
    const Ran ran = run_collsim({"predict", operation, "-b", "1K", "-e", "1G", "-f", "32",
                                 "--preset", preset, "--format", "json", "--quiet"});
    EXPECT_EQ(ran.code, exit_fine) << ran.err;
    std::vector<double> seconds;
    const nlohmann::json results = nlohmann::json::parse(ran.out);
    for (const auto& row : results["rows"]) seconds.push_back(row["time_s"]);
    return seconds;
  };
  for (const std::string box : {"rtx-4090", "rtx-5090"})
    for (const char* operation : {"all-reduce", "all-gather", "all-to-all", "broadcast"}) {
      const std::vector<double> off = times(operation, box), on = times(operation, box + "-p2p");
      ASSERT_EQ(off.size(), 5U);
      ASSERT_EQ(on.size(), 5U);
      for (std::size_t i = 0; i < on.size(); ++i)
        EXPECT_GT(off[i], on[i]) << box << ' ' << operation << " row " << i;
    }
}

TEST(Predict, LeavingOutAnAlgorithmAddsNoneUnlessNothingElseIsLeft) {
  const auto all = [](const std::string& preset, const std::vector<std::string>& wish) {
    std::vector<std::string> words{"predict", "all-reduce", "-b", "1M",       "-e",
                                   "1G",      "-f",         "32", "--preset", preset};
    words.insert(words.end(), wish.begin(), wish.end());
    const Ran ran = run_collsim(words);
    EXPECT_EQ(ran.code, exit_fine) << ran.err;
    return ran.out;
  };
  expect_contains(all("dgx-h100", {"--nccl-algo", "^PAT"}), "NVLS Simple");
  for (const char* wish : {"^NVLS", " ^nvls", "^PAT"})
    expect_lacks(all("dgx-h100", {"--nccl-algo", wish}), "Tree");
  expect_lacks(all("dgx-h100", {"--nccl-algo", "^NVLS"}), "NVLS");
  expect_contains(all("dgx-h100", {"--nccl-proto", "^LL128"}), "NVLS Simple");
  expect_contains(all("dgx-a100", {"--nccl-algo", "^Ring"}), "Tree Simple");
}

TEST(Predict, TakesTheTypesOfNewerNcclTests) {
  const auto rows = [](const std::string& type) {
    const Ran ran = run_collsim({"predict", "all-reduce", "-b", "1M", "--preset", "dgx-h100", "-d",
                                 type, "--format", "nccl-tests"});
    EXPECT_EQ(ran.code, exit_fine) << ran.err;
    return ran;
  };
  const Ran byte = rows("int8");
  for (const char* type : {"f8e4m3", "f8e5m2"}) {
    const Ran ran = rows(type);
    EXPECT_EQ(ran.out, byte.out);
    expect_contains(ran.err, std::string(type) + " is taken as int8, which is as large");
  }
}

TEST(Predict, ShowsBusbwOfTwoRanksToo) {
  expect_contains(
      run_collsim({"predict", "all-reduce", "-b", "1M", "--preset", "dgx-h100", "-t", "2"}).out,
      "busbw");
}

TEST(Predict, SaysWhatRanksTakePartAndWhoLaunches) {
  const auto head = [](std::vector<std::string> more) {
    std::vector<std::string> words = {"predict", "all-reduce", "-b", "1K", "--preset", "dgx-h100"};
    words.insert(words.end(), more.begin(), more.end());
    const std::string out = run_collsim(words).out;
    return out.substr(0, out.find('\n'));
  };
  expect_contains(
      head({"-g", "1", "--nodes", "2"}),
      "among 2 of 16 ranks; dgx-h100 x 2 (16 ranks); 1 GPU on each of 2 nodes, a thread "
      "for each");
  expect_contains(head({"-g", "8"}), "dgx-h100 (8 ranks); 8 GPUs, one thread for all of a node");
  expect_contains(head({"-t", "2", "-g", "4"}), "; 8 GPUs, a thread for every 4");
  expect_contains(head({"-t", "8", "--nodes", "2"}),
                  "; 8 GPUs on each of 2 nodes, a thread for each");
  expect_lacks(head({"--nodes", "2"}), "each");
}

// Along NVLinks, as its rings.
TEST(Predict, ATreeOnADgx1IsAboutAsFastAsARing) {
  const auto time = [](const char* algorithm) {
    const Ran ran =
        run_collsim({"predict", "all-reduce", "-b", "1G", "-e", "1G", "--preset", "dgx-1-v100",
                     "--nccl-algo", algorithm, "--format", "json", "--quiet"});
    return json::parse(ran.out)["rows"][0]["time_s"].get<double>();
  };
  EXPECT_LT(time("Tree"), 1.3 * time("Ring"));
}

TEST(Predict, OneGpuOnlyCopies) {
  const Ran ran = run_collsim({"predict", "all-reduce", "-b", "256M", "-e", "256M", "-g", "1",
                               "--preset", "dgx-h100", "--quiet", "--format", "json"});
  const json row = json::parse(ran.out)["rows"][0];
  EXPECT_NEAR(row["time_s"].get<double>(), 5.03e-6 + 2 * 268435456 / 2209e9, 1e-6);
  expect_contains(row["error_class"]["outside"].get<std::string>(), "one GPU only copies");
  const Ran none = run_collsim({"predict", "all-reduce", "-g", "0", "--preset", "dgx-h100"});
  expect_contains(none.err, "-g 0: at least one GPU of each node takes part");
}

}  // namespace
}  // namespace collsim
