// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "collectives/programs.hpp"
#include "topo/topology.hpp"

namespace collsim {

// Internal to sim/: from ranks to members, and the errors a simulator can find in programs.
class Participants {
 public:
  static constexpr std::uint32_t absent = 0xffffffffU;

  // Error{invalid_argument} when a member is not a rank of the topology.
  Participants(const Topology& topology, const Programs& programs);

  // Lanes are numbered by rank, because ties go to the lower rank whatever the order of the group:
  // a member is a rank's index among those that take part, in rank order.
  [[nodiscard]] std::uint32_t member_of(Rank rank) const {
    if (in_order_) return rank.index() < size_ ? static_cast<std::uint32_t>(rank.index()) : absent;
    return rank.index() < members_.size() ? members_[rank.index()] : absent;
  }
  [[nodiscard]] std::uint32_t position_at(std::size_t member) const {
    return in_order_ ? static_cast<std::uint32_t>(member) : positions_[member];
  }
  // The group is 0, 1, ... K-1.
  [[nodiscard]] bool in_order() const { return in_order_; }

 private:
  std::size_t size_;
  bool in_order_;
  std::vector<std::uint32_t> members_;    // by rank; unused when in order
  std::vector<std::uint32_t> positions_;  // by member; likewise
};

// What a lane that cannot go on waits for.
struct WaitingLane {
  enum class For : std::uint8_t { message, slot, signal };
  Endpoint lane;
  Endpoint other;
  For reason = For::message;
  Instruction instruction;
};

[[noreturn]] void report_size_mismatch(const Endpoint& lane, const Instruction& instruction,
                                       std::int64_t sent);
[[noreturn]] void report_bad_operation(const Endpoint& lane, const Instruction& instruction);
[[noreturn]] void report_talks_to_itself(const Endpoint& lane);
[[noreturn]] void report_bad_count(const Endpoint& lane, const Instruction& instruction);
[[noreturn]] void report_bad_peer(const Programs& programs, const Endpoint& lane,
                                  const Endpoint& peer);
[[noreturn]] void report_signal_misuse(const Endpoint& lane, const Instruction& instruction);
[[noreturn]] void report_left_over(const Endpoint& source, const Endpoint& target,
                                   std::uint64_t messages);
// Names a cycle of lanes that wait for each other if there is one, else the first waiting lane.
[[noreturn]] void report_deadlock(const std::vector<WaitingLane>& waiting,
                                  std::optional<int> slots);

}  // namespace collsim
