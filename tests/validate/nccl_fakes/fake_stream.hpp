// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>

namespace collsim::testing {

// What a stream is for the fake CUDA and the fake NCCL: work is done at once, unless it hangs.
struct FakeStream {
  std::atomic<bool> hangs{false};
};

}  // namespace collsim::testing
