// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "app/calibrate/constants.hpp"

namespace collsim {

// What is thought of a constant before any table is read: of machines in general, and how far kinds
// of machines differ from each other in it.
struct Belief {
  double value = 0;  // SI units
  // Standard deviations: of ln(a kind's constant / the common one), 0: all kinds have the same,
  // and of ln(the common one / value).
  double of_kinds = 0.25, of_all = 0.3;
};
[[nodiscard]] Belief belief_in(Constant constant, bool of_network);

// A constant of a kind of GPUs as a multiple of the common one, or of a network's under a protocol
// as a multiple of usual_hops() of it, where something is known about that.
[[nodiscard]] double usual_multiple(const std::string& kind, Constant constant);

// What is known of a network's hops against InfiniBand's, whatever the protocol.
[[nodiscard]] double usual_hops(const std::string& network);
inline constexpr double sigma_of_network = 0.7;

}  // namespace collsim
