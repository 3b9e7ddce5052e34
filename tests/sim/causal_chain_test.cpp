// SPDX-License-Identifier: Apache-2.0
#include "sim/causal_chain.hpp"

#include "tests/sanitized.hpp"
#include "tests/sim/random_case.hpp"
#include "tests/sim/testing.hpp"

namespace collsim::testing {
namespace {

constexpr ChainBudget no_limit{.messages = 1'000'000, .instructions = 100'000'000};

TEST(CausalChain, IsNeverLongerThanTheRun) {
  int telling = 0;
  for (std::uint64_t seed = 0; seed < random_cases(1500U); ++seed) {
    const auto run = random_run(seed, {});
    if (!run) continue;
    const Time chain = CausalChains(run->topology, run->schedule).longest(Time::never(), no_limit);
    ASSERT_LE(chain, run->time) << "seed " << seed << ", " << run->schedule.algorithm();
    if (chain.seconds() > 0.5 * run->time.seconds()) ++telling;
  }
  EXPECT_GT(telling, random_cases(300));
}

// 14 messages of 1 MB / 8 around the ring, each 12.5 us + 2 us + 1 us.
TEST(CausalChain, GoesAroundARing) {
  const Topology ring = make_ring(8, link_of(ten, microseconds(2), microseconds(1)));
  const Schedule schedule = byte_schedule(Operation::all_reduce, 8, 1'000'000, "ring");
  CausalChains chains(ring, schedule);
  const Time hop = picoseconds(15'500'000);
  EXPECT_NEAR(chains.longest(microseconds(40), no_limit).seconds(), 3 * hop.seconds(), 1e-10);
  EXPECT_NEAR(chains.longest(Time::never(), no_limit).seconds(), 14 * hop.seconds(), 1e-10);
  CausalChains first_messages(ring, schedule);
  const Time some = first_messages.longest(Time::never(), {.messages = 3, .instructions = 1'000});
  EXPECT_NEAR(some.seconds(), 3 * hop.seconds(), 1e-10);
}

// Up from the deepest leaf of a tree of 16 to its root, 4 hops and one to the rank above, and down.
TEST(CausalChain, GoesUpAndDownTheLongestWayOfATree) {
  const LinkParameters link = link_of(ten, {}, microseconds(1), Sharing::fair);
  const Topology network = make_switch(16, link);
  const Schedule schedule = byte_schedule(Operation::all_reduce, 16, 16, "double-tree");
  const Time chain = CausalChains(network, schedule).longest(Time::never(), no_limit);
  EXPECT_GE(chain, microseconds(15));
  EXPECT_LE(chain, simulate(network, schedule).time);
}

// The third of 8 ranks of a pipeline: two hops before, five after its own.
TEST(CausalChain, KnowsWhatComesBeforeAndAfter) {
  const Topology chain = make_chain(8, link_of(ten, microseconds(2), microseconds(1)));
  const Schedule schedule = byte_schedule(Operation::broadcast, 8, 1'000'000, "chain", 10);
  CausalChains chains(chain, schedule);
  const auto at = [](std::size_t rank) { return Endpoint{Rank(rank), Lane(0)}; };
  const Time hop = microseconds(13);
  EXPECT_NEAR(chains.before({at(2), at(3), 0}, no_limit).seconds(), 2 * hop.seconds(), 1e-10);
  EXPECT_NEAR(chains.after({at(2), at(3), 9}, no_limit).seconds(), 4 * hop.seconds(), 1e-10);
}

}  // namespace
}  // namespace collsim::testing
