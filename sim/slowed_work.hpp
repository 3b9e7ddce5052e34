// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <queue>
#include <vector>

#include "collectives/cost/cost_model.hpp"
#include "collectives/programs.hpp"
#include "sim/connections.hpp"

namespace collsim {

// Internal to sim/: computing that goes slower while a collective is under way on its rank
// (CostModel::slowdown).  When work ends then depends on what happens meanwhile, so the lane sleeps
// until the clock has come there.  A collective is under way on a rank from when one of its lanes
// has taken it over from a stream until that lane hands back.
class SlowedWork {
 public:
  SlowedWork(const Programs& programs, const CostModel& costs, std::size_t lanes);

  // Whether any of this matters.
  [[nodiscard]] static bool matters(const Programs& programs, const CostModel& costs) {
    return costs.slowdown > 0 && programs.streams() > 0 && programs.streams() < programs.lanes();
  }

  // A lane has come to work: when it ends; never(): not known yet, and process() will wake it.
  [[nodiscard]] Time end_of(LaneNumber lane, Time began, Time duration);
  // A lane of a communicator began or ended its part of a collective.
  void note_call(LaneNumber lane, bool begins, Time at) {
    events_.push({at, begins ? Event::Kind::call_begins : Event::Kind::call_ends, lane, 0});
  }

  [[nodiscard]] Time next_event() const {
    return events_.empty() ? Time::never() : events_.top().time;
  }
  // What happens now; `wake` is told the lanes whose work has ended.
  void process(Time now, const std::function<void(LaneNumber)>& wake);

 private:
  __extension__ using Progress = __int128;  // picoseconds in millionths

  struct Event {
    enum class Kind : std::uint8_t { call_begins, call_ends, work_begins, work_ends };
    Time time;
    Kind kind;
    LaneNumber lane;
    std::uint32_t version;  // of a work's end
    bool operator>(const Event& other) const { return time > other.time; }
  };
  struct Work {
    enum class State : std::uint8_t { none, ahead, running, ended };
    State state = State::none;
    std::uint32_t version = 0;  // of its end: older ones no longer hold
    Time since{};               // as of when `left` is left
    Progress left = 0;
  };

  [[nodiscard]] Progress speed(std::size_t position) const;
  void change_speed(LaneNumber lane, int calls, Time now);
  void plan_end(LaneNumber lane, Time now);

  const std::size_t streams_;
  const std::size_t per_rank_;
  const std::int64_t slowed_speed_;
  std::vector<Work> work_;  // by lane
  std::vector<int> calls_;  // under way, by position
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
};

}  // namespace collsim
