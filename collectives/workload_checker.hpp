// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "collectives/workload.hpp"

namespace collsim {

// Proves that the scripts of a workload fit together, or names the ranks and lines that do not.  No
// collective is expanded, and no time is involved: the k-th call of a communicator meets the k-th
// of the other members, the k-th message between two streams its k-th receive, and all that a
// stream waits for is fixed by its script.  So one complete run proves that every run completes.
//
// What is proved:
//   matching   the k-th call of a communicator is the same on all members: operation, number of
//              elements, type, reduction, root, algorithm.  Messages have the size that their
//              receiver expects, and each has one.
//   progress   no deadlock whatever the timing, even if no member may leave a collective before all
//              have come, as with NCCL; with Sends::rendezvous even if a send waits for its
//              receive, as MPI may with long messages and NCCL does outside of a group.
enum class Sends : std::uint8_t { post, rendezvous };

// One rank's part in what is wrong.
struct WorkloadSite {
  Rank rank;
  std::uint32_t place = 0;  // Action::place; of a rank that has ended, its last line
  std::string text;         // "rank 0 waits in its call 1 of tp (all-reduce) for rank 1"
};

struct WorkloadFault {
  enum class Kind : std::uint8_t {
    mismatch,     // calls that are not the same, messages of another size
    missing,      // a rank has ended that others still need
    deadlock,     // ranks that wait for each other
    unreceived,   // a message that nobody receives
    not_a_member  // a call of a communicator to which the rank does not belong
  };
  Kind kind{};
  std::vector<WorkloadSite> sites;  // a circle is in order: each waits for the next
  std::string hint;                 // what would mend it; may be empty
};
[[nodiscard]] std::string to_text(const WorkloadFault& fault);  // of several lines

struct WorkloadReport {
  std::optional<WorkloadFault> fault;  // the first one; none: it is right
  std::uint64_t actions = 0;           // of all ranks
  std::uint64_t calls = 0;             // collectives, each counted once
  std::uint64_t messages = 0;
};
// Cost O(actions of all ranks x streams), and a look at every stream for each wait of the longest
// chain of them; memory O(ranks x streams^2) and what is under way.
[[nodiscard]] WorkloadReport check(const Workload& workload, Sends sends = Sends::post);

}  // namespace collsim
