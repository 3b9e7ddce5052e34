// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "validate/lane_memory.hpp"
#include "validate/mpi/orders.hpp"

namespace collsim {

// The lanes of one process, on one thread, and their messages over MPI.
//
// A wire has one message at a time under way: MPI moves several long ones of a connection side by
// side, where a link serves them one after the other.  What lanes sent meanwhile waits its turn.
//
// Slots are receives that were posted before their messages come.  Where messages have to wait for
// a free one, the receiver tells the sender of each that it has freed, in an empty message: MPI
// itself would take a short message off the sender's hands although nobody waits for it.
//
// Messages leave from where the data are, and what is still on its way out is not overwritten: a
// step that would do so waits, as it would in any program over MPI.  Where MPI does not reach the
// data they leave from slots, which they are written to in the same step.
//
// What a step does to data may take its time (LaneMemory); meanwhile others go on.
class MessageMachine {
 public:
  // Error{too_large}: more connections than MPI has tags; a message beyond 2 GiB.
  MessageMachine(PlanPart part, const Processes& processes, std::unique_ptr<LaneMemory> memory);
  MessageMachine(const MessageMachine&) = delete;
  MessageMachine& operator=(const MessageMachine&) = delete;
  // After a run that did not end, what MPI or a GPU may still write to is not freed.
  ~MessageMachine();

  [[nodiscard]] bool is_here(std::size_t position) const;
  // Inputs where they belong, everything else poison.
  void fill(std::span<const std::vector<std::byte>> inputs);
  [[nodiscard]] std::vector<std::byte> output(std::size_t position) const;  // raw

  // Begins at start_ns of this host's clock.
  [[nodiscard]] Report run(const Order& order);

  // Of the steps of this process in the last run, and when it began.
  [[nodiscard]] const std::vector<StepTimes>& step_times() const { return step_times_; }
  [[nodiscard]] const PlanPart& part() const { return part_; }

 private:
  // Receives that a wire has posted at a time: the sender has one message under way.
  static constexpr std::uint32_t window = 3;

  struct Outgoing {
    const std::byte* from = nullptr;
    std::uint64_t bytes = 0;
  };
  // What this process knows of a wire: of its sender, of its receiver, or of both.
  struct WireState {
    bool sends = false, receives = false;
    std::size_t sender = 0, receiver = 0;  // positions
    std::uint32_t slots = 0;               // 0: signals only
    std::size_t requests = 0;              // where those of this wire begin
    std::uint32_t given = 0, left = 0;     // by lanes, from this process: messages
    bool under_way = false;                // the message number `left`
    std::uint32_t freed = 0;               // slots that the receiver has told of
    std::uint32_t posted = 0, taken = 0;   // receives, messages that lanes have consumed
    std::array<std::optional<std::uint32_t>, window> expected;  // messages, until they are noted
    std::uint32_t signals = 0;
    std::vector<bool> has_come;                   // by slot
    std::vector<Outgoing> outgoing;               // by slot
    std::byte *in = nullptr, *staging = nullptr;  // slots
  };
  struct LaneState {
    const PlannedLane* plan = nullptr;
    std::uint32_t next = 0;  // step
    std::uint32_t number = 0;
    bool works = false;  // on that step: it has begun
    std::uint64_t reached = 0, began = 0;
    [[nodiscard]] bool has_ended() const { return next == plan->step_count; }
  };

  void set_up_wires();
  void begin_run();
  // As far as they get; whether any did something.
  bool advance_lanes();
  bool advance_messages();
  void ended(std::size_t request);
  [[nodiscard]] bool may_begin(const LaneState& lane, const LaneStep& step) const;
  // Where the data of a step are; null: nowhere.
  struct Places {
    const std::byte* from = nullptr;    // the message, or what is moved
    const std::byte* source = nullptr;  // of a reduction, too
    std::byte *to = nullptr, *also_to = nullptr;
    const std::byte* leaves = nullptr;  // from where it is sent on
  };
  [[nodiscard]] Places places_of(const LaneState& lane, const LaneStep& step) const;
  void begin(std::size_t lane, const LaneStep& step);
  void end(const LaneState& lane, const LaneStep& step);
  [[nodiscard]] std::byte* slot(std::byte* slots, std::uint32_t wire, std::uint32_t message) const;
  void send(const LaneStep& step, const std::byte* from);
  void take_out(const LaneStep& step);
  void push(std::uint32_t wire);
  void post(std::uint32_t wire);
  [[nodiscard]] bool is_leaving(std::size_t position, const std::byte* at,
                                std::uint64_t bytes) const;
  [[nodiscard]] bool has_ended() const;
  [[nodiscard]] Report stuck() const;

  [[nodiscard]] bool is_limited(const WireState& wire, std::uint32_t number) const {
    return wire.slots < part_.wires[number].messages;
  }

  PlanPart part_;
  const Processes& processes_;
  const std::unique_ptr<LaneMemory> memory_;
  std::vector<std::byte*> ranks_;  // by position: its data; null: it is not here
  std::vector<WireState> wires_;
  std::vector<std::vector<std::uint32_t>> outgoing_of_;  // by position: wires that it sends on
  std::vector<LaneState> lanes_;
  std::vector<MPI_Request> requests_;
  std::vector<std::uint32_t> wire_of_;  // by request
  std::vector<int> completed_;
  std::vector<StepTimes> step_times_;
  bool recording_ = false, runs_ = false;
};

}  // namespace collsim
