// SPDX-License-Identifier: Apache-2.0
#include "collectives/schedule.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <utility>

namespace collsim {

Schedule::Schedule(Parts parts) {
  validate(parts.collective);
  if (parts.lanes < 1 || parts.lanes > 65536)
    throw_error(ErrorCode::invalid_argument, "a rank has 1 to 65536 lanes, not ", parts.lanes);
  if (parts.slots && *parts.slots < 1)
    throw_error(ErrorCode::invalid_argument, "a connection needs at least 1 slot, not ",
                *parts.slots);
  if (!parts.program)
    throw_error(ErrorCode::invalid_argument, "a schedule needs a program for every lane");
  parts_ = std::make_shared<const Parts>(std::move(parts));
}

Schedule Schedule::with_slots(std::optional<int> slots) const {
  Parts parts = *parts_;
  parts.slots = slots;
  return Schedule(std::move(parts));
}

Schedule Schedule::with_programs(ProgramFactory program) const {
  Parts parts = *parts_;
  parts.program = std::move(program);
  parts.symmetry = Symmetry::none;
  parts.node_turns = {};
  parts.exchanges_in_rounds = false;
  return Schedule(std::move(parts));
}

std::vector<TurnDigit> Schedule::turns() const {
  std::vector<TurnDigit> digits;
  const auto digit = [](int count, bool turns) {
    const auto size = static_cast<std::uint32_t>(count);
    return TurnDigit{.size = size, .step = turns ? 1 : size};
  };
  switch (symmetry()) {
    case Symmetry::none: {
      const NodeTurns& of_nodes = parts_->node_turns;
      if (of_nodes.nodes || of_nodes.members)
        digits = {digit(size() / parts_->members, of_nodes.nodes),
                  digit(parts_->members, of_nodes.members)};
      break;
    }
    case Symmetry::rotation: digits = {{static_cast<std::uint32_t>(size())}}; break;
    case Symmetry::exchange:
      for (int ranks = size(); ranks > 1; ranks /= 2) digits.push_back({2});
      break;
    case Symmetry::dimensions:
      for (const int dim : parts_->dims) digits.push_back({static_cast<std::uint32_t>(dim)});
      break;
  }
  return digits;
}

Lane Schedule::turned(Lane lane, Rank from, Rank into) const {
  if (!parts_->node_turns.channels) return lane;
  const auto members = static_cast<std::size_t>(parts_->members);
  const std::size_t turn = into.index() + members - from.index() % members;
  const auto all = static_cast<std::size_t>(parts_->lanes);
  const std::size_t of_channel = all / static_cast<std::size_t>(parts_->channels);
  return Lane((lane.index() + turn % members * of_channel) % all);
}

// --- rounds --------------------------------------------------------------------------------------

namespace {

// The messages of one direction in a round.
class Round {
 public:
  void add(Rank peer, std::int64_t count) { elements_[peer] += count; }
  [[nodiscard]] bool is_empty() const { return elements_.empty(); }
  // Ends it: whether it was with all the others, alike.
  [[nodiscard]] bool ends_complete(std::size_t others) {
    bool complete = elements_.empty() || elements_.size() == others;
    for (const auto& [peer, count] : elements_)
      complete = complete && count == elements_.begin()->second;
    elements_.clear();
    return complete;
  }

 private:
  std::map<Rank, std::int64_t> elements_;
};

bool exchanges_in_rounds(LaneProgram program, Rank me, std::size_t others) {
  Round sent, received;
  while (const Instruction* const instruction = program.next()) {
    const bool gives = gives_to_lane(instruction->op);
    const bool takes = takes_from_lane(instruction->op);
    if ((gives && takes) || (gives && instruction->to.rank == me) ||
        (takes && instruction->from.rank == me))
      return false;
    if (takes) received.add(instruction->from.rank, instruction->count);
    if (!gives) continue;
    if (!received.is_empty() && !(sent.ends_complete(others) && received.ends_complete(others)))
      return false;
    sent.add(instruction->to.rank, instruction->count);
  }
  return sent.ends_complete(others) && received.ends_complete(others);
}

}  // namespace

bool programs_exchange_in_rounds(const Schedule& schedule) {
  const auto others = static_cast<std::size_t>(schedule.size() - 1);
  for (int position = 0; position < schedule.size(); ++position)
    for (std::size_t lane = 0; lane < static_cast<std::size_t>(schedule.lanes()); ++lane)
      if (!exchanges_in_rounds(schedule.program(position, Lane(lane)), schedule.rank(position),
                               others))
        return false;
  return true;
}

// --- the working set ----------------------------------------------------------------------------

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
