// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "collectives/algorithms.hpp"

namespace collsim {

struct MscclOptions {
  std::string name;                 // empty: the algorithm's
  std::string protocol = "Simple";  // LL, LL128
  Bytes least = 0;                  // the sizes for which MSCCL is to take it
  Bytes most = (Bytes{1} << 31) - 1;
};

// An algorithm in the XML of MSCCL: what app/import/msccl.hpp reads, with the same times, and what
// MSCCL runs.  The positions of the group are the gpus; the size does not matter, because data is
// in
// chunks, as few as can be.  `choice` must not be "auto".
//
// A lane with several peers is several thread blocks; they say in an attribute of ours, `lane`,
// that
// they belong together.  gather, scatter and send-recv are "custom" there.
//
// Error{too_large} naming the limit when it does not fit; {invalid_argument} when MSCCL has no such
// thing: a barrier.
[[nodiscard]] std::string to_msccl(const Collective& collective, const AlgorithmChoice& choice,
                                   const MscclOptions& options = {});

}  // namespace collsim
