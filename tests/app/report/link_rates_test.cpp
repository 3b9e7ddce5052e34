// SPDX-License-Identifier: Apache-2.0
#include "app/report/report_data.hpp"

#include <gtest/gtest.h>

#include <string>

#include "app/json/value.hpp"
#include "tests/app/report/rows.hpp"

namespace collsim {
namespace {

using testing::loaded;
using testing::rows_of_all_points;

std::string scenario_of(const std::string& cluster, const std::string& sweep = "{}") {
  return R"({"scenario": 1, "cluster": {)" + cluster + R"("link": {"bandwidth": "1GB/s"}},
      "collective": {"op": "broadcast", "algorithm": "binomial", "size": "1KiB",
                     "ranks": [0, 1]}, "sweep": )" +
         sweep + "}";
}

// What is said of a scenario whose rows have two ranks, and whether a machine was built for it.
struct Said {
  std::string rates;
  bool built;
};
Said said_of(const std::string& text) {
  const auto studied = loaded(text);
  ClusterCache clusters;
  const JsonValue rates =
      link_rates(rows_of_all_points(*studied.scenario, 2, "binomial"), *studied.scenario, clusters);
  return {to_json(rates, -1), !clusters.resolved().is_null()};
}

TEST(LinkRates, AreOneForEachKindOfLink) {
  const Said said = said_of(scenario_of(R"("shape": "switch", "ranks": 3, )"));
  EXPECT_EQ(said.rates, R"([{"name":"gpu to switch","bytes_per_s":1000000000}])");
}

TEST(LinkRates, AreNotSaidOfDevicesThatNoRouteLeadsThrough) {
  const auto of_nodes = [](const std::string& nodes) {
    return said_of(R"({"scenario": 1, "cluster": {"preset": "dgx-h100", "nodes": )" + nodes +
                   R"(}, "collective": {"op": "broadcast", "algorithm": "binomial", "size": "1KiB",
                      "ranks": [0, 1]}})")
        .rates;
  };
  EXPECT_EQ(of_nodes("1"), R"([{"name":"gpu to nvswitch","bytes_per_s":370800000000}])");
  EXPECT_NE(of_nodes("2").find("gpu to nic"), std::string::npos);
}

TEST(LinkRates, UseTheMachineThatOthersUseToo) {
  EXPECT_TRUE(said_of(scenario_of(R"("shape": "chain", "ranks": 3, )")).built);
}

TEST(LinkRates, AreNotSaidWhereRowsDisagree) {
  EXPECT_EQ(said_of(scenario_of(R"("shape": "chain", "ranks": 3, )",
                                R"({"cluster.link.bandwidth": ["1GB/s", "2GB/s"]})"))
                .rates,
            "[]");
}

// Of 1,025 only two take part.
TEST(LinkRates, AreNotWorthBuildingALargeMachine) {
  const Said written = said_of(scenario_of(R"("shape": "chain", "ranks": 1025, )"));
  EXPECT_EQ(written.rates, "[]");
  EXPECT_FALSE(written.built);
  const Said swept = said_of(
      scenario_of(R"("shape": "chain", "ranks": 2, )", R"({"cluster.ranks": [1025, 1026]})"));
  EXPECT_EQ(swept.rates, "[]");
  EXPECT_FALSE(swept.built);
  // What is not written as ranks is known when it is built.
  EXPECT_EQ(said_of(scenario_of(R"("shape": "mesh", "dims": [33, 32], )")).rates, "[]");
  EXPECT_NE(said_of(scenario_of(R"("shape": "mesh", "dims": [32, 32], )")).rates, "[]");
}

TEST(LinkRates, AreSaidOfSixtyFourMachinesAtMost) {
  const auto sizes = [](int count) {
    std::string list = "[2";
    for (int ranks = 3; ranks < count + 2; ++ranks) list += ", " + std::to_string(ranks);
    return scenario_of(R"("shape": "chain", "ranks": 2, )", R"({"cluster.ranks": )" + list + "]}");
  };
  EXPECT_NE(said_of(sizes(64)).rates, "[]");
  EXPECT_EQ(said_of(sizes(65)).rates, "[]");
}

}  // namespace
}  // namespace collsim
