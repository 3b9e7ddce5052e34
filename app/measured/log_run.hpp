// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "app/measured/log_rows.hpp"
#include "app/measured/measured_table.hpp"
#include "app/measured/nccl_debug.hpp"

namespace collsim {

// Internal to the reader of logs: what the lines of one run say, before anything is concluded.
struct LogRun {
  struct RankLine {
    std::int64_t rank = 0, group = 0, device = -1;
    std::string host, pid, gpu;
  };
  std::uint32_t line = 0;         // of the first row, from 1
  std::string operation;          // that the program names; in collsim's spelling
  std::string unknown_operation;  // that collsim does not have
  std::string command_operation;  // of the command line
  std::string version;            // "NCCL 2.26.2", by nccl-tests itself
  std::vector<RankLine> ranks;
  std::optional<std::int64_t> threads, gpus, iterations, warmup, validation;
  std::optional<std::int64_t> nodes_asked;  // srun -N
  // Of files that name what they hold.
  bool has_names = false;
  std::optional<std::int64_t> ranks_said;
  std::string gpu_said;
  MeasuredLaunch launch_said = MeasuredLaunch::unknown;
  DebugFacts debug;
  LogHeader header;
  std::vector<LogRow> rows;
  std::vector<std::string> damaged;  // "line 12: 5 of 13 columns"
  std::uint32_t damaged_line = 0;    // of the first
  std::optional<std::int64_t> out_of_bounds;
  bool has_average = false, elided = false;
  std::string failure;
  std::uint32_t failure_line = 0;

  // Whether a further beginning is another run's.
  [[nodiscard]] bool has_begun() const {
    return !rows.empty() || !failure.empty() || has_average || !damaged.empty();
  }
};

// What the run measured: a table for every type, reduction and root.  `file_operation` is what the
// name of the file says, which only chooses among what the rows allow.
[[nodiscard]] std::vector<MeasuredTable> tables_of(const LogRun& run, const std::string& file,
                                                   const std::string& file_operation);

}  // namespace collsim
