// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

namespace collsim::testing {

// The machine that the fake CUDA shows: GPUs whose memory is this process's, whose streams work by
// themselves, and whose thread blocks are CPU threads that run the interpreter.  Errors are CUDA's
// numbers, 0 for none.  Programs say in the environment how many GPUs there are, and what they
// cannot do: FAKE_GPUS="4 no-peers", or deaf, refuses-launches, adds-wrong, small; they see those
// of CUDA_VISIBLE_DEVICES, and what real GPUs would not forgive is printed.  The file that
// FAKE_GPUS_BEGUN names is made when the first step begins.
struct FakeGpus {
  int count = 1;
  int count_error = 0;  // of asking for the number of GPUs
  int driver = 13000;
  int major = 9;
  int multiprocessors = 132;
  std::size_t free_bytes = std::size_t{1} << 30U;          // they say ...
  std::size_t largest_allocation = std::size_t{1} << 30U;  // ... and what they have
  bool peers = true;                                       // GPUs reach each other's memory ...
  int peer_error = 0;                                      // ... unless that is refused
  int load_error = 0;                                      // of loading a kernel
  int launch_error = 0;                                    // of starting lanes ...
  int launch_error_on = -1;                                // ... on this GPU
  bool refuses_launches = false;                           // of lanes, when they begin
  bool adds_wrong = false;                                 // in steps that have a kernel
  int idle_after = -1;                                     // launches of lanes that move data
  int capture_error = 0;                                   // of making a graph
  int event_error = 0;                                     // of asking an event
  bool is_deaf = false;              // lanes never end, not even when they are told to
  std::uint64_t clock_ahead_ns = 0;  // of each GPU, before the one in front of it
  bool clocks_are_silent = false;    // no note between GPUs comes back
};
extern FakeGpus fake_gpus;
// Lanes do not even begin while this is true, whatever they are told.
extern std::atomic<bool> fake_gpus_are_deaf;

// What the fake noticed.
struct FakeLog {
  int living = 0;         // allocations, streams, events and graphs that nobody has freed
  int launches = 0;       // of lanes
  std::string violation;  // the first thing that real GPUs would not forgive
};
extern FakeLog fake_log;

// Whether it is in the memory of a GPU of this process.
[[nodiscard]] bool is_on_gpu(const void* place);

// Everything as at the beginning; waits for nothing.
void reset_fake_gpus();

}  // namespace collsim::testing
