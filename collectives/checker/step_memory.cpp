// SPDX-License-Identifier: Apache-2.0
#include "collectives/checker/step_memory.hpp"

#include <string>
#include <utility>

#include "topo/error.hpp"

namespace collsim::checker {

namespace {

std::string text_of(const Action& action, const Workload& workload) {
  const auto peer = [&] { return concat("rank ", action.peer.index()); };
  switch (action.kind) {
    case Action::Kind::send: return "send to " + peer();
    case Action::Kind::receive: return "receive from " + peer();
    case Action::Kind::collective:
      return concat(to_string(action.call.operation), " of ",
                    workload.communicators()[action.communicator].name);
    case Action::Kind::update: return "set";
    default: break;
  }
  const auto number = action.label.number > 0 ? concat(" of layer ", action.label.number) : "";
  switch (action.label.kind) {
    case Label::Kind::forward: return "forward pass" + number;
    case Label::Kind::backward: return "backward pass" + number;
    case Label::Kind::weights: return "weight gradients" + number;
    case Label::Kind::optimizer: return "optimizer";
    default: return "work";
  }
}

}  // namespace

StepMemory::StepMemory(const Workload& workload, StepContents* contents)
    : workload_(workload),
      data_(*workload.data()),
      streams_(workload.stream_names().size()),
      lanes_(2 * streams_ + workload.communicators().size()),
      knowledge_(workload.size(), static_cast<int>(lanes_), false),
      accesses_(static_cast<std::size_t>(workload.size()) * data_.items),
      contents_(contents) {
  if (!data_.claims.empty() || contents != nullptr) values_.emplace(workload, data_);
  if (contents == nullptr) return;
  contents->lines.resize(static_cast<std::size_t>(workload.size()));
  for (std::size_t position = 0; position < contents->lines.size(); ++position)
    contents->before.push_back(values_->read(position, {{{0, data_.items}}, {}}));
  contents->after = contents->before;
}

StepContents::OfLine& StepMemory::contents_of(const ScriptLine& line) {
  auto& lines = contents_->lines[line.position];
  const auto number = static_cast<std::size_t>(line.number);
  if (lines.size() <= number) lines.resize(number + 1);
  return lines[number];
}

void StepMemory::note_reads(const ScriptLine& line, const Uses& uses) {
  if (contents_ != nullptr) contents_of(line).reads = values_->read(line.position, uses);
}

void StepMemory::note_writes(const ScriptLine& line, const Uses& uses) {
  if (contents_ == nullptr) return;
  std::vector<StepValue>& writes = contents_of(line).writes;
  writes = values_->read(line.position, {uses.writes, {}});
  std::size_t next = 0;
  for (const Items& items : uses.writes)
    for (std::uint32_t item = items.begin; item < items.end; ++item)
      contents_->after[line.position][item] = writes[next++];
}

const Uses& StepMemory::uses_of(const ScriptLine& line, Uses& uses) const {
  uses.reads.clear();
  uses.writes.clear();
  data_.uses(workload_.rank(static_cast<int>(line.position)), *line.action, uses);
  return uses;
}

void StepMemory::must_follow(std::uint32_t lane, const ScriptLine& line, std::uint32_t item,
                             const Epoch& earlier, bool earlier_wrote, bool writes) {
  if (race_ || knowledge_.follows(lane, earlier)) return;
  race_ = Race{line.position, earlier.step, line.number, earlier_wrote, writes, item};
}

void StepMemory::read(std::uint32_t lane, const ScriptLine& line, std::uint32_t item) {
  Accesses& known = accesses(line, item);
  if (known.writer) must_follow(lane, line, item, *known.writer, true, false);
  const Epoch now = knowledge_.now(lane, line.number);
  // Of two reads by one lane the later one is the harder to follow.
  for (Epoch& reader : known.readers)
    if (reader.lane == lane) {
      reader = now;
      return;
    }
  known.readers.push_back(now);
}

void StepMemory::write(std::uint32_t lane, const ScriptLine& line, std::uint32_t item) {
  Accesses& known = accesses(line, item);
  if (known.writer) must_follow(lane, line, item, *known.writer, true, true);
  for (const Epoch& reader : known.readers) must_follow(lane, line, item, reader, false, true);
  known.writer = knowledge_.now(lane, line.number);
  known.readers.clear();
}

void StepMemory::touch(std::uint32_t lane, const ScriptLine& line, const Uses& uses) {
  for (const Items& items : uses.reads)
    for (std::uint32_t item = items.begin; item < items.end; ++item) read(lane, line, item);
  for (const Items& items : uses.writes)
    for (std::uint32_t item = items.begin; item < items.end; ++item) write(lane, line, item);
}

void StepMemory::work(const ScriptLine& line) {
  const Uses& uses = uses_of(line, uses_);
  touch(stream_lane(line.position, line.action->stream), line, uses);
  note_reads(line, uses);
  if (values_) values_->work(line.position, line.action->label, uses);
  note_writes(line, uses);
}

std::vector<StepValue> StepMemory::send(const ScriptLine& line) {
  const Uses& uses = uses_of(line, uses_);
  const std::uint32_t flight = flight_lane(line.position, line.action->stream);
  hand_over(stream_lane(line.position, line.action->stream), flight);
  touch(flight, line, uses);
  note_reads(line, uses);
  return values_ ? values_->read(line.position, uses) : std::vector<StepValue>();
}

void StepMemory::receive(const ScriptLine& line, const std::vector<StepValue>& message) {
  const Uses& uses = uses_of(line, uses_);
  touch(stream_lane(line.position, line.action->stream), line, uses);
  if (values_) values_->write(line.position, uses, message);
  if (contents_ != nullptr) contents_of(line).reads = message;
  note_writes(line, uses);
}

void StepMemory::call(const std::vector<ScriptLine>& members) {
  std::vector<StepValues::Member> of_call;
  for (const ScriptLine& line : members) {
    const Uses& uses = uses_of(line, uses_);
    const std::uint32_t stream = stream_lane(line.position, line.action->stream);
    const std::uint32_t communicator =
        lane(line.position, 2 * streams_ + line.action->communicator);
    hand_over(stream, communicator);
    touch(communicator, line, uses);
    hand_over(communicator, stream);
    note_reads(line, uses);
    if (values_) of_call.push_back({line.position, uses});
  }
  if (values_) values_->call(members.front().action->call, of_call);
  for (std::size_t i = 0; i < of_call.size(); ++i) note_writes(members[i], of_call[i].uses);
}

Action StepMemory::action_at(std::size_t position, std::int64_t line) const {
  Script script = workload_.script(workload_.rank(static_cast<int>(position)));
  const Action* action = script.next();
  while (line-- > 0) action = script.next();
  return *action;
}

// A send ends when what it sent has left: it drains.
bool StepMemory::is_posted(std::size_t position, std::int64_t line) const {
  const Action sent = action_at(position, line);
  if (sent.kind != Action::Kind::send) return false;
  Script script = workload_.script(workload_.rank(static_cast<int>(position)));
  for (std::int64_t passed = 0; passed <= line; ++passed) script.next();
  const Action* const next = script.next();
  return next == nullptr || next->kind != Action::Kind::drain || next->stream != sent.stream;
}

std::string StepMemory::how_to_order(const Race& race, const Action& earlier,
                                     const Action& later) const {
  if (is_posted(race.position, race.earlier))
    return "a post may be under way until a later send of its stream has left: send "
           "asynchronously instead, and wait for the handle";
  const auto name = [&](const Action& action) {
    return concat("stream ", workload_.stream_names()[action.stream]);
  };
  const bool first_is_async = data_.is_asynchronous(earlier.stream);
  if (data_.is_asynchronous(later.stream))
    return first_is_async
               ? "start the second only after waiting for the handle (\"as\") of the "
                 "first; what is in one group runs at the same time"
               : concat("start the second only after ", name(earlier), " has finished the first");
  if (first_is_async)
    return concat("let ", name(later),
                  " wait for the handle (\"as\") of the first between the two");
  return concat("let ", name(later), " wait for ", name(earlier), " between the two");
}

std::optional<WorkloadFault> StepMemory::race() {
  if (!race_) return std::nullopt;
  Race race = *std::exchange(race_, std::nullopt);
  if (race.later < race.earlier) {  // in the order in which its author reads it
    std::swap(race.earlier, race.later);
    std::swap(race.earlier_wrote, race.later_writes);
  }
  const Rank rank = workload_.rank(static_cast<int>(race.position));
  const Action earlier = action_at(race.position, race.earlier);
  const Action later = action_at(race.position, race.later);
  const std::string who = concat("rank ", rank.index(), ": ");
  const std::string item = data_.name(race.item);
  WorkloadFault fault{WorkloadFault::Kind::race, {}, {}};
  fault.sites.push_back({rank, earlier.place,
                         concat(who, text_of(earlier, workload_),
                                race.earlier_wrote ? " writes " : " reads ", item)});
  fault.sites.push_back(
      {rank, later.place,
       concat(who, text_of(later, workload_), race.later_writes ? " writes " : " reads ", item,
              ", perhaps before that has ended")});
  fault.hint = how_to_order(race, earlier, later);
  return fault;
}

std::optional<WorkloadFault> StepMemory::broken_claim() const {
  if (!values_) return std::nullopt;
  const std::optional<StepValues::Broken> found = values_->broken_claim();
  if (!found) return std::nullopt;
  const WorkloadData::Claim& claim = *found->claim;
  const std::string item = data_.name(found->item);
  WorkloadFault fault{WorkloadFault::Kind::wrong_data, {}, {}};
  const auto site = [&](Rank rank, const std::string& text) {
    fault.sites.push_back({rank, 0, text});
  };
  if (claim.kind == WorkloadData::Claim::Kind::same) {
    site(found->rank, concat("rank ", found->rank.index(), ": after the step ", item,
                             " differs from that of rank ", found->other.index()));
    fault.hint = "replicas that differ train different models";
  } else {
    const std::string which = claim.kind == WorkloadData::Claim::Kind::mean ? "the mean"
                              : claim.kind == WorkloadData::Claim::Kind::sum
                                  ? "the sum"
                                  : "its part of the mean";
    site(found->rank, concat("rank ", found->rank.index(), ": ", item, " is not ", which, " of ",
                             data_.name(claim.of + found->item - claim.items.begin), " on ",
                             claim.groups[found->group].size(), " ranks"));
    fault.hint = "each gradient counts once, and is averaged before the optimizer reads it";
  }
  return fault;
}

}  // namespace collsim::checker
