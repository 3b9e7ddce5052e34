// SPDX-License-Identifier: Apache-2.0
#include "tests/validate/cuda/fake_kernels.hpp"
#include "validate/cuda/gpu_clocks.hpp"
#include "validate/cuda/interpreter.hpp"

namespace collsim {
namespace {

using testing::KernelKind;

constexpr char kernels[] = {0, 1, 2, 3, 4};

const void* address_of(KernelKind kind) {
  return &kernels[static_cast<int>(kind)];
}

}  // namespace

const void* simple_kernel(ElementType, Reduction) {
  return address_of(KernelKind::simple);
}
const void* low_latency_kernel(ElementType, Reduction) {
  return address_of(KernelKind::low_latency);
}
const void* clock_kernel() {
  return address_of(KernelKind::clock);
}
const void* ping_kernel() {
  return address_of(KernelKind::ping);
}
const void* pong_kernel() {
  return address_of(KernelKind::pong);
}

testing::KernelKind testing::kind_of(const void* kernel) {
  return static_cast<KernelKind>(static_cast<const char*>(kernel) - kernels);
}

}  // namespace collsim
