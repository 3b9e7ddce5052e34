// SPDX-License-Identifier: Apache-2.0
#include "collectives/workload_checker.hpp"

#include <gtest/gtest.h>

#include <memory>

#include "collectives/workloads/workloads.hpp"

namespace collsim {
namespace {

using Actions = std::vector<std::vector<Action>>;  // by rank

Script play_actions(std::shared_ptr<const Actions> actions, Rank rank) {
  for (const Action& action : (*actions)[rank.index()]) co_yield action;
}

// Places are counted from 1, as lines would be.
Workload written(Actions actions, std::vector<Communicator> communicators = {},
                 std::vector<std::string> streams = {"main"}) {
  for (std::vector<Action>& of_rank : actions) {
    std::uint32_t line = 0;
    for (Action& action : of_rank) action.place = ++line;
  }
  Workload::Parts parts;
  parts.group = first_ranks(actions.size());
  parts.stream_names = std::move(streams);
  parts.communicators = std::move(communicators);
  const auto shared = std::make_shared<const Actions>(std::move(actions));
  parts.script = [shared](Rank rank) { return play_actions(shared, rank); };
  return Workload(std::move(parts));
}

Action all_reduce(int communicator, std::int64_t count = 8, int stream = 0) {
  Call call;
  call.count = count;
  return collective(stream, communicator, call);
}

std::vector<Communicator> world(std::size_t ranks) {
  return {{"world", {first_ranks(ranks)}, 1}};
}

WorkloadFault fault_of(const Workload& workload, Sends sends = Sends::post) {
  const WorkloadReport report = check(workload, {sends});
  EXPECT_TRUE(report.fault) << "it is right";
  return report.fault.value_or(WorkloadFault{});
}

Model four_layers() {
  Model model;
  for (int i = 0; i < 4; ++i)
    model.layers.push_back({"", microseconds(5), microseconds(9), 4096, 1024});
  return model;
}

TEST(WorkloadChecker, GeneratorsAreRight) {
  const Model model = four_layers();
  for (const Sends sends : {Sends::post, Sends::rendezvous}) {
    EXPECT_FALSE(check(make_workload(Ddp{}, model, 4), {sends}).fault);
    EXPECT_FALSE(check(make_workload(Fsdp{}, model, 4), {sends}).fault);
    EXPECT_FALSE(
        check(make_workload(Fsdp{.shards = 2, .unsharded = 1, .microbatches = 3}, model, 6),
              {sends})
            .fault);
    EXPECT_FALSE(
        check(make_workload(Ddp{.microbatches = 3, .devices_per_replica = 2}, model, 6), {sends})
            .fault);
    EXPECT_FALSE(check(make_workload(DataParallel{4096, 4096}, model, 4), {sends}).fault);
    EXPECT_FALSE(check(make_workload(ParameterServer{2}, model, 6), {sends}).fault);
    EXPECT_FALSE(check(make_workload(Experts{}, model, 4), {sends}).fault);
  }
  const WorkloadReport report =
      check(make_workload(Train{.tp = 2, .pp = 2, .dp = 2, .microbatches = 4}, model));
  EXPECT_FALSE(report.fault);
  EXPECT_EQ(report.messages, 4U * 4 * 2);  // 4 replicas of a stage, 4 microbatches, both ways
}

TEST(WorkloadChecker, ReplicasMayShareWhatTheyKeep) {
  const Model model = four_layers();
  for (const int zero : {1, 2, 3})
    for (const int dp : {1, 3})
      for (const auto& [schedule, chunks] : {std::pair{PipelineSchedule::gpipe, 1},
                                             {PipelineSchedule::one_f_one_b, 1},
                                             {PipelineSchedule::interleaved, 2},
                                             {PipelineSchedule::zb_h1, 1}}) {
        const Train train{.tp = 2,
                          .pp = 2,
                          .dp = dp,
                          .microbatches = 4,
                          .schedule = schedule,
                          .chunks = chunks,
                          .zero = zero};
        const WorkloadReport report = check(make_workload(train, model));
        EXPECT_FALSE(report.fault) << "zero " << zero << ", dp " << dp;
      }
}

TEST(WorkloadChecker, OneCollectiveAtATimeNeedsTheSameOrderOnAllRanks) {
  const std::vector<Communicator> two{{"tp", {first_ranks(2)}, 1}, {"dp", {first_ranks(2)}, 1}};
  const Workload workload =
      written({{all_reduce(0), all_reduce(1, 8, 1)}, {all_reduce(1, 8, 1), all_reduce(0)}}, two,
              {"main", "other"});
  EXPECT_FALSE(check(workload).fault);
  EXPECT_FALSE(check(workload, {.collectives_at_a_time = 2}).fault);
  EXPECT_FALSE(check(with_calls_at_a_time(workload, 2)).fault);
  EXPECT_TRUE(check(with_calls_at_a_time(workload, 1)).fault);
  const WorkloadReport report = check(workload, {.collectives_at_a_time = 1});
  ASSERT_TRUE(report.fault);
  EXPECT_EQ(to_text(*report.fault),
            "rank 0 waits in call 1 of tp (all-reduce) for rank 1\n"
            "rank 1 waits with call 1 of tp (all-reduce) until the rank's call before has ended\n"
            "rank 1 waits in call 1 of dp (all-reduce) for rank 0: none of them can go on\n"
            "  they would go on if all ranks called them in the same order");
}

TEST(WorkloadChecker, BothReceiveFirst) {
  const WorkloadFault fault =
      fault_of(written({{receive(0, Rank(1), 8, 0), send(0, Rank(1), 8, 0)},
                        {receive(0, Rank(0), 8, 0), send(0, Rank(0), 8, 0)}}));
  EXPECT_EQ(fault.kind, WorkloadFault::Kind::deadlock);
  EXPECT_EQ(to_text(fault),
            "rank 0 waits for a message from rank 1\n"
            "rank 1 waits for a message from rank 0: none of them can go on");
}

TEST(WorkloadChecker, BothSendFirstIsRightOnlyWhereSendingDoesNotWait) {
  const auto both = [](const std::vector<Action>& drained) {
    std::vector<std::vector<Action>> ranks;
    for (const std::size_t peer : {1, 0}) {
      ranks.push_back({send(0, Rank(peer), 8, 0)});
      ranks.back().insert(ranks.back().end(), drained.begin(), drained.end());
      ranks.back().push_back(receive(0, Rank(peer), 8, 0));
    }
    return written(ranks);
  };
  const Workload waits = both({drain(0)}), posts = both({});
  EXPECT_FALSE(check(waits).fault);
  EXPECT_FALSE(check(posts, {Sends::rendezvous}).fault);
  const WorkloadFault fault = fault_of(waits, Sends::rendezvous);
  EXPECT_EQ(fault.kind, WorkloadFault::Kind::deadlock);
  EXPECT_EQ(to_text(fault),
            "rank 0 sends to rank 1 and waits until it receives\n"
            "rank 1 sends to rank 0 and waits until it receives: none of them can go on\n"
            "  they would go on if one of them received first, or if the messages were grouped");
}

TEST(WorkloadChecker, CommunicatorsInAnotherOrder) {
  const std::vector<Communicator> two{{"tp", {first_ranks(2)}, 1}, {"dp", {first_ranks(2)}, 1}};
  const WorkloadFault fault =
      fault_of(written({{all_reduce(0), all_reduce(1)}, {all_reduce(1), all_reduce(0)}}, two));
  EXPECT_EQ(fault.kind, WorkloadFault::Kind::deadlock);
  ASSERT_EQ(fault.sites.size(), 2U);
  EXPECT_EQ(fault.sites[0].text, "rank 0 waits in call 1 of tp (all-reduce) for rank 1");
  EXPECT_EQ(fault.sites[1].text, "rank 1 waits in call 1 of dp (all-reduce) for rank 0");
  EXPECT_NE(fault.hint.find("a stream of its own"), std::string::npos);
  EXPECT_FALSE(
      check(written({{all_reduce(0), all_reduce(1, 8, 1)}, {all_reduce(1, 8, 1), all_reduce(0)}},
                    two, {"main", "other"}))
          .fault);
}

TEST(WorkloadChecker, CallsThatAreNotTheSame) {
  const WorkloadFault fault = fault_of(written(
      {{all_reduce(0, 8), all_reduce(0, 16)}, {all_reduce(0, 16), all_reduce(0, 8)}}, world(2)));
  EXPECT_EQ(fault.kind, WorkloadFault::Kind::mismatch);
  EXPECT_EQ(fault.sites[0].text, "call 1 of world is all-reduce of 8 f32, sum on rank 0");
  EXPECT_EQ(fault.sites[1].text, "call 1 of world is all-reduce of 16 f32, sum on rank 1");
}

TEST(WorkloadChecker, ARankThatEndsEarly) {
  Actions actions(4, {all_reduce(0), all_reduce(0), all_reduce(0)});
  actions[2].pop_back();
  const WorkloadFault fault = fault_of(written(actions, world(4)));
  EXPECT_EQ(fault.kind, WorkloadFault::Kind::missing);
  EXPECT_EQ(to_text(fault),
            "call 3 of world (all-reduce) has 3 of 4 members\nrank 2 ends before that");
  EXPECT_EQ(fault.sites[1].place, 2U);
}

TEST(WorkloadChecker, MessagesOfAnotherSize) {
  const WorkloadFault fault =
      fault_of(written({{send(0, Rank(1), 8, 0)}, {receive(0, Rank(0), 16, 0)}}));
  EXPECT_EQ(fault.kind, WorkloadFault::Kind::mismatch);
  EXPECT_EQ(to_text(fault), "rank 0 sends 8 bytes\nrank 1 expects 16 bytes from it");
}

TEST(WorkloadChecker, AMessageThatNobodyReceives) {
  EXPECT_EQ(fault_of(written({{send(0, Rank(1), 8, 0)}, {work(0, microseconds(1))}})).kind,
            WorkloadFault::Kind::unreceived);
}

TEST(WorkloadChecker, AStreamThatNobodySignals) {
  const WorkloadFault fault =
      fault_of(written({{wait(0, 1, 1)}}, {}, {"compute", "communication"}));
  EXPECT_EQ(fault.kind, WorkloadFault::Kind::missing);
  EXPECT_EQ(fault.sites[0].text, "rank 0: stream compute waits for stream communication");
}

TEST(WorkloadChecker, AStranger) {
  EXPECT_EQ(fault_of(written({{all_reduce(0)}, {all_reduce(0)}}, world(1))).kind,
            WorkloadFault::Kind::not_a_member);
}

}  // namespace
}  // namespace collsim
