// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "topo/ids.hpp"
#include "topo/units.hpp"

namespace collsim {

// Internal to sim/: the queues between lanes, and what a message on each costs.

using LaneNumber = std::uint32_t;  // dense number of a lane among all lanes that are simulated

// One place of a connection's queue.  While it holds a message, `time` is when that arrives
// (never(): not known yet); after the message was received, `time` is when the slot became free.
struct Slot {
  Time time;
  std::int64_t count = 0;
};

struct Connection {
  static constexpr std::uint64_t unlimited = std::uint64_t{1} << 63U;

  LaneNumber source = 0;
  LaneNumber target = 0;

  // The queue: message k lies in slots[k & mask] from its sending (k == sent) to its receiving (k
  // == received).
  std::uint64_t received = 0;
  std::uint64_t sent = 0;
  // At most `limit` messages are in it, and then the slots of the last `limit` are kept.
  Slot* slots = nullptr;
  std::uint32_t mask = 0;
  std::uint32_t smallest_mask = 0;  // that keeps the slots of the last `limit` messages
  std::uint64_t limit = unlimited;
  bool receiver_waits = false;
  bool sender_waits = false;
  bool source_at_hand = false;  // the lane's latest connection, so that it keeps a pointer to it
  bool target_at_hand = false;

  // The route: what a message occupies and what it costs.  No links within a rank.
  bool within_rank = false;  // carries signals between two lanes of one rank, which cost nothing
  bool crosses_fair_link = false;
  bool crosses_exclusive_link = false;
  bool shares_links = false;  // with other connections (known to the dataflow engine only)
  std::uint32_t number = 0;   // in order of opening
  std::uint32_t links_begin = 0;
  std::uint32_t links_count = 0;
  std::uint32_t links_room = 0;
  Time overhead{};
  Time latency{};
  Bandwidth bandwidth{1};
  Time left{};  // when the last byte so far left the links

  // Most messages of a connection have the length of the one before.
  std::int64_t cached_count = -1;
  Time cached_duration{};

  [[nodiscard]] bool empty() const { return received == sent; }
  [[nodiscard]] std::uint64_t waiting() const { return sent - received; }
  [[nodiscard]] Slot& slot(std::uint64_t message) { return slots[message & mask]; }

  // alpha + n/B for a message of `count` elements.
  [[nodiscard]] Time duration(std::int64_t count, Bytes element_size) {
    if (count != cached_count) {
      cached_duration = overhead + transfer_time(count * element_size, bandwidth);
      cached_count = count;
    }
    return cached_duration;
  }
};

// All connections of a simulation: found by who talks to whom, at stable addresses, in order of
// opening.
class ConnectionTable {
 public:
  ConnectionTable();

  // nullptr when it is not open.  The key is any 64-bit name of the connection.
  [[nodiscard]] Connection* find(std::uint64_t key) {
    last_place_ = place_of(key);
    const std::uint32_t found = table_[last_place_].connection_plus_one;
    return found == 0 ? nullptr : &(*this)[found - 1];
  }
  Connection& open(std::uint64_t key);  // after find() of the same key found nothing
  // Forgets an empty connection that nobody points to; opening it again starts from nothing.
  void close(std::uint64_t key);

  [[nodiscard]] std::size_t size() const { return count_; }
  [[nodiscard]] Connection& operator[](std::size_t number) const {
    return blocks_[number / block_size][number % block_size];
  }

  // At most this many messages; before the first one is sent.
  void set_limit(Connection& connection, std::uint64_t slots);
  // Room for the message about to be sent.
  void make_room(Connection& connection) {
    const bool full = connection.waiting() > connection.mask;
    if (full || connection.mask < connection.smallest_mask) [[unlikely]]
      make_more_room(connection, full);
  }

  // The links of routes, all in one array.
  void set_links(Connection& connection, std::span<const LinkId> links);
  [[nodiscard]] std::span<const LinkId> links(const Connection& connection) const {
    return {links_.data() + connection.links_begin, connection.links_count};
  }

 private:
  static constexpr std::size_t block_size = 1024;
  struct Entry {
    std::uint64_t key = 0;
    std::uint32_t connection_plus_one = 0;  // 0: unused
  };

  [[nodiscard]] std::size_t home_of(std::uint64_t key) const {
    return (key * 0x9e3779b97f4a7c15U) >> 32U;
  }
  // Where the key is, or the unused place where it would go.
  [[nodiscard]] std::size_t place_of(std::uint64_t key) const {
    const std::size_t mask = table_.size() - 1;
    std::size_t place = home_of(key) & mask;
    while (table_[place].connection_plus_one != 0 && table_[place].key != key)
      place = (place + 1) & mask;
    return place;
  }
  void rehash(std::size_t capacity);
  void make_more_room(Connection& connection, bool full);
  void grow(Connection& connection);
  Slot* take_slots(std::size_t count);

  std::size_t count_ = 0;
  std::vector<std::unique_ptr<Connection[]>> blocks_;
  std::vector<std::uint32_t> closed_;  // numbers to be used again
  std::vector<Entry> table_;
  std::size_t last_place_ = 0;  // where find() looked: open() of the same key need not look again
  std::vector<LinkId> links_;

  // Slots are carved from large blocks: millions of connections need a few bytes each.
  std::vector<std::unique_ptr<Slot[]>> slot_blocks_;
  std::size_t slots_left_ = 0;
  Slot* next_slot_ = nullptr;
};

}  // namespace collsim
