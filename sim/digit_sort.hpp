// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
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
  constexpr unsigned bits = 11;
  constexpr std::size_t digits = std::size_t{1} << bits;
  for (unsigned shift = 0; most >> shift != 0; shift += bits) {
    const auto digit = [&](const Value& value) { return (key(value) >> shift) % digits; };
    std::array<std::uint32_t, digits> first{};
    for (const Value& value : values) ++first[digit(value)];
    std::uint32_t sum = 0;
    for (std::uint32_t& count : first) sum += std::exchange(count, sum);
    room.resize(values.size(), values.front());
    for (const Value& value : values) room[first[digit(value)]++] = value;
    values.swap(room);
  }
}

}  // namespace collsim
