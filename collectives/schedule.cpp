// SPDX-License-Identifier: Apache-2.0
#include "collectives/schedule.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <utility>

namespace collsim {

namespace {

Schedule::Parts completed(Schedule::Parts parts) {
  validate(parts.collective);
  parts.group = parts.collective.group;
  parts.element_size = size_of(parts.collective.type);
  return parts;
}

}  // namespace

Schedule::Schedule(Parts parts) : Programs(completed(std::move(parts))) {}

Schedule Schedule::with_slots(std::optional<int> slots) const {
  Parts parts = own();
  parts.slots = slots;
  return Schedule(std::move(parts));
}

Schedule Schedule::with_programs(ProgramFactory program) const {
  Parts parts = own();
  parts.program = std::move(program);
  parts.symmetry = Symmetry::none;
  parts.node_turns = {};
  parts.exchanges_in_rounds = false;
  return Schedule(std::move(parts));
}

namespace {

struct Connection {
  std::int64_t messages = 0;
  std::int64_t largest = 0;
};

// Elements of one rank.
class RankTouches {
 public:
  RankTouches(const Schedule& schedule, int position) : schedule_(schedule), position_(position) {}

  void add(const Instruction& instruction) {
    const Op op = instruction.op;
    if (orders_lanes(op)) return;
    if (reads(op)) touched(instruction.source_buffer) += instruction.count;
    if (stores(op)) touched(instruction.destination_buffer) += instruction.count;
    if (!sends(op)) return;
    Connection& connection = connections_[instruction.to];
    ++connection.messages;
    connection.largest = std::max(connection.largest, instruction.count);
  }

  // The next lane's connections are others.
  void end_lane() {
    for (const auto& [to, connection] : connections_) {
      const std::int64_t slots = schedule_.slots().value_or(connection.messages);
      in_slots_ += std::min(slots, connection.messages) * connection.largest;
    }
    connections_.clear();
  }

  [[nodiscard]] std::int64_t elements() {
    const Collective& collective = schedule_.collective();
    const std::int64_t input = input_count(collective, position_);
    const std::int64_t output = output_count(collective, position_);
    const bool shared = aliasing(collective, position_).shared;
    const std::int64_t buffers =
        std::min(touched(Buffer::input), input) + std::min(touched(Buffer::output), output);
    return std::min(buffers, shared ? std::max(input, output) : input + output) +
           std::min(touched(Buffer::scratch), schedule_.scratch_count(position_)) + in_slots_;
  }

 private:
  std::int64_t& touched(Buffer buffer) { return touched_[static_cast<std::size_t>(buffer)]; }

  const Schedule& schedule_;
  int position_;
  std::array<std::int64_t, 3> touched_{};
  std::int64_t in_slots_ = 0;
  std::map<Endpoint, Connection> connections_;
};

}  // namespace

Bytes working_set(const Schedule& schedule) {
  Bytes elements = 0;
  for (int position = 0; position < schedule.size(); ++position) {
    RankTouches rank(schedule, position);
    for (int lane = 0; lane < schedule.lanes(); ++lane) {
      LaneProgram program = schedule.program(position, Lane(static_cast<std::size_t>(lane)));
      while (const Instruction* const instruction = program.next()) rank.add(*instruction);
      rank.end_lane();
    }
    elements += rank.elements();
  }
  return elements * size_of(schedule.collective().type);
}

}  // namespace collsim
