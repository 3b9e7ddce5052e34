// SPDX-License-Identifier: Apache-2.0
#include "sim/participants.hpp"

#include <algorithm>
#include <map>

#include "topo/error.hpp"

namespace collsim {

namespace {

std::string name_of(const Endpoint& lane) {
  return "rank " + std::to_string(lane.rank.index()) + " lane " + std::to_string(lane.lane.index());
}

std::string wish_of(const WaitingLane& waiting) {
  std::string who = name_of(waiting.lane) + " (at " + to_string(waiting.instruction.op) + " of " +
                    std::to_string(waiting.instruction.count) + " elements) waits for ";
  switch (waiting.reason) {
    case WaitingLane::For::message: return who + "a message from " + name_of(waiting.other);
    case WaitingLane::For::slot: return who + "a free slot towards " + name_of(waiting.other);
    case WaitingLane::For::signal:
      return who + "a signal of lane " + std::to_string(waiting.other.lane.index());
  }
  return who;
}

// Follows the chain of waiting lanes until one repeats.
std::vector<const WaitingLane*> circle_among(const std::vector<WaitingLane>& waiting) {
  std::map<Endpoint, const WaitingLane*> by_lane;
  for (const WaitingLane& lane : waiting) by_lane.emplace(lane.lane, &lane);
  std::map<Endpoint, std::size_t> seen_at;
  std::vector<const WaitingLane*> path;
  const WaitingLane* current = &waiting.front();
  while (seen_at.emplace(current->lane, path.size()).second) {
    path.push_back(current);
    const auto next = by_lane.find(current->other);
    if (next == by_lane.end()) return {path.back()};  // it waits for a lane that has already ended
    current = next->second;
  }
  path.erase(path.begin(), path.begin() + static_cast<std::ptrdiff_t>(seen_at[current->lane]));
  return path;
}

}  // namespace

Participants::Participants(const Topology& topology, const Programs& programs)
    : size_(static_cast<std::size_t>(programs.size())), in_order_(true) {
  const std::vector<Rank>& group = programs.group();
  for (std::size_t position = 0; position < group.size(); ++position) {
    if (group[position].index() >= topology.rank_count())
      throw_error(ErrorCode::invalid_argument, "rank " + std::to_string(group[position].index()) +
                                                   " takes part, but the topology (" +
                                                   topology.shape() + ") has only ranks 0 to " +
                                                   std::to_string(topology.rank_count() - 1));
    in_order_ = in_order_ && group[position].index() == position;
  }
  if (in_order_) return;
  members_.assign(topology.rank_count(), absent);
  for (std::size_t position = 0; position < group.size(); ++position)
    members_[group[position].index()] = static_cast<std::uint32_t>(position);
  for (std::uint32_t& entry : members_) {  // a position, which becomes a member
    if (entry == absent) continue;
    positions_.push_back(entry);
    entry = static_cast<std::uint32_t>(positions_.size() - 1);
  }
}

void report_size_mismatch(const Endpoint& lane, const Instruction& instruction, std::int64_t sent) {
  throw_error(ErrorCode::bad_schedule,
              name_of(lane) + " expects " + std::to_string(instruction.count) + " elements from " +
                  name_of(instruction.from) + ", which sent " + std::to_string(sent));
}

void report_bad_peer(const Programs& programs, const Endpoint& lane, const Endpoint& peer) {
  throw_error(ErrorCode::bad_schedule, name_of(lane) + " talks to " + name_of(peer) +
                                           ", but only the " + std::to_string(programs.size()) +
                                           " members of the group take part, with " +
                                           std::to_string(programs.lanes()) +
                                           (programs.lanes() == 1 ? " lane each" : " lanes each"));
}

void report_bad_operation(const Endpoint& lane, const Instruction& instruction) {
  throw_error(ErrorCode::bad_schedule, name_of(lane) + " has an instruction with operation " +
                                           std::to_string(static_cast<unsigned>(instruction.op)) +
                                           ", which does not exist");
}

void report_talks_to_itself(const Endpoint& lane) {
  throw_error(ErrorCode::bad_schedule, name_of(lane) +
                                           " sends to, receives from, signals or waits "
                                           "for itself");
}

void report_bad_count(const Endpoint& lane, const Instruction& instruction) {
  throw_error(ErrorCode::bad_schedule,
              name_of(lane) + " asks for " + to_string(instruction.op) + " of " +
                  std::to_string(instruction.count) +
                  " elements; the count must not be negative, nor its bytes exceed 64 bits");
}

void report_signal_misuse(const Endpoint& lane, const Instruction& instruction) {
  throw_error(
      ErrorCode::bad_schedule,
      name_of(lane) + " uses " + to_string(instruction.op) +
          (orders_lanes(instruction.op)
               ? " with another rank; signals order the lanes of one rank, use a message"
               : " with its own rank; lanes of one rank share memory, use signal and wait"));
}

void report_left_over(const Endpoint& source, const Endpoint& target, std::uint64_t messages) {
  const bool signals = source.rank == target.rank;
  throw_error(ErrorCode::bad_schedule,
              std::to_string(messages) + (signals ? " signal(s)" : " message(s)") + " from " +
                  name_of(source) + " to " + name_of(target) +
                  (signals ? " were given but never waited for" : " were sent but never received"));
}

void report_deadlock(const std::vector<WaitingLane>& waiting, std::optional<int> slots) {
  const std::vector<const WaitingLane*> circle = circle_among(waiting);
  std::string text = std::to_string(waiting.size()) + " lane(s) can never finish: ";
  constexpr std::size_t most_named = 8;
  for (std::size_t i = 0; i < std::min(circle.size(), most_named); ++i)
    text += (i == 0 ? "" : "; ") + wish_of(*circle[i]);
  if (circle.size() > most_named)
    text += "; and so on around a cycle of " + std::to_string(circle.size()) + " lanes";
  if (circle.size() == 1 && circle.front()->lane != circle.front()->other)
    text += ", which has already ended";
  if (slots) text += ". Connections have " + std::to_string(*slots) + " slot(s)";
  throw_error(ErrorCode::deadlock, text);
}

}  // namespace collsim
