// SPDX-License-Identifier: Apache-2.0
//
// All-reduce, all-gather and reduce-scatter in all combinations of ranks, counts, chunks, channels
// and places; and the claims of symmetry of the whole table.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/collectives/algorithm_cases.hpp"

namespace collsim {
namespace {

using collsim::testing::describe;
using collsim::testing::expect_right;
using collsim::testing::make_collective;

// Every number of ranks up to 17 and some powers of two that `algorithm` works with, with counts
// that divide evenly, badly or not at all, chunks and channels, in place and not.
void expect_right_everywhere(const Algorithm& algorithm) {
  for (int ranks = 1; ranks <= 64; ranks = ranks < 17 ? ranks + 1 : ranks == 17 ? 32 : 2 * ranks) {
    if (algorithm.refuses != nullptr && !algorithm.refuses(ranks).empty()) continue;
    for (const std::int64_t count : {0, 1, 5, 37, 211, 384}) {
      for (const int chunks : {1, 3}) {
        for (const int channels : {1, 2, 3}) {
          if (ranks > 17 && (chunks > 1) != (channels > 1)) continue;
          for (const bool in_place : {false, true}) {
            AlgorithmChoice choice;
            choice.name = algorithm.name;
            choice.chunks = chunks;
            choice.channels = channels;
            expect_right(make_collective(algorithm.operation, ranks, count, in_place), choice);
            if (::testing::Test::HasFatalFailure()) return;
          }
        }
      }
    }
  }
}

// All instructions of a lane as position 0 would see them: peers renamed by the claimed symmetry.
// Two positions are alike when these are equal.
std::vector<std::string> renamed_program(const Schedule& schedule, int position, std::size_t lane) {
  const auto renamed = [&](Endpoint peer) {
    const int rank = static_cast<int>(peer.rank.index());
    const int size = schedule.size();
    const int relative = schedule.symmetry() == Symmetry::exchange
                             ? rank ^ position
                             : (rank - position + size) % size;
    return std::to_string(relative) + "." + std::to_string(peer.lane.index());
  };
  std::vector<std::string> lines;
  Program program = schedule.program(position, Lane(lane));
  while (const Instruction* instruction = program.next()) {
    std::string line = to_string(instruction->op);
    if (receives(instruction->op)) line += " from " + renamed(instruction->from);
    if (sends(instruction->op)) line += " to " + renamed(instruction->to);
    lines.push_back(line + " count " + std::to_string(instruction->count));
  }
  return lines;
}

// Whatever symmetry a schedule claims, it has.
void expect_claimed_symmetry(const Collective& collective, const AlgorithmChoice& choice) {
  const Schedule schedule = make_schedule(collective, choice);
  if (schedule.symmetry() == Symmetry::none) return;
  for (std::size_t lane = 0; lane < static_cast<std::size_t>(schedule.lanes()); ++lane) {
    const auto first = renamed_program(schedule, 0, lane);
    for (int position = 1; position < schedule.size(); ++position)
      ASSERT_EQ(renamed_program(schedule, position, lane), first)
          << describe(collective, choice) << ", lane " << lane << ", position " << position;
  }
}

void expect_claimed_symmetry_everywhere(const Algorithm& algorithm) {
  for (const int ranks : {2, 3, 4, 6, 8, 9, 16}) {
    if (algorithm.refuses != nullptr && !algorithm.refuses(ranks).empty()) continue;
    for (const int count : {0, 1, 3, 48, 72, 144, 720, 721, 725, 1440}) {
      for (const int channels : {1, 2, 5}) {
        AlgorithmChoice choice;
        choice.name = algorithm.name;
        choice.chunks = 2;
        choice.channels = channels;
        expect_claimed_symmetry(
            make_collective(algorithm.operation, ranks,
                            algorithm.operation == Operation::barrier ? 0 : count),
            choice);
        if (::testing::Test::HasFatalFailure()) return;
      }
    }
  }
}

class AlgorithmSweep : public ::testing::TestWithParam<const Algorithm*> {};

TEST_P(AlgorithmSweep, IsRightEverywhere) {
  expect_right_everywhere(*GetParam());
}

class AlgorithmSymmetry : public ::testing::TestWithParam<const Algorithm*> {};

TEST_P(AlgorithmSymmetry, IsAsClaimed) {
  expect_claimed_symmetry_everywhere(*GetParam());
}

std::vector<const Algorithm*> rows(bool only_symmetric,
                                   std::initializer_list<Operation> operations) {
  std::vector<const Algorithm*> found;
  for (const Operation operation : operations)
    for (const Algorithm* row : algorithms(operation))
      if (!only_symmetric || row->symmetry != Symmetry::none) found.push_back(row);
  return found;
}

std::string name_of_row(const ::testing::TestParamInfo<const Algorithm*>& info) {
  std::string name =
      std::string(to_string(info.param->operation)) + "_" + std::string(info.param->name);
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Table, AlgorithmSweep,
                         ::testing::ValuesIn(rows(false,
                                                  {Operation::all_reduce, Operation::all_gather,
                                                   Operation::reduce_scatter})),
                         name_of_row);

INSTANTIATE_TEST_SUITE_P(Table, AlgorithmSymmetry,
                         ::testing::ValuesIn(rows(true,
                                                  {Operation::all_reduce, Operation::all_gather,
                                                   Operation::reduce_scatter, Operation::all_to_all,
                                                   Operation::barrier})),
                         name_of_row);

}  // namespace
}  // namespace collsim
