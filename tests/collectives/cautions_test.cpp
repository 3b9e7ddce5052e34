// SPDX-License-Identifier: Apache-2.0
#include "collectives/cautions.hpp"
#include "tests/contains.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace collsim {
namespace {

// Nothing to warn of: 8 ranks, 1 MiB in messages of 64 KiB.
RanCase harmless(Operation operation = Operation::broadcast, const char* algorithm = "chain") {
  return {.algorithm = &find_algorithm(operation, algorithm),
          .ranks = 8,
          .chunks = 16,
          .channels = 1,
          .elements = 1 << 18,
          .messages = 7 * 16,
          .wire_bytes = 7 << 20,
          .time = microseconds(100)};
}

std::vector<Caution> cautions(const RanCase& ran) {
  std::vector<Caution> found;
  for (const Caution caution : all_cautions)
    if (applies(caution, ran)) found.push_back(caution);
  return found;
}
using Found = std::vector<Caution>;

TEST(Cautions, NoneWhereThereIsNothingToSay) {
  EXPECT_EQ(cautions(harmless()), Found{});
  RanCase alone = harmless();
  alone.ranks = 1;
  alone.chunks = 1 << 20;
  EXPECT_EQ(cautions(alone), Found{});
}

// A chain cuts the vector, a ring one rank's block of it; each channel has its share.
TEST(Cautions, MoreChunksThanElementsOfWhatIsCut) {
  RanCase chain = harmless();
  chain.elements = 64;
  chain.chunks = 64;
  EXPECT_NE(cautions(chain), Found{Caution::chunks_above_elements});
  chain.chunks = 65;
  EXPECT_EQ(cautions(chain), Found{Caution::chunks_above_elements});
  expect_contains(to_text(Caution::chunks_above_elements, chain), "65 chunks for 64 elements");
  chain.chunks = 33;
  chain.channels = 2;
  EXPECT_EQ(cautions(chain), Found{Caution::chunks_above_elements});
  RanCase ring = harmless(Operation::all_reduce, "ring");
  ring.elements = 64;
  ring.chunks = 9;
  EXPECT_EQ(cautions(ring), Found{Caution::chunks_above_elements});
  RanCase barrier = harmless(Operation::barrier, "dissemination");
  barrier.elements = 0;
  barrier.chunks = 1;
  EXPECT_EQ(cautions(barrier), Found{});
}

TEST(Cautions, ChunksBelow4KiBOnAverage) {
  RanCase ran = harmless();
  ran.messages = 7 * 256;
  ran.chunks = 256;
  EXPECT_EQ(average_message(ran), 4096);
  EXPECT_EQ(cautions(ran), Found{});
  ran.messages += 1;
  EXPECT_EQ(cautions(ran), Found{Caution::small_chunks});
  ran.chunks = 1;  // not cut, so it is the data that are small
  EXPECT_EQ(cautions(ran), Found{});
}

TEST(Cautions, ShortMessagesOverLinksThatCostNothing) {
  RanCase ran = harmless();
  ran.links_are_free = true;
  EXPECT_EQ(cautions(ran), Found{});  // 64 KiB are long enough
  ran.messages += 1;
  EXPECT_EQ(cautions(ran), Found{Caution::free_messages});
  RanCase barrier = harmless(Operation::barrier, "dissemination");
  barrier.chunks = 1;
  barrier.elements = 0;
  barrier.wire_bytes = 0;
  barrier.links_are_free = true;
  barrier.time = Time{};
  EXPECT_EQ(cautions(barrier), Found{Caution::free_messages});
}

}  // namespace
}  // namespace collsim
