// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <utility>

#include "tests/app/output/testing.hpp"
#include "tests/contains.hpp"
#include "tests/golden.hpp"

namespace collsim::testing {
namespace {

using nlohmann::json;

TEST(ResultsFile, HasTheKeysOfTheContract) {
  Results results = lecture_results({16});
  results.expect = {{.id = "pipelined", .ok = true, .checked = 14, .failed = 0, .worst = 0.5}};
  results.warnings = {{"small-chunks", "too small", {}}};
  results.scenario.set("scenario", 1);
  const json file = json::parse(written(results, Format::json));
  EXPECT_EQ(file["collsim"], "0.1.0");
  EXPECT_EQ(file["format"], 1);
  EXPECT_EQ(file["name"], "ring-broadcast");
  EXPECT_EQ(file["complete"], true);
  EXPECT_EQ(file["points"], 1);
  EXPECT_EQ(file["scenario"]["scenario"], 1);
  EXPECT_EQ(file["expect"],
            json::parse(R"([{"id":"pipelined","ok":true,"checked":14,"failed":0,"worst":0.5}])"));
  EXPECT_EQ(file["warnings"], json::parse(R"([{"code":"small-chunks","message":"too small"}])"));

  const json& row = file["rows"].at(0);
  const CaseResult& source = results.rows[0];
  EXPECT_EQ(row["params"], json::parse(R"({"collective.chunks":16})"));
  EXPECT_EQ(row["op"], "broadcast");
  EXPECT_EQ(row["algorithm"], "chain");
  EXPECT_EQ(row["ranks"], 8);
  EXPECT_EQ(row["size_bytes"], 67108864);
  EXPECT_EQ(row["chunks"], 16);
  EXPECT_EQ(row["channels"], 1);
  EXPECT_EQ(row["time_s"].get<double>(), source.time_s());
  EXPECT_EQ(row["analytic_s"].get<double>(), source.analytic->seconds);
  EXPECT_EQ(row["bound_s"].get<double>(), source.bound.seconds());
  EXPECT_EQ(row["algbw_bytes_per_s"].get<double>(), source.algbw());
  EXPECT_EQ(row["busbw_bytes_per_s"].get<double>(), source.busbw());
  EXPECT_EQ(row["messages"], 112);
  EXPECT_EQ(row["wire_bytes"], 7 * 67108864);
  EXPECT_EQ(row["engine"], to_string(source.engine));
  EXPECT_EQ(row["fingerprint"].get<std::string>().size(), 16U);
  EXPECT_EQ(std::stoull(row["fingerprint"].get<std::string>(), nullptr, 16), source.fingerprint);
  EXPECT_TRUE(row["measured"].is_null());
  EXPECT_EQ(row["formula"], source.analytic->formula);
}

TEST(ResultsFile, NoFormulaIsNull) {
  Results results = lecture_results({16});
  results.rows[0].analytic.reset();
  const json row = json::parse(written(results, Format::json))["rows"].at(0);
  for (const char* const key : {"analytic_s", "formula", "formula_exact", "best_chunks"})
    EXPECT_TRUE(row.at(key).is_null()) << key;
}

TEST(ResultsFile, KeepsTheSmallestFingerprintAtSixteenDigits) {
  Results results = lecture_results({16});
  results.rows[0].fingerprint = 0xab;
  EXPECT_EQ(json::parse(written(results, Format::json))["rows"].at(0)["fingerprint"],
            "00000000000000ab");
}

TEST(ResultsFile, LinesAreTheRowsOfTheFile) {
  const Results results = lecture_results();
  const json rows = json::parse(written(results, Format::json))["rows"];
  std::istringstream lines(written(results, Format::jsonl));
  std::string line;
  std::size_t number = 0;
  while (std::getline(lines, line)) EXPECT_EQ(json::parse(line), rows.at(number++));
  EXPECT_EQ(number, results.rows.size());
}

TEST(ResultsFile, EndsWithANewlineInEveryFormat) {
  for (const Format format : {Format::table, Format::json, Format::jsonl, Format::csv,
                              Format::markdown, Format::nccl_tests}) {
    const std::string text = written(lecture_results({1}), format);
    EXPECT_EQ(text.back(), '\n') << to_string(format);
    EXPECT_NE(text.substr(text.size() - 2), "\n\n") << to_string(format);
  }
}

// Reads CSV as RFC 4180 says.
std::vector<std::vector<std::string>> csv_of(const std::string& text) {
  std::vector<std::vector<std::string>> table(1);
  std::string field;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"' && quoted && i + 1 < text.size() && text[i + 1] == '"') {
      field += text[++i];
    } else if (c == '"') {
      quoted = !quoted;
    } else if (!quoted && (c == ',' || c == '\n')) {
      table.back().push_back(std::exchange(field, {}));
      if (c == '\n') table.emplace_back();
    } else {
      field += c;
    }
  }
  table.pop_back();
  return table;
}

TEST(Csv, HasParametersFirstAndAHeaderWithUnits) {
  const auto table = csv_of(written(lecture_results({1, 16}), Format::csv));
  ASSERT_EQ(table.size(), 3U);
  EXPECT_EQ(table[0][0], "collective.chunks");
  EXPECT_EQ(table[0][1], "op");
  EXPECT_EQ(table[2][0], "16");
  EXPECT_EQ(table[2][1], "broadcast");
  EXPECT_EQ(std::set<std::size_t>({table[0].size(), table[1].size(), table[2].size()}).size(), 1U);
  EXPECT_NE(std::find(table[0].begin(), table[0].end(), "busbw_bytes_per_s"), table[0].end());
}

TEST(Csv, NumbersReadBackAsTheSame) {
  const Results results = lecture_results({16});
  const auto table = csv_of(written(results, Format::csv));
  const auto column = std::find(table[0].begin(), table[0].end(), "time_s") - table[0].begin();
  EXPECT_EQ(std::stod(table[1][static_cast<std::size_t>(column)]), results.rows[0].time_s());
}

TEST(Csv, QuotesWhatNeedsIt) {
  Results results = lecture_results({1});
  results.rows[0].params = {{"zip: a, b", JsonValue("say \"x\",\ny")}};
  const std::string text = written(results, Format::csv);
  EXPECT_EQ(text.substr(0, 12), "\"zip: a, b\",");
  expect_contains(text, "\n\"say \"\"x\"\",\ny\",broadcast,");
  EXPECT_EQ(csv_of(text)[1][0], "say \"x\",\ny");
}

TEST(Csv, RowsHaveAllColumnsWhateverTheFirstLacks) {
  Results results = lecture_results({1, 2});
  results.rows[1].bottleneck_bandwidth = 4e9;
  results.rows[0].analytic.reset();
  const auto table = csv_of(written(results, Format::csv));
  EXPECT_EQ(table[0].size(), table[1].size());
  EXPECT_EQ(table[0].size(), table[2].size());
}

// What binds differs by row, and with the algorithm whether NCCL has it.
TEST(Csv, WhatOnlyLaterRowsHaveHasAColumnToo) {
  Results results = lecture_results({1, 2});
  const auto column_of = [](const auto& table, const std::string& name) {
    return std::find(table[0].begin(), table[0].end(), name) - table[0].begin();
  };
  results.rows[0].bound_cut.clear();
  results.rows[1].bound_cut = "that, there";
  for (CaseResult& row : results.rows) row.params = {{"collective.algorithm", JsonValue("auto")}};
  results.rows[1].calibrated = true;
  results.rows[1].error_class = ErrorClass{.machines = "InfiniBand"};
  const auto table = csv_of(written(results, Format::csv));
  for (const auto& row : table) EXPECT_EQ(row.size(), table[0].size());
  const auto cut = static_cast<std::size_t>(column_of(table, "bound_cut"));
  ASSERT_LT(cut, table[0].size());
  EXPECT_EQ(table[1][cut], "");
  EXPECT_EQ(table[2][cut], "that, there");
  const auto calibrated = static_cast<std::size_t>(column_of(table, "calibrated"));
  EXPECT_EQ(table[1][calibrated], "");
  EXPECT_EQ(table[2][calibrated], "true");
  EXPECT_EQ(column_of(table, "error_class"), std::ssize(table[0])) << "an object";
  const auto time = static_cast<std::size_t>(column_of(table, "time_s"));
  EXPECT_EQ(std::stod(table[2][time]), results.rows[1].time_s());
}

TEST(Csv, WhatNoRowCanHaveIsNoColumn) {
  const auto columns_of = [](const Results& results) {
    const std::vector<std::string> header = csv_of(written(results, Format::csv))[0];
    return std::set<std::string>(header.begin(), header.end());
  };
  Results results = lecture_results({1, 2});
  for (const char* none : {"reduction", "measured", "bottleneck_bandwidth_bytes_per_s", "search",
                           "nccl_algorithm", "error_class"})
    EXPECT_EQ(columns_of(results).count(none), 0U) << none;
  results.rows[0].analytic.reset();
  EXPECT_EQ(columns_of(results).count("analytic_s"), 1U) << "the second row has it";
  const auto sweeping = [&](const char* path, const char* value) {
    Results swept = lecture_results({1, 2});
    for (CaseResult& row : swept.rows) row.params = {{path, JsonValue(value)}};
    return columns_of(swept);
  };
  EXPECT_EQ(sweeping("collective.op", "broadcast").count("reduction"), 1U);
  EXPECT_EQ(sweeping("collective.algorithm", "ring").count("search"), 0U);
  EXPECT_EQ(sweeping("collective.algorithm", "auto").count("search"), 1U);
  EXPECT_EQ(sweeping("collective.algorithm", "nccl").count("host_s"), 1U);
  EXPECT_EQ(sweeping("collective.x", "").count("collective.x"), 1U) << "it was asked for";
  Results one = lecture_results({1});
  one.rows[0].params.clear();
  one.rows[0].analytic.reset();
  EXPECT_EQ(columns_of(one).count("analytic_s"), 0U);
}

TEST(Formats, AreKnownByNameAndBySuffix) {
  for (const Format format : {Format::table, Format::json, Format::jsonl, Format::csv,
                              Format::markdown, Format::nccl_tests})
    EXPECT_EQ(parse_format(to_string(format)), format);
  EXPECT_EQ(parse_format("xml"), std::nullopt);
  EXPECT_EQ(format_of_suffix("a.csv"), Format::csv);
  EXPECT_EQ(format_of_suffix("a.json"), Format::json);
  EXPECT_EQ(format_of_suffix("a.jsonl"), Format::jsonl);
  EXPECT_EQ(format_of_suffix("a/b.md"), Format::markdown);
  EXPECT_EQ(format_of_suffix("a.txt"), Format::table);
  EXPECT_EQ(format_of_suffix("csv"), std::nullopt);
  EXPECT_EQ(format_of_suffix(""), std::nullopt);
}

TEST(Markdown, IsATableWithTheSameCells) {
  Results results = lecture_results({1, 16});
  results.title = "A *lecture*";
  results.description = "";
  expect_text(written(results, Format::markdown),
              "**A \\*lecture\\***\n"
              "\n"
              "| chunks | time | formula | x bound | algbw | |\n"
              "|---:|---:|---:|---:|---:|---|\n"
              "| 1 | 18.825 ms | 18.825 ms | 7.00 | 3.565 GB/s | |\n"
              "| 16 | 3.801 ms | 3.801 ms | 1.41 | 17.656 GB/s | <- best of these |\n");
}

}  // namespace
}  // namespace collsim::testing
