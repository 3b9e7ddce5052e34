// SPDX-License-Identifier: Apache-2.0
#include "app/measured/measured_json.hpp"

#include <gtest/gtest.h>

#include "tests/app/measured/reading.hpp"
#include "tests/contains.hpp"
#include "tests/golden.hpp"

namespace collsim::testing {
namespace {

// As published tables have it.
std::string published(const std::string& more = "") {
  return R"json({"id": "box_ar", "source": "a page", "date": "2024", "machine": {"gpu": "B200",
    "gpus_per_node": 8, "nodes": 2, "interconnect": "NVSwitch", "nccl_version": "2.23.4",
    "launch": "1 process, 1 thread per GPU (-t N)"}, "collective": "all_reduce", "dtype": "half",
    "redop": "sum", "n_ranks": 16, "class": "multi-node IB", "notes": "thinned out",
    "rows": [{"bytes": 8, "time_us": 20.5, "algbw_gbps": 0.0, "busbw_gbps": 0.0},
             {"bytes": 1048576, "time_us": 40, "algbw_gbps": 26.2, "busbw_gbps": 49.2}],
    "rows_inplace": [{"bytes": 1048576, "time_us": 39.0}], "suspect_rows_bytes": [8],
    "owner": "someone", "preset": "dgx-b200")json" +
         more + "}";
}

std::string rewritten(const std::vector<MeasuredTable>& tables) {
  return to_json(to_value(tables));
}

TEST(MeasuredJson, ReadsPublishedTables) {
  const ReadTables read = read_tables(published(), "box.json");
  const MeasuredTable& table = read.only();
  expect_text(description_of(table),
              "all-reduce of float16 (sum), 16 ranks on 2 nodes, B200, NVSwitch, NCCL 2.23.4, a "
              "thread per GPU");
  EXPECT_EQ(table.source, "a page");
  EXPECT_EQ(table.preset + " " + table.owner + " " + table.kind, "dgx-b200 someone multi-node IB");
  EXPECT_EQ(table.remarks, "thinned out");
  ASSERT_EQ(table.rows.size(), 2U);
  EXPECT_DOUBLE_EQ(table.rows[0].time_s, 20.5e-6);
  EXPECT_TRUE(table.rows[0].suspect && !table.rows[1].suspect);
  EXPECT_FALSE(table.rows[0].in_place_s);
  EXPECT_DOUBLE_EQ(table.rows[1].in_place_s.value(), 39e-6);
}

TEST(MeasuredJson, ReadsBackWhatItWrites) {
  for (const std::string& text :
       {published(), whole_run(), "[" + published() + "," + published() + "]"}) {
    const ReadTables read = read_tables(text);
    const std::string written = rewritten(read.tables);
    const ReadTables again = read_tables(written, "again.json");
    EXPECT_EQ(again.mistakes, "");
    EXPECT_EQ(again.tables.size(), read.tables.size());
    EXPECT_EQ(rewritten(again.tables), written);
  }
}

TEST(MeasuredJson, WritesKeysWithUnits) {
  const ReadTables read = read_tables(paste(header_line, row_1m, average_line));
  expect_text(rewritten(read.tables), R"({
  "measured": 1,
  "source": "run.log:2",
  "op": "all-reduce",
  "dtype": "float32",
  "reduction": "sum",
  "root": null,
  "ranks": 8,
  "nodes": null,
  "machine": {},
  "iters": null,
  "warmup": null,
  "complete": true,
  "notes": [],
  "rows": [
    {
      "size_bytes": 1048576,
      "time_s": 2.737e-05,
      "busbw_bytes_per_s": 67044501279.0,
      "wrong": 0,
      "in_place_time_s": 2.693e-05,
      "in_place_wrong": 0
    }
  ]
})");
}

TEST(MeasuredJson, ReportsAllMistakesWithTheirPlace) {
  const auto mistakes = [](const std::string& text) { return read_tables(text).mistakes; };
  const std::string text = mistakes(R"({"ranks": 0, "op": "all-redude", "dtype": 3,
    "rows": [{"size_bytes": 8}, {"size_bytes": -1, "time_s": 1}, {"size_bytes": 8, "time_s": "x"}]})");
  expect_contains(text, "run.log:1:11: \"ranks\" must be a whole number of at least 1 at /ranks");
  expect_contains(text, "\"all-redude\" is no collective that collsim knows at /op");
  expect_contains(text, "\"dtype\" must be a string, not a number at /dtype");
  expect_contains(text, "a row needs \"size_bytes\" and \"time_s\" at /rows");
  expect_contains(text, "a time must be a number that is not negative at /rows");
  expect_contains(mistakes(R"({"measured": 2, "rows": [{"size_bytes": 8, "time_s": 1}]})"),
                  "this collsim reads measured tables of version 1 only at /measured");
  expect_contains(mistakes(R"({"ranks": 2, "rows": []})"), "there are no rows at /rows");
  expect_contains(mistakes(R"([{"ranks": 2, "rows": [{"time_s": 1}]}])"), "at /0/rows");
  expect_contains(mistakes("{}"), "no list of rows with a size and a time is in this file");
}

// The layout that nccl-tests -J has, and what others make of it.
TEST(MeasuredJson, ReadsRowsWithNames) {
  const ReadTables read =
      read_tables(R"({"nccl_version": 22807, "config": {"nthreads": 1, "ngpus": 2},
    "devices": [{"rank": 0, "hostname": "a", "device": 0, "device_info": "NVIDIA H100 80GB HBM3"},
                {"rank": 1, "hostname": "a", "device": 1, "device_info": "NVIDIA H100 80GB HBM3"}],
    "results": [
      {"size": 8, "count": 2, "type": "float", "redop": "sum", "root": "-1",
       "out_of_place": {"time": 12.5, "alg_bw": 0.0, "bus_bw": 0.0, "nwrong": 0},
       "in_place": {"time": 12.0, "alg_bw": 0.0, "bus_bw": 0.0, "nwrong": null}},
      {"size": 1048576, "count": 262144, "type": "float", "redop": "sum", "root": "-1",
       "out_of_place": {"time": 27.37, "alg_bw": 38.31, "bus_bw": 38.31, "nwrong": 0},
       "in_place": {"time": 26.93, "alg_bw": 38.94, "bus_bw": 38.94, "nwrong": 0}}]})");
  expect_text(description_of(read.only()),
              "all-reduce of float32 (sum), 2 ranks on 1 node, NVIDIA H100 80GB HBM3, NCCL 2.28.7, "
              "one thread for all GPUs of a process");
  ASSERT_EQ(read.only().rows.size(), 2U);
  EXPECT_EQ(read.only().rows[0].wrong, 0);
  EXPECT_EQ(read.only().rows[0].in_place_wrong, std::nullopt);
  EXPECT_DOUBLE_EQ(read.only().rows[1].in_place_s.value(), 26.93e-6);
  const ReadTables plain = read_tables(
      R"([{"msg_size": 1024, "latency_us": 9.5, "op": "all_gather", "world size": 8},
          {"msg_size": 1024, "latency_us": 9.9, "op": "all_gather", "world size": 16},
          {"msg_size": 2048, "op": "all_gather", "world size": 8}])");
  ASSERT_EQ(plain.tables.size(), 2U);
  EXPECT_EQ(plain.tables[0].operation, "all-gather");
  EXPECT_EQ(plain.tables[0].ranks, 8);
  EXPECT_EQ(plain.tables[1].ranks, 16);
  expect_contains(notes_of(plain.tables[0]), "line 3: no size, or no time: {\"msg_size\":2048,");
}

}  // namespace
}  // namespace collsim::testing
