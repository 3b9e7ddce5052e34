// SPDX-License-Identifier: Apache-2.0
#include "app/study/run_case.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/app/study/testing.hpp"
#include "tests/collectives/rows.hpp"

namespace collsim::testing {
namespace {

struct Count {
  double longest = 0;
  double all = 0;
};

Count counted(const Schedule& schedule) {
  Count count;
  for (int position = 0; position < schedule.size(); ++position)
    for (int lane = 0; lane < schedule.lanes(); ++lane) {
      LaneProgram program = schedule.program(position, Lane(static_cast<std::size_t>(lane)));
      double instructions = 0;
      while (program.next() != nullptr) ++instructions;
      count.longest = std::max(count.longest, instructions);
      count.all += instructions;
    }
  return count;
}

// The estimate stands for what is never run because it is too large, so it is tried where it can
// be.
TEST(Effort, IsNeverFarFromWhatProgramsDo) {
  const LinkParameters link = link_of(gigabytes_per_second(1));
  for (const Algorithm& algorithm : algorithms())
    for (const int ranks : nearest_ranks(algorithm, {1, 2, 3, 8, 13, 64}))
      for (const int chunks : {1, 5})
        for (const int channels : {1, 3}) {
          Case point = case_on(make_switch(static_cast<std::size_t>(ranks), link),
                               algorithm.operation, 7680, std::string(algorithm.name));
          point.choice.chunks = chunks;
          point.choice.channels = channels;
          const Schedule schedule = make_schedule(point.collective, point.choice);
          const Effort effort = effort_of(point, schedule);
          const Count count = counted(schedule);
          const std::string what = text_of(algorithm) + " " + std::to_string(ranks) + " " +
                                   std::to_string(chunks) + " " + std::to_string(channels);
          EXPECT_LE(effort.per_lane, count.longest) << what;
          EXPECT_GE(effort.per_lane, count.longest / 2) << what;
          EXPECT_LE(effort.instructions, 3 * count.all) << what;
          EXPECT_GE(effort.instructions, count.all / 2) << what;
        }
}

TEST(Effort, CountsAHubOnce) {
  const LinkParameters link = link_of(gigabytes_per_second(1));
  Case point = case_on(make_switch(1000, link), Operation::broadcast, 1000, "flat");
  point.collective.root = 500;
  EXPECT_LE(effort_of(point, make_schedule(point.collective, point.choice)).instructions, 4000);
}

}  // namespace
}  // namespace collsim::testing
