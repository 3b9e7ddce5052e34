// SPDX-License-Identifier: Apache-2.0
#include "sim/slowed_work.hpp"

namespace collsim {

namespace {

constexpr std::int64_t full_speed = CostModel::millionths;

}  // namespace

SlowedWork::SlowedWork(const Programs& programs, const CostModel& costs, std::size_t lanes)
    : streams_(static_cast<std::size_t>(programs.streams())),
      per_rank_(static_cast<std::size_t>(programs.lanes())),
      slowed_speed_(full_speed - costs.slowdown) {
  if (!matters(programs, costs)) return;
  work_.resize(lanes);
  calls_.resize(lanes / per_rank_);
}

Time SlowedWork::end_of(LaneNumber lane, Time began, Time duration) {
  Work& work = work_[lane];
  if (work.state == Work::State::ended) {
    work.state = Work::State::none;
    return work.since;
  }
  if (duration == Time{}) return began;
  if (work.state == Work::State::none) {
    work.state = Work::State::ahead;
    work.left = Progress{duration.ps()} * full_speed;
    events_.push({began, Event::Kind::work_begins, lane, 0});
  }
  return Time::never();
}

SlowedWork::Progress SlowedWork::speed(std::size_t position) const {
  return calls_[position] > 0 ? slowed_speed_ : full_speed;
}

// The first picosecond not before its end, at this speed.
void SlowedWork::plan_end(LaneNumber lane, Time now) {
  Work& work = work_[lane];
  const Progress speed = this->speed(lane / per_rank_);
  work.since = now;
  const auto rest = static_cast<std::int64_t>((work.left + speed - 1) / speed);
  events_.push({now + Time(rest), Event::Kind::work_ends, lane, ++work.version});
}

void SlowedWork::change_speed(LaneNumber lane, int calls, Time now) {
  const std::size_t position = lane / per_rank_;
  const Progress before = speed(position);
  calls_[position] += calls;
  if (speed(position) == before) return;
  const auto first = static_cast<LaneNumber>(position * per_rank_);
  for (LaneNumber stream = first; stream < first + streams_; ++stream) {
    Work& work = work_[stream];
    if (work.state != Work::State::running) continue;
    work.left -= before * (now - work.since).ps();
    if (work.left < 0) work.left = 0;  // it ends now
    plan_end(stream, now);
  }
}

void SlowedWork::process(Time now, const std::function<void(LaneNumber)>& wake) {
  while (next_event() == now) {
    const Event event = events_.top();
    events_.pop();
    Work& work = work_[event.lane];
    switch (event.kind) {
      case Event::Kind::call_begins: change_speed(event.lane, 1, now); break;
      case Event::Kind::call_ends: change_speed(event.lane, -1, now); break;
      case Event::Kind::work_begins:
        work.state = Work::State::running;
        plan_end(event.lane, now);
        break;
      case Event::Kind::work_ends:
        if (event.version != work.version) break;
        work.state = Work::State::ended;
        work.since = now;
        wake(event.lane);
        break;
    }
  }
}

}  // namespace collsim
