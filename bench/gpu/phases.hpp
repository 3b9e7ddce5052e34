// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "bench/gpu/part.hpp"

namespace collsim::bench {

// What a phase came to; its number is the exit code of its process.
enum class Verdict : int { passed = 0, failed = 1, impossible = 3 };

// One question to the GPU.  Each has a process of its own, so that the next one begins afresh
// whatever this one did.
struct Phase {
  const char* name;
  const char* summary;
  int limit_s;  // then its process is killed
  Verdict (*run)(Part& part);
};

// The phases, each in a file of its own.
Verdict report_facts(Part& part);        // the machine; impossible: no GPU
Verdict report_correctness(Part& part);  // every byte of every algorithm
Verdict report_safety(Part& part);       // broken schedules
Verdict report_paced(Part& part);        // emulated links against the simulation
Verdict report_native(Part& part);       // unpaced, against the simulation
Verdict report_bandwidth(Part& part);    // against a plain copy
Verdict report_nccl(Part& part);
Verdict report_several(Part& part);  // pairs of GPUs, and 2, 4 and 8 of them
Verdict report_small(Part& part);    // a few small cases, for slow tools such as compute-sanitizer

}  // namespace collsim::bench
