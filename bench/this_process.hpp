// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace collsim::bench {

// CPU, number of cores, compiler and kind of build, in one line.
[[nodiscard]] std::string describe_machine();

// Most memory that this process ever had resident (VmHWM, in bytes).
[[nodiscard]] double peak_resident_bytes();

// Runs this very program again, in a process of its own, and gives its standard output.  Throws
// std::runtime_error when it fails.
[[nodiscard]] std::string output_of_this_program(const std::string& argument);

}  // namespace collsim::bench
