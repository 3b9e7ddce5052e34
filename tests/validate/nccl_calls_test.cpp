// SPDX-License-Identifier: Apache-2.0
#include "validate/cuda/nccl_calls.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "collectives/algorithms.hpp"
#include "collectives/execute.hpp"
#include "tests/collectives/collective_of.hpp"
#include "tests/collectives/rows.hpp"
#include "tests/contains.hpp"
#include "validate/cuda/nccl_library.hpp"
#include "validate/data_check.hpp"

namespace collsim {
namespace {

constexpr NcclPlace in(std::uint64_t offset = 0) {
  return {Buffer::input, offset};
}
constexpr NcclPlace out(std::uint64_t offset = 0) {
  return {Buffer::output, offset};
}

TEST(NcclCalls, NumbersAreThoseOfNcclsHeader) {
  EXPECT_EQ(nccl_type(ElementType::i8), 0);
  EXPECT_EQ(nccl_type(ElementType::u8), 1);
  EXPECT_EQ(nccl_type(ElementType::i32), 2);
  EXPECT_EQ(nccl_type(ElementType::u32), 3);
  EXPECT_EQ(nccl_type(ElementType::i64), 4);
  EXPECT_EQ(nccl_type(ElementType::u64), 5);
  EXPECT_EQ(nccl_type(ElementType::f16), 6);
  EXPECT_EQ(nccl_type(ElementType::f32), 7);
  EXPECT_EQ(nccl_type(ElementType::f64), 8);
  EXPECT_EQ(nccl_type(ElementType::bf16), 9);
  EXPECT_EQ(nccl_reduction(Reduction::sum), 0);
  EXPECT_EQ(nccl_reduction(Reduction::prod), 1);
  EXPECT_EQ(nccl_reduction(Reduction::max), 2);
  EXPECT_EQ(nccl_reduction(Reduction::min), 3);
  EXPECT_EQ(nccl_reduction(Reduction::avg), 4);
}

TEST(NcclCalls, AllReduceIsOneCallPerRank) {
  Collective collective = collective_of(Operation::all_reduce, 2, 100, ElementType::bf16);
  collective.reduction = Reduction::max;
  const NcclWork work = nccl_work(collective);
  EXPECT_EQ(work.type, 9);
  EXPECT_EQ(work.reduction, 2);
  EXPECT_TRUE(work.notes.empty());
  EXPECT_EQ(work.calls,
            (std::vector<NcclCall>{{NcclFunction::all_reduce, 0, in(), out(), 100, 0},
                                   {NcclFunction::all_reduce, 1, in(), out(), 100, 0}}));
}

TEST(NcclCalls, OnlyTheRootOfABroadcastReadsItsInput) {
  Collective collective = collective_of(Operation::broadcast, 3, 7);
  collective.root = 1;
  EXPECT_EQ(nccl_work(collective).calls,
            (std::vector<NcclCall>{{NcclFunction::broadcast, 0, out(), out(), 7, 1},
                                   {NcclFunction::broadcast, 1, in(), out(), 7, 1},
                                   {NcclFunction::broadcast, 2, out(), out(), 7, 1}}));
}

TEST(NcclCalls, AllGatherCountsWhatOneRankHas) {
  const NcclWork work = nccl_work(collective_of(Operation::all_gather, 4, 40));
  ASSERT_EQ(work.calls.size(), 4U);
  EXPECT_EQ(work.calls[2], (NcclCall{NcclFunction::all_gather, 2, in(), out(), 10, 0}));
}

TEST(NcclCalls, UnevenPiecesAreBroadcastOneByOneAndANoteSaysSo) {
  const NcclWork work = nccl_work(collective_of(Operation::all_gather, 2, 5));
  EXPECT_EQ(work.calls, (std::vector<NcclCall>{{NcclFunction::broadcast, 0, in(), out(), 3, 0},
                                               {NcclFunction::broadcast, 1, out(), out(), 3, 0},
                                               {NcclFunction::broadcast, 0, out(12), out(12), 2, 1},
                                               {NcclFunction::broadcast, 1, in(), out(12), 2, 1}}));
  ASSERT_EQ(work.notes.size(), 1U);
  expect_contains(work.notes[0], "equal pieces");
  EXPECT_EQ(nccl_work(collective_of(Operation::reduce_scatter, 2, 5)).notes.size(), 1U);
  EXPECT_TRUE(nccl_work(collective_of(Operation::reduce_scatter, 2, 6)).notes.empty());
}

TEST(NcclCalls, AGatherInPlaceLeavesTheRootsPieceWhereItIs) {
  Collective collective = collective_of(Operation::gather, 2, 6);
  collective.root = 1;
  collective.in_place = true;
  EXPECT_EQ(nccl_work(collective).calls,
            (std::vector<NcclCall>{{NcclFunction::send, 0, in(), {}, 3, 1},
                                   {NcclFunction::receive, 1, {}, out(), 3, 0}}));
}

TEST(NcclCalls, NoElementsAreNoCalls) {
  for (const Operation operation : all_operations())
    if (operation != Operation::barrier) {
      EXPECT_TRUE(nccl_work(collective_of(operation, 3, 0)).calls.empty()) << to_string(operation);
    }
}

TEST(NcclCalls, ABarrierIsAnAllReduceOfOneNumber) {
  const NcclWork work = nccl_work(collective_of(Operation::barrier, 2, 0));
  const NcclPlace word{Buffer::scratch, 0};
  EXPECT_EQ(work.type, 2);
  EXPECT_EQ(work.calls, (std::vector<NcclCall>{{NcclFunction::all_reduce, 0, word, word, 1, 0},
                                               {NcclFunction::all_reduce, 1, word, word, 1, 0}}));
  EXPECT_EQ(work.notes.size(), 1U);
}

TEST(NcclMemory, InPlaceInputAndOutputShare) {
  Collective collective = collective_of(Operation::all_gather, 4, 400);
  const PlannedMemory apart = nccl_memory(collective, 2);
  EXPECT_EQ(apart.input, 0U);
  EXPECT_EQ(apart.output, 512U);  // 400 bytes of input, aligned
  EXPECT_EQ(apart.output_bytes, 1600U);
  EXPECT_GE(apart.bytes, apart.scratch + 4);
  collective.in_place = true;
  const PlannedMemory shared = nccl_memory(collective, 2);
  EXPECT_EQ(shared.output, 0U);
  EXPECT_EQ(shared.input, 800U);
  EXPECT_GE(shared.scratch, 1600U);
}

// --- the calls carried out by something that follows NCCL's rules --------------------------------

class FakeRanks {
 public:
  explicit FakeRanks(const Collective& collective)
      : search_(load_nccl({std::string(COLLSIM_FAKE_NCCL) + "/fake_nccl.so"})),
        collective_(collective),
        memories_(collective.group.size()),
        streams_(collective.group.size()) {}
  ~FakeRanks() {
    for (const NcclRank& rank : ranks_)
      if (rank.communicator) nccl().destroy(rank.communicator);
  }
  FakeRanks(const FakeRanks&) = delete;
  FakeRanks& operator=(const FakeRanks&) = delete;

  // "" when every rank's output is right.
  std::string problem(const std::vector<std::vector<std::byte>>& inputs) {
    if (!search_.library) return search_.problem;
    connect();
    fill(inputs);
    const NcclWork work = nccl_work(collective_);
    if (nccl().group_start() != nccl_success) return "no group";
    for (const NcclCall& call : work.calls)
      if (make_call(nccl(), work, call, ranks_[static_cast<std::size_t>(call.position)]) !=
          nccl_success)
        return std::string(to_string(call.function)) + " was refused";
    if (nccl().group_end() != nccl_success) return "the calls do not match";
    return first_problem(inputs);
  }

 private:
  [[nodiscard]] const NcclFunctions& nccl() const { return search_.library->call; }

  void connect() {
    const std::size_t count = memories_.size();
    std::vector<NcclCommunicator> communicators(count);
    std::vector<int> devices;
    for (std::size_t i = 0; i < count; ++i) devices.push_back(static_cast<int>(i));
    ASSERT_EQ(nccl().init_all(communicators.data(), static_cast<int>(count), devices.data()), 0);
    for (std::size_t i = 0; i < count; ++i) {
      const PlannedMemory layout = nccl_memory(collective_, static_cast<int>(i));
      memories_[i].assign(layout.bytes, std::byte{0x7b});
      ranks_.push_back({memories_[i].data(), layout, communicators[i], &streams_[i]});
    }
  }

  void fill(const std::vector<std::vector<std::byte>>& inputs) {
    for (std::size_t i = 0; i < ranks_.size(); ++i)
      std::copy(inputs[i].begin(), inputs[i].end(), ranks_[i].memory + ranks_[i].layout.input);
  }

  std::string first_problem(const std::vector<std::vector<std::byte>>& inputs) {
    for (std::size_t i = 0; i < ranks_.size(); ++i) {
      const PlannedMemory& layout = ranks_[i].layout;
      const std::byte* begin = ranks_[i].memory + layout.output;
      std::string problem = nccl_difference(collective_, inputs, static_cast<int>(i),
                                            {begin, begin + layout.output_bytes});
      if (!problem.empty()) return problem;
    }
    return "";
  }

  NcclSearch search_;
  Collective collective_;
  std::vector<std::vector<std::byte>> memories_;
  std::vector<char> streams_;  // only their addresses count
  std::vector<NcclRank> ranks_;
};

std::string to_text(const Collective& collective) {
  return std::string(to_string(collective.operation)) + ", " + std::to_string(collective.size()) +
         " ranks, " + std::to_string(collective.count) + " " +
         std::string(to_string(collective.type)) + " " +
         std::string(to_string(collective.reduction)) + ", root " +
         std::to_string(collective.root) + (collective.in_place ? ", in place" : "");
}

// The fake adds up no 16-bit floats.
bool fake_adds(ElementType type) {
  return type != ElementType::f16 && type != ElementType::bf16;
}

TEST(NcclCalls, DoWhatEveryCollectiveAsksFor) {
  int cases = 0;
  for (const Operation operation : all_operations())
    for (int ranks = 1; ranks <= 6; ++ranks)
      for (const std::int64_t count : {1, 5, 12, 60, 1009})
        for (const bool in_place : {false, true}) {
          if (in_place && !has_in_place_form(operation)) continue;
          const auto types = all_element_types();
          const auto reductions = all_reductions();
          Collective collective = collective_of(
              operation, ranks, count, types[static_cast<std::size_t>(cases) % types.size()]);
          collective.reduction =
              reductions[static_cast<std::size_t>(cases / 3) % reductions.size()];
          if (reduces(operation) && !fake_adds(collective.type)) collective.type = ElementType::f32;
          if (has_root(operation)) collective.root = cases % ranks;
          collective.in_place = in_place;
          ++cases;
          const auto inputs = make_test_inputs(collective, static_cast<std::uint64_t>(cases));
          EXPECT_EQ(FakeRanks(collective).problem(inputs), "") << to_text(collective);
        }
  EXPECT_EQ(cases, 510);
}

TEST(NcclCalls, DoEveryReductionOfEveryType) {
  int cases = 0;
  for (const ElementType type : all_element_types())
    for (const Reduction reduction : all_reductions()) {
      if (!fake_adds(type)) continue;
      Collective collective = collective_of(Operation::reduce_scatter, 3, 30, type);
      collective.reduction = reduction;
      const auto inputs = make_test_inputs(collective, 3);
      EXPECT_EQ(FakeRanks(collective).problem(inputs), "") << to_text(collective);
      ++cases;
    }
  EXPECT_GE(cases, 20);
}

TEST(NcclCalls, SendRecvFollowsItsPattern) {
  Collective collective = collective_of(Operation::send_recv, 5, 11);
  for (const Pattern& pattern :
       {Pattern{Pattern::Kind::shift, 2, {}}, Pattern{Pattern::Kind::shift, -1, {}},
        Pattern{Pattern::Kind::shift, 5, {}}, Pattern{Pattern::Kind::exchange, 1, {}},
        Pattern{Pattern::Kind::pairs, 1, {{0, 3}, {3, 1}}}}) {
    collective.pattern = pattern;
    EXPECT_EQ(FakeRanks(collective).problem(make_test_inputs(collective, 5)), "");
  }
}

// --- data ----------------------------------------------------------------------------------------

TEST(NcclData, OnlyAveragesOfFloatsOverAnOddNumberOfRanksMayRound) {
  Collective collective = collective_of(Operation::all_reduce, 6, 10);
  EXPECT_FALSE(nccl_rounds(collective));
  EXPECT_EQ(nccl_tolerance(collective), 0);
  collective.reduction = Reduction::avg;
  EXPECT_TRUE(nccl_rounds(collective));
  EXPECT_DOUBLE_EQ(nccl_tolerance(collective), 4 * 0x1p-23);
  collective.type = ElementType::i32;
  EXPECT_FALSE(nccl_rounds(collective));
  collective.type = ElementType::f16;
  collective.group = first_ranks(8);
  EXPECT_FALSE(nccl_rounds(collective));
  collective.group = first_ranks(6);
  collective.operation = Operation::all_gather;
  EXPECT_FALSE(nccl_rounds(collective));
}

std::vector<std::byte> moved_by(std::vector<std::byte> output, float factor) {
  float value = 0;
  for (std::size_t at = 0; at < output.size(); at += sizeof value) {
    std::memcpy(&value, output.data() + at, sizeof value);
    value *= factor;
    std::memcpy(output.data() + at, &value, sizeof value);
  }
  return output;
}

TEST(NcclData, WhatIsNearEnoughIsRightAndNothingElse) {
  Collective collective = collective_of(Operation::all_reduce, 6, 1000);
  collective.reduction = Reduction::avg;
  const auto inputs = make_test_inputs(collective, 1);
  const auto expected = expected_output(collective, inputs, 0);
  EXPECT_EQ(nccl_difference(collective, inputs, 0, expected), "");
  EXPECT_EQ(nccl_difference(collective, inputs, 0, moved_by(expected, 1 + 0x1p-23F)), "");
  EXPECT_NE(nccl_difference(collective, inputs, 0, moved_by(expected, 1 + 0x1p-19F)), "");
  EXPECT_NE(nccl_difference(collective, inputs, 0, moved_by(expected, 0)), "");
  EXPECT_NE(nccl_difference(collective, inputs, 0, {}), "");
  const auto nan = moved_by(expected, std::numeric_limits<float>::quiet_NaN());
  EXPECT_NE(nccl_difference(collective, inputs, 0, nan), "");
  // Sums are exact, so nothing but the same bits will do.
  collective.reduction = Reduction::sum;
  const auto sum = expected_output(collective, inputs, 0);
  EXPECT_EQ(nccl_difference(collective, inputs, 0, sum), "");
  EXPECT_NE(nccl_difference(collective, inputs, 0, moved_by(sum, 1 + 0x1p-23F)), "");
}

// --- settings ------------------------------------------------------------------------------------

using Variables = std::vector<std::pair<std::string, std::string>>;

NcclSettings settings_of(Operation operation, const std::string& algorithm,
                         Protocol protocol = Protocol::simple,
                         NcclChoice choice = NcclChoice::as_scheduled, int ranks = 4) {
  const Schedule schedule = make_schedule(collective_of(operation, ranks, 64), {.name = algorithm});
  return nccl_settings(schedule, protocol, choice);
}

TEST(NcclSettings, WhatNcclHasTooIsForced) {
  const Variables ring{{"NCCL_ALGO", "Ring"}, {"NCCL_PROTO", "Simple"}};
  EXPECT_EQ(settings_of(Operation::all_reduce, "ring").variables, ring);
  EXPECT_EQ(settings_of(Operation::broadcast, "chain").variables, ring);
  EXPECT_EQ(settings_of(Operation::broadcast, "ring").variables, ring);  // its other name
  EXPECT_EQ(settings_of(Operation::reduce, "chain").variables, ring);
  EXPECT_EQ(settings_of(Operation::all_gather, "ring").variables, ring);
  EXPECT_EQ(settings_of(Operation::reduce_scatter, "ring").variables, ring);
  EXPECT_EQ(settings_of(Operation::all_reduce, "ring", Protocol::ll).variables,
            (Variables{{"NCCL_ALGO", "Ring"}, {"NCCL_PROTO", "LL"}}));
}

TEST(NcclSettings, ATreeIsAChainInsideOneMachineAndANoteSaysSo) {
  const NcclSettings tree = settings_of(Operation::all_reduce, "double-tree", Protocol::ll);
  EXPECT_EQ(tree.variables, (Variables{{"NCCL_ALGO", "Tree"}, {"NCCL_PROTO", "LL"}}));
  ASSERT_EQ(tree.notes.size(), 2U);
  expect_contains(tree.notes[1], "chain up and down");
  EXPECT_EQ(settings_of(Operation::all_reduce, "chain").notes.size(), 1U);
}

TEST(NcclSettings, TheRestIsFreeAndANoteSaysSo) {
  const auto expect_free = [](const NcclSettings& settings, const std::string& why) {
    EXPECT_TRUE(settings.variables.empty());
    ASSERT_EQ(settings.notes.size(), 1U);
    expect_contains(settings.notes[0], why);
  };
  expect_free(settings_of(Operation::all_reduce, "swing"), "no counterpart of all-reduce swing");
  // NCCL broadcasts along rings only.
  expect_free(settings_of(Operation::broadcast, "double-tree"), "no counterpart");
  expect_free(settings_of(Operation::all_to_all, ""), "ncclSend");
  expect_free(settings_of(Operation::barrier, ""), "no counterpart");
  expect_free(settings_of(Operation::all_reduce, "ring", Protocol::simple, NcclChoice::free),
              "itself");
  expect_free(
      settings_of(Operation::all_reduce, "ring", Protocol::simple, NcclChoice::as_scheduled, 1),
      "one rank");
}

class NcclEnvironment : public ::testing::Test {
 protected:
  void SetUp() override { forget(); }
  void TearDown() override { forget(); }
  static void forget() {
    unsetenv("NCCL_ALGO");
    unsetenv("NCCL_PROTO");
  }
};

TEST_F(NcclEnvironment, IsSetForAWhile) {
  const NcclSettings settings = settings_of(Operation::all_reduce, "ring", Protocol::ll);
  {
    const NcclVariables variables(settings);
    EXPECT_EQ(variables.notes(), settings.notes);
    EXPECT_STREQ(std::getenv("NCCL_ALGO"), "Ring");
    EXPECT_STREQ(std::getenv("NCCL_PROTO"), "LL");
  }
  EXPECT_EQ(std::getenv("NCCL_ALGO"), nullptr);
}

TEST_F(NcclEnvironment, OfTheUserStaysAsItIs) {
  setenv("NCCL_ALGO", "Tree", 1);
  const NcclVariables variables(settings_of(Operation::all_reduce, "ring"));
  EXPECT_STREQ(std::getenv("NCCL_ALGO"), "Tree");
  EXPECT_EQ(std::getenv("NCCL_PROTO"), nullptr);
  ASSERT_EQ(variables.notes().size(), 1U);
  expect_contains(variables.notes()[0], "NCCL_ALGO=Tree");
}

TEST(NcclPatience, GrowsWithTheBytes) {
  EXPECT_DOUBLE_EQ(nccl_patience_s(collective_of(Operation::barrier, 4, 0), 2), 2);
  EXPECT_DOUBLE_EQ(nccl_patience_s(collective_of(Operation::all_reduce, 4, 25'000'000), 2), 6);
}

}  // namespace
}  // namespace collsim
