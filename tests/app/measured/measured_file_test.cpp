// SPDX-License-Identifier: Apache-2.0
#include "app/measured/measured_file.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "tests/app/study/scenarios.hpp"
#include "tests/golden.hpp"

namespace collsim::testing {
namespace {

class MeasuredFiles : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "collsim.XXXXXX").string();
    const int descriptor = ::mkstemp(name.data());
    ASSERT_GE(descriptor, 0);
    ::close(descriptor);
    file_ = name;
  }
  void TearDown() override { std::remove(file_.c_str()); }

  // Nothing: the messages are in `mistakes_`.
  std::optional<MeasuredFile> read(const std::string& text) {
    std::ofstream(file_) << text;
    Sources sources;
    Diagnostics diagnostics;
    auto result = MeasuredFile::read(file_, sources, diagnostics);
    mistakes_ = diagnostics.empty() ? "" : diagnostics.sorted().front().message;
    return result;
  }
  // A row of the chain at these chunks.
  static std::string row(int chunks, const std::string& measured) {
    return R"({"params": {"collective.chunks": )" + std::to_string(chunks) +
           R"(}, "op": "broadcast", "algorithm": "chain", "ranks": 8, "size_bytes": 67108864,
               "chunks": )" +
           std::to_string(chunks) + R"(, "channels": 1, "time_s": 99, "measured": )" + measured +
           "}";
  }
  static std::string results_with(const std::string& rows) {
    return R"({"collsim": "0.1.0", "rows": [)" + rows + "]}";
  }

  std::string file_, mistakes_;
};

TEST_F(MeasuredFiles, GiveTheRowsOfTheSameCase) {
  const auto file = read(results_with(
      row(4, R"({"time_s": 0.007, "min_s": 0.0069, "max_s": 0.0072, "spread": 0.01, "data": "right",
                 "backend": "cuda", "protocol": "ll", "paced": false, "iters": 20,
                 "device": "a GPU", "notes": ["ranks were virtual"]})") +
      "," + row(2, "null")));
  ASSERT_TRUE(file) << mistakes_;
  Studied studied = results_of(lecture(R"(, "sweep": {"collective.chunks": [1, 2, 4]})"));
  file->fill(*studied.results, 0.05);
  const std::vector<CaseResult>& rows = studied.results->rows;
  ASSERT_TRUE(rows[0].not_measured && rows[1].not_measured && rows[2].measured);
  EXPECT_EQ(rows[0].not_measured->reason, file_ + " has no row with these values");
  EXPECT_EQ(rows[1].not_measured->reason, file_ + " has such a row, but it was not measured there");
  const Measured& measured = *rows[2].measured;
  EXPECT_DOUBLE_EQ(measured.times.median_s, 0.007);
  EXPECT_DOUBLE_EQ(measured.times.min_s, 0.0069);
  EXPECT_DOUBLE_EQ(measured.times.max_s, 0.0072);
  EXPECT_EQ(measured.data, DataVerdict::right);
  EXPECT_EQ(measured.backend, "cuda");
  EXPECT_EQ(measured.protocol, Protocol::ll);
  EXPECT_EQ(measured.iterations, 20);
  EXPECT_EQ(measured.device, "a GPU");
  EXPECT_EQ(measured.notes, std::vector<std::string>{"ranks were virtual"});
  EXPECT_EQ(measured.file, file_);
  EXPECT_LT(rows[2].time_s(), 1) << "its prediction is not taken";
  EXPECT_EQ(studied.results->comparison->file, file_);
  EXPECT_EQ(studied.results->comparison->max_error, 0.05);
}

TEST_F(MeasuredFiles, OtherCasesDoNotMatch) {
  std::string other = row(4, R"({"time_s": 1, "spread": 0})");
  other.replace(other.find("67108864"), 8, "67108865");
  const auto file = read(results_with(other));
  Studied studied = results_of(lecture(R"(, "sweep": {"collective.chunks": [4]})"));
  file->fill(*studied.results, std::nullopt);
  EXPECT_FALSE(studied.results->rows[0].measured);
}

// What only some files say is compared where they do.
TEST_F(MeasuredFiles, DifferentDataDoNotMatch) {
  const auto reason_for = [&](const std::string& of_row, const std::string& scenario,
                              const std::string& collective = "", bool paced = false) {
    std::string one = row(4, R"({"time_s": 1, "iters": 5, "spread": 0, "paced": )" +
                                 std::string(paced ? "true" : "false") + "}");
    one.insert(1, of_row);
    const auto file =
        read(R"({"collsim": "0.1.0", "scenario": {)" + scenario + R"(}, "rows": [)" + one + "]}");
    Studied studied = results_of(lecture(R"(, "sweep": {"collective.chunks": [4]})", collective));
    file->fill(*studied.results, std::nullopt);
    const CaseResult& filled = studied.results->rows.at(0);
    EXPECT_NE(filled.measured.has_value(), filled.not_measured.has_value());
    return filled.measured ? "" : filled.not_measured->reason.substr(file_.size() + 5);
  };
  const std::string same = R"("collective": {"in_place": false, "chunks": 1})";
  EXPECT_EQ(reason_for("", same), "");
  EXPECT_EQ(reason_for(R"("dtype": "float32", "reduction": null, "root": 0,)", same), "");
  expect_text(reason_for(R"("dtype": "float16",)", same), "such a row, but its dtype differs");
  expect_text(reason_for(R"("reduction": "sum",)", same), "such a row, but its reduction differs");
  expect_text(reason_for(R"("root": 3,)", same), "such a row, but its root differs");
  expect_text(reason_for("", R"("collective": {"in_place": true})"),
              "such a row, but its collective.in_place differs");
  const std::string slots = R"("collective": {"in_place": false, "slots": 2})";
  expect_text(reason_for("", slots), "such a row, but its collective.slots differs");
  EXPECT_EQ(reason_for("", slots, R"(, "slots": 2)"), "");
  EXPECT_EQ(reason_for("", same + R"(, "cluster": {})"), "") << "it ran as fast as it could";
  expect_text(reason_for("", same + R"(, "cluster": {})", "", true),
              "such a row, but it was paced, and its cluster differs");
}

TEST_F(MeasuredFiles, TakeNothingForGranted) {
  const auto file =
      read(results_with(row(1, R"({"time_s": "soon"})") + "," +
                        row(2, R"({"time_s": 1, "iters": 1e300, "notes": 3})") + "," +
                        row(4, R"({"time_s": 1, "iters": 20})") + ", 7, null, {}, []"));
  ASSERT_TRUE(file) << mistakes_;
  Studied studied = results_of(lecture(R"(, "sweep": {"collective.chunks": [1, 2, 4]})"));
  file->fill(*studied.results, std::nullopt);
  EXPECT_FALSE(studied.results->rows[0].measured);
  ASSERT_TRUE(studied.results->rows[1].measured && studied.results->rows[2].measured);
  EXPECT_TRUE(studied.results->rows[2].measured->is_noisy()) << "nobody said that it was not";
  EXPECT_TRUE(studied.results->rows[1].measured->has_too_few_runs()) << "nobody said how many";
  EXPECT_EQ(studied.results->rows[1].measured->data, DataVerdict::unchecked);
}

// The lecture's broadcast of 64 MiB among eight.
TEST_F(MeasuredFiles, GiveTheRowsOfALog) {
  const std::string header =
      "op,ranks,dtype,root,size,time_us,in_place_time_us,wrong,iters,protocol\n";
  const auto filled = [&](const std::string& rows, const std::string& collective = "") {
    const auto file = read(header + rows);
    EXPECT_TRUE(file) << mistakes_;
    Studied studied = results_of(lecture("", collective));
    file->fill(*studied.results, 0.05);
    return studied.results->rows.at(0);
  };
  const auto reason = [&](const std::string& rows, const std::string& collective = "") {
    const CaseResult row = filled(rows, collective);
    EXPECT_TRUE(row.not_measured && !row.measured);
    return row.not_measured ? row.not_measured->reason.substr(file_.size() + 5) : "";
  };
  const std::string fits = "broadcast,8,float,0,67108864,4000,5000,0,20,LL\n";
  const CaseResult row = filled("broadcast,8,float,0,1024,1,1,0,20,LL\n" + fits);
  ASSERT_TRUE(row.measured) << row.not_measured->reason;
  EXPECT_DOUBLE_EQ(row.measured->times.median_s, 4e-3);
  EXPECT_TRUE(row.measured->is_average);
  EXPECT_EQ(row.measured->iterations, 20);
  EXPECT_EQ(row.measured->ran, "LL");
  EXPECT_EQ(row.measured->data, DataVerdict::right);
  EXPECT_EQ(row.why_no_verdict(), "");
  const CaseResult in_place = filled(fits, R"(, "in_place": true)");
  EXPECT_DOUBLE_EQ(in_place.measured.value().times.median_s, 5e-3);
  const CaseResult twice = filled(fits + "broadcast,8,float,0,67108864,6000,5000,0,20,LL\n");
  EXPECT_DOUBLE_EQ(twice.measured.value().times.median_s, 5e-3);
  EXPECT_EQ(twice.measured->notes, std::vector<std::string>{"median of 2 rows of one size"});
  EXPECT_EQ(filled("broadcast,8,float,0,67108864,4000,,7,20,\n").measured.value().data,
            DataVerdict::wrong);
  EXPECT_NE(filled("broadcast,8,float,0,67108864,4000,,0,2,\n").why_no_verdict(), "");
  EXPECT_EQ(filled("broadcast,8,,,67108864,4000,,,,\n").why_no_verdict(), "") << "not said";
  expect_text(reason("broadcast,4,float,0,67108864,4000,,0,20,\n"),
              "no row with these values, nor any of broadcast among 8 ranks");
  expect_text(reason("broadcast,8,float,0,1024,1,,0,20,\nbroadcast,8,float,0,8,1,,0,20,\n"),
              "no row with these values; its sizes are 8B, 1KiB");
  std::string many;
  for (int bytes = 4; bytes <= 4096; bytes *= 2)
    many += "broadcast,8,float,0," + std::to_string(bytes) + ",1,,0,20,\n";
  expect_text(reason(many), "no row with these values, but 11 other sizes, 4B to 4KiB");
  expect_text(reason("broadcast,8,half,0,67108864,4000,,0,20,\n"),
              "such a row, but its dtype differs");
  expect_text(reason("broadcast,8,float,3,67108864,4000,,0,20,\n"),
              "such a row, but its root differs");
  expect_text(reason("broadcast,8,float,0,67108864,4000,,0,20,\n", R"(, "in_place": true)"),
              "such a row, but without a time");
}

TEST_F(MeasuredFiles, OtherFilesAreRefused) {
  EXPECT_FALSE(read("{"));
  EXPECT_NE(mistakes_, "");
  EXPECT_FALSE(read("[]"));
  expect_text(mistakes_, "no list of rows with a size and a time is in this file");
  EXPECT_FALSE(read(R"({"collsim": "0.1.0", "rows": 3})"));
  expect_text(mistakes_, "no list of rows with a size and a time is in this file");
  EXPECT_FALSE(read(lecture()));
  expect_text(mistakes_, "this is a scenario, not a measured table");
  EXPECT_FALSE(read("nothing of the kind\n"));
  expect_text(mistakes_, "no row of nccl-tests is in this text");
}

}  // namespace
}  // namespace collsim::testing
