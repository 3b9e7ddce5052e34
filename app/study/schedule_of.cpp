// SPDX-License-Identifier: Apache-2.0
#include "app/study/effort.hpp"
#include "app/study/row.hpp"

namespace collsim {

Schedule schedule_of(const Case& point) {
  COLLSIM_CHECK(point.choice.name != "auto", "somebody must choose an algorithm before");
  Schedule schedule = make_schedule(point.collective, point.choice);
  const Effort effort = effort_of(point, schedule);
  if (is_too_long(effort) || is_too_much(effort)) refuse(effort, schedule);
  return schedule;
}

}  // namespace collsim
