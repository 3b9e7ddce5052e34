// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace collsim {

// Internal to sim/: sorts many values by a key from 0 to `most`, digit by digit, the last one
// first; equal ones stay in order.  `room` is memory that callers keep.
template <class Value, class Key>
void digit_sort(std::vector<Value>& values, std::vector<Value>& room, std::size_t most,
                const Key& key) {
  constexpr unsigned most_bits = 11;
  const auto width = static_cast<unsigned>(std::bit_width(most));
  const unsigned passes = (width + most_bits - 1) / most_bits;
  if (passes == 0) return;
  // All equally long: every pass goes through the counts of all digits, too.
  const unsigned bits = (width + passes - 1) / passes;
  const std::size_t digits = std::size_t{1} << bits;
  std::array<std::uint32_t, std::size_t{1} << most_bits> first;
  for (unsigned shift = 0; shift < width; shift += bits) {
    const auto digit = [&](const Value& value) { return (key(value) >> shift) & (digits - 1); };
    std::fill_n(first.begin(), digits, 0);
    for (const Value& value : values) ++first[digit(value)];
    std::uint32_t sum = 0;
    for (std::size_t i = 0; i < digits; ++i) sum += std::exchange(first[i], sum);
    room.resize(values.size(), values.front());
    for (const Value& value : values) room[first[digit(value)]++] = value;
    values.swap(room);
  }
}

}  // namespace collsim
