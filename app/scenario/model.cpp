// SPDX-License-Identifier: Apache-2.0
#include "app/scenario/model.hpp"

#include <utility>

#include "app/scenario/object_reader.hpp"

namespace collsim {

Model read_model(const Value& model, const std::string& pointer, Diagnostics& diagnostics,
                 Value& resolved) {
  ObjectReader reader(model, pointer, diagnostics);
  Model read;
  read.costs.reduce_bandwidth = reader.bandwidth("reduce_bandwidth");
  read.costs.copy_bandwidth = reader.bandwidth("copy_bandwidth");
  read.costs.second_write_bandwidth = reader.bandwidth("second_write_bandwidth");
  if (const Value* calibration = reader.raw("calibration")) {
    for (const char* key :
         {"reduce_bandwidth", "copy_bandwidth", "second_write_bandwidth", "instruction_overhead"})
      reader.at_most_one_of({"calibration", key});
    static_cast<void>(reader.raw("instruction_overhead"));
    Value rates;
    if (auto rows =
            read_calibration(*calibration, reader.pointer_of("calibration"), diagnostics, rates))
      read.calibration = std::make_shared<const Calibration>(std::move(*rows));
    reader.resolve("calibration", std::move(rates));
  } else {
    read.costs.instruction_overhead = reader.time("instruction_overhead", Time{});
  }
  read.costs.launch = reader.time("launch", Time{});
  resolved = reader.finish();
  return read;
}

}  // namespace collsim
