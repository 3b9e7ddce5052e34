// SPDX-License-Identifier: Apache-2.0
#include "app/report/results_file.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/app/commands/running.hpp"
#include "tests/contains.hpp"

namespace collsim {
namespace {

const std::string curve_scenario = R"({"scenario": 1, "name": "curve",
  "cluster": {"shape": "chain", "ranks": 4, "link": {"bandwidth": "1GB/s", "overhead": "1us"}},
  "collective": {"op": "broadcast", "algorithm": "chain", "size": "1MiB"},
  "sweep": {"collective.chunks": [1, 4, 16]}})";

// What `run` wrote, with one piece of text replaced.
class ResultsFile : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::string file = folder_.write("curve.json", curve_scenario);
    ASSERT_EQ(run_collsim({"run", file, "--quiet", "-o", folder_.path("results.json")}).code, 0);
    text_ = folder_.read("results.json");
  }

  std::vector<StoredResults> read(const std::string& text) {
    Sources sources;
    Diagnostics diagnostics;
    std::vector<StoredResults> all =
        read_results(folder_.write("read.json", text), sources, diagnostics);
    EXPECT_EQ(all.empty(), !diagnostics.empty());
    message_ = to_text(diagnostics, sources);
    return all;
  }

  std::string replaced(const std::string& piece, const std::string& by) const {
    std::string text = text_;
    // The scenario, which comes first, has keys of the same names as rows.
    const std::size_t in_rows = text.find(piece, text.find("\"rows\": ["));
    const std::size_t at = in_rows != std::string::npos ? in_rows : text.find(piece);
    EXPECT_NE(at, std::string::npos) << piece;
    return text.replace(at, piece.size(), by);
  }

  void expect_mistake(const std::string& piece, const std::string& by, const std::string& message) {
    EXPECT_TRUE(read(replaced(piece, by)).empty());
    expect_contains(message_, message);
    expect_contains(message_, "read.json:");
  }

  Folder folder_;
  std::string text_, message_;
};

TEST_F(ResultsFile, WhatRunWroteIsRead) {
  const std::vector<StoredResults> all = read(text_);
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].document.find("rows")->items().size(), 3U);
  EXPECT_EQ(all[0].left_out, 0U);
}

TEST_F(ResultsFile, SeveralScenariosInOneFile) {
  EXPECT_EQ(read("[" + text_ + "," + text_ + "]").size(), 2U);
  EXPECT_TRUE(read("[" + text_ + R"(,{"errors": []}])").empty());
  expect_contains(message_, "at /1");
}

TEST_F(ResultsFile, MistakesAreNamedWithTheirPlace) {
  expect_mistake("\"format\": 1", "\"format\": 2", "results in format 1 only");
  expect_mistake("\"format\": 1,", "", "have no format version");
  expect_mistake("\"collsim\"", "\"colsim\"", "these are not results of collsim");
  expect_mistake("\"description\"", "\"descriptoin\"", "\"description\" is missing");
  expect_mistake("\"time_s\"", "\"time\"", "\"time_s\" is missing at /rows/0");
  expect_mistake("\"chunks\": 1,", "\"chunks\": \"1\",", "not a string at /rows/0/chunks");
  expect_mistake("\"chunks\": 1,", "\"chunks\": 1.5,", "must be a whole number");
  expect_mistake("\"chunks\": 1,", "\"chunks\": -1,", "not below zero");
  expect_mistake("\"time_s\": ", "\"time_s\": NaN, \"x\": ", "NaN");
  expect_mistake("\"time_s\": ", "\"time_s\": 1e999, \"x\": ", "1e999");
  expect_mistake("\"time_s\": ", "\"time_s\": null, \"x\": ", "must be a number");
  expect_mistake("\"measured\": null", "\"measured\": {\"time_s\": 1}", "\"min_s\" is missing");
  expect_mistake("\"rows\": [", "\"rows\": [7,", "this must be an object");
  expect_mistake("\"params\": {", "\"params\": 3, \"x\": {", "must be an object");
}

TEST_F(ResultsFile, WhatIsNoResultsFileAtAll) {
  for (const char* text : {"", "[]", "null", "3", "{}", "[[]]", "{\"rows\": [", "\xff"})
    EXPECT_TRUE(read(text).empty()) << text;
}

TEST_F(ResultsFile, OfManyRowsTheFirstAreKeptAndTheOthersCounted) {
  const std::size_t begin = text_.find("{", text_.find("\"rows\": ["));
  const std::size_t end = text_.find("\"params\"", begin + 20);
  const std::string row = text_.substr(begin, text_.rfind("{", end) - begin);
  std::string rows;
  for (std::size_t i = 0; i < most_stored_rows + 7; ++i) rows += row;
  std::string text = text_;
  const std::vector<StoredResults> all = read(text.insert(begin, rows));
  ASSERT_EQ(all.size(), 1U) << message_;
  EXPECT_EQ(all[0].document.find("rows")->items().size(), most_stored_rows);
  EXPECT_EQ(all[0].left_out, 10U);  // and the three that were there
  EXPECT_TRUE(all[0].document.find("warnings")->is_array());
}

}  // namespace
}  // namespace collsim
