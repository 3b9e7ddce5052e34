// SPDX-License-Identifier: Apache-2.0
#include "collectives/programs.hpp"

#include <cstddef>
#include <map>

#include "topo/error.hpp"

namespace collsim {

namespace {

bool may_mirror_nodes(const Programs::Parts& parts) {
  const auto nodes = parts.group.size() / static_cast<std::size_t>(parts.members);
  const int lanes = parts.node_turns.lanes_of_tree;
  return lanes > 0 && parts.lanes % (2 * lanes) == 0 && nodes % 2 == 0 && !parts.node_turns.nodes;
}

}  // namespace

Programs::Programs(std::shared_ptr<const Parts> parts)
    : parts_(std::move(parts)), mirrors_nodes_(may_mirror_nodes(*parts_)) {
  if (parts_->lanes < 1 || parts_->lanes > 65536)
    throw_error(ErrorCode::invalid_argument, "a rank has 1 to 65536 lanes, not ", parts_->lanes);
  if (parts_->slots && *parts_->slots < 1)
    throw_error(ErrorCode::invalid_argument, "a connection needs at least 1 slot, not ",
                *parts_->slots);
  if (!parts_->program) throw_error(ErrorCode::invalid_argument, "every lane needs a program");
}

std::vector<TurnDigit> Programs::turns() const {
  std::vector<TurnDigit> digits = parts_->turns;
  const auto digit = [](int count, bool turns) {
    const auto size = static_cast<std::uint32_t>(count);
    return TurnDigit{.size = size, .step = turns ? 1 : size};
  };
  switch (symmetry()) {
    case Symmetry::none: {
      const NodeTurns& of_nodes = parts_->node_turns;
      if (!of_nodes.nodes && !of_nodes.members && !mirrors_nodes_) break;
      digits = {digit(size() / parts_->members, of_nodes.nodes),
                digit(parts_->members, of_nodes.members)};
      digits[0].mirrors = mirrors_nodes_;
      break;
    }
    case Symmetry::rotation: digits = {{static_cast<std::uint32_t>(size())}}; break;
    case Symmetry::even_in_dimensions:
      for (const int dim : parts_->dims)
        digits.push_back({.size = static_cast<std::uint32_t>(dim), .step = dim % 2 == 0 ? 2U : 1U});
      break;
    case Symmetry::exchange:
      for (int ranks = size(); ranks > 1; ranks /= 2) digits.push_back({2});
      break;
    case Symmetry::dimensions:
      for (const int dim : parts_->dims) digits.push_back({static_cast<std::uint32_t>(dim)});
      break;
  }
  return digits;
}

Lane Programs::turned(Lane lane, Rank from, Rank into) const {
  if (!turns_move_lanes()) return lane;
  const auto members = static_cast<std::size_t>(parts_->members);
  std::size_t turned = lane.index();
  if (parts_->node_turns.channels) {
    const std::size_t turn = into.index() + members - from.index() % members;
    const auto all = static_cast<std::size_t>(parts_->lanes);
    const std::size_t of_channel = all / static_cast<std::size_t>(parts_->channels);
    turned = (turned + turn % members * of_channel) % all;
  }
  if (mirrors_nodes_ && from.index() / members != into.index() / members) {
    const auto of_tree = static_cast<std::size_t>(parts_->node_turns.lanes_of_tree);
    turned = turned / of_tree % 2 == 0 ? turned + of_tree : turned - of_tree;
  }
  return Lane(turned);
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

bool programs_exchange_in_rounds(const Programs& programs) {
  const auto others = static_cast<std::size_t>(programs.size() - 1);
  for (int position = 0; position < programs.size(); ++position)
    for (std::size_t lane = 0; lane < static_cast<std::size_t>(programs.lanes()); ++lane)
      if (!exchanges_in_rounds(programs.program(position, Lane(lane)), programs.rank(position),
                               others))
        return false;
  return true;
}

}  // namespace collsim
