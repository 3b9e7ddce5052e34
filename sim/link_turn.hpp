// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/connections.hpp"
#include "sim/digit_sort.hpp"

namespace collsim {

// Internal to sim/.  Who asks for a link: a lane with its next message, or one of its messages.  By
// lane first.
class LinkTurn {
 public:
  static LinkTurn of(LaneNumber lane) { return {lane, its_next_message}; }
  static LinkTurn of(LaneNumber lane, std::uint32_t transit) { return {lane, transit}; }
  [[nodiscard]] LaneNumber lane() const { return static_cast<LaneNumber>(word_ >> 32U); }
  [[nodiscard]] bool posts() const { return transit() == its_next_message; }
  [[nodiscard]] std::uint32_t transit() const { return static_cast<std::uint32_t>(word_); }
  auto operator<=>(const LinkTurn&) const = default;

 private:
  static constexpr std::uint32_t its_next_message = ~std::uint32_t{0};
  LinkTurn(LaneNumber lane, std::uint32_t transit)
      : word_((std::uint64_t{lane} << 32U) | transit) {}
  std::uint64_t word_;
};

// Sorts by lane, and those of one lane by this order.  `lanes`: how many there are; `room`: memory
// that callers keep.
template <class Order>
void sort_turns(std::vector<LinkTurn>& turns, std::vector<LinkTurn>& room, std::size_t lanes,
                const Order& order) {
  const auto goes_after = [](LinkTurn a, LinkTurn b) { return a.lane() >= b.lane(); };
  if (std::adjacent_find(turns.begin(), turns.end(), goes_after) == turns.end()) return;
  constexpr std::size_t few = 64;
  if (turns.size() < few)
    std::sort(turns.begin(), turns.end());
  else
    digit_sort(turns, room, lanes - 1, [](LinkTurn turn) { return turn.lane(); });
  for (auto first = turns.begin(); first != turns.end();) {
    const auto last = std::find_if(first + 1, turns.end(),
                                   [&](LinkTurn turn) { return turn.lane() != first->lane(); });
    if (last - first > 1)
      std::sort(first, last, [&](LinkTurn a, LinkTurn b) { return order(a) < order(b); });
    first = last;
  }
}

// A message between its sending and its last exclusive link.  Of many thousands under way each is
// long out of the cache when its turn comes, and the list of its links, too.
struct Transit {
  std::uint32_t connection;
  LinkId link;            // the next exclusive one, where there is one
  std::uint32_t next;     // its place among the links of all routes
  std::uint32_t end;      // behind the last
  std::uint64_t message;  // of its connection, or of that whose way it takes
  std::uint64_t order;    // among all messages, by sending
  Bytes bytes;
  Time last_byte;  // when that is at the next link, or later
};

}  // namespace collsim
