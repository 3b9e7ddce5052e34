// SPDX-License-Identifier: Apache-2.0
#include "app/measured/measured_csv.hpp"

#include <gtest/gtest.h>

#include <sstream>

#include "tests/app/measured/reading.hpp"
#include "tests/contains.hpp"
#include "tests/golden.hpp"

namespace collsim::testing {
namespace {

std::string as_csv(const std::vector<MeasuredTable>& tables) {
  std::ostringstream out;
  write_measured_csv(out, tables);
  return out.str();
}

TEST(MeasuredCsv, ReadsBackWhatItWrites) {
  const ReadTables read = read_tables(
      "# nThread 1 nGpus 8 warmup iters: 5 iters: 20 validation: 1\n"
      "#  Rank  7 Group  0 Pid  14840 on a device  3 [0x01] NVIDIA \"H100\", 80GB\n" +
      whole_run());
  const std::string written = as_csv(read.tables);
  expect_text(written,
              "op,dtype,reduction,root,ranks,nodes,gpu,library,launch,iters,size_bytes,time_s,"
              "busbw_bytes_per_s,wrong,in_place_time_s,in_place_wrong,algorithm,protocol\n"
              "all-reduce,float32,sum,,8,1,\"NVIDIA \"\"H100\"\", 80GB\",,one-thread,20,1048576,"
              "2.737e-05,67044501279.0,0,2.693e-05,0,,\n"
              "all-reduce,float32,sum,,8,1,\"NVIDIA \"\"H100\"\", 80GB\",,one-thread,20,2097152,"
              "4.221e-05,86946600332.0,0,4.209e-05,0,,\n");
  const ReadTables again = read_tables(written, "run.csv");
  EXPECT_EQ(as_csv(again.tables), written);
}

TEST(MeasuredCsv, KnowsTheNamesOfOthers) {
  const auto time_of = [](const std::string& text) {
    const ReadTables read = read_tables(text, "all_reduce.csv");
    return read.tables.empty() || read.tables[0].rows.empty() ? -1.0
                                                              : read.tables[0].rows[0].time_s;
  };
  EXPECT_DOUBLE_EQ(time_of("size,time\n8,12.5\n"), 12.5e-6);
  EXPECT_DOUBLE_EQ(time_of("# measured in May\n\nSize (B);Time (us);BusBW (GB/s)\n8;12.5;0\n"),
                   12.5e-6);
  EXPECT_DOUBLE_EQ(time_of("message size\tlatency (ms)\n8K\t0.5\n"), 500e-6);
  EXPECT_DOUBLE_EQ(time_of("\xEF\xBB\xBF\"bytes\",\"time_s\"\r\n\"8\",\"1e-5\"\r\n"), 1e-5);
  EXPECT_DOUBLE_EQ(time_of("size,algbw (GB/s)\n1000000,10\n"), 100e-6) << "a rate is a time, too";
  EXPECT_DOUBLE_EQ(time_of("size_bytes,time_s,measured_time_s\n8,1,2e-6\n"), 2e-6)
      << "what was measured, not what was predicted";
}

TEST(MeasuredCsv, ARateAloneSaysNothingOfTheRanks) {
  const MeasuredTable table =
      read_tables("op,ranks,dtype,size,algbw\nall_reduce,8,half,1048576,10\n", "run.csv").only();
  EXPECT_EQ(table.ranks, 8);
  EXPECT_EQ(notes_of(table), "");
}

TEST(MeasuredCsv, MakesATableOfEachCase) {
  const ReadTables read = read_tables(
      "op,ranks,dtype,size,time_us\nall_reduce,8,half,1024,10\nall_reduce,16,half,1024,20\n"
      "alltoall,8,half,1024,30\nall_reduce,8,half,2048,11\n");
  ASSERT_EQ(read.tables.size(), 3U);
  EXPECT_EQ(read.tables[0].rows.size(), 2U);
  EXPECT_EQ(read.tables[1].ranks, 16);
  EXPECT_EQ(read.tables[2].operation, "all-to-all");
  EXPECT_TRUE(questions_about(read.tables[2]).empty());
}

TEST(MeasuredCsv, SaysWhatIsMissing) {
  const ReadTables read = read_tables("size,time_us\n1024,10\nx,y\n");
  EXPECT_EQ(questions_about(read.only()).size(), 3U);
  expect_contains(notes_of(read.only()), "line 3: no size, or no time: x,y");
  expect_contains(read_tables("size,time_us\nx,y\n").mistakes,
                  "there is no row below the names of the columns");
}

}  // namespace
}  // namespace collsim::testing
