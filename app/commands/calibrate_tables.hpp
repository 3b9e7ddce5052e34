// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/commands/command.hpp"

namespace collsim {

// `collsim calibrate --from`: constants from what other programs measured.
struct CalibrateTablesOptions {
  std::vector<std::string> files;  // logs, measured tables, folders of them
  std::string as;                  // kinds of machines; empty: one machine
  std::string preset;              // of the one machine; of tables that do not name theirs
  std::optional<std::int64_t> nodes;
  std::vector<std::string> outputs;
  bool leave_out_owners = false;
};
[[nodiscard]] int run_calibrate_tables(const CalibrateTablesOptions& options, Terminal& terminal);

}  // namespace collsim
