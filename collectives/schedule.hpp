// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "collectives/collective.hpp"
#include "collectives/program.hpp"
#include "topo/turns.hpp"

namespace collsim {

// Which turns of the ranks (topo/turns.hpp) take one position's program to another's, renaming its
// peers: rotation of all, exchange (positions xor d, of 2^q), or of each dimension of the
// arrangement.
enum class Symmetry : std::uint8_t { none, rotation, exchange, dimensions };

// The same where positions are `members` neighbours on each of several nodes, which are alike as far
// as these say.  May be claimed under the same condition; a test compares.
struct NodeTurns {
  bool nodes = false;     // the nodes may turn
  bool members = false;   // the members of all nodes may, together,
  bool channels = false;  // channel c then becoming c + 1 when each member becomes the next
};

// HOW a collective is carried out: a program for every lane of every rank.  Immutable and cheap to
// copy; programs are made on demand by program(), as often as wanted, and are equal each time.  The
// schedule must outlive its programs.
//
// Lanes meet only through connections.  A connection is an in-order queue from one lane to another;
// the k-th send on it meets its k-th receive.  It holds at most `slots` messages (unlimited when
// absent): a sender waits for a free slot, and a slot becomes free when the instruction that
// received from it has ended.
class Schedule {
 public:
  // Makes the program of one lane; `position` is the rank's place in the collective's group.  A
  // factory of plain Programs will do: they are run as they are, not cut.
  using ProgramFactory = std::function<LaneProgram(int position, Lane lane)>;

  struct Parts {
    Collective collective;
    std::string algorithm;
    int lanes = 1;             // of every rank; a lane may have nothing to do
    std::optional<int> slots;  // of every connection
    std::function<std::int64_t(int position)> scratch_count;  // elements of scratch; empty: none
    // May be claimed only if the programs of all positions are the same but for the renaming of
    // peers, message by message with the same sizes; a test compares them.
    Symmetry symmetry = Symmetry::none;
    std::vector<int> dims = {};  // of the arrangement, slowest first: for Symmetry::dimensions
    int members = 1;             // of each node: for node_turns
    NodeTurns node_turns = {};
    bool exchanges_in_rounds = false;  // see below
    int chunks = 1;                    // as asked for: for reports and closed forms
    int channels = 1;
    int lanes_in_switch = 0;  // the last of the lanes of every channel
    ProgramFactory program;
  };
  explicit Schedule(Parts parts);  // validates the collective

  [[nodiscard]] const Collective& collective() const { return parts_->collective; }
  [[nodiscard]] const std::string& algorithm() const { return parts_->algorithm; }
  [[nodiscard]] int size() const { return parts_->collective.size(); }
  [[nodiscard]] Rank rank(int position) const {
    return parts_->collective.group[static_cast<std::size_t>(position)];
  }
  [[nodiscard]] int lanes() const { return parts_->lanes; }
  [[nodiscard]] std::optional<int> slots() const { return parts_->slots; }
  [[nodiscard]] int chunks() const { return parts_->chunks; }
  [[nodiscard]] int channels() const { return parts_->channels; }
  // Whether a lane runs in the switch behind its rank, where that can add and multicast.
  [[nodiscard]] bool runs_in_switch(Lane lane) const {
    if (parts_->lanes_in_switch == 0) return false;
    const int of_channel = parts_->lanes / parts_->channels;
    return static_cast<int>(lane.index()) % of_channel >= of_channel - parts_->lanes_in_switch;
  }
  [[nodiscard]] Symmetry symmetry() const { return parts_->symmetry; }
  // Empty: none.
  [[nodiscard]] std::vector<TurnDigit> turns() const;
  // What becomes of a lane of any rank when a turn takes rank `from` to `into`.
  [[nodiscard]] Lane turned(Lane lane, Rank from, Rank into) const;
  // Every rank sends the same to all others, then waits for the same from all others, perhaps again
  // and again; and slots do not hold it back.  So where instructions cost nothing their order does
  // not matter, and any renaming of the ranks leaves the schedule what it is.  (Two ranks have no
  // order to choose.)
  [[nodiscard]] bool exchanges_in_rounds() const {
    return parts_->exchanges_in_rounds && !parts_->slots && size() > 2;
  }
  [[nodiscard]] std::int64_t scratch_count(int position) const {
    return parts_->scratch_count ? parts_->scratch_count(position) : 0;
  }
  [[nodiscard]] LaneProgram program(int position, Lane lane) const {
    return parts_->program(position, lane);
  }

  // The same programs with another number of slots, or with other programs in their place (tests
  // break them this way).
  [[nodiscard]] Schedule with_slots(std::optional<int> slots) const;
  [[nodiscard]] Schedule with_programs(ProgramFactory program) const;

 private:
  std::shared_ptr<const Parts> parts_;
};

// Looks at all programs for Schedule::exchanges_in_rounds(), except for the slots.
[[nodiscard]] bool programs_exchange_in_rounds(const Schedule& schedule);

// How many bytes of memory a run touches when lanes move the data themselves, which decides in
// which caches they fit:
//
//   sum over ranks          of what its programs read and store of input, output and scratch
//   + sum over connections  of their slots, as many as there are messages for, each of the largest
//
// A byte that is touched twice counts once as long as no buffer is touched more than its own
// length: min(length, bytes read and stored).  Pulls every program once, so it costs about what a
// simulation does.
[[nodiscard]] Bytes working_set(const Schedule& schedule);

}  // namespace collsim
