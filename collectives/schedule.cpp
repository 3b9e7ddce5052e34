// SPDX-License-Identifier: Apache-2.0
#include "collectives/schedule.hpp"

#include <utility>

namespace collsim {

Schedule::Schedule(Parts parts) {
  validate(parts.collective);
  if (parts.lanes < 1 || parts.lanes > 65536)
    throw_error(ErrorCode::invalid_argument,
                "a rank has 1 to 65536 lanes, not " + std::to_string(parts.lanes));
  if (parts.slots && *parts.slots < 1)
    throw_error(ErrorCode::invalid_argument,
                "a connection needs at least 1 slot, not " + std::to_string(*parts.slots));
  if (!parts.program)
    throw_error(ErrorCode::invalid_argument, "a schedule needs a program for every lane");
  parts_ = std::make_shared<const Parts>(std::move(parts));
}

Schedule Schedule::with_slots(std::optional<int> slots) const {
  Parts parts = *parts_;
  parts.slots = slots;
  return Schedule(std::move(parts));
}

Schedule Schedule::with_programs(ProgramFactory program) const {
  Parts parts = *parts_;
  parts.program = std::move(program);
  parts.symmetry = Symmetry::none;
  return Schedule(std::move(parts));
}

}  // namespace collsim
