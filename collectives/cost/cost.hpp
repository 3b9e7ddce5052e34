// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace collsim {

struct CostCase;  // cost/conditions.hpp

// What the literature says an algorithm costs on some networks: rows of this stand in the
// algorithm's file.  All texts are formulas (cost/formula.hpp).  The first row of an algorithm that
// is for the network at hand and holds is the answer.
struct Cost {
  unsigned networks = 0;  // on::..., bits
  std::string_view time;  // seconds, for K > 1
  std::string_view even;  // exact where the vector divides into this many even pieces
  std::string_view reference;
  bool (*holds)(const CostCase&) = nullptr;  // the condition besides the network; null: none
  std::string_view best_chunks{};            // the real S for which `time` is smallest, if any
};

// The kinds of UniformNetwork, as bits.
namespace on {
inline constexpr unsigned chain = 1;
inline constexpr unsigned ring = 2;
inline constexpr unsigned links = 4;  // a link of its own for every ordered pair
inline constexpr unsigned ports = 8;  // one way in and one way out per rank, at a switch
inline constexpr unsigned both_ways_around = ring | links;
inline constexpr unsigned rings = ring | links | ports;
inline constexpr unsigned any = chain | rings;
}  // namespace on

namespace literature {
inline constexpr std::string_view hockney = "Hockney, Parallel Computing 20 (1994)";
inline constexpr std::string_view chan =
    "Chan, Heimlich, Purkayastha, van de Geijn, Concurrency Computat. Pract. Exper. 19 (2007)";
inline constexpr std::string_view thakur =
    "Thakur, Rabenseifner, Gropp, Int. J. High Perform. Comput. Appl. 19 (2005)";
inline constexpr std::string_view two_trees =
    "Sanders, Speck, Traff, Parallel Computing 35 (2009), as the baseline";
inline constexpr std::string_view flow_shop =
    "flow shop of equal jobs: sum of stages + (S-1) * slowest stage";
}  // namespace literature

}  // namespace collsim
