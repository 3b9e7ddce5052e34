// SPDX-License-Identifier: Apache-2.0
#include "collectives/collective.hpp"
#include "tests/collectives/collective_of.hpp"
#include "tests/contains.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <string>

namespace collsim {
namespace {

ErrorCode code_of(const Collective& collective) {
  try {
    validate(collective);
  } catch (const Error& error) {
    return error.code();
  }
  ADD_FAILURE() << "accepted";
  return ErrorCode::deadlock;
}

TEST(Operation, NamesAreReadBack) {
  EXPECT_EQ(all_operations().size(), 10U);
  for (const Operation operation : all_operations())
    EXPECT_EQ(parse_operation(to_string(operation)), operation);
  EXPECT_EQ(parse_operation("all_reduce"), Operation::all_reduce);
  EXPECT_EQ(parse_operation("AllToAll"), Operation::all_to_all);
  EXPECT_EQ(parse_operation("sendrecv"), Operation::send_recv);
}

TEST(Operation, UnknownNamesSuggestTheNearest) {
  try {
    (void)parse_operation("all-recude");
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::unknown_name);
    expect_contains(error.what(), "did you mean 'all-reduce'");
  }
}

TEST(Collective, RefusesBrokenGroups) {
  Collective collective = collective_of(Operation::all_reduce, 4, 8);
  validate(collective);
  collective.group = {};
  EXPECT_EQ(code_of(collective), ErrorCode::invalid_argument);
  collective.group = {Rank(3), Rank(1), Rank(3)};
  EXPECT_EQ(code_of(collective), ErrorCode::invalid_argument);
  collective.group = {Rank(3), Rank(1), Rank(2)};
  validate(collective);
}

TEST(Collective, RefusesRootsOutsideTheGroup) {
  Collective collective = collective_of(Operation::broadcast, 4, 8);
  collective.root = 3;
  validate(collective);
  collective.root = 4;
  EXPECT_EQ(code_of(collective), ErrorCode::invalid_argument);
  collective.root = -1;
  EXPECT_EQ(code_of(collective), ErrorCode::invalid_argument);
}

TEST(Collective, RefusesImpossibleCounts) {
  Collective collective = collective_of(Operation::all_reduce, 4, 0);
  validate(collective);
  collective.count = -1;
  EXPECT_EQ(code_of(collective), ErrorCode::invalid_argument);
  collective.count = std::numeric_limits<std::int64_t>::max() / 2;
  EXPECT_EQ(code_of(collective), ErrorCode::too_large);  // of 4 bytes each
  collective.type = ElementType::i8;
  validate(collective);
}

TEST(Collective, RefusesInPlaceWhereThereIsNone) {
  for (const Operation operation : all_operations()) {
    Collective collective = collective_of(operation, 4, 8);
    collective.in_place = true;
    if (operation == Operation::all_to_all || operation == Operation::send_recv)
      EXPECT_EQ(code_of(collective), ErrorCode::invalid_argument) << to_string(operation);
    else
      validate(collective);
  }
}

TEST(Collective, RefusesBrokenPairs) {
  Collective collective = collective_of(Operation::send_recv, 4, 8);
  collective.pattern.kind = Pattern::Kind::pairs;
  collective.pattern.pairs = {{0, 1}, {1, 0}, {2, 2}};
  validate(collective);
  collective.pattern.pairs = {{0, 1}, {0, 2}};
  EXPECT_EQ(code_of(collective), ErrorCode::invalid_argument);
  collective.pattern.pairs = {{0, 1}, {2, 1}};
  EXPECT_EQ(code_of(collective), ErrorCode::invalid_argument);
  collective.pattern.pairs = {{0, 4}};
  EXPECT_EQ(code_of(collective), ErrorCode::invalid_argument);
}

// The table of the header, for 3 ranks, 7 elements (pieces of 3, 2, 2) and root 1.
TEST(Collective, CountsAreThoseOfTheTable) {
  const struct {
    Operation operation;
    std::array<std::int64_t, 3> input, output;
  } rows[] = {
      {Operation::broadcast, {0, 7, 0}, {7, 7, 7}},
      {Operation::reduce, {7, 7, 7}, {0, 7, 0}},
      {Operation::all_reduce, {7, 7, 7}, {7, 7, 7}},
      {Operation::all_gather, {3, 2, 2}, {7, 7, 7}},
      {Operation::reduce_scatter, {7, 7, 7}, {3, 2, 2}},
      {Operation::gather, {3, 2, 2}, {0, 7, 0}},
      {Operation::scatter, {0, 7, 0}, {3, 2, 2}},
      {Operation::all_to_all, {7, 7, 7}, {9, 6, 6}},
      {Operation::barrier, {0, 0, 0}, {0, 0, 0}},
      {Operation::send_recv, {7, 7, 7}, {7, 7, 7}},
  };
  for (const auto& row : rows) {
    Collective collective = collective_of(row.operation, 3, 7);
    collective.root = 1;
    for (int i = 0; i < 3; ++i) {
      const auto at = static_cast<std::size_t>(i);
      EXPECT_EQ(input_count(collective, i), row.input[at]) << to_string(row.operation) << i;
      EXPECT_EQ(output_count(collective, i), row.output[at]) << to_string(row.operation) << i;
    }
  }
}

TEST(Collective, AliasingIsThatOfNccl) {
  const auto aliasing_of = [](Operation operation, int position) {
    Collective collective = collective_of(operation, 3, 7);
    collective.root = 1;
    collective.in_place = true;
    const Aliasing found = aliasing(collective, position);
    return std::array<std::int64_t, 3>{found.shared ? 1 : 0, found.input_at, found.output_at};
  };
  using Expected = std::array<std::int64_t, 3>;
  EXPECT_EQ(aliasing_of(Operation::broadcast, 0), (Expected{0, 0, 0}));
  EXPECT_EQ(aliasing_of(Operation::broadcast, 1), (Expected{1, 0, 0}));
  EXPECT_EQ(aliasing_of(Operation::reduce, 1), (Expected{1, 0, 0}));
  EXPECT_EQ(aliasing_of(Operation::reduce, 2), (Expected{0, 0, 0}));
  EXPECT_EQ(aliasing_of(Operation::all_reduce, 2), (Expected{1, 0, 0}));
  EXPECT_EQ(aliasing_of(Operation::all_gather, 2), (Expected{1, 5, 0}));
  EXPECT_EQ(aliasing_of(Operation::reduce_scatter, 1), (Expected{1, 0, 3}));
  EXPECT_EQ(aliasing_of(Operation::gather, 1), (Expected{1, 3, 0}));
  EXPECT_EQ(aliasing_of(Operation::gather, 0), (Expected{0, 0, 0}));
  EXPECT_EQ(aliasing_of(Operation::scatter, 1), (Expected{1, 0, 3}));
  EXPECT_EQ(aliasing(collective_of(Operation::all_reduce, 3, 7), 0).shared, false);
}

// Requirements cover the output exactly and ask for elements that the inputs have.
TEST(Collective, RequirementsCoverTheOutput) {
  for (const Operation operation : all_operations())
    for (const std::int64_t count : {0, 1, 3, 7, 20})
      for (int position = 0; position < 5; ++position) {
        Collective collective = collective_of(operation, 5, count);
        collective.root = 2;
        std::int64_t covered = 0;
        for (const Requirement& part : requirements(collective, position)) {
          EXPECT_EQ(part.output_offset, covered);
          EXPECT_GT(part.count, 0);
          covered += part.count;
          const int giver = part.from.value_or(0);
          EXPECT_LE(part.input_offset + part.count, input_count(collective, giver));
        }
        EXPECT_EQ(covered, output_count(collective, position))
            << to_string(operation) << " of " << count << " at " << position;
      }
}

TEST(Collective, RequirementsNameTheRightElements) {
  const auto exchange = requirements(collective_of(Operation::all_to_all, 3, 7), 1);
  ASSERT_EQ(exchange.size(), 3U);
  EXPECT_EQ(exchange[2].from, 2);
  EXPECT_EQ(exchange[2].output_offset, 4);
  EXPECT_EQ(exchange[2].input_offset, 3);
  const auto sum = requirements(collective_of(Operation::reduce_scatter, 3, 7), 2);
  ASSERT_EQ(sum.size(), 1U);
  EXPECT_EQ(sum[0].from, std::nullopt);
  EXPECT_EQ(sum[0].input_offset, 5);
}

TEST(SendRecv, KnowsItsPartners) {
  Collective collective = collective_of(Operation::send_recv, 5, 4);
  collective.pattern.distance = -7;
  EXPECT_EQ(target_of(collective, 0), 3);
  EXPECT_EQ(source_of(collective, 3), 0);
  collective.pattern.distance = std::numeric_limits<int>::min();  // = 2 modulo 5
  EXPECT_EQ(target_of(collective, 0), 2);
  EXPECT_EQ(source_of(collective, 2), 0);
  collective.pattern.kind = Pattern::Kind::exchange;
  EXPECT_EQ(target_of(collective, 3), 2);
  EXPECT_EQ(source_of(collective, 3), 2);
  EXPECT_EQ(target_of(collective, 4), std::nullopt);
  EXPECT_EQ(input_count(collective, 4), 0);
  EXPECT_EQ(output_count(collective, 4), 0);
  collective.pattern.kind = Pattern::Kind::pairs;
  collective.pattern.pairs = {{1, 3}};
  EXPECT_EQ(target_of(collective, 1), 3);
  EXPECT_EQ(source_of(collective, 3), 1);
  EXPECT_EQ(target_of(collective, 3), std::nullopt);
  EXPECT_EQ(source_of(collective, 1), std::nullopt);
}

}  // namespace
}  // namespace collsim
