// SPDX-License-Identifier: Apache-2.0
#include "app/measured/nccl_tests_log.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/app/measured/reading.hpp"
#include "tests/contains.hpp"
#include "tests/golden.hpp"

namespace collsim::testing {
namespace {

// The two rows of whole_run().
void expect_both_rows(const MeasuredTable& table) {
  ASSERT_EQ(table.rows.size(), 2U);
  EXPECT_EQ(table.rows[0].size, 1 << 20);
  EXPECT_DOUBLE_EQ(table.rows[0].time_s, 27.37e-6);
  EXPECT_DOUBLE_EQ(table.rows[0].in_place_s.value(), 26.93e-6);
  EXPECT_EQ(table.rows[0].wrong, 0);
  EXPECT_EQ(table.rows[0].in_place_wrong, 0);
  EXPECT_EQ(table.rows[1].size, 2 << 20);
  EXPECT_DOUBLE_EQ(table.rows[1].time_s, 42.21e-6);
}

TEST(NcclTestsLog, ReadsAWholeRun) {
  const ReadTables read = read_tables(paste(
      "# nThread 1 nGpus 1 minBytes 8 maxBytes 16 step: 2(factor) warmup iters: 5 iters: 20 agg "
      "iters: 1 validation: 1 graph: 0",
      "#", "# Using devices",
      "#  Rank  0 Group  0 Pid   21 on node-a device  0 [0000:19:00] NVIDIA H100 80GB HBM3",
      "#  Rank  1 Group  0 Pid   22 on node-a device  1 [0000:2d:00] NVIDIA H100 80GB HBM3",
      "#  Rank  2 Group  0 Pid   21 on node-b device  0 [0000:19:00] NVIDIA H100 80GB HBM3",
      "#  Rank  3 Group  0 Pid   22 on node-b device  1 [0000:2d:00] NVIDIA H100 80GB HBM3",
      "node-a:21:30 [0] NCCL INFO NCCL version 2.20.5+cuda12.4", "#", header_line, unit_line,
      "        1024           256     float     sum      -1    16.94    0.06    0.09      0    "
      "16.17    0.06    0.10      0",
      out_of_bounds_line, average_line));
  const MeasuredTable& table = read.only();
  expect_text(description_of(table),
              "all-reduce of float32 (sum), 4 ranks on 2 nodes, NVIDIA H100 80GB HBM3, NCCL "
              "2.20.5, a process per GPU, 20 iterations");
  EXPECT_EQ(table.source, "run.log:12");
  EXPECT_EQ(table.warmup, 5);
  EXPECT_EQ(table.launch, MeasuredLaunch::process_per_gpu);
  EXPECT_TRUE(table.complete);
  EXPECT_TRUE(table.notes.empty()) << notes_of(table);
  EXPECT_TRUE(questions_about(table).empty() && unknown_facts(table).empty());
}

TEST(NcclTestsLog, ReadsMillisecondsOf2017) {
  const ReadTables read = read_tables(paste(
      "# NCCL Tests compiled with NCCL 2.0", "# Using devices",
      "#   Rank  0 on     host-a device  0 [0x06] Tesla P100-SXM2-16GB",
      "#   Rank  1 on     host-a device  1 [0x07] Tesla P100-SXM2-16GB", "",
      "#                                                 out-of-place                    in-place",
      "#      bytes             N    type      op     time  algbw  busbw      res     time  algbw  "
      "busbw      res",
      "     8388608       2097152   float     sum    0.584  14.37  14.37    0e+00    0.583  14.38  "
      "14.38    0e+00",
      "  Out of bounds values : 0 OK", "  Avg bus bandwidth    : 14.4"));
  const MeasuredTable& table = read.only();
  EXPECT_DOUBLE_EQ(table.rows.at(0).time_s, 584e-6);
  EXPECT_EQ(table.operation, "all-reduce");
  EXPECT_EQ(table.ranks, 2);
  EXPECT_EQ(table.gpu, "Tesla P100-SXM2-16GB");
  EXPECT_EQ(table.rows.at(0).wrong, 0) << "the last line says that all were right";
}

TEST(NcclTestsLog, ReadsTheColumnsOf2019To2022) {
  const auto operation = [](const std::string& header, const std::string& row) {
    const ReadTables read = read_tables(paste("#  size  count  " + header, row, average_line));
    if (read.tables.empty()) return read.mistakes;
    const MeasuredTable& table = read.tables.front();
    std::string text = table.operation;
    for (const std::string& candidate : table.candidates) text += "?" + candidate;
    return text + fmt::format(" {} {}", table.ranks.value_or(0), table.root.value_or(-1));
  };
  const std::string halves = " time algbw busbw error time algbw busbw error";
  EXPECT_EQ(operation("type redop" + halves,
                      "4294967296 1073741824 float sum 43557 98.61 191.05 1e-06 43440 98.87 191.56 "
                      "1e-06"),
            "all-reduce 32 -1");
  EXPECT_EQ(operation("type redop" + halves,
                      "1048576 32768 float sum 135.3 7.75 6.78 7e-07 132.7 7.90 6.91 7e-07"),
            "reduce-scatter 8 -1");
  EXPECT_EQ(operation("type redop root" + halves,
                      "1048576 262144 float sum 0 135.3 7.75 7.75 7e-07 132.7 7.90 7.90 7e-07"),
            "reduce 0 0");
  EXPECT_EQ(operation("type root" + halves,
                      "1048576 262144 float 0 135.3 7.75 7.75 0e+00 132.7 7.90 7.90 0e+00"),
            "broadcast 0 0");
  EXPECT_EQ(
      operation("type" + halves, "1048576 32768 float 135.3 7.75 6.78 N/A 132.7 7.90 6.91 N/A"),
      "?all-gather?all-to-all 8 -1");
  EXPECT_EQ(operation("type redop" + halves,
                      "1048576 32768 float 135.3 7.75 6.78 0e+00 132.7 7.90 6.91 N/A"),
            "all-to-all 8 -1")
      << "the column is named and left empty";
}

TEST(NcclTestsLog, ReadsColumnsPerIterationAndOneHalf) {
  const ReadTables wide = read_tables(paste(
      "# size count type redop root cputime algbw busbw #wrong i_min i_max i_p99 i_cv% cputime "
      "algbw busbw #wrong i_min i_max i_p99 i_cv%",
      "1048576 262144 float sum -1 27.37 38.31 67.04 3 26.1 31.0 30.9 2.1 26.93 38.94 68.14 0 "
      "26.0 30.0 29.9 2.0",
      average_line));
  EXPECT_DOUBLE_EQ(wide.only().rows.at(0).in_place_s.value(), 26.93e-6);
  EXPECT_EQ(wide.only().rows.at(0).wrong, 3);
  const ReadTables half = read_tables(paste("# size count type redop root time algbw busbw",
                                            "1048576 262144 float sum -1 27.37 38.31 67.04"));
  EXPECT_FALSE(half.only().rows.at(0).in_place_s);
  EXPECT_FALSE(half.only().rows.at(0).wrong);
  EXPECT_EQ(half.only().ranks, 8);
}

TEST(NcclTestsLog, NeedsNoHeader) {
  expect_both_rows(read_tables(paste(row_1m, row_2m)).only());
  const ReadTables old =
      read_tables("1048576 32768 float 135.3 7.75 6.78 N/A 132.7 7.90 6.91 N/A\n");
  EXPECT_DOUBLE_EQ(old.only().rows.at(0).time_s, 135.3e-6);
}

TEST(NcclTestsLog, LooksBehindTags) {
  const auto tagged = [](const std::string& tag) {
    std::string text;
    for (const std::string& line : {header_line, unit_line, row_1m, row_2m, average_line})
      text += tag + line + "\n";
    return text;
  };
  for (const std::string tag :
       {"", "[1,0]<stdout>:", "[1,0]<stdout>: ", "[1,mpirank:0,algo-1]<stderr>:", "0: ", "12: ",
        "[0] ", "[3]:", "> ", "    ", "2024-05-01T10:11:12.123456789Z ",
        "worker-0: ", "[pod/nccl-test-0/main] ", "\x1b[32m", "\xC2\xA0\xC2\xA0"}) {
    SCOPED_TRACE(tag);
    const ReadTables read = read_tables(tagged(tag));
    expect_both_rows(read.only());
    EXPECT_EQ(read.only().ranks, 8);
  }
}

TEST(NcclTestsLog, SurvivesWhatPastingDoes) {
  std::string without_signs = whole_run(), windows = whole_run(), table = "Results:\n\n```\n";
  std::erase(without_signs, '#');
  for (std::size_t at = 0; (at = windows.find('\n', at)) != std::string::npos; at += 2)
    windows.replace(at, 1, "\r\n");
  for (const std::string& line : {header_line, row_1m, row_2m}) {
    std::string cells = line;
    for (std::size_t at = 0; (at = cells.find("  ", at)) != std::string::npos; ++at)
      cells.replace(at, 2, " |");
    table += "| " + cells + " |\n";
  }
  for (const std::string& text : {without_signs, windows, table}) {
    SCOPED_TRACE(text);
    expect_both_rows(read_tables(text).only());
  }
}

TEST(NcclTestsLog, JoinsRowsThatDebugLinesCut) {
  const std::string head = "     1048576        262144     float     sum      -1";
  const std::string out = "    27.37   38.31   67.04      0",
                    in = "    26.93   38.94   68.14      0";
  const std::string debug =
      "lab7:3038:3038 [0] NCCL INFO 1048576 Bytes -> Algo 1 proto 2 time 25.9";
  const std::string cut_rows[] = {
      paste(head + debug, out + in),                          // glued to the root
      paste(head, debug, out + in),                           // each on its own line
      paste(head + "[0] " + debug, "[0] " + out + in),        // with tags of the launcher
      paste(head + debug, out + debug, in),                   // between the halves, too
      paste(head + debug, "", debug, debug, out, debug, in),  // and with blank lines
      paste("[1,0]<stdout>:" + head + "[1,0]<stderr>:" + debug, "[1,0]<stdout>:" + out + in),
  };
  for (const std::string& row : cut_rows) {
    SCOPED_TRACE(row);
    const ReadTables read = read_tables(header_line + "\n" + row + row_2m + "\n" + average_line);
    expect_both_rows(read.only());
    EXPECT_EQ(read.only().rows.at(0).algorithm, "Ring");
    EXPECT_EQ(read.only().rows.at(0).protocol, "Simple");
    EXPECT_EQ(read.only().rows.at(1).algorithm, "");
    EXPECT_TRUE(read.only().notes.empty()) << notes_of(read.only());
  }
}

TEST(NcclTestsLog, WhereverADebugLineCutsARowItIsWhole) {
  const std::string row = row_1m;
  for (std::size_t at = 1; at < row.size(); ++at) {
    SCOPED_TRACE(row.substr(0, at));
    const std::string cut = paste(
        row.substr(0, at) + "h100-7:12:34 [0] NCCL INFO AllReduce: opCount 1", row.substr(at));
    const ReadTables read = read_tables(header_line + "\n" + cut + row_2m + "\n" + average_line);
    expect_both_rows(read.only());
    EXPECT_TRUE(read.only().notes.empty()) << notes_of(read.only());
  }
}

TEST(NcclTestsLog, ARowWhoseSizeIsTooLargeIsNamed) {
  const std::string row =
      "123456789012345678901234567890 262144 float sum -1 27.37 38.31 67.04 0 "
      "26.93 38.94 68.14 0";
  const ReadTables read = read_tables(paste(header_line, row, row_2m, average_line));
  EXPECT_EQ(read.only().rows.size(), 1U);
  expect_contains(notes_of(read.only()), "line 2: not the columns of a row: 1234567890");
}

TEST(NcclTestsLog, ACutRowMayBeginTheNextRun) {
  const std::string cut = paste("     2097152        524288     float     sum      -1",
                                "lab7:3038:3038 [0] NCCL INFO AllReduce: 2097152 Bytes",
                                "    42.21   49.68   86.94      0    42.09   49.83   87.20      0");
  const ReadTables read = read_tables(whole_run() + cut);
  ASSERT_EQ(read.tables.size(), 2U) << read.mistakes;
  expect_both_rows(read.tables[0]);
  ASSERT_EQ(read.tables[1].rows.size(), 1U);
  EXPECT_EQ(read.tables[1].rows[0].size, 2097152);
}

TEST(NcclTestsLog, TakesWhatTheTunerChoseForTheOperation) {
  const ReadTables read = read_tables(
      paste("# Collective test starting: all_reduce_perf", header_line,
            "a:1:1 [0] NCCL INFO AllGather: 1048576 Bytes -> Algo RING proto SIMPLE "
            "channel{Lo..Hi}={0..3}",
            "a:1:1 [0] NCCL INFO AllReduce: 1048576 Bytes -> Algo NVLS_TREE proto LL128 "
            "channel{Lo..Hi}={0..3}",
            row_1m, "a:1:1 [0] NCCL INFO 2097152 Bytes -> Algo 4 proto 2 time 3.1",
            "a:1:1 [0] NCCL INFO 2097152 Bytes -> Algo 0 proto 0 time 3.1",
            "a:1:1 [0] NCCL INFO 2097152 Bytes -> Algo 4 proto 2 time 3.1", row_2m, average_line));
  ASSERT_EQ(read.only().rows.size(), 2U);
  EXPECT_EQ(read.only().rows[0].algorithm + "/" + read.only().rows[0].protocol, "NVLSTree/LL128");
  EXPECT_EQ(read.only().rows[1].algorithm + "/" + read.only().rows[1].protocol, "NVLS/Simple");
}

TEST(NcclTestsLog, TellsSeveralRunsApart) {
  const std::string gather =
      "     1048576         32768     float    none      -1    72.95   14.37   12.58      0    "
      "73.07  "
      " 14.35   12.56      0";
  const ReadTables read =
      read_tables(whole_run() + "$ ./all_gather_perf -b 1M -g 8\n" + header_line + "\n" + gather +
                  "\n" + average_line + "\n" + whole_run());
  ASSERT_EQ(read.tables.size(), 3U);
  expect_both_rows(read.tables[0]);
  EXPECT_EQ(read.tables[1].operation, "all-gather");
  EXPECT_EQ(read.tables[1].launch, MeasuredLaunch::one_thread);
  EXPECT_EQ(read.tables[1].nodes, std::nullopt) << "-t is not there: it may be more processes";
  expect_both_rows(read.tables[2]);
  EXPECT_EQ(read.tables[2].operation, "all-reduce");
}

TEST(NcclTestsLog, MakesATableOfEachTypeReductionAndRoot) {
  std::string half = row_1m, average = row_1m;
  half.replace(half.find("float"), 5, " half").replace(half.find("262144"), 6, "524288");
  average.replace(average.find("sum"), 3, "avg");
  const ReadTables read = read_tables(paste(header_line, row_1m, half, average, average_line));
  ASSERT_EQ(read.tables.size(), 3U);
  EXPECT_EQ(read.tables[1].dtype, "float16");
  EXPECT_EQ(read.tables[2].reduction, "avg");
}

TEST(NcclTestsLog, FindsTheRanksInTheRatioOfBandwidths) {
  const auto ranks = [](const std::string& row) {
    return read_tables(paste(header_line, row)).only().ranks;
  };
  EXPECT_EQ(ranks("536870912 134217728 float sum -1 1806.7 297.16 586.06 0 1835.9 292.43 576.74 0"),
            72);
  EXPECT_EQ(ranks("536870912 134217728 float sum -1 2789.9 192.43 192.43 0 2793.6 192.18 192.18 0"),
            2);
  EXPECT_EQ(ranks("1048576 262144 float sum -1 27.37 38.31 0.00 0 26.93 38.94 0.00 0"), 1);
  EXPECT_EQ(ranks("64 16 float sum -1 27.37 0.00 0.00 0 26.93 0.00 0.00 0"), std::nullopt);
  const ReadTables many =
      read_tables(paste(header_line,
                        "1048576 262144 float sum -1 100.0 10.49 20.93 0 100.0 10.49 "
                        "20.93 0"));
  EXPECT_EQ(many.only().ranks, std::nullopt);
  expect_contains(notes_of(many.only()), "busbw / algbw allows ");
  expect_text(questions_about(many.only()).at(0), "how many ranks took part? --ranks N");
}

TEST(NcclTestsLog, SaysWhatDoesNotFit) {
  const ReadTables read = read_tables(
      paste("#  Rank  0 Group  0 Pid   21 on a device  0 [0x19] Tesla T4", header_line, row_1m,
            "2097152 524288 float sum -1 42.21 149.68 261.94 0 42.09 49.83 87.20 0", average_line));
  expect_contains(notes_of(read.only()), "busbw / algbw is 1.75, which does not fit 1 rank\n");
  expect_contains(notes_of(read.only()), "algbw is not size / time in 1 of 2 rows: line 4\n");
}

TEST(NcclTestsLog, AsksForTheCollectiveThatItCannotTell) {
  const std::string row = "1048576 16384 float none -1 996.7 1.05 0.99 0 1007.1 1.04 0.98 0\n";
  const ReadTables read = read_tables(header_line + "\n" + row);
  expect_text(questions_about(read.only()).at(0),
              "which collective ran? --op all-gather or --op all-to-all");
  EXPECT_EQ(read.only().ranks, 16) << "size is 16 times count";
  EXPECT_EQ(read_tables(header_line + "\n" + row, "logs/h100_all_gather-2.txt").only().operation,
            "all-gather");
  EXPECT_EQ(read_tables(header_line + "\n" + row, "all_reduce.txt").only().operation, "")
      << "the name cannot be right";
  const ReadTables other =
      read_tables("# Collective test starting: hypercube_perf\n" + header_line + "\n" + row);
  EXPECT_EQ(other.only().operation, "");
  expect_contains(notes_of(other.only()), "hypercube_perf is no collective that collsim knows");
}

TEST(NcclTestsLog, TellsWhatIsCut) {
  const ReadTables read = read_tables(paste(header_line, row_1m, "...", row_2m,
                                            "     4194304       1048576     float     sum      -1 "
                                            "   54.19   77.39  13"));
  ASSERT_EQ(read.only().rows.size(), 2U);
  EXPECT_FALSE(read.only().complete);
  expect_text(notes_of(read.only()),
              "the end of the run is not there\n"
              "rows were left out (\"...\")\n"
              "line 5: a row that is cut: 4 of 9 columns behind its size and type\n");
}

TEST(NcclTestsLog, TellsOfRowsWithPlaceholders) {
  const ReadTables read = read_tables(
      paste(header_line, row_1m,
            "2097152 524288 float sum -1 ??.?? ??.?? ??.?? 0 42.09 49.83 87.20 0", average_line));
  EXPECT_EQ(read.only().rows.size(), 1U);
  expect_contains(notes_of(read.only()), "line 3: not the columns of a row: 2097152");
}

TEST(NcclTestsLog, ReadsNumbersAsTheyOverflow) {
  const ReadTables read = read_tables(paste(
      header_line,
      "   134217728      33554432     float     sum      -1    175.6  764.34    0.00      0     "
      "0.08  1777718.25    0.00    N/A",
      "  1099511627776  274877906944     float     sum      -1   1099511  1e+03    0.00  1e+06  "
      "1099511  1000.0    0.00      0"));
  ASSERT_EQ(read.only().rows.size(), 2U);
  EXPECT_FALSE(read.only().rows[0].in_place_wrong);
  EXPECT_EQ(read.only().rows[1].wrong, 1'000'000);
  EXPECT_EQ(read.only().rows[1].size, std::int64_t{1} << 40);
}

TEST(NcclTestsLog, ReportsWhyARunFailed) {
  const std::string failed = paste(
      header_line, unit_line, "GENOA-06: Test NCCL failure common.cu:392 'unhandled cuda error'",
      " .. GENOA-06 pid 5068: Test failure common.cu:590");
  const ReadTables read = read_tables(failed);
  EXPECT_TRUE(read.tables.empty());
  expect_contains(read.mistakes,
                  "run.log:3:1: the run failed before its first row: GENOA-06: Test NCCL failure "
                  "common.cu:392 'unhandled cuda error'");
  const ReadTables both = read_tables(whole_run() + failed);
  EXPECT_EQ(both.mistakes, "");
  expect_contains(notes_of(both.only()), "another run in this text failed, at line 9: GENOA-06");
  const ReadTables late =
      read_tables(paste(header_line, row_1m, "a: Test CUDA failure x.cu:1 'lost'"));
  expect_contains(notes_of(late.only()), "the run failed: a: Test CUDA failure x.cu:1 'lost'");
}

TEST(NcclTestsLog, RefusesTextsWithoutRows) {
  const auto refused = [](const std::string& text) {
    const ReadTables read = read_tables(text);
    EXPECT_TRUE(read.tables.empty());
    return read.mistakes;
  };
  expect_contains(refused(""), "no row of nccl-tests is in this text");
  expect_contains(refused("hello\n"), "a row is: size, count, type");
  expect_contains(
      refused("a:1:1 [0] NCCL INFO comm 0x1 rank 2 nRanks 16 nNodes 2 localRanks 8\n"),
      "no row of nccl-tests is in this text, only a line of NCCL_DEBUG; 16 ranks; 2 nodes");
  expect_contains(refused(paste(header_line, "8192 2048 float sum -1")),
                  "run.log:2:1: no whole row of nccl-tests is in this text");
}

TEST(NcclTestsLog, KnowsMachinesOfAmd) {
  const ReadTables read = read_tables(
      paste("RCCL version : 2.20.5-HEAD:d380693", "# Using devices",
            "#   Rank  0 Pid   3207 on  mi300x-1 device  0 [0000:0c:00.0] AMD Instinct MI300X",
            "#   Rank  1 Pid   3207 on  mi300x-1 device  1 [0000:22:00.0] AMD Instinct MI300X",
            header_line, "1048576 262144 float sum -1 27.37 38.31 38.31 0 26.93 38.94 38.94 0"));
  EXPECT_EQ(read.only().library, "RCCL 2.20.5");
  EXPECT_EQ(read.only().gpu, "AMD Instinct MI300X");
  EXPECT_EQ(read.only().nodes, 1);
  EXPECT_EQ(preset_for_gpu(read.only().gpu), "mi300x");
}

TEST(NcclTestsLog, TrustsNoListOfRanksThatIsCut) {
  const ReadTables read = read_tables(
      "#  Rank  7 Group  0 Pid  14840 on a device  3 [0x01] NVIDIA H100\n" + whole_run());
  EXPECT_EQ(read.only().ranks, 8);
  EXPECT_EQ(read.only().nodes, std::nullopt);
  EXPECT_EQ(unknown_facts(read.only()).at(0), "nodes (--nodes N)");
}

TEST(NcclTestsLog, ReadsTheVersionOfTheTests) {
  const ReadTables read = read_tables(
      "  nccl-tests version 2.17.6 nccl-headers=22602 nccl-library=22602\n" + whole_run());
  EXPECT_EQ(read.only().library, "NCCL 2.26.2");
}

TEST(NcclTestsLog, SaysThatNodesHaveDifferentNumbersOfRanks) {
  const auto notes = [](const std::string& second) {
    return notes_of(
        read_tables(paste("#  Rank  0 Group  0 Pid   21 on node-a device  0 [0000:19:00] H100",
                          "#  Rank  1 Group  0 Pid   22 on node-a device  1 [0000:2d:00] H100",
                          "#  Rank  2 Group  0 Pid   23 on " + second + " [0000:19:00] H100",
                          "#  Rank  3 Group  0 Pid   24 on node-b device  1 [0000:2d:00] H100",
                          header_line, unit_line, row_1m))
            .only());
  };
  const std::string uneven = "the nodes do not have as many ranks each: node-a has 3, node-b has 1";
  expect_lacks(notes("node-b device  0"), "as many ranks");
  expect_contains(notes("node-a device  2"), uneven);
}

TEST(NcclTestsLog, IsReadThroughStern) {
  std::string text;
  for (const std::string& line : {header_line, unit_line, row_1m, row_2m, average_line})
    text += "nccl-launcher-x7k2p mpi-launcher " + line + "\n";
  expect_both_rows(read_tables(text).only());
}

TEST(PresetForGpu, KnowsMachinesByTheirGpu) {
  EXPECT_EQ(preset_for_gpu("NVIDIA H100 80GB HBM3"), "dgx-h100");
  EXPECT_EQ(preset_for_gpu("NVIDIA H100 PCIe"), "");
  EXPECT_EQ(preset_for_gpu("NVIDIA H200"), "hgx-h200");
  EXPECT_EQ(preset_for_gpu("NVIDIA H20"), "hgx-h20");
  EXPECT_EQ(preset_for_gpu("NVIDIA A100-SXM4-80GB"), "dgx-a100");
  EXPECT_EQ(preset_for_gpu("NVIDIA A100 80GB PCIe"), "a100-pcie");
  EXPECT_EQ(preset_for_gpu("Tesla V100-SXM3-32GB"), "dgx-2");
  EXPECT_EQ(preset_for_gpu("NVIDIA GB200"), "gb200-nvl72");
  EXPECT_EQ(preset_for_gpu("NVIDIA B200"), "dgx-b200");
  EXPECT_EQ(preset_for_gpu("NVIDIA Graphics Device"), "");
}

}  // namespace
}  // namespace collsim::testing
