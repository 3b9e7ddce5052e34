// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "app/json/diagnostics.hpp"
#include "app/json/sources.hpp"
#include "app/json/value.hpp"
#include "app/measured/measured_table.hpp"

namespace collsim {

// Measured tables as JSON: an object, or an array of several.
//
//   { "measured": 1,                     the version of this format
//     "source": "run.log:14",            where it comes from
//     "op": "all-reduce", "dtype": "float32", "reduction": "sum", "root": null,
//     "ranks": 16, "nodes": 2,           nodes: null when nobody said
//     "machine": { "gpu": "NVIDIA H100 80GB HBM3", "library": "NCCL 2.20.5",
//                  "launch": "process-per-gpu", "interconnect": "8x 400 Gb/s" },
//     "iters": 20, "warmup": 5, "complete": true, "notes": ["..."],
//     "rows": [ { "size_bytes": 8, "time_s": 1.367e-5, "busbw_bytes_per_s": 1.1e6, "wrong": 0,
//                 "in_place_time_s": 1.3e-5, "in_place_wrong": 0,
//                 "algorithm": "Ring", "protocol": "LL" } ] }
//
// What is not known is null or absent.  Read are as well: the words "collective", "redop",
// "n_ranks", "bytes" and "time_us" for op, reduction, ranks, size_bytes and time_s; "rows_inplace",
// a list like rows; "suspect_rows_bytes", sizes that something disturbed; "id", "owner", "class",
// "date", "preset", "remarks" (or a string "notes"); in machine "nccl_version", "nodes".
[[nodiscard]] bool is_measured_table(const JsonValue& document);  // or a list of them
[[nodiscard]] std::vector<MeasuredTable> read_measured_tables(const JsonValue& document,
                                                              const Sources& sources,
                                                              Diagnostics& diagnostics);
[[nodiscard]] JsonValue to_value(const std::vector<MeasuredTable>& tables);

// What nccl-tests writes with -J, and other lists of rows with names (see row_fields.hpp): the
// first array in the document whose items have a size and a time is the table; its other members
// tell of the run: "devices" with "hostname", "config", "nccl_version", ...
[[nodiscard]] std::vector<MeasuredTable> read_named_rows(const JsonValue& document,
                                                         const Sources& sources,
                                                         Diagnostics& diagnostics);

}  // namespace collsim
