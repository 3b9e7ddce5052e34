// SPDX-License-Identifier: Apache-2.0
#include "collectives/recorded_actions.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace collsim {

namespace {

using ActionKind = Action::Kind;

// Reads a rank's script again, next to the steps that it led to.
class ScriptReader {
 public:
  ScriptReader(const Workload& workload, const Timeline& timeline)
      : workload_(workload),
        timeline_(timeline),
        streams_(workload.streams()),
        scripts_(static_cast<std::size_t>(streams_)) {
    result_.of_step.assign(timeline.steps.size(), Step::none);
    auto lane = static_cast<std::size_t>(streams_);
    for (const int lanes : workload.lanes_of_communicators()) {
      first_lanes_.push_back(lane);
      lane += static_cast<std::size_t>(lanes);
    }
  }

  // The steps of one rank are [first, end).
  void read(std::uint32_t first, std::uint32_t end) {
    rank_ = timeline_.steps[first].rank;
    for (std::vector<Action>& actions : scripts_) actions.clear();
    Script script = workload_.script(rank_);
    while (const Action* const action = script.next()) scripts_[action->stream].push_back(*action);
    while (first < end) {
      std::uint32_t next = first;
      while (next < end && timeline_.steps[next].lane == timeline_.steps[first].lane) ++next;
      if (static_cast<int>(timeline_.steps[first].lane.index()) < streams_)
        read_stream(first, next);
      else
        read_communicator(first, next);
      first = next;
    }
  }

  [[nodiscard]] RecordedActions take() { return std::move(result_); }

 private:
  [[nodiscard]] bool is_stream(Lane lane) const {
    return static_cast<int>(lane.index()) < streams_;
  }

  // The kind of action to which a step of a stream belongs.
  [[nodiscard]] ActionKind kind_of(const Instruction& instruction) const {
    switch (instruction.op) {
      case Op::work: return ActionKind::work;
      case Op::send: return ActionKind::send;
      case Op::receive: return ActionKind::receive;
      case Op::drain: return ActionKind::drain;
      case Op::signal:
        return is_stream(instruction.to.lane) ? ActionKind::record : ActionKind::collective;
      default: return is_stream(instruction.from.lane) ? ActionKind::wait : ActionKind::collective;
    }
  }
  [[nodiscard]] bool goes_on(const RecordedAction& latest, const Instruction& instruction) const {
    const ActionKind kind = kind_of(instruction);
    if (kind != latest.action.kind) return false;
    if (kind == ActionKind::wait) return latest.action.other == instruction.from.lane.index();
    const bool begins =  // a call, perhaps of another communicator
        instruction.op == Op::signal &&
        std::find(first_lanes_.begin(), first_lanes_.end(), instruction.to.lane.index()) !=
            first_lanes_.end();
    return kind == ActionKind::collective && !begins;
  }

  void read_stream(std::uint32_t first, std::uint32_t end) {
    const std::vector<Action>& script = scripts_[timeline_.steps[first].lane.index()];
    auto next = script.begin();
    const std::size_t begins = result_.all.size();
    for (std::uint32_t i = first; i < end; ++i) {
      const Step& step = timeline_.steps[i];
      if (result_.all.size() == begins || !goes_on(result_.all.back(), step.instruction)) {
        // Lines between took no step: waits for what had been waited for.
        const ActionKind kind = kind_of(step.instruction);
        while (next != script.end() && next->kind != kind) ++next;
        if (next == script.end()) return;  // what nobody waited for, at the end
        result_.all.push_back({*next++, rank_, step.reached, step.ended, i, i});
      }
      result_.all.back().end = step.ended;
      result_.all.back().last_step = i;
      result_.of_step[i] = static_cast<std::uint32_t>(result_.all.size() - 1);
    }
  }

  // Streams come before communicators in the timeline.
  void read_communicator(std::uint32_t first, std::uint32_t end) {
    std::uint32_t call = Step::none;
    for (std::uint32_t i = first; i < end; ++i) {
      const Step& step = timeline_.steps[i];
      if (begins_call(step, streams_) && step.message_from != Step::none)
        call = result_.of_step[step.message_from];
      result_.of_step[i] = call;
    }
  }

  const Workload& workload_;
  const Timeline& timeline_;
  int streams_;
  std::vector<std::size_t> first_lanes_;      // of communicators
  std::vector<std::vector<Action>> scripts_;  // by stream, of one rank
  Rank rank_;
  RecordedActions result_;
};

}  // namespace

RecordedActions recorded_actions(const Workload& workload, const Timeline& timeline) {
  ScriptReader reader(workload, timeline);
  const auto steps = static_cast<std::uint32_t>(timeline.steps.size());
  for (std::uint32_t first = 0, next = 0; first < steps; first = next) {
    while (next < steps && timeline.steps[next].rank == timeline.steps[first].rank) ++next;
    reader.read(first, next);
  }
  return reader.take();
}

}  // namespace collsim
