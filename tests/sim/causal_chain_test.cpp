// SPDX-License-Identifier: Apache-2.0
#include "sim/causal_chain.hpp"

#include "tests/sanitized.hpp"
#include "tests/sim/random_case.hpp"
#include "tests/sim/testing.hpp"

namespace collsim::testing {
namespace {

constexpr int no_limit = 1'000'000;

TEST(CausalChain, IsNeverLongerThanTheRun) {
  int telling = 0;
  for (std::uint64_t seed = 0; seed < random_cases(1500U); ++seed) {
    RandomCase random(seed);
    const Topology topology = random.topology();
    const Schedule schedule = random.schedule(topology.rank_count());
    Time time;
    try {
      time = simulate(topology, schedule).time;
    } catch (const Error&) {
      continue;  // too few slots: a deadlock
    }
    const Time chain = causal_chain(topology, schedule, Time::never(), no_limit);
    ASSERT_LE(chain, time) << "seed " << seed << ", " << schedule.algorithm();
    if (chain.seconds() > 0.5 * time.seconds()) ++telling;
  }
  EXPECT_GT(telling, random_cases(300));
}

// 14 messages of 1 MB / 8 around the ring, each 12.5 us + 2 us + 1 us.
TEST(CausalChain, GoesAroundARing) {
  const Topology ring = make_ring(8, link_of(ten, microseconds(2), microseconds(1)));
  const Schedule schedule = byte_schedule(Operation::all_reduce, 8, 1'000'000, "ring");
  const Time all = causal_chain(ring, schedule, Time::never(), no_limit);
  EXPECT_NEAR(all.seconds(), 14 * 15.5e-6, 1e-10);
  EXPECT_NEAR(causal_chain(ring, schedule, Time::never(), 3).seconds(), 3 * 15.5e-6, 1e-10);
  EXPECT_NEAR(causal_chain(ring, schedule, microseconds(40), no_limit).seconds(), 3 * 15.5e-6,
              1e-10);
}

// Up to the root and down again, for each of the halves of a double tree.
TEST(CausalChain, GoesUpAndDownATree) {
  const LinkParameters link = link_of(ten, {}, microseconds(1), Sharing::fair);
  const Topology network = make_switch(16, link);
  const Schedule schedule = byte_schedule(Operation::all_reduce, 16, 16, "double-tree");
  EXPECT_GE(causal_chain(network, schedule, Time::never(), no_limit), microseconds(2 * 2 * 3));
}

}  // namespace
}  // namespace collsim::testing
