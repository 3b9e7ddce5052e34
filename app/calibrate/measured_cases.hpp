// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/calibrate/constants.hpp"
#include "app/measured/measured_table.hpp"
#include "app/scenario/scenario.hpp"

namespace collsim {

// The kind of network that a table names by its class or its interconnect: "multi-node RoCE" is
// "roce".  Nothing: it names none, and that of its preset is the likely one.
[[nodiscard]] std::optional<std::string> network_of(const MeasuredTable& table);

// A row of a measured table, and the case that predicts it.
struct MeasuredCase {
  Case asked;  // algorithm "nccl", on a preset, launched as the table was
  double measured_s = 0;
};

// The cases of a table, as `collsim predict` would have them: its preset with as many nodes and
// GPUs of each, kind of network, operation, type and sizes, and how the kernels were launched,
// where that is known.
// Rows without a time, and those that something disturbed, are left out.
//
// `why_not`: what cannot be predicted of it, in words; then there are no rows.
struct MeasuredCases {
  std::vector<MeasuredCase> rows;
  KindsOfCase kinds;
  std::string why_not;
};
[[nodiscard]] MeasuredCases cases_of(const MeasuredTable& table);

}  // namespace collsim
