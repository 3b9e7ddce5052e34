// SPDX-License-Identifier: Apache-2.0
#include "topo/turns.hpp"

#include <algorithm>
#include <numeric>

namespace collsim {

namespace {

// Reads digits from the fastest on, in parts.
class DigitReader {
 public:
  explicit DigitReader(const std::vector<TurnDigit>& digits)
      : digits_(digits), number_(digits.size()) {
    next();
  }
  [[nodiscard]] bool at_end() const { return at_end_; }
  [[nodiscard]] std::uint32_t left() const { return left_; }
  [[nodiscard]] std::uint32_t number() const { return static_cast<std::uint32_t>(number_); }
  [[nodiscard]] bool permutes() const { return digits_[number_].permutes; }
  // If the next part has this size.
  [[nodiscard]] bool mirrors(std::uint32_t size) const {
    return digits_[number_].mirrors && digits_[number_].size == size;
  }

  // Takes a part of this size.  Returns the step with which that part may turn alone: turning a
  // digit as a whole carries into its slower parts, so only the slowest part turns without the
  // others.
  [[nodiscard]] std::uint32_t take(std::uint32_t size) {
    const TurnDigit& digit = digits_[number_];
    const std::uint32_t faster = digit.size / left_;  // parts taken so far
    left_ /= size;
    std::uint32_t step = size;
    if (digit.permutes)
      step = 1;
    else if (left_ == 1)
      step = std::min(size, std::lcm(digit.step, faster) / faster);
    if (left_ == 1) next();
    return step;
  }

 private:
  void next() {
    do {
      at_end_ = number_ == 0;
      if (at_end_) return;
      left_ = digits_[--number_].size;
    } while (left_ == 1);
  }

  const std::vector<TurnDigit>& digits_;
  std::size_t number_;
  std::uint32_t left_ = 1;
  bool at_end_ = false;
};

}  // namespace

Turns Turns::common(const std::vector<TurnDigit>& network, const std::vector<TurnDigit>& schedule) {
  Turns turns;
  DigitReader places(network), peers(schedule);
  while (!places.at_end() && !peers.at_end()) {
    const std::uint32_t size = std::min(places.left(), peers.left());
    if (places.left() % size != 0 || peers.left() % size != 0) return {};
    const std::uint32_t of_network = places.number();
    const bool mirrors = peers.mirrors(size) && places.permutes();
    const std::uint32_t step = std::lcm(places.take(size), peers.take(size));
    turns.digits_.push_back({size, step, of_network, mirrors});
    turns.order_ *= turns.digits_.back().turns();
  }
  if (!places.at_end() || !peers.at_end()) return {};
  std::reverse(turns.digits_.begin(), turns.digits_.end());
  return turns;
}

Rank Turns::turned(Rank rank, Rank by) const {
  std::uint32_t result = 0;
  std::uint32_t weight = 1;
  auto number = static_cast<std::uint32_t>(rank.index());
  auto turn = static_cast<std::uint32_t>(by.index());
  for (auto digit = digits_.rbegin(); digit != digits_.rend(); ++digit) {
    const std::uint32_t turned = turn % digit->size;
    const std::uint32_t place = number % digit->size;
    if (digit->mirrors) {
      result += weight * (turned >= digit->size / 2 ? digit->size - 1 - place : place);
    } else {
      const std::uint32_t back = turned - (digit->step == 1 ? 0 : turned % digit->step);
      const std::uint32_t moved = place + (digit->size - back);
      result += weight * (moved >= digit->size ? moved - digit->size : moved);
    }
    weight *= digit->size;
    number /= digit->size;
    turn /= digit->size;
  }
  return Rank(result);
}

}  // namespace collsim
