// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/json/diagnostics.hpp"
#include "app/json/sources.hpp"
#include "app/json/value.hpp"
#include "collectives/collective.hpp"
#include "collectives/cost_model.hpp"

namespace collsim {

// What a machine was measured to do: rates depend on whether the buffers fit into its caches, so there
// is a row per size.
//
//   "calibration": {
//     "backend": "host", "device": "2 cores of ...", "date": "2026-11-22",
//     "rates": [
//       {"buffers": "64KiB", "instruction_overhead": "90ns", "copy_bandwidth": "11GB/s",
//        "reduce_bandwidth": "7GB/s", "second_write_bandwidth": "20GB/s"},
//       {"buffers": "64MiB", ...}]}
//
// `buffers` is what buffer_bytes() says.  Between two rows 1/rate is interpolated over the logarithm of
// the size; outside the nearest row holds.  `collsim calibrate` writes such an object; anything else in
// it ("fit", "raw") is for people and programs that want to know where the numbers come from.
struct Calibration {
  struct Row {
    Bytes buffers = 0;
    CostModel costs;
  };
  std::vector<Row> rows;  // by size, at least one

  [[nodiscard]] CostModel costs_at(Bytes buffers) const;
};

// Input and output of the rank that has most.
[[nodiscard]] Bytes buffer_bytes(const Collective& collective);

// Nothing when something is wrong with it.  `resolved` gets what matters for a prediction.
[[nodiscard]] std::optional<Calibration> read_calibration(const Value& calibration,
                                                          const std::string& pointer,
                                                          Diagnostics& diagnostics,
                                                          Value& resolved);

// "calibration": "machine.json" in the model becomes the calibration that the file holds, at
// /model/calibration.  Its name is relative to the scenario's folder, or to the working directory
// when it comes from --set.
void load_calibration_file(Value& document, const std::string& scenario_file, Sources& sources,
                           Diagnostics& diagnostics);

}  // namespace collsim
