// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace collsim {

// How many bytes of memory one simulation may take, by its estimate; more is refused before it
// begins.  What --memory says; else 8 GB, or three quarters of what this machine has, or its
// container or `ulimit -v` allows, if that is less.
[[nodiscard]] double memory_limit();
void set_memory_limit(double bytes);

}  // namespace collsim
