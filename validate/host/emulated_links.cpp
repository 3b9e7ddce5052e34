// SPDX-License-Identifier: Apache-2.0
#include "validate/host/emulated_links.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace collsim {

EmulatedLinks::EmulatedLinks(const Plan& plan, const Pacing& pacing,
                             std::vector<StepTimes>& recorded)
    : plan_(plan),
      pacing_(pacing),
      recorded_(recorded),
      known_(plan.lanes.size()),
      lanes_(plan.lanes.size()),
      wires_(plan.wires.size()) {
  for (std::size_t wire = 0; wire < wires_.size(); ++wire)
    wires_[wire].moments.resize(plan.wires[wire].moments());
  std::vector<std::uint32_t> order(lanes_.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    const auto key = [&](std::uint32_t lane) {
      const PlannedLane& planned = plan.lanes[lane];
      return std::pair(plan.programs.rank(static_cast<int>(planned.position)), planned.lane);
    };
    return key(a) < key(b);
  });
  for (std::uint32_t place = 0; place < order.size(); ++place) lanes_[order[place]].order = place;
}

void EmulatedLinks::begin_run(std::uint64_t start) {
  start_ = start;
  sent_ = 0;
  asks_.clear();
  free_at_.assign(pacing_.links, Time{});
  for (OneWire& wire : wires_) wire.arrived = wire.freed = 0;
  std::vector<std::uint32_t> may_begin;
  for (std::uint32_t number = 0; number < lanes_.size(); ++number) {
    OneLane& lane = lanes_[number];
    const Time late = pacing_.late[plan_.lanes[number].position];
    const Instant before{Time(-1), 0};
    lane = {OneLane::State::waits, 0, lane.order, 0, {late, before}, late};
    known_[number].steps = 0;
    consider(number, may_begin);
  }
  for (const std::uint32_t lane : may_begin) known_[lane].steps = known_steps(lane);
}

// As simulators do it: what is sent asks for its first link before the slot of what was received
// is free.
void EmulatedLinks::go_on(std::uint32_t number, std::vector<std::uint32_t>& may_begin) {
  OneLane& lane = lanes_[number];
  const LaneStep& step = plan_.steps[place_of(number, lane.step)];
  if (step.to != no_wire) {
    if (step.op == Op::signal)
      arrive(step.to, lane.now, may_begin);
    else
      send(number, may_begin);
  }
  if (step.from != no_wire && step.op != Op::wait) {
    moment_of(step.from, step.from_message) = lane.now;
    ++wires_[step.from].freed;
    consider(plan_.wires[step.from].sender, may_begin);
  }
  ++lane.step;
  lane.state =
      lane.step < plan_.lanes[number].step_count ? OneLane::State::waits : OneLane::State::ended;
  consider(number, may_begin);
  serve(may_begin);
}

void EmulatedLinks::send(std::uint32_t number, std::vector<std::uint32_t>& may_begin) {
  OneLane& lane = lanes_[number];
  const std::size_t place = place_of(number, lane.step);
  const LaneStep& step = plan_.steps[place];
  const PacedWire& route = pacing_.wires[step.to];
  if (route.link_count == 0) {
    if (!recorded_.empty())
      recorded_[place].departed = recorded_[place].left = recorded_[place].arrives =
          ns(lane.now.time);
    arrive(step.to, lane.now, may_begin);
    return;
  }
  lane.now.cause = follows(lane.now);
  ++lane.staying;
  push({lane.now.cause, lane.order, route.first_link, sent_++, number, lane.step, Time{}});
}

// Asks of now and of the moments before: whoever is at work asks later.
void EmulatedLinks::serve(std::vector<std::uint32_t>& may_begin) {
  if (asks_.empty()) return;
  Instant next{Time::never(), 0};
  for (const OneLane& lane : lanes_)
    if (lane.state == OneLane::State::works) next = std::min(next, follows(lane.now));
  while (!asks_.empty() && asks_.front().at < next) {
    std::pop_heap(asks_.begin(), asks_.end(), goes_after);
    const Ask ask = asks_.back();
    asks_.pop_back();
    const std::size_t before = may_begin.size();
    cross(ask, may_begin);
    for (std::size_t i = before; i < may_begin.size(); ++i)
      next = std::min(next, follows(lanes_[may_begin[i]].now));
  }
}

void EmulatedLinks::cross(Ask ask, std::vector<std::uint32_t>& may_begin) {
  const std::size_t place = place_of(ask.lane, ask.step);
  const LaneStep& step = plan_.steps[place];
  const PacedWire& route = pacing_.wires[step.to];
  const EmulatedLink& link = pacing_.route_links[ask.link];
  Time& free_at = free_at_[link.resource];
  const Time occupied = transfer_time(static_cast<Bytes>(step.bytes), link.bandwidth);
  Time begun = std::max(ask.at.time + (link.startup_is_delay ? link.startup : Time{}), free_at);
  free_at = begun + occupied + (link.startup_is_delay ? Time{} : link.startup);
  ask.last_byte = std::max(ask.last_byte, free_at) + link.latency;
  if (ask.link == route.first_link) {
    OneLane& lane = lanes_[ask.lane];
    lane.left = std::max(lane.left, free_at);
    --lane.staying;
    if (!recorded_.empty()) recorded_[place].departed = ns(begun);
    if (!recorded_.empty()) recorded_[place].left = ns(free_at);
    consider(ask.lane, may_begin);
  }
  if (++ask.link < route.first_link + route.link_count) {
    ask.at = follows({begun + link.latency, ask.at});
    push(ask);
    return;
  }
  if (!recorded_.empty()) recorded_[place].arrives = ns(ask.last_byte);
  arrive(step.to, {ask.last_byte, ask.at}, may_begin);
}

// Messages of one connection never overtake each other.
void EmulatedLinks::arrive(std::uint32_t wire, Moment moment,
                           std::vector<std::uint32_t>& may_begin) {
  moment_of(wire, wires_[wire].arrived++) = moment;
  consider(plan_.wires[wire].receiver, may_begin);
}

void EmulatedLinks::consider(std::uint32_t number, std::vector<std::uint32_t>& may_begin) {
  OneLane& lane = lanes_[number];
  if (lane.state != OneLane::State::waits) return;
  const std::size_t place = place_of(number, lane.step);
  const std::optional<Moment> begin = all_is_there(lane, plan_.steps[place]);
  if (!begin) return;
  lane.state = OneLane::State::works;
  lane.now = {begin->time + cost_of(place), begin->cause};
  known_[number].began = ns(begin->time);
  known_[number].ended = ns(lane.now.time);
  may_begin.push_back(number);
}

std::optional<EmulatedLinks::Moment> EmulatedLinks::all_is_there(const OneLane& lane,
                                                                 const LaneStep& step) {
  Moment begin = lane.now;
  if (step.from != no_wire) {
    if (wires_[step.from].arrived <= step.from_message) return std::nullopt;
    join(begin, moment_of(step.from, step.from_message));
  }
  if (step.to != no_wire && step.op != Op::signal) {
    const std::uint32_t slots = plan_.wires[step.to].slots;
    if (step.to_message >= slots) {
      if (wires_[step.to].freed + slots <= step.to_message) return std::nullopt;
      join(begin, moment_of(step.to, step.to_message));
    }
  }
  if (step.op == Op::drain) {
    if (lane.staying > 0) return std::nullopt;
    begin.time = std::max(begin.time, lane.left);
  }
  return begin;
}

Time EmulatedLinks::cost_of(std::size_t place) const {
  const LaneStep& step = plan_.steps[place];
  const CostModel& costs = pacing_.costs;
  if (step.op == Op::work) return Time(plan_.instructions[place].count);
  if (takes_time_only(step.op)) return {};
  Time cost = costs.instruction_overhead;
  if (orders_lanes(step.op)) return cost;
  const auto add = [&](const std::optional<Bandwidth>& rate) {
    if (rate) cost += transfer_time(static_cast<Bytes>(step.bytes), *rate);
  };
  if (costs.local_bandwidth && !exchanges(step.op))
    add(costs.local_bandwidth);
  else
    add(reduces(step.op) ? costs.reduce_bandwidth : costs.copy_bandwidth);
  if (stores(step.op) && sends(step.op)) add(costs.second_write_bandwidth);
  return cost;
}

EmulatedLinks::Moment& EmulatedLinks::moment_of(std::uint32_t wire, std::uint32_t message) {
  std::vector<Moment>& moments = wires_[wire].moments;
  return moments[message % moments.size()];
}

EmulatedLinks::Instant EmulatedLinks::follows(const Moment& moment) {
  return {moment.time, moment.cause.time < moment.time ? 0 : moment.cause.round + 1};
}

void EmulatedLinks::join(Moment& moment, const Moment& other) {
  moment.time = std::max(moment.time, other.time);
  moment.cause = std::max(moment.cause, other.cause);
}

bool EmulatedLinks::goes_after(const Ask& a, const Ask& b) {
  return std::tie(a.at, a.order, a.number) > std::tie(b.at, b.order, b.number);
}

void EmulatedLinks::push(const Ask& ask) {
  asks_.push_back(ask);
  std::push_heap(asks_.begin(), asks_.end(), goes_after);
}

}  // namespace collsim
