// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "topo/units.hpp"

namespace collsim {

// What instructions cost beyond the links they use.  The default is the ideal machine of the
// textbook: all free.  Fitted from measurements when a real machine is meant.
//
// An instruction keeps its lane busy for
//   instruction_overhead + n / reduce_bandwidth   if it reduces n bytes
//   instruction_overhead + n / copy_bandwidth     if it only moves n bytes
//   n / second_write_bandwidth more               if it both stores and sends them
//   instruction_overhead + n / local_bandwidth    instead, if they stay within the rank
// before the lane goes on, the received slot becomes free, or the message it sends is ready to
// leave.  (gamma of formulas is 1 / reduce_bandwidth.)
struct CostModel {
  std::optional<Bandwidth> reduce_bandwidth;
  std::optional<Bandwidth> copy_bandwidth;
  std::optional<Bandwidth> second_write_bandwidth;
  std::optional<Bandwidth> local_bandwidth;
  Time instruction_overhead{};
  Time launch{};  // every rank starts this much later
  // In millionths of its speed: what computing on a rank's streams loses while a collective is
  // under way on the rank, whose kernels take processors and memory bandwidth.
  static constexpr std::int64_t millionths = 1'000'000;
  std::int64_t slowdown = 0;

  bool operator==(const CostModel&) const = default;

  [[nodiscard]] bool instructions_are_free() const {
    return !reduce_bandwidth && !copy_bandwidth && !second_write_bandwidth && !local_bandwidth &&
           instruction_overhead == Time{};
  }
};

}  // namespace collsim
