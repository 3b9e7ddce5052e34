// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "app/calibrate/constants.hpp"
#include "app/scenario/scenario.hpp"

namespace collsim {

// Where a constant stands: of the GPUs' kind or the network's; an index of all_constants().
struct ConstantPlace {
  enum Of : std::uint8_t { gpu, network } of = gpu;
  std::size_t constant = 0;
  bool operator==(const ConstantPlace&) const = default;
};

// The constants that a case sees, in place of names.
struct ConstantsSeen {
  const KindConstants* gpu = nullptr;
  const KindConstants* network = nullptr;  // null on one node
  [[nodiscard]] double at(ConstantPlace place) const;
};

// How the time of a case grows with its constants, near those with which it was simulated.
//
// A critical path is a sum: of hops, of bytes over rates, of costs of a launch.  So as long as it
// stays the same path, the time is exactly
//
//   sum_j  c_j * product of constants (hop, hop * growth, 1 / rate, per_chunk / rate, base, ...)
//
// and the c_j are found by simulating again with one constant a little larger.  That is done for
// every candidate of "algorithm": "nccl", so that the fastest can be told for other constants, too.
class NcclTangent {
 public:
  // Simulates.
  NcclTangent(const Case& asked, const KindsOfCase& kinds, const MachineConstants& present,
              const MachineConstants& here);

  struct Slope {
    ConstantPlace place;
    double slope = 0;  // d ln(time) / d ln(constant)
  };
  struct Value {
    double time_s = 0;
    std::string way;  // "ring LL": the fastest
    std::vector<Slope> slopes;
  };
  [[nodiscard]] Value at(const ConstantsSeen& constants) const;

 private:
  // c * a or c / a, perhaps times what goes with a: growth with a hop, per_chunk with a rate.
  struct Term {
    ConstantPlace a;
    bool inverse = false;
    bool with_companion = false;
    double c = 0;
  };
  struct Way {
    std::string name;
    double fixed_s = 0;  // what depends on none
    std::vector<Term> kernel, host;
  };
  static double value_of(const Term& term, const ConstantsSeen& constants);
  static double time_of(const Way& way, const ConstantsSeen& constants);

  std::vector<Way> ways_;
};

// The constants of the kinds that a case is of.
[[nodiscard]] ConstantsSeen constants_seen(const KindsOfCase& kinds,
                                           const MachineConstants& constants);

}  // namespace collsim
