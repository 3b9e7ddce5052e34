// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "collectives/collective.hpp"

namespace collsim {

// The function of MPI that does what a collective asks for, on memory of its own.
class OwnCollective {
 public:
  // The name of the function; empty where MPI has none: sends and receives, types of 16 bits,
  // averages, a vector beyond 2^31 elements.
  [[nodiscard]] static std::string name_of(const Collective& collective);

  OwnCollective(const Collective& collective, MPI_Comm ranks);

  void fill(const std::vector<std::byte>& input);
  void run();
  [[nodiscard]] const std::vector<std::byte>& output() const { return output_; }

 private:
  void run_for_root();

  const Collective collective_;
  MPI_Comm ranks_;
  int position_ = 0;
  MPI_Datatype type_;
  MPI_Op reduction_;
  int count_ = 0;
  std::vector<std::byte> input_, output_;
  std::vector<int> pieces_, offsets_;                         // the vector, divided among the ranks
  std::vector<int> sent_, received_, sent_at_, received_at_;  // all-to-all
};

}  // namespace collsim
