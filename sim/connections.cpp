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

std::size_t ConnectionTable::place_of(std::uint64_t key) const {
  const std::size_t mask = table_.size() - 1;
  std::size_t place = (key * 0x9e3779b97f4a7c15U) >> 32U;
  while (true) {
    place &= mask;
    const Entry& entry = table_[place];
    if (entry.connection_plus_one == 0 || entry.key == key) return place;
    ++place;
  }
}

Connection* ConnectionTable::find(std::uint64_t key) const {
  const std::uint32_t found = table_[place_of(key)].connection_plus_one;
  return found == 0 ? nullptr : &(*this)[found - 1];
}

Connection& ConnectionTable::open(std::uint64_t key) {
  if (2 * (count_ + 1) > table_.size()) rehash(2 * table_.size());
  if (count_ == std::numeric_limits<std::uint32_t>::max() - 1)
    throw_error(ErrorCode::too_large, "more than 4,294,967,294 connections");
  if (count_ % block_size == 0) blocks_.push_back(std::make_unique<Connection[]>(block_size));
  const std::size_t number = count_++;
  table_[place_of(key)] = {key, static_cast<std::uint32_t>(number + 1)};
  Connection& connection = (*this)[number];
  connection.number = static_cast<std::uint32_t>(number);
  connection.slots = take_slots(1);
  return connection;
}

void ConnectionTable::rehash(std::size_t capacity) {
  std::vector<Entry> old(capacity);
  old.swap(table_);
  for (const Entry& entry : old)
    if (entry.connection_plus_one != 0) table_[place_of(entry.key)] = entry;
}

void ConnectionTable::set_links(Connection& connection, std::span<const LinkId> links) {
  connection.links_begin = static_cast<std::uint32_t>(links_.size());
  connection.links_count = static_cast<std::uint32_t>(links.size());
  links_.insert(links_.end(), links.begin(), links.end());
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
