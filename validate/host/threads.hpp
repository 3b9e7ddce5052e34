// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

namespace collsim {

// The cores that this process may use: taskset, for one, leaves it fewer than there are.
[[nodiscard]] std::size_t usable_cores();

// Ties the calling thread to the n-th of them (counted around).  Left alone, a system may put two lanes
// that wait for each other on one core while another core idles.
void stay_on_core(std::size_t n);

// "AMD EPYC 7B13", as the system calls it.
[[nodiscard]] std::string processor_name();

}  // namespace collsim
