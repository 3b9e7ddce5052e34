// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

namespace collsim {

// Every GPU has a clock of its own, which ticks coarsely.

// The smallest step of a device's clock, ns.
[[nodiscard]] std::uint64_t clock_tick_ns(int device);

// How far a device's clock is ahead of another's: notes passed to and fro through the host's
// memory, of which the quickest counts.  The truth is within `uncertainty_ns`, however uneven the
// way there and the way back.
struct ClockOffset {
  double ahead_ns = 0;
  double uncertainty_ns = 0;
};
[[nodiscard]] ClockOffset clock_offset(int device, int reference);

// --- between gpu_clocks.cpp and its kernels -----------------------------------------------------

inline constexpr std::uint64_t ping_rounds = 200;
inline constexpr std::uint64_t ping_patience_ns = 1'000'000'000;
struct PingPong {
  alignas(128) std::uint64_t ping = 0;
  alignas(128) std::uint64_t pong = 0;
};
struct PingTimes {
  std::uint64_t sent = 0, back = 0;  // on the reference's clock; 0: given up
  std::uint64_t answered = 0;        // on the other's
};
[[nodiscard]] const void* clock_kernel();  // (std::uint64_t* tick)
[[nodiscard]] const void* ping_kernel();   // (PingPong*, PingTimes*)
[[nodiscard]] const void* pong_kernel();   // likewise

// From the quickest exchange.
[[nodiscard]] ClockOffset offset_of(std::span<const PingTimes> times);

}  // namespace collsim
