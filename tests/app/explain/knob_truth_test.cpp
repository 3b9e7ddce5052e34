// SPDX-License-Identifier: Apache-2.0
//
// Every time that explain() promises for a change is what a run with that change takes: of random
// scenarios, and of those included.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "app/explain/explanation.hpp"
#include "app/json/value.hpp"
#include "app/scenario/quantities.hpp"
#include "app/study/run_case.hpp"
#include "tests/app/explain/random_scenario.hpp"
#include "tests/app/scenario/loading.hpp"
#include "tests/contains.hpp"
#include "tests/sanitized.hpp"

namespace collsim::testing {
namespace {

std::string set_option(const std::string& path, const JsonValue& value) {
  return path + "=" + to_json(value, -1);
}

LinkParameters parameters_of(const Topology& topology, const std::string& link) {
  for (std::size_t i = 0; i < topology.links().size(); ++i)
    if (topology.name(LinkId(i)) == link) return topology.parameters(LinkId(i));
  throw_error(ErrorCode::invalid_argument, "no link " + link);
}

// "links_override" of every link with these parameters: another way to what explain() does.
std::string all_links_override(const Topology& topology, const LinkParameters& wanted,
                               const std::string& member, const std::string& value) {
  JsonValue list = JsonValue::array();
  for (std::size_t i = 0; i < topology.links().size(); ++i) {
    if (!(topology.parameters(LinkId(i)) == wanted)) continue;
    const Link& link = topology.link(LinkId(i));
    list.items().push_back(JsonValue::object(
        {{"from", topology.name(link.from)}, {"to", topology.name(link.to)}, {member, value}}));
  }
  return set_option("cluster.links_override", list);
}

class Promise {
 public:
  Promise(std::string text, const Scenario& scenario, std::size_t point)
      : text_(std::move(text)), point_(scenario.params(point)) {
    Variations variations(scenario, point);
    ClusterCache clusters;
    Diagnostics diagnostics;
    case_ = make_case(scenario, point, clusters, diagnostics);
    explanation_ = explain(*case_, &variations);
  }

  [[nodiscard]] const Explanation& explanation() const { return explanation_; }

  // How many knobs were checked.
  int check() {
    int checked = 0;
    std::vector<Knob> all = explanation_.knobs.all;
    if (const auto& power = explanation_.knobs.power_of_two) all.push_back(*power);
    for (const Knob& knob : all) {
      if (!knob.time) continue;
      const std::vector<std::string> set = options_of(knob);
      if (set.empty()) continue;
      EXPECT_EQ(time_with(set), *knob.time)
          << knob.name << ": " << knob.now << " -> " << knob.then << "\n"
          << set.back() << "\n"
          << text_;
      ++checked;
    }
    return checked;
  }

 private:
  [[nodiscard]] std::vector<std::string> options_of(const Knob& knob) const {
    std::vector<std::string> set;
    for (const auto& [path, value] : point_) set.push_back(set_option(path, value));
    for (const auto& [path, value] : knob.set) set.push_back(set_option(path, value));
    if (!knob.set.empty()) return set;
    const std::size_t example = knob.name.find(" links like ");
    if (example == std::string::npos || case_->cluster->overridden ||
        explanation_.chosen_automatically)
      return {};
    const Topology& topology = explanation_.one_case.cluster->topology;
    const std::string name = knob.name.substr(example + std::string(" links like ").size());
    const LinkParameters now = parameters_of(topology, name);
    const std::string what = knob.name.substr(0, knob.name.find(' '));
    const std::string value =
        what == "bandwidth"
            ? exact_bandwidth(Bandwidth(2 * now.bandwidth.bytes_per_second()))
            : exact_time(Time(std::llround(
                  0.5 *
                  static_cast<double>((what == "overhead" ? now.startup : now.latency).ps()))));
    set.push_back(all_links_override(topology, now, what, value));
    return set;
  }

  [[nodiscard]] std::optional<Time> time_with(std::vector<std::string> set) const {
    LoadOptions options;
    if (!point_.empty()) options.set.emplace_back("sweep={}");
    options.set.insert(options.set.end(), set.begin(), set.end());
    options.set.emplace_back("expect=[]");
    const Loaded loaded = text_.starts_with('{') ? load_text(text_, options) : load_file(options);
    EXPECT_TRUE(loaded.scenario) << (loaded.mistakes().empty() ? "" : loaded.mistakes().front());
    const std::optional<Case> changed = case_of(loaded);
    return changed ? std::optional(run_case(*changed).kernel) : std::nullopt;
  }

  [[nodiscard]] Loaded load_file(const LoadOptions& options) const {
    Loaded loaded;
    loaded.scenario = load_scenario(text_, options, loaded.sources, loaded.diagnostics);
    return loaded;
  }

  std::string text_;  // or the file that has it
  Params point_;
  std::optional<Case> case_;
  Explanation explanation_;
};

class RandomKnobTruth : public ::testing::TestWithParam<unsigned> {};

TEST_P(RandomKnobTruth, HoldsOfRandomScenarios) {
  constexpr int each = is_sanitized ? 5 : 125;
  int scenarios = 0;
  int knobs = 0;
  for (unsigned i = 0; scenarios < each; ++i) {
    ASSERT_LT(i, 20U * each) << "too many make no sense";
    const std::string text = RandomScenario(GetParam() * 100'000 + i).text();
    const Loaded loaded = load_text(text);
    if (!loaded.scenario) continue;  // no such algorithm for so many ranks
    try {
      knobs += Promise(text, *loaded.scenario, 0).check();
      ++scenarios;
    } catch (const Error&) {
      continue;  // does not fit these ranks, or these links
    }
    if (HasFailure()) break;
  }
  EXPECT_GT(knobs, 5 * scenarios);
}

// Those included, where simulating them fifty times is quick: at both ends of their sweeps.
TEST(KnobTruth, HoldsOfTheScenariosIncluded) {
  constexpr double quick = is_sanitized ? 100 : 5000;
  int checked = 0;
  const std::filesystem::path folder = std::filesystem::path(COLLSIM_SOURCE_DIR) / "scenarios";
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    const std::filesystem::path& file = entry.path();
    if (file.extension() != ".json" || file.parent_path().filename() == "presets" ||
        file.parent_path().filename() == "schema")
      continue;
    Sources sources;
    Diagnostics diagnostics;
    const auto scenario = load_scenario(file.string(), {}, sources, diagnostics);
    if (!scenario || scenario->is_step() || !scenario->programs.empty()) continue;
    for (const std::size_t point : {std::size_t{0}, scenario->points() - 1}) {
      ClusterCache clusters;
      const std::optional<Case> made = make_case(*scenario, point, clusters, diagnostics);
      if (!made || !made->schedule || effort_of(*made, *made->schedule).instructions > quick)
        continue;
      checked += Promise(file.string(), *scenario, point).check();
    }
  }
  EXPECT_GT(checked, is_sanitized ? 20 : 200);
}

TEST(KnobTruth, SaysWhereMoreChunksWereNotTried) {
  const std::string text = R"({"scenario": 1, "cluster": {"shape": "fat-tree", "ports": 16,
      "link": {"bandwidth": "50GB/s", "latency": "1us"}},
      "collective": {"op": "all-reduce", "algorithm": "ring", "size": "64MiB"}})";
  const Loaded loaded = load_text(text);
  Promise promise(text, *loaded.scenario, 0);
  const Explanation& e = promise.explanation();
  ASSERT_TRUE(e.knobs.chunks);
  EXPECT_TRUE(e.knobs.chunks->broken_off);
  const std::string told = to_text(e);
  EXPECT_NE(told.find("; more would take too long to try."), std::string::npos) << told;
  const std::size_t at = told.find("Not faster with as many chunks as now");
  EXPECT_LT(at, told.find("double-tree", at)) << told;
}

TEST(KnobTruth, DuplexAndRoutingAreKnobs) {
  const std::string text = R"({"scenario": 1, "cluster": {"shape": "leaf-spine", "leaves": 4,
      "ranks_per_leaf": 4, "spines": 2,
      "link": {"bandwidth": "10GB/s", "overhead": "1us", "duplex": "half"}},
      "collective": {"op": "all-to-all", "algorithm": "direct", "size": "48MB"}})";
  const Loaded loaded = load_text(text);
  Promise promise(text, *loaded.scenario, 0);
  std::vector<std::string> turned;
  for (const Knob& knob : promise.explanation().knobs.all)
    if ((knob.name == "duplex" || knob.name == "routing") && knob.time) turned.push_back(knob.then);
  std::ranges::sort(turned);
  EXPECT_EQ(turned, (std::vector<std::string>{"adaptive", "full", "hash", "spray"}));
  EXPECT_GT(promise.check(), 4);
}

TEST(KnobTruth, OtherRoutingsOfADragonflyAreKnobs) {
  const std::string text = R"({"scenario": 1, "cluster": {"shape": "dragonfly", "groups": 3,
      "routers_per_group": 2, "ranks_per_router": 2, "routing": "valiant",
      "link": {"bandwidth": "25GB/s", "overhead": "2us", "latency": "700ns"}},
      "collective": {"op": "all-to-all", "algorithm": "pairwise", "size": "5MB"}})";
  const Loaded loaded = load_text(text);
  Promise promise(text, *loaded.scenario, 0);
  std::vector<std::string> turned;
  for (const Knob& knob : promise.explanation().knobs.all)
    if (knob.name == "routing" && knob.time) turned.push_back(knob.then);
  EXPECT_EQ(turned, (std::vector<std::string>{"ugal", "d-mod-k"}));
  EXPECT_GT(promise.check(), 2);
}

TEST(KnobTruth, WhatChangesNothingAtTwiceMayChangeSomethingAtAFifth) {
  const std::string text = R"({"scenario": 1, "cluster": {"shape": "fat-tree", "ports": 4,
      "link": {"bandwidth": "25GB/s", "overhead": "2us", "latency": "700ns"}},
      "collective": {"op": "broadcast", "algorithm": "double-tree", "size": "3MB",
      "ranks": [15, 3, 7, 2, 9], "root": 7, "chunks": 6, "channels": 2}})";
  const Loaded loaded = load_text(text);
  Promise promise(text, *loaded.scenario, 0);
  const Explanation& e = promise.explanation();
  const auto latency = std::ranges::find(e.knobs.all, "latency of all links", &Knob::name);
  ASSERT_NE(latency, e.knobs.all.end());
  ASSERT_EQ(latency->time, e.row.time);
  ASSERT_NE(latency->time_20, e.row.time);
  EXPECT_EQ(to_text(e).find("Would change nothing: latency"), std::string::npos) << to_text(e);
}

TEST(KnobTruth, SaysWhoTakesAnotherWayBecauseOfASwitchThatIsDown) {
  const std::string text = R"({"scenario": 1, "cluster": {"shape": "leaf-spine", "leaves": 4,
      "ranks_per_leaf": 4, "spines": 4, "link": {"bandwidth": "10GB/s", "sharing": "fair"},
      "switches_down": ["spine1"]},
      "collective": {"op": "all-to-all", "algorithm": "direct", "size": "48MB"}})";
  const Loaded loaded = load_text(text);
  Promise promise(text, *loaded.scenario, 0);
  const Explanation& e = promise.explanation();
  ASSERT_TRUE(e.changed_order);
  EXPECT_EQ(e.changed_order->by, "switches_down");
  EXPECT_EQ(e.changed_order->other_ways, 48U);
  EXPECT_NE(to_text(e).find("take another way because of switches_down."), std::string::npos);
}

// A tree in one piece says nothing about trees.
TEST(KnobTruth, ComparesAlgorithmsInChunksThatSuitThem) {
  const std::string text = R"({"scenario": 1, "cluster": {"shape": "switch", "ranks": 8,
      "link": {"bandwidth": "25GB/s", "overhead": "1us"}},
      "collective": {"op": "all-reduce", "algorithm": "ring", "size": "256MiB"}})";
  const Loaded loaded = load_text(text);
  Promise promise(text, *loaded.scenario, 0);
  const Explanation& e = promise.explanation();
  const auto find = [&](const std::string& start) {
    return std::find_if(e.knobs.all.begin(), e.knobs.all.end(),
                        [&](const Knob& knob) { return knob.then.starts_with(start); });
  };
  const auto cut = find("double-tree in ");
  ASSERT_NE(cut, e.knobs.all.end());
  EXPECT_EQ(find("double-tree"), cut) << "the faster one comes first";
  ASSERT_EQ(cut->set.size(), 2U);
  EXPECT_EQ(cut->set[1].first, "collective.chunks");
  EXPECT_GT(promise.check(), 10);
  // What is told of it is one of the two.
  const std::string told = to_text(e);
  EXPECT_NE(told.find(cut->then), std::string::npos) << told;
  EXPECT_EQ(told.find("double-tree "), told.find("double-tree in ")) << told;
}

TEST(KnobTruth, NamesTheSharingOfLinksAtWhichMessagesQueue) {
  const auto text_of = [](const char* link) {
    return R"({"scenario": 1, "cluster": {"shape": "torus", "dims": [8, 8], "link": {)" +
           std::string(link) + R"("bandwidth": "25GB/s", "overhead": "1us"}},
           "collective": {"op": "all-to-all", "algorithm": "direct", "size": "1MiB"}})";
  };
  const auto knob_of = [](Promise& promise) -> std::optional<Knob> {
    for (const Knob& knob : promise.explanation().knobs.all)
      if (knob.then == "fair") return knob;
    return std::nullopt;
  };
  const std::string queueing = text_of("");
  Promise promise(queueing, *load_text(queueing).scenario, 0);
  const std::optional<Knob> knob = knob_of(promise);
  ASSERT_TRUE(knob);
  EXPECT_LT(*knob->time, promise.explanation().row.time);
  ASSERT_EQ(knob->set.size(), 1U);
  EXPECT_EQ(knob->set[0].first, "cluster.link.sharing");
  EXPECT_GT(promise.check(), 3);
  const std::string shared = text_of(R"("sharing": "fair", )");
  Promise fair(shared, *load_text(shared).scenario, 0);
  EXPECT_FALSE(knob_of(fair));
}

TEST(KnobTruth, SaysWhatAFasterLinkCosts) {
  const std::string text =
      R"({"scenario": 1, "cluster": {"shape": "mesh", "dims": [2, 3], "link": {"bandwidth": "10GB/s",
      "latency": "370ns", "sharing": "fair"}, "links_override": [{"from": "gpu0", "to": "gpu1",
      "bandwidth": "40GB/s"}]}, "collective": {"op": "all-to-all", "algorithm": "bruck",
      "size": "387960B", "chunks": 4}})";
  Promise promise(text, *load_text(text).scenario, 0);
  EXPECT_GT(promise.check(), 3);
  const std::vector<Knob>& knobs = promise.explanation().knobs.all;
  const auto found = std::find_if(knobs.begin(), knobs.end(),
                                  [](const Knob& knob) { return knob.name == "links_override"; });
  ASSERT_NE(found, knobs.end());
  EXPECT_LT(found->time->seconds(), 0.7 * promise.explanation().row.time_s());
  const auto& order = promise.explanation().changed_order;
  ASSERT_TRUE(order && order->first);
  EXPECT_NE(order->first->ahead, order->first->behind);
  expect_contains(to_text(promise.explanation()), "With links_override messages meet in another");
}

TEST(KnobTruth, SaysWhatRanksBeyondAPowerOfTwoCost) {
  const auto explained = [](int ranks, const char* algorithm) {
    const std::string text = fmt::format(
        R"({{"scenario": 1, "cluster": {{"shape": "switch", "ranks": {},
        "link": {{"bandwidth": "50GB/s", "overhead": "1us"}}}},
        "collective": {{"op": "all-reduce", "algorithm": "{}", "size": "64MiB"}}}})",
        ranks, algorithm);
    Promise promise(text, *load_text(text).scenario, 0);
    EXPECT_GT(promise.check(), 3);
    return promise.explanation();
  };
  const Explanation folds = explained(17, "halving-doubling");
  ASSERT_TRUE(folds.knobs.power_of_two);
  EXPECT_EQ(folds.knobs.power_of_two->then, "16");
  EXPECT_LT(2 * folds.knobs.power_of_two->time->seconds(), folds.row.time_s());
  EXPECT_NE(to_text(folds).find("17 is no power of two"), std::string::npos);
  EXPECT_FALSE(explained(16, "halving-doubling").knobs.power_of_two);
  EXPECT_FALSE(explained(17, "ring").knobs.power_of_two);
  EXPECT_EQ(explained(17, "ring").knobs.folded_ranks, 0);
  EXPECT_EQ(folds.knobs.folded_ranks, 1);
}

INSTANTIATE_TEST_SUITE_P(Thousand, RandomKnobTruth, ::testing::Range(0U, 8U));

}  // namespace
}  // namespace collsim::testing
