// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace collsim::testing {

// The machine that the fake CUDA shows.  Errors are CUDA's numbers, 0 for none.
struct FakeCuda {
  int gpus = 8;
  int event_error = 0;                             // of asking an event
  std::size_t free_bytes = std::size_t{1} << 30U;  // for each allocation
  int living = 0;  // allocations, streams and events that nobody has freed
};
extern FakeCuda fake_cuda;

}  // namespace collsim::testing
