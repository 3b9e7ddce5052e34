// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include "validate/backend.hpp"

namespace collsim {

[[nodiscard]] constexpr std::string_view to_string(Protocol protocol) {
  return protocol == Protocol::ll ? "ll" : "simple";
}
[[nodiscard]] constexpr std::string_view to_string(DataVerdict verdict) {
  switch (verdict) {
    case DataVerdict::right: return "right";
    case DataVerdict::wrong: return "wrong";
    case DataVerdict::unchecked: break;
  }
  return "unchecked";
}

inline constexpr int least_runs_for_a_verdict = 3;

// What real runs of a row's case gave.
struct Measured {
  std::string backend;  // host, cuda, nccl
  Protocol protocol = Protocol::simple;
  bool paced = false;  // the scenario's links were emulated
  int iterations = 0;
  Summary times;
  DataVerdict data = DataVerdict::unchecked;
  std::string wrong_data;  // the first difference
  std::string device;
  std::vector<std::string> notes;  // what a reader of the numbers must know
  std::string file;                // where they were read, when nothing was run

  // One or two runs do not show how far they scatter.
  [[nodiscard]] bool has_too_few_runs() const { return iterations < least_runs_for_a_verdict; }
  [[nodiscard]] bool is_noisy() const { return !has_too_few_runs() && times.spread > noisy_spread; }
  // Why these times say nothing about a prediction; empty when they do.
  [[nodiscard]] std::string why_no_verdict() const {
    if (data == DataVerdict::wrong) return "the data was wrong";
    if (has_too_few_runs())
      return "not judged: fewer than " + std::to_string(least_runs_for_a_verdict) + " runs";
    if (is_noisy())
      return "too noisy: spread " + std::to_string(std::lround(100 * times.spread)) + "%";
    return {};
  }
};

}  // namespace collsim
