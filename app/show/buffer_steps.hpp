// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "app/show/buffers.hpp"
#include "collectives/execute.hpp"

namespace collsim {

// The numbers of a buffer, cut into pieces of these lengths (one length: no pieces).
[[nodiscard]] ShownBuffer in_pieces(const Numbers& numbers,
                                    const std::vector<std::int64_t>& lengths);
// One per rank of the group where the buffer is a list of pieces, else the whole.
[[nodiscard]] std::vector<std::int64_t> input_pieces(const Collective& collective, int position);
[[nodiscard]] std::vector<std::int64_t> output_pieces(const Collective& collective, int position);

[[nodiscard]] Numbers to_numbers(ElementType type, const std::vector<std::byte>& bytes);

// Listens to an execution and tells it as steps (see BufferStep).
class BufferStepRecorder {
 public:
  // `outputs`: what the output of every position holds before anything was written to it.
  BufferStepRecorder(const Schedule& schedule, const std::vector<std::vector<std::byte>>& inputs,
                     std::vector<Numbers> outputs);

  // After each instruction, in any order that an execution may have.
  void executed(const ExecutedStep& step);

  // By step, then rank; the last step's number.
  [[nodiscard]] std::vector<BufferStep> take_steps(std::int64_t& last_step);

 private:
  using Bytestring = std::vector<std::byte>;
  struct Message {
    Bytestring value;
    std::int64_t step = 0;
  };
  struct ConnectionState {
    std::deque<Message> messages;
    std::deque<std::int64_t> freed;  // in which step each slot became free, oldest first
    std::int64_t sent = 0;
  };
  struct LaneState {
    std::int64_t step = 0;  // what it did last
    std::int64_t last_sent = 0, last_taken = 0;
  };
  struct Record {
    BufferStep shown;
    int position = 0;
    Span stored;  // where the value went; empty when it was not kept
    Numbers value;
  };
  using Connection = std::pair<Endpoint, Endpoint>;

  void order_lanes(const Instruction& instruction, Endpoint me, LaneState& lane);
  void take_message(const Instruction& instruction, Endpoint me, LaneState& lane, Record& record,
                    Bytestring& value);
  void send_message(const Instruction& instruction, Endpoint me, LaneState& lane, Bytestring value);
  void write_to_output(const Record& record, Numbers& output) const;

  const Schedule& schedule_;
  ElementType type_;
  std::vector<RankMemory> memory_;  // by position, as of before the instruction
  std::vector<Numbers> outputs_;    // by position
  std::vector<LaneState> lanes_;    // position * lanes + lane
  std::map<Connection, ConnectionState> connections_;
  std::map<Connection, std::deque<std::int64_t>> signals_;
  std::vector<Record> records_;
};

}  // namespace collsim
