// SPDX-License-Identifier: Apache-2.0
#include "app/output/trace_actions.hpp"

#include <fmt/format.h>

#include "app/results/action_text.hpp"

namespace collsim {

TracedActions::TracedActions(const Workload& workload, const Timeline& timeline)
    : workload_(workload),
      steps_(timeline.steps),
      actions_(recorded_actions(workload, timeline)),
      shapes_(steps_.size(), Shape::nothing),
      call_ends_(steps_.size(), Step::none) {
  const auto steps = static_cast<std::uint32_t>(steps_.size());
  std::uint32_t begun = Step::none;
  for (std::uint32_t i = 0; i < steps; ++i) {
    const Step& step = steps_[i];
    if (actions_.of_step[i] == Step::none) continue;
    if (is_stream(step.lane)) {
      const RecordedAction& action = actions_.all[actions_.of_step[i]];
      const bool is_seen = action.end > action.begin || sends(step.instruction.op);
      if (action.first_step == i && is_seen) shapes_[i] = Shape::action;
    } else if (begins_call(step, workload.streams())) {
      shapes_[i] = Shape::action;
      begun = i;
    } else if (ends_call(step, workload.streams())) {
      call_ends_[begun] = i;
    } else {
      shapes_[i] = Shape::instruction;
    }
  }
}

Time TracedActions::begin(std::uint32_t step) const {
  const Step& first = steps_[step];
  return is_stream(first.lane) ? first.reached : first.ended;
}

Time TracedActions::end(std::uint32_t step) const {
  return is_stream(steps_[step].lane) ? actions_.all[actions_.of_step[step]].end
                                      : steps_[call_ends_[step]].ended;
}

const char* TracedActions::category(std::uint32_t step) const {
  switch (actions_.all[actions_.of_step[step]].action.kind) {
    case Action::Kind::work: return "compute";
    case Action::Kind::collective: return "kernel";
    case Action::Kind::send:
    case Action::Kind::receive: return "message";
    default: return "wait";
  }
}

std::string TracedActions::text(std::uint32_t step) const {
  const std::uint32_t action = actions_.of_step[step];
  return action == Step::none ? "" : action_text(actions_.all[action].action, workload_);
}

std::string TracedActions::lane_name(Lane lane) const {
  if (is_stream(lane)) return workload_.stream_names()[lane.index()];
  auto inside = lane.index() - static_cast<std::size_t>(workload_.streams());
  for (const Communicator& communicator : workload_.communicators()) {
    const auto lanes = static_cast<std::size_t>(communicator.lanes);
    if (inside < lanes)
      return lanes == 1 ? communicator.name : fmt::format("{} lane {}", communicator.name, inside);
    inside -= lanes;
  }
  return "";
}

}  // namespace collsim
