// SPDX-License-Identifier: Apache-2.0
#include "sim/activities.hpp"

#include <algorithm>

namespace collsim {

Activities::Activities(const Programs& programs, Time timeout, std::optional<int> host)
    : streams_(static_cast<std::size_t>(programs.streams())),
      host_(host),
      lanes_(static_cast<std::size_t>(programs.lanes())),
      lanes_of_communicators_(programs.lanes_of_communicators()),
      stretches_(streams_ == 0 ? 0 : static_cast<std::size_t>(programs.size()) * lanes_),
      entered_(stretches_.size(), Time::never()),
      calls_(streams_ == 0 ? 0 : static_cast<std::size_t>(programs.size())),
      timeout_(timeout) {}

void Activities::step(std::size_t position, Lane lane, const Instruction& instruction, Time began,
                      Time ended) {
  if (stretches_.empty()) return;
  const std::size_t number = position * lanes_ + lane.index();
  if (lane.index() < streams_) {
    if (instruction.op == Op::work) add(stretches_[number], began, ended);
    return;
  }
  const auto is_stream = [this](const Endpoint& other) { return other.lane.index() < streams_; };
  if (instruction.op == Op::wait && is_stream(instruction.from)) entered_[number] = ended;
  if (instruction.op != Op::signal || !is_stream(instruction.to)) return;
  add(stretches_[number], entered_[number], ended);
  end_call(position, entered_[number], ended);
  entered_[number] = Time::never();
}

void Activities::end_call(std::size_t position, Time entered, Time ended) {
  Calls& calls = calls_[position];
  calls.longest = std::max(calls.longest, ended - entered);
  if (timeout_ != Time::never() && ended - entered > timeout_)
    calls.gives_up = std::min(calls.gives_up, entered + timeout_);
}

// A call that never ended counts, too.
Time Activities::gives_up(std::size_t position) const {
  Time earliest = calls_[position].gives_up;
  if (timeout_ == Time::never()) return earliest;
  for (std::size_t lane = streams_; lane < lanes_; ++lane) {
    const Time entered = entered_[position * lanes_ + lane];
    if (entered != Time::never()) earliest = std::min(earliest, entered + timeout_);
  }
  return earliest;
}

void Activities::add(Stretches& stretches, Time begin, Time end) {
  if (end <= begin) return;
  if (!stretches.empty() && begin <= stretches.back().end)
    stretches.back().end = std::max(stretches.back().end, end);
  else
    stretches.push_back({begin, end});
}

Activities::Stretches Activities::together(std::vector<Stretches>::const_iterator first,
                                           std::size_t lanes, std::optional<int> without) {
  if (lanes == 1 && !without) return *first;
  Stretches all;
  for (std::size_t lane = 0; lane < lanes; ++lane, ++first)
    if (!without || lane != static_cast<std::size_t>(*without))
      all.insert(all.end(), first->begin(), first->end());
  std::sort(all.begin(), all.end(),
            [](const Stretch& a, const Stretch& b) { return a.begin < b.begin; });
  Stretches merged;
  for (const Stretch& stretch : all) add(merged, stretch.begin, stretch.end);
  return merged;
}

Time Activities::length(const Stretches& stretches) {
  Time sum;
  for (const Stretch& stretch : stretches) sum += stretch.end - stretch.begin;
  return sum;
}

// Of the first stretches, what none of the others covers.
Time Activities::outside(const Stretches& of, const Stretches& others) {
  Time sum;
  auto other = others.begin();
  for (const Stretch& stretch : of) {
    Time from = stretch.begin;
    while (other != others.end() && other->end <= from) ++other;
    for (auto next = other; next != others.end() && next->begin < stretch.end; ++next) {
      if (next->begin > from) sum += next->begin - from;
      from = std::max(from, next->end);
    }
    if (from < stretch.end) sum += stretch.end - from;
  }
  return sum;
}

std::vector<RankActivity> Activities::of_ranks() const {
  std::vector<RankActivity> result(lanes_ == 0 ? 0 : stretches_.size() / lanes_);
  auto first = stretches_.begin();
  for (std::size_t position = 0; position < result.size(); ++position) {
    RankActivity& rank = result[position];
    rank.longest_call = calls_[position].longest;
    rank.gives_up = gives_up(position);
    const Stretches work = together(first, streams_, host_);
    const Stretches calls =
        together(first + static_cast<std::ptrdiff_t>(streams_), lanes_ - streams_);
    rank.communicating = length(calls);
    rank.exposed = outside(calls, work);
    rank.computing = length(work);
    if (host_) rank.computing = length(together(first, lanes_)) - rank.exposed;
    auto lane = first + static_cast<std::ptrdiff_t>(streams_);
    for (const int lanes : lanes_of_communicators_) {
      const Stretches own = together(lane, static_cast<std::size_t>(lanes));
      rank.communicators.push_back({length(own), outside(own, work)});
      lane += lanes;
    }
    first += static_cast<std::ptrdiff_t>(lanes_);
  }
  return result;
}

}  // namespace collsim
