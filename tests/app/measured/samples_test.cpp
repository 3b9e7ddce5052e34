// SPDX-License-Identifier: Apache-2.0
//
// Real files, which are not part of this repository: in the folder that COLLSIM_SHARED names, or in
// "shared" beside the checkout.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "app/measured/measured_json.hpp"
#include "tests/app/measured/reading.hpp"

namespace collsim::testing {
namespace {

std::filesystem::path shared_folder() {
  const char* const named = std::getenv("COLLSIM_SHARED");
  return named != nullptr ? std::filesystem::path(named)
                          : std::filesystem::path(COLLSIM_SOURCE_DIR) / ".." / "shared";
}

std::vector<std::filesystem::path> files_of(const std::string& folder) {
  std::vector<std::filesystem::path> files;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(shared_folder() / folder, ignored))
    files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

// "all-reduce 8 ranks 1 node 32 rows"; what is not known is a question mark.
std::string understood(const std::filesystem::path& file) {
  Sources sources;
  Diagnostics diagnostics;
  const std::vector<MeasuredTable> tables = read_measurements(file.string(), sources, diagnostics);
  if (tables.empty() && !diagnostics.empty())
    return "refused: " + diagnostics.sorted().front().code;
  std::string text;
  for (const MeasuredTable& table : tables) {
    const auto known = [](const std::optional<std::int64_t>& number) {
      return number ? std::to_string(*number) : "?";
    };
    text += fmt::format("{}{} {} ranks {} nodes {} rows", text.empty() ? "" : "; ",
                        table.operation.empty() ? "?" : table.operation, known(table.ranks),
                        known(table.nodes), table.rows.size());
  }
  return text;
}

struct Sample {
  const char* file;
  const char* expected;
};
constexpr Sample logs[] = {
    {"awsdoeks_eks_efa_full.log", "all-reduce 2 ranks 2 nodes 31 rows"},
    {"awsdoeks_tagged_socket.log", "all-reduce 2 ranks ? nodes 31 rows"},
    {"awsome_mpi_tagged.log", "all-reduce 16 ranks ? nodes 7 rows"},
    {"awsome_srun_labelled_a.log", "all-reduce 16 ranks ? nodes 29 rows"},
    {"b5paper_all_reduce_perf_2_gpu.log", "all-reduce 2 ranks 1 nodes 3 rows"},
    {"b5paper_all_reduce_perf_4_gpu.log", "all-reduce 4 ranks 1 nodes 3 rows"},
    {"coreweave_gb200_72.log", "all-reduce 72 ranks ? nodes 5 rows"},
    {"coreweave_h100_sharp_64.log", "all-reduce 96 ranks ? nodes 5 rows"},
    {"cscs_gh200_2n_good.log", "all-reduce 8 ranks 2 nodes 25 rows"},
    {"deepops_netop_old.log", "all-reduce 16 ranks ? nodes 30 rows"},
    {"deepops_slurm_old.log", "all-reduce 32 ranks ? nodes 13 rows"},
    {"dgxc_side_work.log", "all-reduce 8 ranks 1 nodes 32 rows"},
    {"dstack_lambda_h100.log", "all-reduce 16 ranks ? nodes 29 rows"},
    {"gcp_a3high_2n.log", "? 16 ranks ? nodes 10 rows"},
    {"gcp_a3mega_sample.log", "? 16 ranks ? nodes 31 rows"},
    {"iss_nccltests_287_1gpu_5090.log", "all-reduce 1 ranks 1 nodes 25 rows"},
    {"iss_nccltests_287_5090_fails.log", "refused: run-failed"},
    {"superbench_a100_allgather.log", "all-gather 8 ranks 1 nodes 34 rows"},
    {"superbench_a100_allreduce.log", "all-reduce 8 ranks 1 nodes 34 rows"},
    {"yangwhale_b200_8gpu_abridged.log", "all-reduce 8 ranks 1 nodes 12 rows"},
};

TEST(Samples, LogsAreReadOrRefusedForTheTrueReason) {
  const auto files = files_of("samples/nccl_tests_logs");
  if (files.empty()) GTEST_SKIP() << "skipped: no ../shared/samples";
  std::size_t known = 0;
  for (const std::filesystem::path& file : files) {
    const auto* const sample =
        std::find_if(std::begin(logs), std::end(logs),
                     [&](const Sample& one) { return file.filename() == one.file; });
    if (sample == std::end(logs)) continue;  // newer than this test
    ++known;
    EXPECT_EQ(understood(file), sample->expected) << file;
  }
  EXPECT_EQ(known, std::size(logs));
}

TEST(Samples, LinesOfDebuggingAloneAreRefused) {
  const auto files = files_of("samples/nccl_debug_logs");
  if (files.empty()) GTEST_SKIP() << "skipped: no ../shared/samples";
  for (const std::filesystem::path& file : files)
    EXPECT_EQ(understood(file), "refused: no-rows") << file;
}

TEST(Samples, PublishedTablesAreReadAndWrittenBack) {
  const auto files = files_of("measured/tables");
  if (files.empty()) GTEST_SKIP() << "skipped: no ../shared/measured";
  for (const std::filesystem::path& file : files) {
    Sources sources;
    Diagnostics diagnostics;
    const auto tables = read_measurements(file.string(), sources, diagnostics);
    ASSERT_EQ(tables.size(), 1U) << file << to_text(diagnostics, sources);
    EXPECT_TRUE(tables[0].ranks && tables[0].nodes && !tables[0].operation.empty()) << file;
    EXPECT_NE(tables[0].launch, MeasuredLaunch::unknown) << file;
    const std::string written = to_json(to_value(tables));
    EXPECT_EQ(to_json(to_value(read_tables(written).tables)), written) << file;
  }
}

}  // namespace
}  // namespace collsim::testing
