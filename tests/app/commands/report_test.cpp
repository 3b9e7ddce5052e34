// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "tests/app/commands/report_page.hpp"
#include "tests/app/commands/running.hpp"
#include "tests/contains.hpp"

namespace collsim {
namespace {

// The rows whose timelines are drawn.
std::vector<int> drawn_rows(const nlohmann::json& results) {
  std::vector<int> rows;
  for (const nlohmann::json& one : results.at("cases"))
    if (one.contains("steps")) rows.push_back(one.at("row"));
  return rows;
}

// "1,2,3"
std::vector<double> column_of(const nlohmann::json& steps, const std::string& name) {
  std::istringstream text(steps.at(name).get<std::string>());
  std::vector<double> numbers;
  for (std::string cell; std::getline(text, cell, ',');) numbers.push_back(std::stod(cell));
  return numbers;
}

std::string scenario(const std::string& title) {
  return R"({"scenario": 1, "name": "curve", "title": ")" + title + R"(",
    "cluster": {"shape": "chain", "ranks": 4, "link": {"bandwidth": "1GB/s", "overhead": "1us"}},
    "collective": {"op": "broadcast", "algorithm": "chain", "size": "1MiB"},
    "sweep": {"collective.chunks": [1, 4, 16]}})";
}

class Report : public ::testing::Test {
 protected:
  void write_results(const std::string& title) {
    const std::string file = folder_.write("curve.json", scenario(title));
    ASSERT_EQ(run_collsim({"run", file, "--quiet", "-o", results_, "-o", run_page_}).code, 0);
  }
  // The file of results.
  std::string results_of(const std::string& name, const std::string& scenario) {
    const std::string file = folder_.path("results-" + name);
    const Ran ran = run_collsim({"run", folder_.write(name, scenario), "--quiet", "-o", file});
    EXPECT_EQ(ran.code, 0) << ran.err;
    return file;
  }
  Ran report(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "report");
    return run_collsim(arguments);
  }

  Folder folder_;
  const std::string results_ = folder_.path("results.json");
  const std::string page_ = folder_.path("report.html");
  const std::string run_page_ = folder_.path("run.html");
};

TEST_F(Report, IsTheSamePageAsRunWritesAndTheSameBytesEachTime) {
  write_results("A curve");
  const Ran ran = report({results_, "-o", page_});
  EXPECT_EQ(ran.code, 0) << ran.err;
  expect_contains(ran.err, "open it in a browser");
  const std::string first = folder_.read("report.html");
  expect_contains(first, "\"title\":\"A curve\"");
  EXPECT_EQ(first, folder_.read("run.html"));
  EXPECT_EQ(report({results_, "--quiet"}).out, first);
}

TEST_F(Report, NothingThatComesWithTheDataIsAnElement) {
  write_results("</script><img src=x onerror=alert(1)><!--<script>");
  ASSERT_EQ(report({results_, "-o", page_}).code, 0);
  const std::string page = folder_.read("report.html");
  const std::string data = data_text(page);
  EXPECT_TRUE(data.ends_with("}")) << data.substr(data.size() - 40);
  expect_contains(data, "\\u003c/script>\\u003cimg src=x");
  expect_lacks(data, "<");
}

TEST_F(Report, AtDrawsThatRow) {
  write_results("A curve");
  ASSERT_EQ(report({results_, "-o", page_, "--at", "chunks=16"}).code, 0);
  EXPECT_EQ(drawn_rows(data_of(folder_.read("report.html")).at(0)), std::vector{2});
  const Ran ran = report({results_, "-o", page_, "--at", "chunks=3"});
  EXPECT_EQ(ran.code, 2);
  expect_contains(ran.err, "it takes 1, 4, 16");
}

TEST_F(Report, AtDrawsThatRowOfEveryFileThatHasIt) {
  const std::string one = results_of("one.json", scenario("One"));
  std::string text = scenario("Other");
  const std::string chunks = "[1, 4, 16]";
  const std::string other =
      results_of("other.json", text.replace(text.find(chunks), chunks.size(), "[2, 4, 8, 16, 32]"));
  const auto rows = [&](const std::string& at) {
    const Ran ran = report({one, other, "--at", at});
    EXPECT_EQ(ran.code, 0) << ran.err;
    const nlohmann::json results = data_of(ran.out);
    return std::vector{drawn_rows(results.at(0)), drawn_rows(results.at(1))};
  };
  const std::vector<int> unasked = drawn_rows(data_of(report({one}).out).at(0));
  EXPECT_EQ(rows("chunks=4"), (std::vector<std::vector<int>>{{1}, {1}}));
  EXPECT_EQ(rows("chunks=8"), (std::vector<std::vector<int>>{unasked, {2}}));
  EXPECT_EQ(report({one, other, "--at", "chunks=3"}).code, 2);
}

TEST_F(Report, TellsOfEveryFileInWhichAtFitsSeveralRows) {
  std::string text = scenario("Two sizes");
  const std::string sweep = "\"sweep\": {";
  text.insert(text.find(sweep) + sweep.size(), R"("collective.size": ["1MiB", "2MiB"], )");
  const std::string several = results_of("several.json", text);
  const std::string single = results_of("single.json", scenario("One size"));
  for (const std::vector<std::string>& files : {std::vector{several, single}, {single, several}}) {
    const Ran ran = report({files[0], files[1], "--at", "chunks=4", "-o", page_});
    EXPECT_EQ(ran.code, 0);
    expect_contains(ran.err,
                    "this is the first of several points of the sweep: collective.size = 1MiB");
  }
}

TEST_F(Report, HasTheFormulaBetweenTheRows) {
  write_results("A curve");
  const nlohmann::json curves = data_of(report({results_}).out).at(0).at("formula_curves");
  ASSERT_EQ(curves.size(), 1U);
  const nlohmann::json& curve = curves.at(0);
  EXPECT_EQ(curve.at("rows"), nlohmann::json({0, 1, 2}));
  const auto chunks = curve.at("chunks").get<std::vector<int>>();
  ASSERT_EQ(chunks.size(), 16U);  // every whole number from 1 to 16
  const double alpha = 1e-6, wire = 1048576 / 1e9;
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    const double chunk_count = chunks[i], steps = chunk_count + 2;  // of 4 ranks
    EXPECT_NEAR(curve.at("time_s").at(i), steps * (alpha + wire / chunk_count), 1e-12);
    EXPECT_NEAR(curve.at("wire_s").at(i), steps * wire / chunk_count, 1e-12);
    EXPECT_NEAR(curve.at("startup_s").at(i), steps * alpha, 1e-12);
  }
  EXPECT_EQ(curve.at("alpha_s"), alpha);
  EXPECT_EQ(curve.at("bytes_per_s"), 1e9);
}

TEST_F(Report, HasNoFormulaWhereNoneIsKnown) {
  std::string text = scenario("Slots");
  const std::string size = "\"size\": \"1MiB\"";
  text.replace(text.find(size), size.size(), size + ", \"slots\": 1");
  const nlohmann::json results = data_of(report({results_of("slots.json", text)}).out).at(0);
  EXPECT_TRUE(results.at("formula_curves").empty());
}

TEST_F(Report, SaysWhatLinksCarryWhereAllRowsAgree) {
  write_results("A curve");
  const nlohmann::json one = {{"name", "gpu to gpu"}, {"bytes_per_s", 1000000000}};
  EXPECT_EQ(data_of(report({results_}).out).at(0).at("link_rates"), nlohmann::json::array({one}));
  std::string text = scenario("Two rates");
  const std::string sweep = "\"sweep\": {";
  text.insert(text.find(sweep) + sweep.size(), R"("cluster.link.bandwidth": ["1GB/s", "2GB/s"], )");
  const nlohmann::json two = data_of(report({results_of("two.json", text)}).out).at(0);
  EXPECT_TRUE(two.at("link_rates").empty());
}

std::vector<int> rows_taken_apart(const nlohmann::json& results) {
  std::vector<int> rows;
  for (const nlohmann::json& one : results.at("cases")) rows.push_back(one.at("row"));
  return rows;
}

TEST_F(Report, TakesApartTheTimeOfAllRowsWhenTheyAreFew) {
  write_results("A curve");
  EXPECT_EQ(rows_taken_apart(data_of(report({results_}).out).at(0)), (std::vector{0, 1, 2}));
}

TEST_F(Report, OfManyRowsItTakesApartTheLargestAndTheFastestOfTheOthers) {
  const std::string file = results_of("many.json", R"({"scenario": 1, "name": "many",
    "cluster": {"shape": "switch", "ranks": 4, "link": {"bandwidth": "1GB/s", "overhead": "1us"}},
    "collective": {"op": "all-reduce", "algorithm": "ring", "size": "1MiB"},
    "sweep": {"collective.size": ["1KiB", "4KiB", "16KiB", "64KiB", "256KiB", "1MiB", "4MiB", "16MiB"],
              "collective.algorithm": ["naive", "master", "ring", "recursive-doubling",
                                       "halving-doubling"]}})");
  const std::vector<int> rows = rows_taken_apart(data_of(report({file}).out).at(0));
  EXPECT_EQ(rows.size(), 24U);
  const nlohmann::json all = nlohmann::json::parse(folder_.read("results-many.json")).at("rows");
  ASSERT_EQ(all.size(), 40U);
  const auto has = [&](int row) { return std::find(rows.begin(), rows.end(), row) != rows.end(); };
  for (int row = 35; row < 40; ++row) EXPECT_TRUE(has(row)) << row;
  for (int size = 0; size < 8; ++size) {
    int fastest = 5 * size, slowest = fastest;
    for (int row = 5 * size; row < 5 * size + 5; ++row) {
      if (all[row]["time_s"] < all[fastest]["time_s"]) fastest = row;
      if (all[row]["time_s"] > all[slowest]["time_s"]) slowest = row;
    }
    EXPECT_TRUE(has(fastest) && has(slowest)) << size;
  }
}

TEST_F(Report, IsAPageWhateverTheNameSays) {
  write_results("A curve");
  const Ran pdf = report({results_, "-o", folder_.path("curve.pdf")});
  EXPECT_EQ(pdf.code, 2);
  expect_contains(pdf.err, "curve.html; to get a PDF, open it there and print it");
  EXPECT_FALSE(std::filesystem::exists(folder_.path("curve.pdf")));
  expect_contains(report({results_, "-o", folder_.path("curve")}).err, "curve.html");
  EXPECT_EQ(report({results_, "-o", folder_.path("curve.htm")}).code, 0);
  EXPECT_EQ(report({results_, "-o", folder_.path("CURVE.HTML")}).code, 0);
  expect_contains(report({results_, "-o", folder_.path("a.b/.curve")}).err, "a.b/.curve.html");
}

TEST_F(Report, ThatGoesToNoFileOnDiskNeedsNoSuffix) {
  write_results("A curve");
  EXPECT_EQ(report({results_, "-o", "/dev/null"}).code, 0);
  // Standard output is often such a file: here the suffix of what is open does not count.
  const std::string file = folder_.write("open", "");
  const int descriptor = ::open(file.c_str(), O_WRONLY | O_CLOEXEC);
  ASSERT_GE(descriptor, 0);
  const Ran ran = report({results_, "-o", "/dev/fd/" + std::to_string(descriptor)});
  ::close(descriptor);
  EXPECT_EQ(ran.code, 0) << ran.err;
  expect_contains(folder_.read("open"), "id=\"data\"");
}

TEST_F(Report, WithoutAFileNameSaysSo) {
  write_results("A curve");
  const Ran unnamed = report({results_, "-o", ""});
  EXPECT_EQ(unnamed.code, 2);
  expect_contains(unnamed.err, "-o needs a file name, such as -o report.html");
  const Ran folder = report({results_, "-o", folder_.path("")});
  EXPECT_EQ(folder.code, 2);
  expect_contains(folder.err, " is a folder: -o " + folder_.path("report.html"));
}

TEST_F(Report, OpensNoFileThatResultsName) {
  write_results("A curve");
  std::string text = folder_.read("results.json");
  const std::string machine = folder_.write(
      "machine.json",
      R"({"model": {"calibration": {"rates": [{"working_set": "1MiB", "copy_bandwidth": "1GB/s"}]}}})");
  const std::string model = "\"model\": {";
  expect_contains(text, model);
  text.insert(text.find(model) + model.size(), "\"calibration\": \"" + machine + "\",");
  const Ran ran = report({folder_.write("changed.json", text)});
  EXPECT_EQ(ran.code, 0) << ran.err;
  const nlohmann::json results = data_of(ran.out).at(0);
  EXPECT_FALSE(results.contains("cases"));
  expect_contains(results.at("why_no_picture").get<std::string>(), "is a file name");
}

// Whichever ranks take part, in whatever order: piece by place in the group.
TEST_F(Report, PiecesAreThoseOfTheGroup) {
  const auto pieces = [&](const std::string& collective, const std::vector<int>& group) {
    const std::string file =
        results_of("group.json", R"({"scenario": 1, "cluster": {"shape": "switch", "ranks": 16,
          "link": {"bandwidth": "1GB/s", "overhead": "1us"}}, "collective": {"size": "1KiB",
          "ranks": )" + nlohmann::json(group).dump() +
                                     "," + collective + "}}");
    const nlohmann::json results = data_of(report({file}).out).at(0);
    const nlohmann::json& steps = results.at("cases").at(0).at("steps");
    const std::vector<double> rank = column_of(steps, "rank"), index = column_of(steps, "index"),
                              piece = column_of(steps, "piece");
    std::map<std::pair<std::ptrdiff_t, double>, double> found;
    for (std::size_t i = 0; i < rank.size(); ++i)
      found[{std::find(group.begin(), group.end(), rank[i]) - group.begin(), index[i]}] = piece[i];
    return found;
  };
  for (const char* collective :
       {R"("op": "all-gather", "algorithm": "ring")", R"("op": "gather", "algorithm": "binomial")",
        R"("op": "all-to-all", "algorithm": "bruck")"}) {
    const auto usual = pieces(collective, {0, 1, 2, 3});
    EXPECT_EQ(pieces(collective, {10, 11, 12, 13}), usual) << collective;
    EXPECT_EQ(pieces(collective, {0, 2, 1, 3}), usual) << collective;
  }
}

TEST_F(Report, SaysWhetherMessagesHoldSeveralPieces) {
  const auto mixed = [&](const std::string& algorithm) {
    std::string text = R"({"scenario": 1, "cluster": {"shape": "switch", "ranks": 4,
        "link": {"bandwidth": "1GB/s"}}, "collective": {"op": "all-to-all", "size": "1KiB",
        "algorithm": ")" +
                       algorithm + "\"}}";
    const nlohmann::json results = data_of(report({results_of("mixed.json", text)}).out).at(0);
    const std::vector<double> column = column_of(results.at("cases").at(0).at("steps"), "mixed");
    return std::count(column.begin(), column.end(), 1);
  };
  EXPECT_EQ(mixed("bruck"), 4 * 2);  // ranks, rounds
  EXPECT_EQ(mixed("pairwise"), 0);
}

TEST_F(Report, EveryColumnOfStepsIsRead) {
  write_results("A curve");
  const nlohmann::json cases = data_of(report({results_}).out).at(0).at("cases");
  std::string scripts;
  for (const char* part : {"common", "report"})
    for (const auto& entry : std::filesystem::directory_iterator(
             std::filesystem::path(COLLSIM_SOURCE_DIR) / "plots" / part)) {
      std::ifstream file(entry.path());
      scripts.append(std::istreambuf_iterator<char>(file), {});
    }
  for (const auto& [name, column] : cases.at(0).at("steps").items())
    EXPECT_TRUE(std::regex_search(scripts, std::regex("(steps|stored)[.]" + name))) << name;
}

TEST_F(Report, MessagesAreDrawnOnEachLinkOfTheirWay) {
  // 1000 bytes over two exclusive links of 1 us and 2 us, then over fair ones.
  const auto steps_on = [&](const std::string& sharing) {
    const std::string file = results_of(
        "links.json",
        R"({"scenario": 1, "cluster": {"devices": [{"id": "gpu", "kind": "gpu", "count": 2},
            {"id": "sw", "kind": "switch"}], "links": [
            {"from": "gpu0", "to": "sw", "bandwidth": "1GB/s", "overhead": "3us", "sharing": ")" +
            sharing + R"("},
            {"from": "sw", "to": "gpu1", "bandwidth": "0.5GB/s", "overhead": "2us", "sharing": ")" +
            sharing + R"("}]},
            "collective": {"op": "broadcast", "algorithm": "chain", "size": "1000B"}})");
    return data_of(report({file}).out).at(0).at("cases").at(0).at("steps");
  };
  const nlohmann::json exclusive = steps_on("exclusive");
  EXPECT_EQ(column_of(exclusive, "crossingBegun"), (std::vector<double>{0, 0}));
  EXPECT_EQ(column_of(exclusive, "crossingEnded"), (std::vector<double>{4e6, 4e6}));
  const nlohmann::json fair = steps_on("fair");
  EXPECT_EQ(column_of(fair, "crossingBegun"), (std::vector<double>{3e6, 3e6}));
  EXPECT_EQ(column_of(fair, "crossingEnded"), (std::vector<double>{5e6, 5e6}));
  EXPECT_EQ(column_of(fair, "linkStartup"), (std::vector<double>(4, 0)));  // before it departs
}

TEST_F(Report, AScenarioThatIsNotUnderstoodCostsThePicturesOnly) {
  write_results("A curve");
  std::string text = folder_.read("results.json");
  const std::string shape = "\"shape\": \"chain\"";
  text.replace(text.find(shape), shape.size(), "\"shape\": \"chian\"");
  const Ran ran = report({folder_.write("changed.json", text)});
  EXPECT_EQ(ran.code, 0);
  expect_contains(ran.out, "unknown shape \\\"chian\\\"");
  expect_lacks(ran.out, "\"cases\"");
  EXPECT_EQ(report({folder_.path("changed.json"), "--at", "chunks=1"}).code, 2);
}

TEST_F(Report, ARowIsNotDrawnAsSomethingElse) {
  write_results("A curve");
  std::string text = folder_.read("results.json");
  const std::string key = "\"fingerprint\": \"";
  const std::size_t digit = text.find(key) + key.size();
  text[digit] = text[digit] == '0' ? '1' : '0';
  const Ran ran = report({folder_.write("changed.json", text)});
  EXPECT_EQ(ran.code, 0);
  expect_contains(ran.out, "a row gives a different timeline");
  expect_lacks(ran.out, "\"cases\"");
}

TEST_F(Report, Mistakes) {
  write_results("A curve");
  EXPECT_EQ(report({folder_.path("nothing.json"), "-o", page_}).code, 2);
  EXPECT_EQ(report({folder_.path("curve.json"), "-o", page_}).code, 2);  // a scenario
  EXPECT_EQ(report({results_, "-o", results_}).code, 2);
  EXPECT_EQ(report({results_, "-o", folder_.path("no/report.html")}).code, 2);
  const Ran ran = report({folder_.path("curve.json")});
  expect_contains(ran.err, "this is a scenario, not results of collsim");
  EXPECT_EQ(ran.out, "");
}

}  // namespace
}  // namespace collsim
