// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <vector>

#include "app/commands/command.hpp"
#include "validate/backend.hpp"

namespace collsim {

// `calibrate` of links between processes that exchange messages (collsim-mpi): what runs them, and
// on which host each rank is, both when the command runs.
struct MessagingProcesses {
  std::function<Backend()> backend;
  std::function<std::vector<int>()> host_of_rank;
  std::function<std::string()> why_alone;  // what to add where there is one; "": nothing
};
[[nodiscard]] Action declare_calibrate_network(Options& command,
                                               const MessagingProcesses& processes);

}  // namespace collsim
