// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "collectives/recorded_actions.hpp"

namespace collsim {

// How the steps of a workload's run are drawn in a trace (trace_events.hpp): on streams, a slice
// for everything that the rank asked for and that took time; on the lanes of communicators, one
// around the instructions of each collective.
class TracedActions {
 public:
  TracedActions(const Workload& workload, const Timeline& timeline);

  enum class Shape : std::uint8_t {
    nothing,      // has no slice of its own
    action,       // the first step of an action, or of its part on a communicator's lane
    instruction,  // inside of a collective
  };
  [[nodiscard]] Shape shape(std::uint32_t step) const { return shapes_[step]; }

  // Of a step of shape `action`.
  [[nodiscard]] Time begin(std::uint32_t step) const;
  [[nodiscard]] Time end(std::uint32_t step) const;
  [[nodiscard]] const char* category(std::uint32_t step) const;  // compute, kernel, wait, message

  // What the step belongs to, of whatever shape; empty: nothing.
  [[nodiscard]] std::string text(std::uint32_t step) const;
  [[nodiscard]] std::string lane_name(Lane lane) const;

 private:
  [[nodiscard]] bool is_stream(Lane lane) const {
    return static_cast<int>(lane.index()) < workload_.streams();
  }

  const Workload& workload_;
  const std::vector<Step>& steps_;
  RecordedActions actions_;
  std::vector<Shape> shapes_;
  std::vector<std::uint32_t> call_ends_;  // by step that begins a call: the one that ends it
};

}  // namespace collsim
