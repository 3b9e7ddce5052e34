// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "collectives/workload.hpp"
#include "collectives/workload_data.hpp"

namespace collsim::test_workloads {

// A workload whose lines are listed, with what each uses, so that they can be changed.
struct ListedLine {
  Action action;
  Uses uses;
};
struct ListedWorkload {
  std::shared_ptr<const Workload> original;    // or null; owns what calls point to
  std::vector<std::vector<ListedLine>> lines;  // by rank
  std::vector<std::string> streams;
  std::vector<Communicator> communicators;
  WorkloadData data;  // but for `uses`

  [[nodiscard]] Workload workload() const;
};
// Of ranks 0, 1, ...
[[nodiscard]] ListedWorkload listed(const Workload& workload);

// What an item holds: a sum of things, each with a weight.
using HeldSum = std::map<std::uint64_t, double>;

struct ExecutionTiming {
  std::uint64_t seed = 0;
  bool all_must_come = false;  // no member leaves a call before all have come
  bool rendezvous = false;
  std::optional<int> collectives_at_a_time = {};
};

struct StepExecution {
  std::string problem;  // empty: it ran to its end
  std::uint64_t seen =
      0;  // stands for all that any line has read, and what memory holds at the end
  std::string broken_claim;  // empty: all hold
};

// Carries the scripts out on data in one thread, with all that takes time in several parts, at
// moments drawn by lot: work reads what it needs and writes its result later, messages are read and
// written while their streams go on, members of a call come and go one by one.  What is being
// written holds garbage meanwhile.  It shares nothing with the checker.
[[nodiscard]] StepExecution execute_step(const ListedWorkload& step, const ExecutionTiming& timing);

}  // namespace collsim::test_workloads
