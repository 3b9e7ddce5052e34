// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "topo/error.hpp"

namespace collsim {

// Which of a rank's three buffers.  Input and output may be the same memory (in place); scratch is
// the algorithm's own and starts undefined.
enum class Buffer : std::uint8_t { input, output, scratch };

[[nodiscard]] constexpr const char* to_string(Buffer buffer) {
  return buffer == Buffer::input ? "input" : buffer == Buffer::output ? "output" : "scratch";
}

// Elements in n even pieces: sizes differ by at most one element, the longer ones come first, and
// pieces are empty when there are more pieces than elements.
struct EvenPieces {
  constexpr EvenPieces(std::int64_t elements, std::int64_t n)
      : shortest(elements / n), longer(elements % n) {}
  [[nodiscard]] constexpr std::int64_t offset(std::int64_t i) const {
    return i * shortest + std::min(i, longer);
  }
  [[nodiscard]] constexpr std::int64_t count(std::int64_t i) const {
    return shortest + (i < longer ? 1 : 0);
  }

  std::int64_t shortest;
  std::int64_t longer;  // so many have one element more
};

// `count` elements of one buffer from `offset` on.
struct Span {
  Buffer buffer = Buffer::input;
  std::int64_t offset = 0;
  std::int64_t count = 0;

  constexpr bool operator==(const Span&) const = default;

  // The i-th of n even pieces.
  [[nodiscard]] constexpr Span piece(std::int64_t i, std::int64_t n) const {
    const EvenPieces pieces(count, n);
    return {buffer, offset + pieces.offset(i), pieces.count(i)};
  }
  [[nodiscard]] constexpr Span sub(std::int64_t from, std::int64_t length) const {
    return {buffer, offset + from, length};
  }
  [[nodiscard]] constexpr Span in(Buffer other) const { return {other, offset, count}; }
};

// One of `of` parallel copies of an algorithm (NCCL: channel); each works on its share of the data.
struct Share {
  int part = 0;
  int of = 1;
};

// A vector cut twice: into `blocks` even blocks (usually one per rank), and each block into the
// shares of the channels.  blocks[i] is this channel's share of block i.  Computed, never stored,
// and cheap enough for an algorithm's inner loop.
class Blocks {
 public:
  Blocks() = default;
  Blocks(Span whole, int blocks, Share channel = {})
      : buffer_(whole.buffer), longer_(whole.count % blocks) {
    const std::int64_t length = whole.count / blocks;
    const auto row = [&](std::int64_t first, std::int64_t each) {
      const Span share = Span{whole.buffer, first, each}.piece(channel.part, channel.of);
      return Row{share.offset, each, share.count};
    };
    rows_ = {row(whole.offset, length + 1), row(whole.offset + longer_, length)};
  }

  [[nodiscard]] Span operator[](std::int64_t block) const {
    const Row& row = row_of(block);
    return {buffer_, row.offset + block * row.stride, row.count};
  }
  // From one block to the next one that is as long.
  [[nodiscard]] std::int64_t stride(std::int64_t block) const { return row_of(block).stride; }
  // So many blocks as long as this one end with it, itself included.
  [[nodiscard]] std::int64_t alike_down_from(std::int64_t block) const {
    return block < longer_ ? block + 1 : block + 1 - longer_;
  }

 private:
  struct Row {  // blocks come in two lengths, the longer ones first
    std::int64_t offset = 0, stride = 0, count = 0;
  };

  [[nodiscard]] const Row& row_of(std::int64_t block) const {
    return rows_[block < longer_ ? 0 : 1];
  }

  Buffer buffer_ = Buffer::input;
  std::int64_t longer_ = 0;
  std::array<Row, 2> rows_{};
};

}  // namespace collsim
