// SPDX-License-Identifier: Apache-2.0
//
// Bruck's all-to-all: log2(K) rounds instead of K-1, each with half of the data.
//
// Slot j of rank r is the block that has to travel j ranks further, from r to r+j.  Write j in
// binary: travelling j ranks is travelling 2^t ranks for every bit t of j.
//
//   round t = 0, 1, ...: every rank sends all slots j with bit t to rank r + 2^t, in one message;
//                        what arrives takes their place
//
// After all rounds slot j has come from rank r-j.  Since slot j moves in the round of each of its
// bits, it is read from the input in the first of them and lies in the output after the last; in
// between it waits in scratch.  (The original rotates the whole input before and the output after.)
// Every message is packed in scratch, and unpacked from there.
//
//   K = 8:   round 0   slots 1 3 5 7 to r+1
//            round 1   slots 2 3 6 7 to r+2
//            round 2   slots 4 5 6 7 to r+4
//
// Cost with q = ceil(log2 K), N one rank's buffer:   q (alpha + N/(2B)) for K = 2^q
// For other K the later messages are smaller.  Best for small blocks; every block travels up to q
// times, so from N ~ alpha B (K-1-q) / (q/2 - (K-1)/K) on pairwise wins.
//
// J. Bruck, C.-T. Ho, S. Kipnis et al.: Efficient algorithms for all-to-all communications in
// multiport message-passing systems, IEEE TPDS 8 (1997).
#include "collectives/algorithms/programs.hpp"

namespace collsim {
namespace {

// A rank's slots before or after a round: where slot j lies, and how long it is.
struct Slots {
  Blocks input, output;
  Span waiting;            // room for K blocks
  std::int64_t pitch = 0;  // room for one block
  int me = 0;
  int size = 1;

  [[nodiscard]] int wrap(int position) const {
    return position < size ? position : position - size;
  }
  // Before the round of `bit`, slot j has travelled its lower bits; the rest is still ahead.
  [[nodiscard]] Span before(int slot, int bit) const {
    const int ahead = slot & ~(bit - 1);
    const Span block = input[wrap(me + ahead)];
    return ahead == slot ? block : waiting.sub(slot * pitch, block.count);
  }
  [[nodiscard]] Span after(int slot, int bit) const {
    const int ahead = slot & ~(2 * bit - 1);
    if (ahead == 0) return output[wrap(me + size - slot)];
    return waiting.sub(slot * pitch, input[wrap(me + ahead)].count);
  }
};

// The next slot from `slot` on that moves in the round of `bit`.
int moving(int slot, int bit) {
  return (slot & bit) != 0 ? slot : (slot | bit) & ~(bit - 1);
}

Program bruck_exchange(Group group, Slots slots, Span packed, int chunks) {
  co_yield copy(slots.input[slots.me], slots.output[slots.me]);
  for (int bit = 1; bit < slots.size; bit *= 2) {
    packed.count = 0;
    for (int j = bit; j < slots.size; j = moving(j + 1, bit)) {
      const Span slot = slots.before(j, bit);
      co_yield copy(slot, packed.sub(packed.count, slot.count));
      packed.count += slot.count;
    }
    for (int c = 0; c < chunks; ++c)
      co_yield send(group[group.wrap(slots.me + bit)], packed.piece(c, chunks));

    packed.count = 0;
    for (int j = bit; j < slots.size; j = moving(j + 1, bit))
      packed.count += slots.after(j, bit).count;
    for (int c = 0; c < chunks; ++c)
      co_yield receive(group[slots.me - bit], packed.piece(c, chunks));
    packed.count = 0;
    for (int j = bit; j < slots.size; j = moving(j + 1, bit)) {
      const Span slot = slots.after(j, bit);
      co_yield copy(packed.sub(packed.count, slot.count), slot);
      packed.count += slot.count;
    }
  }
}

// Blocks of which a message carries at most so many: half of all.
std::int64_t most_packed(int size) {
  return size / 2;
}

}  // namespace

Program all_to_all_bruck(const Task& task) {
  const Blocks input = task.blocks(task.input);
  const std::int64_t pitch = input[0].count;  // no block is longer than the first
  const int size = task.group.size();
  const Slots slots{input, task.blocks(task.output), task.scratch.sub(0, size * pitch),
                    pitch, task.group.me(),          size};
  const Span packed = task.scratch.sub(size * pitch, most_packed(size) * pitch);
  return bruck_exchange(task.group, slots, packed, task.chunks);
}

std::int64_t all_to_all_bruck_scratch(const Task& task) {
  const int size = task.group.size();
  return (size + most_packed(size)) * task.blocks(task.input)[0].count;
}

}  // namespace collsim
