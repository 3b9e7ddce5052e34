// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "collectives/checker/knowledge.hpp"
#include "collectives/checker/step_values.hpp"
#include "collectives/workload.hpp"
#include "collectives/workload_checker.hpp"
#include "collectives/workload_data.hpp"

namespace collsim::checker {

// A line of a rank's script that is being carried out.
struct ScriptLine {
  std::size_t position = 0;  // of the rank
  std::int64_t number = 0;   // in the script of the rank, from 0
  const Action* action = nullptr;
};

// The memory of all ranks of a workload while one complete run of it is followed: who has used what
// last, in which order that was (signals between the streams of a rank; what another rank hands
// back does not order memory), and what it holds.
//
// Besides its streams a rank has, as far as order is concerned, a lane for what each stream has
// posted and not yet seen leave, and one for each communicator, which does one call at a time.
class StepMemory {
 public:
  // A workload that says what it computes with.  `contents`, unless null, get what lines read and
  // write.
  StepMemory(const Workload& workload, StepContents* contents);

  // Of a record; for the wait that takes it.
  [[nodiscard]] std::uint32_t signal(std::size_t position, std::uint16_t stream) {
    return knowledge_.at_signal(stream_lane(position, stream));
  }
  void learn(std::size_t position, std::uint16_t stream, std::uint32_t token) {
    knowledge_.learn(stream_lane(position, stream), token);
  }
  void drain(std::size_t position, std::uint16_t stream) {
    hand_over(flight_lane(position, stream), stream_lane(position, stream));
  }

  void work(const ScriptLine& line);  // or an update
  [[nodiscard]] std::vector<StepValue> send(const ScriptLine& line);
  void receive(const ScriptLine& line, const std::vector<StepValue>& message);
  // One line of each member, in the order of the group.
  void call(const std::vector<ScriptLine>& members);

  // The first race; else, when the run is complete, the first claim that does not hold.
  [[nodiscard]] std::optional<WorkloadFault> race();
  [[nodiscard]] std::optional<WorkloadFault> broken_claim() const;

 private:
  // What a later use of an item may conflict with.
  struct Accesses {
    std::optional<Epoch> writer;
    std::vector<Epoch> readers;  // since then, the last of each lane
  };
  struct Race {
    std::size_t position = 0;
    std::int64_t earlier = 0, later = 0;  // lines
    bool earlier_wrote = false, later_writes = false;
    std::uint32_t item = 0;
  };

  [[nodiscard]] std::uint32_t lane(std::size_t position, std::size_t number) const {
    return static_cast<std::uint32_t>(position * lanes_ + number);
  }
  [[nodiscard]] std::uint32_t stream_lane(std::size_t position, std::uint16_t stream) const {
    return lane(position, stream);
  }
  [[nodiscard]] std::uint32_t flight_lane(std::size_t position, std::uint16_t stream) const {
    return lane(position, streams_ + stream);
  }
  void hand_over(std::uint32_t from, std::uint32_t to) {
    knowledge_.learn(to, knowledge_.at_signal(from));
  }
  [[nodiscard]] Accesses& accesses(const ScriptLine& line, std::uint32_t item) {
    return accesses_[line.position * data_.items + item];
  }
  [[nodiscard]] StepContents::OfLine& contents_of(const ScriptLine& line);
  void note_reads(const ScriptLine& line, const Uses& uses);
  void note_writes(const ScriptLine& line, const Uses& uses);
  [[nodiscard]] const Uses& uses_of(const ScriptLine& line, Uses& uses) const;
  void touch(std::uint32_t lane, const ScriptLine& line, const Uses& uses);
  void read(std::uint32_t lane, const ScriptLine& line, std::uint32_t item);
  void write(std::uint32_t lane, const ScriptLine& line, std::uint32_t item);
  // A use that must have ended before this one begins.
  void must_follow(std::uint32_t lane, const ScriptLine& line, std::uint32_t item,
                   const Epoch& earlier, bool earlier_wrote, bool writes);
  // Whether this is a send that the stream goes on from at once.
  [[nodiscard]] bool is_posted(std::size_t position, std::int64_t line) const;
  [[nodiscard]] std::string how_to_order(const Race& race, const Action& earlier,
                                         const Action& later) const;
  [[nodiscard]] Action action_at(std::size_t position, std::int64_t line) const;

  const Workload& workload_;
  const WorkloadData& data_;
  std::size_t streams_, lanes_;
  Knowledge knowledge_;
  std::vector<Accesses> accesses_;    // by position and item
  std::optional<StepValues> values_;  // where something is claimed, or for contents_
  StepContents* contents_;
  std::optional<Race> race_;
  Uses uses_;
};

}  // namespace collsim::checker
