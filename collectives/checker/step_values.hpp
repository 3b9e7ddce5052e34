// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "collectives/workload.hpp"
#include "collectives/workload_data.hpp"

namespace collsim::checker {

// What an item holds: a number modulo 2^61 - 1, 0 for nothing.  Sums and means are sums and means
// of these numbers; the part that a rank has of an item is a secret multiple, and all parts
// together give the item again; work is an unknown function of all that it reads.  So equal numbers
// are equal contents, but for a probability below 2^-60 per comparison.
using StepValue = std::uint64_t;

// What the items of all ranks hold.
class StepValues {
 public:
  StepValues(const Workload& workload, const WorkloadData& data);

  void work(std::size_t position, const Label& label, const Uses& uses);
  [[nodiscard]] std::vector<StepValue> read(std::size_t position, const Uses& uses) const;
  void write(std::size_t position, const Uses& uses, const std::vector<StepValue>& values);
  struct Member {
    std::size_t position = 0;
    Uses uses;
  };
  void call(const Call& call, const std::vector<Member>& members);

  struct Broken {
    const WorkloadData::Claim* claim = nullptr;
    std::size_t group = 0;  // of the claim
    Rank rank;              // whose item is wrong ...
    Rank other;             // ... or other than this one's
    std::uint32_t item = 0;
  };
  [[nodiscard]] std::optional<Broken> broken_claim() const;

 private:
  struct Held {
    StepValue now = 0;
    StepValue worked = 0;     // what work last wrote
    StepValue optimized = 0;  // what the optimizer read
  };
  [[nodiscard]] Held& held(std::size_t position, std::uint32_t item) {
    return held_[position * items_ + item];
  }
  [[nodiscard]] const Held& held(std::size_t position, std::uint32_t item) const {
    return held_[position * items_ + item];
  }
  [[nodiscard]] StepValue part_of(StepValue whole, std::size_t member) const;
  [[nodiscard]] StepValue joined(const std::vector<StepValue>& parts) const;
  [[nodiscard]] StepValue whole_of(const Call& call, const std::vector<StepValue>& values) const;
  [[nodiscard]] StepValue result_of(const Call& call, StepValue whole, std::size_t member) const;
  [[nodiscard]] std::optional<Broken> broken(const WorkloadData::Claim& claim,
                                             std::size_t group) const;

  struct Secret {
    std::uint64_t secret = 0, inverse = 0;
  };

  const WorkloadData& data_;
  std::size_t items_;
  std::vector<Secret> secrets_;  // of the parts of an item, by member of a group
  std::map<Rank, std::size_t> positions_;
  std::vector<Held> held_;  // by position and item
};

}  // namespace collsim::checker
