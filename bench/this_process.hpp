// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace collsim::bench {

// CPU, number of cores, compiler and kind of build, in one line.
[[nodiscard]] std::string describe_machine();

// Seconds that a fixed piece of work takes here and now, in the processor and its caches: what the
// times of cases are divided by, so that limits hold on a slower or busier machine as well.
[[nodiscard]] double calibration_loop();

// Most memory that this process ever had resident (VmHWM, in bytes).
[[nodiscard]] double peak_resident_bytes();

// Runs this program again in a new process and returns its standard output.  `under` is a program
// that runs it, with arguments.  Throws std::runtime_error when it fails.
[[nodiscard]] std::string output_of_this_program(const std::string& argument,
                                                 const std::string& under = {});

}  // namespace collsim::bench
