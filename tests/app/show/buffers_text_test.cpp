// SPDX-License-Identifier: Apache-2.0
#include "app/show/buffers_text.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <sstream>
#include <string>

#include "app/json/value.hpp"
#include "tests/app/study/testing.hpp"
#include "tests/contains.hpp"
#include "tests/golden.hpp"

namespace collsim {
namespace {

using testing::connected_case;

std::string text_of(const Buffers& buffers, const BuffersStyle& style = {}) {
  std::ostringstream out;
  write_buffers(out, buffers, style);
  return out.str();
}

TEST(BuffersText, ReduceOfTheTutorial) {
  Case point = connected_case(Operation::reduce, 3, "chain");
  point.collective.count = 2;
  point.data = {{{1, 1}, {2, 2}, {3, 3}}};
  expect_text(text_of(show_buffers(point, {.steps = true, .elements = {}})),
              "reduce (sum) by chain on 3 ranks, root 0, float32\n"
              "\n"
              "  rank  before  after\n"
              "     0  [1, 1]  [6, 6]\n"
              "     1  [2, 2]  [2, 2]   unchanged\n"
              "     2  [3, 3]  [3, 3]   unchanged\n"
              "\n"
              "step 1 of 2\n"
              "  rank 2 -> rank 1   [3, 3] + [2, 2] = [5, 5]   passed on\n"
              "\n"
              "step 2 of 2\n"
              "  rank 1 -> rank 0   [5, 5] + [1, 1] = [6, 6]   rank 0 now [6, 6]\n");
}

TEST(BuffersText, PiecesAreListsOfLists) {
  expect_text(text_of(show_buffers(connected_case(Operation::all_gather, 2, "ring"))),
              "all-gather by ring on 2 ranks, float32\n"
              "\n"
              "  rank  before        after\n"
              "     0  [10, 11, 12]  [[10, 11, 12], [20, 21, 22]]\n"
              "     1  [20, 21, 22]  [[10, 11, 12], [20, 21, 22]]\n");
}

TEST(BuffersText, WhatARankCopiesInPiecesIsToldOnce) {
  Case point = connected_case(Operation::broadcast, 2, "chain");
  point.choice.chunks = 3;
  const std::string text = text_of(show_buffers(point, {.steps = true, .elements = {}}));
  expect_contains(text,
                  "\nbefore the first message\n"
                  "  rank 0 copies      [10, 11, 12, 13, 14, 15]   "
                  "rank 0 now [10, 11, 12, 13, 14, 15]\n\nstep 1 of 3\n"
                  "  rank 0 -> rank 1   [10, 11]                   "
                  "rank 1 now [10, 11, -, -, -, -]\n");
}

TEST(BuffersText, SubGroups) {
  Case point = connected_case(Operation::all_reduce, 4, "ring");
  point.collective.group = {Rank(1), Rank(3)};
  point.collective.count = 1;
  expect_text(text_of(show_buffers(point)),
              "all-reduce (sum) by ring on 2 of 4 ranks, float32\n"
              "\n"
              "  rank  before  after\n"
              "     0  -       -       takes no part\n"
              "     1  [20]    [60]\n"
              "     2  -       -       takes no part\n"
              "     3  [40]    [60]\n");
}

TEST(BuffersText, EmptyPiecesAndOneRank) {
  Case point = connected_case(Operation::all_gather, 3, "ring");
  point.collective.count = 2;
  const std::string text = text_of(show_buffers(point));
  expect_contains(text, "     2  []      [[10], [20], []]\n");
  expect_text(
      text_of(show_buffers(connected_case(Operation::all_reduce, 1), {true, {}})).substr(0, 38),
      "all-reduce (sum) by ring on 1 rank, fl");
}

TEST(BuffersText, BarrierTellsWhoWaitsForWhom) {
  expect_text(text_of(show_buffers(connected_case(Operation::barrier, 3, "dissemination"))),
              "barrier by dissemination on 3 ranks\n"
              "\n"
              "no data: a rank continues when it has heard from all it waits for\n"
              "\n"
              "  rank  waits for  tells\n"
              "     0  2, 1       1, 2\n"
              "     1  0, 2       2, 0\n"
              "     2  1, 0       0, 1\n");
}

TEST(BuffersText, ManyRanksAndLongListsAreShortened) {
  Case point = connected_case(Operation::all_gather, 40, "ring");
  point.collective.count = 40;
  const Buffers buffers = show_buffers(point, {.steps = true, .elements = {}});
  const std::string text = text_of(buffers);
  expect_contains(text, "[[10], [20], [30], [40], [50], [60], [70], [80], ..., [390], [400]]");
  expect_contains(text, "  and 24 more ranks (--all shows all)\n");
  expect_contains(text, " more lines, up to step 39 (--all shows all)\n");
  BuffersStyle all;
  all.all = true;
  const std::string everything = text_of(buffers, all);
  expect_lacks(everything, "...");
  expect_lacks(everything, "--all");
}

TEST(BuffersText, WrongResultsCannotBeMissed) {
  Buffers buffers = show_buffers(connected_case(Operation::all_reduce, 2, "ring"));
  buffers.ranks[1].must_be = buffers.ranks[1].after;
  buffers.ranks[1].after->pieces[0][0] = 7;
  buffers.right = false;
  const std::string text = text_of(buffers);
  expect_contains(text, "WRONG, must be [30, 32, 34, 36, 38, 40]\n");
  expect_contains(text, "\nWRONG: some ranks do not hold what the operation requires.\n");
}

TEST(BuffersText, NumbersAreAsShortAsTheirTypeAllows) {
  EXPECT_EQ(number_text(ElementType::f32, 6.0), "6");
  EXPECT_EQ(number_text(ElementType::f32, static_cast<double>(0.1F)), "0.1");
  EXPECT_EQ(number_text(ElementType::f64, 0.1), "0.1");
  EXPECT_EQ(number_text(ElementType::bf16, 0.10009765625), "0.1");
  EXPECT_EQ(number_text(ElementType::f64, -2.5), "-2.5");
  EXPECT_EQ(number_text(ElementType::f64, 1.0 / 3), "0.3333333333333333");
  EXPECT_EQ(number_text(ElementType::f64, -0.0), "0");
  EXPECT_EQ(number_text(ElementType::f64, 3e20), "3e+20");
  EXPECT_EQ(number_text(ElementType::i64, 9'007'199'254'740'992.0), "9007199254740992");
  EXPECT_EQ(number_text(ElementType::f32, -std::numeric_limits<double>::infinity()), "-inf");
  EXPECT_EQ(number_text(ElementType::f32, std::numeric_limits<double>::quiet_NaN()), "nan");
}

TEST(BuffersText, ValueForPrograms) {
  Case point = connected_case(Operation::reduce, 2, "chain");
  point.collective.count = 1;
  point.data = {{{0.5}, {2}}};
  EXPECT_EQ(to_json(to_value(show_buffers(point, {.steps = true, .elements = {}})), -1),
            R"({"op":"reduce","algorithm":"chain","dtype":"float32","reduction":"sum","root":0,)"
            R"("elements":1,"notes":[],"right":true,"problem":null,"ranks":[)"
            R"({"rank":0,"taking_part":true,"before":[0.5],"after":[2.5],"unchanged":false},)"
            R"({"rank":1,"taking_part":true,"before":[2],"after":[2],"unchanged":true}],"steps":[)"
            R"({"step":1,"rank":0,"from":1,"place":"rank","from_place":"rank",)"
            R"("does":"receive_reduce","message":[2],"own":[0.5],)"
            R"("result":[2.5],"after":[2.5]}]})");
}

}  // namespace
}  // namespace collsim
