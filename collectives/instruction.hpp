// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <compare>
#include <cstdint>

#include "collectives/span.hpp"
#include "topo/ids.hpp"
#include "topo/units.hpp"

namespace collsim {

// Where a message comes from or goes to: a lane of a rank.
struct Endpoint {
  Rank rank;
  Lane lane;
  std::uint16_t unused = 0;  // spelled out, so that comparing is comparing one word

  constexpr bool operator==(const Endpoint& other) const {
    return std::bit_cast<std::uint64_t>(*this) == std::bit_cast<std::uint64_t>(other);
  }
  constexpr auto operator<=>(const Endpoint& other) const {
    return rank == other.rank ? lane <=> other.lane : rank <=> other.rank;
  }
  [[nodiscard]] constexpr Endpoint on(Lane other) const { return {rank, other}; }
};

// What one instruction does, in this order, each part optional:
//
//   value := what the next message from `from` holds       (receives)
//   value := value (+) source, or just source              (reads; reduces when it also receives)
//   destination := value                                   (stores)
//   a message holding value goes to `to`                   (sends)
//
// so the names below are bit patterns, and a consumer asks for the parts, not for the names.
// `local_reduce` is destination := destination (+) source.  `signal` and `wait` order two lanes of
// the same rank: the k-th wait for a lane ends after its k-th signal.  `work` keeps the lane busy
// for a time, as computing does; `drain` lasts until the last message of the lane has left.
enum class Op : std::uint8_t {
  send = 0b01010,
  receive = 0b00101,
  receive_send = 0b01101,
  receive_reduce = 0b00111,
  receive_reduce_send = 0b01011,
  receive_reduce_store_send = 0b01111,
  copy = 0b00110,
  copy_send = 0b01110,
  local_reduce = 0b10110,
  signal = 0b100000,
  wait = 0b1000000,
  work = 0b10000000,
  drain = 0b10010000,
};

[[nodiscard]] constexpr bool has_bit(Op op, unsigned bit) {
  return (static_cast<unsigned>(op) & bit) != 0;
}
[[nodiscard]] constexpr bool receives(Op op) {
  return has_bit(op, 1U);
}
[[nodiscard]] constexpr bool reads(Op op) {
  return has_bit(op, 2U);
}
[[nodiscard]] constexpr bool stores(Op op) {
  return has_bit(op, 4U);
}
[[nodiscard]] constexpr bool sends(Op op) {
  return has_bit(op, 8U);
}
// Not every bit pattern is an operation.
[[nodiscard]] constexpr bool exists(Op op) {
  switch (op) {
    case Op::send:
    case Op::receive:
    case Op::receive_send:
    case Op::receive_reduce:
    case Op::receive_reduce_send:
    case Op::receive_reduce_store_send:
    case Op::copy:
    case Op::copy_send:
    case Op::local_reduce:
    case Op::signal:
    case Op::wait:
    case Op::work:
    case Op::drain: return true;
  }
  return false;
}
// Concerns time only: touches no data and no other lane.
[[nodiscard]] constexpr bool takes_time_only(Op op) {
  return has_bit(op, 0b10000000U);
}
[[nodiscard]] constexpr bool orders_lanes(Op op) {
  return has_bit(op, 0b1100000U);
}
// Needs something from another lane (a message or a signal), has something for another lane.
[[nodiscard]] constexpr bool takes_from_lane(Op op) {
  return has_bit(op, 0b1000001U);
}
[[nodiscard]] constexpr bool gives_to_lane(Op op) {
  return has_bit(op, 0b0101000U);
}
// Takes part in a message between ranks.
[[nodiscard]] constexpr bool exchanges(Op op) {
  return has_bit(op, 0b01001U);
}
[[nodiscard]] constexpr bool reduces(Op op) {
  return (receives(op) && reads(op)) || op == Op::local_reduce;
}
[[nodiscard]] constexpr const char* to_string(Op op) {
  switch (op) {
    case Op::send: return "send";
    case Op::receive: return "receive";
    case Op::receive_send: return "receive_send";
    case Op::receive_reduce: return "receive_reduce";
    case Op::receive_reduce_send: return "receive_reduce_send";
    case Op::receive_reduce_store_send: return "receive_reduce_store_send";
    case Op::copy: return "copy";
    case Op::copy_send: return "copy_send";
    case Op::local_reduce: return "local_reduce";
    case Op::signal: return "signal";
    case Op::wait: return "wait";
    case Op::work: return "work";
    case Op::drain: return "drain";
  }
  return "?";
}

struct Instruction {
  Op op = Op::copy;
  Buffer source_buffer = Buffer::input;
  Buffer destination_buffer = Buffer::output;
  Endpoint from{};  // signal and wait use `to` and `from` for the other lane of the same rank
  Endpoint to{};
  std::int64_t source_offset = 0;
  std::int64_t destination_offset = 0;
  // Elements; the same for source, destination and message.  Of work: picoseconds.
  std::int64_t count = 0;

  [[nodiscard]] constexpr Span source() const { return {source_buffer, source_offset, count}; }
  [[nodiscard]] constexpr Span destination() const {
    return {destination_buffer, destination_offset, count};
  }
  // The same on one of the pieces of its data.
  [[nodiscard]] constexpr Instruction piece(int c, const EvenPieces& pieces) const {
    Instruction result = *this;
    result.source_offset += pieces.offset(c);
    result.destination_offset += pieces.offset(c);
    result.count = pieces.count(c);
    return result;
  }
  [[nodiscard]] constexpr Instruction piece(int c, int chunks) const {
    return piece(c, EvenPieces(count, chunks));
  }
};
static_assert(sizeof(Instruction) <= 48,
              "one instruction per message: keep it within a cache line");

// The vocabulary in which algorithms are written.  Parameters are references because g++ keeps a
// copy of what is passed by value in the frame of a coroutine that yields the result.

[[nodiscard]] constexpr Instruction send(const Endpoint& to, const Span& source) {
  return {Op::send, source.buffer, source.buffer, {},
          to,       source.offset, source.offset, source.count};
}
[[nodiscard]] constexpr Instruction receive(const Endpoint& from, const Span& destination) {
  return {Op::receive, destination.buffer, destination.buffer, from,
          {},          destination.offset, destination.offset, destination.count};
}
// Receive, keep and pass on.
[[nodiscard]] constexpr Instruction receive_send(const Endpoint& from, const Span& destination,
                                                 const Endpoint& to) {
  return {Op::receive_send,   destination.buffer, destination.buffer, from, to,
          destination.offset, destination.offset, destination.count};
}
// destination := message (+) source; source and destination may be the same span or have the same
// length.
[[nodiscard]] constexpr Instruction receive_reduce(const Endpoint& from, const Span& source,
                                                   const Span& destination) {
  return {Op::receive_reduce, source.buffer,      destination.buffer, from, {},
          source.offset,      destination.offset, destination.count};
}
// Pass message (+) source on without keeping it.
[[nodiscard]] constexpr Instruction receive_reduce_send(const Endpoint& from, const Span& source,
                                                        const Endpoint& to) {
  return {Op::receive_reduce_send, source.buffer, source.buffer, from, to,
          source.offset,           source.offset, source.count};
}
// destination := message (+) source, and pass it on.
[[nodiscard]] constexpr Instruction receive_reduce_store_send(const Endpoint& from,
                                                              const Span& source,
                                                              const Span& destination,
                                                              const Endpoint& to) {
  return {Op::receive_reduce_store_send,
          source.buffer,
          destination.buffer,
          from,
          to,
          source.offset,
          destination.offset,
          destination.count};
}
[[nodiscard]] constexpr Instruction copy(const Span& source, const Span& destination) {
  return {Op::copy, source.buffer, destination.buffer, {},
          {},       source.offset, destination.offset, destination.count};
}
// destination := source, and send it.
[[nodiscard]] constexpr Instruction copy_send(const Span& source, const Span& destination,
                                              const Endpoint& to) {
  return {Op::copy_send, source.buffer,      destination.buffer, {}, to,
          source.offset, destination.offset, destination.count};
}
// destination := destination (+) source.
[[nodiscard]] constexpr Instruction local_reduce(const Span& source, const Span& destination) {
  return {Op::local_reduce, source.buffer,      destination.buffer, {}, {},
          source.offset,    destination.offset, destination.count};
}
// Tell another lane of this rank that everything before is done ...
[[nodiscard]] constexpr Instruction signal(const Endpoint& other_lane) {
  Instruction instruction;
  instruction.op = Op::signal;
  instruction.to = other_lane;
  return instruction;
}
// ... and wait until it says so.
[[nodiscard]] constexpr Instruction wait(const Endpoint& other_lane) {
  Instruction instruction;
  instruction.op = Op::wait;
  instruction.from = other_lane;
  return instruction;
}
[[nodiscard]] constexpr Instruction work(Time duration) {
  Instruction instruction;
  instruction.op = Op::work;
  instruction.count = duration.ps();
  return instruction;
}
[[nodiscard]] constexpr Instruction drain() {
  Instruction instruction;
  instruction.op = Op::drain;
  return instruction;
}

}  // namespace collsim
