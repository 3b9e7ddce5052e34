// SPDX-License-Identifier: Apache-2.0
#include "collectives/pieces.hpp"

#include <algorithm>
#include <compare>
#include <limits>
#include <map>
#include <utility>

#include "collectives/span.hpp"

namespace collsim {
namespace {

// The positions in the group, by rank.
std::vector<std::size_t> positions_of(const Collective& collective) {
  std::vector<std::size_t> positions;
  for (std::size_t position = 0; position < collective.group.size(); ++position) {
    const std::size_t rank = collective.group[position].index();
    if (positions.size() <= rank) positions.resize(rank + 1);
    positions[rank] = position;
  }
  return positions;
}

// Follows data back to where they were an input.
class Origins {
 public:
  Origins(const Schedule& schedule, const Timeline& timeline)
      : collective_(schedule.collective()),
        steps_(timeline.steps),
        known_(timeline.steps.size(), unknown),
        positions_(positions_of(collective_)) {
    const auto size = static_cast<std::size_t>(collective_.size());
    std::int64_t inputs = 0;
    for (std::size_t position = 0; position < size; ++position) {
      first_of_input_.push_back(inputs);
      if (!reduces(collective_.operation))
        inputs += input_count(collective_, static_cast<int>(position));
    }
    outputs_.resize(size);
    stores_.resize(size);
    for (std::uint32_t i = 0; i < steps_.size(); ++i) {
      const Instruction& instruction = steps_[i].instruction;
      if (stores(instruction.op) && instruction.destination_buffer == Buffer::scratch)
        stores_[position_of(steps_[i])][instruction.destination_offset].push_back(i);
    }
  }

  // The element, in the order in which pieces are numbered, with which a step's value begins.
  // Data may have gone through any number of steps, so there is a loop and no recursion.
  std::int64_t of_step(std::uint32_t index) {
    way_.clear();
    Source at{index, 0};
    while (at.step != Step::none && known(at) == unknown) {
      way_.push_back(at);
      known(at) = 0;  // ends the loop, should times of a real run be so equal that data go round
      at = source_of(at);
    }
    const std::int64_t element = at.step == Step::none ? at.offset : known(at);
    for (const Source& passed : way_) known(passed) = element;
    return element;
  }

  // By position; all 0 where the same element of all inputs is the same piece.
  [[nodiscard]] const std::vector<std::int64_t>& first_of_inputs() const { return first_of_input_; }

  // Where the blocks begin that ranks keep for themselves.
  [[nodiscard]] std::vector<std::int64_t> kept() const {
    std::vector<std::int64_t> kept;
    if (collective_.count == 0 || collective_.operation == Operation::barrier) return kept;
    if (reduces(collective_.operation) || collective_.operation == Operation::broadcast) return {0};
    const std::size_t ranks = first_of_input_.size();
    for (std::size_t position = 0; position < ranks; ++position) {
      if (input_count(collective_, static_cast<int>(position)) == 0) continue;
      const bool is_cut = collective_.operation == Operation::scatter ||
                          collective_.operation == Operation::all_to_all;
      const Span input{Buffer::input, 0, is_cut ? collective_.count : 0};
      const Span own = input.piece(static_cast<std::int64_t>(position), collective_.size());
      if (!is_cut || own.count > 0) kept.push_back(first_of_input_[position] + own.offset);
    }
    return kept;
  }

  // How many elements there are from this one to the end of its block: what one rank has for
  // another.
  [[nodiscard]] std::int64_t left_of_block(std::int64_t element) const {
    if (reduces(collective_.operation) || collective_.operation == Operation::broadcast)
      return collective_.count - element;
    const auto next = std::upper_bound(first_of_input_.begin(), first_of_input_.end(), element);
    const auto position = static_cast<std::size_t>(next - first_of_input_.begin()) - 1;
    const std::int64_t inside = element - first_of_input_[position];
    const bool is_cut = collective_.operation == Operation::scatter ||
                        collective_.operation == Operation::all_to_all;
    if (!is_cut) return input_count(collective_, static_cast<int>(position)) - inside;
    const Span input{Buffer::input, 0, collective_.count};
    std::int64_t block = 0;
    std::int64_t after = collective_.size();  // somewhere from `block` on, before `after`
    while (after - block > 1) {
      const std::int64_t middle = (block + after) / 2;
      (input.piece(middle, collective_.size()).offset <= inside ? block : after) = middle;
    }
    const Span found = input.piece(block, collective_.size());
    return found.offset + found.count - inside;
  }

 private:
  static constexpr std::int64_t unknown = -1;
  // So many elements behind the beginning of a step's value; of all data where there is no step.
  struct Source {
    std::uint32_t step;
    std::int64_t offset;
    auto operator<=>(const Source&) const = default;
  };
  // Steps that stored something at this place of the scratch memory, by lane and order.
  using Stores = std::map<std::int64_t, std::vector<std::uint32_t>>;

  [[nodiscard]] std::size_t position_of(const Step& step) const {
    return positions_[step.rank.index()];
  }

  std::int64_t& known(const Source& at) {
    return at.offset == 0 ? known_[at.step] : known_inside_.try_emplace(at, unknown).first->second;
  }

  // One step back on its way.
  Source source_of(const Source& at) {
    const Step& step = steps_[at.step];
    if (receives(step.instruction.op) && step.message_from != Step::none)
      return {step.message_from, at.offset};
    const std::size_t position = position_of(step);
    const std::int64_t offset = step.instruction.source_offset + at.offset;
    switch (step.instruction.source_buffer) {
      case Buffer::input: return {Step::none, first_of_input_[position] + offset};
      case Buffer::output: return {Step::none, of_output(position, offset)};
      case Buffer::scratch: return of_scratch(step, offset);
    }
    return {Step::none, 0};
  }

  std::int64_t of_output(std::size_t position, std::int64_t offset) {
    std::vector<Requirement>& parts = outputs_[position];
    if (parts.empty()) parts = requirements(collective_, static_cast<int>(position));
    const auto ends_before = [](const Requirement& part, std::int64_t place) {
      return part.output_offset + part.count <= place;
    };
    const auto part = std::lower_bound(parts.begin(), parts.end(), offset, ends_before);
    if (part == parts.end() || offset < part->output_offset) return 0;  // an empty piece
    const std::int64_t inside = part->input_offset + offset - part->output_offset;
    return inside + (part->from ? first_of_input_[static_cast<std::size_t>(*part->from)] : 0);
  }

  Source of_scratch(const Step& reader, std::int64_t offset) {
    const Stores& stores = stores_[position_of(reader)];
    auto place = stores.upper_bound(offset);
    while (place != stores.begin()) {
      --place;
      const std::uint32_t writer = latest_before(reader, place->second, offset);
      if (writer != Step::none)
        return {writer, offset - steps_[writer].instruction.destination_offset};
    }
    return {Step::none, 0};
  }

  [[nodiscard]] std::uint32_t latest_before(const Step& reader,
                                            const std::vector<std::uint32_t>& writers,
                                            std::int64_t offset) const {
    std::uint32_t latest = Step::none;
    for (const std::uint32_t i : writers) {
      const Step& writer = steps_[i];
      const Instruction& stored = writer.instruction;
      const bool before =
          writer.lane == reader.lane ? writer.index < reader.index : writer.ended <= reader.began;
      if (!before || offset >= stored.destination_offset + stored.count) continue;
      if (latest == Step::none || writer.ended >= steps_[latest].ended) latest = i;
    }
    return latest;
  }

  const Collective& collective_;
  const std::vector<Step>& steps_;
  std::vector<std::int64_t> known_;                // by step, of what its value begins with
  std::vector<std::size_t> positions_;             // in the group, by rank
  std::map<Source, std::int64_t> known_inside_;    // of other places in it
  std::vector<Source> way_;                        // back from the step that is asked for
  std::vector<std::int64_t> first_of_input_;       // by position
  std::vector<std::vector<Requirement>> outputs_;  // by position; empty: not asked for yet
  std::vector<Stores> stores_;                     // by position
};

// A stretch of an output that lies in one piece.
struct Part {
  std::int64_t begin = 0, end = 0;
  std::size_t holding = 0;  // in Holdings::outputs
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
      OutputPiece& holding = result_.outputs[part->holding];
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
        holding = result_.outputs.size();
        result_.outputs.push_back({rank, piece, Time::never(), Time::never()});
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

// What nobody writes was there before: input and output share that memory, or there is no data.
void settle(std::vector<OutputPiece>& outputs) {
  for (OutputPiece& holding : outputs) {
    if (holding.begun == Time::never()) holding.begun = Time{};
    if (holding.done == Time::never()) holding.done = Time{};
  }
}

InputPieces input_pieces(const Collective& collective, const Pieces& pieces, std::size_t position) {
  const std::int64_t count = input_count(collective, static_cast<int>(position));
  InputPieces inputs{collective.group[position]};
  if (count == 0) return inputs;
  inputs.first = piece_with(pieces, pieces.inputs[position]);
  inputs.end = piece_with(pieces, pieces.inputs[position] + count - 1) + 1;
  return inputs;
}

}  // namespace

Pieces find_pieces(const Schedule& schedule, const Timeline& timeline) {
  Origins origins(schedule, timeline);
  const std::size_t count = timeline.steps.size();
  std::vector<std::int64_t> elements(count, -1);
  std::vector<std::int64_t> distinct = origins.kept();
  for (std::uint32_t i = 0; i < count; ++i) {
    if (!sends(timeline.steps[i].instruction.op)) continue;
    elements[i] = origins.of_step(i);
    distinct.push_back(elements[i]);
  }
  std::sort(distinct.begin(), distinct.end());
  distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
  Pieces pieces;
  pieces.count = static_cast<std::int32_t>(distinct.size());
  pieces.of_step.assign(count, -1);
  pieces.mixed.assign(count, false);
  for (std::size_t i = 0; i < count; ++i) {
    if (elements[i] < 0) continue;
    const auto place = std::lower_bound(distinct.begin(), distinct.end(), elements[i]);
    pieces.of_step[i] = static_cast<std::int32_t>(place - distinct.begin());
    const std::int64_t elements_sent = timeline.steps[i].instruction.count;
    const bool reaches_next = place + 1 != distinct.end() && elements[i] + elements_sent > place[1];
    pieces.mixed[i] = reaches_next || elements_sent > origins.left_of_block(elements[i]);
  }
  pieces.starts = std::move(distinct);
  pieces.inputs = origins.first_of_inputs();
  return pieces;
}

Holdings find_holdings(const Schedule& schedule, const Timeline& timeline, const Pieces& pieces) {
  const Collective& collective = schedule.collective();
  Holdings result;
  if (pieces.starts.empty()) return result;
  Outputs outputs(collective, pieces, result);
  for (std::size_t position = 0; position < collective.group.size(); ++position)
    result.inputs.push_back(input_pieces(collective, pieces, position));
  const std::vector<std::size_t> positions = positions_of(collective);
  for (const Step& step : timeline.steps) {
    const Instruction& instruction = step.instruction;
    if (stores(instruction.op) && instruction.destination_buffer == Buffer::output)
      outputs.write(positions[step.rank.index()], instruction.destination_offset,
                    instruction.destination_offset + instruction.count, step.ended);
  }
  settle(result.outputs);
  return result;
}

}  // namespace collsim
