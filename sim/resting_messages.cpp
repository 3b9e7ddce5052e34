// SPDX-License-Identifier: Apache-2.0
#include "sim/resting_messages.hpp"

#include <utility>

#include "topo/error.hpp"

namespace collsim {

RestingMessages::Number RestingMessages::add(LaneNumber source, LaneNumber target,
                                             std::int64_t count) {
  if (count_++ == first_.size()) rehash();
  Number number = 0;
  if (first_free_plus_one_ != 0) {
    number = first_free_plus_one_ - 1;
    first_free_plus_one_ = messages_[number].next_plus_one;
  } else {
    COLLSIM_CHECK(messages_.size() < (std::size_t{1} << 31U), "2^31 messages rest at once");
    number = static_cast<Number>(messages_.size());
    messages_.emplace_back();
  }
  std::uint32_t& first = first_[bucket_of(source, target)];
  messages_[number] = {source, target, std::exchange(first, number + 1),
                       static_cast<std::uint32_t>(count), 0};
  return number;
}

// All numbers are in use.
void RestingMessages::rehash() {
  first_.assign(2 * first_.size(), 0);
  for (std::size_t number = 0; number < messages_.size(); ++number) {
    Message& message = messages_[number];
    std::uint32_t& first = first_[bucket_of(message.source, message.target)];
    message.next_plus_one = std::exchange(first, static_cast<std::uint32_t>(number + 1));
  }
}

bool RestingMessages::take(LaneNumber source, LaneNumber target, Message& message) {
  std::uint32_t* place = &first_[bucket_of(source, target)];
  while (*place != 0) {
    const Number number = *place - 1;
    Message& known = messages_[number];
    if (known.source == source && known.target == target) {
      message = known;
      *place = known.next_plus_one;
      known.next_plus_one = std::exchange(first_free_plus_one_, number + 1);
      known.count = 0;
      --count_;
      return true;
    }
    place = &known.next_plus_one;
  }
  return false;
}

const RestingMessages::Message* RestingMessages::any() const {
  for (const std::uint32_t first : first_)
    if (first != 0) return &messages_[first - 1];
  return nullptr;
}

}  // namespace collsim
