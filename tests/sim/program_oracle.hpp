// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "collectives/workloads/workloads.hpp"
#include "sim/simulate.hpp"
#include "tests/sim/testing.hpp"

namespace collsim::testing {

using nlohmann::json;

// An entry of tests/data/programs.json, which holds what training steps and other programs must
// take, computed elsewhere by closed forms and recursions, most of them also message by message.
struct ProgramOracle {
  json entry;

  [[nodiscard]] std::string name() const { return entry["name"]; }
  [[nodiscard]] std::string group() const { return entry["group"]; }
  [[nodiscard]] bool has(const char* key) const {
    return entry["params"].contains(key) && !entry["params"][key].is_null();
  }
  [[nodiscard]] std::int64_t number(const char* key, std::int64_t otherwise = 0) const {
    return has(key) ? entry["params"][key].get<std::int64_t>() : otherwise;
  }
  [[nodiscard]] int ranks() const { return static_cast<int>(number("K")); }
  [[nodiscard]] Time time(const char* key) const { return Time(number(key)); }
  [[nodiscard]] Time expected() const { return Time(entry["expected_ps"].get<std::int64_t>()); }
  [[nodiscard]] LinkParameters link() const {
    return {Bandwidth(number("B", 1'000'000'000)), Time{}, time("alpha_ps")};
  }
  [[nodiscard]] Topology on_switch(int ranks) const {
    return make_switch(static_cast<std::size_t>(ranks), link());
  }
  // A list, or {"each": x, "times": n}.
  [[nodiscard]] std::vector<std::int64_t> list(const char* key) const {
    const json& value = entry["params"][key];
    if (value.is_array()) return value.get<std::vector<std::int64_t>>();
    const json& each = value.is_object() ? value["each"] : value;
    const auto times = value.is_object() ? value["times"].get<std::size_t>()
                                         : static_cast<std::size_t>(number("layers", 1));
    return std::vector<std::int64_t>(times, each.get<std::int64_t>());
  }
  // Whose backward pass and gradients are listed in the order in which they are ready.
  [[nodiscard]] Model bucketed_model() const {
    Model model;
    model.forward = time("forward_ps");
    model.optimizer = time("optimizer_ps");
    const std::vector<std::int64_t> backward = list("backward_ps");
    const std::vector<std::int64_t> bytes = list("gradient_bytes");
    for (std::size_t i = backward.size(); i-- > 0;)
      model.layers.push_back({"", Time{}, Time(backward[i]), bytes[i], 0});
    return model;
  }
};

inline const std::vector<ProgramOracle>& program_oracles() {
  static const std::vector<ProgramOracle> all = [] {
    std::ifstream file(COLLSIM_TEST_DATA "/programs.json");
    std::vector<ProgramOracle> list;
    for (const json& entry : json::parse(file)) list.push_back({entry});
    return list;
  }();
  return all;
}

inline const ProgramOracle& program_oracle(const std::string& name) {
  for (const ProgramOracle& oracle : program_oracles())
    if (oracle.name() == name) return oracle;
  throw std::runtime_error("no oracle " + name);
}

inline void expect_takes(const ProgramOracle& oracle, const Topology& topology,
                         const Workload& workload, Time expected) {
  SimulationOptions options;
  options.engine = Engine::event;
  EXPECT_EQ(simulate(topology, workload, {}, options).time, expected) << oracle.name();
  options.engine = Engine::dataflow;
  try {
    EXPECT_EQ(simulate(topology, workload, {}, options).time, expected) << oracle.name();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::engine_not_applicable);
  }
}

inline std::vector<std::string> names_of(const char* group) {
  std::vector<std::string> names;
  for (const ProgramOracle& oracle : program_oracles())
    if (oracle.group() == group) names.push_back(oracle.name());
  return names;
}

}  // namespace collsim::testing
