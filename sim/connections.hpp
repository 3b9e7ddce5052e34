// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "topo/error.hpp"
#include "topo/ids.hpp"
#include "topo/topology.hpp"
#include "topo/units.hpp"

namespace collsim {

// Internal to sim/: the queues between lanes, and what a message on each costs.

using LaneNumber = std::uint32_t;  // dense number of a lane among all lanes that are simulated

// Of the two ends of a connection; its low bits are good ones.
[[nodiscard]] inline std::size_t hash_of_lanes(LaneNumber source, LaneNumber target) {
  const std::uint64_t key = (static_cast<std::uint64_t>(source) << 32U) | target;
  return (key * 0x9e3779b97f4a7c15U) >> 32U;
}

// One place of a queue.  `time` is, while the place holds a message, when that arrives (never():
// not known yet, event engine only); after the message was received, when the slot became free;
// before the first message, 0.
struct Slot {
  Time time;
  std::int64_t count = 0;  // of the message, in elements
};

// In order: message k lies in slots[k & mask] from its sending (k == sent) to its receiving (k ==
// received).  0 <= sent - received <= limit, and the slots of the last `limit` messages are kept,
// because a message that takes a slot over cannot be ready before it became free.
struct Queue {
  static constexpr std::uint64_t unlimited = std::uint64_t{1} << 63U;

  Slot* slots = nullptr;
  std::uint64_t sent = 0;
  std::uint64_t received = 0;
  std::uint64_t limit = unlimited;
  std::uint64_t room = 1;  // with fewer messages in it than this, another one may be sent at once
  std::uint32_t mask = 0;
  bool receiver_waits = false;
  bool sender_waits = false;
  std::uint8_t users = 0;  // event engine only: which lanes use it now, as bits

  [[nodiscard]] bool empty() const { return received == sent; }
  [[nodiscard]] std::uint64_t waiting() const { return sent - received; }
  [[nodiscard]] Slot& slot(std::uint64_t message) { return slots[message & mask]; }
  [[nodiscard]] const Slot& slot(std::uint64_t message) const { return slots[message & mask]; }
};

// The route of a connection's messages, and what it costs.
struct Path {
  // The links that a message crosses, as bits.  within_rank, within_switch: none; signals between
  // two lanes of one rank and messages between two lanes in one switch occupy and cost nothing.
  // Dataflow engine only: uneven: links that differ in startup or bandwidth, or cost what the size
  // of a message says; shared: with other connections.  own_first: nobody but the source uses the
  // first link; in the dataflow engine several of its connections do, and no other of their links.
  enum Kind : std::uint8_t {
    within_rank = 0,
    exclusive = 1,
    fair = 2,
    shared = 4,
    within_switch = 8,
    uneven = 16,
    own_first = 32
  };

  static constexpr Bandwidth unlimited{std::numeric_limits<std::int64_t>::max()};

  // Dataflow engine only; of use only where its links are of one kind.
  Time latency{};
  Time startup{};   // the largest
  Time duration{};  // of a message: alpha + n/B
  std::uint32_t links_begin = 0;
  std::uint32_t links_count = 0;
  // Where connections share their first link (dataflow engine): the number of that which knows when
  // it is free again.
  std::uint32_t keeper = 0;
  std::uint8_t room_bits = 0;  // 0: there is no room for links; else for 2 to the power of this - 1
  std::uint8_t kinds = within_rank;

  [[nodiscard]] bool crosses(Kind kind) const { return (kinds & kind) != 0; }
  [[nodiscard]] bool is_free() const { return kinds == within_rank || kinds == within_switch; }
  // Of a connection that was opened only to receive a message that had arrived.
  [[nodiscard]] bool has_no_route() const { return kinds == fair && links_count == 0; }
  // Links in series that are alike and serve nobody else take a message as one link does: at the
  // second link it never waits.
  [[nodiscard]] bool is_like_one_link() const { return kinds == exclusive; }
  [[nodiscard]] bool shares_first_link_only() const { return kinds == (exclusive | own_first); }
  [[nodiscard]] std::size_t links_room() const { return (std::size_t{1} << room_bits) >> 1U; }
  void add(const Link& link, const Link& first) {
    const Kind kind = link.sharing == Sharing::exclusive ? exclusive : fair;
    if (kinds != within_rank && (startup != link.startup || first.bandwidth != link.bandwidth))
      kinds |= uneven;
    if (link.segments != 0) kinds |= uneven;
    kinds |= kind;
    startup = std::max(startup, link.startup);
    latency += link.latency;
  }
  // With the smallest bandwidth of its links.
  void set_duration(Bytes bytes, Bandwidth bandwidth) {
    duration = startup + transfer_time(bytes, bandwidth);
    COLLSIM_CHECK(duration >= Time{} && latency >= Time{},
                  "a message would arrive before it is sent, or free a link before it took it");
  }
};

// One per pair of communicating lanes, and direction.  Only its source writes `sent` and only its
// target `received`.  What an engine knows of it besides lies in the engine's own arrays, by
// number.
struct Connection {
  Queue queue;
  Path path;
  LaneNumber source = 0;
  LaneNumber target = 0;
  std::uint32_t number = 0;         // in order of opening; used again after closing
  std::uint32_t next_plus_one = 0;  // with the same hash, or also closed; 0: none
  Time first_free{};                // see Path::keeper
  Time left_at{};                   // when the last byte of its messages so far left the sender
  // Elements of a message sent now, for which path.duration is right (dataflow engine only).
  std::int64_t message_size = -1;
};
static_assert(sizeof(Connection) == 128, "there may be millions");

// All connections of a simulation: looked up by source and target, at stable addresses, in order of
// opening.
class ConnectionTable {
 public:
  // Every connection has this many slots; nothing: unlimited.
  explicit ConnectionTable(std::optional<int> slots)
      : limit_(slots ? static_cast<std::uint64_t>(*slots) : Queue::unlimited),
        first_(bucket_mask_ + 1) {}

  // nullptr when it is not open.
  [[nodiscard]] Connection* find(LaneNumber source, LaneNumber target) const {
    std::uint32_t plus_one = first_[bucket_of(source, target)];
    while (plus_one != 0) {
      Connection& connection = (*this)[plus_one - 1];
      if (connection.source == source && connection.target == target) return &connection;
      plus_one = connection.next_plus_one;
    }
    return nullptr;
  }
  // One that is not open; within a rank until it gets a route.
  Connection& open(LaneNumber source, LaneNumber target) {
    const std::uint32_t closed = first_closed_plus_one_;
    Connection& connection = closed != 0 ? (*this)[closed - 1] : new_connection();
    if (closed != 0) first_closed_plus_one_ = connection.next_plus_one;
    connection.source = source;
    connection.target = target;
    std::uint32_t& first = first_[bucket_of(source, target)];
    connection.next_plus_one = std::exchange(first, connection.number + 1);
    return connection;
  }
  // Removes an empty connection to which nothing points; reopening it starts from scratch.
  void close(Connection& connection);

  [[nodiscard]] std::size_t size() const { return count_; }
  [[nodiscard]] Connection& operator[](std::size_t number) const {
    return blocks_[number / block_size][number % block_size];
  }

  // From now on its messages cross these links; what they cost is for the engine to note.
  void set_links(Connection& connection, std::span<const LinkId> links);
  [[nodiscard]] std::span<const LinkId> links(const Connection& connection) const {
    return {links_.data() + connection.path.links_begin, connection.path.links_count};
  }
  // By its place among those of all routes: links_begin ...
  [[nodiscard]] LinkId link(std::uint32_t place) const { return links_[place]; }

  // A sender may not be further ahead of its receiver than this, even where slots are unlimited.
  [[nodiscard]] std::uint64_t run_ahead() const { return run_ahead_; }
  void set_run_ahead(std::uint64_t messages) { run_ahead_ = messages; }
  // Room for one more message, where Queue::room says no; false when there is none.
  [[nodiscard]] bool make_room(Queue& queue);

 private:
  static constexpr std::size_t block_size = 1024;

  [[nodiscard]] std::size_t bucket_of(LaneNumber source, LaneNumber target) const {
    return hash_of_lanes(source, target) & bucket_mask_;
  }
  Connection& new_connection();
  void rehash();
  void make_room_for_links(Path& path, std::size_t links);
  void grow(Queue& queue, std::uint64_t capacity);
  Slot* take_slots(std::size_t count);

  std::uint64_t limit_;
  std::uint64_t run_ahead_ = Queue::unlimited;
  std::size_t count_ = 0;
  std::vector<std::unique_ptr<Connection[]>> blocks_;
  std::uint32_t first_closed_plus_one_ = 0;  // their numbers are used again
  std::uint64_t bucket_mask_ = 63;
  std::vector<std::uint32_t> first_;  // by hash: number of a connection plus one; 0: none
  std::vector<LinkId> links_;         // of all routes

  // Slots are carved from large blocks: millions of connections need a few bytes each.
  std::vector<std::unique_ptr<Slot[]>> slot_blocks_;
  std::size_t slots_left_ = 0;
  Slot* next_slot_ = nullptr;
};

// Its room for messages and links is kept for the next connection with this number.
inline void ConnectionTable::close(Connection& connection) {
  COLLSIM_CHECK(connection.queue.empty(), "a connection with messages cannot be closed");
  std::uint32_t* link = &first_[bucket_of(connection.source, connection.target)];
  while (*link != connection.number + 1) link = &(*this)[*link - 1].next_plus_one;
  *link = connection.next_plus_one;
  connection.next_plus_one = std::exchange(first_closed_plus_one_, connection.number + 1);

  Queue& queue = connection.queue;
  queue.sent = queue.received = 0;
  queue.limit = Queue::unlimited;
  queue.room = 1;
  Path& path = connection.path;
  path.latency = path.startup = Time{};
  path.links_count = 0;
  path.kinds = Path::within_rank;
  connection.left_at = Time{};
  connection.message_size = -1;
}

inline void ConnectionTable::set_links(Connection& connection, std::span<const LinkId> links) {
  connection.queue.limit = limit_;
  connection.queue.room = limit_ == Queue::unlimited ? 1 : 0;
  Path& path = connection.path;
  if (links.size() > path.links_room()) make_room_for_links(path, links.size());
  path.links_count = static_cast<std::uint32_t>(links.size());
  LinkId* place = links_.data() + path.links_begin;
  for (const LinkId link : links) *place++ = link;  // too few for memmove
}

}  // namespace collsim
