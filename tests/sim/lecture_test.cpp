// SPDX-License-Identifier: Apache-2.0
//
// The lecture: N bytes from rank 0 through a chain of K ranks, cut into S messages, to the
// picosecond.
#include <cmath>

#include "tests/sim/testing.hpp"

namespace collsim::testing {
namespace {

constexpr std::size_t ranks = 4;
constexpr Bytes size = gibibytes(1);
const Bandwidth bandwidth = gigabytes_per_second(25);

Time chain_broadcast(int messages, Time alpha = {}, Time latency = {}) {
  const Topology topology = make_ring(ranks, link_of(bandwidth, alpha, latency));
  return simulate(topology, byte_schedule(Operation::broadcast, ranks, size, "chain", messages))
      .time;
}

TEST(Lecture, OneMessageCostsKMinusOneTimesNOverB) {
  EXPECT_EQ(chain_broadcast(1), 3 * transfer_time(size, bandwidth));
  EXPECT_EQ(chain_broadcast(1), picoseconds(128'849'018'880));
}

TEST(Lecture, MessagesOverlap) {
  for (const int messages : {1, 2, 4, 8, 16, 64, 256, 1024, 4096})
    EXPECT_EQ(chain_broadcast(messages), (2 + messages) * transfer_time(size / messages, bandwidth))
        << messages;
}

TEST(Lecture, EveryMessagePaysAlpha) {
  const Time alpha = microseconds(5);
  for (const int messages : {1, 2, 4, 16, 64, 512, 4096, 65536})
    EXPECT_EQ(chain_broadcast(messages, alpha),
              (2 + messages) * (alpha + transfer_time(size / messages, bandwidth)))
        << messages;
}

TEST(Lecture, LatencyIsPaidOncePerHopAndBusiesNothing) {
  for (const int messages : {1, 16, 1024})
    EXPECT_EQ(chain_broadcast(messages, {}, microseconds(2)),
              (2 + messages) * transfer_time(size / messages, bandwidth) + 3 * microseconds(2));
}

TEST(Lecture, TheBestNumberOfMessagesIsWhereTheFormulaSays) {
  const Time alpha = microseconds(5);
  const double formula = std::sqrt(2.0 * size / (5e-6 * 25e9));
  int best = 1;
  for (int messages = 1; messages <= 512; ++messages)
    if (chain_broadcast(messages, alpha) < chain_broadcast(best, alpha)) best = messages;
  EXPECT_NEAR(best, formula, 1.0);
  EXPECT_GT(chain_broadcast(65536, alpha), chain_broadcast(1, alpha))
      << "too many messages are worse than one";
}

TEST(Lecture, WithoutAlphaMoreMessagesAreNeverWorse) {
  for (int messages = 1; messages < 1024; messages *= 2)
    EXPECT_LE(chain_broadcast(2 * messages), chain_broadcast(messages)) << messages;
}

}  // namespace
}  // namespace collsim::testing
