// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "app/results/results.hpp"

namespace collsim {

// An axis of a sweep along which no row's time changes, and why as far as can be told.
struct IdleAxis {
  std::string message;
  Place place;
};

// Nothing for an interrupted sweep.
[[nodiscard]] std::vector<IdleAxis> idle_axes(const Scenario& scenario, const Results& results);

}  // namespace collsim
