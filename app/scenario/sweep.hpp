// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/json/diagnostics.hpp"
#include "app/json/value.hpp"
#include "app/scenario/scenario.hpp"

namespace collsim {

// The values of {"from": 1, "to": 8192, "factor": 2}:
//
//   factor  from, from * factor, from * factor^2, ...; quantities and whole numbers are rounded,
//           and values that round to the same appear once
//   step    from, from + step, from + 2 step, ...
//   points  that many, evenly spaced, both ends included; rounded likewise
//
// `to` is the last value where it is hit exactly.  from and to (and step) are numbers or quantities
// of one dimension; 0 needs no unit; from must not be above to.
class RangeValues {
 public:
  // Nothing when something is wrong with it, which is then in the diagnostics.  Never builds more
  // than max_sweep_points values.
  [[nodiscard]] static std::optional<RangeValues> read(const JsonValue& range,
                                                       const std::string& pointer,
                                                       Diagnostics& diagnostics);

  [[nodiscard]] std::size_t size() const { return reals_.empty() ? wholes_.size() : reals_.size(); }
  // In its exact spelling ("64MiB"), with the place of the range.
  [[nodiscard]] JsonValue operator[](std::size_t i) const;

  enum class Scale : std::uint8_t { whole, real, size, time, bandwidth };

 private:
  Scale scale_{};
  std::vector<std::int64_t> wholes_;  // numbers, bytes, picoseconds or bytes per second
  std::vector<double> reals_;
  SourceRange place_;
};

// Stated limit: paths that one sweep changes.
inline constexpr std::size_t max_swept_paths = 64;

// "sweep": several axes multiply, the last one changes fastest.
//
//   "collective.chunks": [1, 2, 4]                                  a list of at least one value
//   "collective.size": {"from": "1KiB", "to": "1GiB", "factor": 4}  a range (RangeValues)
//   "zip: cluster.ranks, collective.size": [[2, "1MiB"], [4, "2MiB"]]
//                                       paths that change together, one list of values per point
//
// Paths lie in cluster, collective or model; none may be swept twice.
struct Sweep {
  std::vector<Axis> axes;
  // Paths of axes that are wrong; what the document says there cannot be judged.
  std::vector<std::string> broken;
};
[[nodiscard]] Sweep read_sweep(const JsonValue& sweep, std::size_t max_points,
                               Diagnostics& diagnostics);

}  // namespace collsim
