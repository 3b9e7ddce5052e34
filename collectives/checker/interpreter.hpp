// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "collectives/checker.hpp"
#include "collectives/checker/interval_map.hpp"
#include "collectives/checker/knowledge.hpp"
#include "collectives/checker/layout.hpp"
#include "collectives/checker/queues.hpp"
#include "collectives/checker/values.hpp"

namespace collsim::checker {

// Runs a schedule with values of one kind (see values.hpp): every lane until it blocks,
// then those it woke.  Signals are messages without elements on a connection within a rank.
template <class Values>
class Interpreter {
 public:
  Interpreter(const Schedule& schedule, const CheckOptions& options, std::optional<int> slots);
  [[nodiscard]] CheckReport run();

 private:
  using Value = typename Values::Value;
  using Pieces = std::vector<Piece<Value>>;

  enum class Waiting : std::uint8_t { no, for_message, for_slot, for_signal };
  struct LaneState {
    LaneProgram program;
    const Instruction* current = nullptr;  // accepted but not yet executed
    std::int64_t step = -1;                // of `current`, or of the last one
    std::optional<Endpoint> from_peer;     // whom receives and sends named last, if accepted ...
    std::optional<Endpoint> to_peer;
    std::uint32_t from = 0;  // ... and the lanes that `current` talks to
    std::uint32_t to = 0;
    Waiting waiting = Waiting::no;
    bool ended = false;
    std::uint32_t awaited = 0;  // the lane that must act before this one can
  };
  struct Memory {
    IntervalMap<Values> output;  // and the input where they are one region
    IntervalMap<Values> scratch;
  };
  struct Races {
    RaceDetector output;
    RaceDetector scratch;
  };

  // The run loop.
  void run_lane(std::uint32_t id);
  [[nodiscard]] bool is_ready(std::uint32_t id);
  void block(LaneState& lane, Waiting what, std::uint32_t awaited) {
    lane.waiting = what;
    lane.awaited = awaited;
  }
  void wake(std::uint32_t id, Waiting what, std::uint32_t by) {
    LaneState& lane = lanes_[id];
    if (lane.waiting != what || lane.awaited != by) return;
    lane.waiting = Waiting::no;
    woken_.push_back(id);
  }

  // Before an instruction runs: is it valid?
  [[nodiscard]] bool accept(std::uint32_t id);
  [[nodiscard]] bool accept_signal(std::uint32_t id);
  [[nodiscard]] bool accept_peer(std::uint32_t id, const Endpoint& peer,
                                 std::optional<Endpoint>& accepted, std::uint32_t& number);
  [[nodiscard]] bool accept_spans(std::uint32_t id);

  // Always false; out of line, to keep the paths of right programs short.
  [[gnu::cold]] bool refuse_length(std::uint32_t id);
  [[gnu::cold]] bool refuse_instruction(std::uint32_t id);
  [[gnu::cold]] bool refuse_span(std::uint32_t id, const Span& span, const char* verb);
  [[gnu::cold]] bool refuse_write(std::uint32_t id);
  [[gnu::cold]] bool refuse_overlap(std::uint32_t id);
  [[gnu::cold]] bool refuse_unwritten(std::uint32_t id, const Span& span);
  [[gnu::cold]] bool refuse_size(std::uint32_t id, std::int64_t count, std::int64_t sent_at);
  [[gnu::cold]] bool refuse_race(std::uint32_t id, const Span& span, bool writes,
                                 const RaceDetector::Conflict& conflict);
  [[gnu::cold]] bool refuse_sum(std::uint32_t id, const AddFault& wrong, const Value& left,
                                const Value& right);

  // Its effects, in order.
  void execute(std::uint32_t id);
  [[nodiscard]] bool receive(std::uint32_t id);
  [[nodiscard]] bool load(std::uint32_t id, const Span& span, Pieces& pieces);
  [[nodiscard]] bool combine(std::uint32_t id);
  [[nodiscard]] bool store(std::uint32_t id);
  void send(std::uint32_t id);
  void signal_or_wait(std::uint32_t id);
  [[nodiscard]] bool note_access(std::uint32_t id, const Span& span, bool writes);

  // When no lane can continue.
  void judge_waiting();
  void report_cycle(std::uint32_t id);
  void judge_leftovers();
  void judge_results();
  [[nodiscard]] bool judge_stretch(std::uint32_t position, const Requirement& required);
  void judge_exits();

  // Words.
  [[nodiscard]] Endpoint endpoint(std::uint32_t id) const {
    return {schedule_.rank(static_cast<int>(layout_.position_of(id))), layout_.lane_of(id)};
  }
  [[nodiscard]] std::string waits_for(const LaneState& lane) const;
  [[nodiscard]] std::optional<Instruction> instruction_at(std::uint32_t id,
                                                          std::int64_t step) const;
  struct Blame {
    std::uint32_t lane = 0;
    std::int64_t step = -1;
    std::optional<Instruction> instruction{};
  };
  [[nodiscard]] Blame current(std::uint32_t id) const {
    return {id, lanes_[id].step, *lanes_[id].current};
  }
  // Always false, for `return fault(...)`.
  [[gnu::cold]] bool fault(FaultKind kind, const Blame& blame, std::string expected,
                           std::string found, const std::string& sentence);

  const Schedule& schedule_;
  const CheckOptions& options_;
  std::optional<int> slots_;
  Bytes element_bytes_;
  Layout layout_;
  Values values_;
  Knowledge knowledge_;
  std::vector<LaneState> lanes_;
  std::vector<Memory> memory_;  // by position
  std::vector<Races> races_;    // by position, when ranks have several lanes
  Queues<Value> queues_;
  typename Queues<Value>::Queue* inbox_ = nullptr;  // what the current instruction receives from
  std::vector<std::uint32_t> woken_;
  Pieces value_;   // on its way through the current instruction
  Pieces source_;  // what is added to it
  Pieces sum_;
  CheckReport report_;
};

}  // namespace collsim::checker
