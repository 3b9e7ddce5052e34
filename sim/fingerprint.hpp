// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "topo/units.hpp"

namespace collsim {

// A 64-bit number that stands for a whole timeline: when every instruction ended and every message
// arrived.  The same for every engine, compiler and order of visiting, because each lane hashes its
// own steps in order and the lanes are added up.
class Fingerprint {
 public:
  // Folds one instruction of a lane into the lane's hash.
  [[nodiscard]] static constexpr std::uint64_t fold(std::uint64_t hash, Time ended, Time arrived) {
    const auto mixed = static_cast<std::uint64_t>(ended.ps()) +
                       0x9e3779b97f4a7c15U * static_cast<std::uint64_t>(arrived.ps());
    return (hash ^ mixed) * 0xff51afd7ed558ccdU + 0x2545f4914f6cdd1dU;
  }
  // The same where the order of a lane's instructions does not matter
  // (Programs::exchanges_in_rounds()).
  [[nodiscard]] static constexpr std::uint64_t add(std::uint64_t hash, Time arrived) {
    return hash + mix(static_cast<std::uint64_t>(arrived.ps()));
  }
  void add_lane(std::uint64_t rank, std::uint64_t lane, std::uint64_t hash) {
    sum_ += mix(hash + mix((rank << 16U) + lane + 1));
  }
  [[nodiscard]] std::uint64_t value() const { return mix(sum_); }

 private:
  // The finaliser of splitmix64.
  [[nodiscard]] static constexpr std::uint64_t mix(std::uint64_t x) {
    x += 0x9e3779b97f4a7c15U;
    x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9U;
    x = (x ^ (x >> 27U)) * 0x94d049bb133111ebU;
    return x ^ (x >> 31U);
  }
  std::uint64_t sum_ = 0;
};

}  // namespace collsim
