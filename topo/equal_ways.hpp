// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "topo/ids.hpp"

namespace collsim {

// How a shape computes the equal ways from one rank to another, which it numbers 0, 1, 2 ...  Both
// ranks exist and differ.  A Router chooses among them (Routing).
class EqualWays {
 public:
  virtual ~EqualWays() = default;
  // At least 1.
  [[nodiscard]] virtual std::uint64_t count(Rank /*from*/, Rank /*to*/) const { return 1; }
  // The one that the shape's own rule takes: by target where there are levels (d-mod-k), the
  // slowest dimension first in a grid (dimension order).
  [[nodiscard]] virtual std::uint64_t usual(Rank /*from*/, Rank /*to*/) const { return 0; }
  // Appends the links of one of them, in order.
  virtual void append(Rank from, Rank to, std::uint64_t way, std::vector<LinkId>& route) const = 0;

  // Ways that take a detour on purpose (Valiant: through a third group of a dragonfly), numbered
  // likewise; 0 where the shape has none.
  [[nodiscard]] virtual std::uint64_t detours(Rank /*from*/, Rank /*to*/) const { return 0; }
  virtual void append_detour(Rank /*from*/, Rank /*to*/, std::uint64_t /*detour*/,
                             std::vector<LinkId>& /*route*/) const {}
};

}  // namespace collsim
