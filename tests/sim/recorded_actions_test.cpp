// SPDX-License-Identifier: Apache-2.0
#include "collectives/recorded_actions.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "collectives/workloads/workloads.hpp"
#include "sim/simulate.hpp"
#include "sim/slack.hpp"
#include "topo/shapes.hpp"

namespace collsim {
namespace {

Simulation recorded(const Workload& workload) {
  SimulationOptions options;
  options.recording = Recording::full;
  const LinkParameters link{gigabytes_per_second(1), Time{}, nanoseconds(100)};
  return simulate(make_chain(workload.size(), link), workload, {}, options);
}

Model three_layers() {
  Model model;
  model.forward = nanoseconds(10);
  model.optimizer = nanoseconds(50);
  for (int i = 0; i < 3; ++i)
    model.layers.push_back({"", nanoseconds(100), nanoseconds(200), 4000, 800});
  return model;
}

using Kind = Label::Kind;

// Of rank 0, without what only orders streams.
std::vector<RecordedAction> seen(const RecordedActions& actions) {
  std::vector<RecordedAction> result;
  for (const RecordedAction& one : actions.all)
    if (one.rank == Rank(0) && one.action.label.kind != Kind::none) result.push_back(one);
  return result;
}

TEST(RecordedActions, AreTheLinesOfTheScriptAndWhenTheyWereCarriedOut) {
  const Workload ddp = make_workload(Ddp{.bucket = 4000, .first_bucket = 4000}, three_layers(), 2);
  const Simulation simulation = recorded(ddp);
  const auto all = seen(recorded_actions(ddp, *simulation.timeline));
  const std::vector<Label> labels{{Kind::forward},     {Kind::forward, 1},  {Kind::forward, 2},
                                  {Kind::forward, 3},  {Kind::backward, 3}, {Kind::backward, 2},
                                  {Kind::backward, 1}, {Kind::optimizer},   {Kind::bucket, 1},
                                  {Kind::bucket, 2},   {Kind::bucket, 3}};
  ASSERT_EQ(all.size(), labels.size());
  for (std::size_t i = 0; i < labels.size(); ++i) EXPECT_EQ(all[i].action.label, labels[i]) << i;
  EXPECT_EQ(all[4].begin, nanoseconds(310));
  EXPECT_EQ(all[4].end, nanoseconds(510));
  // 2 (100 ns + 2000 B / (1 GB/s)) each.
  EXPECT_EQ(all[8].begin, nanoseconds(510));
  EXPECT_EQ(all[8].end, nanoseconds(510 + 4200));
  EXPECT_EQ(all[10].end, nanoseconds(510 + 3 * 4200));
}

TEST(RecordedActions, NameTheStepsInsideOfCollectivesToo) {
  const Workload ddp = make_workload(Ddp{.bucket = 4000, .first_bucket = 4000}, three_layers(), 2);
  const Simulation simulation = recorded(ddp);
  const RecordedActions actions = recorded_actions(ddp, *simulation.timeline);
  std::size_t inside = 0;
  for (std::size_t i = 0; i < actions.of_step.size(); ++i) {
    const Step& step = simulation.timeline->steps[i];
    if (static_cast<int>(step.lane.index()) < ddp.streams()) continue;
    ASSERT_NE(actions.of_step[i], Step::none);
    const RecordedAction& action = actions.all[actions.of_step[i]];
    EXPECT_EQ(action.rank, step.rank);
    EXPECT_EQ(action.action.kind, Action::Kind::collective);
    EXPECT_GE(step.ended, action.begin);
    EXPECT_LE(step.ended, action.end);
    ++inside;
  }
  EXPECT_GT(inside, 6U);
}

TEST(RecordedActions, TellMicrobatchesOfAPipelineApart) {
  const Train train{.pp = 3, .microbatches = 2};
  const Workload pipeline = make_workload(train, three_layers());
  const Simulation simulation = recorded(pipeline);
  std::vector<Label> middle;  // rank 1
  for (const RecordedAction& one : recorded_actions(pipeline, *simulation.timeline).all)
    if (one.rank == Rank(1) && one.action.kind == Action::Kind::work)
      middle.push_back(one.action.label);
  EXPECT_EQ(middle, (std::vector<Label>{{Kind::forward, 2, 1},
                                        {Kind::forward, 2, 2},
                                        {Kind::backward, 2, 1},
                                        {Kind::backward, 2, 2},
                                        {Kind::optimizer}}));
}

Time step_with(Time backward_of_first) {
  Model model = three_layers();
  model.layers[0].backward = backward_of_first;
  return recorded(make_workload(Ddp{.bucket = 4000, .first_bucket = 4000}, model, 2)).time;
}

// The first layer's bucket queues behind those of the others, so its backward pass may take longer.
TEST(Slack, IsHowMuchLaterALayerMayBeReady) {
  const Workload ddp = make_workload(Ddp{.bucket = 4000, .first_bucket = 4000}, three_layers(), 2);
  const Simulation simulation = recorded(ddp);
  const RecordedActions actions = recorded_actions(ddp, *simulation.timeline);
  const Topology topology = make_chain(2, {gigabytes_per_second(1), Time{}, nanoseconds(100)});
  const std::vector<Time> slack = slack_of_steps(topology, simulation);
  std::vector<Time> of_backward;
  for (const RecordedAction& one : seen(actions))
    if (one.action.label.kind == Kind::backward) of_backward.push_back(slack[one.last_step]);
  // Layers 3, 2, 1: an all-reduce takes 4200 ns, a backward pass 200 ns.
  EXPECT_EQ(of_backward, (std::vector<Time>{Time{}, nanoseconds(4000), nanoseconds(8000)}));
  const Time now = step_with(nanoseconds(200));
  EXPECT_EQ(step_with(nanoseconds(200 + 8000)), now);
  EXPECT_EQ(step_with(nanoseconds(200 + 8001)), now + nanoseconds(1));
}

}  // namespace
}  // namespace collsim
