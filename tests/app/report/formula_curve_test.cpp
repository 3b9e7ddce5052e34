// SPDX-License-Identifier: Apache-2.0
#include "app/report/formula_curve.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "app/json/value.hpp"
#include "tests/app/report/rows.hpp"
#include "tests/app/study/testing.hpp"

namespace collsim {
namespace {

using testing::loaded;
using testing::rows_of_all_points;

std::vector<std::int64_t> integers(const JsonValue& list) {
  std::vector<std::int64_t> all;
  for (const JsonValue& one : list.items()) all.push_back(*one.integer());
  return all;
}

TEST(FormulaCurve, IsTheClosedFormAtEveryCount) {
  const JsonValue curve = formula_curve(testing::lecture_case(), 1, 4096);
  const std::vector<std::int64_t> chunks = integers(*curve.find("chunks"));
  EXPECT_EQ(chunks.front(), 1);
  EXPECT_EQ(chunks.back(), 4096);
  EXPECT_GT(chunks.size(), formula_points / 2);
  const double wire = 64 * 1048576 / 25e9;
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    const double count = static_cast<double>(chunks[i]);
    EXPECT_NEAR(curve.find("time_s")->items()[i].number(), (count + 6) * (5e-6 + wire / count),
                1e-9);
    EXPECT_NEAR(curve.find("wire_s")->items()[i].number(), (count + 6) * wire / count, 1e-9);
    EXPECT_NEAR(curve.find("startup_s")->items()[i].number(), (count + 6) * 5e-6, 1e-9);
  }
}

TEST(FormulaCurve, IsNullWhereNoFormIsKnown) {
  Case point = testing::lecture_case();
  point.choice.slots = 1;
  EXPECT_TRUE(formula_curve(point, 1, 64).is_null());
}

// The rows of each curve.
std::vector<std::vector<std::int64_t>> curves_of(const JsonValue::Array& rows,
                                                 const Scenario& scenario) {
  ClusterCache clusters;
  std::vector<std::vector<std::int64_t>> all;
  const JsonValue curves = formula_curves(rows, scenario, clusters);
  for (const JsonValue& one : curves.items()) all.push_back(integers(*one.find("rows")));
  return all;
}

std::vector<std::vector<std::int64_t>> curves_of(const std::string& sweep) {
  const auto studied = loaded(testing::lecture(R"(, "sweep": )" + sweep));
  return curves_of(rows_of_all_points(*studied.scenario, 8, "chain"), *studied.scenario);
}

using Curves = std::vector<std::vector<std::int64_t>>;

TEST(FormulaCurves, AreOneForRowsThatDifferInChunksAlone) {
  EXPECT_EQ(curves_of(R"({"collective.chunks": [1, 2, 4]})"), (Curves{{0, 1, 2}}));
  EXPECT_EQ(curves_of(R"({"collective.chunks": [1, 2, 4],
                          "collective.size": ["1MiB", "2MiB"]})"),
            (Curves{{0, 2, 4}, {1, 3, 5}}));
  EXPECT_EQ(curves_of(R"({"collective.chunks": [1, 2]})"), Curves{});
}

TEST(FormulaCurves, HaveTheAlgorithmThatAutoChose) {
  const auto ring = [](const std::string& algorithm) {
    return loaded(R"({"scenario": 1, "cluster": {"shape": "ring", "ranks": 8,
        "link": {"bandwidth": "25GB/s", "overhead": "5us"}},
        "collective": {"op": "all-reduce", "algorithm": ")" +
                  algorithm + R"(", "size": "1MiB"},
        "sweep": {"collective.chunks": [1, 2, 4, 8, 16]}})");
  };
  const auto text = [](const JsonValue::Array& rows, const Scenario& scenario) {
    ClusterCache clusters;
    return to_json(formula_curves(rows, scenario, clusters), -1);
  };
  const auto chosen = ring("auto"), chain = ring("chain");
  JsonValue::Array rows = rows_of_all_points(*chosen.scenario, 8, "chain");
  EXPECT_EQ(text(rows, *chosen.scenario), text(rows, *chain.scenario));
  EXPECT_EQ(curves_of(rows, *chosen.scenario), (Curves{{0, 1, 2, 3, 4}}));
  // No formula holds for both.
  rows[0].set("algorithm", "bidirectional-ring");
  EXPECT_EQ(curves_of(rows, *chosen.scenario), Curves{});
}

TEST(FormulaCurves, OfAZipKnowWhichRowsAreTheirs) {
  EXPECT_EQ(curves_of(R"({"zip: collective.chunks, cluster.link.bandwidth": [
      [1, "10GB/s"], [2, "10GB/s"], [4, "10GB/s"],
      [8, "25GB/s"], [16, "25GB/s"], [32, "25GB/s"]]})"),
            (Curves{{0, 1, 2}, {3, 4, 5}}));
}

// Rows that make no curve take no curve's place.
TEST(FormulaCurves, AreEightAtMost) {
  std::string pairs, sizes;
  for (int size = 1; size <= 8; ++size) {
    const std::string text = "\"" + std::to_string(size) + "MiB\"";
    pairs += "[1, " + text + "], ";
    sizes += text + ", ";
  }
  EXPECT_EQ(curves_of(R"({"zip: collective.chunks, collective.size": [)" + pairs + R"(
      [1, "64MiB"], [8, "64MiB"], [64, "64MiB"], [512, "64MiB"]]})"),
            (Curves{{8, 9, 10, 11}}));
  EXPECT_EQ(curves_of(R"({"collective.size": [)" + sizes + R"("9MiB"],
      "collective.chunks": [1, 2, 4]})")
                .size(),
            most_formula_curves);
}

TEST(FormulaCurves, AreThoseOfTheRanksThatTakePart) {
  const auto studied = loaded(R"({"scenario": 1, "cluster": {"shape": "switch", "ranks": 16,
      "link": {"bandwidth": "1GB/s", "overhead": "1us"}}, "collective": {"op": "broadcast",
      "algorithm": "chain", "size": "1MB", "ranks": [3, 5, 7, 9]},
      "sweep": {"collective.chunks": [1, 2, 4]}})");
  ClusterCache clusters;
  const JsonValue curves = formula_curves(rows_of_all_points(*studied.scenario, 4, "chain"),
                                          *studied.scenario, clusters);
  ASSERT_EQ(curves.items().size(), 1U);
  const double time = curves.items()[0].find("time_s")->items()[0].number();
  Case group = testing::case_on(make_switch(4, {gigabytes_per_second(1), Time{}, microseconds(1)}),
                                Operation::broadcast, Bytes(1'000'000), "chain");
  EXPECT_EQ(time, formula_curve(group, 1, 1).find("time_s")->items()[0].number());
}

}  // namespace
}  // namespace collsim
