// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace collsim::checker {

// What a stretch of memory holds, as ordered disjoint segments; unwritten places have none.
// `Values` says how values behave:
//   Value                                    held by the first element of a segment
//   advanced(value, n)                       what the element n places further on holds
//   continues(value, length, following)      whether two neighbours may become one segment
//
// A list of short sorted lists: access near the last one is O(1), elsewhere O(log n), and a change
// moves at most `leaf_size` segments.
template <class Values>
class IntervalMap {
 public:
  using Value = typename Values::Value;
  struct Segment {
    std::int64_t begin = 0;
    std::int64_t end = 0;
    Value value;
  };

  // Calls visitor(from, to, segment) for the pieces of [begin, end) in order, with the segment that
  // covers the piece or nullptr for a gap.
  template <class Visitor>
  void visit(std::int64_t begin, std::int64_t end, Visitor&& visitor) const {
    const Segment* const gap = nullptr;
    Position at = find(begin);
    while (begin < end) {
      const Segment* segment = exists(at) ? &(*this)[at] : nullptr;
      if (!segment || segment->begin >= end) {
        visitor(begin, end, gap);
        return;
      }
      if (segment->begin > begin) {
        visitor(begin, segment->begin, gap);
        begin = segment->begin;
      }
      const std::int64_t to = std::min(end, segment->end);
      visitor(begin, to, segment);
      begin = to;
      at = after(at);
    }
  }

  // [begin, end) now holds `value` and what follows from it.
  void write(std::int64_t begin, std::int64_t end, Value value) {
    if (begin >= end) return;
    Position at = find(begin);
    if (exists(at) && (*this)[at].begin < begin) at = split(at, begin);
    while (exists(at) && (*this)[at].begin < end) {
      Segment& old = (*this)[at];
      if (old.end > end) {
        old.value = Values::advanced(old.value, end - old.begin);
        old.begin = end;
      } else {
        at = erase(at);
      }
    }
    place(at, begin, end, std::move(value));
  }

  [[nodiscard]] std::size_t segments() const {
    std::size_t sum = 0;
    for (const Leaf& leaf : leaves_) sum += leaf.size();
    return sum;
  }

 private:
  static constexpr std::size_t leaf_size = 64;
  using Leaf = std::vector<Segment>;  // never empty
  struct Position {
    std::size_t leaf = 0;
    std::size_t index = 0;
  };

  [[nodiscard]] bool exists(Position at) const { return at.leaf < leaves_.size(); }
  [[nodiscard]] const Segment& operator[](Position at) const { return leaves_[at.leaf][at.index]; }
  [[nodiscard]] Segment& operator[](Position at) { return leaves_[at.leaf][at.index]; }
  [[nodiscard]] Position after(Position at) const {
    if (++at.index == leaves_[at.leaf].size()) at = {at.leaf + 1, 0};
    return at;
  }

  // The first segment that ends behind `offset`.
  [[nodiscard]] Position find(std::int64_t offset) const {
    const auto ends_before = [offset](const Segment& segment) { return segment.end <= offset; };
    const bool near = recent_ < leaves_.size() && !ends_before(leaves_[recent_].back()) &&
                      (recent_ == 0 || ends_before(leaves_[recent_ - 1].back()));
    if (!near) {
      const auto leaf = std::partition_point(
          leaves_.begin(), leaves_.end(), [&](const Leaf& one) { return ends_before(one.back()); });
      recent_ = static_cast<std::size_t>(leaf - leaves_.begin());
      if (leaf == leaves_.end()) return {recent_, 0};
    }
    const Leaf& leaf = leaves_[recent_];
    const auto found = std::partition_point(leaf.begin(), leaf.end(), ends_before);
    return {recent_, static_cast<std::size_t>(found - leaf.begin())};
  }

  // Cuts the segment at a place in two and returns the place of the second part.
  Position split(Position at, std::int64_t offset) {
    Segment& first = (*this)[at];
    Segment second{offset, first.end, Values::advanced(first.value, offset - first.begin)};
    first.end = offset;
    return insert(after(at), std::move(second));
  }

  void place(Position at, std::int64_t begin, std::int64_t end, Value value) {
    Segment* left = before(at);
    Segment* right = exists(at) ? &(*this)[at] : nullptr;
    const bool joins_left = left && left->end == begin &&
                            Values::continues(left->value, left->end - left->begin, value);
    const bool joins_right =
        right && right->begin == end && Values::continues(value, end - begin, right->value);
    if (joins_left) {
      left->end = joins_right ? right->end : end;
      if (joins_right) erase(at);
    } else if (joins_right) {
      right->begin = begin;
      right->value = std::move(value);
    } else {
      insert(at, Segment{begin, end, std::move(value)});
    }
  }

  [[nodiscard]] Segment* before(Position at) {
    if (at.index > 0) return &leaves_[at.leaf][at.index - 1];
    return at.leaf > 0 ? &leaves_[at.leaf - 1].back() : nullptr;
  }

  Position insert(Position at, Segment segment) {
    if (at.index == 0 && at.leaf > 0) at = {at.leaf - 1, leaves_[at.leaf - 1].size()};
    if (leaves_.empty()) leaves_.emplace_back();
    if (leaves_[at.leaf].size() == leaf_size) {
      Leaf& full = leaves_[at.leaf];
      const auto middle = full.begin() + leaf_size / 2;
      Leaf upper(std::make_move_iterator(middle), std::make_move_iterator(full.end()));
      full.erase(middle, full.end());
      leaves_.insert(leaves_.begin() + static_cast<std::ptrdiff_t>(at.leaf) + 1, std::move(upper));
      if (at.index > leaf_size / 2) at = {at.leaf + 1, at.index - leaf_size / 2};
    }
    Leaf& leaf = leaves_[at.leaf];
    leaf.insert(leaf.begin() + static_cast<std::ptrdiff_t>(at.index), std::move(segment));
    return at;
  }

  Position erase(Position at) {
    Leaf& leaf = leaves_[at.leaf];
    leaf.erase(leaf.begin() + static_cast<std::ptrdiff_t>(at.index));
    if (leaf.empty()) {
      leaves_.erase(leaves_.begin() + static_cast<std::ptrdiff_t>(at.leaf));
      return {at.leaf, 0};
    }
    return at.index == leaf.size() ? Position{at.leaf + 1, 0} : at;
  }

  std::vector<Leaf> leaves_;
  mutable std::size_t recent_ = 0;  // the leaf of the last access
};

}  // namespace collsim::checker
