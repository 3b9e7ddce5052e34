// SPDX-License-Identifier: Apache-2.0
#include "sim/recorder.hpp"

#include <algorithm>
#include <numeric>
#include <span>
#include <tuple>
#include <utility>

namespace collsim {

TimelineRecorder::TimelineRecorder(const Topology& topology, const Programs& programs,
                                   const SimulationOptions& options)
    : topology_(topology),
      activities_only_(options.recording == Recording::activities),
      full_(options.recording == Recording::full),
      max_steps_(std::min<std::uint64_t>(options.max_recorded_steps, Step::none)),
      slots_(programs.slots() ? static_cast<std::uint64_t>(*programs.slots()) : 0),
      ranks_(static_cast<std::size_t>(programs.size())),
      activities_(programs, options.timeout, options.host),
      links_(topology.links().size()),
      lanes_(static_cast<std::size_t>(programs.lanes())) {
  if (!full_) return;
  steps_of_lane_.resize(ranks_.size() * lanes_);
  last_user_.assign(links_.size(), Step::none);
}

void TimelineRecorder::step(Endpoint lane, std::uint32_t position, const Instruction& instruction,
                            const Times& times, const Connection* in, const Connection* out) {
  activities_.step(position, lane.lane, instruction, times.began, times.ended);
  if (activities_only_) return;
  RankUsage& usage = ranks_[position];
  Time have_message = times.reached;
  if (in != nullptr) {
    const Time arrived = in->queue.slot(in->queue.received).time;
    have_message = std::max(have_message, arrived);
    usage.waiting_for_messages += have_message - times.reached;
  }
  if (instruction.op != Op::drain) usage.waiting_for_slots += times.began - have_message;
  usage.working += times.ended - times.began;
  if (!full_) return;

  if (steps_.size() >= max_steps_)
    throw_error(ErrorCode::too_large,
                "a full recording of more than " + std::to_string(max_steps_) +
                    " steps; record a summary, or fewer ranks, messages or channels");
  const auto number = static_cast<std::uint32_t>(steps_.size());
  Step step;
  step.rank = lane.rank;
  step.lane = lane.lane;
  step.index = steps_of_lane_[position * lanes_ + lane.lane.index()]++;
  step.instruction = instruction;
  step.reached = times.reached;
  step.began = times.began;
  step.ended = times.ended;
  const auto newest = static_cast<std::size_t>(
      std::max(in != nullptr ? in->number : 0, out != nullptr ? out->number : 0));
  if (newest >= ends_.size()) ends_.resize(newest + 1);
  if (in != nullptr) {
    Ends& ends = ends_[in->number];
    step.message_from = ends.sender[in->queue.received];
    ends.receiver.push_back(number);
  }
  if (out != nullptr) {
    Ends& ends = ends_[out->number];
    const std::size_t message = ends.sender.size();
    if (slots_ != 0 && instruction.op != Op::signal && message >= slots_)
      step.slot_freed_by = ends.receiver[message - slots_];
    ends.sender.push_back(number);
    step.departed = step.left = step.arrived =
        times.ended;  // a signal; for messages, departed and left say more
  }
  steps_.push_back(step);
}

void TimelineRecorder::sent(const Connection& connection, std::uint64_t message,
                            std::span<const LinkId> route, Bytes bytes) {
  if (activities_only_) return;
  for (const LinkId id : route) {
    LinkUsage& usage = links_[topology_.link(id).resource.index()];
    if (__builtin_add_overflow(usage.bytes, bytes, &usage.bytes))
      throw_error(ErrorCode::overflow,
                  "more bytes cross link " + topology_.name(id) + " than 64 bits can count");
    ++usage.messages;
  }
  if (!full_) return;
  constexpr std::uint64_t crossings_per_step = 8;
  const std::uint64_t most =
      std::min<std::uint64_t>(crossings_per_step * max_steps_, Step::none - 1);
  if (crossings_.size() + route.size() > most)
    throw_error(ErrorCode::too_large,
                "a full recording of more than " + std::to_string(most) +
                    " crossings of links; record a summary, or fewer ranks or messages");
  Step& step = step_of(connection, message);
  if (step.links == 0) step.first_crossing = static_cast<std::uint32_t>(crossings_.size());
  step.links += static_cast<std::uint32_t>(route.size());
  for (const LinkId id : route) crossings_.push_back({.link = id});
}

void TimelineRecorder::departed(const Connection& connection, std::uint64_t message, Time departed,
                                Time left, bool is_first) {
  if (!full_) return;
  Step& step = step_of(connection, message);
  step.departed = is_first ? departed : std::min(step.departed, departed);
  step.left = is_first ? left : std::max(step.left, left);
}

// On fair links a message waits for the one before on the same way of its connection, on exclusive
// ones for the one that asked before.
void TimelineRecorder::crossed(const Connection& connection, std::uint64_t message, LinkId link,
                               std::size_t place, Time asked, Time begun, Time ended, Bytes bytes) {
  if (activities_only_) return;
  const Link& crossed = topology_.link(link);
  const bool fair = crossed.sharing == Sharing::fair;
  links_[crossed.resource.index()].busy +=
      fair ? transfer_time(bytes, crossed.bandwidth) : ended - begun;
  if (!full_) return;
  const std::vector<std::uint32_t>& senders = ends_[connection.number].sender;
  std::uint32_t& last_user = last_user_[crossed.resource.index()];
  Crossing& crossing = crossings_[step_of(connection, message).first_crossing + place];
  crossing = {link, asked, begun, ended};
  if (begun > asked) crossing.queued_behind = fair ? sent_before(senders, message) : last_user;
  if (place == 0) step_of(connection, message).queued_behind = crossing.queued_behind;
  last_user = senders[message];
}

std::uint32_t TimelineRecorder::sent_before(const std::vector<std::uint32_t>& senders,
                                            std::uint64_t message) const {
  const auto crossings = [this](std::uint32_t step) {
    return std::span(crossings_).subspan(steps_[step].first_crossing, steps_[step].links);
  };
  const auto own = crossings(senders[message]);
  while (message-- > 0)
    if (const auto other = crossings(senders[message]);
        std::equal(other.begin(), other.end(), own.begin(), own.end(),
                   [](const Crossing& a, const Crossing& b) { return a.link == b.link; }))
      return senders[message];
  return Step::none;
}

void TimelineRecorder::arrived(const Connection& connection, std::uint64_t message, Time arrived) {
  if (full_) step_of(connection, message).arrived = arrived;
}

void TimelineRecorder::finish(Simulation& result) {
  result.activities = activities_.of_ranks();
  if (activities_only_) return;
  result.ranks = std::move(ranks_);
  result.links = std::move(links_);
  if (!full_) return;
  std::vector<std::uint32_t> order(steps_.size());
  std::iota(order.begin(), order.end(), 0U);
  std::sort(order.begin(), order.end(), [this](std::uint32_t a, std::uint32_t b) {
    const Step& x = steps_[a];
    const Step& y = steps_[b];
    return std::tie(x.rank, x.lane, x.index) < std::tie(y.rank, y.lane, y.index);
  });
  std::vector<std::uint32_t> place(steps_.size());
  for (std::uint32_t i = 0; i < order.size(); ++i) place[order[i]] = i;
  const auto moved = [&place](std::uint32_t step) {
    return step == Step::none ? Step::none : place[step];
  };
  Timeline timeline;
  timeline.steps.reserve(steps_.size());
  for (const std::uint32_t from : order) {
    Step step = steps_[from];
    step.message_from = moved(step.message_from);
    step.slot_freed_by = moved(step.slot_freed_by);
    step.queued_behind = moved(step.queued_behind);
    timeline.steps.push_back(step);
  }
  timeline.crossings = std::move(crossings_);
  for (Crossing& crossing : timeline.crossings)
    crossing.queued_behind = moved(crossing.queued_behind);
  result.timeline = std::move(timeline);
}

}  // namespace collsim
