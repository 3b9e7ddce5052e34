// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "topo/error.hpp"

namespace collsim {

// The queue of future events: a priority queue for whole, monotone times (Ahuja, Mehlhorn, Orlin,
// Tarjan 1990).
//
// Entries leave in order of time and, among equal times, in order of value (smaller first), however
// they were pushed; a value pushed at the current time takes its place among those still there.
// Times are picoseconds, never negative and never smaller than the last popped one (checked): a
// simulation does not schedule the past.
//
//   last       the last popped time
//   current    the values whose time is `last`
//   bucket b   the entries whose time first differs from `last` in digit b / 16, counted from the
//              top, and has b mod 16 there, of 16 hexadecimal digits: every time in bucket b is
//              smaller than every time in bucket b + 1
//
// pop takes from `current`; when that is empty, `last` becomes the smallest time of the lowest
// bucket, whose entries all move to lower buckets.  An entry thus moves at most 15 times and in
// practice a few times, whatever the number of entries: O(1) in the size of the queue, where a
// heap pays O(log n) cache misses.  Buckets keep their memory.
template <class Value>
class RadixHeap {
 public:
  [[nodiscard]] bool empty() const {
    return filled_levels_ == 0 && sorted_.empty() && late_.empty();
  }

  void push(std::int64_t time, Value value) {
    COLLSIM_CHECK(time >= last_, "pushed time " + std::to_string(time) +
                                     " ps lies before the last popped time " +
                                     std::to_string(last_) + " ps");
    if (time == last_) {
      late_.push_back(value);
      std::push_heap(late_.begin(), late_.end(), larger);
    } else {
      put(time, value);
    }
  }

  // The time of the entry that pop will return.  Later pushes may still be earlier than this.
  [[nodiscard]] std::int64_t top_time() const {
    COLLSIM_CHECK(!empty(), "an empty queue has no next time");
    if (!sorted_.empty() || !late_.empty()) return last_;
    return buckets_[lowest()].earliest;
  }

  Value pop() {
    COLLSIM_CHECK(!empty(), "nothing to pop from an empty queue");
    if (sorted_.empty() && late_.empty()) {
      Bucket& bucket = buckets_[lowest()];
      if (bucket.entries.size() == 1) return pop_only_entry(bucket);
      refill(bucket);
    }
    if (late_.empty() || (!sorted_.empty() && sorted_.back() < late_.front())) {
      const Value value = sorted_.back();
      sorted_.pop_back();
      return value;
    }
    std::pop_heap(late_.begin(), late_.end(), larger);
    const Value value = late_.back();
    late_.pop_back();
    return value;
  }

  // Takes all values of the next time, in no particular order, and appends them to `values`:
  // cheaper than popping one by one for a caller who has many with the same time.
  void pop_all(std::vector<Value>& values) {
    COLLSIM_CHECK(!empty(), "nothing to pop from an empty queue");
    if (sorted_.empty() && late_.empty()) {
      take_earliest(buckets_[lowest()], values);
      return;
    }
    values.insert(values.end(), sorted_.begin(), sorted_.end());
    values.insert(values.end(), late_.begin(), late_.end());
    sorted_.clear();
    late_.clear();
  }

  // Empty, and ready to start again at time 0.
  void clear() {
    for (Bucket& bucket : buckets_) bucket.clear();
    sorted_.clear();
    late_.clear();
    filled_levels_ = 0;
    filled_.fill(0);
    last_ = 0;
  }

 private:
  struct Entry {
    std::int64_t time;
    Value value;
  };
  struct Bucket {
    std::vector<Entry> entries;
    std::int64_t earliest = std::numeric_limits<std::int64_t>::max();
    void clear() {
      entries.clear();
      earliest = std::numeric_limits<std::int64_t>::max();
    }
  };
  // A lambda, not a function: std::sort calls functions through a pointer.
  static constexpr auto larger = [](const Value& a, const Value& b) { return b < a; };

  [[nodiscard]] std::size_t lowest() const {
    const auto level = static_cast<std::size_t>(std::countr_zero(filled_levels_));
    return level * digits + static_cast<std::size_t>(std::countr_zero(filled_[level]));
  }

  void put(std::int64_t time, Value value) {
    const auto different = static_cast<std::uint64_t>(time ^ last_);
    const auto level = static_cast<std::size_t>(std::bit_width(different) - 1) / bits;
    const auto digit = static_cast<std::size_t>(time >> (level * bits)) % digits;
    filled_levels_ |= 1U << level;
    filled_[level] |= 1U << digit;
    Bucket& bucket = buckets_[level * digits + digit];
    bucket.earliest = std::min(bucket.earliest, time);
    bucket.entries.push_back({time, value});
  }

  // The lowest bucket will be empty.
  void leave_lowest() {
    std::uint32_t& filled = filled_[static_cast<std::size_t>(std::countr_zero(filled_levels_))];
    filled &= filled - 1;
    if (filled == 0) filled_levels_ &= filled_levels_ - 1;
  }

  Value pop_only_entry(Bucket& bucket) {
    leave_lowest();
    last_ = bucket.earliest;
    const Value value = bucket.entries.front().value;
    bucket.clear();
    return value;
  }

  void refill(Bucket& bucket) {
    take_earliest(bucket, sorted_);
    if (sorted_.size() > 1) std::sort(sorted_.begin(), sorted_.end(), larger);
  }

  // The lowest bucket's earliest values go to `values`, the others to lower buckets.
  void take_earliest(Bucket& bucket, std::vector<Value>& values) {
    leave_lowest();
    const std::int64_t earliest = last_ = bucket.earliest;
    for (const Entry& entry : bucket.entries) {
      if (entry.time == earliest)
        values.push_back(entry.value);
      else
        put(entry.time, entry.value);
    }
    bucket.clear();
  }

  static constexpr std::size_t bits = 4;  // of a digit
  static constexpr std::size_t digits = 1U << bits;
  static constexpr std::size_t levels = 64 / bits;

  std::array<Bucket, levels * digits> buckets_;
  std::array<std::uint32_t, levels> filled_{};  // bit d: bucket d of a level has entries
  std::uint32_t filled_levels_ = 0;             // bit l: one of level l has
  std::int64_t last_ = 0;
  std::vector<Value> sorted_;  // values at `last`, the smallest at the back ...
  std::vector<Value> late_;    // ... and a heap of those pushed since, the smallest at the front
};

}  // namespace collsim
