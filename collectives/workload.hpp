// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "collectives/programs.hpp"
#include "collectives/script.hpp"

namespace collsim {

struct WorkloadData;
struct WorkloadPlan;  // workload.cpp

// Ranks that run collectives together, as often as wanted.  Like a name in a training program, it
// may mean different ranks on different ranks: "tp" is the tensor-parallel group of whoever asks.
struct Communicator {
  std::string name;
  std::vector<std::vector<Rank>> groups;  // no rank is in two of them, nor twice in one
  int lanes = 1;                          // as many as the algorithms need that its calls choose
};

// A call as what its members, in this order, run.
[[nodiscard]] Collective collective_of(const Call& call, const std::vector<Rank>& members);

// The lanes that a call by this choice needs.  Error{unknown_name}.
[[nodiscard]] int lanes_of(Operation operation, const AlgorithmChoice& choice);

// Whether each of `members` ranks does the same in a call as the one before, renaming its peers.
[[nodiscard]] bool turns_members(const Call& call, int members);

// A line of a script, and the instructions with which its stream carries it out: [first, end) of
// the stream's lane.  An update takes none.
struct StreamLine {
  Action action;
  std::int64_t number = 0;  // in the script, from 0
  std::uint32_t first = 0, end = 0;
};

// Several things at once: computing, collectives on several groups, messages.  What each rank does
// is its script; a step of training is a workload.
//
// Its lanes are the streams, one each, and after them those of every communicator.  A stream hands
// a collective to the lanes of the communicator and waits for them, so two communicators never
// share a connection, and the k-th call of one on a rank meets the k-th of the other members.
// Every lane runs the same script and carries out only what concerns it.  So memory grows with
// ranks and lanes, not with what happens.
class Workload : public Programs {
 public:
  // lanes, element_size, program and what is said of streams and communicators follow.
  struct Parts : Programs::Parts {
    std::vector<std::string> stream_names;
    std::vector<Communicator> communicators;
    std::function<Script(Rank)> script;                  // equal each time
    std::shared_ptr<const WorkloadData> data = nullptr;  // what it computes with, where known
    std::shared_ptr<const WorkloadPlan> plan = nullptr;  // follows, too
  };
  explicit Workload(Parts parts);  // Error{invalid_argument}

  [[nodiscard]] const std::vector<std::string>& stream_names() const { return own().stream_names; }
  [[nodiscard]] const std::vector<Communicator>& communicators() const {
    return own().communicators;
  }
  [[nodiscard]] Script script(Rank rank) const { return own().script(rank); }
  // The lines of a rank's script that a stream carries out, in order.
  [[nodiscard]] std::vector<StreamLine> lines(Rank rank, int stream) const;
  // What a rank's call stands for.  Not for several threads at a time, like program().
  [[nodiscard]] const Schedule& schedule(const Action& call, Rank rank) const;
  // workload_data.hpp; null: not known.
  [[nodiscard]] const std::shared_ptr<const WorkloadData>& data() const { return own().data; }

 private:
  [[nodiscard]] const Parts& own() const { return static_cast<const Parts&>(parts()); }
};

// A stated limit, which a walk through one script comes to in less than a second: steps in which a
// rank does more are not simulated.
inline constexpr std::uint64_t max_actions_of_a_rank = 5'000'000;

// Where each block of `kinds` neighbouring ranks runs the scripts of the first block, and each
// communicator has the ranks that differ in one digit of their number, the last communicator in the
// highest: these digits, if their ranks may turn in every call.  None beyond the limit above.
[[nodiscard]] std::vector<TurnDigit> turns_of_like_ranks(const Workload::Parts& parts,
                                                         int kinds = 1);

// All groups of `size` ranks whose numbers differ by `stride`.
[[nodiscard]] std::vector<std::vector<Rank>> strided_groups(int ranks, int size, int stride);

}  // namespace collsim
