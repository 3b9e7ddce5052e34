// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "collectives/algorithms.hpp"
#include "collectives/checker.hpp"
#include "collectives/execute.hpp"
#include "tests/collectives/rows.hpp"

namespace collsim::testing {

inline std::string describe(const Collective& collective, const AlgorithmChoice& choice) {
  std::string text = std::string(to_string(collective.operation)) + " " + choice.name + ", " +
                     std::to_string(collective.size()) + " ranks, count " +
                     std::to_string(collective.count) + ", " + std::to_string(choice.chunks) +
                     " chunks, " + std::to_string(choice.channels) + " channels" +
                     (collective.in_place ? ", in place" : "") + ", root " +
                     std::to_string(collective.root) + ", radix " + std::to_string(choice.radix);
  for (const int dim : choice.dims) text += ", dim " + std::to_string(dim);
  if (choice.aggregation) text += ", aggregation " + std::to_string(*choice.aggregation);
  return text;
}

// The checker proves the schedule exactly, and its execution on data, in any order, gives what the
// collective asks for.
inline void expect_right(const Collective& collective, const AlgorithmChoice& choice) {
  const Schedule schedule = make_schedule(collective, choice);
  const CheckReport report = check(schedule, {.exact = true});
  ASSERT_TRUE(report.ok) << describe(collective, choice) << ": " << report.fault->text;

  const auto inputs = make_test_inputs(collective, 7);
  const ExecutionResult result = execute(schedule, inputs, {.visit_seed = 3});
  ASSERT_EQ(result.status, ExecutionResult::Status::completed)
      << describe(collective, choice) << ": " << result.problem;
  for (int position = 0; position < collective.size(); ++position)
    ASSERT_EQ(result.outputs[static_cast<std::size_t>(position)],
              expected_output(collective, inputs, position))
        << describe(collective, choice) << ", position " << position;
}

// What one position sends, all lanes together.
struct Sent {
  std::int64_t messages = 0;
  std::int64_t elements = 0;
  bool operator==(const Sent&) const = default;
};

inline Sent sent_by(const Schedule& schedule, int position) {
  Sent sent;
  for (int lane = 0; lane < schedule.lanes(); ++lane) {
    LaneProgram program = schedule.program(position, Lane(static_cast<std::size_t>(lane)));
    while (const Instruction* instruction = program.next()) {
      if (!sends(instruction->op)) continue;
      ++sent.messages;
      sent.elements += instruction->count;
    }
  }
  return sent;
}

inline std::int64_t longest_message(const Schedule& schedule, int position) {
  std::int64_t longest = 0;
  for (int lane = 0; lane < schedule.lanes(); ++lane) {
    LaneProgram program = schedule.program(position, Lane(static_cast<std::size_t>(lane)));
    while (const Instruction* instruction = program.next())
      if (sends(instruction->op)) longest = std::max(longest, instruction->count);
  }
  return longest;
}

// The ranks that a position sends to or receives from.
inline std::set<int> peers_of(const Schedule& schedule, int position) {
  std::set<int> peers;
  for (int lane = 0; lane < schedule.lanes(); ++lane) {
    LaneProgram program = schedule.program(position, Lane(static_cast<std::size_t>(lane)));
    while (const Instruction* instruction = program.next()) {
      if (sends(instruction->op)) peers.insert(static_cast<int>(instruction->to.rank.index()));
      if (receives(instruction->op)) peers.insert(static_cast<int>(instruction->from.rank.index()));
    }
  }
  return peers;
}

// Messages per rank of PAT: those blocks whose distance to their owner has lowest bit d travel by
// d, at most `aggregation` at a time.
inline std::int64_t pat_messages(int ranks, int aggregation) {
  std::int64_t messages = 0;
  for (int d = 1; d < ranks; d *= 2) {
    int blocks = 0;
    for (int distance = d; distance < ranks; distance += 2 * d) ++blocks;
    messages += (blocks + aggregation - 1) / aggregation;
  }
  return messages;
}

}  // namespace collsim::testing
