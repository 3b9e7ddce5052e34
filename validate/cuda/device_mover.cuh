// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "validate/lane_job.hpp"
#include "validate/portable.hpp"

namespace collsim {

// The mover of LaneRunner (validate/lane_runner.hpp) for a GPU's thread block.  Each warp takes
// tiles of neighbouring units of 16 bytes, and each thread loads several before it uses the first,
// because it takes many bytes in flight to saturate a GPU's memory.
//
// Stretches that are not aligned alike go in smaller units.  What is combined must be aligned to
// its elements, as a plan's offsets are; what is moved need not be aligned at all.  Source and
// destination may be the same, but must not overlap otherwise.  threads() must be a multiple of 32.
//
// Messages are ordinary loads and stores, never loads through the read-only cache: they change
// while the kernel runs.
template <class Arithmetic>
class DeviceMover {
 public:
  COLLSIM_LANE_CODE explicit DeviceMover(const Arithmetic& arithmetic) : arithmetic_(arithmetic) {}

  // A launch combines one type in one way.
  [[nodiscard]] COLLSIM_LANE_CODE const DeviceMover& of(const LaneStep& /*step*/) const {
    return *this;
  }

  template <class Policy>
  COLLSIM_LANE_CODE void move(const Policy& policy, const std::byte* from, std::byte* to,
                              std::byte* also_to, std::uint64_t bytes) const {
    const Stretch stretch{from, nullptr, to, also_to, bytes};
    const std::uint64_t odd = stretch.misfit() | address(from) | bytes;
    const std::uint32_t unit = odd % 4 == 0 ? 4 : odd % 2 == 0 ? 2 : 1;
    go<moved_at_once, 4, false>(policy, stretch, unit);
  }

  template <class Policy>
  COLLSIM_LANE_CODE void combine(const Policy& policy, const std::byte* message,
                                 const std::byte* source, std::byte* to, std::byte* also_to,
                                 std::uint64_t bytes) const {
    go<combined_at_once, combined_at_once, true>(policy, {message, source, to, also_to, bytes},
                                                 arithmetic_.element_bytes());
  }

  [[nodiscard]] COLLSIM_LANE_CODE std::uint64_t combine_word(std::uint64_t message,
                                                             std::uint64_t source) const {
    std::uint64_t a[1] = {message};
    const std::uint64_t b[1] = {source};
    arithmetic_.combine(a, b);
    return a[0];
  }

 private:
  struct alignas(16) Vector {
    std::uint64_t words[2];
  };
  static constexpr std::uint32_t warp = 32;
  // Loads of one thread in flight; combining reads from two places.
  static constexpr int combined_at_once = Arithmetic::vectors_at_once;
  static constexpr int moved_at_once = combined_at_once < 2 ? 4 : 2 * combined_at_once;

  COLLSIM_LANE_CODE static std::uint64_t address(const std::byte* place) {
    return reinterpret_cast<std::uintptr_t>(place);
  }

  // From one or two places to one or two.
  struct Stretch {
    const std::byte* message;
    const std::byte* source;
    std::byte* to;
    std::byte* also_to;
    std::uint64_t bytes;

    // The bits in which the addresses differ.
    [[nodiscard]] COLLSIM_LANE_CODE std::uint64_t misfit() const {
      const std::uint64_t at = address(message);
      return (source ? at ^ address(source) : 0) | (to ? at ^ address(to) : 0) |
             (also_to ? at ^ address(also_to) : 0);
    }
    COLLSIM_LANE_CODE void skip(std::uint64_t begin) {
      message += begin;
      if (source) source += begin;
      if (to) to += begin;
      if (also_to) also_to += begin;
    }
  };

  // Vectors where all places are aligned alike, small units for the rest.
  template <int vectors_at_once, int small_at_once, bool combines, class Policy>
  COLLSIM_LANE_CODE void go(const Policy& policy, Stretch stretch, std::uint32_t small_unit) const {
    std::uint64_t head = 0, body = 0;
    if (stretch.misfit() % sizeof(Vector) == 0) {
      const std::uint64_t to_boundary = (0 - address(stretch.message)) % sizeof(Vector);
      head = to_boundary < stretch.bytes ? to_boundary : stretch.bytes;
      body = (stretch.bytes - head) / sizeof(Vector) * sizeof(Vector);
    }
    if (body != stretch.bytes)
      move_small<small_at_once, combines>(policy, stretch, small_unit, head, body);
    stretch.skip(head);
    if (body > 0) move_vectors<vectors_at_once, combines>(policy, stretch, body);
  }

  template <int at_once, bool combines, class Policy>
  COLLSIM_LANE_CODE void move_vectors(const Policy& policy, const Stretch& stretch,
                                      std::uint64_t bytes) const {
    const auto* message = reinterpret_cast<const Vector*>(stretch.message);
    const auto* source = reinterpret_cast<const Vector*>(stretch.source);
    auto* to = reinterpret_cast<Vector*>(stretch.to);
    auto* also_to = reinterpret_cast<Vector*>(stretch.also_to);
    const std::uint64_t count = bytes / sizeof(Vector);
    const std::uint64_t stride = std::uint64_t{policy.threads()} * at_once;
    for (std::uint64_t first = first_of<at_once>(policy); first < count; first += stride) {
      const std::uint64_t left = count - first;
      Vector value[at_once] = {};
      for (std::uint32_t k = 0; k < at_once; ++k)
        if (k * warp < left) value[k] = message[first + k * warp];
      if constexpr (combines) {
        Vector other[at_once] = {};
        for (std::uint32_t k = 0; k < at_once; ++k)
          if (k * warp < left) other[k] = source[first + k * warp];
        for (int k = 0; k < at_once; ++k) arithmetic_.combine(value[k].words, other[k].words);
      }
      if (to)
        for (std::uint32_t k = 0; k < at_once; ++k)
          if (k * warp < left) to[first + k * warp] = value[k];
      if (also_to)
        for (std::uint32_t k = 0; k < at_once; ++k)
          if (k * warp < left) also_to[first + k * warp] = value[k];
    }
  }

  // All but `gap` bytes after the first `head`.
  template <int at_once, bool combines, class Policy>
  COLLSIM_LANE_CODE void move_small(const Policy& policy, const Stretch& stretch,
                                    std::uint32_t unit, std::uint64_t head,
                                    std::uint64_t gap) const {
    const std::uint64_t bytes = stretch.bytes - gap;
    const std::uint64_t stride = std::uint64_t{policy.threads()} * at_once * unit;
    const std::uint64_t step = std::uint64_t{warp} * unit;
    for (std::uint64_t first = first_of<at_once>(policy) * unit; first < bytes; first += stride) {
      std::uint64_t value[at_once] = {};
      std::uint64_t other[at_once] = {};
      for (int k = 0; k < at_once; ++k) {
        const std::uint64_t i = first + k * step;
        const std::uint64_t at = i < head ? i : i + gap;
        if (i < bytes) value[k] = load(stretch.message + at, unit);
        if (combines && i < bytes) other[k] = load(stretch.source + at, unit);
      }
      if constexpr (combines) arithmetic_.combine(value, other);
      for (int k = 0; k < at_once; ++k) {
        const std::uint64_t i = first + k * step;
        const std::uint64_t at = i < head ? i : i + gap;
        if (stretch.to && i < bytes) store(stretch.to + at, unit, value[k]);
        if (stretch.also_to && i < bytes) store(stretch.also_to + at, unit, value[k]);
      }
    }
  }

  // A warp's tile is `at_once` rows of one unit per thread.
  template <int at_once, class Policy>
  COLLSIM_LANE_CODE static std::uint64_t first_of(const Policy& policy) {
    const std::uint32_t thread = policy.thread();
    return thread / warp * (warp * at_once) + thread % warp;
  }

  COLLSIM_LANE_CODE static std::uint64_t load(const std::byte* from, std::uint32_t unit) {
    switch (unit) {
      case 1: return *reinterpret_cast<const std::uint8_t*>(from);
      case 2: return *reinterpret_cast<const std::uint16_t*>(from);
      case 4: return *reinterpret_cast<const std::uint32_t*>(from);
      default: return *reinterpret_cast<const std::uint64_t*>(from);
    }
  }
  COLLSIM_LANE_CODE static void store(std::byte* to, std::uint32_t unit, std::uint64_t value) {
    switch (unit) {
      case 1: *reinterpret_cast<std::uint8_t*>(to) = static_cast<std::uint8_t>(value); break;
      case 2: *reinterpret_cast<std::uint16_t*>(to) = static_cast<std::uint16_t>(value); break;
      case 4: *reinterpret_cast<std::uint32_t*>(to) = static_cast<std::uint32_t>(value); break;
      default: *reinterpret_cast<std::uint64_t*>(to) = value;
    }
  }

  Arithmetic arithmetic_;
};

}  // namespace collsim
