// SPDX-License-Identifier: Apache-2.0
#include "sim/records.hpp"

#include <map>
#include <span>
#include <vector>

#include "collectives/contributions.hpp"
#include "collectives/pieces.hpp"

namespace collsim {
namespace {

constexpr std::int32_t none = -1;

std::int32_t step_or_none(std::uint32_t step) {
  return step == Step::none ? none : static_cast<std::int32_t>(step);
}
double number(Time time) {
  return static_cast<double>(time.ps());
}

// Every route once.
class Routes {
 public:
  Routes(const Timeline& timeline, Records& records) : timeline_(timeline), records_(records) {
    records_.whole.route_first.push_back(0);
  }

  std::int32_t of(const Step& step) {
    std::vector<LinkId> route;
    for (const Crossing& crossing : timeline_.crossings_of(step)) route.push_back(crossing.link);
    const auto [place, is_new] =
        known_.try_emplace(route, static_cast<std::int32_t>(known_.size()));
    if (is_new) {
      WholeColumns& whole = records_.whole;
      for (const LinkId link : route)
        whole.route_links.push_back(static_cast<std::int32_t>(link.index()));
      whole.route_first.push_back(static_cast<std::int32_t>(whole.route_links.size()));
    }
    return place->second;
  }

 private:
  const Timeline& timeline_;
  Records& records_;
  std::map<std::vector<LinkId>, std::int32_t> known_;
};

enum Wait : std::int32_t { no_wait, for_message, for_slot, for_signal };

Wait wait_of(const Step& step, const std::vector<Step>& steps) {
  if (step.began == step.reached) return no_wait;
  if (step.message_from != Step::none && steps[step.message_from].arrived == step.began)
    return orders_lanes(step.instruction.op) ? for_signal : for_message;
  return orders_lanes(step.instruction.op) ? for_signal : for_slot;
}

void add_step(const Step& step, const std::vector<Step>& steps, Routes& routes, Records& records) {
  const Instruction& instruction = step.instruction;
  const bool has_message = sends(instruction.op);
  NumberColumns& numbers = records.numbers;
  numbers.reached.push_back(number(step.reached));
  numbers.began.push_back(number(step.began));
  numbers.ended.push_back(number(step.ended));
  numbers.departed.push_back(number(step.departed));
  numbers.left.push_back(number(step.left));
  numbers.arrived.push_back(number(step.arrived));
  WholeColumns& whole = records.whole;
  whole.rank.push_back(static_cast<std::int32_t>(step.rank.index()));
  whole.index.push_back(static_cast<std::int32_t>(step.index));
  whole.to.push_back(has_message ? static_cast<std::int32_t>(instruction.to.rank.index()) : none);
  const Wait wait = wait_of(step, steps);
  whole.wait.push_back(wait);
  whole.waited_for.push_back(wait == no_wait    ? none
                             : wait == for_slot ? step_or_none(step.slot_freed_by)
                                                : step_or_none(step.message_from));
  whole.queued_behind.push_back(step_or_none(step.queued_behind));
  whole.first_crossing.push_back(step_or_none(step.first_crossing));
  whole.route.push_back(has_message ? routes.of(step) : none);
}

}  // namespace

Records records_of(const Topology& topology, const Schedule& schedule, const Simulation& simulation,
                   const Pieces& pieces) {
  Records records;
  const std::vector<Step>& steps = simulation.timeline->steps;
  Routes routes(*simulation.timeline, records);
  const Bytes element = size_of(schedule.collective().type);
  for (const Step& step : steps) {
    add_step(step, steps, routes, records);
    records.numbers.bytes.push_back(
        sends(step.instruction.op) ? static_cast<double>(step.instruction.count * element) : 0);
  }
  records.whole.piece = pieces.of_step;
  records.pieces = pieces.count;
  records.whole.added = find_contributions(schedule, *simulation.timeline);
  records.whole.mixed.assign(pieces.mixed.begin(), pieces.mixed.end());
  const CriticalPath path = critical_path(topology, schedule, simulation);
  records.contention = waiting_for_others(*simulation.timeline, path);
  for (const auto& segment : path.segments) {
    records.numbers.path_from.push_back(number(segment.from));
    records.numbers.path_to.push_back(number(segment.to));
    records.whole.path_kind.push_back(static_cast<std::int32_t>(segment.kind));
    records.whole.path_step.push_back(step_or_none(segment.step));
    records.whole.path_link.push_back(
        segment.crossing == Step::none
            ? none
            : static_cast<std::int32_t>(
                  simulation.timeline->crossings[segment.crossing].link.index()));
  }
  for (const Crossing& crossing : simulation.timeline->crossings) {
    records.numbers.crossing_begun.push_back(number(crossing.begun));
    records.numbers.crossing_ended.push_back(number(crossing.ended));
    records.whole.crossing_behind.push_back(step_or_none(crossing.queued_behind));
  }
  for (std::size_t i = 0; i < simulation.links.size(); ++i) {
    const Link& link = topology.link(LinkId(i));
    records.numbers.link_busy.push_back(number(simulation.links[i].busy));
    records.numbers.link_messages.push_back(static_cast<double>(simulation.links[i].messages));
    const bool is_one = link.sharing == Sharing::exclusive && link.segments == 0;
    records.numbers.link_startup.push_back(is_one ? number(link.startup) : 0);
  }
  return records;
}

void add_holdings(const Schedule& schedule, const Simulation& simulation, const Pieces& pieces,
                  Records& records) {
  const Holdings holdings = find_holdings(schedule, *simulation.timeline, pieces);
  for (const InputPieces& input : holdings.inputs) {
    records.whole.brought_rank.push_back(static_cast<std::int32_t>(input.rank.index()));
    records.whole.brought_first.push_back(input.first);
    records.whole.brought_end.push_back(input.end);
  }
  for (const OutputPiece& output : holdings.outputs) {
    records.whole.had_rank.push_back(static_cast<std::int32_t>(output.rank.index()));
    records.whole.had_piece.push_back(output.piece);
    records.numbers.had_begun.push_back(number(output.begun));
    records.numbers.had_done.push_back(number(output.done));
  }
}

}  // namespace collsim
