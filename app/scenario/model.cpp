// SPDX-License-Identifier: Apache-2.0
#include "app/scenario/model.hpp"

#include "app/scenario/object_reader.hpp"

namespace collsim {

CostModel read_model(const Value& model, const std::string& pointer, Diagnostics& diagnostics,
                     Value& resolved) {
  ObjectReader reader(model, pointer, diagnostics);
  CostModel costs;
  costs.reduce_bandwidth = reader.bandwidth("reduce_bandwidth");
  costs.copy_bandwidth = reader.bandwidth("copy_bandwidth");
  costs.instruction_overhead = reader.time("instruction_overhead", Time{});
  costs.launch = reader.time("launch", Time{});
  if (reader.raw("calibration") != nullptr)
    reader.wrong("calibration", "not-supported", "calibration files are not read by this version",
                 {}, "leave it away and write the numbers: reduce_bandwidth, copy_bandwidth, ...");
  resolved = reader.finish();
  return costs;
}

}  // namespace collsim
