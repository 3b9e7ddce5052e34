// SPDX-License-Identifier: Apache-2.0
#include "collectives/holdings.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace collsim {
namespace {

// A stretch of an output that lies in one piece.
struct Part {
  std::int64_t begin = 0, end = 0;
  std::size_t holding = 0;  // in Holdings::had
};

std::int32_t piece_with(const Pieces& pieces, std::int64_t element) {
  const auto after = std::upper_bound(pieces.starts.begin(), pieces.starts.end(), element);
  return static_cast<std::int32_t>(after - pieces.starts.begin()) - 1;
}

std::int64_t end_of(const Pieces& pieces, std::int32_t piece) {
  const auto next = static_cast<std::size_t>(piece) + 1;
  return next < pieces.starts.size() ? pieces.starts[next]
                                     : std::numeric_limits<std::int64_t>::max();
}

// Outputs cut where pieces begin, and who writes to them when.
class Outputs {
 public:
  Outputs(const Collective& collective, const Pieces& pieces, Holdings& result)
      : result_(result), parts_(static_cast<std::size_t>(collective.size())) {
    for (std::size_t position = 0; position < parts_.size(); ++position) {
      holding_of_piece_.assign(pieces.starts.size(), none);
      const Rank rank = collective.group[position];
      for (const Requirement& required : requirements(collective, static_cast<int>(position)))
        cut(pieces, position, rank, required);
    }
  }

  void write(std::size_t position, std::int64_t begin, std::int64_t end, Time when) {
    const std::vector<Part>& parts = parts_[position];
    auto part =
        std::upper_bound(parts.begin(), parts.end(), begin,
                         [](std::int64_t place, const Part& one) { return place < one.end; });
    for (; part != parts.end() && part->begin < end; ++part) {
      Holding& holding = result_.had[part->holding];
      holding.begun = std::min(holding.begun, when);
      holding.done = holding.done == Time::never() ? when : std::max(holding.done, when);
    }
  }

 private:
  static constexpr std::size_t none = std::numeric_limits<std::size_t>::max();

  void cut(const Pieces& pieces, std::size_t position, Rank rank, const Requirement& required) {
    std::int64_t element = first_element(pieces, required);
    std::int64_t place = required.output_offset;
    const std::int64_t end = place + required.count;
    while (place < end) {
      const std::int32_t piece = piece_with(pieces, element);
      const std::int64_t next = std::min(end, place + (end_of(pieces, piece) - element));
      std::size_t& holding = holding_of_piece_[static_cast<std::size_t>(piece)];
      if (holding == none) {
        holding = result_.had.size();
        result_.had.push_back({rank, piece, Time::never(), Time::never()});
      }
      parts_[position].push_back({place, next, holding});
      element += next - place;
      place = next;
    }
  }

  static std::int64_t first_element(const Pieces& pieces, const Requirement& required) {
    return required.input_offset +
           (required.from ? pieces.inputs[static_cast<std::size_t>(*required.from)] : 0);
  }

  Holdings& result_;
  std::vector<std::vector<Part>> parts_;       // by position, in the order of the output
  std::vector<std::size_t> holding_of_piece_;  // of the position that is being cut
};

// What is never written was present before: input and output share that memory, or there is no
// data.
void settle(std::vector<Holding>& had) {
  for (Holding& holding : had) {
    if (holding.begun == Time::never()) holding.begun = Time{};
    if (holding.done == Time::never()) holding.done = Time{};
  }
}

Brought brought_by(const Collective& collective, const Pieces& pieces, std::size_t position) {
  const std::int64_t count = input_count(collective, static_cast<int>(position));
  Brought brought{collective.group[position]};
  if (count == 0) return brought;
  brought.first = piece_with(pieces, pieces.inputs[position]);
  brought.end = piece_with(pieces, pieces.inputs[position] + count - 1) + 1;
  return brought;
}

}  // namespace

Holdings find_holdings(const Schedule& schedule, const Timeline& timeline, const Pieces& pieces) {
  const Collective& collective = schedule.collective();
  Holdings result;
  if (pieces.starts.empty()) return result;
  Outputs outputs(collective, pieces, result);
  std::vector<std::size_t> positions;  // by rank
  for (std::size_t position = 0; position < collective.group.size(); ++position) {
    const std::size_t rank = collective.group[position].index();
    if (positions.size() <= rank) positions.resize(rank + 1);
    positions[rank] = position;
    result.brought.push_back(brought_by(collective, pieces, position));
  }
  for (const Step& step : timeline.steps) {
    const Instruction& instruction = step.instruction;
    if (stores(instruction.op) && instruction.destination_buffer == Buffer::output)
      outputs.write(positions[step.rank.index()], instruction.destination_offset,
                    instruction.destination_offset + instruction.count, step.ended);
  }
  settle(result.had);
  return result;
}

}  // namespace collsim
