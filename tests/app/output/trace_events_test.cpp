// SPDX-License-Identifier: Apache-2.0
#include "app/output/trace_events.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "collectives/algorithms.hpp"
#include "tests/app/trace_rules.hpp"
#include "tests/collectives/collective_of.hpp"
#include "tests/collectives/rows.hpp"
#include "tests/golden.hpp"
#include "tests/sanitized.hpp"
#include "topo/shapes.hpp"

namespace collsim {
namespace {

using Json = nlohmann::json;
using testing::TraceRules;

const LinkParameters exclusive{gigabytes_per_second(25), nanoseconds(700), microseconds(5)};
const LinkParameters fair{gigabytes_per_second(25), nanoseconds(700), microseconds(5),
                          Sharing::fair};

struct TestRun {
  Topology topology;
  Collective collective;
  AlgorithmChoice choice;
  CostModel costs = {};
  SimulationOptions options = {};
  TraceOptions trace = {};

  std::string text(TraceSummary* summary = nullptr) {
    options.recording = Recording::full;
    const Schedule schedule = make_schedule(collective, choice);
    const Simulation simulation = simulate(topology, schedule, costs, options);
    std::ostringstream out;
    const TraceSummary written = write_trace(out, {topology, &schedule, simulation, "test"}, trace);
    if (summary != nullptr) *summary = written;
    return out.str();
  }
};

Collective all_reduce(int ranks, std::int64_t count = 1'000'003) {
  return collective_of(Operation::all_reduce, ranks, count);
}

AlgorithmChoice by(const std::string& name, int chunks = 1, int channels = 1) {
  AlgorithmChoice choice;
  choice.name = name;
  choice.chunks = chunks;
  choice.channels = channels;
  return choice;
}

Topology two_nodes_of(int gpus) {
  return make_nodes({.nodes = 2,
                     .gpus_per_node = gpus,
                     .nics_per_node = 1,
                     .intra = NodesShape::Intra::network_switch,
                     .intra_dims = {},
                     .intra_link = fair,
                     .inter_link = exclusive});
}

std::vector<Json> events_of(const std::string& text, const std::string& phase) {
  std::vector<Json> events;
  const Json trace = Json::parse(text);
  for (const Json& event : trace["traceEvents"])
    if (event["ph"] == phase) events.push_back(event);
  return events;
}

void expect_good(TestRun run, const std::string& what) {
  for (const Arrows arrows : {Arrows::critical, Arrows::all}) {
    run.trace.arrows = arrows;
    EXPECT_EQ(TraceRules::broken_by(run.text()), std::vector<std::string>{}) << what;
  }
}

TEST(TraceEvents, KeepTheRulesOfViewersForEveryAlgorithm) {
  for (const Algorithm& algorithm : algorithms()) {
    for (const int wanted : nearest_ranks(algorithm, testing::listed_cases<int>({1, 4}, {6}))) {
      const auto ranks = static_cast<std::size_t>(wanted);
      const Collective collective = collective_of(algorithm.operation, wanted, 1'000'003);
      for (const LinkParameters& link : {exclusive, fair})
        expect_good(
            {make_switch(ranks, link), collective, by(std::string(algorithm.name), 3)},
            std::string(to_string(algorithm.operation)) + " " + std::string(algorithm.name));
    }
  }
}

TEST(TraceEvents, KeepTheRulesWhereMessagesWait) {
  LinkParameters half = exclusive;
  half.half_duplex = true;
  LinkParameters half_fair = fair;
  half_fair.half_duplex = true;
  CostModel costs;
  costs.reduce_bandwidth = gigabytes_per_second(100);
  costs.instruction_overhead = Time(123'457);  // no whole number of nanoseconds
  costs.launch = microseconds(3);
  SimulationOptions late;
  late.late = {{Rank(2), microseconds(777)}};
  for (const LinkParameters& link : {half, half_fair, exclusive, fair}) {
    expect_good({make_chain(5, link), all_reduce(5), by("naive")}, "naive on a chain");
    expect_good({make_ring(5, link), all_reduce(5), by("ring", 4), costs, late}, "costly and late");
    TestRun slots{make_switch(6, link), all_reduce(6), by("double-tree", 8, 2), costs, late};
    slots.choice.slots = 1;
    expect_good(slots, "slots");
  }
  expect_good({two_nodes_of(4), all_reduce(8), by("ring", 2), costs}, "shared NICs");
}

TEST(TraceEvents, RanksOfANodeAreAProcess) {
  std::set<std::string> names;
  for (const Json& event :
       events_of(TestRun{two_nodes_of(2), all_reduce(4), by("ring")}.text(), "M"))
    if (event["name"] == "process_name") names.insert(event["args"]["name"]);
  EXPECT_EQ(names,
            (std::set<std::string>{"Summary", "Links", "Ranks of node 0", "Ranks of node 1"}));
}

TEST(TraceEvents, LinksShowEveryMessage) {
  std::size_t messages = 0;
  for (const Json& event :
       events_of(TestRun{make_chain(4, exclusive), all_reduce(4), by("chain", 5)}.text(), "X"))
    if (event["pid"] == 1) ++messages;
  EXPECT_EQ(messages, 5U * 3U * 2U);  // up and down the chain
}

TEST(TraceEvents, MessagesSayWhichPieceTheyCarry) {
  const auto messages = [](const std::string& text) {
    std::vector<Json> found;
    for (const Json& event : events_of(text, "X"))
      if (event["cat"] == "message") found.push_back(event["args"]);
    return found;
  };
  const std::string chain = TestRun{make_chain(3, exclusive), all_reduce(3), by("chain", 2)}.text();
  EXPECT_EQ(Json::parse(chain)["otherData"]["pieces"], 2);
  for (const Json& message : messages(chain)) {
    EXPECT_EQ(message["piece"], message["step"].get<int>() % 2) << message;
    EXPECT_FALSE(message.contains("mixed")) << message;
    EXPECT_EQ(message["startup (us)"], 5) << message;
    // Up the chain 2 and then 1 of 3 ranks' data, down it those of all.
    const int from = message["src"], to = message["dst"];
    EXPECT_EQ(message["sum of (ranks)"], to < from ? 3 - from : 3) << message;
  }
  Collective everybody = all_reduce(4);
  everybody.operation = Operation::all_to_all;
  std::size_t mixed = 0;
  for (const Json& message :
       messages(TestRun{make_switch(4, exclusive), everybody, by("bruck")}.text()))
    mixed += message.contains("mixed") ? 1 : 0;
  EXPECT_EQ(mixed, 4U * 2U * 2U);  // ranks, rounds, links of a route
  for (const Json& message :
       messages(TestRun{make_switch(4, exclusive), everybody, by("bruck")}.text()))
    EXPECT_FALSE(message.contains("sum of (ranks)")) << message;
}

TEST(TraceEvents, MessagesSayWhatTheirSizeCosts) {
  LinkParameters link = exclusive;
  link.segments = {{4096, gigabytes_per_second(2), nanoseconds(500), microseconds(1)},
                   {8192, gigabytes_per_second(10), microseconds(3), microseconds(5)}};
  take_best_of_segments(link);
  for (const std::int64_t elements : {1024, 1025}) {
    const Collective broadcast = collective_of(Operation::broadcast, 2, elements);
    const std::vector<Json> events =
        events_of(TestRun{make_chain(2, link), broadcast, by("chain")}.text(), "X");
    const auto message = std::find_if(events.begin(), events.end(),
                                      [](const Json& event) { return event["cat"] == "message"; });
    ASSERT_NE(message, events.end());
    const bool is_short = elements == 1024;
    EXPECT_EQ((*message)["args"]["startup (us)"], is_short ? 1 : 5);
    EXPECT_EQ((*message)["args"]["flight (us)"], is_short ? 0.5 : 3);
  }
}

TEST(TraceEvents, WaitsSayWhatForAndBehindWhom) {
  TestRun run{two_nodes_of(4), all_reduce(8), by("naive")};
  std::set<std::string> causes;
  std::set<int> behind;
  for (const Json& event : events_of(run.text(), "X")) {
    if (event["args"].contains("waited for")) causes.insert(event["args"]["waited for"]);
    if (event["args"].contains("behind a message of rank"))
      behind.insert(event["args"]["behind a message of rank"].get<int>());
  }
  EXPECT_EQ(causes, std::set<std::string>{"a message"});
  EXPECT_FALSE(behind.empty());
}

TEST(TraceEvents, SharedLinksOverlapAsPairs) {
  const std::string text = TestRun{make_switch(4, fair), all_reduce(4), by("naive")}.text();
  EXPECT_EQ(events_of(text, "b").size(), 12U * 2U);  // messages, links of each
  EXPECT_EQ(events_of(text, "e").size(), 12U * 2U);
}

TEST(TraceEvents, ArrowsLeadFromSenderToReceiver) {
  TestRun run{make_chain(3, exclusive), all_reduce(3), by("chain", 4)};
  run.trace.arrows = Arrows::all;
  EXPECT_EQ(events_of(run.text(), "s").size(), 16U);
  run.trace.arrows = Arrows::none;
  EXPECT_EQ(events_of(run.text(), "s").size(), 0U);
  run.trace.arrows = Arrows::critical;
  const std::size_t critical = events_of(run.text(), "f").size();
  EXPECT_GT(critical, 0U);
  EXPECT_LT(critical, 16U);
}

TEST(TraceEvents, TheCriticalPathHasItsOwnTrackWithoutGaps) {
  const std::string text = TestRun{make_ring(4, exclusive), all_reduce(4), by("ring")}.text();
  double at = 0;
  double end = 0;
  for (const Json& event : events_of(text, "X")) {
    if (event["pid"] != 0) continue;
    if (event["tid"] == 1) {
      end = event["dur"];
      continue;
    }
    EXPECT_NEAR(event["ts"].get<double>(), at, 1e-6);
    at = event["ts"].get<double>() + event["dur"].get<double>();
  }
  EXPECT_NEAR(at, end, 1e-6);
  EXPECT_GT(end, 0);
}

TEST(TraceEvents, CollectivesHaveTheArgumentsOfPyTorchsProfiler) {
  std::vector<Json> collectives;
  Collective collective = all_reduce(3, 300);
  collective.operation = Operation::all_gather;
  collective.group = {Rank(0), Rank(2), Rank(3)};
  for (const Json& event :
       events_of(TestRun{make_switch(4, exclusive), collective, by("ring")}.text(), "X"))
    if (event["cat"] == "kernel") collectives.push_back(event["args"]);
  ASSERT_EQ(collectives.size(), 3U);
  const Json& last = collectives.back();
  EXPECT_EQ(last["Collective name"], "_allgather_base");
  EXPECT_EQ(last["dtype"], "Float");
  EXPECT_EQ(last["In msg nelems"], 100);
  EXPECT_EQ(last["Out msg nelems"], 300);
  EXPECT_EQ(last["Group size"], 3);
  EXPECT_EQ(last["Process Group Ranks"], "[0, 2, 3]");
  EXPECT_EQ(last["Rank"], 3);
}

TEST(TraceEvents, BeyondTheLimitWhatBeginsLateIsLeftOut) {
  TestRun run{make_ring(8, exclusive), all_reduce(8), by("ring", 8)};
  run.trace.arrows = Arrows::all;
  TraceSummary all;
  (void)run.text(&all);
  EXPECT_EQ(all.left_out, 0U);
  run.trace.max_events = all.events / 3;
  TraceSummary part;
  const std::string text = run.text(&part);
  EXPECT_EQ(TraceRules::broken_by(text), std::vector<std::string>{});
  EXPECT_LE(part.events, all.events / 3);
  EXPECT_GT(part.events, all.events / 6);
  EXPECT_EQ(part.events + part.left_out, all.events);
  for (const Json& event : events_of(text, "X"))
    EXPECT_LT(event["ts"].get<double>(), part.shown_until.seconds() * 1e6);
  EXPECT_EQ(Json::parse(text)["otherData"]["events_left_out"], part.left_out);
}

// In the ideal model the root has posted all its sends at time 0.
TEST(TraceEvents, TheLimitCutsTrainsOfMessages) {
  Collective collective = all_reduce(4);
  collective.operation = Operation::broadcast;
  TestRun run{make_chain(4, exclusive), collective, by("chain", 1000)};
  run.trace.max_events = 500;
  TraceSummary part;
  EXPECT_EQ(TraceRules::broken_by(run.text(&part)), std::vector<std::string>{});
  EXPECT_GT(part.events, 400U);
  EXPECT_LE(part.events, 500U);
}

TEST(TraceEvents, ExactlyAsManyAsTheLimitIsNotTooMany) {
  TestRun run{make_ring(4, fair), all_reduce(4), by("ring", 2)};
  TraceSummary all;
  (void)run.text(&all);
  run.trace.max_events = all.events;
  TraceSummary again;
  (void)run.text(&again);
  EXPECT_EQ(again.left_out, 0U);
  EXPECT_EQ(again.events, all.events);
}

TEST(TraceEvents, TitlesOfAnyKindStayJson) {
  TestRun run{make_ring(2, exclusive), all_reduce(2), by("ring")};
  run.options.recording = Recording::full;
  const Schedule schedule = make_schedule(run.collective, run.choice);
  const Simulation simulation = simulate(run.topology, schedule, {}, run.options);
  std::ostringstream out;
  write_trace(out, {run.topology, &schedule, simulation, "a \"quoted\" </script>\n\xff"});
  EXPECT_EQ(TraceRules::broken_by(out.str()), std::vector<std::string>{});
}

TEST(TraceEvents, NeedsAFullRecording) {
  const Collective collective = all_reduce(2);
  const Topology topology = make_ring(2, exclusive);
  const Schedule schedule = make_schedule(collective, by("ring"));
  const Simulation simulation = simulate(topology, schedule);
  std::ostringstream out;
  EXPECT_THROW(write_trace(out, {topology, &schedule, simulation, ""}), Error);
}

// The whole of a small trace.
TEST(TraceEvents, ASmallTraceIsAsItWas) {
  Collective collective = all_reduce(3, 1'000);
  collective.operation = Operation::broadcast;
  TestRun run{make_chain(3, exclusive), collective, by("chain", 2)};
  const std::string text = run.text();
  EXPECT_EQ(text, run.text());
  expect_golden(text, COLLSIM_TEST_DATA "/trace.json");
}

}  // namespace

// The rules themselves.
namespace {

std::string trace_of(const std::string& events) {
  return R"({"traceEvents":[
    {"ph":"M","pid":1,"name":"process_name","args":{"name":"p"}},
    {"ph":"M","pid":1,"tid":1,"name":"thread_name","args":{"name":"t"}},)" +
         events + "]}";
}
std::string slice(const std::string& ts, const std::string& dur) {
  return R"({"ph":"X","pid":1,"tid":1,"name":"x","ts":)" + ts + R"(,"dur":)" + dur + "}";
}

TEST(TraceRules, AcceptWhatIsRight) {
  EXPECT_TRUE(TraceRules::broken_by(trace_of(slice("0", "2") + "," + slice("0.5", "1") + "," +
                                             slice("2", "0") + "," + slice("2", "1")))
                  .empty());
}

TEST(TraceRules, NoticeWhatIsWrong) {
  for (const std::string& events :
       {slice("0", "2") + "," + slice("1", "2"), slice("-1", "2"), slice("0", "0.00001"),
        std::string(R"({"ph":"X","pid":2,"tid":1,"name":"x","ts":0,"dur":1})"),
        std::string(R"({"ph":"b","pid":1,"tid":1,"name":"x","cat":"c","id":1,"ts":0})"),
        std::string(R"({"ph":"e","pid":1,"tid":1,"name":"x","cat":"c","id":1,"ts":0})"),
        slice("0", "2") + R"(,{"ph":"s","pid":1,"tid":1,"name":"x","id":1,"ts":0})",
        std::string(
            R"({"ph":"M","pid":1,"tid":1,"name":"thread_sort_index","args":{"sort_index":"1"}})")})
    EXPECT_FALSE(TraceRules::broken_by(trace_of(events)).empty()) << events;
  EXPECT_FALSE(TraceRules::broken_by("{").empty());
}

}  // namespace
}  // namespace collsim
