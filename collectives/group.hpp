// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "collectives/instruction.hpp"

namespace collsim {

// The ranks that run one program together, as seen by one of them: positions 0..size-1, my own is
// `me`.  Positions wrap around once: group[me + 1] and group[me - 1] are the ring neighbours.
//
// A group may be a part of a larger one (every stride-th position from `first`: the GPUs of a node,
// a rail, a row of a torus) and may be turned so that its position 0 is any member (the root).  All
// of it is arithmetic; nothing is stored per rank, so a million ranks cost nothing.
class Group {
 public:
  Group() = default;
  // All positions of `ranks`, which must outlive the group.
  Group(const Rank* ranks, int size, int me, Lane lane)
      : ranks_(ranks), size_(size), me_(me), lane_(lane) {}

  [[nodiscard]] int size() const { return size_; }
  [[nodiscard]] int me() const { return me_; }
  [[nodiscard]] Lane lane() const { return lane_; }

  // The member at a position in [-size, 2 size), on the same lane as mine.
  [[nodiscard]] Endpoint operator[](int position) const {
    const int turned = wrap(wrap(position) + turn_);
    return {ranks_[first_ + stride_ * turned], lane_};
  }
  [[nodiscard]] int wrap(int position) const {
    if (position < 0) return position + size_;
    return position >= size_ ? position - size_ : position;
  }
  [[nodiscard]] Endpoint self() const { return (*this)[me_]; }

  // The same ranks with `root` at position 0 (and me where that puts me).
  [[nodiscard]] Group turned_to(int root) const {
    Group turned = *this;
    turned.turn_ = wrap(turn_ + root);
    turned.me_ = wrap(me_ - root);
    return turned;
  }
  // Every stride-th position from `first`, `size` of them; I must be among them.  Only for a group
  // not yet turned.
  [[nodiscard]] Group every(int stride, int first, int size) const {
    Group part = *this;
    part.first_ = first_ + stride_ * first;
    part.stride_ = stride_ * stride;
    part.size_ = size;
    part.me_ = (me_ - first) / stride;
    COLLSIM_CHECK(turn_ == 0 && first + stride * part.me_ == me_ && part.me_ < size,
                  "a sub-group must contain its viewer");
    return part;
  }

 private:
  const Rank* ranks_ = nullptr;
  int first_ = 0;
  int stride_ = 1;
  int turn_ = 0;
  int size_ = 0;
  int me_ = 0;
  Lane lane_{};
};

}  // namespace collsim
