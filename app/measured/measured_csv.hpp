// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <ostream>
#include <string_view>
#include <vector>

#include "app/json/diagnostics.hpp"
#include "app/json/sources.hpp"
#include "app/measured/measured_table.hpp"

namespace collsim {

// Measured rows with a line of names above them (see row_fields.hpp), separated by commas,
// semicolons or tabs, quoted or not; lines that begin with '#' are comments.  Needed are a size and
// a time or an algbw.  Columns op, ranks, nodes, dtype, ... may differ from row to row: each
// combination is a table of its own.
[[nodiscard]] bool looks_like_csv(std::string_view text);
[[nodiscard]] std::vector<MeasuredTable> read_measured_csv(std::uint32_t source,
                                                           const Sources& sources,
                                                           Diagnostics& diagnostics);

// op,dtype,reduction,root,ranks,nodes,gpu,library,launch,iters,size_bytes,time_s,
// busbw_bytes_per_s,wrong,in_place_time_s,in_place_wrong,algorithm,protocol
void write_measured_csv(std::ostream& out, const std::vector<MeasuredTable>& tables);

}  // namespace collsim
