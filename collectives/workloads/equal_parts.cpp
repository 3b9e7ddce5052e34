// SPDX-License-Identifier: Apache-2.0
//
// Collectives of all ranks whose data does not divide evenly by them: parts differ by an element,
// and so no rank stands for another.  The same with equal parts:
//
//   10 elements of 4 ranks   3 3 2 2   ->   3 3 3 3
#include <utility>

#include "collectives/workload.hpp"
#include "collectives/workloads/workloads.hpp"

namespace collsim {

namespace {

Action with_equal_parts(Action action, std::int64_t ranks) {
  if (action.kind != Action::Kind::collective) return action;
  const std::int64_t channels = action.call.choice != nullptr ? action.call.choice->channels : 1;
  const std::int64_t parts = ranks * channels;
  action.call.count = (action.call.count + parts - 1) / parts * parts;
  return action;
}

Script with_equal_parts(Workload workload, Rank rank) {
  Script script = workload.script(rank);
  while (const Action* const action = script.next())
    co_yield with_equal_parts(*action, workload.size());
}

bool is_of_one_rank(const Action& action) {
  return action.kind != Action::Kind::send && action.kind != Action::Kind::receive &&
         action.kind != Action::Kind::drain;
}

bool are_alike(const Action& one, const Action& other) {
  return one.kind == other.kind && one.stream == other.stream && one.other == other.other &&
         one.communicator == other.communicator && one.amount == other.amount &&
         one.call == other.call;
}

// Whether all ranks ask for the same, and none for a message to a certain one.
bool ranks_are_alike(const Workload& workload) {
  constexpr std::size_t most_actions = 20'000'000;
  std::size_t actions = 0;
  for (const Rank rank : workload.group()) {
    Script first = workload.script(workload.group().front());
    Script script = workload.script(rank);
    for (;;) {
      const Action* const expected = first.next();
      const Action* const found = script.next();
      if (expected == nullptr || found == nullptr) {
        if (expected != found) return false;
        break;
      }
      if (++actions > most_actions || !is_of_one_rank(*found) || !are_alike(*expected, *found))
        return false;
    }
  }
  return true;
}

// What all calls of a rank move becomes longer by no more than that part.
bool stays_about_as_long(const Workload& workload, double most_longer) {
  std::int64_t elements = 0, more = 0;
  Script script = workload.script(workload.group().front());
  while (const Action* const action = script.next()) {
    if (action->kind != Action::Kind::collective) continue;
    elements += action->call.count;
    more += with_equal_parts(*action, workload.size()).call.count - action->call.count;
  }
  return static_cast<double>(more) <= most_longer * static_cast<double>(elements);
}

}  // namespace

std::optional<Workload> with_equal_parts(const Workload& workload, double most_longer) {
  if (workload.communicators().size() != 1) return std::nullopt;
  const Communicator& communicator = workload.communicators().front();
  if (communicator.groups.size() != 1 || communicator.groups.front() != workload.group() ||
      !workload.turns().empty() || !stays_about_as_long(workload, most_longer) ||
      !ranks_are_alike(workload))
    return std::nullopt;
  Workload::Parts parts;
  parts.group = workload.group();
  parts.stream_names = workload.stream_names();
  parts.communicators = workload.communicators();
  parts.slots = workload.slots();
  parts.script = [workload](Rank rank) { return with_equal_parts(workload, rank); };
  parts.turns = turns_of_like_ranks(parts);
  if (parts.turns.empty()) return std::nullopt;
  return Workload(std::move(parts));
}

}  // namespace collsim
