// SPDX-License-Identifier: Apache-2.0
#include "app/output/trace_events.hpp"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

namespace collsim {
namespace {

using Connection = std::pair<Endpoint, Endpoint>;

// The k-th receive of a connection gets what its k-th send sent.
void join_messages(Timeline& timeline) {
  std::map<Connection, std::vector<std::uint32_t>> sent;
  for (std::uint32_t i = 0; i < timeline.steps.size(); ++i) {
    const Step& step = timeline.steps[i];
    if (sends(step.instruction.op))
      sent[{{step.rank, step.lane}, step.instruction.to}].push_back(i);
  }
  std::map<Connection, std::size_t> received;
  for (Step& step : timeline.steps) {
    if (!receives(step.instruction.op)) continue;
    const Connection connection{step.instruction.from, {step.rank, step.lane}};
    const std::vector<std::uint32_t>& messages = sent[connection];
    const std::size_t number = received[connection]++;
    if (number < messages.size()) step.message_from = messages[number];
  }
}

}  // namespace

Simulation as_simulation(const Schedule& schedule, Timeline timeline) {
  Simulation simulation;
  simulation.finished.resize(schedule.collective().group.size());
  for (Step& step : timeline.steps) {
    const auto& group = schedule.collective().group;
    const auto at = std::find(group.begin(), group.end(), step.rank);
    Time& finished = simulation.finished[static_cast<std::size_t>(at - group.begin())];
    finished = std::max({finished, step.ended, step.left});
  }
  for (const Time finished : simulation.finished)
    simulation.time = std::max(simulation.time, finished);
  join_messages(timeline);
  simulation.timeline = std::move(timeline);
  return simulation;
}

}  // namespace collsim
