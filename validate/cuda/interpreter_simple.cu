// SPDX-License-Identifier: Apache-2.0
#include "validate/cuda/interpreter.cuh"

namespace collsim {

const void* simple_kernel(ElementType type, Reduction reduction) {
  return kernel_of<Protocol::simple>(type, reduction);
}

}  // namespace collsim
