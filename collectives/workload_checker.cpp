// SPDX-License-Identifier: Apache-2.0
#include "collectives/workload_checker.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "collectives/checker/calls.hpp"
#include "collectives/checker/script_cursor.hpp"
#include "collectives/checker/step_memory.hpp"
#include "topo/error.hpp"

namespace collsim {

namespace {

using checker::CallId, checker::Cursor, checker::OpenCall, checker::RankCalls, checker::Records;
using checker::StreamEnd, checker::StreamId;

class WorkloadChecker {
 public:
  WorkloadChecker(const Workload& workload, const CheckedLaunch& launch, StepContents* contents)
      : workload_(workload), launch_(launch), streams_(workload.stream_names().size()) {
    find_groups();
    const bool is_plain = launch.sends == Sends::post && !launch.collectives_at_a_time;
    if (workload.data() && is_plain) memory_.emplace(workload, contents);
    cursors_.resize(static_cast<std::size_t>(workload.size()) * streams_);
    calls_of_ranks_.resize(static_cast<std::size_t>(workload.size()));
    records_.resize(cursors_.size());
    messages_.resize(cursors_.size());
    for (StreamId id = 0; id < cursors_.size(); ++id) begin(id);
  }

  WorkloadReport run() {
    for (StreamId id = 0; id < cursors_.size(); ++id) wake(id);
    while (!ready_.empty() && !report_.fault) {
      const StreamId id = ready_.front();
      ready_.pop_front();
      cursors_[id].is_ready = false;
      while (!report_.fault && cursors_[id].action != nullptr && carry_out(id)) {
      }
    }
    if (!report_.fault) judge_waiting();
    if (!report_.fault) judge_messages();
    if (!report_.fault && memory_) report_.fault = memory_->race();
    if (!report_.fault && memory_) report_.fault = memory_->broken_claim();
    return std::move(report_);
  }

 private:
  void find_groups();
  void begin(StreamId id);
  void next(Cursor& cursor);
  // What it waited for may have come.
  void wake(StreamId id) {
    if (cursors_[id].action == nullptr || std::exchange(cursors_[id].is_ready, true)) return;
    ready_.push_back(id);
  }
  void wake_rank(std::size_t position) {
    for (StreamId id = position * streams_; id < (position + 1) * streams_; ++id) wake(id);
  }
  // False: it has to wait.
  bool carry_out(StreamId id);
  void record(const Cursor& cursor, std::size_t position);
  bool wait(const Cursor& cursor, std::size_t position);
  bool send(const Cursor& cursor);
  [[nodiscard]] const StreamEnd* first_not_received(StreamId id) const;
  bool receive(Cursor& cursor);
  bool call(Cursor& cursor);
  [[nodiscard]] bool may_begin(const Cursor& cursor) const;
  void end_call(const OpenCall& open, const CallId& id);
  void compare_calls(const Cursor& first, const Cursor& cursor, const CallId& id);
  void report_stranger(const Cursor& cursor);

  void judge_waiting();
  void judge_messages();
  [[nodiscard]] std::optional<StreamId> waits_for(const Cursor& cursor) const;
  [[nodiscard]] std::string wish(const Cursor& cursor) const;
  [[nodiscard]] std::set<Rank> arrived(const CallId& id) const;
  [[nodiscard]] std::optional<StreamId> blocker(const Cursor& cursor) const;
  void report_missing(const Cursor& cursor);
  void report_circle(StreamId from);

  [[nodiscard]] std::optional<CallId> call_id(const Cursor& cursor, const Action& action) const;
  [[nodiscard]] const std::vector<Rank>& members(const CallId& id) const {
    return workload_.communicators()[id.communicator].groups[id.group];
  }
  [[nodiscard]] StreamId stream_id(Rank rank, std::uint16_t stream) const {
    return *position_of_rank(rank) * streams_ + stream;
  }
  [[nodiscard]] std::size_t position_of(const Cursor& cursor) const {
    return static_cast<std::size_t>(&cursor - cursors_.data()) / streams_;
  }
  [[nodiscard]] checker::ScriptLine line_of(const Cursor& cursor) const {
    return {position_of(cursor), cursor.line, cursor.action};
  }
  [[nodiscard]] std::string name_of(const CallId& id, const Call& call) const;
  [[nodiscard]] bool is_running(Rank rank) const {
    for (std::uint16_t stream = 0; stream < streams_; ++stream)
      if (cursors_[stream_id(rank, stream)].action != nullptr) return true;
    return false;
  }
  [[nodiscard]] bool has_stream(const StreamEnd& end) const {
    return position_of_rank(end.rank) && end.stream < streams_;
  }
  [[nodiscard]] std::optional<std::size_t> position_of_rank(Rank rank) const {
    if (rank.index() >= positions_.size()) return std::nullopt;
    const std::int32_t position = positions_[rank.index()];
    return position < 0 ? std::nullopt : std::optional(static_cast<std::size_t>(position));
  }

  struct Sent {
    Bytes bytes;
    std::optional<ElementType> type;
    std::uint32_t place;
    std::vector<checker::StepValue> values;
  };
  const Workload& workload_;
  const CheckedLaunch launch_;
  const std::size_t streams_;
  std::vector<std::int32_t> positions_;  // by rank; -1: it takes no part
  struct Place {
    bool is_member = false;
    std::uint32_t group = 0;
    std::uint32_t member = 0;
  };
  std::vector<std::vector<Place>> places_;  // by communicator and position
  std::vector<Cursor> cursors_;
  std::deque<StreamId> ready_;
  std::vector<std::map<std::uint16_t, Records>>
      records_;  // by who waits, and the stream of its rank
  std::map<CallId, OpenCall> open_calls_;
  std::vector<std::vector<std::int64_t>> ended_calls_;           // by communicator and position
  std::vector<RankCalls> calls_of_ranks_;                        // by position
  std::vector<std::map<StreamEnd, std::deque<Sent>>> messages_;  // by sender
  std::optional<checker::StepMemory> memory_;  // where the workload says what it computes with
  WorkloadReport report_;
};

void WorkloadChecker::find_groups() {
  for (int position = 0; position < workload_.size(); ++position) {
    const std::size_t rank = workload_.rank(position).index();
    if (rank >= positions_.size()) positions_.resize(rank + 1, -1);
    positions_[rank] = position;
  }
  for (const Communicator& communicator : workload_.communicators()) {
    places_.emplace_back(static_cast<std::size_t>(workload_.size()));
    ended_calls_.emplace_back(static_cast<std::size_t>(workload_.size()));
    for (std::uint32_t group = 0; group < communicator.groups.size(); ++group) {
      std::uint32_t member = 0;
      for (const Rank rank : communicator.groups[group]) {
        if (const auto position = position_of_rank(rank))
          places_.back()[*position] = {true, group, member};
        ++member;
      }
    }
  }
}

void WorkloadChecker::begin(StreamId id) {
  Cursor& cursor = cursors_[id];
  cursor.rank = workload_.rank(static_cast<int>(id / streams_));
  cursor.stream = static_cast<std::uint16_t>(id % streams_);
  cursor.reading.reset(
      new Cursor::Reading{workload_.script(cursor.rank),
                          std::vector<std::int64_t>(workload_.communicators().size()),
                          {}});
  next(cursor);
}

void WorkloadChecker::next(Cursor& cursor) {
  if (cursor.action != nullptr) cursor.last_place = cursor.action->place;
  cursor.has_arrived = false;
  Cursor::Reading& reading = *cursor.reading;
  while ((cursor.action = reading.script.next()) != nullptr) {
    const Action& action = *cursor.action;
    ++cursor.line;
    if (action.kind == Action::Kind::collective) {
      ++reading.calls[action.communicator];
      ++cursor.all_calls;
    }
    if (action.kind == Action::Kind::record && action.other == cursor.stream)
      ++reading.recorded[action.stream];
    if (action.stream == cursor.stream) return;
  }
  cursor.reading.reset();
}

bool WorkloadChecker::carry_out(StreamId id) {
  Cursor& cursor = cursors_[id];
  const std::size_t position = id / streams_;
  switch (cursor.action->kind) {
    case Action::Kind::work:
    case Action::Kind::update:
      if (memory_) memory_->work(line_of(cursor));
      break;
    case Action::Kind::drain:
      if (launch_.sends == Sends::rendezvous && first_not_received(id) != nullptr) return false;
      if (memory_) memory_->drain(position, cursor.stream);
      break;
    case Action::Kind::record: record(cursor, position); break;
    case Action::Kind::wait:
      if (!wait(cursor, position)) return false;
      break;
    case Action::Kind::send:
      if (!send(cursor)) return false;
      break;
    case Action::Kind::receive:
      if (!receive(cursor)) return false;
      break;
    case Action::Kind::collective:
      if (!call(cursor)) return false;
      break;
  }
  constexpr std::uint64_t most_actions = 200'000'000;
  if (++report_.actions > most_actions)
    throw_error(ErrorCode::too_large, "scripts of more than ", most_actions,
                " lines are not checked");
  next(cursor);
  return true;
}

void WorkloadChecker::record(const Cursor& cursor, std::size_t position) {
  Records& records = records_[position * streams_ + cursor.action->other][cursor.stream];
  ++records.recorded;
  if (memory_) records.tokens.push_back(memory_->signal(position, cursor.stream));
  wake(position * streams_ + cursor.action->other);
}

bool WorkloadChecker::wait(const Cursor& cursor, std::size_t position) {
  const Action& action = *cursor.action;
  const auto& recorded = cursor.reading->recorded;
  const auto so_far = recorded.find(action.other);
  const std::int64_t latest = so_far == recorded.end() ? 0 : so_far->second;
  const std::int64_t until = action.amount > 0 ? action.amount : latest;
  if (until == 0) return true;
  Records& records = records_[position * streams_ + cursor.stream][action.other];
  if (records.recorded < until) return false;
  for (; memory_ && records.taken < until; ++records.taken) {
    memory_->learn(position, cursor.stream, records.tokens.front());
    records.tokens.pop_front();
  }
  return true;
}

bool WorkloadChecker::send(const Cursor& cursor) {
  const Action& action = *cursor.action;
  if (action.peer == cursor.rank) {
    report_.fault = WorkloadFault{
        WorkloadFault::Kind::mismatch,
        {{cursor.rank, action.place, concat("rank ", cursor.rank.index(), " sends to itself")}},
        "what a rank has it need not send to itself"};
    return false;
  }
  const StreamEnd to{action.peer, action.other};
  std::deque<Sent>& queue = messages_[stream_id(cursor.rank, cursor.stream)][to];
  const auto slots = static_cast<std::size_t>(workload_.slots().value_or(0));
  if (workload_.slots() && queue.size() >= slots) return false;
  queue.push_back({action.amount, action.type, action.place, {}});
  if (memory_) queue.back().values = memory_->send(line_of(cursor));
  ++report_.messages;
  if (has_stream(to)) wake(stream_id(to.rank, to.stream));
  return true;
}

// Where of the messages of a stream one goes that has not been received; null: nowhere.
const StreamEnd* WorkloadChecker::first_not_received(StreamId id) const {
  for (const auto& [to, queue] : messages_[id])
    if (!queue.empty()) return &to;
  return nullptr;
}

bool WorkloadChecker::receive(Cursor& cursor) {
  const Action& action = *cursor.action;
  const StreamEnd from{action.peer, action.other};
  if (!has_stream(from)) return false;
  auto& sent_there = messages_[stream_id(from.rank, from.stream)];
  const auto found = sent_there.find({cursor.rank, cursor.stream});
  if (found == sent_there.end() || found->second.empty()) return false;
  const Sent sent = std::move(found->second.front());
  found->second.pop_front();
  wake(stream_id(from.rank, from.stream));  // it may wait for this, or for a slot
  const bool other_type = sent.type && action.type && *sent.type != *action.type;
  if (sent.bytes == action.amount && !other_type) {
    if (memory_) memory_->receive(line_of(cursor), sent.values);
    return true;
  }
  const auto text = [&](Bytes bytes, std::optional<ElementType> type) {
    return other_type
               ? concat(bytes / size_of(*type), " ", to_string(*type), " (", bytes, " bytes)")
               : concat(bytes, " bytes");
  };
  report_.fault =
      WorkloadFault{WorkloadFault::Kind::mismatch,
                    {{action.peer, sent.place,
                      concat("rank ", action.peer.index(), " sends ", text(sent.bytes, sent.type))},
                     {cursor.rank, action.place,
                      concat("rank ", cursor.rank.index(), " expects ",
                             text(action.amount, action.type), " from it")}},
                    {}};
  return false;
}

std::optional<CallId> WorkloadChecker::call_id(const Cursor& cursor, const Action& action) const {
  const Place& place = places_[action.communicator][position_of(cursor)];
  if (!place.is_member) return std::nullopt;
  return CallId{action.communicator, place.group, cursor.reading->calls[action.communicator]};
}

void WorkloadChecker::report_stranger(const Cursor& cursor) {
  const Action& action = *cursor.action;
  report_.fault = WorkloadFault{
      WorkloadFault::Kind::not_a_member,
      {{cursor.rank, action.place,
        concat("rank ", cursor.rank.index(), " calls ", to_string(action.call.operation), " of ",
               workload_.communicators()[action.communicator].name,
               ", to which it does not belong")}},
      {}};
}

bool WorkloadChecker::may_begin(const Cursor& cursor) const {
  const std::int64_t ended = calls_of_ranks_[position_of(cursor)].ended;
  return !launch_.collectives_at_a_time ||
         cursor.all_calls - ended <= *launch_.collectives_at_a_time;
}

bool WorkloadChecker::call(Cursor& cursor) {
  const std::optional<CallId> id = call_id(cursor, *cursor.action);
  if (!id) {
    report_stranger(cursor);
    return false;
  }
  const std::int64_t ended = ended_calls_[id->communicator][position_of(cursor)];
  if (cursor.has_arrived) {  // woken by the last member
    if (ended < id->number) return false;
    return true;
  }
  // One call of a communicator at a time.
  if (ended + 1 < id->number || !may_begin(cursor)) {
    calls_of_ranks_[position_of(cursor)].holds_back = true;
    return false;
  }
  const auto [place, is_first] = open_calls_.try_emplace(*id);
  OpenCall& open = place->second;
  if (is_first)
    ++report_.calls;
  else
    compare_calls(cursors_[open.here.front()], cursor, *id);
  open.here.push_back(stream_id(cursor.rank, cursor.stream));
  cursor.has_arrived = true;
  if (report_.fault || open.here.size() < members(*id).size()) return false;
  const OpenCall complete = std::move(open);
  open_calls_.erase(place);
  end_call(complete, *id);
  return true;
}

void WorkloadChecker::end_call(const OpenCall& open, const CallId& id) {
  std::vector<checker::ScriptLine> lines(open.here.size());
  for (const StreamId stream : open.here) {
    const Cursor& cursor = cursors_[stream];
    ++ended_calls_[id.communicator][stream / streams_];
    RankCalls& calls = calls_of_ranks_[stream / streams_];
    if (launch_.collectives_at_a_time) calls.end(cursor.all_calls);
    wake(stream);
    if (std::exchange(calls.holds_back, false)) wake_rank(stream / streams_);
    lines[places_[id.communicator][stream / streams_].member] = line_of(cursor);
  }
  if (memory_) memory_->call(lines);
}

void WorkloadChecker::compare_calls(const Cursor& first, const Cursor& cursor, const CallId& id) {
  const Call& theirs = first.action->call;
  const Call& ours = cursor.action->call;
  if (checker::same_call(theirs, ours)) return;
  const std::string& name = workload_.communicators()[id.communicator].name;
  const auto algorithm = [](const Call& call) { return " by " + checker::choice_of(call).name; };
  const bool alike = checker::describe(theirs) == checker::describe(ours);
  const auto site = [&](Rank rank, const Call& call, std::uint32_t place) {
    return WorkloadSite{rank, place,
                        concat("call ", id.number, " of ", name, " is ", checker::describe(call),
                               alike ? algorithm(call) : "", " on rank ", rank.index())};
  };
  report_.fault = WorkloadFault{WorkloadFault::Kind::mismatch,
                                {site(first.rank, theirs, first.action->place),
                                 site(cursor.rank, ours, cursor.action->place)},
                                "all members of a communicator call the same, in the same order"};
}

std::string WorkloadChecker::name_of(const CallId& id, const Call& call) const {
  return concat("call ", id.number, " of ", workload_.communicators()[id.communicator].name, " (",
                to_string(call.operation), ")");
}

// --- when nothing goes on ------------------------------------------------------------------------

std::set<Rank> WorkloadChecker::arrived(const CallId& id) const {
  std::set<Rank> ranks;
  const auto open = open_calls_.find(id);
  if (open == open_calls_.end()) return ranks;
  for (const StreamId stream : open->second.here) ranks.insert(cursors_[stream].rank);
  return ranks;
}

// Where only so many calls may be under way: the stream of the rank with the first that has not
// ended, or one that has still to come to it.
std::optional<StreamId> WorkloadChecker::blocker(const Cursor& cursor) const {
  if (cursor.has_arrived || may_begin(cursor)) return std::nullopt;
  const std::size_t position = position_of(cursor);
  const std::int64_t first = calls_of_ranks_[position].ended + 1;
  std::optional<StreamId> still_to_come;
  for (StreamId id = position * streams_; id < (position + 1) * streams_; ++id) {
    const Cursor& other = cursors_[id];
    if (other.action == nullptr || &other == &cursor) continue;
    if (other.action->kind == Action::Kind::collective && other.all_calls == first) return id;
    if (other.all_calls < first) still_to_come = id;
  }
  return still_to_come;
}

// A stream that must act before this one can; none: of a rank that has ended.
std::optional<StreamId> WorkloadChecker::waits_for(const Cursor& cursor) const {
  const Action& action = *cursor.action;
  const auto if_running = [this](StreamId id) -> std::optional<StreamId> {
    return cursors_[id].action != nullptr ? std::optional(id) : std::nullopt;
  };
  if (action.kind == Action::Kind::wait) return if_running(stream_id(cursor.rank, action.other));
  if (action.kind == Action::Kind::drain) {
    const StreamEnd* const to = first_not_received(stream_id(cursor.rank, cursor.stream));
    return to != nullptr && has_stream(*to) ? if_running(stream_id(to->rank, to->stream))
                                            : std::nullopt;
  }
  if (action.kind != Action::Kind::collective) {
    const StreamEnd peer{action.peer, action.other};
    return has_stream(peer) ? if_running(stream_id(peer.rank, peer.stream)) : std::nullopt;
  }
  if (const auto other = blocker(cursor)) return other;
  const CallId id = *call_id(cursor, action);
  const std::set<Rank> here = arrived(id);
  for (const Rank rank : members(id)) {
    if (here.contains(rank)) continue;
    for (std::uint16_t stream = 0; stream < streams_; ++stream)
      if (const auto running = if_running(stream_id(rank, stream)))
        if (*running != stream_id(cursor.rank, cursor.stream)) return running;
    return std::nullopt;
  }
  return std::nullopt;
}

std::string WorkloadChecker::wish(const Cursor& cursor) const {
  const Action& action = *cursor.action;
  const std::string who = concat("rank ", cursor.rank.index());
  const std::string peer = concat("rank ", action.peer.index());
  switch (action.kind) {
    case Action::Kind::wait:
      return concat(who, ": stream ", workload_.stream_names()[cursor.stream], " waits for stream ",
                    workload_.stream_names()[action.other]);
    case Action::Kind::send: return concat(who, " sends to ", peer, " and waits until it receives");
    case Action::Kind::drain:
      if (const StreamEnd* const to = first_not_received(stream_id(cursor.rank, cursor.stream)))
        return concat(who, " sends to rank ", to->rank.index(), " and waits until it receives");
      break;
    case Action::Kind::receive: return concat(who, " waits for a message from ", peer);
    default: break;
  }
  const CallId id = *call_id(cursor, action);
  if (blocker(cursor))
    return concat(who, " waits with ", name_of(id, action.call), " until ",
                  *launch_.collectives_at_a_time == 1 ? "the rank's call before has"
                                                      : "earlier calls of the rank have",
                  " ended");
  const std::set<Rank> here = arrived(id);
  constexpr std::size_t most_named = 8;
  std::size_t missing = 0;
  std::string names;
  for (const Rank rank : members(id))
    if (!here.contains(rank) && ++missing <= most_named)
      names += concat(names.empty() ? "rank " : ", ", rank.index());
  if (missing > most_named) names += concat(" and ", missing - most_named, " others");
  return concat(who, " waits in ", name_of(id, action.call), " for ", names);
}

void WorkloadChecker::judge_waiting() {
  for (StreamId id = 0; id < cursors_.size(); ++id) {
    if (cursors_[id].action == nullptr) continue;
    // Whom it waits for in the end.
    std::vector<StreamId> chain{id};
    while (true) {
      const std::optional<StreamId> next = waits_for(cursors_[chain.back()]);
      if (!next) return report_missing(cursors_[chain.back()]);
      if (std::find(chain.begin(), chain.end(), *next) != chain.end()) return report_circle(*next);
      chain.push_back(*next);
    }
  }
}

void WorkloadChecker::report_missing(const Cursor& cursor) {
  const Action& action = *cursor.action;
  WorkloadFault fault{WorkloadFault::Kind::missing, {}, {}};
  const auto ended = [&](Rank rank) {
    if (!position_of_rank(rank)) return;
    std::uint32_t last = 0;
    for (std::uint16_t stream = 0; stream < streams_; ++stream)
      last = std::max(last, cursors_[stream_id(rank, stream)].last_place);
    if (is_running(rank)) return;
    fault.sites.push_back({rank, last, concat("rank ", rank.index(), " ends before that")});
  };
  if (action.kind == Action::Kind::collective) {
    const CallId id = *call_id(cursor, action);
    const std::set<Rank> here = arrived(id);
    fault.sites.push_back({cursor.rank, action.place,
                           concat(name_of(id, action.call), " has ", here.size(), " of ",
                                  members(id).size(), " members")});
    for (const Rank rank : members(id))
      if (!here.contains(rank)) ended(rank);
  } else {
    fault.sites.push_back({cursor.rank, action.place, wish(cursor)});
    ended(action.kind == Action::Kind::wait ? cursor.rank : action.peer);
  }
  report_.fault = std::move(fault);
}

void WorkloadChecker::report_circle(StreamId from) {
  WorkloadFault fault{WorkloadFault::Kind::deadlock, {}, {}};
  bool calls_only = true;
  bool sends = false;
  std::optional<StreamId> id = from;
  do {
    const Cursor& cursor = cursors_[*id];
    fault.sites.push_back({cursor.rank, cursor.action->place, wish(cursor)});
    calls_only = calls_only && cursor.action->kind == Action::Kind::collective;
    sends = sends || cursor.action->kind == Action::Kind::send ||
            cursor.action->kind == Action::Kind::drain;
    id = waits_for(cursor);
  } while (id && *id != from);
  if (calls_only && launch_.collectives_at_a_time)
    fault.hint = "they would go on if all ranks called them in the same order";
  else if (calls_only)
    fault.hint =
        "they would go on if each communicator had a stream of its own, or if all ranks used the "
        "same order";
  else if (sends)
    fault.hint = "they would go on if one of them received first, or if the messages were grouped";
  report_.fault = std::move(fault);
}

void WorkloadChecker::judge_messages() {
  for (StreamId sender = 0; sender < messages_.size(); ++sender)
    for (const auto& [to, sent] : messages_[sender]) {
      if (sent.empty()) continue;
      const Rank from = cursors_[sender].rank;
      report_.fault = WorkloadFault{WorkloadFault::Kind::unreceived,
                                    {{from, sent.front().place,
                                      concat("rank ", from.index(), " sends a message to rank ",
                                             to.rank.index(), ", which does not receive it")}},
                                    {}};
      return;
    }
}

}  // namespace

std::string to_text(const WorkloadFault& fault) {
  std::string text;
  for (const WorkloadSite& site : fault.sites) text += (text.empty() ? "" : "\n") + site.text;
  if (fault.kind == WorkloadFault::Kind::deadlock) text += ": none of them can go on";
  if (!fault.hint.empty()) text += "\n  " + fault.hint;
  return text;
}

std::string why_it_cannot_run(const WorkloadFault& fault) {
  const bool hangs =
      fault.kind == WorkloadFault::Kind::deadlock || fault.kind == WorkloadFault::Kind::missing;
  std::string text = to_text(fault);  // a line for each rank
  for (std::size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n', end))
    text.replace(end, text.find_first_not_of(" \n", end) - end, "; ");
  return (hangs ? "this program never ends: " : "this program does not fit together: ") + text;
}

WorkloadReport check(const Workload& workload, const CheckedLaunch& launch,
                     StepContents* contents) {
  return WorkloadChecker(workload, launch, contents).run();
}

}  // namespace collsim
