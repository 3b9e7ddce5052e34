// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "app/json/value.hpp"
#include "app/scenario/workload/workload.hpp"
#include "tests/app/scenario/loading.hpp"
#include "tests/golden.hpp"

namespace collsim {
namespace {

using testing::broadcast;
using testing::load_collective;
using testing::load_text;
using testing::Loaded;

std::string mistake_in(const std::string& more) {
  return load_collective(broadcast, more).mistake();
}

TEST(LoadScenario, TheSmallestScenario) {
  const Loaded loaded = load_text(testing::scenario_text(broadcast), {}, "dir/My Ring_2.json");
  ASSERT_TRUE(loaded.scenario) << loaded.mistake();
  EXPECT_EQ(loaded.scenario->file, "dir/My Ring_2.json");
  EXPECT_EQ(loaded.scenario->name, "my-ring-2");
  EXPECT_TRUE(loaded.scenario->title.empty());
  EXPECT_TRUE(loaded.scenario->expect.is_array());
  EXPECT_TRUE(loaded.scenario->measure.backend.empty());
  const auto made = case_of(loaded);
  ASSERT_TRUE(made);
  EXPECT_EQ(made->collective.size(), 4);
  EXPECT_TRUE(made->costs.instructions_are_free());
  EXPECT_FALSE(made->data);
}

TEST(LoadScenario, EveryFileNameMakesAName) {
  for (const char* file : {"-", "---.json", "", "x", "\xC3\xA9.json"}) {
    const Loaded loaded = load_text(testing::scenario_text(broadcast), {}, file);
    ASSERT_TRUE(loaded.scenario);
    EXPECT_FALSE(loaded.scenario->name.empty()) << file;
  }
  EXPECT_EQ(load_text(testing::scenario_text(broadcast), {}, "-").scenario->name, "stdin");
}

TEST(LoadScenario, TextsAreKept) {
  const Loaded loaded = load_collective(
      broadcast, R"("name": "a-1", "title": "T", "notes": ["one", "two"], "$schema": "s.json")");
  ASSERT_TRUE(loaded.scenario) << loaded.mistake();
  EXPECT_EQ(loaded.scenario->name, "a-1");
  EXPECT_EQ(loaded.scenario->title, "T");
  EXPECT_EQ(loaded.scenario->notes, (std::vector<std::string>{"one", "two"}));
  EXPECT_EQ(load_collective(broadcast, R"("notes": "one")").scenario->notes.size(), 1);
}

TEST(LoadScenario, WrongTextsAreMistakes) {
  expect_text(mistake_in(R"("name": "Ring broadcast")"),
              "4:9 \"Ring broadcast\" is not a valid scenario name at /name; did you mean "
              "ring-broadcast?; a name has lower-case letters, digits and hyphens, and begins with "
              "a letter or digit");
  expect_text(mistake_in(R"("notes": [1])"),
              "4:10 notes are a string or a list of strings at /notes");
  expect_text(
      mistake_in(R"("title": 1)"),
      "4:10 expected a string, but this is a number at /title; write text in double quotes");
}

TEST(LoadScenario, UnknownKeysOfferTheNearest) {
  expect_text(mistake_in(R"("sweeep": {})"),
              "4:1 unknown key \"sweeep\" at /sweeep; did you mean sweep?");
  expect_text(mistake_in(R"("training": {})"),
              "4:1 unknown key \"training\" at /training; allowed: scenario, $schema, name, title, "
              "notes, include, cluster, model, collective, workload, sweep, measure, expect");
}

TEST(LoadScenario, ClusterAndCollectiveAreNeeded) {
  EXPECT_EQ(load_text(R"({"scenario": 1})").mistakes(),
            (std::vector<std::string>{
                "1:1 \"cluster\" is missing",
                "1:1 \"collective\" is missing; or \"workload\", for a training step"}));
  EXPECT_EQ(load_text(R"({"scenario": 1, "cluster": 3, "collective": []})").mistakes().size(), 2);
  expect_text(load_text(std::string(R"({"scenario": 1, "colective": {}, )") +
                        testing::four_in_a_chain + "}")
                  .mistake(),
              "1:17 unknown key \"colective\" at /colective; did you mean collective?");
}

TEST(LoadScenario, TheModelIsRead) {
  const Loaded loaded = load_collective(
      broadcast, R"("model": {"reduce_bandwidth": "100GB/s", "copy_bandwidth": "200GB/s",
                              "instruction_overhead": "1us", "launch": "2us",
                              "second_write_bandwidth": "50GB/s"})");
  ASSERT_TRUE(loaded.scenario) << loaded.mistake();
  const CostModel costs = case_of(loaded)->costs;
  EXPECT_EQ(costs.reduce_bandwidth, gigabytes_per_second(100));
  EXPECT_EQ(costs.copy_bandwidth, gigabytes_per_second(200));
  EXPECT_EQ(costs.instruction_overhead, microseconds(1));
  EXPECT_EQ(costs.launch, microseconds(2));
  EXPECT_EQ(costs.second_write_bandwidth, gigabytes_per_second(50));
}

TEST(LoadScenario, MeasureIsReadAndChecked) {
  const Loaded loaded = load_collective(
      broadcast,
      R"("measure": {"backend": "nccl", "protocol": "ll", "warmup": 5, "iters": 7, "check": false,
                                "paced": true, "file": "m.json", "required": true})");
  ASSERT_TRUE(loaded.scenario) << loaded.mistake();
  const Measure& measure = loaded.scenario->measure;
  EXPECT_EQ(measure.backend, "nccl");
  EXPECT_EQ(measure.protocol, "ll");
  EXPECT_EQ(measure.warmup, 5);
  EXPECT_EQ(measure.iterations, 7);
  EXPECT_FALSE(measure.check);
  EXPECT_TRUE(measure.paced && measure.required);
  EXPECT_EQ(measure.file, "m.json");
  expect_text(mistake_in(R"("measure": {"backend": "gpu"})"),
              "4:24 unknown backend \"gpu\" at /measure/backend; allowed: host, cuda, nccl");
  expect_text(mistake_in(R"("measure": {"iters": 0})"),
              "4:22 0 is too small at /measure/iters; allowed: 1 to 1000000000");
}

TEST(LoadScenario, ExpectationsAreAListOfObjects) {
  expect_text(mistake_in(R"("expect": {})"),
              "4:11 expectations are a list, not an object at /expect; write \"expect\": "
              "[{\"metric\": \"time\", \"at_least\": \"N/B\"}]");
  expect_text(mistake_in(R"("expect": ["time"])"),
              "4:12 an expectation is an object, not a string at /expect/0; write {\"metric\": "
              "\"time\", \"at_least\": \"N/B\"}");
}

TEST(LoadScenario, MistakesOfAnotherFileDoNotCount) {
  Loaded loaded;
  loaded.diagnostics.add({"x", "another file's mistake", {}, "", "", ""});
  const auto source =
      loaded.sources.add(Sources::Kind::file, "a.json", testing::scenario_text(broadcast));
  const auto document = parse_json(source, loaded.sources, loaded.diagnostics);
  EXPECT_TRUE(load_scenario(*document, "a.json", {}, loaded.sources, loaded.diagnostics));
}

TEST(LoadScenario, AMistakeThatOnlySomePointsHaveIsMadeByMakeCase) {
  // Each axis alone is right; only together 6 ranks meet swing.
  const Loaded loaded = load_collective(
      R"("op": "all-reduce", "size": "1MiB")",
      R"("sweep": {"cluster.ranks": [4, 6], "collective.algorithm": ["ring", "swing"]})");
  ASSERT_TRUE(loaded.scenario) << loaded.mistake();
  ClusterCache clusters;
  Diagnostics diagnostics;
  EXPECT_TRUE(make_case(*loaded.scenario, 2, clusters, diagnostics));
  EXPECT_FALSE(make_case(*loaded.scenario, 3, clusters, diagnostics));
  ASSERT_EQ(diagnostics.size(), 1);
  EXPECT_EQ(diagnostics.sorted()[0].code, "unsupported-ranks");
  EXPECT_FALSE(make_case(*loaded.scenario, 3, clusters, diagnostics)) << "also the second time";
}

TEST(LoadScenario, TheClusterIsBuiltOnceWhereTheSweepLeavesItAlone) {
  const Loaded loaded =
      load_collective(broadcast, R"("sweep": {"collective.chunks": [1, 2], "cluster.ranks": [2]})");
  ClusterCache clusters;
  Diagnostics diagnostics;
  const auto first = make_case(*loaded.scenario, 0, clusters, diagnostics);
  const auto second = make_case(*loaded.scenario, 1, clusters, diagnostics);
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->cluster, second->cluster);
}

void expect_same_steps(const TrainingStep& a, const TrainingStep& b) {
  EXPECT_EQ(a.scheme, b.scheme);
  ASSERT_EQ(a.workload.lanes(), b.workload.lanes());
  for (const Rank rank : a.workload.group()) {
    Script x = a.workload.script(rank);
    Script y = b.workload.script(rank);
    for (bool more = true; more;) {
      const Action* const one = x.next();
      const Action* const other = y.next();
      more = one != nullptr && other != nullptr;
      ASSERT_EQ(one != nullptr, other != nullptr);
      ASSERT_TRUE(!more || (one->kind == other->kind && one->amount == other->amount &&
                            one->call.count == other->call.count));
    }
  }
}

// Whether two scenarios simulate the same at every point.
void expect_same_cases(const Loaded& a, const Loaded& b) {
  ASSERT_EQ(a.scenario->points(), b.scenario->points());
  for (std::size_t i = 0; i < std::min<std::size_t>(a.scenario->points(), 200); ++i) {
    const auto x = case_of(a, i);
    const auto y = case_of(b, i);
    ASSERT_TRUE(x && y) << i;
    ASSERT_EQ(x->step != nullptr, y->step != nullptr);
    if (x->step) expect_same_steps(*x->step, *y->step);
    const Collective& c = x->collective;
    const Collective& d = y->collective;
    EXPECT_TRUE(c.operation == d.operation && c.count == d.count && c.type == d.type &&
                c.reduction == d.reduction && c.group == d.group && c.root == d.root &&
                c.in_place == d.in_place && c.pattern.kind == d.pattern.kind &&
                c.pattern.distance == d.pattern.distance && c.pattern.pairs == d.pattern.pairs)
        << i;
    const AlgorithmChoice& f = x->choice;
    const AlgorithmChoice& g = y->choice;
    EXPECT_TRUE(f.name == g.name && f.chunks == g.chunks && f.chunk_size == g.chunk_size &&
                f.channels == g.channels && f.slots == g.slots && f.radix == g.radix &&
                f.aggregation == g.aggregation && f.dims == g.dims)
        << i;
    EXPECT_TRUE(x->costs.reduce_bandwidth == y->costs.reduce_bandwidth &&
                x->costs.copy_bandwidth == y->costs.copy_bandwidth &&
                x->costs.instruction_overhead == y->costs.instruction_overhead &&
                x->costs.launch == y->costs.launch);
    EXPECT_EQ(x->data, y->data);
    EXPECT_EQ(x->cluster->late, y->cluster->late);
    // The resolved form of a preset writes all of its link types as overrides.
    if (x->cluster->preset.empty()) {
      EXPECT_EQ(x->cluster->description, y->cluster->description);
    }
    ASSERT_EQ(x->cluster->topology.links().size(), y->cluster->topology.links().size()) << i;
    for (std::size_t l = 0; l < x->cluster->topology.links().size(); ++l)
      EXPECT_EQ(x->cluster->topology.parameters(LinkId(l)),
                y->cluster->topology.parameters(LinkId(l)));
  }
}

void expect_round_trip(const Loaded& loaded) {
  const std::string resolved = to_json(loaded.scenario->resolved);
  // Where the files that it names are.
  const Loaded again = load_text(resolved, {.workloads = true}, loaded.scenario->file);
  ASSERT_TRUE(again.scenario) << resolved << to_text(again.diagnostics, again.sources);
  if (loaded.scenario->resolved.find("cluster")->find("preset") == nullptr) {
    EXPECT_EQ(to_json(again.scenario->resolved), resolved);
  }
  expect_same_cases(loaded, again);
}

TEST(Resolved, IsTheScenarioWithEveryDefault) {
  const Loaded loaded = load_collective(
      broadcast, R"("name": "a", "notes": "n", "sweep": {"collective.chunks": [1, 2]})");
  ASSERT_TRUE(loaded.scenario) << loaded.mistake();
  const JsonValue& resolved = loaded.scenario->resolved;
  EXPECT_EQ(resolved.find("notes")->items().size(), 1);
  EXPECT_EQ(to_json(*resolved.find("model"), -1), R"({"instruction_overhead":"0s","launch":"0s"})");
  for (const char* absent : {"title", "measure", "expect", "$schema", "include"})
    EXPECT_EQ(resolved.find(absent), nullptr) << absent;
  EXPECT_EQ(resolved.find("collective")->find("channels")->place, SourceRange{});
  EXPECT_NE(resolved.find("collective")->find("size")->place, SourceRange{});
}

TEST(Resolved, RunsTheSameAlsoWhereDefaultsDependOnTheSweep) {
  for (const auto& [collective, more] : std::vector<std::pair<const char*, const char*>>{
           {broadcast, R"("sweep": {"collective.algorithm": ["k-nomial", "chain"]})"},
           {R"("op": "all-reduce", "size": "48B")",
            R"("sweep": {"collective.algorithm": ["hierarchical", "ring"],
                         "cluster.ranks": [4, 6]})"},
           // "ring" is the chain for a broadcast and itself for an all-reduce
           {R"("size": "48B", "algorithm": "ring")",
            R"("sweep": {"collective.op": ["broadcast", "all-reduce"]})"},
           {R"("size": "48B")", R"("sweep": {"collective.op": ["broadcast", "send-recv", "reduce",
                                                               "all-to-all"]})"},
           {R"("op": "barrier")", R"("sweep": {"collective.algorithm": ["flat", "binomial"]})"},
           {R"("op": "broadcast")", R"("sweep": {"zip: collective.root, collective.data":
                                                 [[0, [[1, 2]]], [1, [[1, 2, 3]]]]})"},
           {broadcast, R"("sweep": {"cluster.link.latency": ["1us", "2us"],
                                    "model.launch": {"from": 0, "to": "2us", "points": 3}})"},
           {R"("op": "all-gather", "size": "64B", "ranks": [2, 0], "algorithm": "auto")",
            R"("sweep": {"cluster.link": [{"bandwidth": "1GB/s"},
                                          {"bandwidth": "2GB/s", "overhead": "1us"}]})"}}) {
    const Loaded loaded = load_collective(collective, more);
    ASSERT_TRUE(loaded.scenario) << more << loaded.mistake();
    expect_round_trip(loaded);
  }
}

TEST(Resolved, RunsTheSameForEveryScenarioOfTheRepository) {
  namespace fs = std::filesystem;
  int files = 0;
  for (const char* folder : {"lecture", "tutorial", "tuner", "architect", "training"})
    for (const auto& entry :
         fs::directory_iterator(fs::path(COLLSIM_SOURCE_DIR) / "scenarios" / folder)) {
      if (entry.path().extension() != ".json") continue;  // what scenarios read
      SCOPED_TRACE(entry.path().string());
      Loaded loaded;
      loaded.scenario = load_scenario(entry.path().string(), {.workloads = true}, loaded.sources,
                                      loaded.diagnostics);
      ASSERT_TRUE(loaded.scenario) << to_text(loaded.diagnostics, loaded.sources);
      expect_round_trip(loaded);
      ++files;
    }
  EXPECT_GE(files, 30);
}

TEST(Resolved, RunsTheSameForEveryValidScenarioOfTheCorpus) {
  std::ifstream corpus(COLLSIM_TEST_DATA "/scenarios/valid.jsonl");
  int scenarios = 0;
  for (std::string line; std::getline(corpus, line); ++scenarios) {
    SCOPED_TRACE(line);
    const Loaded loaded =
        load_text(nlohmann::ordered_json::parse(line).at("scenario").dump(), {.workloads = true});
    ASSERT_TRUE(loaded.scenario) << to_text(loaded.diagnostics, loaded.sources);
    expect_round_trip(loaded);
  }
  EXPECT_GE(scenarios, 60);
}

}  // namespace
}  // namespace collsim
