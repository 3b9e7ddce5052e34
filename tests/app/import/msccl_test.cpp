// SPDX-License-Identifier: Apache-2.0
#include "app/import/msccl.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "collectives/checker.hpp"
#include "tests/contains.hpp"
#include "tests/shared_samples.hpp"

namespace collsim {
namespace {

struct Read {
  std::optional<ListedSchedule> list;
  std::string mistakes;  // "5:12 message; hint", one a line
};

Read read(const std::string& text) {
  Sources sources;
  Diagnostics diagnostics;
  Read result;
  result.list =
      read_msccl(sources.add(Sources::Kind::file, "file.xml", text), sources, diagnostics);
  for (const Diagnostic& one : diagnostics.sorted()) {
    const auto at = sources.locate(one.place.source, one.place.begin);
    result.mistakes += std::to_string(at.line) + ":" + std::to_string(at.column) + " " +
                       one.message + (one.hint.empty() ? "" : "; " + one.hint) + "\n";
  }
  EXPECT_EQ(result.list.has_value(), result.mistakes.empty());
  return result;
}

// Two gpus add up two chunks: each sends one, adds what it receives to the other, and sends that
// back.
// Gpu 1 does it with a thread block for each direction.
constexpr const char* two_gpus_exchange = R"(<?xml version="1.0"?>
<!-- made by hand -->
<algo name="pair" proto="LL" nchannels="1" nchunksperloop="2" ngpus="2" coll="allreduce" inplace="1"
      outofplace="0" minBytes="8" maxBytes="4096">
  <gpu id="0" i_chunks="2" o_chunks="0" s_chunks="0">
    <tb id="0" send="1" recv="1" chan="0">
      <step s="0" type="s" srcbuf="i" srcoff="1" dstbuf="i" dstoff="1" cnt="1" depid="-1" deps="-1" hasdep="0"/>
      <step s="1" type="rrcs" srcbuf="i" srcoff="0" dstbuf="i" dstoff="0" cnt="1" depid="-1" deps="-1" hasdep="0"/>
      <step s="2" type="r" srcbuf="i" srcoff="1" dstbuf="i" dstoff="1" cnt="1" depid="-1" deps="-1" hasdep="0"/>
    </tb>
  </gpu>
  <gpu id="1" i_chunks="2" o_chunks="0" s_chunks="1">
    <tb id="0" send="0" recv="-1" chan="0">
      <step s="0" type="s" srcbuf="i" srcoff="0" dstbuf="i" dstoff="0" cnt="1" depid="-1" deps="-1" hasdep="1"/>
      <step s="1" type="nop" srcbuf="i" srcoff="-1" dstbuf="o" dstoff="-1" cnt="0" depid="1" deps="0" hasdep="0"/>
      <step s="2" type="re" srcbuf="s" srcoff="0" dstbuf="i" dstoff="1" cnt="1" depid="1" deps="0" hasdep="0"/>
      <step s="3" type="s" srcbuf="i" srcoff="1" dstbuf="i" dstoff="1" cnt="1" depid="-1" deps="-1" hasdep="0"/>
    </tb>
    <tb id="1" send="-1" recv="0" chan="0">
      <step s="0" type="r" srcbuf="s" srcoff="0" dstbuf="s" dstoff="0" cnt="1" depid="-1" deps="-1" hasdep="1"/>
      <step s="1" type="r" srcbuf="i" srcoff="0" dstbuf="i" dstoff="0" cnt="1" depid="0" deps="0" hasdep="0"/>
    </tb>
  </gpu>
</algo>
)";

std::string changed(const std::string& from, const std::string& to) {
  std::string text = two_gpus_exchange;
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

Collective collective_of(const ListedSchedule& list) {
  Collective collective;
  collective.operation = *list.operation;
  collective.group = first_ranks(static_cast<std::size_t>(list.positions));
  collective.in_place = !list.out_of_place;
  return collective;
}

std::string ops(const ListedSchedule& list, int position, std::size_t lane) {
  std::string text;
  for (const ListedInstruction& one : list.program(position, Lane(lane)))
    text += std::string(text.empty() ? "" : ", ") + to_string(one.op);
  return text;
}

TEST(Msccl, ReadsWhatTheFileSays) {
  const Read read_file = read(two_gpus_exchange);
  ASSERT_TRUE(read_file.list) << read_file.mistakes;
  const ListedSchedule& list = *read_file.list;
  EXPECT_EQ(list.title, "pair");
  EXPECT_EQ(list.protocol, "LL");
  EXPECT_EQ(list.operation, Operation::all_reduce);
  EXPECT_EQ(list.positions, 2);
  EXPECT_EQ(list.blocks, 2);
  EXPECT_EQ(list.lanes, 2);
  EXPECT_TRUE(list.in_place);
  EXPECT_FALSE(list.out_of_place);
  EXPECT_EQ(list.least, 8);
  EXPECT_EQ(list.most, 4096);
  EXPECT_EQ(list.scratch, (std::vector<int>{0, 1}));
  const CheckReport report = check_in_blocks(list, collective_of(list));
  EXPECT_TRUE(report.ok) << report.fault->text;
}

TEST(Msccl, MakesSignalsAndWaitsOfDependencies) {
  const Read file = read(two_gpus_exchange);
  ASSERT_TRUE(file.list) << file.mistakes;
  EXPECT_EQ(ops(*file.list, 0, 0), "send, receive_reduce_store_send, receive");
  // The nop and the step after it wait for the same step: once is enough.
  EXPECT_EQ(ops(*file.list, 1, 0), "send, signal, wait, local_reduce, send");
  EXPECT_EQ(ops(*file.list, 1, 1), "receive, signal, wait, receive");
  const ListedInstruction& wait = file.list->program(1, Lane(0))[2];
  EXPECT_EQ(wait.from, (Endpoint{Rank(1), Lane(1)}));
  EXPECT_EQ(wait.line, 15);
}

TEST(Msccl, FindsWhereAFileIsCutOff) {
  const std::string whole = two_gpus_exchange;
  const std::size_t end = whole.rfind('>') + 1;
  const std::size_t root = whole.find("<algo");
  for (std::size_t length = root + 5; length < end; ++length) {
    const Read file = read(whole.substr(0, length));
    ASSERT_FALSE(file.list) << length;
    ASSERT_NE(file.mistakes.find("the file is cut off: it ends inside"), std::string::npos)
        << whole.substr(0, length) << "\n"
        << file.mistakes;
  }
  const std::size_t in_a_step = whole.find("type=\"rrcs\"");
  expect_contains(read(whole.substr(0, in_a_step)).mistakes,
                  "8:18 the file is cut off: it ends inside <step, before </tb>, </gpu>, </algo>");
}

TEST(Msccl, SaysWhatIsWrongAndWhere) {
  struct Mistake {
    const char *from, *to, *message;
  };
  const Mistake mistakes[] = {
      {"coll=\"allreduce\"", "coll=\"allredcue\"",
       "3:73 unknown collective \"allredcue\"; allowed: allreduce"},
      {"proto=\"LL\"", "proto=\"LL64\"",
       "3:19 unknown protocol \"LL64\"; allowed: LL, LL128, Simple"},
      {"ngpus=\"2\"", "ngpus=\"3\"", "gpu 2 is missing: ngpus is 3"},
      {"ngpus=\"2\"", "ngpus=\"2000000000\"", "ngpus is 2000000000, but must be 1 to 1024"},
      {"<gpu id=\"1\"", "<gpu id=\"0\"", "gpu 0 is there more than once"},
      {"i_chunks=\"2\"", "i_chunks=\"3\"",
       "5:15 i_chunks is 3, but must be 2 or 0: nchunksperloop is 2"},
      {"tb id=\"1\"", "tb id=\"2\"",
       "thread blocks are numbered 0, 1, 2, ...: this is number 1, not 2"},
      {"send=\"1\"", "send=\"0\"", "6:16 send names gpu 0 itself"},
      {"send=\"1\"", "send=\"7\"", "send is 7, but must be -1 to 1"},
      {"chan=\"0\"", "chan=\"4\"", "chan is 4, but must be 0 to 0"},
      {"send=\"1\"", "send=\"-1\"", "s sends, but the thread block has send=\"-1\""},
      {"s=\"1\" type", "s=\"2\" type", "steps are numbered 0, 1, 2, ...: this is step 1, not 2"},
      {"type=\"rrcs\"", "type=\"rrsc\"", "8:19 unknown type of step \"rrsc\"; allowed: s, r, rcs"},
      {"type=\"rrcs\"", "type=\"ra\"", "ra adds a second input"},
      {"srcbuf=\"s\"", "srcbuf=\"x\"",
       "unknown buffer \"x\"; allowed: i (input), o (output), s (scratch)"},
      {"srcoff=\"1\"", "srcoff=\"2\"", "7:39 chunk 2 of input, which has 2"},
      {"srcbuf=\"s\" srcoff=\"0\"", "srcbuf=\"s\" srcoff=\"1\"", "chunk 1 of scratch, which has 1"},
      {"cnt=\"1\"", "cnt=\"72\"", "cnt is 72, but must be 1 to 71"},
      {"cnt=\"1\"", "cnt=\"one\"", "cnt is a whole number, not \"one\""},
      {" cnt=\"1\"", "", "7:7 <step> has no cnt"},
      {"depid=\"1\" deps=\"0\"", "depid=\"1\" deps=\"5\"",
       "waits for thread block 1 step 5, which does not exist"},
      {"hasdep=\"1\"/>\n      <step s=\"1\" type=\"nop\"",
       "hasdep=\"0\"/>\n      <step s=\"1\" type=\"nop\"",
       "waits for thread block 0 step 0 (line 14), which has hasdep=\"0\" and tells nobody"},
      {"<tb id=\"1\" send=\"-1\" recv=\"0\"", "<tb id=\"1\" send=\"0\" recv=\"0\"",
       "thread blocks 0 and 1 of gpu 1 both send to gpu 0 on channel 0"},
      {"<algo", "<system/><algo", "an MSCCL file holds one <algo>"},
      {"<gpu id=\"0\"", "<gpus/><gpu id=\"0\"", "<algo> holds <gpu>, not <gpus>"},
      {"</tb>", "</bt>", "mismatch"},
  };
  for (const Mistake& mistake : mistakes)
    expect_contains(read(changed(mistake.from, mistake.to)).mistakes, mistake.message);
}

// What leans on a mistake is not one more: the number of gpus is not known, so none is missing, and
// the step of an unknown type is not missed by the one that waits for it.
TEST(Msccl, TellsAllMistakesInTheOrderOfTheFile) {
  std::string text = two_gpus_exchange;
  const auto change = [&](const std::string& from, const std::string& to) {
    ASSERT_NE(text.find(from), std::string::npos) << from;
    text.replace(text.find(from), from.size(), to);
  };
  change("proto=\"LL\"", "proto=\"LL64\"");
  change("ngpus=\"2\"", "ngpus=\"two\"");
  change("i_chunks=\"2\"", "i_chunks=\"3\"");
  change("type=\"rrcs\"", "type=\"rrsc\"");
  change("cnt=\"1\"", "cnt=\"72\"");
  change("send=\"0\" recv=\"-1\" chan=\"0\"", "send=\"0\" recv=\"-1\" chan=\"1\"");
  change("s=\"2\" type=\"re\" srcbuf=\"s\"", "s=\"2\" type=\"re\" srcbuf=\"x\"");
  change("type=\"r\" srcbuf=\"s\" srcoff=\"0\" dstbuf=\"s\" dstoff=\"0\" cnt=\"1\" depid=\"-1\"",
         "type=\"r\" srcbuf=\"s\" srcoff=\"0\" dstbuf=\"s\" dstoff=\"0\" cnt=\"1\" depid=\"9\"");
  const Read file = read(text);
  EXPECT_EQ(file.mistakes,
            "3:19 unknown protocol \"LL64\"; allowed: LL, LL128, Simple\n"
            "3:65 ngpus is a whole number, not \"two\"\n"
            "5:15 i_chunks is 3, but must be 2 or 0: nchunksperloop is 2\n"
            "7:72 cnt is 72, but must be 1 to 71\n"
            "8:19 unknown type of step \"rrsc\"; allowed: s, r, rcs, rrc, rrs, rrcs, cpy, re, nop\n"
            "13:35 chan is 1, but must be 0 to 0\n"
            "16:29 unknown buffer \"x\"; allowed: i (input), o (output), s (scratch)\n"
            "20:7 waits for thread block 9 step -1, which does not exist\n");
}

TEST(Msccl, OneMistakeIsOneMessage) {
  struct Mistake {
    const char *from, *to;
  };
  const Mistake mistakes[] = {
      {"nchunksperloop=\"2\"", "nchunksperloop=\"x\""},
      {"ngpus=\"2\"", "ngpus=\"2000000000\""},
      {"nchannels=\"1\"", "nchannels=\"\""},
      {"inplace=\"1\"", "inplace=\"2\""},
      {"<gpu id=\"1\"", "<gpu id=\"0\""},
      {"<gpu id=\"1\"", "<gpu id=\"5\""},
      {"s_chunks=\"1\"", "s_chunks=\"one\""},
      {"send=\"0\" recv=\"-1\"", "send=\"7\" recv=\"-1\""},
      {"send=\"-1\" recv=\"0\"", "send=\"-1\" recv=\"x\""},
      {"send=\"1\" recv=\"1\"", "send=\"0\" recv=\"1\""},
      {"tb id=\"1\"", "tb id=\"2\""},
      {"s=\"1\" type=\"nop\"", "s=\"2\" type=\"nop\""},
      {"type=\"nop\"", "type=\"no\""},
      {"hasdep=\"1\"", "hasdep=\"7\""},
      {"srcbuf=\"s\"", "srcbuf=\"x\""},
      {" cnt=\"1\"", ""},
      {"srcoff=\"1\"", "srcoff=\"2\""},
      {"depid=\"1\" deps=\"0\"", "depid=\"1\" deps=\"x\""},
  };
  for (const Mistake& mistake : mistakes) {
    const std::string told = read(changed(mistake.from, mistake.to)).mistakes;
    EXPECT_EQ(std::count(told.begin(), told.end(), '\n'), 1) << mistake.to << "\n" << told;
  }
}

TEST(Msccl, RefusesWhatIsNoSuchFile) {
  expect_contains(read("").mistakes, "1:1 ");
  expect_contains(read("{ \"name\": \"allreduce\" }").mistakes, "1:1 this is no XML");
  expect_contains(
      read("<system version=\"1\"/>").mistakes,
      "an MSCCL file begins with <algo>, not with <system>; this is a topology of NCCL");
}

TEST(Msccl, NeedsAnOtherEnd) {
  std::string text = changed("nchannels=\"1\"", "nchannels=\"2\"");
  const std::string block = "recv=\"0\" chan=\"0\"";
  text.replace(text.find(block), block.size(), "recv=\"0\" chan=\"1\"");
  expect_contains(read(text).mistakes,
                  "7:7 no thread block of gpu 1 receives from gpu 0 on channel 0\n");
  text = changed("send=\"0\" recv=\"-1\" chan=\"0\"", "send=\"0\" recv=\"-1\" chan=\"1\"");
  text.replace(text.find("nchannels=\"1\""), 13, "nchannels=\"2\"");
  expect_contains(read(text).mistakes,
                  "8:7 no thread block of gpu 1 sends to gpu 0 on channel 0\n");
}

TEST(Msccl, ANopNeedsAStepThatItWaitsFor) {
  const std::string text = changed("dstoff=\"1\" cnt=\"1\" depid=\"1\" deps=\"0\"",
                                   "dstoff=\"1\" cnt=\"1\" depid=\"-1\" deps=\"-1\"");
  expect_contains(read(text).mistakes, "15:7 a nop must be followed by a step with a depid");
}

// A program that MSCCL would run, with a wrong result.
TEST(Msccl, ACheckNamesThePlaceInTheFile) {
  const Read file = read(
      changed("type=\"rrcs\" srcbuf=\"i\" srcoff=\"0\"", "type=\"rcs\" srcbuf=\"i\" srcoff=\"0\""));
  ASSERT_TRUE(file.list) << file.mistakes;
  const Collective collective = collective_of(*file.list);
  const CheckReport report = check_in_blocks(*file.list, collective);
  ASSERT_FALSE(report.ok);
  const std::string text = fault_in_file(*file.list, collective, *report.fault);
  expect_contains(text, "gpu 0, thread block 0, step 1 (line 8): ");
  expect_contains(text, "output[0] must start with element 0 of the sum over all 2 ranks");
}

TEST(MscclSamples, AreReadAndProvedOrRefusedForTheTrueReason) {
  const auto folder = shared_samples("msccl_xml");
  if (!folder) GTEST_SKIP() << no_samples;
  std::size_t proved = 0, cut_off = 0;
  for (const auto& entry : std::filesystem::directory_iterator(*folder)) {
    SCOPED_TRACE(entry.path().filename().string());
    std::ifstream stream(entry.path());
    const Read file = read({std::istreambuf_iterator<char>(stream), {}});
    if (entry.path().filename().string().find("TRUNCATED") != std::string::npos) {
      expect_contains(file.mistakes,
                      "1113:114 the file is cut off: it ends inside <tb>, before </tb>");
      ++cut_off;
      continue;
    }
    ASSERT_TRUE(file.list) << file.mistakes;
    const Collective collective = collective_of(*file.list);
    const CheckReport report = check_in_blocks(*file.list, collective);
    EXPECT_TRUE(report.ok) << fault_in_file(*file.list, collective, *report.fault);
    ++proved;
  }
  EXPECT_GE(proved, 12U);
  EXPECT_EQ(cut_off, 1U);
}

// Every number of a published file that matters, one at a time: nothing that changes the result may
// pass.  What MSCCL does not look at may.
TEST(MscclSamples, AWrongChunkIsFound) {
  const auto folder = shared_samples("msccl_xml");
  if (!folder) GTEST_SKIP() << no_samples;
  std::ifstream stream(*folder / "rccl_allgather-allpairs-8n-ll.xml");
  const std::string text{std::istreambuf_iterator<char>(stream), {}};
  std::size_t changed = 0;
  for (std::size_t at = text.find("type=\"s\""); at != std::string::npos;
       at = text.find("type=\"s\"", at + 1)) {
    const std::size_t digit = text.find("srcoff=\"", at) + 8;
    std::string other = text;
    other[digit] = text[digit] == '7' ? '0' : static_cast<char>(text[digit] + 1);
    const Read file = read(other);
    ASSERT_TRUE(file.list) << file.mistakes;
    EXPECT_FALSE(check_in_blocks(*file.list, collective_of(*file.list)).ok) << at;
    ++changed;
  }
  EXPECT_EQ(changed, 56U);
}

}  // namespace
}  // namespace collsim
