// SPDX-License-Identifier: Apache-2.0
#include "validate/host/step_watch.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

#include "collectives/execute.hpp"
#include "validate/data_check.hpp"

namespace collsim {

namespace {

using Found = std::vector<std::uint64_t>;

// SplitMix64's mixing.
std::uint64_t stirred(std::uint64_t state, std::uint64_t next) {
  std::uint64_t z = state * 0x9E3779B97F4A7C15U + next + 0xD1B54A32D192ED03U;
  z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9U;
  z = (z ^ (z >> 27U)) * 0x94D049BB133111EBU;
  return z ^ (z >> 31U);
}

std::uint64_t stirred(std::uint64_t name, const Found& found) {
  for (const std::uint64_t number : found) name = stirred(name, number);
  return name;
}

std::vector<std::byte> message_of(std::uint64_t variant, std::size_t bytes) {
  std::vector<std::byte> message(bytes);
  for (std::size_t at = 0; at < bytes; at += sizeof(std::uint64_t)) {
    const std::uint64_t word = stirred(variant, at);
    std::memcpy(message.data() + at, &word, std::min(sizeof word, bytes - at));
  }
  return message;
}

bool computes(const Action& action) {
  return action.kind == Action::Kind::work || action.kind == Action::Kind::update;
}

template <class Visitor>
void for_each_item_of(const std::vector<Items>& ranges, Visitor&& visitor) {
  for (const Items& range : ranges)
    for (std::uint32_t item = range.begin; item < range.end; ++item) visitor(item);
}

}  // namespace

// Turns the steps of a stream into its lines.
class StepWatch::OfLane : public LaneWatch {
 public:
  OfLane(StepWatch& step, std::span<const Known> lines) : step_(step), lines_(lines) {}

  void rewind() {
    next_ = 0;
    pass_what_takes_no_step(0);
  }
  void begins(std::uint32_t step) override {
    if (next_ < lines_.size() && lines_[next_].planned->first == step)
      step_.begins(lines_[next_], found_);
  }
  void ended(std::uint32_t step) override {
    if (next_ < lines_.size() && lines_[next_].planned->end == step + 1)
      step_.ended(lines_[next_++], found_);
    pass_what_takes_no_step(step + 1);
  }

 private:
  void pass_what_takes_no_step(std::uint32_t step) {
    for (; next_ < lines_.size(); ++next_) {
      const PlannedLine& planned = *lines_[next_].planned;
      if (planned.first != step || planned.end != step) return;
      step_.begins(lines_[next_], found_);
      step_.ended(lines_[next_], found_);
    }
  }

  StepWatch& step_;
  std::span<const Known> lines_;
  std::size_t next_ = 0;
  Found found_;  // of the line under way
};

StepWatch::StepWatch(const Plan& plan, const StepContents& contents, std::uint64_t seed)
    : plan_(plan),
      workload_(*plan.workload),
      data_(workload_.data().get()),
      contents_(contents),
      seed_(seed) {
  lines_.reserve(plan.lines.size());
  const auto is_stream = [this](const PlannedLane& lane) {
    return static_cast<int>(lane.lane) < workload_.streams();
  };
  for (const PlannedLane& lane : plan.lanes) {
    const std::size_t first = lines_.size();
    for (std::uint32_t i = 0; is_stream(lane) && i < lane.line_count; ++i)
      know(lane, plan.lines[lane.first_line + i]);
    const std::span<const Known> known(lines_.data() + first, lines_.size() - first);
    lanes_.push_back(is_stream(lane) ? std::make_unique<OfLane>(*this, known) : nullptr);
    of_lanes_.push_back(lanes_.back().get());
  }
}

StepWatch::~StepWatch() = default;

void StepWatch::know(const PlannedLane& lane, const PlannedLine& planned) {
  const auto position = static_cast<int>(lane.position);
  const Rank rank = workload_.rank(position);
  const Action& action = planned.line.action;
  Known& known = lines_.emplace_back(Known{&planned, position});
  if (data_ != nullptr) {
    data_->uses(rank, action, known.uses);
    const auto& lines = contents_.lines[lane.position];
    const auto number = static_cast<std::size_t>(planned.line.number);
    if (number < lines.size()) known.contents = lines[number];
  }
  const auto name_message = [&](int from, std::uint16_t stream, int to, std::uint16_t into,
                                std::uint64_t number) {
    known.name = seed_;
    for (const int part : {from, static_cast<int>(stream), to, static_cast<int>(into)})
      known.name = stirred(known.name, static_cast<std::uint64_t>(part));
    known.name = stirred(known.name, number);
  };
  const auto me = static_cast<int>(rank.index()), peer = static_cast<int>(action.peer.index());
  if (action.kind == Action::Kind::send)
    name_message(me, action.stream, peer, action.other,
                 sent_[{me, action.stream, peer, action.other}]++);
  if (action.kind == Action::Kind::receive)
    name_message(peer, action.other, me, action.stream,
                 received_[{peer, action.other, me, action.stream}]++);
  if (action.kind != Action::Kind::collective) return;
  known.schedule = &workload_.schedule(action, rank);
  const std::vector<Rank>& group = known.schedule->group();
  known.member = position_in(group, rank);
  known.name =
      stirred(stirred(stirred(seed_, action.communicator), group.front().index()), planned.call);
  auto& members = members_[{action.communicator, group.front(), planned.call}];
  members.resize(group.size());
  members[static_cast<std::size_t>(known.member)] = &known;
}

void StepWatch::begin_run(std::vector<std::byte*> memory) {
  memory_ = std::move(memory);
  items_ = contents_.before;
  ended_calls_.assign(static_cast<std::size_t>(workload_.size()),
                      std::vector<std::uint32_t>(workload_.communicators().size()));
  wrong_.clear();
  for (const auto& lane : lanes_)
    if (lane) lane->rewind();
}

// --- by the threads of the lanes -----------------------------------------------------------------

Found StepWatch::look(const Known& line) const {
  Found found;
  for_each_item_of(line.uses.reads, [&](std::uint32_t item) {
    found.push_back(items_[static_cast<std::size_t>(line.position)][item]);
  });
  return found;
}

void StepWatch::write(const Known& line, bool right) {
  constexpr std::uint64_t garbage = ~std::uint64_t{0};
  std::size_t next = 0;
  for_each_item_of(line.uses.writes, [&](std::uint32_t item) {
    items_[static_cast<std::size_t>(line.position)][item] =
        right && next < line.contents.writes.size() ? line.contents.writes[next] : garbage;
    ++next;
  });
}

void StepWatch::await_turn(const Known& line) {
  constexpr std::chrono::seconds most(30);  // never needed
  const std::uint32_t& ended =
      ended_calls_[static_cast<std::size_t>(line.position)][line.planned->line.action.communicator];
  std::unique_lock lock(mutex_);
  call_has_ended_.wait_for(lock, most, [&] { return ended + 1 >= line.planned->call; });
}

void StepWatch::begins(const Known& line, Found& found) {
  const Action& action = line.planned->line.action;
  if (action.kind == Action::Kind::collective) await_turn(line);
  const bool receives = action.kind == Action::Kind::receive;
  found = receives ? Found{} : look(line);
  if (!receives && found != line.contents.reads) {
    std::size_t next = 0;
    for_each_item_of(line.uses.reads, [&](std::uint32_t item) {
      if (next >= line.contents.reads.size() || found[next] != line.contents.reads[next])
        complain(line, data_->name(item) + " is not what the line should find");
      ++next;
    });
  }
  const auto bytes = static_cast<std::size_t>(std::max<std::int64_t>(0, action.amount));
  if (action.kind == Action::Kind::send && bytes > 0)
    std::memcpy(data_of(line), message_of(stirred(line.name, found), bytes).data(), bytes);
  if (receives) std::fill_n(data_of(line), bytes, poison);
  if (action.kind == Action::Kind::collective) fill_call(line, found);
}

void StepWatch::ended(const Known& line, const Found& found) {
  const Action& action = line.planned->line.action;
  std::string difference;
  if (action.kind == Action::Kind::receive) difference = difference_in_message(line);
  if (action.kind == Action::Kind::collective) difference = difference_in_call(line);
  if (!difference.empty()) complain(line, difference);
  const bool moves =
      action.kind == Action::Kind::receive || action.kind == Action::Kind::collective;
  if (moves || computes(action))
    write(line, difference.empty() &&
                    (action.kind == Action::Kind::receive || found == line.contents.reads));
  if (action.kind != Action::Kind::collective) return;
  const std::scoped_lock lock(mutex_);
  ended_calls_[static_cast<std::size_t>(line.position)][action.communicator] = line.planned->call;
  call_has_ended_.notify_all();
}

std::vector<std::byte> StepWatch::input_of(const Known& line, const Found& found) const {
  const auto member = static_cast<std::uint64_t>(line.member);
  return make_test_input(line.schedule->collective(), line.member, seed_,
                         stirred(stirred(line.name, member), found));
}

void StepWatch::fill_call(const Known& line, const Found& found) {
  const PlannedMemory buffers = memory_of(*line.schedule, line.member);
  std::fill_n(data_of(line), buffers.bytes, poison);
  const std::vector<std::byte> input = input_of(line, found);
  if (!input.empty()) std::memcpy(data_of(line) + buffers.input, input.data(), input.size());
}

std::string StepWatch::difference_in_call(const Known& line) const {
  const Collective& collective = line.schedule->collective();
  std::vector<std::vector<std::byte>> inputs;
  for (const Known* const member :
       members_.at({line.planned->line.action.communicator, line.schedule->group().front(),
                    line.planned->call}))
    inputs.push_back(input_of(*member, member->contents.reads));
  const PlannedMemory buffers = memory_of(*line.schedule, line.member);
  const std::byte* const begin = data_of(line) + buffers.output;
  return first_difference(
      collective, inputs, line.member,
      finished_output(collective, line.member, {begin, begin + buffers.output_bytes}));
}

std::string StepWatch::difference_in_message(const Known& line) const {
  const auto bytes =
      static_cast<std::size_t>(std::max<std::int64_t>(0, line.planned->line.action.amount));
  const auto wanted = message_of(stirred(line.name, line.contents.reads), bytes);
  const std::byte* const found = data_of(line);
  const auto [ours, theirs] = std::mismatch(wanted.begin(), wanted.end(), found);
  if (ours == wanted.end()) return "";
  return "byte " + std::to_string(ours - wanted.begin()) + " of the message is " +
         std::to_string(std::to_integer<int>(*theirs)) + ", not " +
         std::to_string(std::to_integer<int>(*ours));
}

void StepWatch::complain(const Known& line, const std::string& what) {
  const std::scoped_lock lock(mutex_);
  if (wrong_.empty()) wrong_ = name_of_line(plan_, line.position, *line.planned) + ": " + what;
}

// --- after the run -------------------------------------------------------------------------------

std::string StepWatch::wrong() const {
  if (!wrong_.empty()) return wrong_;
  for (std::size_t position = 0; position < items_.size(); ++position)
    for (std::size_t item = 0; item < items_[position].size(); ++item)
      if (items_[position][item] != contents_.after[position][item])
        return "rank " + std::to_string(workload_.rank(static_cast<int>(position)).index()) +
               ": after the step " + data_->name(static_cast<std::uint32_t>(item)) +
               " is not what it should be";
  return "";
}

}  // namespace collsim
