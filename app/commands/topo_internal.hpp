// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/commands/command.hpp"

namespace collsim {

// Commands below `topo`.
[[nodiscard]] Action declare_topo_import(Options& topo);
[[nodiscard]] Action declare_topo_export(Options& topo);

}  // namespace collsim
