// SPDX-License-Identifier: Apache-2.0
#include <map>
#include <string>

#include "tests/validate/cuda/fake_kernels.hpp"
#include "validate/cuda/cuda_check.hpp"

// Takes the place of the CUDA runtime in a program that has been compiled with nvcc: what the
// compiler makes each object do at the program's start, which is to say what kernels it has.

namespace {

std::map<const void*, std::string>& names() {
  static std::map<const void*, std::string> names;
  return names;
}

void* module_of_all = nullptr;

}  // namespace

collsim::testing::KernelKind collsim::testing::kind_of(const void* kernel) {
  const std::string& name = names()[kernel];
  const auto has = [&name](const char* part) { return name.find(part) != std::string::npos; };
  if (has("11watch_clock")) return KernelKind::clock;
  if (has("8run_step")) return KernelKind::step;
  if (has("4pingE")) return KernelKind::ping;
  if (has("4pongE")) return KernelKind::pong;
  return has("8ProtocolE1E") ? KernelKind::low_latency : KernelKind::simple;
}

extern "C" {

void** __cudaRegisterFatBinary(void*) {
  return &module_of_all;
}
void __cudaRegisterFatBinaryEnd(void**) {}
void __cudaUnregisterFatBinary(void**) {}
void __cudaRegisterFunction(void**, const char* host_function, char*, const char* name, int, uint3*,
                            uint3*, dim3*, dim3*, int*) {
  names()[host_function] = name;
}
// Launches that are written <<<...>>>: there are none.
cudaError_t __cudaPopCallConfiguration(dim3*, dim3*, std::size_t*, void*) {
  return cudaErrorNotSupported;
}
cudaError_t __cudaGetKernel(cudaKernel_t*, const void*) {
  return cudaErrorNotSupported;
}
cudaError_t __cudaLaunchKernel(cudaKernel_t, dim3, dim3, void**, std::size_t, cudaStream_t) {
  return cudaErrorNotSupported;
}

}  // extern "C"
