// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "collectives/algorithms/roles.hpp"
#include "collectives/span.hpp"

namespace collsim {
namespace {

TEST(Span, PiecesAreEvenAndLongerFirst) {
  const Span whole{Buffer::output, 10, 11};
  EXPECT_EQ(whole.piece(0, 4), (Span{Buffer::output, 10, 3}));
  EXPECT_EQ(whole.piece(1, 4), (Span{Buffer::output, 13, 3}));
  EXPECT_EQ(whole.piece(2, 4), (Span{Buffer::output, 16, 3}));
  EXPECT_EQ(whole.piece(3, 4), (Span{Buffer::output, 19, 2}));
}

TEST(Span, MorePiecesThanElementsAreEmptyAtTheEnd) {
  const Span whole{Buffer::input, 5, 2};
  EXPECT_EQ(whole.piece(1, 4), (Span{Buffer::input, 6, 1}));
  EXPECT_EQ(whole.piece(2, 4), (Span{Buffer::input, 7, 0}));
  EXPECT_EQ(whole.piece(3, 4), (Span{Buffer::input, 7, 0}));
}

TEST(Span, SubAndInKeepTheRest) {
  const Span whole{Buffer::input, 5, 20};
  EXPECT_EQ(whole.sub(7, 3), (Span{Buffer::input, 7 + 5, 3}));
  EXPECT_EQ(whole.in(Buffer::scratch), (Span{Buffer::scratch, 5, 20}));
}

// Blocks are what cutting step by step gives.
TEST(Blocks, CutLikePiecesOfPieces) {
  for (const std::int64_t count : {0, 1, 5, 12, 37, 100})
    for (const int blocks : {1, 2, 5, 8})
      for (const int channels : {1, 2, 3})
        for (int channel = 0; channel < channels; ++channel) {
          const Span whole{Buffer::output, 3, count};
          const Blocks cut(whole, blocks, {channel, channels});
          for (int block = 0; block < blocks; ++block)
            ASSERT_EQ(cut[block], whole.piece(block, blocks).piece(channel, channels));
        }
}

TEST(Blocks, KeepTheirPlaceBeyond32Bits) {
  const std::int64_t huge = std::int64_t{1} << 50;
  const Blocks cut({Buffer::input, 0, huge + 3}, 4, {1, 2});
  EXPECT_EQ(cut[3], (Span{Buffer::input, 3 * (huge / 4) + 3 + huge / 8, huge / 8}));
}

// Rotated blocks lie end to end in the order seen from the root, each as long as in the vector.
TEST(RotatedBlocks, LieEndToEndFromTheRootOn) {
  for (const std::int64_t count : {0, 3, 7, 20, 23})
    for (const int size : {1, 2, 5, 7})
      for (const int channels : {1, 3})
        for (int channel = 0; channel < channels; ++channel)
          for (int root = 0; root < size; ++root) {
            const Blocks blocks({Buffer::input, 0, count}, size, {channel, channels});
            const RotatedBlocks rotated(count, size, {channel, channels}, root);
            const Span memory{Buffer::scratch, 100, count};
            std::int64_t offset = 100;
            for (int place = 0; place < size; ++place) {
              const std::int64_t length = blocks[(place + root) % size].count;
              ASSERT_EQ(rotated.range(memory, 0, place, place + 1),
                        (Span{Buffer::scratch, offset, length}));
              offset += length;
            }
            ASSERT_EQ(rotated.count(0, size), offset - 100);
            if (size > 2) {
              ASSERT_EQ(rotated.range(memory, 1, 1, size),
                        (Span{Buffer::scratch, 100, rotated.count(1, size)}));
            }
          }
}

}  // namespace
}  // namespace collsim
