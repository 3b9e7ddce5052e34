// SPDX-License-Identifier: Apache-2.0
//
// Bruck's algorithms: as few steps as a butterfly, for any number of ranks.
//
// All-gather: every rank keeps its blocks in the order r, r+1, r+2, ... (mod K), beginning with its
// own.  In step d = 1, 2, 4, ... rank r has the first d of them; it sends the first min(d, K-d) to
// rank r-d and gets those of rank r+d, which are its own d-th and following.  At the end the blocks
// are rotated into the order of the output.
//
//   K = 3, rank 0:   0 | 1     from rank 1 (d = 1)
//                    0 1 | 2   from rank 2 (d = 2, only one block is missing)
//
// The rotation copies N bytes.  With one channel it is two copies (one at rank 0); with several, a
// channel's shares of the blocks are not neighbours in the output, and each is copied alone.
//
// All-to-all: log2(K) rounds instead of K-1, each with half of the data.  Slot j of rank r is the
// block that has to travel j ranks further, from r to r+j.  Write j in binary: travelling j ranks
// is travelling 2^t ranks for every bit t of j.
//
//   round t = 0, 1, ...: every rank sends all slots j with bit t to rank r + 2^t, in one message;
//                        what arrives takes their place
//
//   K = 8:   round 0   slots 1 3 5 7 to r+1
//            round 1   slots 2 3 6 7 to r+2
//            round 2   slots 4 5 6 7 to r+4
//
// After all rounds slot j has come from rank r-j.  Since slot j moves in the round of each of its
// bits, it is read from the input in the first of them and lies in the output after the last; in
// between it waits in scratch.  (The original rotates the whole input before and the output after.)
// Every message is packed in scratch, and unpacked from there.  Best for small blocks; every block
// travels up to q times, so from N ~ alpha B (K-1-q) / (q/2 - (K-1)/K) on pairwise wins.
//
// J. Bruck, C.-T. Ho, S. Kipnis, E. Upfal, D. Weathersby: Efficient algorithms for all-to-all
// communications in multiport message-passing systems, IEEE Trans. Parallel Distrib. Syst. 8
// (1997).
#include <algorithm>

#include "collectives/algorithms/idioms.hpp"
#include "collectives/algorithms/roles.hpp"
#include "collectives/cost/conditions.hpp"

namespace collsim {
namespace {

constexpr std::string_view bruck_et_al =
    "Bruck et al., IEEE Trans. Parallel Distrib. Syst. 8 (1997)";

// In scratch the blocks lie as `rotated` says: mine first, then those of the ranks above me.
Program bruck_all_gather(Group group, Span mine, Blocks output, RotatedBlocks rotated, bool gaps,
                         Span scratch) {
  const int me = group.me(), ranks = group.size();
  if (ranks == 1) co_yield copy_alone(mine, output[0]);
  if (ranks == 1) co_return;
  for (int d = 1; d < ranks; d *= 2) {
    const int blocks = std::min(d, ranks - d);
    const Span have = rotated.range(scratch, 0, 0, blocks);
    const Span missing = rotated.range(scratch, 0, d, d + blocks);
    co_yield d == 1 ? copy_send(mine, have, group[me - d]) : send(group[me - d], have);
    co_yield receive(group[me + d], missing);
  }
  for (int i = 0; gaps && i < ranks; ++i)
    co_yield copy(rotated.range(scratch, 0, i, i + 1), output[group.wrap(me + i)]);
  if (gaps) co_return;
  const int above = ranks - me;
  co_yield copy(rotated.range(scratch, 0, 0, above), joined(output, me, above));
  if (me > 0) co_yield copy(rotated.range(scratch, 0, above, ranks), joined(output, 0, me));
}

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

Program bruck_exchange(Group group, Slots slots, Span packed) {
  co_yield copy(slots.input[slots.me], slots.output[slots.me]);
  for (int bit = 1; bit < slots.size; bit *= 2) {
    packed.count = 0;
    for (int j = bit; j < slots.size; j = moving(j + 1, bit)) {
      const Span slot = slots.before(j, bit);
      co_yield copy(slot, packed.sub(packed.count, slot.count));
      packed.count += slot.count;
    }
    co_yield send(group[group.wrap(slots.me + bit)], packed);

    packed.count = 0;
    for (int j = bit; j < slots.size; j = moving(j + 1, bit))
      packed.count += slots.after(j, bit).count;
    co_yield receive(group[slots.me - bit], packed);
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

Program all_to_all_by_bits(const Task& task) {
  const Blocks input = task.blocks(task.input);
  const std::int64_t pitch = input[0].count;  // no block is longer than the first
  const int size = task.group.size();
  const Slots slots{input, task.blocks(task.output), task.scratch.sub(0, size * pitch),
                    pitch, task.group.me(),          size};
  return bruck_exchange(task.group, slots,
                        task.scratch.sub(size * pitch, most_packed(size) * pitch));
}

std::int64_t all_to_all_by_bits_scratch(const Task& task) {
  const int size = task.group.size();
  return (size + most_packed(size)) * task.blocks(task.input)[0].count;
}

}  // namespace

extern const Algorithm all_gather_bruck{
    .operation = Operation::all_gather,
    .name = "bruck",
    .summary =
        "all blocks known so far, sent down by 1, 2, 4, ...: fewest steps for any number of ranks",
    .program =
        [](const Task& task) {
          const RotatedBlocks rotated(task.output.count, task.group.size(), task.channel,
                                      task.group.me());
          return bruck_all_gather(task.group, gathered_block(task), task.blocks(task.output),
                                  rotated, task.channel.of > 1, task.scratch);
        },
    .scratch = [](const Task& task) { return count_of_shares(task, task.output); },
    .messages_exceed_a_block = true,
    .costs = {{{on::ports | on::links, "q*(S*alpha + L) + (K-1)/K*N/B", "K*S", bruck_et_al}}}};

extern const Algorithm all_to_all_bruck{
    .operation = Operation::all_to_all,
    .name = "bruck",
    .summary = "log2(K) rounds with half of the data each",
    .program = all_to_all_by_bits,
    .symmetry = Symmetry::rotation,
    .scratch = all_to_all_by_bits_scratch,
    .messages_exceed_a_block = true,
    // Otherwise m is how many numbers below K have the bit of the round.
    .costs = {{{on::ports | on::links, "log2(K)*(S*alpha + N/(2*B) + L)", "K*S", bruck_et_al,
                when::power_of_two},
               {on::ports | on::links,
                "sum(i = 0..q-1, hop(m*N/K)), m = c*2^i + max(0, K - (2*c+1)*2^i), "
                "c = floor(K/2^(i+1))",
                "K*S", bruck_et_al}}}};

}  // namespace collsim
