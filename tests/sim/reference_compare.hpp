// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "sim/simulate.hpp"
#include "tests/sim/reference_simulator.hpp"
#include "tests/sim/testing.hpp"

namespace collsim::testing {

// A case that the event engine and the reference simulator must see alike, step by step.
struct Case {
  Topology topology;
  Programs programs;
  CostModel costs{};
  std::vector<std::pair<Rank, Time>> late{};
};

// Where flows share, rates are not whole numbers, and what is left of a message is known to the
// precision of a double: a change of rate may move the end of a flow by a picosecond or two.
inline constexpr std::int64_t ps_per_rate_change = 0;

[[nodiscard]] inline bool near(Time reference, Time engine, std::uint64_t rate_changes) {
  const std::int64_t allowed = ps_per_rate_change * static_cast<std::int64_t>(rate_changes);
  return std::abs(reference.ps() - engine.ps()) <= allowed;
}

inline void expect_near(Time reference, Time engine, std::uint64_t rate_changes,
                        const std::string& what) {
  EXPECT_TRUE(near(reference, engine, rate_changes))
      << what << ": reference " << reference.ps() << ", engine " << engine.ps() << ", after "
      << rate_changes << " changes of rate";
}

inline void expect_same(const Step& reference, const Step& engine, std::uint64_t rate_changes) {
  static constexpr std::array<std::pair<Time Step::*, const char*>, 6> times{
      {{&Step::reached, "reached"},
       {&Step::began, "began"},
       {&Step::ended, "ended"},
       {&Step::departed, "departed"},
       {&Step::left, "left"},
       {&Step::arrived, "arrived"}}};
  for (const auto& [time, name] : times) {
    if (near(reference.*time, engine.*time, rate_changes)) continue;
    expect_near(reference.*time, engine.*time, rate_changes,
                std::string(name) + " of rank " + std::to_string(reference.rank.index()) +
                    " lane " + std::to_string(reference.lane.index()) + " step " +
                    std::to_string(reference.index));
  }
}

inline void expect_same(const Reference& reference, const Simulation& engine) {
  const std::vector<Step>& steps = reference.timeline.steps;
  ASSERT_EQ(steps.size(), engine.timeline->steps.size());
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const Step& other = engine.timeline->steps[i];
    ASSERT_EQ(std::tie(steps[i].rank, steps[i].lane, steps[i].index, steps[i].instruction.op),
              std::tie(other.rank, other.lane, other.index, other.instruction.op));
    expect_same(steps[i], other, reference.rate_changes);
  }
  ASSERT_EQ(reference.finished.size(), engine.finished.size());
  for (std::size_t i = 0; i < reference.finished.size(); ++i)
    expect_near(reference.finished[i], engine.finished[i], reference.rate_changes,
                "position " + std::to_string(i) + " finished");
  expect_near(reference.time, engine.time, reference.rate_changes, "time");
}

// What both say; an error must be the same for both.
inline Reference compare(const Case& asked) {
  Reference reference;
  std::optional<ErrorCode> trouble;
  try {
    reference = reference_simulate(asked.topology, asked.programs, asked.costs, asked.late);
    if (reference.deadlock) trouble = ErrorCode::deadlock;
  } catch (const Error& error) {
    trouble = error.code();
  }
  SimulationOptions options;
  options.engine = Engine::event;
  options.recording = Recording::full;
  options.late = asked.late;
  try {
    const Simulation engine = simulate(asked.topology, asked.programs, asked.costs, options);
    EXPECT_FALSE(trouble) << to_string(*trouble) << ", says the reference";
    if (!trouble) expect_same(reference, engine);
    options.recording = Recording::off;  // which changes nothing
    const Simulation alone = simulate(asked.topology, asked.programs, asked.costs, options);
    EXPECT_EQ(alone.finished, engine.finished);
    EXPECT_EQ(alone.fingerprint, engine.fingerprint);
    EXPECT_EQ(alone.messages, engine.messages);
    EXPECT_EQ(alone.wire_bytes, engine.wire_bytes);
  } catch (const Error& error) {
    EXPECT_EQ(trouble, error.code()) << error.what();
  }
  return reference;
}

}  // namespace collsim::testing
