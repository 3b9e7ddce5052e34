// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/json/diagnostics.hpp"
#include "app/json/value.hpp"

namespace collsim {

// The values of {"from": 1, "to": 8192, "factor": 2}:
//
//   factor  from, from * factor, from * factor^2, ...; quantities and whole numbers are rounded, and
//           what rounds to the same is there once
//   step    from, from + step, from + 2 step, ...
//   points  that many, evenly spaced, both ends included; rounded likewise
//
// `to` is the last value where it is hit exactly.  from and to (and step) are numbers or quantities
// of one dimension; 0 needs no unit; from must not be above to.
class RangeValues {
 public:
  // Nothing when something is wrong with it, which is then in the diagnostics.  Never builds more
  // than max_sweep_points values.
  [[nodiscard]] static std::optional<RangeValues> read(const Value& range,
                                                       const std::string& pointer,
                                                       Diagnostics& diagnostics);

  [[nodiscard]] std::size_t size() const { return reals_.empty() ? wholes_.size() : reals_.size(); }
  // In its exact spelling ("64MiB"), with the place of the range.
  [[nodiscard]] Value operator[](std::size_t i) const;

  enum class Scale : std::uint8_t { whole, real, size, time, bandwidth };

 private:
  Scale scale_{};
  std::vector<std::int64_t> wholes_;  // numbers, bytes, picoseconds or bytes per second
  std::vector<double> reals_;
  Place place_;
};

}  // namespace collsim
