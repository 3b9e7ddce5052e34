// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>
#include <vector>

#include "app/json/value.hpp"

namespace collsim {

// Writes the page of plots/report/ with these data (report_data(), one for each scenario) in it.
// Whatever the texts in them say, they stay data: "<" never appears.
void write_report(std::ostream& out, std::vector<Value> results);

}  // namespace collsim
