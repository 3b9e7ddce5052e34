// SPDX-License-Identifier: Apache-2.0
#include "collectives/workload.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "collectives/workloads/turns.hpp"
#include "topo/error.hpp"

namespace collsim {

Collective collective_of(const Call& call, const std::vector<Rank>& members) {
  Collective collective;
  collective.operation = call.operation;
  collective.count = call.count;
  collective.type = call.type;
  collective.reduction = call.reduction;
  collective.root = call.root;
  collective.in_place = call.in_place;
  collective.group = members;
  return collective;
}

namespace {

// A communicator as its lanes see it.
struct CommunicatorMembers {
  struct Place {
    std::uint32_t group = 0;
    int position = -1;
  };
  std::vector<std::vector<Rank>> groups;
  std::unordered_map<std::uint32_t, Place> places;  // by rank
  std::size_t first_lane = 0;
  int lanes = 1;
};

// What a schedule may not ask for among other things.
void check_schedule(const Schedule& schedule, const CommunicatorMembers& members) {
  if (schedule.some_in_switches())
    throw_error(ErrorCode::invalid_argument, "the algorithm ", schedule.algorithm(),
                " has lanes in switches, which a workload has not");
  if (schedule.slots())
    throw_error(ErrorCode::invalid_argument,
                "the slots of a workload's connections are those of the workload, not of a call");
  if (schedule.lanes() > members.lanes)
    throw_error(ErrorCode::bad_schedule, "a call needs ", schedule.lanes(),
                " lanes, but its communicator has ", members.lanes);
}

}  // namespace

// What the programs of a workload share.
struct WorkloadPlan {
  std::size_t streams = 0;
  std::vector<CommunicatorMembers> communicators;
  std::function<Script(Rank)> script;
  // By communicator, group and call: made when a lane comes to it, and kept, because buckets,
  // layers and steps call for the same again and again.
  using Key = std::tuple<std::uint16_t, std::uint32_t, Call>;
  mutable std::map<Key, Schedule> schedules;

  // The next line of a script, if it names what there is.
  [[nodiscard]] const Action* next(Script& lines) const {
    const Action* const action = lines.next();
    if (action == nullptr) return nullptr;
    const bool calls = action->kind == Action::Kind::collective;
    if (action->stream >= streams || (!calls && action->other >= streams) ||
        (calls && action->communicator >= communicators.size()))
      throw_error(ErrorCode::bad_schedule,
                  "a script names a stream or a communicator that does not exist");
    return action;
  }
  [[nodiscard]] CommunicatorMembers::Place place(const Action& action, Rank rank) const {
    const CommunicatorMembers& members = communicators[action.communicator];
    const auto found = members.places.find(static_cast<std::uint32_t>(rank.index()));
    if (found == members.places.end())
      throw_error(ErrorCode::bad_schedule, "rank ", rank.index(),
                  " calls a collective of a communicator that it is no member of");
    return found->second;
  }
  [[nodiscard]] const Schedule& schedule(const Action& action, Rank rank) const {
    const Key key{action.communicator, place(action, rank).group, action.call};
    const auto known = schedules.find(key);
    if (known != schedules.end()) return known->second;
    const Call& call = action.call;
    const auto& ranks = communicators[action.communicator].groups[std::get<1>(key)];
    const Schedule schedule =
        make_schedule(collective_of(call, ranks), call.choice ? *call.choice : AlgorithmChoice{});
    check_schedule(schedule, communicators[action.communicator]);
    return schedules.emplace(key, schedule).first->second;
  }
};

namespace {

// The lines of a rank's script for one stream.
class LinesOfStream {
 public:
  LinesOfStream(const WorkloadPlan& plan, Rank rank, std::uint16_t stream)
      : plan_(plan), script_(plan.script(rank)), stream_(stream), from_(plan.streams) {}

  // The next one; nullptr at the end.
  const Action* next() {
    while (const Action* const action = plan_.next(script_)) {
      ++number_;
      if (action->kind == Action::Kind::record && action->other == stream_)
        ++from_[action->stream].recorded;
      if (action->stream == stream_) return action;
    }
    return nullptr;
  }
  [[nodiscard]] std::int64_t number() const { return number_; }  // of the latest, in the script

  // How many signals a wait takes that is the latest line.
  [[nodiscard]] std::int64_t signals_of(const Action& wait) {
    SignalsTaken& signals = from_[wait.other];
    const std::int64_t until = wait.amount > 0 ? wait.amount : signals.recorded;
    return until - std::exchange(signals.taken, std::max(signals.taken, until));
  }
  // At the end: of those from another stream, how many nobody waited for.
  [[nodiscard]] std::int64_t left_over(std::size_t other) const {
    return from_[other].recorded - from_[other].taken;
  }

 private:
  // Signals from another stream.
  struct SignalsTaken {
    std::int64_t recorded = 0;  // so far in the script
    std::int64_t taken = 0;
  };

  const WorkloadPlan& plan_;
  Script script_;
  const std::uint16_t stream_;
  std::int64_t number_ = -1;
  std::vector<SignalsTaken> from_;
};

Program stream_lane(const WorkloadPlan* plan, Rank me, std::uint16_t stream) {
  const auto lane_of = [me](std::size_t lane) { return Endpoint{me, Lane(lane)}; };
  LinesOfStream lines(*plan, me, stream);
  while (const Action* const action = lines.next()) {
    const Endpoint peer{action->peer, Lane(action->other)};
    const Span bytes{Buffer::input, 0, action->amount};
    switch (action->kind) {
      case Action::Kind::work: co_yield work(Time(action->amount)); break;
      case Action::Kind::send: co_yield send(peer, bytes); break;
      case Action::Kind::receive: co_yield receive(peer, bytes); break;
      case Action::Kind::drain: co_yield drain(); break;
      case Action::Kind::record: co_yield signal(lane_of(action->other)); break;
      case Action::Kind::update: break;
      case Action::Kind::wait:
        for (std::int64_t left = lines.signals_of(*action); left > 0; --left)
          co_yield wait(lane_of(action->other));
        break;
      case Action::Kind::collective: {
        const auto lanes = static_cast<std::size_t>(plan->schedule(*action, me).lanes());
        const std::size_t first = plan->communicators[action->communicator].first_lane;
        for (std::size_t lane = 0; lane < lanes; ++lane) co_yield signal(lane_of(first + lane));
        for (std::size_t lane = 0; lane < lanes; ++lane) co_yield wait(lane_of(first + lane));
        break;
      }
    }
  }
  for (std::size_t other = 0; other < plan->streams; ++other)  // what nobody waited for
    for (std::int64_t left = lines.left_over(other); left > 0; --left)
      co_yield wait(lane_of(other));
}

// The same among all lanes of the workload, in bytes.
Instruction moved(Instruction instruction, std::size_t first_lane, Bytes element) {
  instruction.from.lane = Lane(instruction.from.lane.index() + first_lane);
  instruction.to.lane = Lane(instruction.to.lane.index() + first_lane);
  instruction.source_offset *= element;
  instruction.destination_offset *= element;
  instruction.count *= element;
  return instruction;
}

Program communicator_lane(const WorkloadPlan* plan, Rank me, std::uint16_t communicator,
                          Lane lane) {
  const std::size_t first = plan->communicators[communicator].first_lane;
  Script script = plan->script(me);
  while (const Action* const action = plan->next(script)) {
    if (action->kind != Action::Kind::collective || action->communicator != communicator) continue;
    const Schedule& schedule = plan->schedule(*action, me);
    if (lane.index() >= static_cast<std::size_t>(schedule.lanes())) continue;
    co_yield wait(Endpoint{me, Lane(action->stream)});
    LaneProgram program = schedule.program(plan->place(*action, me).position, lane);
    while (const Instruction* const instruction = program.next())
      co_yield whole(moved(*instruction, first, schedule.element_size()));
    co_yield drain();
    co_yield signal(Endpoint{me, Lane(action->stream)});
  }
}

CommunicatorMembers members_of(const Communicator& communicator, std::size_t first_lane) {
  CommunicatorMembers members{communicator.groups, {}, first_lane, communicator.lanes};
  for (std::size_t group = 0; group < communicator.groups.size(); ++group) {
    int position = 0;
    for (const Rank rank : communicator.groups[group]) {
      const bool is_new =
          members.places
              .emplace(static_cast<std::uint32_t>(rank.index()),
                       CommunicatorMembers::Place{static_cast<std::uint32_t>(group), position++})
              .second;
      if (!is_new)
        throw_error(ErrorCode::invalid_argument, "rank ", rank.index(), " is in the communicator ",
                    communicator.name, " twice");
    }
  }
  return members;
}

Workload::Parts completed(Workload::Parts parts) {
  if (parts.group.empty() || parts.stream_names.empty())
    throw_error(ErrorCode::invalid_argument, "a workload has ranks and streams");
  auto plan = std::make_shared<WorkloadPlan>();
  plan->streams = parts.stream_names.size();
  parts.streams = static_cast<int>(plan->streams);
  plan->script = parts.script;
  std::size_t lanes = plan->streams;
  std::vector<std::pair<std::uint16_t, Lane>> roles;  // of the lanes after the streams
  for (const Communicator& communicator : parts.communicators) {
    plan->communicators.push_back(members_of(communicator, lanes));
    parts.lanes_of_communicators.push_back(communicator.lanes);
    for (int lane = 0; lane < communicator.lanes; ++lane, ++lanes)
      roles.emplace_back(static_cast<std::uint16_t>(plan->communicators.size() - 1),
                         Lane(static_cast<std::size_t>(lane)));
  }
  parts.plan = plan;
  parts.lanes = static_cast<int>(lanes);
  parts.element_size = 1;
  const std::vector<Rank> group = parts.group;
  parts.program = [plan, roles, group](int position, Lane lane) -> LaneProgram {
    const Rank me = group[static_cast<std::size_t>(position)];
    if (lane.index() < plan->streams)
      return stream_lane(plan.get(), me, static_cast<std::uint16_t>(lane.index()));
    const auto& [communicator, role] = roles[lane.index() - plan->streams];
    return communicator_lane(plan.get(), me, communicator, role);
  };
  return parts;
}

}  // namespace

int lanes_of(Operation operation, const AlgorithmChoice& choice) {
  return choice.channels * find_algorithm(operation, choice.name).lanes;
}

namespace {

std::vector<TurnDigit> turns_of_call(const Call& call, int members) {
  return make_schedule(collective_of(call, first_ranks(static_cast<std::size_t>(members))),
                       call.choice ? *call.choice : AlgorithmChoice{})
      .turns();
}

}  // namespace

bool turns_members(const Call& call, int members) {
  const std::vector<TurnDigit> turns = turns_of_call(call, members);
  return members == 1 || (turns.size() == 1 && turns.front().size > 1);
}

std::vector<TurnDigit> turns_of_members(const std::set<Call>& calls, int members) {
  const auto all = static_cast<std::uint32_t>(members);
  std::uint32_t of_node = 1;
  for (const Call& call : calls) {
    if (turns_members(call, members)) continue;
    const std::vector<TurnDigit> turns = turns_of_call(call, members);
    const bool of_nodes = turns.size() == 2 && turns.front().step == 1;
    if (!of_nodes || (of_node > 1 && of_node != turns.back().size)) return {};
    of_node = turns.back().size;
  }
  if (of_node == 1) return {{all}};
  return {{all / of_node}, {.size = of_node, .step = of_node}};
}

std::vector<TurnDigit> turns_of_like_ranks(const Workload::Parts& parts, int kinds) {
  std::vector<std::set<Call>> calls(parts.communicators.size());
  for (int kind = 0; kind < kinds; ++kind) {
    Script script = parts.script(parts.group[static_cast<std::size_t>(kind)]);
    std::uint64_t actions = 0;
    while (const Action* const action = script.next()) {
      if (++actions > max_actions_of_a_rank) return {};
      if (action->kind == Action::Kind::collective)
        calls[action->communicator].insert(action->call);
    }
  }
  std::vector<TurnDigit> digits;
  for (std::size_t c = calls.size(); c-- > 0;) {
    const auto& group = parts.communicators[c].groups.front();
    const auto turns = turns_of_members(calls[c], static_cast<int>(group.size()));
    if (turns.empty()) return {};
    digits.insert(digits.end(), turns.begin(), turns.end());
  }
  if (kinds == 1) return digits;
  const auto fixed = static_cast<std::uint32_t>(kinds);
  digits.push_back({.size = fixed, .step = fixed});
  return digits;
}

std::vector<std::vector<Rank>> strided_groups(int ranks, int size, int stride) {
  std::vector<std::vector<Rank>> groups;
  for (int first = 0; first < ranks; ++first) {
    if (first / stride % size != 0) continue;
    groups.emplace_back();
    for (int i = 0; i < size; ++i)
      groups.back().emplace_back(static_cast<std::size_t>(first + i * stride));
  }
  return groups;
}

Workload::Workload(Parts parts) : Programs(completed(std::move(parts))) {}

std::vector<StreamLine> Workload::lines(Rank rank, int stream) const {
  const WorkloadPlan& plan = *own().plan;
  LinesOfStream of_stream(plan, rank, static_cast<std::uint16_t>(stream));
  std::vector<StreamLine> all;
  while (const Action* const action = of_stream.next()) {
    std::int64_t instructions = 1;
    if (action->kind == Action::Kind::update) instructions = 0;
    if (action->kind == Action::Kind::wait)
      instructions = std::max<std::int64_t>(0, of_stream.signals_of(*action));
    if (action->kind == Action::Kind::collective)
      instructions = std::int64_t{2} * plan.schedule(*action, rank).lanes();
    const std::uint32_t first = all.empty() ? 0 : all.back().end;
    all.push_back(
        {*action, of_stream.number(), first, first + static_cast<std::uint32_t>(instructions)});
  }
  return all;
}

const Schedule& Workload::schedule(const Action& call, Rank rank) const {
  return own().plan->schedule(call, rank);
}

}  // namespace collsim
