// SPDX-License-Identifier: Apache-2.0
#include "plots/engine/pieces.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace collsim {
namespace {

// Follows data back to where they were an input.
class Origins {
 public:
  Origins(const Schedule& schedule, const Timeline& timeline)
      : collective_(schedule.collective()),
        steps_(timeline.steps),
        known_(timeline.steps.size(), unknown) {
    std::int64_t inputs = 0;
    for (int position = 0; position < collective_.size(); ++position) {
      positions_[collective_.group[static_cast<std::size_t>(position)]] =
          static_cast<std::size_t>(position);
      first_of_input_.push_back(inputs);
      if (!reduces(collective_.operation)) inputs += input_count(collective_, position);
      outputs_.push_back(requirements(collective_, position));
    }
    stores_.resize(outputs_.size());
    for (std::uint32_t i = 0; i < steps_.size(); ++i) {
      const Instruction& instruction = steps_[i].instruction;
      if (stores(instruction.op) && instruction.destination_buffer == Buffer::scratch)
        stores_[position_of(steps_[i])][instruction.destination_offset].push_back(i);
    }
  }

  // The element, in the order in which pieces are numbered, with which a step's value begins.
  std::int64_t of_step(std::uint32_t index) {
    if (known_[index] != unknown) return known_[index];
    const Step& step = steps_[index];
    const bool from_message = receives(step.instruction.op) && step.message_from != Step::none;
    return known_[index] = from_message ? of_step(step.message_from) : of_source(step);
  }

 private:
  static constexpr std::int64_t unknown = -1;
  // Steps that stored something at this place of the scratch memory, by lane and order.
  using Stores = std::map<std::int64_t, std::vector<std::uint32_t>>;

  [[nodiscard]] std::size_t position_of(const Step& step) const { return positions_.at(step.rank); }

  std::int64_t of_source(const Step& step) {
    const std::size_t position = position_of(step);
    const std::int64_t offset = step.instruction.source_offset;
    switch (step.instruction.source_buffer) {
      case Buffer::input: return first_of_input_[position] + offset;
      case Buffer::output: return of_output(position, offset);
      case Buffer::scratch: return of_scratch(step, offset);
    }
    return 0;
  }

  [[nodiscard]] std::int64_t of_output(std::size_t position, std::int64_t offset) const {
    for (const Requirement& part : outputs_[position]) {
      if (offset < part.output_offset || offset >= part.output_offset + part.count) continue;
      const std::int64_t inside = part.input_offset + offset - part.output_offset;
      return inside + (part.from ? first_of_input_[static_cast<std::size_t>(*part.from)] : 0);
    }
    return 0;  // an empty piece
  }

  std::int64_t of_scratch(const Step& reader, std::int64_t offset) {
    const Stores& stores = stores_[position_of(reader)];
    auto place = stores.upper_bound(offset);
    while (place != stores.begin()) {
      --place;
      const std::uint32_t writer = latest_before(reader, place->second, offset);
      if (writer != Step::none)
        return of_step(writer) + offset - steps_[writer].instruction.destination_offset;
    }
    return 0;
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
  std::vector<std::int64_t> known_;
  std::map<Rank, std::size_t> positions_;     // in the group
  std::vector<std::int64_t> first_of_input_;  // by position
  std::vector<std::vector<Requirement>> outputs_;
  std::vector<Stores> stores_;
};

}  // namespace

Pieces find_pieces(const Schedule& schedule, const Timeline& timeline) {
  Origins origins(schedule, timeline);
  const std::size_t count = timeline.steps.size();
  std::vector<std::int64_t> elements(count, -1);
  std::vector<std::int64_t> distinct;
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
  for (std::size_t i = 0; i < count; ++i) {
    if (elements[i] < 0) continue;
    const auto place = std::lower_bound(distinct.begin(), distinct.end(), elements[i]);
    pieces.of_step[i] = static_cast<std::int32_t>(place - distinct.begin());
    const std::int64_t end = elements[i] + timeline.steps[i].instruction.count;
    if (place + 1 != distinct.end() && end > place[1]) pieces.mixed = true;
  }
  return pieces;
}

}  // namespace collsim
