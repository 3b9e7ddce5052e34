// SPDX-License-Identifier: Apache-2.0
#include "collectives/workload_checker.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <tuple>
#include <utility>

#include "topo/error.hpp"

namespace collsim {

namespace {

using StreamId = std::size_t;  // rank's position x streams + stream

struct StreamEnd {
  Rank rank;
  std::uint16_t stream;
  auto operator<=>(const StreamEnd&) const = default;
};

// Which call of a communicator: those of a group are numbered from 1.
struct CallId {
  std::uint16_t communicator;
  std::uint32_t group;
  std::int64_t number;
  auto operator<=>(const CallId&) const = default;
};

// A call that some members have come to.
struct OpenCall {
  Action first;
  Rank first_rank;
  std::set<Rank> here;
  std::size_t gone = 0;
};

// A stream's place in the script of its rank.
struct Cursor {
  Rank rank;
  std::uint16_t stream = 0;
  std::unique_ptr<Script> script;
  const Action* action = nullptr;  // the one to carry out; null: it has ended
  std::uint32_t last_place = 0;
  std::vector<std::int64_t> calls;     // so far in the script, by communicator
  std::vector<std::int64_t> recorded;  // for this stream, by stream
  bool has_arrived = false;            // at the call that it is in
};

class WorkloadChecker {
 public:
  WorkloadChecker(const Workload& workload, Sends sends)
      : workload_(workload), sends_(sends), streams_(workload.stream_names().size()) {
    find_groups();
    cursors_.resize(static_cast<std::size_t>(workload.size()) * streams_);
    records_.resize(cursors_.size() * streams_);
    for (StreamId id = 0; id < cursors_.size(); ++id) begin(id);
  }

  WorkloadReport run() {
    for (bool progress = true; progress && !report_.fault;) {
      progress = false;
      for (StreamId id = 0; id < cursors_.size() && !report_.fault; ++id)
        while (!report_.fault && cursors_[id].action != nullptr && carry_out(id)) progress = true;
    }
    if (!report_.fault) judge_waiting();
    if (!report_.fault) judge_messages();
    return std::move(report_);
  }

 private:
  void find_groups();
  void begin(StreamId id);
  void next(Cursor& cursor);
  // False: it has to wait.
  bool carry_out(StreamId id);
  bool send(const Cursor& cursor);
  bool receive(const Cursor& cursor);
  bool call(Cursor& cursor);
  void compare_calls(const OpenCall& open, const Cursor& cursor, const CallId& id);

  void judge_waiting();
  void judge_messages();
  [[nodiscard]] std::optional<StreamId> waits_for(const Cursor& cursor) const;
  [[nodiscard]] std::string wish(const Cursor& cursor) const;
  void report_missing(const Cursor& cursor);
  void report_circle(StreamId from);

  [[nodiscard]] std::optional<CallId> call_id(const Cursor& cursor, const Action& action) const;
  [[nodiscard]] const std::vector<Rank>& members(const CallId& id) const {
    return workload_.communicators()[id.communicator].groups[id.group];
  }
  [[nodiscard]] StreamId stream_id(Rank rank, std::uint16_t stream) const {
    return positions_.at(rank) * streams_ + stream;
  }
  [[nodiscard]] std::string name_of(const CallId& id, const Call& call) const;
  [[nodiscard]] bool is_running(Rank rank) const {
    for (std::uint16_t stream = 0; stream < streams_; ++stream)
      if (cursors_[stream_id(rank, stream)].action != nullptr) return true;
    return false;
  }
  [[nodiscard]] bool has_stream(const StreamEnd& end) const {
    return positions_.contains(end.rank) && end.stream < streams_;
  }

  struct Sent {
    Bytes bytes;
    std::uint32_t place;
  };
  using Route = std::pair<StreamEnd, StreamEnd>;

  const Workload& workload_;
  const Sends sends_;
  const std::size_t streams_;
  std::map<Rank, std::size_t> positions_;
  std::vector<std::map<Rank, std::uint32_t>> groups_;  // by communicator
  std::vector<Cursor> cursors_;
  std::vector<std::int64_t> records_;  // by position, from, for
  std::map<CallId, OpenCall> open_calls_;
  std::map<std::tuple<std::uint16_t, Rank>, std::int64_t> ended_calls_;
  std::map<Route, std::deque<Sent>> messages_;
  WorkloadReport report_;
};

void WorkloadChecker::find_groups() {
  for (int position = 0; position < workload_.size(); ++position)
    positions_[workload_.rank(position)] = static_cast<std::size_t>(position);
  for (const Communicator& communicator : workload_.communicators()) {
    groups_.emplace_back();
    for (std::size_t group = 0; group < communicator.groups.size(); ++group)
      for (const Rank rank : communicator.groups[group])
        groups_.back()[rank] = static_cast<std::uint32_t>(group);
  }
}

void WorkloadChecker::begin(StreamId id) {
  Cursor& cursor = cursors_[id];
  cursor.rank = workload_.rank(static_cast<int>(id / streams_));
  cursor.stream = static_cast<std::uint16_t>(id % streams_);
  cursor.script = std::make_unique<Script>(workload_.script(cursor.rank));
  cursor.calls.resize(workload_.communicators().size());
  cursor.recorded.resize(streams_);
  next(cursor);
}

void WorkloadChecker::next(Cursor& cursor) {
  if (cursor.action != nullptr) cursor.last_place = cursor.action->place;
  cursor.has_arrived = false;
  while ((cursor.action = cursor.script->next()) != nullptr) {
    const Action& action = *cursor.action;
    if (action.kind == Action::Kind::collective) ++cursor.calls[action.communicator];
    if (action.kind == Action::Kind::record && action.other == cursor.stream)
      ++cursor.recorded[action.stream];
    if (action.stream == cursor.stream) return;
  }
  cursor.script.reset();
}

bool WorkloadChecker::carry_out(StreamId id) {
  Cursor& cursor = cursors_[id];
  const Action& action = *cursor.action;
  const std::size_t of_rank = id / streams_ * streams_;
  switch (action.kind) {
    case Action::Kind::work:
    case Action::Kind::drain: break;
    case Action::Kind::record:
      ++records_[(of_rank + cursor.stream) * streams_ + action.other];
      break;
    case Action::Kind::wait: {
      const std::int64_t until = action.amount > 0 ? action.amount : cursor.recorded[action.other];
      if (records_[(of_rank + action.other) * streams_ + cursor.stream] < until) return false;
      break;
    }
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
  std::deque<Sent>& queue = messages_[{{cursor.rank, cursor.stream}, to}];
  if (sends_ == Sends::rendezvous && has_stream(to)) {
    const Action* const other = cursors_[stream_id(to.rank, to.stream)].action;
    const bool is_awaited = other != nullptr && other->kind == Action::Kind::receive &&
                            other->peer == cursor.rank && other->other == cursor.stream;
    if (!is_awaited || !queue.empty()) return false;
  }
  queue.push_back({action.amount, action.place});
  ++report_.messages;
  return true;
}

bool WorkloadChecker::receive(const Cursor& cursor) {
  const Action& action = *cursor.action;
  const auto found = messages_.find({{action.peer, action.other}, {cursor.rank, cursor.stream}});
  if (found == messages_.end() || found->second.empty()) return false;
  const Sent sent = found->second.front();
  found->second.pop_front();
  if (sent.bytes == action.amount) return true;
  report_.fault = WorkloadFault{
      WorkloadFault::Kind::mismatch,
      {{action.peer, sent.place,
        concat("rank ", action.peer.index(), " sends ", sent.bytes, " bytes")},
       {cursor.rank, action.place,
        concat("rank ", cursor.rank.index(), " expects ", action.amount, " bytes from it")}},
      {}};
  return false;
}

std::optional<CallId> WorkloadChecker::call_id(const Cursor& cursor, const Action& action) const {
  const auto& groups = groups_[action.communicator];
  const auto group = groups.find(cursor.rank);
  if (group == groups.end()) return std::nullopt;
  return CallId{action.communicator, group->second, cursor.calls[action.communicator]};
}

bool WorkloadChecker::call(Cursor& cursor) {
  const Action& action = *cursor.action;
  const std::optional<CallId> id = call_id(cursor, action);
  if (!id) {
    report_.fault = WorkloadFault{
        WorkloadFault::Kind::not_a_member,
        {{cursor.rank, action.place,
          concat("rank ", cursor.rank.index(), " calls ", to_string(action.call.operation), " of ",
                 workload_.communicators()[action.communicator].name,
                 ", to which it does not belong")}},
        {}};
    return false;
  }
  std::int64_t& ended = ended_calls_[{id->communicator, cursor.rank}];
  if (ended + 1 < id->number) return false;  // one call of a communicator at a time
  const auto [place, is_first] = open_calls_.try_emplace(*id, OpenCall{action, cursor.rank, {}});
  OpenCall& open = place->second;
  if (!cursor.has_arrived) {
    compare_calls(open, cursor, *id);
    open.here.insert(cursor.rank);
    cursor.has_arrived = true;
    if (is_first) ++report_.calls;
  }
  if (open.here.size() < members(*id).size()) return false;
  ++ended;
  if (++open.gone == members(*id).size()) open_calls_.erase(place);
  return true;
}

std::string describe(const Call& call) {
  std::string text(to_string(call.operation));
  if (call.operation == Operation::barrier) return text;
  text += concat(" of ", call.count, " ", to_string(call.type));
  if (reduces(call.operation)) text += concat(", ", to_string(call.reduction));
  if (has_root(call.operation)) text += concat(", root ", call.root);
  return text;
}

// With the name of the default where there is none.
AlgorithmChoice choice_of(const Call& call) {
  AlgorithmChoice choice = call.choice != nullptr ? *call.choice : AlgorithmChoice{};
  choice.name = find_algorithm(call.operation, choice.name).name;
  return choice;
}

bool same_call(const Call& a, const Call& b) {
  const bool same_root = !has_root(a.operation) || a.root == b.root;
  const bool same_reduction = !reduces(a.operation) || a.reduction == b.reduction;
  return a.operation == b.operation && a.count == b.count && a.type == b.type && same_root &&
         same_reduction && (a.choice == b.choice || choice_of(a) == choice_of(b));
}

void WorkloadChecker::compare_calls(const OpenCall& open, const Cursor& cursor, const CallId& id) {
  const Call& theirs = open.first.call;
  const Call& ours = cursor.action->call;
  if (same_call(theirs, ours)) return;
  const std::string& name = workload_.communicators()[id.communicator].name;
  const auto algorithm = [](const Call& call) { return " by " + choice_of(call).name; };
  const bool alike = describe(theirs) == describe(ours);
  const auto site = [&](Rank rank, const Call& call, std::uint32_t place) {
    return WorkloadSite{rank, place,
                        concat("call ", id.number, " of ", name, " is ", describe(call),
                               alike ? algorithm(call) : "", " on rank ", rank.index())};
  };
  report_.fault = WorkloadFault{WorkloadFault::Kind::mismatch,
                                {site(open.first_rank, theirs, open.first.place),
                                 site(cursor.rank, ours, cursor.action->place)},
                                "all members of a communicator call the same, in the same order"};
}

std::string WorkloadChecker::name_of(const CallId& id, const Call& call) const {
  return concat("call ", id.number, " of ", workload_.communicators()[id.communicator].name, " (",
                to_string(call.operation), ")");
}

// --- when nothing goes on ------------------------------------------------------------------------

// A stream that must act before this one can; none: of a rank that has ended.
std::optional<StreamId> WorkloadChecker::waits_for(const Cursor& cursor) const {
  const Action& action = *cursor.action;
  const auto if_running = [this](StreamId id) -> std::optional<StreamId> {
    return cursors_[id].action != nullptr ? std::optional(id) : std::nullopt;
  };
  if (action.kind == Action::Kind::wait) return if_running(stream_id(cursor.rank, action.other));
  if (action.kind != Action::Kind::collective) {
    const StreamEnd peer{action.peer, action.other};
    return has_stream(peer) ? if_running(stream_id(peer.rank, peer.stream)) : std::nullopt;
  }
  const CallId id = *call_id(cursor, action);
  const auto open = open_calls_.find(id);
  for (const Rank rank : members(id)) {
    const bool is_here = open != open_calls_.end() && open->second.here.contains(rank);
    if (is_here) continue;
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
    case Action::Kind::receive: return concat(who, " waits for a message from ", peer);
    default: break;
  }
  const CallId id = *call_id(cursor, action);
  const auto open = open_calls_.find(id);
  std::string missing;
  for (const Rank rank : members(id)) {
    if (open != open_calls_.end() && open->second.here.contains(rank)) continue;
    missing += concat(missing.empty() ? "rank " : ", ", rank.index());
  }
  return concat(who, " waits in ", name_of(id, action.call), " for ", missing);
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
    if (!positions_.contains(rank)) return;
    std::uint32_t last = 0;
    for (std::uint16_t stream = 0; stream < streams_; ++stream)
      last = std::max(last, cursors_[stream_id(rank, stream)].last_place);
    if (is_running(rank)) return;
    fault.sites.push_back({rank, last, concat("rank ", rank.index(), " ends before that")});
  };
  if (action.kind == Action::Kind::collective) {
    const CallId id = *call_id(cursor, action);
    const auto open = open_calls_.find(id);
    const std::size_t here = open == open_calls_.end() ? 0 : open->second.here.size();
    fault.sites.push_back(
        {cursor.rank, action.place,
         concat(name_of(id, action.call), " has ", here, " of ", members(id).size(), " members")});
    for (const Rank rank : members(id))
      if (open == open_calls_.end() || !open->second.here.contains(rank)) ended(rank);
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
    sends = sends || cursor.action->kind == Action::Kind::send;
    id = waits_for(cursor);
  } while (id && *id != from);
  if (calls_only)
    fault.hint =
        "they would go on if each communicator had a stream of its own, or if all ranks used the "
        "same order";
  else if (sends)
    fault.hint = "they would go on if one of them received first, or if the messages were grouped";
  report_.fault = std::move(fault);
}

void WorkloadChecker::judge_messages() {
  for (const auto& [route, sent] : messages_) {
    if (sent.empty()) continue;
    const auto& [from, to] = route;
    report_.fault = WorkloadFault{WorkloadFault::Kind::unreceived,
                                  {{from.rank, sent.front().place,
                                    concat("rank ", from.rank.index(), " sends a message to rank ",
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

WorkloadReport check(const Workload& workload, Sends sends) {
  return WorkloadChecker(workload, sends).run();
}

}  // namespace collsim
