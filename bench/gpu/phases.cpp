// SPDX-License-Identifier: Apache-2.0
#include "bench/gpu/phases.hpp"

namespace collsim::bench {
namespace {

constexpr Phase all[] = {
    {"facts", "the machine", 60, report_facts},
    {"correctness", "every byte of every algorithm", 150, report_correctness},
    {"safety", "broken schedules end soon, with a diagnosis", 60, report_safety},
    {"paced", "emulated links against the simulation", 60, report_paced},
    {"native", "unpaced, against the simulation", 60, report_native},
    {"bandwidth", "the interpreter against a plain copy", 60, report_bandwidth},
    {"nccl", "NCCL doing the same", 100, report_nccl},
    {"small", "a few small cases, for compute-sanitizer; only when asked for", 300, report_small},
};

}  // namespace

std::span<const Phase> phases() {
  return all;
}

const Phase* find_phase(std::string_view name) {
  for (const Phase& phase : all)
    if (name == phase.name) return &phase;
  return nullptr;
}

}  // namespace collsim::bench
