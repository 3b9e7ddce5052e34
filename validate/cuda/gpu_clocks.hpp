// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "validate/clock_offset.hpp"

namespace collsim {

// Every GPU has a clock of its own, which ticks coarsely.

// The smallest step of a device's clock, ns.
[[nodiscard]] std::uint64_t clock_tick_ns(int device);

// How far a device's clock is ahead of another's: the notes pass through the host's memory.  Throws
// NoMeasurement{failed} when none came back.
[[nodiscard]] ClockOffset clock_offset(int device, int reference);

// The same in parts, where the two devices are of different processes, which share `notes`, pinned
// memory of so many bytes: first one clears them, then both begin at once.
inline constexpr std::uint64_t ping_rounds = 200;
inline constexpr std::uint64_t clock_note_bytes = 256 + ping_rounds * sizeof(PingTimes);
void clear_clock_notes(std::byte* notes);
void answer_clock_notes(int device, std::byte* notes);
// `name`: of the other device.
[[nodiscard]] ClockOffset send_clock_notes(int reference, std::byte* notes,
                                           const std::string& name);

// --- between gpu_clocks.cpp and its kernels -----------------------------------------------------

inline constexpr std::uint64_t ping_patience_ns = 1'000'000'000;
struct PingPong {
  alignas(128) std::uint64_t ping = 0;
  alignas(128) std::uint64_t pong = 0;
};
[[nodiscard]] const void* clock_kernel();  // (std::uint64_t* tick)
[[nodiscard]] const void* ping_kernel();   // (PingPong*, PingTimes*)
[[nodiscard]] const void* pong_kernel();   // likewise

}  // namespace collsim
