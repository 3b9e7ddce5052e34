// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "app/json/diagnostics.hpp"
#include "app/json/sources.hpp"
#include "app/measured/measured_table.hpp"

namespace collsim {

// What nccl-tests and rccl-tests print, as people paste it: every version since 2017, tags of
// mpirun and srun, lines of NCCL_DEBUG before, between and inside of rows, lost "#", several runs,
// tables without beginning or end.
//
// Operation and ranks are taken from the text or follow from the columns (redop, root; count and
// size; busbw / algbw); what neither gives is left open (questions_about).  Reports runs that
// failed and texts without a single row, and then gives no table of them.
[[nodiscard]] std::vector<MeasuredTable> read_nccl_tests_log(std::uint32_t source,
                                                             const Sources& sources,
                                                             Diagnostics& diagnostics);

// "all-reduce" of "h100_all_reduce.log"; empty when the name does not say.
[[nodiscard]] std::string operation_in_name(const std::string& file);

}  // namespace collsim
