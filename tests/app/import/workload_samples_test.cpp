// SPDX-License-Identifier: Apache-2.0
//
// Traces and workloads that people and tools wrote, which are kept beside the checkout.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "tests/app/import/workload_text.hpp"
#include "tests/shared_samples.hpp"

namespace collsim {
namespace {

std::string sample_workload(const std::string& kind, const std::string& name) {
  std::ifstream file(*shared_samples(kind) / name, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// "21 collectives of 307323096 bytes on 2 ranks", "refused at 1:1: ..."
std::string summary_of(const std::string& text) {
  const WorkloadRead read =
      read_workload_text(text, {.ranks = 8, .model_ranks = 2, .cycle_us = 1e-3});
  if (!read.workload) return "refused at " + read.mistakes.substr(0, read.mistakes.find(" | "));
  std::size_t calls = 0;
  Bytes bytes = 0;
  double us = 0;
  for (const ImportedWorkload::Item& item : read.workload->items) {
    calls += item.operation ? 1 : 0;
    bytes += item.bytes;
    us += item.operation ? 0 : item.us;
  }
  return fmt::format("{} of {} bytes, {:.6g} us", calls, bytes, us);
}

TEST(WorkloadSamples, AreUnderstoodOrRefusedWithTheReason) {
  if (!shared_samples("traces")) GTEST_SKIP() << no_samples;
  struct Sample {
    const char *kind, *name, *expected;
  };
  const Sample samples[] = {
      {"traces", "kineto_nccl_parser_config.json", "21 of 307323096 bytes, 583924 us"},
      {"traces", "kineto_mi250_whole.json",
       "refused at file: the trace has no collective: none of its 14 kernels is one of NCCL or "
       "RCCL"},
      {"traces", "kineto_ns_resolution_rank0.json",
       "refused at file: the trace has 35 calls of NCCL on the host and no kernel on a GPU, which "
       "would say how much is sent"},
      {"traces", "iss_fuser_4627_nsys_gpu_trace_rows.txt",
       "refused at file: a table of nsys does not say how much its kernels of NCCL send"},
      {"ddp", "ddp_allreduce_kernels_2gpu_trace.csv", "21 of 307323096 bytes, 583924 us"},
      {"ddp", "ddp_bucket_facts.csv", "3 of 46758048 bytes, 0 us"},
      {"chakra", "pytorch_host_et_resnet_2gpu_COMM_ONLY.json", "21 of 307323096 bytes, 0 us"},
      {"chakra", "micro_all_reduce_4npus_1MB.1.et", "1 of 1048576 bytes, 0 us"},
      {"astra_workload", "simai_microAllReduce.txt", "2 of 83886080 bytes, 1112.01 us"},
      {"astra_workload", "microAllToAll.txt", "1 of 1048576 bytes, 0 us"},
  };
  for (const Sample& sample : samples)
    EXPECT_EQ(summary_of(sample_workload(sample.kind, sample.name)), sample.expected)
        << sample.name;
}

// Each of the three steps of this trace sends the gradients of ResNet-50 once.
TEST(WorkloadSamples, BucketsOfATraceAddUpToTheModel) {
  if (!shared_samples("traces")) GTEST_SKIP() << no_samples;
  constexpr Bytes resnet50 = 25'557'032 * 4;
  const WorkloadRead read =
      read_workload_text(sample_workload("traces", "kineto_nccl_parser_config.json"));
  ASSERT_TRUE(read.workload);
  Bytes bytes = 0;
  for (const ImportedWorkload::Item& item : read.workload->items)
    if (item.operation == Operation::all_reduce) bytes += item.bytes;
  EXPECT_EQ(bytes, 3 * resnet50);
}

}  // namespace
}  // namespace collsim
