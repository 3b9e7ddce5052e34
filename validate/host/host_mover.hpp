// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "collectives/element.hpp"
#include "validate/lane_job.hpp"

namespace collsim {

// The mover of LaneRunner for CPU threads.  Arithmetic is that of reduce_elements(), block by block
// through the first-level cache.
class HostMover {
 public:
  HostMover() = default;  // moves, and combines as steps say
  HostMover(ElementType type, Reduction reduction) : type_(type), reduction_(reduction) {}

  [[nodiscard]] static HostMover of(const LaneStep& step) { return {step.type, step.reduction}; }

  template <class Policy>
  void move(const Policy& policy, const std::byte* from, std::byte* to, std::byte* also_to,
            std::uint64_t bytes) const {
    const Part part = part_of(policy, bytes);
    if (part.bytes == 0) return;
    if (to != from) std::memcpy(to + part.begin, from + part.begin, part.bytes);
    if (also_to) std::memcpy(also_to + part.begin, from + part.begin, part.bytes);
  }

  template <class Policy>
  void combine(const Policy& policy, const std::byte* message, const std::byte* source,
               std::byte* to, std::byte* also_to, std::uint64_t bytes) const {
    const Part part = part_of(policy, bytes);
    std::array<std::byte, block_bytes> sum;  // `to` may be `source`
    for (std::uint64_t at = part.begin; at < part.begin + part.bytes; at += block_bytes) {
      const std::uint64_t count = std::min(block_bytes, part.begin + part.bytes - at);
      std::memcpy(sum.data(), message + at, count);
      reduce_elements(type_, reduction_, sum.data(), source + at,
                      static_cast<std::int64_t>(count) / size_of(type_));
      std::memcpy(to + at, sum.data(), count);
      if (also_to) std::memcpy(also_to + at, sum.data(), count);
    }
  }

  // Bytes beyond the last element give bytes that are never read.
  [[nodiscard]] std::uint64_t combine_word(std::uint64_t message, std::uint64_t source) const {
    std::array<std::byte, sizeof message> a, b;
    std::memcpy(a.data(), &message, sizeof message);
    std::memcpy(b.data(), &source, sizeof source);
    reduce_elements(type_, reduction_, a.data(), b.data(),
                    static_cast<std::int64_t>(sizeof message) / size_of(type_));
    std::memcpy(&message, a.data(), sizeof message);
    return message;
  }

 private:
  static constexpr std::uint64_t block_bytes = 8192;
  struct Part {
    std::uint64_t begin = 0, bytes = 0;
  };

  // Each thread of the team takes an even part, in whole cache lines except the last.
  template <class Policy>
  static Part part_of(const Policy& policy, std::uint64_t bytes) {
    constexpr std::uint64_t line = 64;
    const std::uint64_t threads = policy.threads();
    if (threads == 1) return {0, bytes};
    const std::uint64_t share = (bytes / threads + line - 1) / line * line;
    const std::uint64_t begin = std::min(bytes, share * policy.thread());
    const bool last = policy.thread() + 1 == threads;
    const std::uint64_t end = last ? bytes : std::min(bytes, begin + share);
    return {begin, end - begin};
  }

  ElementType type_ = ElementType::u8;
  Reduction reduction_ = Reduction::sum;
};

}  // namespace collsim
