// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "collectives/algorithms.hpp"
#include "collectives/checker.hpp"
#include "collectives/execute.hpp"
#include "tests/collectives/rows.hpp"
#include "validate/data_check.hpp"
#include "validate/host/host_machine.hpp"

namespace collsim::testing {

// One point of "everything that can be asked of a real run".
struct RealCase {
  Collective collective;
  AlgorithmChoice choice;
  Protocol protocol = Protocol::simple;
};

inline std::string to_text(const RealCase& real) {
  const Collective& c = real.collective;
  return std::string(to_string(c.operation)) + " " + real.choice.name + ", " +
         std::to_string(c.size()) + " ranks, " + std::to_string(c.count) + " " +
         std::string(to_string(c.type)) + " " + std::string(to_string(c.reduction)) + ", chunks " +
         std::to_string(real.choice.chunks) + ", channels " + std::to_string(real.choice.channels) +
         ", slots " + (real.choice.slots ? std::to_string(*real.choice.slots) : "free") +
         (c.in_place ? ", in place" : "") + (real.protocol == Protocol::ll ? ", ll" : ", simple");
}

// Knobs that are not swept in full take turns: `turn` picks among types, reductions, counts,
// chunks, channels, roots and groups, so that every value meets every other sooner or later.
inline RealCase real_case(const Algorithm& row, int ranks, std::size_t turn) {
  constexpr std::int64_t counts[] = {1009, 0, 1, 37, 4097, 5};
  constexpr int chunks[] = {1, 3, 2, 7};
  const auto types = all_element_types();
  const auto reductions = all_reductions();
  RealCase real;
  Collective& collective = real.collective;
  collective.operation = row.operation;
  collective.type = types[turn % types.size()];
  collective.reduction = reductions[(turn / 2) % reductions.size()];
  collective.count = row.operation == Operation::barrier ? 0 : counts[turn % 6];
  for (int i = 0; i < ranks; ++i)
    collective.group.emplace_back(
        static_cast<std::size_t>(turn % 2 == 0 ? i : 2 * (ranks - i) + 1));
  if (has_root(row.operation)) collective.root = static_cast<int>(turn) % ranks;
  collective.in_place = has_in_place_form(row.operation) && turn % 3 == 1;
  real.choice.name = row.name;
  real.choice.chunks = chunks[(turn / 3) % 4];
  real.choice.channels = 1 + static_cast<int>(turn / 5) % 2;
  return real;
}

// "" when every byte of every output is right, in each of several runs; else what is wrong.
template <class Policy>
std::string problem_of(const RealCase& real, const HostOptions& options = {}, int runs = 2) {
  const Schedule schedule = make_schedule(real.collective, real.choice);
  const Plan plan = make_plan(schedule, real.protocol);
  const auto inputs = make_test_inputs(real.collective, 7);
  HostMachine machine(plan, options);
  for (int run = 0; run < runs; ++run) {
    machine.fill(inputs);
    if (!machine.run<Policy>(1)) return machine.trouble();
    for (int position = 0; position < real.collective.size(); ++position) {
      const auto output = finished_output(real.collective, position, machine.output(position));
      const std::string difference = first_difference(real.collective, inputs, position, output);
      if (!difference.empty()) return difference;
    }
  }
  return "";
}

// One lane's program without one of its instructions.
inline Program without(Schedule schedule, int position, Lane lane, int step) {
  LaneProgram program = schedule.program(position, lane);
  for (int i = 0; const Instruction* instruction = program.next(); ++i)
    if (i != step) co_yield *instruction;
}

}  // namespace collsim::testing
