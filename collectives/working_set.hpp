// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "collectives/schedule.hpp"

namespace collsim {

// How many bytes of memory a run touches when lanes move the data themselves, which decides in
// which caches they fit:
//
//   sum over ranks        of what its programs read and store of input, output and scratch
//   + sum over connections  of their slots, as many as there are messages for, each of the largest one
//
// A byte that is touched twice counts once as long as no buffer is touched more than its own length:
// min(length, bytes read and stored).  Pulls every program once, so it costs about what a simulation does.
[[nodiscard]] Bytes working_set(const Schedule& schedule);

}  // namespace collsim
