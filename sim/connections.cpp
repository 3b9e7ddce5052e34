// SPDX-License-Identifier: Apache-2.0
#include "sim/connections.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <string>
#include <utility>

#include "topo/error.hpp"

namespace collsim {

ConnectionTable::ConnectionTable() : table_(64) {}

Connection& ConnectionTable::open(std::uint64_t key) {
  std::uint32_t number = 0;
  if (closed_.empty()) {
    if (2 * (count_ + 1) > table_.size()) {
      rehash(2 * table_.size());
      last_place_ = place_of(key);
    }
    if (count_ == std::numeric_limits<std::uint32_t>::max() - 1)
      throw_error(ErrorCode::too_large, "more than 4,294,967,294 connections at once");
    if (count_ % block_size == 0) blocks_.push_back(std::make_unique<Connection[]>(block_size));
    number = static_cast<std::uint32_t>(count_++);
    (*this)[number].slots = take_slots(1);
  } else {
    number = closed_.back();
    closed_.pop_back();
  }
  table_[last_place_] = {key, number + 1};
  Connection& connection = (*this)[number];
  connection.number = number;
  return connection;
}

void ConnectionTable::close(std::uint64_t key) {
  const std::size_t mask = table_.size() - 1;
  std::size_t hole = place_of(key);
  const std::uint32_t number = table_[hole].connection_plus_one - 1;
  // Entries that were pushed on because of this one move up, so that searches still find them.
  for (std::size_t place = (hole + 1) & mask; table_[place].connection_plus_one != 0;
       place = (place + 1) & mask) {
    const std::size_t home = home_of(table_[place].key) & mask;
    if (((place - home) & mask) < ((place - hole) & mask)) continue;
    table_[hole] = table_[place];
    hole = place;
  }
  table_[hole] = {};

  Connection fresh;
  Connection& connection = (*this)[number];
  fresh.slots = connection.slots;
  fresh.mask = connection.mask;
  fresh.links_begin = connection.links_begin;
  fresh.links_room = connection.links_room;
  connection = fresh;
  closed_.push_back(number);
}

void ConnectionTable::rehash(std::size_t capacity) {
  std::vector<Entry> old(capacity);
  old.swap(table_);
  for (const Entry& entry : old)
    if (entry.connection_plus_one != 0) table_[place_of(entry.key)] = entry;
}

// A connection that is opened again keeps its room for links and doubles it at most, so that
// routes of all lengths taking turns do not add up.
void ConnectionTable::set_links(Connection& connection, std::span<const LinkId> links) {
  if (connection.links_room < links.size()) {
    const std::size_t room = std::bit_ceil(links.size());
    if (links_.size() + room > std::numeric_limits<std::uint32_t>::max())
      throw_error(ErrorCode::too_large, "the routes of all open connections have more than " +
                                            std::to_string(links_.size()) + " links");
    connection.links_begin = static_cast<std::uint32_t>(links_.size());
    connection.links_room = static_cast<std::uint32_t>(room);
    links_.resize(links_.size() + room);
  }
  connection.links_count = static_cast<std::uint32_t>(links.size());
  for (std::size_t i = 0; i < links.size(); ++i) links_[connection.links_begin + i] = links[i];
}

void ConnectionTable::set_limit(Connection& connection, std::uint64_t slots) {
  connection.limit = slots;
  connection.smallest_mask = static_cast<std::uint32_t>(std::bit_ceil(slots) - 1);
}

// A few slots are made at once; many only when messages come to need them.
void ConnectionTable::make_more_room(Connection& connection, bool full) {
  constexpr std::uint32_t few = 63;
  if (full || connection.sent > connection.mask) grow(connection);
  while (connection.mask < std::min(connection.smallest_mask, few)) grow(connection);
}

void ConnectionTable::grow(Connection& connection) {
  const std::size_t old_capacity = connection.mask + std::size_t{1};
  const std::size_t capacity = 2 * old_capacity;
  Slot* const slots = take_slots(capacity);
  const std::uint64_t first =
      connection.sent - std::min<std::uint64_t>(connection.sent, old_capacity);
  for (std::uint64_t message = first; message != connection.sent; ++message)
    slots[message & (capacity - 1)] = connection.slot(message);
  connection.slots = slots;
  connection.mask = static_cast<std::uint32_t>(capacity - 1);
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
