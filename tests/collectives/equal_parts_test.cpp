// SPDX-License-Identifier: Apache-2.0
// Steps whose collectives were given equal parts take as long as before, and one rank stands for
// all.
#include <gtest/gtest.h>

#include <optional>

#include "collectives/workloads/workloads.hpp"
#include "sim/simulate.hpp"
#include "topo/shapes.hpp"

namespace collsim {
namespace {

Model layers_of(Bytes parameters) {
  Model model;
  model.optimizer = microseconds(300);
  for (int i = 0; i < 6; ++i)
    model.layers.push_back({"", milliseconds(1), milliseconds(2), parameters, 0});
  return model;
}

Workload ddp_of(int ranks, Bytes parameters, int channels = 1) {
  Ddp ddp;
  ddp.all_reduce.name = "ring";
  ddp.all_reduce.channels = channels;
  return make_workload(ddp, layers_of(parameters), ranks);
}

TEST(EqualParts, StepsTakeAsLongAsBefore) {
  LinkParameters link{Bandwidth(25'000'000'000), microseconds(2), microseconds(1)};
  link.sharing = Sharing::fair;  // where channels queue, the order of the ranks matters
  for (const int ranks : {3, 12, 24})
    for (const int channels : {1, 4}) {
      const Workload odd = ddp_of(ranks, 4'000'004 * 4, channels);
      ASSERT_TRUE(odd.turns().empty()) << ranks;
      const std::optional<Workload> even = with_equal_parts(odd, 0.01);
      ASSERT_TRUE(even.has_value()) << ranks;
      for (const Topology& topology : {make_ring(ranks, link), make_switch(ranks, link)}) {
        const Simulation before = simulate(topology, odd, {}, {});
        const Simulation after = simulate(topology, *even, {}, {});
        EXPECT_NE(before.engine, Engine::symmetry);
        EXPECT_EQ(after.engine, Engine::symmetry)
            << ranks << " ranks, " << channels << " channels, " << topology.shape();
        EXPECT_EQ(after.messages, before.messages);
        EXPECT_GE(after.wire_bytes, before.wire_bytes);
        EXPECT_NEAR(after.time.seconds(), before.time.seconds(), 1e-4 * before.time.seconds());
      }
    }
}

TEST(EqualParts, AreNotMadeWhereTheyAreNoHelpOrNoLongerTheSame) {
  EXPECT_FALSE(with_equal_parts(ddp_of(8, 8 * 4000), 0.01)) << "they are equal";
  EXPECT_FALSE(with_equal_parts(ddp_of(7, 40, 2), 0.01)) << "parts of two elements become three";
  const ParameterServer servers{};
  EXPECT_FALSE(with_equal_parts(make_workload(servers, layers_of(4004), 5), 0.01))
      << "ranks differ";
}

}  // namespace
}  // namespace collsim
