// SPDX-License-Identifier: Apache-2.0
#include "app/study/sweep_part.hpp"

#include <algorithm>

#include "tests/app/study/scenarios.hpp"

namespace collsim::testing {
namespace {

std::string around_a_ring(const std::string& sweep) {
  return R"({"cluster": {"shape": "ring", "ranks": 4,
                         "link": {"bandwidth": "25GB/s", "overhead": "5us"}},
             "collective": {"op": "all-reduce", "algorithm": "ring", "size": "1MiB"},
             "sweep": {)" +
         sweep + "}}";
}

TEST(SweepPart, IsReadAndWrittenAlike) {
  EXPECT_EQ(parse_part("3/8"), (SweepPart{3, 8}));
  EXPECT_EQ(to_text(SweepPart{3, 8}), "3/8");
  for (const char* const wrong : {"", "3", "/", "3/", "/8", "0/8", "9/8", "1/0", "3/8/", " 3/8",
                                  "1/1000001", "99999999999/99999999999"})
    EXPECT_FALSE(parse_part(wrong)) << wrong;
}

TEST(SweepPart, EveryPointBelongsToOnePart) {
  const Studied studied = results_of(around_a_ring(
      R"("collective.size": ["1KiB", "1MiB"], "cluster.ranks": {"from": 2, "to": 50, "step": 1})"));
  for (const int count : {1, 2, 7, 98, 250}) {
    std::vector<std::size_t> all;
    for (int number = 1; number <= count; ++number) {
      const std::vector<std::size_t> own = points_of({number, count}, *studied.scenario);
      EXPECT_TRUE(std::is_sorted(own.begin(), own.end()));
      EXPECT_LE(own.size(), studied.results->points / static_cast<std::size_t>(count) + 1);
      all.insert(all.end(), own.begin(), own.end());
    }
    std::sort(all.begin(), all.end());
    ASSERT_EQ(all.size(), studied.results->points) << count;
    for (std::size_t point = 0; point < all.size(); ++point) EXPECT_EQ(all[point], point);
  }
}

// Eight parts of a sweep whose last axis has eight values, from 2 ranks to 256: cut by turns, one
// part would have all the costly points.
TEST(SweepPart, PartsCostAlike) {
  const Studied studied = results_of(
      around_a_ring(R"("collective.size": {"from": "1MiB", "to": "40MiB", "step": "1MiB"},
              "cluster.ranks": {"from": 2, "to": 256, "factor": 2})"));
  constexpr int count = 8;
  std::vector<double> messages;
  for (int number = 1; number <= count; ++number) {
    messages.push_back(0);
    for (const std::size_t point : points_of({number, count}, *studied.scenario))
      messages.back() += static_cast<double>(studied.results->rows[point].messages);
  }
  const auto [least, most] = std::minmax_element(messages.begin(), messages.end());
  EXPECT_LT(*most / *least, 1.02);
}

// Points that make no sense have a part, too, which says so when it is run.
TEST(SweepPart, PointsThatCannotRunAreDealtOut) {
  Studied studied;
  load(studied, around_a_ring(R"("collective.algorithm": ["ring", "recursive-doubling"],
                        "cluster.ranks": {"from": 2, "to": 9, "step": 1})"));
  std::size_t points = 0;
  for (int number = 1; number <= 3; ++number)
    points += points_of({number, 3}, *studied.scenario).size();
  EXPECT_EQ(points, 16U);
}

}  // namespace
}  // namespace collsim::testing
