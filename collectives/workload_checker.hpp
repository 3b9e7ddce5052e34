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
//              have come, as with NCCL, and with the workload's slots; and as CheckedLaunch says
//   races      where the workload says what it computes with (workload_data.hpp): of two uses of an
//              item by a rank, one of them a write, one has ended before the other begins, because
//              one stream does both or events between its streams say so.  That another rank
//              answers in between does not count: nothing need make that order memory.
//   claims     of such a workload: replicas are the same after the step, the optimizer reads the
//              mean of all gradients, each counted once
enum class Sends : std::uint8_t { post, rendezvous };

// How the ranks carry out what their scripts ask for.  Races and claims do not depend on it, and
// are looked at only where it is as given here.
struct CheckedLaunch {
  // Rendezvous: a send waits for its receive, as MPI may with long messages and NCCL does outside
  // of a group: a drain waits until all that the stream has sent is received.
  Sends sends = Sends::post;
  // A GPU may have room for so many collectives only.  They begin in the order in which the rank
  // asks for them, each when all that it asked for so many or more before have ended.
  std::optional<int> collectives_at_a_time = {};
};

// One rank's part in what is wrong.
struct WorkloadSite {
  Rank rank;
  std::uint32_t place = 0;  // Action::place; of a rank that has ended, its last line
  std::string text;         // "rank 0 waits in its call 1 of tp (all-reduce) for rank 1"
};

struct WorkloadFault {
  enum class Kind : std::uint8_t {
    mismatch,      // calls that are not the same, messages of another size
    missing,       // a rank has ended that others still need
    deadlock,      // ranks that wait for each other
    unreceived,    // a message that nobody receives
    not_a_member,  // a call of a communicator to which the rank does not belong
    race,          // two uses of an item that nothing orders
    wrong_data     // a claim that does not hold
  };
  Kind kind{};
  std::vector<WorkloadSite> sites;  // a circle is in order: each waits for the next
  std::string hint;                 // what would mend it; may be empty
};
[[nodiscard]] std::string to_text(const WorkloadFault& fault);  // of several lines
// "this program never ends: rank 0 waits in ...; rank 1 ...", or "this program does not fit
// together: ..."
[[nodiscard]] std::string why_it_cannot_run(const WorkloadFault& fault);

// The step ends, and its times mean something, whatever it computes.
[[nodiscard]] inline bool concerns_data_only(const WorkloadFault& fault) {
  return fault.kind == WorkloadFault::Kind::race || fault.kind == WorkloadFault::Kind::wrong_data;
}

// What the lines of the scripts read and write in a complete run: numbers, equal where contents are
// (0: nothing).
struct StepContents {
  struct OfLine {
    std::vector<std::uint64_t> reads;  // of a receive, the message
    std::vector<std::uint64_t> writes;
  };
  std::vector<std::vector<OfLine>> lines;                 // by position and line of its script
  std::vector<std::vector<std::uint64_t>> before, after;  // by position and item
};

struct WorkloadReport {
  std::optional<WorkloadFault> fault;  // the first one; none: it is right
  std::uint64_t actions = 0;           // of all ranks
  std::uint64_t calls = 0;             // collectives, each counted once
  std::uint64_t messages = 0;
};
// Cost O(actions of all ranks x streams), and what they use; memory O(ranks x streams), what is
// under way, and what ranks have used.
// `contents` are filled where the workload says what it computes with.
[[nodiscard]] WorkloadReport check(const Workload& workload, const CheckedLaunch& launch = {},
                                   StepContents* contents = nullptr);

}  // namespace collsim
