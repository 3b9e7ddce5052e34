// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "app/output/comparison_table.hpp"
#include "tests/app/output/testing.hpp"
#include "tests/app/study/measuring.hpp"
#include "tests/contains.hpp"
#include "tests/golden.hpp"

namespace collsim::testing {
namespace {

// Rows of 1 KiB, 8 KiB, ... whose busbw is such a part of the predicted one; 95% of their class are
// within 15%.
Results measured_parts(const std::vector<double>& parts, bool between_nodes = true) {
  Results results = lecture_results(std::vector<int>(parts.size(), 1));
  results.comparison.emplace().of_averages = true;
  Bytes size = kibibytes(1);
  for (std::size_t i = 0; i < parts.size(); ++i, size *= 8) {
    CaseResult& row = results.rows[i];
    row.size = size;
    row.nccl = NcclAlgorithm::tree;
    row.protocol = LinkProtocol::ll;
    row.error_class = {.machines = "InfiniBand",
                       .half = 0.03,
                       .most = 0.15,
                       .rows = 100,
                       .tables = 6,
                       .between_nodes = between_nodes};
    row.measured = measured_with(row.time_s() / parts[i]);
  }
  return results;
}

std::string said_below(const Results& results) {
  std::string all;
  for (const std::string& one : beyond_class(results, ClassSide::below)) all += one + "\n";
  return all;
}

// What to check, of machines that are 40% below at some of eight sizes, 1 KiB to 2 GiB.
std::string advice(std::size_t first, std::size_t end, bool between_nodes,
                   NcclAlgorithm algorithm = NcclAlgorithm::tree, const std::string& ran = "") {
  std::vector<double> parts(8, 1.0);
  for (std::size_t i = first; i < end; ++i) parts[i] = 0.6;
  Results results = measured_parts(parts, between_nodes);
  for (CaseResult& row : results.rows) {
    row.nccl = algorithm;
    row.measured->ran = ran;
  }
  const std::string said = said_below(results);
  return said.substr(said.find("Check ") + 6);
}

TEST(BeyondClass, IsSaidWhereSeveralSizesAreBeyondTheClass) {
  Results results = measured_parts({1, 0.97, 1.02, 0.9, 0.62, 0.61, 0.63, 0.6});
  expect_text(said_below(results),
              "below its class: from 4MiB on busbw is 37% to 40% less than predicted; 95% of the "
              "published rows of InfiniBand are within 15%. Check that each GPU uses a NIC near to "
              "it, and that NICs access GPU memory directly (GDR)\n");
  results.rows[4].error_class->up_to = mebibytes(4);
  const auto unseen = [&](double most) {
    for (std::size_t i = 5; i < 8; ++i) {
      results.rows[i].error_class->most = 0.3;
      results.rows[i].error_class->unseen_most = most;
    }
  };
  unseen(0.36);
  expect_contains(said_below(results), "are within 15% up to 4 MiB, 30% above. Check");
  unseen(0.5);
  expect_contains(said_below(results),
                  "30% above, of owners left out of the fit only within 50%. Check");
  expect_contains(written(results, Format::table), "\nbelow its class: from 4MiB on");
  expect_contains(written(results, Format::json), "\"below_class\": [\n");
}

TEST(BeyondClass, NeedsMoreThanNoise) {
  EXPECT_EQ(said_below(measured_parts({1, 0.97, 1.02, 0.9, 1, 1, 0.6, 0.6})), "") << "two sizes";
  EXPECT_EQ(said_below(measured_parts({0.3, 1, 0.5, 0.5, 1, 0.6, 1, 0.5})), "") << "not in a row";
  EXPECT_EQ(said_below(measured_parts({0.88, 0.87, 0.86, 0.9, 0.88})), "") << "within the class";
  EXPECT_EQ(said_below(measured_parts({2, 3, 4, 2, 2})), "") << "faster";
  Results unknown = measured_parts({0.6, 0.6, 0.6, 0.6});
  for (CaseResult& row : unknown.rows) row.error_class->tables = 0;
  EXPECT_EQ(said_below(unknown), "") << "nobody knows how such machines scatter";
  Results forced = measured_parts({0.6, 0.6, 0.6, 0.6});
  for (CaseResult& row : forced.rows) row.error_class->forced = true;
  EXPECT_EQ(said_below(forced), "") << "the class is about what NCCL chooses";
  Results wrong = measured_parts({0.6, 0.6, 0.6, 1});
  wrong.rows[1].measured->data = DataVerdict::wrong;
  EXPECT_EQ(said_below(wrong), "") << "a time of wrong data is none";
  Results twice = measured_parts({0.6, 0.6, 0.6, 0.6});
  twice.rows[1].size = twice.rows[0].size;
  EXPECT_EQ(said_below(twice), "") << "rows of a size differ in something else";
}

TEST(BeyondClass, AdviceFitsTheSymptom) {
  expect_contains(advice(4, 8, true), "NIC near to it");
  expect_contains(advice(4, 8, false), "NCCL_P2P_DISABLE");
  expect_contains(advice(4, 8, false, NcclAlgorithm::nvls), "NCCL_NVLS_ENABLE");
  expect_contains(advice(0, 3, true), "the latency of the network");
  expect_contains(advice(0, 3, false), "load of the host's cores");
  expect_contains(advice(2, 5, true), "NCCL_DEBUG_SUBSYS=TUNING");
  expect_contains(advice(0, 8, true), "whether this is the machine");
  expect_text(advice(2, 5, true, NcclAlgorithm::tree, "Ring/LL"),
              "NCCL ran Ring/LL at 64KiB, not Tree/LL: NCCL_ALGO, NCCL_PROTO and its version\n");
  expect_contains(advice(2, 5, true, NcclAlgorithm::tree, "Tree/LL"), "SUBSYS=TUNING");
  expect_contains(said_below(measured_parts({0.6, 0.6, 0.6, 1, 1, 1, 0.6, 0.6, 0.6})),
                  "up to 64KiB");
  const std::string everywhere = said_below(measured_parts({0.6, 0.6, 0.6, 1, 0.6, 0.6, 0.6, 0.6}));
  expect_contains(everywhere, "below its class: at 7 of 8 sizes busbw is 40% less");
  expect_contains(everywhere, "whether this is the machine");
}

TEST(BeyondClass, AMachineMayBeFasterThanItsClass) {
  const Results results = measured_parts({1, 0.97, 1.02, 0.9, 1.02, 1.25, 1.35, 1.3});
  EXPECT_EQ(said_below(results), "");
  const std::vector<std::string> above = beyond_class(results, ClassSide::above);
  ASSERT_EQ(above.size(), 1U);
  expect_text(above.front(),
              "above its class: from 32MiB on busbw is 25% to 35% more than predicted; 95% of the "
              "published rows of InfiniBand are within 15%. Check whether switches of the network "
              "add (SHARP: predict --sharp), and how many NICs a node has, at which rate");
  expect_contains(written(results, Format::table), "\nabove its class: from 32MiB on");
  const Results everywhere = measured_parts(std::vector<double>(8, 1.4));
  expect_contains(beyond_class(everywhere, ClassSide::above).front(),
                  "Check whether this is the machine (--preset, --nodes)");
  expect_lacks(beyond_class(everywhere, ClassSide::above).front(), "what else ran");
}

TEST(BeyondClass, NeedsTablesOfSuchMachines) {
  const std::vector<double> slow = {1, 1, 1, 1, 0.6, 0.6, 0.6, 0.6};
  EXPECT_NE(said_below(measured_parts(slow)), "");
  Results outside = measured_parts(slow), own = measured_parts(slow);
  for (CaseResult& row : outside.rows) row.error_class->outside = "no published table";
  for (CaseResult& row : own.rows) row.error_class->own_logs = true;
  EXPECT_EQ(said_below(outside), "");
  EXPECT_EQ(said_below(own), "");
}

}  // namespace
}  // namespace collsim::testing
