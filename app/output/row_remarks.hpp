// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "app/results/results.hpp"

namespace collsim {

// What stands behind each row of a table: which is the best of its task, which cannot be compared
// with the others, which is worse for having been cut.
[[nodiscard]] std::vector<std::string> row_remarks(const Results& results);

}  // namespace collsim
