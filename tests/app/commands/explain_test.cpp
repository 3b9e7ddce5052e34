// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "tests/app/commands/running.hpp"
#include "tests/contains.hpp"
#include "tests/golden.hpp"

namespace collsim {
namespace {

using nlohmann::json;

std::string lecture(const std::string& more = "") {
  return R"({ "scenario": 1,
  "cluster": { "shape": "chain", "ranks": 8, "link": { "bandwidth": "25GB/s", "overhead": "5us" } },
  "collective": { "op": "broadcast", "algorithm": "chain", "size": "64MiB", "root": 0 })" +
         more + "}\n";
}

std::string all_to_all_of_one_thread(const std::string& size) {
  return R"({ "scenario": 1, "cluster": { "preset": "dgx-h100" },
  "model": { "launch": { "mode": "one-thread" } },
  "collective": { "op": "all-to-all", "size": ")" +
         size + "\" } }\n";
}

std::size_t columns(const std::string& line) {
  std::size_t count = 0;
  for (const char c : line)
    if ((static_cast<unsigned char>(c) & 0xc0U) != 0x80U) ++count;
  return count;
}

constexpr const char* lecture_case_explained = R"text(The question
  A broadcast of 64 MiB from rank 0 to 8 ranks by chain, cut into 16 messages of 4 MiB.
  chain: every rank forwards chunks to the next.
  machine: chain of 8 ranks, 25 GB/s, 5 us per message.

The answer
  time   3.801 ms
  algbw  17.66 GB/s   size / time
  busbw  17.66 GB/s   algbw x 1: comparable with the bandwidth of the links, for any number of
                      ranks; here a link has 25 GB/s

The formula
  time = (K-2+S)*tau(N/S) + (K-1)*L
         (Chan, Heimlich, Purkayastha, van de Geijn, Concurrency Computat. Pract. Exper. 19 (2007))
    tau(n) = alpha + n/B: the time one n-byte message occupies a link
    K     = 8                    ranks
    N     = 64 MiB               the size
    S     = 16                   chunks of each step's message
    alpha = 5 us                 startup of every message; occupies the link
    B     = 25 GB/s              bandwidth of a link
    L     = 0                    latency from rank to rank; occupies nothing
  With the numbers substituted:
    tau(4 MiB) = 5 us + 167.8 us = 172.8 us
    (K-2+S)*tau(N/S)  = (8-2+16)*172.8 us = 3.801 ms
    (K-1)*L           = (8-1)*0 = 0
    together 3.801 ms
  Of this: startup 110 us (2.9%), bandwidth 3.691 ms (97%).
  The simulation says 3.801 ms: the same.

Where the time goes
  Along the critical path, the one chain of causes that lasts until the end:
    startup          110 us   2.9%  ▋                    alpha of 22 messages on the path
    wire           2.684 ms    71%  ██████████████▏      bytes crossing at full bandwidth
    serial hops    1.007 ms    26%  █████▎               bytes on other links while gpu0->gpu1 is
                                                          idle
  The busiest link, gpu0->gpu1 (6 more are as busy), is busy 2.764 ms of 3.801 ms (73%): 16
  messages, 64 MiB; it is idle for 1.037 ms after its last byte (drain: the others must finish).

The critical path in words
          0  rank 0 sends 16 messages of 4 MiB to rank 1, one after the other: 2.764 ms = 16 x (5 us
               startup + 167.8 us transfer)
   2.764 ms  6 hops of 4 MiB from rank 1 -> 2 -> 3 -> 4 -> 5 -> 6 -> 7, each hop sent on when the
               one before has arrived: 1.037 ms = 6 x (5 us startup + 167.8 us transfer)
   3.801 ms  the last rank has finished

The next knob
  Twice the bandwidth of all links would save 1.845 ms (49%).
    knob                  change                    time    saves  20% better
    bandwidth, all links  25 GB/s -> 50 GB/s    1.955 ms      49%         16%
    chunks                16 -> 32              3.378 ms      11%
    channels              1 -> 2                3.378 ms      11%
    algorithm             bidirectional-chain   3.644 ms     4.1%
    overhead, all links   5 us -> 2.5 us        3.746 ms     1.4%        0.6%
    chunks                16 -> 8               4.768 ms     -25%
  Algorithms that are not faster: double-tree 4.533 ms, scatter-allgather in 1 chunk 4.748 ms,
    k-nomial 11.06 ms, binary-tree 11.58 ms, binomial 16.76 ms, flat 19.35 ms.
  Best number of chunks tried: 57, with 3.282 ms (14% saved); the formula's optimum is 56.76.
    tried 1: 18.83 ms, 2: 10.78 ms, 4: 6.761 ms, 8: 4.768 ms, 16: 3.801 ms, 32: 3.378 ms, 56: 3.282
          ms, 57: 3.282 ms, 64: 3.286 ms, 128: 3.48 ms, 256: 4.057 ms

The bound
    bandwidth    2.689 ms <- binds
    latency         10 us
  No schedule can be faster than 2.689 ms, because rank 0 must send at least 64 MiB through its one
  link of 25 GB/s (2.684 ms), and a message costs a startup of 5 us besides. This run takes 1.41
  times that; the bound may not be reachable, but a better schedule could win at most this gap.
)text";

TEST(Explain, TellsTheLectureCase) {
  const Folder folder;
  const Ran ran =
      run_collsim({"explain", folder.write("a.json", lecture()), "--set", "collective.chunks=16"});
  EXPECT_EQ(ran.code, exit_fine);
  EXPECT_EQ(ran.err, "");
  expect_text(ran.out, lecture_case_explained);
}

TEST(Explain, TakesThePointOfASweepThatAtNames) {
  const Folder folder;
  const std::string file =
      folder.write("a.json", lecture(R"(, "sweep": { "collective.chunks": [1, 16] })"));
  const Ran ran = run_collsim({"explain", file, "--at", "chunks=16", "--format", "json"});
  ASSERT_EQ(ran.code, exit_fine) << ran.err;
  EXPECT_EQ(json::parse(ran.out)["chunks"], 16);
  const Ran first = run_collsim({"explain", file, "--format", "json"});
  EXPECT_EQ(json::parse(first.out)["chunks"], 1);
  EXPECT_NE(first.err, "");  // says that there are others
}

TEST(Explain, GivesTheSameAsData) {
  const Folder folder;
  const Ran ran = run_collsim({"explain", folder.write("a.json", lecture()), "--set",
                               "collective.chunks=16", "--format", "json"});
  ASSERT_EQ(ran.code, exit_fine) << ran.err;
  const json e = json::parse(ran.out);
  const double time = e["time_s"].get<double>();
  EXPECT_NEAR(time, 22 * (5e-6 + 4194304 / 25e9), 1e-10);
  EXPECT_NEAR(e["formula"]["seconds"].get<double>(), time, 1e-10);
  EXPECT_EQ(e["formula"]["applies"], true);
  const json& b = e["breakdown"];
  double sum = 0;
  for (const char* kind : {"start_s", "startup_s", "wire_s", "serial_hops_s", "sharing_s",
                           "flight_s", "queue_s", "reduction_s", "copy_s", "instructions_s"})
    sum += b[kind].get<double>();
  EXPECT_NEAR(sum, time, 1e-12);
  const json& link = b["busiest_link"];
  EXPECT_NEAR(link["fill_s"].get<double>() + link["busy_s"].get<double>() +
                  link["gaps_s"].get<double>() + link["drain_s"].get<double>(),
              time, 1e-12);
  EXPECT_EQ(e["critical_path"].size(), 2U);
  EXPECT_EQ(e["best_chunks"]["best"], 57);
  EXPECT_EQ(e["bound"]["binding"], "bandwidth");
  int knobs = 0;
  for (const json& knob : e["knobs"]) {
    if (knob["time_s"].is_null()) continue;
    EXPECT_NEAR(knob["saves_s"].get<double>(), time - knob["time_s"].get<double>(), 1e-12);
    ++knobs;
  }
  EXPECT_GE(knobs, 3);
}

TEST(Explain, KeepsWithinHundredColumnsAndNoLineEndsInABlank) {
  const Folder folder;
  for (const char* cluster :
       {R"({ "preset": "dgx-h100", "nodes": 2 })", R"({ "preset": "pcie-gen4-8gpu-2s" })",
        R"({ "shape": "torus", "dims": [4, 4], "link": { "bandwidth": "25GB/s", "latency": "1us" },
             "late": { "3": "1ms" } })"}) {
    const std::string text = std::string(R"({ "scenario": 1, "cluster": )") + cluster +
                             R"(, "collective": { "op": "all-reduce", "algorithm": "auto",
                                                  "size": "1MiB" } })";
    const Ran ran = run_collsim({"explain", folder.write("a.json", text)});
    ASSERT_EQ(ran.code, exit_fine) << ran.err;
    std::istringstream lines(ran.out);
    for (std::string line; std::getline(lines, line);) {
      EXPECT_LE(columns(line), 100U) << line;
      EXPECT_FALSE(line.ends_with(" ")) << line;
    }
  }
}

std::string bound_of(const std::string& link, const std::string& more, const std::string& size) {
  const Folder folder;
  const Ran ran = run_collsim(
      {"explain",
       folder.write("a.json", R"({ "scenario": 1, "cluster": { "shape": "chain", "ranks": 2,
           "link": {)" + link + "} }, \"collective\": { \"op\": \"all-reduce\", \"size\": \"" +
                                  size + "\" }" + more + "}"),
       "--format", "json"});
  EXPECT_EQ(ran.code, exit_fine) << ran.err;
  const std::string text = json::parse(ran.out)["bound"]["text"];
  return text.substr(0, text.find(". ") + 1);
}

TEST(Explain, NamesTheLargerPartOfTheBoundAsItsCause) {
  expect_text(
      bound_of(R"("bandwidth": "25GB/s", "overhead": "5us", "latency": "10us")", "", "4kB"),
      "No schedule can be faster than 15.16 us, because a message costs a startup of 5 us "
      "and a latency of 10 us, and rank 0 must send at least 3.906 KiB through its one link "
      "of 25 GB/s (160 ns).");
  expect_text(bound_of(R"("bandwidth": "25GB/s", "latency": "10us")", "", "25MB"),
              "No schedule can be faster than 1.01 ms, because rank 0 must send at least 23.84 MiB "
              "through its one link of 25 GB/s (1 ms), and a message costs a latency of 10 us "
              "besides.");
  expect_text(bound_of(R"("bandwidth": "25GB/s")", "", "25MB"),
              "No schedule can be faster than 1 ms, because rank 0 must send at least 23.84 MiB "
              "through its one link of 25 GB/s.");
  expect_text(bound_of(R"("bandwidth": "25GB/s", "overhead": "5us")",
                       R"(, "model": { "reduce_bandwidth": "10GB/s", "launch": "20us" })", "25MB"),
              "No schedule can be faster than 1.275 ms (of which launch 20 us), because the "
              "vectors of 2 ranks must be added up, even if the additions are shared evenly (1.25 "
              "ms), and a message costs a startup of 5 us besides.");
}

TEST(Explain, NamesTheCutThatBinds) {
  const Folder folder;
  const std::string file = folder.write("a.json", R"({ "scenario": 1,
    "cluster": { "shape": "mesh", "dims": [4, 4], "link": { "bandwidth": "50GB/s" } },
    "collective": { "op": "all-to-all", "algorithm": "direct", "size": "64MiB" } })");
  const auto bound_with = [&](const std::string& op) {
    const Ran ran = run_collsim({"explain", file, "--set", "collective.op=" + op, "--set",
                                 "collective.algorithm=auto", "--format", "json"});
    EXPECT_EQ(ran.code, exit_fine) << ran.err;
    return json::parse(ran.out)["bound"];
  };
  const json all_to_all = bound_with("all-to-all");
  const json& cut = all_to_all["cut"];
  EXPECT_EQ(cut["ranks"].size(), 8U);
  EXPECT_EQ(cut["direction"], "out");
  EXPECT_EQ(cut["bytes"], 8 * 8 * (4 << 20));
  EXPECT_EQ(cut["bytes_per_s"], 200e9);
  EXPECT_EQ(cut["links"], 4);
  expect_contains(all_to_all["text"].get<std::string>(), cut["text"].get<std::string>());
  EXPECT_TRUE(all_to_all["best_known_s"].is_null());

  // 15/16 of 64 MiB must enter a corner, over 100 GB/s, twice.
  const json all_reduce = bound_with("all-reduce");
  EXPECT_TRUE(all_reduce["cut"]["ranks"].is_null());
  EXPECT_NEAR(all_reduce["best_known_s"], 2 * 15 * (4 << 20) / 100e9, 1e-12);
  expect_contains(all_reduce["text"].get<std::string>(),
                  "A reduce-scatter and then an all-gather take 1.258 ms");
}

TEST(Explain, NamesTheSwitchesOnThePath) {
  const Folder folder;
  const std::string file = folder.write("a.json", R"({ "scenario": 1,
    "cluster": { "preset": "dgx-h100", "nodes": 2, "sharp": true },
    "collective": { "op": "all-reduce", "algorithm": "collnet-direct", "size": "64KiB" } })");
  const Ran ran = run_collsim({"explain", file, "--format", "json"});
  ASSERT_EQ(ran.code, exit_fine) << ran.err;
  const json path = json::parse(ran.out)["critical_path"];
  std::set<std::string> places;
  std::string all;
  for (const json& line : path) {
    EXPECT_EQ(line["places"].size(), line["ranks"].size());
    for (const json& place : line["places"]) places.insert(place);
    all += line["text"].get<std::string>() + "\n";
  }
  EXPECT_TRUE(places.contains("network"));
  expect_contains(all, "network for rank ");
}

TEST(Explain, BlamesALateRankAndNotTheSchedule) {
  const Folder folder;
  const std::string file = folder.write("a.json", R"({ "scenario": 1,
    "cluster": { "shape": "ring", "ranks": 4, "link": { "bandwidth": "25GB/s" },
                 "late": { "2": "5ms" } },
    "collective": { "op": "all-reduce", "algorithm": "ring", "size": "1MiB" } })");
  const Ran ran = run_collsim({"explain", file, "--format", "json"});
  ASSERT_EQ(ran.code, exit_fine) << ran.err;
  const std::string text = json::parse(ran.out)["bound"]["text"];
  expect_contains(text, "a rank starts 5 ms late, which the bound ignores");
  expect_lacks(text, "could at most win");
}

TEST(Explain, ShowsAFormulaThatHoldsAsAnExpectation) {
  const Folder folder;
  const std::string scenario = R"({ "scenario": 1,
    "cluster": { "shape": "ring", "ranks": 4,
                 "link": { "bandwidth": "25GB/s", "overhead": "5us", "latency": "1us" } },
    "collective": { "op": "all-reduce", "algorithm": "ring", "size": "64MiB" },
    "model": { "reduce_bandwidth": "10GB/s" })";
  const Ran ran =
      run_collsim({"explain", folder.write("a.json", scenario + "}"), "--format", "json"});
  ASSERT_EQ(ran.code, exit_fine) << ran.err;
  const std::string formula = json::parse(ran.out)["formula"]["formula"];
  const std::string expecting =
      scenario + R"(, "expect": [{ "metric": "time", "equals": ")" + formula + R"(" }] })";
  const Ran checked = run_collsim({"run", folder.write("b.json", expecting)});
  EXPECT_EQ(checked.code, exit_fine) << checked.out << checked.err;
}

TEST(Explain, SaysTheSameEveryTime) {
  const Folder folder;
  const std::string file = folder.write("a.json", lecture());
  EXPECT_EQ(run_collsim({"explain", file}).out, run_collsim({"explain", file}).out);
}

TEST(Explain, ExplainsWhatTakesNoTime) {
  const Folder folder;
  const Ran ran =
      run_collsim({"explain", folder.write("a.json", lecture()), "--set", "cluster.ranks=1"});
  EXPECT_EQ(ran.code, exit_fine) << ran.err;
  expect_contains(ran.out, "The run takes no time.");
  expect_contains(ran.out, "No data has to move, so no time is needed.");
}

TEST(Explain, ABlockedAlgorithmIsToldInAWord) {
  const Folder folder;
  const std::string text = run_collsim({"explain", folder.write("a.json", R"({"scenario": 1,
        "cluster": {"shape": "switch", "ranks": 8, "link": {"bandwidth": "25GB/s"}},
        "collective": {"op": "all-reduce", "size": "8MiB", "algorithm": "chain", "chunks": 64,
                       "slots": 1}})")})
                               .out;
  expect_contains(text, "ring (hangs with so few slots)");
  expect_lacks(text, "waits for a free slot");
}

// A chain of reductions and one of copies pass each other on links that carry both directions.
TEST(Explain, NoWayIsTheBestKnownThatTakesLongerThanTheRun) {
  const Folder folder;
  const std::string text = run_collsim({"explain", folder.write("a.json", R"({"scenario": 1,
        "cluster": {"shape": "chain", "ranks": 8, "link": {"bandwidth": "25GB/s", "overhead": "2us"}},
        "collective": {"op": "all-reduce", "size": "64MiB", "algorithm": "chain", "chunks": 128}})")})
                               .out;
  expect_lacks(text, "A reduce-scatter and then an all-gather take");
}

TEST(Explain, TheLaunchIsNoLateStart) {
  const Folder folder;
  const std::string text = run_collsim({"explain", folder.write("a.json", R"({"scenario": 1,
        "cluster": {"shape": "switch", "ranks": 2, "link": {"bandwidth": "25GB/s"}},
        "model": {"launch": "5us"}, "collective": {"op": "all-reduce", "size": "1MiB"}})")})
                               .out;
  expect_contains(text, "has not started yet: 5 us\n");
  expect_lacks(text, "late start");
}

TEST(Explain, NamesTheKeyOfAHopOfNccl) {
  const Folder folder;
  const auto explained = [&](const std::string& more) {
    return run_collsim({"explain", folder.write("a.json", R"({"scenario": 1,
        "cluster": {"preset": "dgx-h100", "nodes": 2}, "collective": {"op": "all-reduce",
        "size": "8B")" + more + "}}")})
        .out;
  };
  const std::string text = explained("");
  expect_contains(text, "by Tree LL, on 8 channels.");
  expect_contains(text,
                  "latency, 32 like node0.nic0->network: set by "
                  "cluster.override.nic.protocols.LL.hop.\n");
  expect_lacks(explained(R"(, "algorithm": "ring")"), "set by");
}

TEST(Explain, RefusesFormatsItDoesNotKnow) {
  const Folder folder;
  const Ran ran = run_collsim({"explain", folder.write("a.json", lecture()), "--format", "csv"});
  EXPECT_EQ(ran.code, exit_usage);
  EXPECT_EQ(ran.out, "");
}

TEST(Explain, ReportsMistakesOfTheFile) {
  const Folder folder;
  const Ran ran = run_collsim({"explain", folder.write("a.json", "{ \"scenario\": 1 }")});
  EXPECT_EQ(ran.code, exit_usage);
  EXPECT_EQ(ran.out, "");
  EXPECT_NE(ran.err, "");
}

TEST(Explain, ExplainsTheTimeOfTheRunAlsoWhereTheHostLimits) {
  const Folder folder;
  for (const char* size : {"1KiB", "64MiB"}) {
    const std::string file = folder.write("a.json", all_to_all_of_one_thread(size));
    const json row = json::parse(run_collsim({"run", file, "--format", "json"}).out)["rows"][0];
    const json explained = json::parse(run_collsim({"explain", file, "--format", "json"}).out);
    for (const char* key : {"time_s", "algbw_bytes_per_s", "busbw_bytes_per_s"})
      EXPECT_EQ(explained[key], row[key]) << size << ' ' << key;
    EXPECT_EQ(explained["host_s"] > explained["kernel_s"], std::string(size) == "1KiB");
    EXPECT_LE(explained["kernel_s"], explained["time_s"]);
  }
  const std::string file = folder.write("a.json", all_to_all_of_one_thread("1KiB"));
  const std::string text = run_collsim({"explain", file}).out;
  expect_contains(text, "The host limits: the kernel is done before the next is launched");
  expect_contains(text, "With a process for each GPU");
}

}  // namespace
}  // namespace collsim
