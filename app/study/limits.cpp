// SPDX-License-Identifier: Apache-2.0
#include "app/study/limits.hpp"

#include <fmt/format.h>

#include <cmath>
#include <string>

namespace collsim {
namespace {

std::string number(double value) {
  return value < 1e15 ? fmt::format("{:.2g}", value) : "more than 1e15";
}

}  // namespace

bool exceeds_lane_limit(const Effort& effort) {
  return effort.per_lane > static_cast<double>(max_instructions_per_lane);
}

bool exceeds_total_limit(const Effort& effort) {
  return effort.instructions > max_instructions || effort.bytes > max_simulation_bytes;
}

void throw_too_large(const Effort& effort, const Schedule& schedule) {
  std::string knobs = fmt::format("{} rank{}", schedule.size(), schedule.size() == 1 ? "" : "s");
  std::string fewer = "ranks";
  if (schedule.chunks() > 1) {
    knobs += fmt::format(", {} chunks", schedule.chunks());
    fewer = "chunks, " + fewer;
  }
  if (schedule.channels() > 1) {
    knobs += fmt::format(", {} channels", schedule.channels());
    fewer = "channels, " + fewer;
  }
  std::string size;
  if (exceeds_lane_limit(effort))
    size =
        fmt::format("more than {} instructions for one rank, the limit", max_instructions_per_lane);
  else if (effort.instructions > max_instructions)
    size = fmt::format("about {} instructions (limit: {})", number(effort.instructions),
                       number(max_instructions));
  else
    size = fmt::format("about {} GB of memory (limit: {} GB)", std::ceil(effort.bytes / 1e9),
                       max_simulation_bytes / 1e9);
  throw_error(ErrorCode::too_large,
              fmt::format("too large to simulate: {} by {} with {} takes {}; use fewer {}",
                          to_string(schedule.collective().operation), schedule.algorithm(), knobs,
                          size, fewer));
}

}  // namespace collsim
