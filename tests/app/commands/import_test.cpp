// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/app/commands/running.hpp"
#include "tests/contains.hpp"
#include "tests/golden.hpp"

namespace collsim {
namespace {

TEST(Import, AFileOfChakraThatIsNoneIsNotTakenForALog) {
  const Folder folder;
  const Ran ran = run_collsim({"import", folder.write("x.et", "\x08\x01garbage")});
  EXPECT_EQ(ran.code, exit_usage);
  expect_contains(ran.err, "this is no Chakra trace: ");
}

const std::string two_nodes = COLLSIM_SOURCE_DIR "/scenarios/measured/two-dgx-h100.log";

std::string gather_log() {
  return "# size count type redop root time algbw busbw #wrong time algbw busbw #wrong\n"
         "1048576 16384 float none -1 996.7 1.05 0.99 0 1007.1 1.04 0.98 N/A\n"
         "2097152 32768 float none -1 988.6 2.12 1.99 0 973.5 2.15 2.02 0\n";
}

TEST(Import, ShowsWhatItUnderstood) {
  const Ran ran = run_collsim({"import", two_nodes});
  EXPECT_EQ(ran.code, exit_fine);
  EXPECT_EQ(ran.err, "");
  const std::string text = ran.out.substr(two_nodes.size());
  expect_text(text.substr(0, text.find("\n\n")),
              ":28: all-reduce of float32 (sum), 16 ranks on 2 nodes, NVIDIA H100 80GB HBM3, NCCL "
              "2.21.5, a process per GPU, 20 iterations\n"
              "  all-reduce: the command line is there\n"
              "  16 ranks: the list of ranks");
  expect_contains(text,
                  "\n   64KiB    35.62 us    3.450 GB/s      0    35.87 us    3.426 GB/s      0  "
                  "Tree/LL\n");
}

TEST(Import, SaysWhatTheLogDoesNot) {
  const Folder folder;
  const std::string log = folder.write("run.log", gather_log());
  const Ran ran = run_collsim({"import", log});
  EXPECT_EQ(ran.code, exit_fine);
  expect_text(
      ran.out.substr(log.size()),
      ":2: all-gather or all-to-all of float32, 16 ranks\n"
      "  16 ranks: size is so many times count\n"
      "  note: the end of the run is not there\n"
      "  missing: which collective ran? --op all-gather or --op all-to-all\n"
      "  not in the log: nodes (--nodes N), GPU (--gpu NAME), version of NCCL, processes and "
      "threads\n"
      "\n"
      "  size      time  wrong   in place  wrong\n"
      "  1MiB  996.7 us      0  1007.1 us      -\n"
      "  2MiB  988.6 us      0   973.5 us      0\n");
  const Ran refused = run_collsim({"import", log, "-o", folder.path("a.json")});
  EXPECT_EQ(refused.code, exit_usage);
  expect_contains(refused.err, "nothing was written: the log does not say\n  " + log +
                                   ":2: which collective ran? --op all-gather or --op all-to-all");
  EXPECT_EQ(folder.names().size(), 1U);
}

TEST(Import, WritesWhatItReads) {
  const Folder folder;
  const std::string log = folder.write("run.log", gather_log());
  const Ran ran =
      run_collsim({"import", log, "--op", "alltoall", "--nodes", "2", "--gpu", "H100 SXM", "-q",
                   "-o", folder.path("a.json"), "-o", folder.path("a.csv")});
  EXPECT_EQ(ran.code, exit_fine) << ran.err;
  EXPECT_EQ(ran.out, "");
  const nlohmann::json table = nlohmann::json::parse(folder.read("a.json"));
  EXPECT_EQ(table["op"], "all-to-all");
  EXPECT_EQ(table["machine"]["gpu"], "H100 SXM");
  EXPECT_EQ(table["nodes"], 2);
  for (const char* file : {"a.json", "a.csv"}) {
    const Ran again = run_collsim({"import", folder.path(file), "--format", "csv"});
    EXPECT_EQ(again.out, folder.read("a.csv")) << again.err;
  }
  EXPECT_EQ(run_collsim({"import", log, "--op", "all-gather", "-o", folder.path("a.xml")}).code,
            exit_usage);
}

TEST(Import, OfResultsNamesTheCommandThatReadsThem) {
  const Folder folder;
  const std::string scenario = folder.write(
      "a.json",
      R"({"scenario": 1, "cluster": {"shape": "ring", "ranks": 4, "link": {"bandwidth": "1GB/s"}},
          "collective": {"op": "broadcast", "algorithm": "chain", "size": "1KiB"}})");
  ASSERT_EQ(run_collsim({"run", scenario, "-o", folder.path("results.json")}).code, exit_fine);
  const Ran ran = run_collsim({"import", folder.path("results.json")});
  EXPECT_EQ(ran.code, exit_usage);
  expect_contains(ran.err, "this is a file of results, not a measured table");
  expect_contains(ran.err, "collsim report FILE -o report.html draws them");
}

TEST(Import, OfOtherFilesSaysWhatTheyAre) {
  const Folder folder;
  const auto refused = [&](const std::string& name, const std::string& text) {
    return run_collsim({"import", folder.write(name, text)}).err;
  };
  expect_contains(refused("plan.json", R"({"name": "a", "collective": "allreduce",
                      "protocol": "LL", "gpus": [{"id": 0, "threadblocks": []}]})"),
                  "this is an execution plan of MSCCL++");
  expect_contains(refused("a.goal", "num_ranks 2\n\nrank 0 {\nl1: send 1b to 1 tag 0\n}\n"),
                  "collsim does not read GOAL");
  expect_contains(refused("runs.csv", "tp,pp,dp,global_batch,micro_batch,hidden,heads\n1,1,8,8\n"),
                  "collsim calibrate --from-training FILE");
  expect_contains(
      refused("own.csv", "model,tensor parallel,pp,gbs,mbs,hidden size,step time\n7B,8,1,64,1\n"),
      "it needs the columns tp, pp, dp, global_batch, micro_batch, hidden, heads, layers, seq and "
      "iteration_ms");
  expect_contains(refused("bert.csv", "parameter,shape,elements\nword,3x2,6\n"),
                  "this is a list of a model's parameters");
}

TEST(Import, OfATraceOfCollsimSaysWhatItIsFor) {
  const Folder folder;
  const std::string trace = folder.path("trace.json");
  ASSERT_EQ(
      run_collsim({"trace", COLLSIM_SOURCE_DIR "/scenarios/lecture/all-reduce-in-two-halves.json",
                   "-o", trace})
          .code,
      exit_fine);
  for (const char* const command : {"import", "report", "run"})
    expect_contains(run_collsim({command, trace}).err, "this is a trace that collsim wrote");
}

TEST(Import, PassesOverAByteOrderMark) {
  const Folder folder;
  const std::string mark = "\xEF\xBB\xBF";
  for (const std::string& text :
       {std::string("collective,nelems,dtype,group_size,start_us,dur_us\n"
                    "broadcast,53,Long,2,0.0,7.5\n"),
        std::string("a,bucket_bytes_in_launch_order\nb,4 8\n"),
        std::string("MICRO\n1\nconv1 -1 5 NONE 0 5 NONE 0 5  ALLTOALL 1048576 5\n")})
    EXPECT_EQ(run_collsim({"import", folder.write("a", mark + text)}).out,
              run_collsim({"import", folder.write("a", text)}).out);
}

TEST(Import, TakesSeveralFiles) {
  const Folder folder;
  const std::string log = folder.write("run.log", gather_log());
  const Ran ran =
      run_collsim({"import", two_nodes, log, folder.path("none.log"), "--format", "json"});
  EXPECT_EQ(ran.code, exit_usage);
  expect_contains(ran.err, "none.log: no such file");
  EXPECT_EQ(nlohmann::json::parse(ran.out).size(), 2U) << "the others are shown all the same";
}

}  // namespace
}  // namespace collsim
