// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "app/calibrate/constants.hpp"

namespace collsim {

// What is thought of a constant before any table is read: of machines in general, and how far kinds
// of machines differ from each other in it.
struct Belief {
  double value = 0;        // SI units
  double of_kinds = 0.25;  // the standard deviation of ln(a kind's constant / the common one)
};
[[nodiscard]] Belief belief_in(Constant constant, bool of_network);

// A kind of GPU's constant as a multiple of the common one, where something is known about that.
[[nodiscard]] double usual_multiple(const std::string& kind, Constant constant);

// How far the common value may be from that: a factor e.
inline constexpr double sigma_of_common = 1;
// Of the factor that all hops of a network have in common: EFA's are five times InfiniBand's.
inline constexpr double sigma_of_network = 1;
// Nobody has published a table over TCP: its hops against those of other networks, a guess.
inline constexpr double tcp_hops = 12;

}  // namespace collsim
