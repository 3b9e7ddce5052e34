// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "app/scenario/scenario.hpp"
#include "collectives/cost/cuts.hpp"

namespace collsim {

// The cuts that bounds are made of, kept from one case to the next: neighbouring rows of a study
// differ in sizes and algorithms more often than in machines.  Not for several threads.
class CutsCache {
 public:
  // Searched for the case's operation and root; but under a protocol of NCCL, where links have
  // other rates at every size, only what the structure of the machine suggests.
  [[nodiscard]] std::shared_ptr<const NetworkCuts> of(const Case& one_case);

 private:
  struct Entry {
    std::shared_ptr<const NetworkCuts> cuts;
    Operation operation;
    int root;
  };
  std::vector<Entry> recent_;  // of one machine and group
};

}  // namespace collsim
