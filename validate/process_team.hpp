// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "validate/backend.hpp"
#include "validate/note.hpp"

namespace collsim {

// The processes that have the ranks of one run, a rank each: process `me` that of position `me`.
// All do the same in the same order, so what one gives in exchange() belongs to what the others
// give.
class ProcessTeam {
 public:
  ProcessTeam() = default;
  ProcessTeam(const ProcessTeam&) = delete;
  ProcessTeam& operator=(const ProcessTeam&) = delete;
  virtual ~ProcessTeam() = default;

  [[nodiscard]] virtual int me() const = 0;
  [[nodiscard]] virtual int size() const = 0;
  // Processes of the whole job on the host of this one, and how many come before it there.
  [[nodiscard]] virtual int on_this_host() const = 0;
  [[nodiscard]] virtual int place_on_host() const = 0;
  [[nodiscard]] virtual const std::string& host_of(int process) const = 0;

  // What each of them gives.  Throws the NoMeasurement of a process that gave up instead, naming
  // it, and in that case at all others alike.  For others that do not come within `limit_s` it ends
  // all processes.
  [[nodiscard]] virtual std::vector<Note> exchange(const Note& own, double limit_s) = 0;

  // All processes end when this one does not come to its next exchange in time, because it is in
  // something that has no limit of its own.
  virtual void must_come_within(double limit_s, const char* meanwhile) = 0;
};

}  // namespace collsim
