// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "app/json/value.hpp"
#include "app/scenario/make_case.hpp"

namespace collsim {

// A row of results simulated again, with every step kept: what results do not hold and pictures of one
// run need.
struct DrawnCase {
  Value value;          // for the page; null when there is nothing to draw
  std::string why_not;  // then; in words for the page
  Value facts;          // what a row of results says of the case, with the same keys
};

// The limits for a row drawn by default, and for one that was requested.
inline constexpr std::uint64_t moderate_steps = 20'000;
inline constexpr std::uint64_t most_drawn_steps = 250'000;

// `algorithm`: the one that ran where the scenario says "auto".  `with_steps`: the whole timeline and
// the links, else only where the time went.
[[nodiscard]] DrawnCase draw_case(const Scenario& scenario, std::size_t point,
                                  ClusterCache& clusters, const std::string& algorithm,
                                  std::uint64_t most_steps, bool with_steps);

}  // namespace collsim
