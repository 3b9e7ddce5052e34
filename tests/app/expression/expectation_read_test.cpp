// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tests/app/expression/study_fixture.hpp"
#include "tests/contains.hpp"
#include "tests/golden.hpp"

namespace collsim::test {
namespace {

// What is shown for the mistakes of an expectation of the chain scenario, without the summary.
std::string shown(std::string_view expectation) {
  const std::string text = Study(chain_scenario(expectation)).mistakes();
  return text.substr(0, text.rfind("1 error"));
}

TEST(ReadingExpectations, AcceptsWhatTheManualShows) {
  const Study study(chain_scenario(R"j(
    {"id": "one-message", "when": {"collective.chunks": 1}, "metric": "time",
     "equals": "(K-1) * (alpha + N/B)", "within": "0.1%", "why": "Store and forward."},
    {"metric": "argmin(time, S)", "between": [32, 128]},
    {"metric": "time", "at_least": "N/B"},
    {"metric": "time", "at_most": "20ms", "of": "analytic"},
    {"metric": "relative_error(time)", "of": "measured", "at_most": "20%"},
    {"metric": "messages", "equals": "7*S", "within": 2},
    {"metric": "time", "equals": "analytic", "within": "messages * 1ps"})j"));
  EXPECT_TRUE(study.diagnostics.empty()) << study.mistakes();
  EXPECT_FALSE(study.expectations.needs_bottleneck_bandwidth());
  EXPECT_EQ(study.outcomes().size(), 7U);
}

TEST(ReadingExpectations, NoticesThatBottlenecksMustBeFound) {
  const auto needs = [](std::string_view expectation) {
    return Study(chain_scenario(expectation)).expectations.needs_bottleneck_bandwidth();
  };
  EXPECT_TRUE(needs(R"({"metric": "busbw", "at_most": "bottleneck_bandwidth"})"));
  EXPECT_TRUE(needs(R"j({"metric": "argmin(bottleneck_bandwidth, S)", "equals": 1})j"));
  EXPECT_TRUE(needs(R"({"metric": "busbw", "equals": "B", "within": "bottleneck_bandwidth"})"));
  EXPECT_FALSE(Expectations().needs_bottleneck_bandwidth());
}

// Graphs have a B where all their links are alike, as far as they are written.
TEST(ReadingExpectations, GraphsWithLinksOfOneKindHaveItsSymbols) {
  const auto mistakes = [](const std::string& bandwidth) {
    return Study(R"j({"scenario": 1, "cluster": {
        "devices": [{"name": "gpu[0-2]", "kind": "gpu"}, {"name": "sw", "kind": "switch"}],
        "links": [{"from": "gpu[0-1]", "to": "sw", "bandwidth": "25GB/s"},
                  {"from": "gpu2", "to": "sw", "bandwidth": ")j" +
                 bandwidth + R"j("}]},
        "collective": {"op": "broadcast", "algorithm": "flat", "size": "1MiB"},
        "expect": [{"metric": "time", "at_least": "N/B"}]})j")
        .mistakes();
  };
  EXPECT_EQ(mistakes("25GB/s"), "");
  expect_contains(mistakes("12GB/s"), "this cluster has links of several kinds");
}

TEST(ReadingExpectations, PointsIntoTheExpression) {
  expect_text(shown(R"j({"metric": "time", "equals": "2 * (N + alpha)"})j"),
              R"j(test.json:5:49: "N + alpha": cannot add bytes and seconds at /expect/0/equals
  5 |   "expect": [{"metric": "time", "equals": "2 * (N + alpha)"}]
    |                                                 ^^^^^^^^^
)j");
}

TEST(ReadingExpectations, PointsAtTheWholeStringWhenCharactersAreEscaped) {
  const Study study(chain_scenario(R"({"metric": "time\u0020+ K", "equals": "1s"})"));
  const auto mistakes = study.diagnostics.sorted();
  ASSERT_EQ(mistakes.size(), 1U);
  EXPECT_EQ(mistakes[0].place.end - mistakes[0].place.begin, 15U);
}

TEST(ReadingExpectations, ComparesUnitsOfMetricAndLimit) {
  expect_text(mistake_of(R"({"metric": "time", "at_most": "N*B"})"),
              R"("time" is a time (s) but "N*B" is in bytes^2/s)");
  expect_text(mistake_of(R"({"metric": "time", "at_most": 5})"),
              R"("time" is a time (s) but 5 is a plain number)");
  expect_text(mistake_of(R"({"metric": "busbw", "between": ["1GB/s", "5%"]})"),
              R"("busbw" is a bandwidth (bytes/s) but "5%" is a plain number)");
  EXPECT_EQ(mistake_of(R"({"metric": "time", "at_least": 0})"), "") << "0 fits all";
  expect_text(mistake_of(R"({"metric": "time", "equals": "bound", "within": "2MiB"})"),
              R"("time" is a time (s) but "2MiB" is a size (bytes))");
  expect_text(mistake_of(R"({"metric": "time", "equals": "bound", "within": 0.01})"),
              "0.01 has no unit");
}

TEST(ReadingExpectations, SaysWhichWayRoundGammaIs) {
  const Study study(chain_scenario(R"({"metric": "time", "equals": "(K-1)/K*N/gamma"})"));
  const auto mistakes = study.diagnostics.sorted();
  ASSERT_EQ(mistakes.size(), 1U);
  EXPECT_EQ(mistakes[0].code, "dimension");
  EXPECT_EQ(mistakes[0].hint, "gamma is the time to add one byte: write N*gamma, not N/gamma");
}

TEST(ReadingExpectations, NamesMissingAndSuperfluousKeys) {
  EXPECT_EQ(mistake_of(R"({"equals": 1})"), R"("metric" is missing)");
  expect_text(mistake_of(R"({"metric": "time"})"), "a limit is missing");
  expect_text(mistake_of(R"({"metric": "time", "at_most": "1s", "at_least": "0s"})"),
              R"("at_most" and "at_least" exclude each other)");
  EXPECT_EQ(mistake_of(R"({"metric": "time", "at_mots": "1s", "at_most": "1s"})"),
            R"(unknown key "at_mots")");
  expect_text(mistake_of(R"(3)"), "expected an object, but this is a number");
}

TEST(ReadingExpectations, NamesValuesOfTheWrongKind) {
  expect_text(mistake_of(R"({"metric": 1, "equals": 1})"),
              "expected a string, but this is a number");
  expect_text(mistake_of(R"({"metric": "time", "equals": null})"),
              "expected a number, a quantity or an expression, but this is null");
  expect_text(mistake_of(R"({"metric": "time", "between": ["1s"]})"),
              R"("between" needs two limits)");
  expect_text(mistake_of(R"({"metric": "time", "between": "1s"})"),
              R"("between" needs two limits)");
  expect_text(mistake_of(R"({"metric": "time", "between": ["2s", "1s"]})"),
              "the lower limit 2s is above the upper limit 1s");
  EXPECT_EQ(mistake_of(R"({"metric": "time", "equals": "1s", "within": "tight"})"),
            R"(unknown name "tight")");
  expect_text(mistake_of(R"({"metric": "time", "equals": "1s", "within": "-1%"})"),
              "a tolerance cannot be negative");
  expect_text(mistake_of(R"({"metric": "time", "at_most": "1s", "of": "meassured"})"),
              R"(unknown meaning of time "meassured")");
  expect_text(
      mistake_of(R"({"metric": "messages", "at_most": 7, "of": "analytic"})"),
      R"("analytic" changes nothing, because the metric does not mention time, algbw or busbw)");
}

TEST(ReadingExpectations, ChecksIds) {
  expect_text(mistake_of(R"({"id": "A b", "metric": "K", "equals": 8})"),
              R"("A b" is not a valid id)");
  expect_text(mistake_of(R"({"id": "", "metric": "K", "equals": 8})"), R"("" is not a valid id)");
  expect_text(mistake_of(R"({"id": "a", "metric": "K", "equals": 8},
                          {"id": "a", "metric": "K", "equals": 8})"),
              R"("a" is the id of two expectations)");
  expect_text(mistake_of(R"({"id": "expect-2", "metric": "K", "equals": 8},
                          {"metric": "K", "equals": 8})"),
              R"("expect-2" is the id of two expectations)");
}

TEST(ReadingExpectations, ReportsAllMistakesAtOnce) {
  const Study study(chain_scenario(R"({"metric": "tiem", "equals": "1 +", "when": {"x": 1}},
                                      {"metric": "time", "at_most": "N"})"));
  EXPECT_EQ(study.diagnostics.size(), 4U) << study.mistakes();
}

TEST(ReadingExpectations, NamesPathsOfWhenThatAreNotThere) {
  expect_text(
      shown(R"({"when": {"collective.chnks": 1}, "metric": "time", "at_least": "N/B"})"),
      R"j(test.json:5:24: "collective.chnks" is neither swept nor in the scenario at /expect/0/when/collective.chnks
  5 |   "expect": [{"when": {"collective.chnks": 1}, "metric": "time", "at_least": "N/B"}]
    |                        ^^^^^^^^^^^^^^^^^^ did you mean "collective.chunks"?
    |   swept: collective.chunks
)j");
  const Study study(
      chain_scenario(R"({"when": {"size": 1}, "metric": "time", "at_least": "N/B"})"));
  EXPECT_EQ(study.diagnostics.sorted().at(0).suggestion, "collective.size");
}

TEST(ReadingExpectations, NamesValuesOfWhenThatCanNeverBe) {
  const auto mistake = [](const std::string& when) {
    return mistake_of(R"({"when": {)" + when + R"(}, "metric": "time", "at_least": "N/B"})");
  };
  expect_text(mistake(R"("collective.chunks": "ring")"),
              R"("ring" is a word, but collective.chunks has values such as 1)");
  expect_text(mistake(R"("collective.chunks": [1, "4KiB"])"),
              "4KiB is a size (bytes), but collective.chunks has values such as 1");
  expect_text(mistake(R"("collective.size": 64)"),
              "64 is a plain number, but collective.size has values such as 64MiB");
  expect_text(mistake(R"("collective.size": "64M")"), R"("64M" could mean two sizes)");
  expect_text(mistake(R"("collective.chunks": [])"), "an empty list matches no row");
  expect_text(mistake_of(R"({"when": 1, "metric": "time", "at_least": "N/B"})"),
              "expected an object, but this is a number");
}

TEST(ReadingExpectations, RefusesSymbolsThatTheClusterDoesNotHave) {
  const auto mistakes = [](const std::string& cluster, const std::string& sweep) {
    const Study study(R"({"cluster": )" + cluster + R"(, "collective": {"op": "broadcast"},
      "sweep": {)" + sweep +
                      R"(}, "expect": [{"metric": "time", "at_least": "N/B"},
      {"metric": "time", "at_least": "alpha"}]})");
    std::vector<std::string> hints;
    for (const Diagnostic& mistake : study.diagnostics.sorted()) hints.push_back(mistake.hint);
    return hints;
  };
  const std::vector<std::string> both{
      "use bottleneck_bandwidth, or a number with its unit, such as 25GB/s",
      "use a number with its unit, such as 5us"};
  EXPECT_EQ(mistakes(R"({"preset": "dgx-h100", "nodes": 2})", ""), both);
  EXPECT_EQ(mistakes(R"({"shape": "chain", "link": {"bandwidth": "1GB/s"}})", ""),
            std::vector<std::string>{});
  EXPECT_EQ(mistakes(R"({"shape": "chain"})", R"("cluster.link.bandwidth": ["1GB/s", "2GB/s"])"),
            std::vector<std::string>{})
      << "the sweep brings the link";
}

TEST(ReadingExpectations, TakesNoListForNoExpectations) {
  Sources sources;
  Diagnostics diagnostics;
  EXPECT_EQ(Expectations::read(make_scenario("{}", sources), diagnostics).check({}).size(), 0U);
  EXPECT_TRUE(diagnostics.empty());
  static_cast<void>(Expectations::read(make_scenario(R"({"expect": 3})", sources), diagnostics));
  expect_text(diagnostics.sorted().at(0).message, "expected a list, but this is a number");
}

TEST(ReadingExpectations, RefusesWhatHasNoSingleValueBesideArgmin) {
  expect_text(
      shown(R"j({"metric": "argmin(time, S)", "at_most": "1 + time/bound"})j"),
      R"j(test.json:5:60: "time" has a different value for each collective.chunks, over which argmin or argmax is taken at /expect/0/at_most
  5 |   "expect": [{"metric": "argmin(time, S)", "at_most": "1 + time/bound"}]
    |                                                            ^^^^
    |   say which one: at(time, collective.chunks, value)
)j");
  expect_text(
      mistake_of(R"j({"metric": "argmin(time, S)", "equals": "S"})j"),
      "\"S\" has a different value for each collective.chunks, over which argmin or argmax is "
      "taken");
  EXPECT_EQ(mistake_of(R"j({"metric": "argmin(time, S)", "at_least": "at(time/bound, S, 1)"})j"),
            "");
}

// A sweep over words and sizes.
std::string algorithms_scenario(const std::string& expect) {
  return R"({"cluster": {"shape": "ring", "ranks": 8, "link": {"bandwidth": "25GB/s"}},
    "collective": {"op": "all-reduce", "size": "1KiB"},
    "sweep": {"collective.size": ["1KiB", "1MiB"],
              "collective.algorithm": ["ring", "double-tree", "halving-doubling"]},
    "expect": [)" +
         expect + "]}";
}

std::string word_mistake(const std::string& expect) {
  const Study study(algorithms_scenario(expect));
  const auto mistakes = study.diagnostics.sorted();
  if (mistakes.size() != 1) return study.mistakes();
  return mistakes[0].message + " | " + mistakes[0].suggestion + " | " + mistakes[0].hint;
}

TEST(ReadingExpectations, TellsWordsFromNumbers) {
  const std::string values = "the values are ring, double-tree, halving-doubling";
  EXPECT_EQ(word_mistake(R"j({"metric": "argmin(time, algorithm)", "equals": "rign"})j"),
            R"j("rign" is not one of the values of "argmin(time, algorithm)" | ring | )j" + values);
  EXPECT_EQ(
      word_mistake(R"j({"metric": "argmin(time, algorithm)", "at_least": "ring"})j"),
      R"j("argmin(time, algorithm)" is a word, and words have no order |  | use "equals" with )j"
      "a word; " +
          values);
  expect_text(
      word_mistake(R"({"metric": "argmin(time, algorithm) + 1", "equals": 1})"),
      R"j("argmin(time, algorithm)" is a word, not a number |  | words can only be compared, )j"
      R"(with "equals" and the word)");
  expect_text(
      word_mistake(R"j({"metric": "K", "equals": "argmin(time, algorithm)"})j"),
      R"j("argmin(time, algorithm)" is a word, not a number |  | write it as the metric, and )j"
      R"(the word as "equals")");
  expect_text(
      word_mistake(R"j({"metric": "argmin(time, algorithm)", "equals": "ring", "within": "1%"})j"),
      "words are equal or not, so \"within\" has no meaning |  | ");
  expect_text(word_mistake(R"j({"metric": "at(time, algorithm, rnig)", "equals": "1s"})j"),
              R"(the sweep of collective.algorithm has no "rnig" | ring | its values: ring, )"
              "double-tree, halving-doubling");
  expect_text(word_mistake(R"j({"metric": "at(time, N, 2MiB)", "equals": "1s"})j"),
              R"(the sweep of collective.size has no "2MiB" |  | its values: 1KiB, 1MiB)");
}

TEST(ReadingExpectations, AsksWhichPathWhenANameFitsSeveral) {
  const Study study(R"j({"cluster": {"shape": "chain"}, "collective": {"op": "broadcast"},
    "sweep": {"cluster.links_override.0.bandwidth": ["1GB/s"],
              "cluster.links_override.1.bandwidth": ["1GB/s"]},
    "expect": [{"metric": "argmin(time, bandwidth)", "equals": "1GB/s"}]
})j");
  const auto mistakes = study.diagnostics.sorted();
  ASSERT_EQ(mistakes.size(), 1U);
  expect_text(mistakes[0].message, "\"bandwidth\" could be several swept paths");
  EXPECT_EQ(mistakes[0].hint,
            "write cluster.links_override.0.bandwidth, cluster.links_override.1.bandwidth");
}

}  // namespace
}  // namespace collsim::test
