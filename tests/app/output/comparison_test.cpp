// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "app/output/comparison_table.hpp"
#include "tests/app/output/testing.hpp"
#include "tests/app/study/measuring.hpp"
#include "tests/contains.hpp"
#include "tests/golden.hpp"

namespace collsim::testing {
namespace {

using nlohmann::json;

// The lecture's sweep, measured so many times slower than predicted; 0: not measured.
Results measured_results(const std::vector<double>& factors) {
  Results results = lecture_results({1, 16, 57, 4096});
  Comparison& how = results.comparison.emplace();
  how.backend = "host";
  how.paced = true;
  how.iterations = 5;
  for (std::size_t i = 0; i < results.rows.size(); ++i) {
    CaseResult& row = results.rows[i];
    if (factors[i] > 0)
      row.measured = measured_with(factors[i] * row.time_s());
    else
      row.not_measured = NoMeasurement{NoMeasurement::Why::stuck, "rank 3 waited for rank 2"};
  }
  return results;
}

TEST(ComparisonTable, PutsMeasuredBesidePredicted) {
  Results results = measured_results({1.004, 1.25, 0.9, 1});
  results.comparison->max_error = 0.15;
  results.rows[3].measured = measured_with(0.02, 0.12);
  expect_text(
      written(results, Format::table),
      "chain broadcast of 64 MiB; chain of 8 ranks, 25 GB/s, 5 us per message\n"
      "measured on host, paced (links emulated), protocol simple: median of 5 runs\n"
      "\n"
      "  chunks    formula  predicted   measured  [min .. max]        error  data\n"
      "       1  18.825 ms  18.825 ms  18.901 ms  [18.806 .. 18.995]  -0.4%  right\n"
      "      16   3.801 ms   3.801 ms   4.751 ms  [4.727 .. 4.775]     -20%  right   beyond 15%\n"
      "      57   3.282 ms   3.282 ms   2.954 ms  [2.939 .. 2.968]     +11%  right\n"
      "    4096  23.198 ms  23.198 ms  20.000 ms  [18.800 .. 21.200]      -  right   too noisy: "
      "spread 12%\n"
      "\n"
      "best number of chunks by the formula: 56.8\n"
      "\n"
      "4 rows: median error 11%, worst 20%; 2 of 3 within 15%; 1 too noisy to judge\n"
      "device: 2 cores of a test\n");
}

TEST(ComparisonTable, SaysWhatWasNotMeasuredAndWhatWasWrong) {
  Results results = measured_results({0, 1, 1, 0});
  results.rows[1].measured = measured_with(0.0038, 0.01, DataVerdict::wrong);
  results.rows[2].measured->data = DataVerdict::unchecked;
  results.rows[2].measured->notes = {"2 ranks shared a GPU"};
  const auto lines = lines_of(written(results, Format::table));
  expect_text(lines[4],
              "       1  18.825 ms  18.825 ms         -  -                     -  -           not "
              "measured");
  expect_text(
      lines[5],
      "      16   3.801 ms   3.801 ms  3.800 ms  [3.781 .. 3.819]      -  WRONG       no verdict");
  expect_text(lines[6],
              "      57   3.282 ms   3.282 ms  3.282 ms  [3.266 .. 3.298]   0.0%  unchecked");
  const std::vector<std::string> below(lines.begin() + 11, lines.end());
  EXPECT_EQ(below, (std::vector<std::string>{
                       "4 rows: error 0.0%; 2 not measured; 1 with WRONG DATA",
                       "WRONG DATA at collective.chunks = 16: rank 1 element 5 is 3, not 4",
                       "not measured (2 of 4 rows): rank 3 waited for rank 2",
                       "device (2 of 4 rows): 2 cores of a test",
                       "note (1 of 4 rows): 2 ranks shared a GPU"}));
}

TEST(ComparisonTable, HasASentenceForEveryCase) {
  const auto sentence = [](const Results& results) {
    return comparison_lines(results).front().text;
  };
  expect_text(sentence(measured_results({0, 0, 0, 0})), "none of 4 rows could be measured");
  Results noisy = measured_results({1, 1, 1, 1});
  for (CaseResult& row : noisy.rows) row.measured->times.spread = 0.2;
  expect_text(sentence(noisy),
              "4 rows, all too noisy to judge: stop other programs or raise --iters");
  Results one = measured_results({1.25, 1, 1, 1});
  one.rows.resize(1);
  expect_text(sentence(one), "1 row: error 20%");
  one.comparison->max_error = 0.025;
  expect_text(sentence(one), "1 row: error 20%; 0 of 1 within 2.5%");
  Results mixed = measured_results({0, 1, 0, 1});
  for (CaseResult& row : mixed.rows)
    if (row.measured) row.measured->times.spread = 0.2;
  expect_text(sentence(mixed),
              "4 rows: no error can be given; 2 too noisy to judge; 2 not measured");
}

TEST(ComparisonTable, APercentileTakesManyRows) {
  Results results = measured_results({1.25, 1, 1, 1});
  results.comparison->of_averages = true;
  const auto sentence = [&] { return comparison_lines(results).front().text; };
  expect_text(sentence(), "4 rows: median error 0.0%, worst 20%");
  while (results.rows.size() < 20) results.rows.push_back(results.rows.back());
  expect_text(sentence(), "20 rows: median error 0.0%, 95% of the rows within 0.0%, worst 20%");
}

TEST(ComparisonTable, NotesOfManyKindsAreCutShort) {
  Results results = measured_results({1, 1, 1, 1});
  for (int i = 0; i < 12; ++i)
    results.rows[0].measured->notes.push_back("note " + std::to_string(i));
  const auto lines = comparison_lines(results);
  ASSERT_EQ(lines.size(), 2U + 9U);
  expect_text(lines.back().text, "note: and 4 more");
}

TEST(ComparisonTable, WhatComesFromElsewhereCannotControlTheTerminal) {
  Results results = measured_results({1, 0, 1, 1});
  results.comparison->file = "\x1b.json";
  results.rows[0].measured = measured_with(1, 0.01, DataVerdict::wrong);
  results.rows[0].measured->wrong_data = "\x1b";
  results.rows[0].measured->device = "\x1b";
  results.rows[0].measured->notes = {"\x1b[2J"};
  results.rows[1].not_measured->reason = "\x1b";
  for (const Format format : {Format::table, Format::markdown, Format::nccl_tests})
    expect_lacks(written(results, format), "\x1b");
}

TEST(ComparisonTable, QuietIsRowsOnly) {
  EXPECT_EQ(
      lines_of(written(measured_results({1, 1, 1, 1}), Format::table, {.quiet = true})).size(), 5U);
}

TEST(ComparisonFormats, JsonHasSiKeys) {
  Results results = measured_results({1.25, 0, 1, 1});
  results.comparison->max_error = 0.15;
  const json all = json::parse(written(results, Format::json));
  const json& measured = all["rows"][0]["measured"];
  EXPECT_DOUBLE_EQ(measured["time_s"], 1.25 * results.rows[0].time_s());
  EXPECT_NEAR(measured["error"], -0.2, 1e-12);
  EXPECT_NEAR(measured["spread"], 0.01, 1e-12);
  EXPECT_LT(measured["min_s"], measured["max_s"]);
  EXPECT_EQ(measured["data"], "right");
  EXPECT_EQ(measured["noisy"], false);
  EXPECT_EQ(measured["backend"], "host");
  EXPECT_EQ(measured["protocol"], "simple");
  EXPECT_EQ(measured["iters"], 5);
  EXPECT_EQ(measured["device"], "2 cores of a test");
  EXPECT_EQ(measured["notes"], json::array());
  EXPECT_NEAR(measured["busbw_bytes_per_s"], results.rows[0].busbw() / 1.25, 1);
  EXPECT_FALSE(all["rows"][0].contains("not_measured"));
  EXPECT_TRUE(all["rows"][1]["measured"].is_null());
  EXPECT_EQ(all["rows"][1]["not_measured"],
            json::parse(R"({"why": "stuck", "reason": "rank 3 waited for rank 2"})"));
  const json& comparison = all["comparison"];
  EXPECT_EQ(comparison["rows"], 4);
  EXPECT_EQ(comparison["not_measured"], 1);
  EXPECT_EQ(comparison["beyond_max_error"], 1);
  EXPECT_EQ(comparison["max_error"], 0.15);
  EXPECT_NEAR(comparison["worst_error"], 0.2, 1e-12);
  EXPECT_FALSE(json::parse(written(lecture_results({1}), Format::json)).contains("comparison"));
}

TEST(ComparisonFormats, CsvHasAColumnForEveryKeyOfEveryRow) {
  Results results = measured_results({1, 0, 1, 1});
  results.rows[0].measured = measured_with(0.02, 0.01, DataVerdict::wrong);
  results.rows[0].measured->file = "other.json";
  results.rows[0].measured->wrong_data = "no commas";
  const auto lines = lines_of(written(results, Format::csv));
  const auto fields = [](const std::string& line) {
    std::vector<std::string> all;
    std::istringstream in(line + ",");
    for (std::string field; std::getline(in, field, ',');) all.push_back(field);
    return all;
  };
  const std::vector<std::string> heading = fields(lines[0]);
  const std::set<std::string> columns(heading.begin(), heading.end());
  const json measured = json::parse(written(results, Format::json))["rows"][0]["measured"];
  for (const auto& member : measured.items())
    EXPECT_EQ(columns.count("measured_" + member.key()), 1U) << member.key();
  EXPECT_EQ(columns.count("measured"), 0U);
  EXPECT_EQ(heading.back(), "not_measured");
  for (std::size_t i = 1; i < lines.size(); ++i)
    EXPECT_EQ(fields(lines[i]).size(), heading.size()) << lines[i];
  expect_text(fields(lines[2]).back(), "rank 3 waited for rank 2");
  EXPECT_EQ(fields(lines_of(written(lecture_results({1}), Format::csv))[0]).back(), "fingerprint")
      << "nothing was measured";
}

TEST(ComparisonFormats, CsvLeavesOutWhatNoMeasurementHas) {
  Results results = measured_results({1, 1, 1, 1});
  const auto has = [&](const char* column) {
    return lines_of(written(results, Format::csv))[0].find(column) != std::string::npos;
  };
  EXPECT_TRUE(has(",measured_time_s,"));
  EXPECT_FALSE(has("measured_wrong_data"));
  EXPECT_FALSE(has("not_measured"));
  results.rows[1].measured->wrong_data = "at element 3";
  EXPECT_TRUE(has("measured_wrong_data"));
}

TEST(ComparisonFormats, NcclTestsShowsWhatWasMeasured) {
  Results results = measured_results({2, 0, 1, 1});
  results.rows[2].measured->data = DataVerdict::unchecked;
  results.rows[3].measured->data = DataVerdict::wrong;
  const auto lines = lines_of(written(results, Format::nccl_tests));
  expect_contains(lines[1], "measured on host, paced");
  expect_text(lines[7].substr(52),
              "    37651    1.78    1.78      0    37651    1.78    1.78      0");
  expect_text(lines[9], "# 67108864 bytes not measured: rank 3 waited for rank 2");
  expect_text(lines[11].substr(80), " N/A   3281.9   20.45   20.45    N/A");
  expect_text(lines[13].substr(80), " >=1    23198    2.89    2.89    >=1");
  expect_text(lines[14], "# Out of bounds values : 1 FAILED");
}

TEST(ComparisonFormats, MarkdownHasTheTableAndTheSentence) {
  const std::string text = written(measured_results({1, 1, 1, 1.25}), Format::markdown);
  expect_contains(text,
                  "| chunks | formula | predicted | measured | [min .. max] | error | data |");
  expect_contains(text, "\n- 4 rows: median error 0.0%, worst 20%\n");
}

TEST(ComparisonFormats, ExpectationsSayWhatTheyLeftOut) {
  Results results = measured_results({1, 1, 1, 1});
  results.expect = {{.id = "near",
                     .ok = true,
                     .checked = 3,
                     .left_out = 2,
                     .why_left_out = "too noisy: spread 12%"}};
  expect_contains(written(results, Format::table),
                  "ok    near (3 rows; 2 skipped, too noisy: spread 12% ...)\n");
  const json outcome = json::parse(written(results, Format::json))["expect"][0];
  EXPECT_EQ(outcome["left_out"], 2);
}

}  // namespace
}  // namespace collsim::testing
