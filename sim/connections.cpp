// SPDX-License-Identifier: Apache-2.0
#include "sim/connections.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <string>
#include <utility>

#include "topo/error.hpp"

namespace collsim {

Connection& ConnectionTable::new_connection() {
  if (count_ == first_.size()) rehash();
  if (count_ == std::numeric_limits<std::uint32_t>::max() - 1)
    throw_error(ErrorCode::too_large, "more than 4,294,967,294 connections at once");
  if (count_ % block_size == 0) blocks_.push_back(std::make_unique<Connection[]>(block_size));
  Connection& connection = (*this)[count_];
  connection.number = static_cast<std::uint32_t>(count_++);
  connection.queue.slots = take_slots(1);
  return connection;
}

// Only when all numbers are in use.
void ConnectionTable::rehash() {
  first_.assign(2 * first_.size(), 0);
  bucket_mask_ = first_.size() - 1;
  for (std::uint32_t number = 0; number < count_; ++number) {
    Connection& connection = (*this)[number];
    std::uint32_t& first = first_[bucket_of(connection.source, connection.target)];
    connection.next_plus_one = std::exchange(first, number + 1);
  }
}

// A connection that is opened again keeps its room for links and doubles it at most, so that
// routes of all lengths taking turns do not add up.
void ConnectionTable::make_room_for_links(Path& path, std::size_t links) {
  const std::size_t room = std::bit_ceil(links);
  if (links_.size() + room > std::numeric_limits<std::uint32_t>::max())
    throw_error(ErrorCode::too_large, "the routes of all open connections have more than " +
                                          std::to_string(links_.size()) + " links");
  path.links_begin = static_cast<std::uint32_t>(links_.size());
  path.room_bits = static_cast<std::uint8_t>(std::bit_width(room));
  links_.resize(links_.size() + room);
}

// A few slots are made at once; many only when messages come to need them.  Where slots are
// limited, those of the last `limit` messages must be kept, so room stays 0 until there are that
// many.
bool ConnectionTable::make_room(Queue& queue) {
  constexpr std::uint64_t few = 64;
  const std::uint64_t allowed = std::min(queue.limit, run_ahead_);
  if (queue.waiting() >= allowed) return false;
  const bool limited = queue.limit != Queue::unlimited;
  std::uint64_t capacity = queue.mask + std::uint64_t{1};
  if (limited) capacity = std::max(capacity, std::min(std::bit_ceil(queue.limit), few));
  const std::uint64_t kept = limited && capacity < queue.limit ? queue.sent : queue.waiting();
  if (kept >= capacity) capacity *= 2;
  if (capacity > queue.mask + std::uint64_t{1}) grow(queue, capacity);
  queue.room = limited && capacity < queue.limit ? 0 : std::min(allowed, capacity);
  COLLSIM_CHECK(queue.waiting() <= queue.mask && queue.waiting() < queue.limit,
                "a message would overwrite another one");
  return true;
}

void ConnectionTable::grow(Queue& queue, std::uint64_t capacity) {
  Slot* const slots = take_slots(capacity);
  const std::uint64_t kept = std::min<std::uint64_t>(queue.sent, queue.mask + std::uint64_t{1});
  for (std::uint64_t message = queue.sent - kept; message != queue.sent; ++message)
    slots[message & (capacity - 1)] = queue.slot(message);
  queue.slots = slots;
  queue.mask = static_cast<std::uint32_t>(capacity - 1);
}

Slot* ConnectionTable::take_slots(std::size_t count) {
  constexpr std::size_t slots_per_block = 1024;
  if (count > slots_left_) {
    const std::size_t wanted = std::max(slots_per_block, count);
    slot_blocks_.push_back(std::make_unique<Slot[]>(wanted));
    next_slot_ = slot_blocks_.back().get();
    slots_left_ = wanted;
  }
  slots_left_ -= count;
  return std::exchange(next_slot_, next_slot_ + count);
}

}  // namespace collsim
