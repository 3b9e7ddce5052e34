// SPDX-License-Identifier: Apache-2.0
#include "app/study/cuts_cache.hpp"

#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "app/study/run_case.hpp"
#include "tests/app/study/testing.hpp"

namespace collsim::testing {
namespace {

TEST(CutsCache, KeepsCutsWhileMachineGroupOperationAndRootStay) {
  CutsCache cache;
  const Case point = lecture_case();
  const auto first = cache.of(point);
  Case other = point;
  other.collective.count /= 2;
  EXPECT_EQ(cache.of(other), first) << "cuts know no size";
  other.collective.root = 1;
  EXPECT_NE(cache.of(other), first);
  EXPECT_EQ(cache.of(point), first);
  other.collective.group.pop_back();
  EXPECT_EQ(cache.of(other)->group().size(), 7U);
  EXPECT_NE(cache.of(lecture_case()), first) << "another machine, though it looks the same";
}

// Two rings of four, joined by one slow cable from each to the other, numbered crosswise.
TEST(CutsCache, MakesRowsKnowTheTightestCut) {
  Case point = lecture_case();
  point = changed(point, [](Cluster& cluster) {
    TopologyBuilder builder;
    std::vector<NodeId> gpus;
    for (int i = 0; i < 8; ++i) gpus.push_back(builder.add_node(NodeKind::gpu));
    const auto cable = [](std::int64_t rate) {
      return LinkParameters{.bandwidth = gigabytes_per_second(rate)};
    };
    for (const auto& ring : {std::array{0, 3, 5, 6}, std::array{1, 2, 4, 7}})
      for (std::size_t i = 0; i < 4; ++i)
        builder.connect(gpus[static_cast<std::size_t>(ring[i])],
                        gpus[static_cast<std::size_t>(ring[(i + 1) % 4])], cable(25));
    builder.connect(gpus[0], gpus[1], cable(2));
    cluster.topology = builder.build();
  });
  EXPECT_EQ(run_case(point).bound_cut, "");
  CutsCache cache;
  const CaseResult row = run_case(point, {.cuts = &cache});
  EXPECT_EQ(row.bound_cut,
            "at least 64 MiB must leave ranks 0, 3, 5, 6 through one link of 2 GB/s");
  EXPECT_GT(row.bound, 10 * run_case(point).bound);
}

}  // namespace
}  // namespace collsim::testing
