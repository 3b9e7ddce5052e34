// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "collectives/program.hpp"
#include "topo/ids.hpp"
#include "topo/turns.hpp"
#include "topo/units.hpp"

namespace collsim {

// Which turns of the ranks (topo/turns.hpp) take one position's program to another's, renaming its
// peers: rotation of all by any number, exchange (positions xor d, of 2^q), or rotation of each
// dimension of the arrangement, by any number or by even ones only.
enum class Symmetry : std::uint8_t { none, rotation, exchange, dimensions, even_in_dimensions };

// The same where `members` neighbouring positions are on each of several nodes.  May be claimed
// under the same condition; a test compares.
struct NodeTurns {
  bool nodes = false;     // the nodes may turn
  bool members = false;   // the members of all nodes may, together,
  bool channels = false;  // channel c then becoming c + 1 when each member becomes the next
  // Trees over the nodes alternate every so many lanes, and over an even number of nodes they are
  // mirrors of each other; 0: there are no trees.  Not where nodes turn.
  int lanes_of_tree = 0;
};

// What a group of ranks runs: a program for every lane of every rank, be it one collective
// (schedule.hpp) or a training step (workload.hpp).  Immutable and cheap to copy; programs are made
// on demand by program(), as often as wanted, and are equal each time.  These must outlive their
// programs.
//
// Lanes meet only through connections.  A connection is an in-order queue from one lane to another;
// the k-th send on it meets its k-th receive.  It holds at most `slots` messages (unlimited when
// absent): a sender waits for a free slot, and a slot becomes free when the instruction that
// received from it has ended.
class Programs {
 public:
  // Makes the program of one lane; `position` is the rank's place in the group.  A factory of plain
  // Programs will do: they are run as they are, not cut.
  using ProgramFactory = std::function<LaneProgram(int position, Lane lane)>;

  struct Parts {
    std::vector<Rank> group;   // who takes part, in order of position
    Bytes element_size = 1;    // of what instructions count
    int lanes = 1;             // of every rank; a lane may have nothing to do
    std::optional<int> slots;  // of every connection
    // May be claimed only if the programs of all positions are the same but for the renaming of
    // peers, message by message with the same sizes; a test compares them.
    Symmetry symmetry = Symmetry::none;
    std::vector<int> dims = {};  // of the arrangement, slowest first: for the last two
    // Instead of a symmetry: these turns.
    std::vector<TurnDigit> turns = {};
    int members = 1;  // of each node: for node_turns
    NodeTurns node_turns = {};
    bool exchanges_in_rounds = false;  // see below
    // The last so many lanes of every lanes / channels run in the switch behind the rank, where
    // that can add and multicast; so many before them in the switch of the network, likewise.
    int channels = 1;
    int lanes_in_switch = 0;
    int lanes_in_network = 0;
    // The first lanes, if they are streams of a workload (workload.hpp), and how many of the others
    // each of its communicators has.
    int streams = 0;
    std::vector<int> lanes_of_communicators = {};
    ProgramFactory program;
  };
  // Error{invalid_argument}.  Of a class derived from this, its own Parts.
  template <std::derived_from<Parts> OwnParts>
  explicit Programs(OwnParts parts)
      : Programs(std::shared_ptr<const Parts>(std::make_shared<const OwnParts>(std::move(parts)))) {
  }

  [[nodiscard]] const std::vector<Rank>& group() const { return parts_->group; }
  [[nodiscard]] int size() const { return static_cast<int>(parts_->group.size()); }
  [[nodiscard]] Rank rank(int position) const {
    return parts_->group[static_cast<std::size_t>(position)];
  }
  [[nodiscard]] Bytes element_size() const { return parts_->element_size; }
  [[nodiscard]] int lanes() const { return parts_->lanes; }
  [[nodiscard]] std::optional<int> slots() const { return parts_->slots; }
  [[nodiscard]] int channels() const { return parts_->channels; }
  enum class Place : std::uint8_t { rank, network, node_switch };  // where a lane runs
  [[nodiscard]] Place place(Lane lane) const {
    if (!some_in_switches()) return Place::rank;
    const int of_channel = parts_->lanes / parts_->channels;
    const int from_last = of_channel - static_cast<int>(lane.index()) % of_channel;
    if (from_last <= parts_->lanes_in_switch) return Place::node_switch;
    const bool network = from_last <= parts_->lanes_in_switch + parts_->lanes_in_network;
    return network ? Place::network : Place::rank;
  }
  [[nodiscard]] bool some_in_switches() const {
    return parts_->lanes_in_switch + parts_->lanes_in_network > 0;
  }
  [[nodiscard]] int streams() const { return parts_->streams; }
  [[nodiscard]] const std::vector<int>& lanes_of_communicators() const {
    return parts_->lanes_of_communicators;
  }
  [[nodiscard]] Symmetry symmetry() const { return parts_->symmetry; }
  // Empty: none.
  [[nodiscard]] std::vector<TurnDigit> turns() const;
  // What becomes of a lane of any rank when a turn takes rank `from` to `into`.
  [[nodiscard]] Lane turned(Lane lane, Rank from, Rank into) const;
  [[nodiscard]] bool turns_move_lanes() const {
    return parts_->node_turns.channels || mirrors_nodes_;
  }
  // Every rank sends the same to all others, then waits for the same from all others, perhaps again
  // and again; and slots do not hold it back.  So where instructions cost nothing their order does
  // not matter, and any renaming of the ranks leaves the programs as they are.  (Two ranks have no
  // order to choose.)
  [[nodiscard]] bool exchanges_in_rounds() const {
    return parts_->exchanges_in_rounds && !parts_->slots && size() > 2;
  }
  [[nodiscard]] LaneProgram program(int position, Lane lane) const {
    return parts_->program(position, lane);
  }

 protected:
  [[nodiscard]] const Parts& parts() const { return *parts_; }

 private:
  explicit Programs(std::shared_ptr<const Parts> parts);

  std::shared_ptr<const Parts> parts_;
  bool mirrors_nodes_ = false;  // and exchanges the trees
};

// Looks at all programs for Programs::exchanges_in_rounds(), except for the slots.
[[nodiscard]] bool programs_exchange_in_rounds(const Programs& programs);

}  // namespace collsim
