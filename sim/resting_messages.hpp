// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "sim/connections.hpp"

namespace collsim {

// Internal to sim/: messages under way, or not yet received, whose two ends have turned to others.
//
// In an exchange among all ranks nearly every message is the only one of its connection and rests
// like this: 24 bytes and a place in a table take the place of the connection, which is closed.
// The end that turns to it again opens a connection, with the message in it.
class RestingMessages {
 public:
  using Number = std::uint32_t;
  static constexpr std::int64_t most_elements = std::numeric_limits<std::uint32_t>::max();

  RestingMessages() : first_(64) {}

  // One that is under way on a stream of fair links (Flows).
  Number add(LaneNumber source, LaneNumber target, std::int64_t count);
  void set_stream(Number number, std::uint32_t stream) {
    messages_[number].time_or_stream = -1 - static_cast<std::int64_t>(stream);
  }
  void arrive(Number number, Time arrival) { messages_[number].time_or_stream = arrival.ps(); }

  struct Message {
    LaneNumber source = 0;
    LaneNumber target = 0;
    std::uint32_t next_plus_one = 0;  // with the same hash, or free; 0: none
    std::uint32_t count = 0;          // elements
    std::int64_t time_or_stream = 0;

    [[nodiscard]] bool is_under_way() const { return time_or_stream < 0; }
    [[nodiscard]] std::uint32_t stream() const {
      return static_cast<std::uint32_t>(-1 - time_or_stream);
    }
    [[nodiscard]] Time arrival() const { return Time(time_or_stream); }
  };
  [[nodiscard]] const Message& operator[](Number number) const { return messages_[number]; }
  [[nodiscard]] bool empty() const { return count_ == 0; }
  // Takes the one from this lane to that out, into `message`; false when there is none.
  [[nodiscard]] bool take(LaneNumber source, LaneNumber target, Message& message);
  // One of them, if there are any.
  [[nodiscard]] const Message* any() const;

 private:
  [[nodiscard]] std::size_t bucket_of(LaneNumber source, LaneNumber target) const {
    return hash_of_lanes(source, target) & (first_.size() - 1);
  }
  void rehash();

  std::size_t count_ = 0;
  std::vector<Message> messages_;
  std::uint32_t first_free_plus_one_ = 0;
  std::vector<std::uint32_t> first_;  // by hash: number plus one; 0: none
};

}  // namespace collsim
