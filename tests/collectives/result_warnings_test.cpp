// SPDX-License-Identifier: Apache-2.0
#include "collectives/result_warnings.hpp"
#include "tests/contains.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace collsim {
namespace {

// Nothing to warn of: 8 ranks, 1 MiB in messages of 64 KiB.
RunFacts harmless(Operation operation = Operation::broadcast, const char* algorithm = "chain") {
  return {.algorithm = &find_algorithm(operation, algorithm),
          .ranks = 8,
          .chunks = 16,
          .channels = 1,
          .elements = 1 << 18,
          .messages = 7 * 16,
          .wire_bytes = 7 << 20,
          .time = microseconds(100)};
}

std::vector<ResultWarning> warnings(const RunFacts& ran) {
  std::vector<ResultWarning> found;
  for (const ResultWarning warning : all_result_warnings)
    if (applies(warning, ran)) found.push_back(warning);
  return found;
}
using Found = std::vector<ResultWarning>;

TEST(ResultWarnings, NoneWhereThereIsNothingToSay) {
  EXPECT_EQ(warnings(harmless()), Found{});
  RunFacts alone = harmless();
  alone.ranks = 1;
  alone.chunks = 1 << 20;
  EXPECT_EQ(warnings(alone), Found{});
}

// A chain cuts the vector, a ring one rank's block of it; each channel has its share.
TEST(ResultWarnings, MoreChunksThanElementsOfWhatIsCut) {
  RunFacts chain = harmless();
  chain.elements = 64;
  chain.chunks = 64;
  EXPECT_NE(warnings(chain), Found{ResultWarning::chunks_above_elements});
  chain.chunks = 65;
  EXPECT_EQ(warnings(chain), Found{ResultWarning::chunks_above_elements});
  expect_contains(to_text(ResultWarning::chunks_above_elements, chain),
                  "65 chunks for 64 elements");
  chain.chunks = 33;
  chain.channels = 2;
  EXPECT_EQ(warnings(chain), Found{ResultWarning::chunks_above_elements});
  RunFacts ring = harmless(Operation::all_reduce, "ring");
  ring.elements = 64;
  ring.chunks = 9;
  EXPECT_EQ(warnings(ring), Found{ResultWarning::chunks_above_elements});
  RunFacts barrier = harmless(Operation::barrier, "dissemination");
  barrier.elements = 0;
  barrier.chunks = 1;
  EXPECT_EQ(warnings(barrier), Found{});
}

TEST(ResultWarnings, MoreChannelsThanElements) {
  RunFacts ring = harmless(Operation::all_reduce, "ring");
  ring.chunks = 1;
  ring.channels = 8;
  ring.elements = 8;
  EXPECT_EQ(warnings(ring), Found{});
  ring.elements = 2;
  EXPECT_EQ(warnings(ring), Found{ResultWarning::channels_above_elements});
  expect_contains(to_text(ResultWarning::channels_above_elements, ring),
                  "8 channels for 2 elements), so most channels carry nothing");
  RunFacts barrier = harmless(Operation::barrier, "dissemination");
  barrier.elements = 0;
  barrier.chunks = barrier.channels = 1;
  EXPECT_EQ(warnings(barrier), Found{});
}

TEST(ResultWarnings, ChunksBelow4KiBOnAverage) {
  RunFacts ran = harmless();
  ran.messages = 7 * 256;
  ran.chunks = 256;
  EXPECT_EQ(average_message(ran), 4096);
  EXPECT_EQ(warnings(ran), Found{});
  ran.messages += 1;
  EXPECT_EQ(warnings(ran), Found{ResultWarning::small_chunks});
  ran.chunks = 1;  // not cut, so it is the data that are small
  EXPECT_EQ(warnings(ran), Found{});
}

TEST(ResultWarnings, ShortMessagesOverLinksThatCostNothing) {
  RunFacts ran = harmless();
  ran.links_are_free = true;
  EXPECT_EQ(warnings(ran), Found{});  // 64 KiB are long enough
  ran.messages += 1;
  EXPECT_EQ(warnings(ran), Found{ResultWarning::free_messages});
  RunFacts barrier = harmless(Operation::barrier, "dissemination");
  barrier.chunks = 1;
  barrier.elements = 0;
  barrier.wire_bytes = 0;
  barrier.links_are_free = true;
  barrier.time = Time{};
  EXPECT_EQ(warnings(barrier), Found{ResultWarning::free_messages});
}

}  // namespace
}  // namespace collsim
