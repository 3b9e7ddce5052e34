// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "tests/app/import/workload_text.hpp"

namespace collsim {
namespace {

// An event of a profiler's trace, in us.
std::string gpu_event(const char* category, const char* name, double begin, double length,
                      const std::string& details) {
  return fmt::format(
      R"({{"ph":"X","cat":"{}","name":"{}","ts":{},"dur":{},"pid":0,"tid":7,"args":{{{}}}}})",
      category, name, begin, length, details);
}
std::string computing(double begin, double length, int id) {
  return gpu_event("kernel", "gemm", begin, length,
                   fmt::format(R"("device":0,"stream":7,"correlation":{})", id));
}
std::string all_reducing(double begin, double length, int id, int elements) {
  return gpu_event(
      "kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL()", begin, length,
      fmt::format(R"("device":0,"stream":40,"correlation":{},"Collective name":"allreduce",)"
                  R"("In msg nelems":{},"Out msg nelems":{},"Group size":4,"dtype":"Float")",
                  id, elements, elements));
}
std::string launched(double at, int id) {
  return gpu_event("cuda_runtime", "cudaLaunchKernel", at, 1,
                   fmt::format(R"("correlation":{})", id));
}
std::string trace_of(const std::vector<std::string>& events) {
  return fmt::format(R"({{"distributedInfo":{{"rank":0,"world_size":4}},"traceEvents":[{}]}})",
                     fmt::join(events, ","));
}

const std::vector<std::string> two_buckets = {
    computing(1000, 60, 1), computing(1060, 40, 2), all_reducing(1060, 100, 3, 1000),
    all_reducing(1160, 40, 4, 500), computing(1202, 100, 5)};

// Without launches the second collective could have begun when the first ended, and the main stream
// was waiting already.
TEST(ImportedTrace, ComputingSplitsWhereACollectiveBegan) {
  EXPECT_EQ(items_in(trace_of(two_buckets)),
            "PyTorch profiler trace, 4 ranks\n"
            "0 main 60us\n"
            "1 stream40 all-reduce f32 4000 world after 0\n"
            "2 main 40us\n"
            "3 stream40 all-reduce f32 2000 world after 2\n"
            "4 main 102us after 1 3\n");
}

// The second collective was queued behind the first; whether it needs the second kernel, only the
// order of launches tells.
TEST(ImportedTrace, LaunchesSayWhatACollectiveWaitedFor) {
  std::vector<std::string> events = two_buckets;
  for (const int id : {1, 3, 4, 5}) events.push_back(launched(900 + 10 * id, id));
  events.push_back(launched(945, 2));
  EXPECT_EQ(items_in(trace_of(events)),
            "PyTorch profiler trace, 4 ranks\n"
            "0 main 60us\n"
            "1 stream40 all-reduce f32 4000 world after 0\n"
            "2 stream40 all-reduce f32 2000 world after 0\n"
            "3 main 40us\n"
            "4 main 102us after 1 2\n");
  events.back() = launched(935, 2);
  EXPECT_EQ(items_in(trace_of(events)),
            "PyTorch profiler trace, 4 ranks\n"
            "0 main 60us\n"
            "1 stream40 all-reduce f32 4000 world after 0\n"
            "2 main 40us\n"
            "3 stream40 all-reduce f32 2000 world after 2\n"
            "4 main 102us after 1 3\n");
}

TEST(ImportedTrace, ACollectiveBesideComputingIsNotWaitedFor) {
  EXPECT_EQ(items_in(trace_of({computing(0, 100, 1), all_reducing(10, 50, 2, 8)})),
            "PyTorch profiler trace, 4 ranks\n"
            "0 main 10us\n"
            "1 stream40 all-reduce f32 32 world after 0\n"
            "2 main 90us\n");
}

// A GPU that does nothing has nothing to send yet: whether the host was late to launch the
// collective, or something else that the trace does not show held it up.
TEST(ImportedTrace, IdleTimeBeforeACollectiveDoesNotHideIt) {
  const std::vector<std::string> late = {computing(1000, 1000, 1), all_reducing(5000, 800, 2, 8),
                                         computing(5800, 1000, 3)};
  const std::string expected =
      "PyTorch profiler trace, 4 ranks\n"
      "0 main 4000us\n1 stream40 all-reduce f32 32 world after 0\n"
      "2 main 1000us after 1\n";
  EXPECT_EQ(items_in(trace_of(late)), expected) << "no launches";
  for (const double at : {20.0, 2500.0, 4990.0}) {
    std::vector<std::string> events = late;
    for (const auto& launch : {launched(10, 1), launched(at, 2), launched(4995, 3)})
      events.push_back(launch);
    EXPECT_EQ(items_in(trace_of(events)), expected) << at;
  }
  const auto assumed = read_workload_text(trace_of(late)).workload->assumed;
  EXPECT_EQ(assumed.back(),
            "3 ms in which the GPU neither computed nor waited for a collective are work, done "
            "before the collectives that began after them");
}

TEST(ImportedTrace, IdleTimeBetweenCollectivesDoesNotHideTheSecond) {
  std::vector<std::string> events = {computing(1000, 1000, 1), all_reducing(1500, 800, 2, 8),
                                     all_reducing(3000, 800, 3, 8)};
  for (const int id : {1, 2, 3}) events.push_back(launched(10 * id, id));
  EXPECT_EQ(items_in(trace_of(events)),
            "PyTorch profiler trace, 4 ranks\n"
            "0 main 500us\n1 stream40 all-reduce f32 32 world after 0\n"
            "2 main 500us\n3 main 700us after 1\n"
            "4 stream40 all-reduce f32 32 world after 3\n");
}

// When the last item ends, if collectives take as long as in the trace.
double replayed_us(const ImportedWorkload& workload, const std::vector<double>& lengths) {
  std::vector<double> ends, free(workload.streams.size());
  std::size_t calls = 0;
  for (const ImportedWorkload::Item& item : workload.items) {
    double begin = free[item.stream];
    for (const std::size_t other : item.after) begin = std::max(begin, ends[other]);
    ends.push_back(begin + (item.operation ? lengths[calls++] : item.us));
    free[item.stream] = ends.back();
  }
  return *std::max_element(ends.begin(), ends.end());
}

// Collectives of one stream, which began when they could, computing beside them, and idle time.
TEST(ImportedTrace, TheStepTakesAsLongAsTheTrace) {
  std::mt19937 random(7);
  const auto below = [&](unsigned end) { return static_cast<double>(random() % end); };
  for (int round = 0; round < 200; ++round) {
    std::vector<std::string> events;
    std::vector<double> lengths;
    double first = below(60), computed = first, at = below(90);
    for (int id = 0; id < 12; ++id) {
      computed += id == 0 ? 0 : below(2) * below(60);
      const double length = 1 + below(50);
      events.push_back(computing(computed, length, id));
      computed += length;
    }
    first = std::min(first, at);
    for (int id = 100; id < 106; ++id) {
      at += id == 100 ? 0 : below(2) * below(150);
      lengths.push_back(1 + below(90));
      events.push_back(all_reducing(at, lengths.back(), id, 8));
      at += lengths.back();
    }
    const std::string trace = trace_of(events);
    EXPECT_NEAR(replayed_us(*read_workload_text(trace).workload, lengths),
                std::max(computed, at) - first, 1e-6)
        << trace;
  }
}

// The moment between two kernels of NCCL says nothing of when the second was called.
TEST(ImportedTrace, ACollectiveInTheQueueOfAnotherWasCalledBefore) {
  std::vector<std::string> events = {computing(0, 50, 1), computing(50, 50, 2),
                                     all_reducing(50, 60, 3, 8), all_reducing(113, 37, 4, 8),
                                     computing(150, 10, 5)};
  for (const auto& launch :
       {launched(-9, 1), launched(-8, 3), launched(-7, 4), launched(-6, 2), launched(-5, 5)})
    events.push_back(launch);
  EXPECT_EQ(items_in(trace_of(events)),
            "PyTorch profiler trace, 4 ranks\n"
            "0 main 50us\n1 stream40 all-reduce f32 32 world after 0\n"
            "2 stream40 all-reduce f32 32 world after 0\n"
            "3 main 50us\n4 main 3us after 1\n5 main 10us after 2\n");
}

TEST(ImportedTrace, GroupsOfSomeRanksAreAllOverTheRanks) {
  const auto gathering = [](const char* ranks) {
    return gpu_event("kernel", "ncclDevKernel_AllGather_RING_LL()", 0, 10,
                     fmt::format(R"("stream":1,"Collective name":"_allgather_base","dtype":"Half",)"
                                 R"("In msg nelems":10,"Out msg nelems":20,"Group size":2,)"
                                 R"("Process Group Ranks":"{}")",
                                 ranks));
  };
  EXPECT_EQ(items_in(trace_of({gathering("[0, 2]")})),
            "PyTorch profiler trace, 4 ranks\n"
            "every2_of2: 0 2 | 1 3\n"
            "0 stream1 all-gather f16 40 every2_of2\n");
  EXPECT_EQ(items_in(trace_of({gathering("[0, 1]")})),
            "PyTorch profiler trace, 4 ranks\n"
            "every1_of2: 0 1 | 2 3\n"
            "0 stream1 all-gather f16 40 every1_of2\n");
  EXPECT_EQ(mistakes_in(trace_of({gathering("[0, 3]")})),
            "1:61: the trace does not say which of the 4 ranks these 2 are, or others could not "
            "form groups alike | \n");
}

TEST(ImportedTrace, BecomesAProgram) {
  EXPECT_EQ(program_in(trace_of(two_buckets)),
            R"([{"on":"all","do":[{"work":"60us"},{"record":"e1"},)"
            R"({"stream":"stream40","do":[{"wait":"e1"},)"
            R"({"all-reduce":"stream40_f32","size":"4000B"}]},)"
            R"({"work":"40us"},{"record":"e2"},)"
            R"({"stream":"stream40","do":[{"wait":"e2"},)"
            R"({"all-reduce":"stream40_f32","size":"2000B"},{"record":"e3"}]},)"
            R"({"wait":"e3"},{"work":"102us"}]}])");
}

TEST(ImportedAstraText, ForwardThenBackwardWithGradientsBesideIt) {
  const std::string text =
      "DATA\t\r\n2\t\r\na -1 10 NONE 0 20 NONE 0 30 ALLREDUCE 4096 5\r\n"
      "b -1 100 NONE 0 200 NONE 0 300 ALLREDUCE 8192 6\r\n";
  EXPECT_EQ(items_in(text, {.ranks = 8}),
            "ASTRA-sim text workload, 8 ranks\n"
            "0 main 0.01us\n1 main 0.1us\n2 main 0.3us\n"
            "3 gradients all-reduce u8 8192 world after 2\n"
            "4 main 0.2us\n5 main 0.03us\n"
            "6 gradients all-reduce u8 4096 world after 5\n"
            "7 main 0.011us after 3 6\n");
  EXPECT_EQ(items_in(text),
            "ASTRA-sim text workload, 0 ranks\nasks: the file does not say how many "
            "ranks there are: --ranks N\n");
}

TEST(ImportedAstraText, RanksThatShareAModelAreNeighbours) {
  EXPECT_EQ(items_in("HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2 checkpoints: 1 0 "
                     "checkpoint_initiates: 1 1\n2\n"
                     "a -1 1 ALLREDUCE 64 2 ALLREDUCE 64 3 ALLREDUCE 128 0\n"
                     "b -1 4 ALLGATHER 32 5 NONE 0 6 NONE 0 0\n",
                     {.ranks = 4, .cycle_us = 1}),
            "ASTRA-sim text workload, 4 ranks\n"
            "every1_of2: 0 1 | 2 3\nevery2_of2: 0 2 | 1 3\n"
            "0 main 1us\n1 model all-reduce u8 64 every1_of2 after 0\n"
            "2 main 4us after 1\n3 model all-gather u8 64 every1_of2 after 2\n"
            "4 main 1us after 3\n5 model all-reduce u8 64 every1_of2 after 4\n"
            "6 main 5us after 5\n7 main 6us\n"
            "8 main 2us\n9 model all-reduce u8 64 every1_of2 after 8\n"
            "10 main 3us\n11 gradients all-reduce u8 128 every2_of2 after 10\n"
            "12 main 0us after 9 11\n");
}

TEST(ImportedAstraText, AMicrobenchmarkIsItsCollectivesAlone) {
  EXPECT_EQ(items_in("MICRO\n1\nconv1 -1 5 NONE 0 5 NONE 0 5  ALLTOALL 1048576 5\n", {.ranks = 4}),
            "ASTRA-sim text workload, 4 ranks\n0 main all-to-all u8 1048576 world\n");
}

const std::string small_graph =
    R"({"workload_graph":[{"Id":5,"Name":"opt","NodeType":4,"ctrlDeps":[4],"runtime":7},)"
    R"({"Id":4,"Name":"join","NodeType":1,"data_deps":[2,3]},)"
    R"({"Id":2,"Name":"ncclAllReduce","NodeType":7,"data_deps":[1],"comm_type":0,"comm_size":4096},)"
    R"({"Id":3,"Name":"gemm","NodeType":4,"data_deps":[1],"runtime":30},)"
    R"({"Id":1,"Name":"gemm","NodeType":4,"ctrlDeps":[99],"runtime":20}]})";

TEST(ImportedChakra, DependenciesOrderTheNodes) {
  EXPECT_EQ(items_in(small_graph, {.ranks = 2}),
            "Chakra execution trace, 2 ranks\n"
            "0 main 20us\n1 communication all-reduce u8 4096 world after 0\n"
            "2 main 30us after 0\n3 main 7us after 1 2\n");
}

TEST(ImportedChakra, ReadsItsProtobuf) {
  using namespace std::string_literals;
  const std::string metadata =
      "\x07\x0A\x05"
      "0.0.4"s;
  // A node without a number (0) that takes 3 us, and an all-gather of 1 MiB of each rank behind it.
  const std::string work =
      "\x08\x12\x02"
      "ab\x18\x04\x38\x03"s;
  const std::string call =
      "\x37\x08\x01\x18\x07\x2A\x01\x00\x52\x0E\x0A\x09is_cpu_op\xD8\x01\x00"s
      "\x52\x0D\x0A\x09"
      "comm_type\x48\x02\x52\x0F\x0A\x09"
      "comm_size\x48\x80\x80\x40"s;
  EXPECT_EQ(items_in(metadata + work + call, {.ranks = 4}),
            "Chakra execution trace, 4 ranks\n"
            "0 main 3us\n1 communication all-gather u8 4194304 world after 0\n");
  EXPECT_EQ(mistakes_in(metadata + work + call.substr(0, 40)),
            "file: the file is damaged or cut in the message behind 1 node | \n");
}

TEST(ImportedHostTrace, CallsComeInTheOrderOfTheirNumbers) {
  const auto call = [](int id, const char* name, int elements) {
    return fmt::format(
        R"({{"id":{},"name":"record_param_comms","attrs":[{{"name":"collective_name","value":"{}"}},)"
        R"({{"name":"dtype","value":"Long"}},{{"name":"in_msg_nelems","value":{}}},)"
        R"({{"name":"out_msg_nelems","value":{}}},{{"name":"pg_size","value":2}}]}})",
        id, name, elements, elements);
  };
  EXPECT_EQ(
      items_in(fmt::format(R"({{"schema":"1.1.1-chakra.0.0.4","nodes":[{},{},{}]}})",
                           call(9, "broadcast", 53), call(4, "allreduce", 7), call(5, "wait", 0))),
      "PyTorch execution trace, 2 ranks\n"
      "0 main all-reduce i64 56 world\n1 main broadcast i64 424 world\n");
}

std::string kernel_table(const std::string& row) {
  return "collective,nelems,dtype,group_size,start_us,dur_us\n" + row + "\n";
}

TEST(ImportedDdpTable, TakesTheNamesOfTypesThatOthersWrite) {
  const std::string read =
      "table of NCCL kernels, 2 ranks\n0 communication broadcast f32 212 world\n";
  for (const char* const name : {"Float", "float32", "torch.float32", "f32"})
    EXPECT_EQ(items_in(kernel_table(fmt::format("broadcast,53,{},2,0,7", name))), read);
}

TEST(ImportedDdpTable, BucketsAndKernels) {
  EXPECT_EQ(
      items_in("model,bucket_bytes_in_launch_order,sum\n\"resnet18, 4 GPUs\",2052000 28852224,"
               "30904224\nother,1 2,3\n",
               {.ranks = 4}),
      "DDP bucket list, 4 ranks\n"
      "0 main all-reduce f32 2052000 world\n1 main all-reduce f32 28852224 world\n");
  EXPECT_EQ(items_in("collective,nelems,dtype,group_size,start_us,dur_us\n"
                     "broadcast,53,Long,2,0.0,7.5\nallreduce,100,Float,2,20,10\n"),
            "table of NCCL kernels, 2 ranks\n"
            "0 communication broadcast i64 424 world\n1 main 12.5us after 0\n"
            "2 communication all-reduce f32 400 world after 1\n");
}

// Silence would leave a user with a machine of another size than the file's.
TEST(ImportedWorkloads, SayWhereAnOptionContradictsTheFile) {
  const auto notes_of = [](const std::string& text, const WorkloadAnswers& answers) {
    const WorkloadRead read = read_workload_text(text, answers);
    std::string notes = read.mistakes;
    if (!read.workload) return notes;
    for (const std::string& note : read.workload->notes)
      if (note.find("takes the place") != std::string::npos) notes += note + '\n';
    return notes;
  };
  const std::string text =
      "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2 all_gpus: 8\n1\n"
      "a -1 1 ALLREDUCE 64 2 ALLREDUCE 64 3 ALLREDUCE 128 0\n";
  EXPECT_EQ(notes_of(text, {.ranks = 16, .model_ranks = 4}),
            "--ranks 16 takes the place of 8, which the file says\n"
            "--model-ranks 4 takes the place of 2, which the file says\n");
  EXPECT_EQ(notes_of(text, {.ranks = 8, .model_ranks = 2}), "");
  const std::string instead_of_4 = "--ranks 2 takes the place of 4, which the file says\n";
  const std::string trace = trace_of(two_buckets);
  EXPECT_EQ(notes_of(trace, {.ranks = 2}), instead_of_4);
  EXPECT_EQ(notes_of(trace, {.ranks = 4}), "");
  EXPECT_EQ(notes_of(kernel_table("broadcast,53,Float,4,0,7"), {.ranks = 2}), instead_of_4);
}

// One clear error each.
TEST(ImportedWorkloads, RefuseWhatTheyCannotRead) {
  const std::vector<std::pair<std::string, std::string>> refused = {
      {"\x1F\x8B\x08", "file: the file is compressed by gzip | "},
      {R"({"traceEvents":[]})", "file: the trace has no kernel of a GPU | "},
      {R"({"traceEvents":[{"cat":"user_annotation","name":"nccl:all_reduce"}]})",
       "file: the trace has 1 call of NCCL on the host and no kernel on a GPU, "},
      {trace_of({computing(0, 1, 1)}),
       "file: the trace has no collective: none of its 1 kernel is "},
      {R"({"traceEvents":[{"cat":"kernel","name":"ncclKernel","ts":1}]})",
       "1:17: this kernel has no \"ts\" and \"dur\" | "},
      {R"({"traceEvents":[{"cat":"kernel","name":"ncclKernel_AllReduce","ts":1,"dur":2}]})",
       "1:17: this kernel of NCCL, ncclKernel_AllReduce, does not say what it sends | "},
      {R"({"traceEvents":[{"cat":"kernel","name":"ncclKernel","ts":1,"dur":2,"args":)"
       R"({"Collective name":"send"}}]})",
       "1:94: \"send\" is between two ranks, "},
      {R"({"traceEvents":[{"cat":"kernel","name":"ncclKernel","ts":1,"dur":2,"args":)"
       R"({"Collective name":"allfoo"}}]})",
       "1:94: there is no collective \"allfoo\" | "},
      {R"({"traceEvents":[{"cat":"kernel","name":"ncclKernel","ts":1,"dur":-2}]})",
       "1:17: the \"ts\" and \"dur\" of this kernel are no time in us | "},
      {R"({"traceEvents":[{"cat":"kernel","name":"ncclKernel","ts":1,"dur":2,"args":)"
       R"({"Collective name":"allreduce","Group size":2,"dtype":"Quad"}}]})",
       "1:129: there is no element type \"Quad\" | "},
      {R"({"traceEvents": 3, "x": {"nodes": 1}})", "file: there is no list \"traceEvents\", "},
      {R"({"traceEvents":[)", "1:17: "},
      {R"({"workload_graph":[{"Id":1,"NodeType":4,"data_deps":[1]},)"
       R"({"Id":2,"NodeType":7,"comm_type":0,"comm_size":4}]})",
       "1:20: node 1, \"\", waits for itself, by way of its dependencies | "},
      {R"({"workload_graph":[{"Id":1,"Name":"x","NodeType":5}]})",
       "1:20: node 1, \"x\", is a message between two ranks, "},
      {R"({"workload_graph":[{"Id":1,"Name":"x","NodeType":7}]})",
       "1:20: node 1, \"x\", is a collective that says neither its kind nor its size | "},
      {R"({"workload_graph":[{"Id":1,"NodeType":4},{"Id":1,"NodeType":4}]})",
       "1:42: there are two nodes with the number 1 | "},
      {R"({"workload_graph":[{"Id":1,"NodeType":4,"runtime":-1}]})",
       "1:51: this is no time in us | "},
      {R"({"workload_graph":[{"Id":1,"NodeType":4}]})", "file: the trace has no collective: "},
      {R"({"schema":"1","nodes":[]})", "file: the trace has no collective among its 0 nodes | "},
      {"HYBRID_DLRM 3\n1\n", "1:1: workloads of the policy HYBRID_DLRM are not read | "},
      {"DATA\n", "1:1: the second line must be the number of layers | "},
      {"DATA\n2\na -1 1 NONE 0 1 NONE 0 1 NONE 0 0\n", "2:1: the file says 2 layers and has 1 | "},
      {"DATA\n1\na -1 1 NONE 0 1 NONE 0 1 NONE 0\n", "3:1: a layer has 12 fields, not 11 | "},
      {"DATA\n1\na -1 1 NONE 0 1 NONE 0 1 ALLREDUCES 4 0\n",
       "3:26: there is no collective \"ALLREDUCES\" | "},
      {"DATA\n1\na -1 -1 NONE 0 1 NONE 0 1 NONE 0 0\n", "3:6: this is no time | "},
      {"DATA\n1\na -1 1 NONE 0 1 NONE 0 1 ALLREDUCE 9999999999999999 0\n",
       "3:36: this is no number of bytes | "},
      {"DATA pp: 4\n1\na -1 1 NONE 0 1 NONE 0 1 NONE 0 0\n",
       "1:1: this workload is one of 4 stages of a pipeline, "},
      {"collective,nelems,dtype,group_size,start_us,dur_us\nbroadcast,53\n",
       "2:1: this row has 2 cells and the first line 6 | "},
      {kernel_table("allfoo,53,Float,2,0,7"), "2:1: \"allfoo\" is no collective | "},
      {kernel_table("broadcast,53,float33,2,0,7"), "2:1: \"float33\" is no dtype | "},
      {kernel_table("broadcast,53,Float,none,0,7"), "2:1: \"none\" is no group_size | "},
      {"bucket_bytes_in_launch_order\nlimits 1 2\n",
       "2:1: this row has no list of bytes, with blanks between | "},
      {"Time (%),Total Time (ns),Instances\n", "file: a table of nsys does not say "},
  };
  for (const auto& [text, expected] : refused) {
    const std::string found = mistakes_in(text);
    EXPECT_EQ(found.substr(0, expected.size()), expected) << text;
  }
}

}  // namespace
}  // namespace collsim
