// SPDX-License-Identifier: Apache-2.0
#include "collectives/checker.hpp"

#include <algorithm>
#include <limits>

#include "collectives/checker/interpreter.hpp"

namespace collsim {

namespace {

using checker::ContributorLists;
using checker::Interpreter;
using checker::LinearForms;
using checker::NoValues;

bool runs_to_its_end(const Schedule& schedule, const CheckOptions& options, int slots) {
  return Interpreter<NoValues>(schedule, options, slots).run().ok;
}

void advise_on_slots(const Schedule& schedule, const CheckOptions& options, Fault& fault) {
  if (fault.kind != FaultKind::deadlock || !schedule.slots()) return;
  const std::optional<int> least = least_slots(schedule, options);
  const std::string have = std::to_string(*schedule.slots());
  fault.text += least
                    ? concat(".  With ", have, " slots per connection; it needs at least ", *least)
                    : ".  More slots than " + have + " would not help";
}

}  // namespace

CheckReport check(const Schedule& schedule, const CheckOptions& options) {
  if (!options.exact) {
    CheckReport report = Interpreter<LinearForms>(schedule, options, schedule.slots()).run();
    if (report.ok || report.fault->kind == FaultKind::too_long) return report;
  }
  CheckReport report = Interpreter<ContributorLists>(schedule, options, schedule.slots()).run();
  COLLSIM_CHECK(options.exact || !report.ok, "numbers refuse what lists of contributors accept");
  if (report.fault) advise_on_slots(schedule, options, *report.fault);
  return report;
}

std::optional<int> least_slots(const Schedule& schedule, const CheckOptions& options) {
  const CheckReport unlimited = Interpreter<NoValues>(schedule, options, std::nullopt).run();
  if (!unlimited.ok) return std::nullopt;
  // The order of that run is possible with as many slots as it used.
  std::int64_t enough =
      std::clamp<std::int64_t>(unlimited.most_queued, 1, std::numeric_limits<int>::max());
  std::int64_t too_few = 0;
  // Few slots are the rule: double from 1 before cutting in halves.
  while (enough - too_few > 1) {
    const std::int64_t next =
        std::min(std::max<std::int64_t>(1, 2 * too_few), too_few + (enough - too_few) / 2);
    (runs_to_its_end(schedule, options, static_cast<int>(next)) ? enough : too_few) = next;
  }
  return static_cast<int>(enough);
}

std::string_view to_string(FaultKind kind) {
  switch (kind) {
    case FaultKind::bad_instruction: return "bad instruction";
    case FaultKind::bad_peer: return "bad peer";
    case FaultKind::bad_span: return "bad span";
    case FaultKind::overlap: return "overlap";
    case FaultKind::size_mismatch: return "size mismatch";
    case FaultKind::missing_message: return "missing message";
    case FaultKind::unreceived_message: return "unreceived message";
    case FaultKind::missing_signal: return "missing signal";
    case FaultKind::unreceived_signal: return "unreceived signal";
    case FaultKind::deadlock: return "deadlock";
    case FaultKind::unwritten_read: return "unwritten read";
    case FaultKind::input_write: return "input write";
    case FaultKind::race: return "race";
    case FaultKind::double_contribution: return "double contribution";
    case FaultKind::mixed_elements: return "mixed elements";
    case FaultKind::unwritten_output: return "unwritten output";
    case FaultKind::wrong_result: return "wrong result";
    case FaultKind::early_exit: return "early exit";
    case FaultKind::too_long: return "too long";
  }
  return "?";
}

}  // namespace collsim
