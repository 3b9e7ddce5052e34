// SPDX-License-Identifier: Apache-2.0
#include "validate/plan_layout.hpp"

#include <algorithm>
#include <utility>

namespace collsim {

namespace {

constexpr std::uint64_t area_alignment = 256;

std::uint64_t on_boundary(std::uint64_t bytes) {
  return (bytes + area_alignment - 1) / area_alignment * area_alignment;
}

class ScheduleLayout : public PlanLayout {
 public:
  explicit ScheduleLayout(const Schedule& schedule) : schedule_(schedule) {
    place_.type = schedule.collective().type;
    place_.reduction = schedule.collective().reduction;
  }

  PlannedMemory begin_rank(int position) override {
    return place_.buffers = memory_of(schedule_, position);
  }
  void begin_lane(Lane /*lane*/) override {}
  const Place& next(const Instruction& /*instruction*/) override { return place_; }

 private:
  const Schedule& schedule_;
  Place place_;
};

class WorkloadLayout : public PlanLayout {
 public:
  explicit WorkloadLayout(const Workload& workload) : workload_(workload) {}

  PlannedMemory begin_rank(int position) override {
    rank_ = workload_.rank(position);
    streams_.clear();
    calls_.clear();
    PlannedMemory memory;
    for (int stream = 0; stream < workload_.streams(); ++stream) {
      OfStream& one = streams_.emplace_back(OfStream{workload_.lines(rank_, stream), memory.bytes});
      std::uint64_t longest = 0;
      for (const StreamLine& line : one.lines) {
        longest = std::max(longest, buffers_of(line.action).bytes);
        if (line.action.kind == Action::Kind::collective) calls_.push_back({line, 0, 0, 0, one.at});
      }
      memory.bytes += on_boundary(longest);
    }
    number_calls();
    return memory;
  }

  void begin_lane(Lane lane) override {
    lane_ = lane;
    step_ = 0;
    lines_.clear();
    next_ = 0;
    if (!is_stream(lane)) return;
    for (const StreamLine& line : streams_[lane.index()].lines) {
      PlannedLine planned{line, 0, line.first, line.end, streams_[lane.index()].at};
      if (line.action.kind == Action::Kind::collective) planned.call = number_of(line);
      lines_.push_back(planned);
    }
  }

  const Place& next(const Instruction& instruction) override {
    if (is_stream(lane_))
      find_line();
    else if (instruction.op == Op::wait && is_stream(instruction.from.lane))
      begin_call();
    else if (!lines_.empty())
      ++lines_.back().end;
    ++step_;
    return place_;
  }

  std::vector<PlannedLine> take_lines() override { return std::move(lines_); }

 private:
  struct OfStream {
    std::vector<StreamLine> lines;
    std::uint64_t at = 0;
  };

  [[nodiscard]] bool is_stream(Lane lane) const {
    return static_cast<int>(lane.index()) < workload_.streams();
  }

  // In the order of the script.
  void number_calls() {
    std::sort(calls_.begin(), calls_.end(), [](const PlannedLine& one, const PlannedLine& other) {
      return one.line.number < other.line.number;
    });
    std::vector<std::uint32_t> calls(workload_.communicators().size());
    for (PlannedLine& one : calls_) one.call = ++calls[one.line.action.communicator];
  }
  [[nodiscard]] std::uint32_t number_of(const StreamLine& line) const {
    const auto found = std::lower_bound(
        calls_.begin(), calls_.end(), line.number,
        [](const PlannedLine& one, std::int64_t number) { return one.line.number < number; });
    return found->call;
  }

  [[nodiscard]] PlannedMemory buffers_of(const Action& action) const {
    PlannedMemory buffers;
    if (action.kind == Action::Kind::collective) {
      const Schedule& schedule = workload_.schedule(action, rank_);
      return memory_of(schedule, position_in(schedule.group(), rank_));
    }
    if (action.kind == Action::Kind::send || action.kind == Action::Kind::receive)
      buffers.bytes = buffers.input_bytes =
          static_cast<std::uint64_t>(std::max<std::int64_t>(0, action.amount));
    return buffers;
  }

  void set_place(const PlannedLine& planned) {
    place_ = {buffers_of(planned.line.action), planned.at, planned.line.action.call.type,
              planned.line.action.call.reduction};
  }

  // At the end of a stream there are waits that belong to no line.
  void find_line() {
    while (next_ < lines_.size() && lines_[next_].end <= step_) ++next_;
    if (next_ < lines_.size() && lines_[next_].first == step_) set_place(lines_[next_]);
  }

  // The next call of the communicator for which this lane is needed.
  void begin_call() {
    std::size_t communicator = 0;
    std::size_t role = lane_.index() - static_cast<std::size_t>(workload_.streams());
    for (const int lanes : workload_.lanes_of_communicators()) {
      if (role < static_cast<std::size_t>(lanes)) break;
      role -= static_cast<std::size_t>(lanes);
      ++communicator;
    }
    for (; next_ < calls_.size(); ++next_) {
      const Action& action = calls_[next_].line.action;
      if (action.communicator == communicator &&
          static_cast<int>(role) < workload_.schedule(action, rank_).lanes())
        break;
    }
    COLLSIM_CHECK(next_ < calls_.size(), "a lane takes part in more calls than the script has");
    PlannedLine planned = calls_[next_++];
    planned.first = step_;
    planned.end = step_ + 1;
    set_place(planned);
    lines_.push_back(planned);
  }

  const Workload& workload_;
  Rank rank_;
  Lane lane_;
  std::vector<OfStream> streams_;   // of the rank
  std::vector<PlannedLine> calls_;  // of the rank, in the order of the script
  std::vector<PlannedLine> lines_;  // of the lane
  std::size_t next_ = 0;            // of lines_ or, for a communicator's lane, of calls_
  std::uint32_t step_ = 0;
  Place place_;
};

}  // namespace

int position_in(const std::vector<Rank>& group, Rank rank) {
  return static_cast<int>(std::find(group.begin(), group.end(), rank) - group.begin());
}

PlannedMemory memory_of(const Schedule& schedule, int position) {
  const Collective& collective = schedule.collective();
  const auto element = static_cast<std::uint64_t>(size_of(collective.type));
  const auto bytes = [&](std::int64_t count) {
    return static_cast<std::uint64_t>(count) * element;
  };
  const Aliasing shared = aliasing(collective, position);
  PlannedMemory memory;
  memory.input_bytes = bytes(input_count(collective, position));
  memory.output_bytes = bytes(output_count(collective, position));
  memory.scratch_bytes = bytes(schedule.scratch_count(position));
  if (shared.shared) {
    memory.input = bytes(shared.input_at);
    memory.output = bytes(shared.output_at);
  } else {
    memory.output = on_boundary(memory.input_bytes);
  }
  memory.scratch =
      on_boundary(std::max(memory.input + memory.input_bytes, memory.output + memory.output_bytes));
  memory.bytes = on_boundary(memory.scratch + memory.scratch_bytes);
  return memory;
}

std::unique_ptr<PlanLayout> layout_of(const Schedule& schedule) {
  return std::make_unique<ScheduleLayout>(schedule);
}

std::unique_ptr<PlanLayout> layout_of(const Workload& workload) {
  return std::make_unique<WorkloadLayout>(workload);
}

}  // namespace collsim
