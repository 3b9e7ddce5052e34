// SPDX-License-Identifier: Apache-2.0
#include "app/output/trace_events.hpp"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

namespace collsim {
namespace {

using Connection = std::pair<Endpoint, Endpoint>;

// The k-th receive of a connection gets what its k-th send sent; of a workload, the k-th wait the
// k-th signal.
void join_messages(Timeline& timeline, bool signals) {
  const auto gives = [=](Op op) { return signals ? gives_to_lane(op) : sends(op); };
  const auto takes = [=](Op op) { return signals ? takes_from_lane(op) : receives(op); };
  std::map<Connection, std::vector<std::uint32_t>> sent;
  for (std::uint32_t i = 0; i < timeline.steps.size(); ++i) {
    const Step& step = timeline.steps[i];
    if (gives(step.instruction.op))
      sent[{{step.rank, step.lane}, step.instruction.to}].push_back(i);
  }
  std::map<Connection, std::size_t> received;
  for (Step& step : timeline.steps) {
    if (!takes(step.instruction.op)) continue;
    const Connection connection{step.instruction.from, {step.rank, step.lane}};
    const std::vector<std::uint32_t>& messages = sent[connection];
    const std::size_t number = received[connection]++;
    if (number < messages.size()) step.message_from = messages[number];
  }
}

}  // namespace

Simulation as_simulation(const Programs& programs, Timeline timeline) {
  Simulation simulation;
  const std::vector<Rank>& group = programs.group();
  simulation.finished.resize(group.size());
  for (Step& step : timeline.steps) {
    const auto at = std::find(group.begin(), group.end(), step.rank);
    Time& finished = simulation.finished[static_cast<std::size_t>(at - group.begin())];
    finished = std::max({finished, step.ended, step.left});
  }
  for (const Time finished : simulation.finished)
    simulation.time = std::max(simulation.time, finished);
  join_messages(timeline, programs.streams() > 0);
  simulation.timeline = std::move(timeline);
  return simulation;
}

}  // namespace collsim
