// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <sstream>

#include "tests/app/output/testing.hpp"
#include "tests/contains.hpp"
#include "tests/golden.hpp"

namespace collsim::testing {
namespace {

Results sizes(Operation operation, const std::string& algorithm, const std::vector<Bytes>& all) {
  const LinkParameters link = link_of(gigabytes_per_second(100), microseconds(5));
  Results results;
  results.description = "an example";
  results.axes = {"collective.size"};
  for (const Bytes size : all) {
    Case point = case_on(make_switch(8, link), operation, size, algorithm);
    point.collective.type = ElementType::f32;
    point.collective.count = size / 4;
    CaseResult row = run_case(point);
    row.params = {{"collective.size", JsonValue(std::to_string(size) + "B")}};
    results.rows.push_back(row);
  }
  results.points = results.rows.size();
  return results;
}

TEST(NcclTests, HasItsColumns) {
  const auto lines = lines_of(
      written(sizes(Operation::all_reduce, "ring", {1024, gibibytes(1)}), Format::nccl_tests));
  ASSERT_EQ(lines.size(), 11U);
  EXPECT_EQ(lines[0], "# an example");
  expect_contains(lines[1], "simulated");
  expect_text(
      lines[4],
      "#       size         count      type   redop    root     time   algbw   busbw #wrong  "
      "   time   algbw   busbw #wrong");
  expect_text(
      lines[5],
      "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)         "
      "   (us)  (GB/s)  (GB/s)       ");
  expect_text(
      lines[6],
      "        1024           256     float     sum      -1    70.02    0.01    0.03    N/A  "
      "  70.02    0.01    0.03    N/A");
  expect_text(
      lines[7],
      "  1073741824     268435456     float     sum      -1    18860   56.93   99.63    N/A  "
      "  18860   56.93   99.63    N/A");
  expect_text(lines[8], "# Out of bounds values : 0 N/A");
  expect_text(lines[9].substr(0, 25), "# Avg bus bandwidth    : ");
  EXPECT_NEAR(std::stod(lines[9].substr(25)), (0.0256 + 99.63) / 2, 0.01);
}

TEST(NcclTests, CountsOneRanksShareWhereNcclTestsDoes) {
  const auto row = [](Operation operation, const std::string& algorithm) {
    return lines_of(written(sizes(operation, algorithm, {4096}), Format::nccl_tests))[6].substr(0,
                                                                                                52);
  };
  expect_text(row(Operation::all_gather, "ring"),
              "        4096           128     float    none      -1");
  expect_text(row(Operation::reduce_scatter, "ring"),
              "        4096           128     float     sum      -1");
  expect_text(row(Operation::broadcast, "chain"),
              "        4096          1024     float    none       0");
  expect_text(row(Operation::scatter, "flat"),
              "        4096           128     float    none       0");
}

TEST(NcclTests, OtherParametersAreComments) {
  Results results = sizes(Operation::all_reduce, "ring", {1024, 2048, 4096});
  results.rows[0].params.emplace_back("collective.algorithm", JsonValue("ring"));
  results.rows[1].params.emplace_back("collective.algorithm", JsonValue("ring"));
  results.rows[2].params.emplace_back("collective.algorithm", JsonValue("swing"));
  const auto lines = lines_of(written(results, Format::nccl_tests));
  expect_text(lines[6], "# collective.algorithm = ring");
  expect_text(lines[9], "# collective.algorithm = swing");
}

}  // namespace
}  // namespace collsim::testing
