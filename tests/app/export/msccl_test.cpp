// SPDX-License-Identifier: Apache-2.0
//
// Every algorithm of the table, written as an MSCCL file and read again, is the same schedule: it
// is
// proved right, and every step takes place at the same picosecond.
#include "app/export/msccl.hpp"

#include <gtest/gtest.h>

#include <bit>

#include "app/import/msccl.hpp"
#include "collectives/checker.hpp"
#include "sim/simulate.hpp"
#include "tests/collectives/rows.hpp"
#include "tests/contains.hpp"
#include "tests/sanitized.hpp"
#include "topo/shapes.hpp"

namespace collsim {
namespace {

struct Export {
  Collective collective;
  AlgorithmChoice choice;
};

std::string text_of(const Export& one) {
  return std::string(to_string(one.collective.operation)) + " " + one.choice.name + ", " +
         std::to_string(one.collective.size()) + " ranks, " + std::to_string(one.choice.chunks) +
         " chunks, " + std::to_string(one.choice.channels) + " channels" +
         (one.collective.in_place ? ", in place" : "");
}

// Divides evenly wherever an algorithm cuts it.
Export make_export(const Algorithm& row, int ranks, int chunks, int channels, bool in_place) {
  Export one;
  one.collective.operation = row.operation;
  one.collective.group = first_ranks(static_cast<std::size_t>(ranks));
  one.collective.root = takes_root(row) ? 1 % ranks : 0;
  one.collective.in_place = in_place;
  one.collective.count = std::int64_t{12} * ranks * chunks * channels * row.lanes;
  one.collective.count *= std::bit_floor(static_cast<unsigned>(ranks));
  one.choice.name = row.name;
  one.choice.chunks = chunks;
  one.choice.channels = channels;
  return one;
}

std::shared_ptr<const ListedSchedule> imported(const std::string& text) {
  Sources sources;
  Diagnostics diagnostics;
  const auto source = sources.add(Sources::Kind::file, "file.xml", text);
  auto list = read_msccl(source, sources, diagnostics);
  EXPECT_TRUE(list) << to_text(diagnostics, sources) << text;
  return list ? std::make_shared<const ListedSchedule>(std::move(*list)) : nullptr;
}

Schedule schedule_of(const Export& one, const std::shared_ptr<const ListedSchedule>& list) {
  AlgorithmChoice choice;
  choice.name = std::string(listed_prefix) + list->file;
  choice.list = list;
  return make_schedule(one.collective, choice);
}

LinkParameters link_with(Sharing sharing) {
  LinkParameters link{gigabytes_per_second(25), microseconds(1), microseconds(5)};
  link.sharing = sharing;
  return link;
}

void expect_same_times(const Export& one, const std::shared_ptr<const ListedSchedule>& list) {
  const auto ranks = static_cast<std::size_t>(one.collective.size());
  const Schedule ours = make_schedule(one.collective, one.choice);
  const Schedule again = schedule_of(one, list);
  const CheckReport report = check(again);
  ASSERT_TRUE(report.ok) << text_of(one) << ": " << report.fault->text;
  for (const Sharing sharing : {Sharing::exclusive, Sharing::fair}) {
    const Topology network = make_switch(ranks, link_with(sharing));
    const Simulation first = simulate(network, ours);
    const Simulation second = simulate(network, again);
    ASSERT_EQ(first.time, second.time) << text_of(one);
    ASSERT_EQ(first.instructions, second.instructions) << text_of(one);
    ASSERT_EQ(first.fingerprint, second.fingerprint) << text_of(one);
  }
}

// Without the attribute of ours every thread block is a lane of its own, as for MSCCL.
void expect_right_for_others(const Export& one, std::string text) {
  for (std::size_t at = text.find(" lane=\""); at != std::string::npos; at = text.find(" lane=\""))
    text.erase(at, text.find('"', at + 7) + 1 - at);
  const auto list = imported(text);
  ASSERT_TRUE(list) << text_of(one);
  const CheckReport report = check(schedule_of(one, list));
  ASSERT_TRUE(report.ok) << text_of(one) << ": " << report.fault->text;
}

class MscclExport : public ::testing::TestWithParam<const Algorithm*> {};

TEST_P(MscclExport, ReadAgainTakesTheSameTimes) {
  const Algorithm& row = *GetParam();
  int fitting = 0;
  for (const int ranks : nearest_ranks(row, testing::listed_cases<int>({2, 3, 4}, {6, 8, 9, 16})))
    for (const int chunks : {1, 3})
      for (const int channels : {1, 2})
        for (const bool in_place : {false, true}) {
          if (in_place && !has_in_place_form(row.operation)) continue;
          if (ranks > 8 && channels > 1) continue;  // many ranks take as long as all others
          const Export one = make_export(row, ranks, chunks, channels, in_place);
          std::string text;
          try {
            text = to_msccl(one.collective, one.choice);
          } catch (const Error& error) {
            expect_contains(error.what(),
                            row.operation == Operation::barrier ? "no barrier" : "does not fit");
            continue;
          }
          ++fitting;
          const auto list = imported(text);
          ASSERT_TRUE(list) << text_of(one);
          ASSERT_NO_FATAL_FAILURE(expect_same_times(one, list));
          ASSERT_NO_FATAL_FAILURE(expect_right_for_others(one, text));
        }
  if (row.operation == Operation::barrier)
    EXPECT_EQ(fitting, 0);
  else
    EXPECT_GE(fitting, testing::random_cases(8)) << text_of(row);
}
INSTANTIATE_TEST_SUITE_P(Algorithms, MscclExport, ::testing::ValuesIn(all_rows()), name_of);

std::string refusal(Operation operation, const char* name, int ranks, int chunks, int channels) {
  const Export one = make_export(find_algorithm(operation, name), ranks, chunks, channels, false);
  try {
    return to_msccl(one.collective, one.choice);
  } catch (const Error& error) {
    return error.what();
  }
}

TEST(MscclExport, SaysWhichLimitIsExceeded) {
  EXPECT_EQ(
      refusal(Operation::all_to_all, "direct", 256, 1, 1),
      "direct does not fit into an MSCCL file: rank 0 needs more than 216 thread blocks, each "
      "with one peer to send to and one to receive from");
  EXPECT_EQ(
      refusal(Operation::all_reduce, "ring", 8, 64, 1),
      "ring does not fit into an MSCCL file: a thread block of rank 0 needs more than 256 steps");
  EXPECT_EQ(
      refusal(Operation::all_reduce, "ring", 4, 1, 33),
      "ring does not fit into an MSCCL file: it needs more than 32 channels to tell apart what "
      "its lanes send from one rank to another");
  EXPECT_EQ(
      refusal(Operation::all_gather, "recursive-doubling", 256, 1, 1),
      "recursive-doubling does not fit into an MSCCL file: a message would have 128 chunks, and "
      "a step of MSCCL has 1 to 71");
  expect_contains(refusal(Operation::barrier, "dissemination", 4, 1, 1), "MSCCL has no barrier");
}

TEST(MscclExport, WritesWhatTheScenarioAsksFor) {
  const Export one = make_export(find_algorithm(Operation::all_reduce, "ring"), 2, 1, 1, true);
  const std::string text = to_msccl(one.collective, one.choice, {"a <b> & \"c\"", "LL", 8, 4096});
  expect_contains(text,
                  "<algo name=\"a &lt;b> &amp; &quot;c&quot;\" proto=\"LL\" nchannels=\"1\" "
                  "nchunksperloop=\"2\" ngpus=\"2\" coll=\"allreduce\" inplace=\"1\" "
                  "outofplace=\"0\" minBytes=\"8\" maxBytes=\"4096\">");
  EXPECT_EQ(imported(text)->title, "a <b> & \"c\"");
}

TEST(MscclExport, ASubGroupHasTheNumbersOfItsPositions) {
  Export one = make_export(find_algorithm(Operation::all_reduce, "ring"), 3, 1, 1, true);
  const std::string text = to_msccl(one.collective, one.choice);
  one.collective.group = {Rank(7), Rank(2), Rank(5)};
  EXPECT_EQ(to_msccl(one.collective, one.choice), text);
}

}  // namespace
}  // namespace collsim
