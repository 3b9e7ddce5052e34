// SPDX-License-Identifier: Apache-2.0
#include "validate/cuda/interpreter.cuh"

namespace collsim {

const void* low_latency_kernel(ElementType type, Reduction reduction) {
  return kernel_of<Protocol::ll>(type, reduction);
}

}  // namespace collsim
