// SPDX-License-Identifier: Apache-2.0
#include "tests/collectives/workload_execution.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <deque>
#include <random>
#include <set>
#include <tuple>

#include "topo/error.hpp"

namespace collsim::test_workloads {
namespace {

std::uint64_t stirred(std::uint64_t a, std::uint64_t b) {
  std::uint64_t z = (a ^ (b + 0x9E3779B97F4A7C15U + (a << 6) + (a >> 2))) * 0xBF58476D1CE4E5B9U;
  return z ^ (z >> 29);
}

std::uint64_t number_of(const HeldSum& sum) {
  std::uint64_t all = 1;
  for (const auto& [thing, weight] : sum)
    all = stirred(all, stirred(thing, static_cast<std::uint64_t>(std::llround(weight * 1e6))));
  return all;
}

bool same_sum(const HeldSum& a, const HeldSum& b) {
  return number_of(a) == number_of(b);
}

std::vector<std::uint32_t> items_of(const std::vector<Items>& ranges) {
  std::vector<std::uint32_t> items;
  for (const Items& range : ranges)
    for (std::uint32_t item = range.begin; item < range.end; ++item) items.push_back(item);
  return items;
}

// A stream of a rank, and what it has posted.
struct ExecutedStream {
  std::size_t rank = 0;
  std::uint16_t stream = 0;
  std::vector<std::size_t> lines;  // of the rank's
  std::size_t next = 0;
  int phase = 0;                   // within the line
  std::vector<HeldSum> read;       // in an earlier phase
  std::deque<std::size_t> posted;  // lines whose message has not left
  bool flight_has_read = false;
  std::vector<HeldSum> flight;
  double priority = 0, flight_priority = 0;
};

struct ExecutedCall {
  struct Member {
    bool has_read = false;
    std::vector<HeldSum> input;
  };
  std::map<std::size_t, Member> members;  // by position in the group
  std::size_t gone = 0;
  Call call;
};

class StepExecutor {
 public:
  StepExecutor(const ListedWorkload& step, const ExecutionTiming& timing)
      : step_(step), timing_(timing), random_(timing.seed), ranks_(step.lines.size()) {
    worked_.resize(ranks_, std::vector<HeldSum>(step.data.items));
    optimized_.resize(ranks_, std::vector<std::optional<HeldSum>>(step.data.items));
    memory_.resize(ranks_, std::vector<HeldSum>(step.data.items));
    calls_ended_.resize(ranks_);
    for (std::size_t rank = 0; rank < ranks_; ++rank) begin(rank);
  }

  StepExecution run() {
    while (outcome_.problem.empty() && advance()) {
    }
    conclude();
    return outcome_;
  }

 private:
  void begin(std::size_t rank) {
    for (std::uint32_t item = 0; item < step_.data.items && step_.data.initial; ++item)
      if (const std::uint64_t content = step_.data.initial(Rank(rank), item); content != 0)
        memory_[rank][item] = {{stirred(7, content), 1}};
    for (std::size_t s = 0; s < step_.streams.size(); ++s) {
      ExecutedStream stream{.rank = rank, .stream = static_cast<std::uint16_t>(s)};
      for (std::size_t line = 0; line < step_.lines[rank].size(); ++line)
        if (step_.lines[rank][line].action.stream == s) stream.lines.push_back(line);
      stream.priority = draw();
      stream.flight_priority = draw();
      streams_.push_back(std::move(stream));
    }
  }

  double draw() { return static_cast<double>(random_() >> 11); }
  [[nodiscard]] ExecutedStream& at(std::size_t rank, std::size_t stream) {
    return streams_[rank * step_.streams.size() + stream];
  }
  [[nodiscard]] const ListedLine& line(const ExecutedStream& stream) const {
    return step_.lines[stream.rank][stream.lines[stream.next]];
  }
  [[nodiscard]] static bool has_ended(const ExecutedStream& stream) {
    return stream.next == stream.lines.size();
  }

  // One part of something that can go on, the most urgent first; urgencies change now and then.
  bool advance() {
    if (random_() % 8 == 0) {
      ExecutedStream& one = streams_[random_() % streams_.size()];
      (random_() % 2 == 0 ? one.priority : one.flight_priority) = draw();
    }
    std::vector<std::tuple<double, std::size_t, bool>> order;
    for (std::size_t i = 0; i < streams_.size(); ++i) {
      order.emplace_back(streams_[i].priority, i, false);
      if (!streams_[i].posted.empty()) order.emplace_back(streams_[i].flight_priority, i, true);
    }
    std::sort(order.begin(), order.end(), std::greater<>());
    return std::any_of(order.begin(), order.end(), [this](const auto& one) {
      ExecutedStream& stream = streams_[std::get<1>(one)];
      if (std::get<2>(one)) return fly(stream), true;
      return !has_ended(stream) && carry_out(stream);
    });
  }

  std::vector<HeldSum> look(std::size_t rank, const std::vector<Items>& ranges) {
    std::vector<HeldSum> sums;
    for (const std::uint32_t item : items_of(ranges)) sums.push_back(memory_[rank][item]);
    return sums;
  }
  void put(std::size_t rank, const Uses& uses, const std::vector<HeldSum>& sums) {
    std::size_t next = 0;
    for (const std::uint32_t item : items_of(uses.writes)) {
      memory_[rank][item] = next < sums.size() ? sums[next] : HeldSum{};
      ++next;
    }
  }
  // What is not yet there holds garbage; what is read in the same line is left for its reading.
  void spoil(std::size_t rank, const Uses& uses) {
    const std::vector<std::uint32_t> read = items_of(uses.reads);
    for (const std::uint32_t item : items_of(uses.writes))
      if (std::find(read.begin(), read.end(), item) == read.end())
        memory_[rank][item] = {{garbage, 1}};
  }
  void note(const ExecutedStream& stream, std::size_t line, const std::vector<HeldSum>& sums) {
    std::uint64_t& seen = seen_[{stream.rank, line}];
    for (const HeldSum& sum : sums) seen = stirred(seen, number_of(sum));
  }
  // What has changed since it was read first was read half.
  static void tear(std::vector<HeldSum>& first, const std::vector<HeldSum>& second) {
    for (std::size_t i = 0; i < first.size(); ++i)
      if (!same_sum(first[i], second[i])) first[i] = {{torn, 1}};
  }

  void end_line(ExecutedStream& stream) {
    ++stream.next;
    stream.phase = 0;
    stream.read.clear();
  }

  bool carry_out(ExecutedStream& stream) {
    const ListedLine& now = line(stream);
    switch (now.action.kind) {
      case Action::Kind::work:
      case Action::Kind::update: return work(stream, now);
      case Action::Kind::record:
        ++records_[{stream.rank, stream.stream, now.action.other}];
        return end_line(stream), true;
      case Action::Kind::wait: return wait(stream, now.action);
      case Action::Kind::drain:
        if (!stream.posted.empty() || (timing_.rendezvous && !all_is_received(stream)))
          return false;
        return end_line(stream), true;
      case Action::Kind::send: return send(stream, now.action);
      case Action::Kind::receive: return receive(stream, now);
      case Action::Kind::collective: return call(stream, now);
    }
    return false;
  }

  bool work(ExecutedStream& stream, const ListedLine& now) {
    if (stream.phase == 0) {
      stream.read = look(stream.rank, now.uses.reads);
      if (now.action.label.kind == Label::Kind::optimizer)
        for (const std::uint32_t item : items_of(now.uses.reads))
          optimized_[stream.rank][item] = memory_[stream.rank][item];
      spoil(stream.rank, now.uses);
      stream.phase = 1;
      return true;
    }
    tear(stream.read, look(stream.rank, now.uses.reads));
    note(stream, stream.lines[stream.next], stream.read);
    const Label& label = now.action.label;
    std::uint64_t result = stirred(static_cast<std::uint64_t>(label.kind) + 100,
                                   stirred(static_cast<std::uint64_t>(label.number),
                                           static_cast<std::uint64_t>(label.microbatch)));
    for (const HeldSum& sum : stream.read) result = stirred(result, number_of(sum));
    std::vector<HeldSum> results;
    for (const std::uint32_t item : items_of(now.uses.writes)) {
      results.push_back({{stirred(result, results.size()), 1}});
      worked_[stream.rank][item] = results.back();
    }
    put(stream.rank, now.uses, results);
    return end_line(stream), true;
  }

  bool wait(ExecutedStream& stream, const Action& action) {
    std::int64_t until = action.amount;
    if (until == 0)
      for (std::size_t i = 0; i < stream.lines[stream.next]; ++i) {
        const Action& before = step_.lines[stream.rank][i].action;
        until += before.kind == Action::Kind::record && before.stream == action.other &&
                         before.other == stream.stream
                     ? 1
                     : 0;
      }
    if (records_[{stream.rank, action.other, stream.stream}] < until) return false;
    return end_line(stream), true;
  }

  bool send(ExecutedStream& stream, const Action& action) {
    const std::size_t peer = action.peer.index();
    if (peer == stream.rank || peer >= ranks_) return outcome_.problem = "no such peer", true;
    stream.posted.push_back(stream.lines[stream.next]);
    return end_line(stream), true;
  }

  bool all_is_received(const ExecutedStream& stream) const {
    return std::all_of(messages_.begin(), messages_.end(), [&](const auto& queue) {
      const auto& [rank, sender, to, receiver] = queue.first;
      return rank != stream.rank || sender != stream.stream || queue.second.empty();
    });
  }

  // A message that was posted is read, once more, and is there.
  void fly(ExecutedStream& stream) {
    const std::size_t number = stream.posted.front();
    const ListedLine& sent = step_.lines[stream.rank][number];
    if (!std::exchange(stream.flight_has_read, true)) {
      stream.flight = look(stream.rank, sent.uses.reads);
      return;
    }
    tear(stream.flight, look(stream.rank, sent.uses.reads));
    note(stream, number, stream.flight);
    messages_[{stream.rank, stream.stream, sent.action.peer.index(), sent.action.other}].push_back(
        {sent.action.amount, std::move(stream.flight)});
    stream.posted.pop_front();
    stream.flight_has_read = false;
  }

  bool receive(ExecutedStream& stream, const ListedLine& now) {
    if (stream.phase == 0) {
      spoil(stream.rank, now.uses);
      stream.phase = 1;
      return true;
    }
    auto& queue =
        messages_[{now.action.peer.index(), now.action.other, stream.rank, stream.stream}];
    if (queue.empty()) return false;
    if (queue.front().first != now.action.amount) return outcome_.problem = "another size", true;
    put(stream.rank, now.uses, queue.front().second);
    queue.pop_front();
    return end_line(stream), true;
  }

  // --- collectives ---

  struct CallPlace {
    const std::vector<Rank>* group = nullptr;
    std::size_t position = 0;
    std::tuple<std::size_t, Rank, std::size_t> key;  // communicator, first rank, call
    std::size_t of_rank = 0;                         // among all calls of the rank
  };
  [[nodiscard]] CallPlace place_of(const ExecutedStream& stream, const Action& action) const {
    CallPlace place;
    const Rank me(stream.rank);
    for (const auto& group : step_.communicators[action.communicator].groups)
      if (const auto found = std::find(group.begin(), group.end(), me); found != group.end()) {
        place.group = &group;
        place.position = static_cast<std::size_t>(found - group.begin());
      }
    std::size_t before = 0;
    for (std::size_t i = 0; i < stream.lines[stream.next]; ++i) {
      const Action& other = step_.lines[stream.rank][i].action;
      if (other.kind != Action::Kind::collective) continue;
      ++place.of_rank;
      before += other.communicator == action.communicator ? 1 : 0;
    }
    if (place.group != nullptr) place.key = {action.communicator, place.group->front(), before};
    return place;
  }

  // Reads its input, when it has come; leaves, when all is there that it needs.
  bool call(ExecutedStream& stream, const ListedLine& now) {
    const CallPlace place = place_of(stream, now.action);
    if (place.group == nullptr) return outcome_.problem = "a stranger", true;
    if (stream.phase == 0) return come(stream, now, place);
    ExecutedCall& open = calls_.at(place.key);
    ExecutedCall::Member& me = open.members.at(place.position);
    if (!std::exchange(me.has_read, true)) {
      me.input = look(stream.rank, now.uses.reads);
      return true;
    }
    if (!may_leave(open, place)) return false;
    tear(me.input, look(stream.rank, now.uses.reads));
    note(stream, stream.lines[stream.next], me.input);
    put(stream.rank, now.uses, result(open, place, items_of(now.uses.writes).size()));
    ++ended_[{std::get<0>(place.key), stream.rank}];
    calls_ended_[stream.rank].insert(place.of_rank);
    return end_line(stream), true;
  }

  bool come(ExecutedStream& stream, const ListedLine& now, const CallPlace& place) {
    const std::size_t number = std::get<2>(place.key);
    if (ended_[{std::get<0>(place.key), stream.rank}] < number) return false;
    if (timing_.collectives_at_a_time) {
      const auto most = static_cast<std::size_t>(*timing_.collectives_at_a_time);
      for (std::size_t earlier = 0; earlier + most <= place.of_rank; ++earlier)
        if (!calls_ended_[stream.rank].contains(earlier)) return false;
    }
    const auto [open, is_first] = calls_.try_emplace(place.key);
    if (is_first) open->second.call = now.action.call;
    const Call& theirs = open->second.call;
    const Call& ours = now.action.call;
    if (theirs.operation != ours.operation || theirs.count != ours.count ||
        theirs.type != ours.type || theirs.root != ours.root || theirs.reduction != ours.reduction)
      return outcome_.problem = "another call", true;
    open->second.members.try_emplace(place.position);
    spoil(stream.rank, now.uses);
    stream.phase = 1;
    return true;
  }

  [[nodiscard]] bool may_leave(const ExecutedCall& open, const CallPlace& place) const {
    const auto root = static_cast<std::size_t>(open.call.root);
    const auto has_given = [&](std::size_t member) {
      const auto found = open.members.find(member);
      return found != open.members.end() && found->second.has_read;
    };
    const Operation operation = open.call.operation;
    if (!timing_.all_must_come) {
      const bool to_root = operation == Operation::reduce || operation == Operation::gather;
      const bool from_root = operation == Operation::broadcast || operation == Operation::scatter;
      if (to_root && place.position != root) return true;
      if (from_root) return has_given(root);
    }
    for (std::size_t member = 0; member < place.group->size(); ++member)
      if (!has_given(member)) return false;
    return true;
  }

  std::vector<HeldSum> result(const ExecutedCall& open, const CallPlace& place, std::size_t items) {
    std::vector<HeldSum> results;
    for (std::size_t item = 0; item < items; ++item) {
      std::vector<HeldSum> of_members(place.group->size());
      for (const auto& [member, given] : open.members)
        if (item < given.input.size()) of_members[member] = given.input[item];
      results.push_back(combined(open.call, of_members, place.position));
    }
    return results;
  }

  HeldSum combined(const Call& call, const std::vector<HeldSum>& given, std::size_t member) {
    const auto root = static_cast<std::size_t>(call.root);
    switch (call.operation) {
      case Operation::all_reduce:
      case Operation::reduce: return added(given, call.reduction);
      case Operation::reduce_scatter: return part(added(given, call.reduction), member);
      case Operation::broadcast: return given[root];
      case Operation::scatter: return part(given[root], member);
      case Operation::all_gather:
      case Operation::gather: return joined(given);
      default: break;
    }
    std::uint64_t all = stirred(9, member);
    for (const HeldSum& one : given) all = stirred(all, number_of(one));
    return {{all, 1}};
  }
  static HeldSum added(const std::vector<HeldSum>& given, Reduction reduction) {
    HeldSum sum;
    const double share = reduction == Reduction::avg ? 1 / static_cast<double>(given.size()) : 1;
    for (const HeldSum& one : given)
      for (const auto& [thing, weight] : one) sum[thing] += weight * share;
    return sum;
  }
  HeldSum part(const HeldSum& whole, std::size_t member) {
    HeldSum sum;
    for (const auto& [thing, weight] : whole) {
      const std::uint64_t name = stirred(stirred(thing, 77), member);
      parts_[name] = {thing, member};
      sum[name] = weight;
    }
    return sum;
  }
  // All parts of one thing are that thing.
  HeldSum joined(const std::vector<HeldSum>& given) {
    std::vector<HeldSum> wholes(given.size());
    bool fits = true;
    std::uint64_t all = 11;
    for (std::size_t member = 0; member < given.size(); ++member) {
      all = stirred(all, number_of(given[member]));
      for (const auto& [thing, weight] : given[member]) {
        const auto known = parts_.find(thing);
        fits = fits && known != parts_.end() && known->second.second == member;
        if (fits) wholes[member][known->second.first] = weight;
      }
      fits = fits && same_sum(wholes[member], wholes.front());
    }
    return fits ? wholes.front() : HeldSum{{all, 1}};
  }

  // --- the end ---

  void conclude() {
    for (const ExecutedStream& stream : streams_)
      if (outcome_.problem.empty() && !has_ended(stream))
        outcome_.problem = concat("rank ", stream.rank, " stream ", stream.stream, " waits");
    for (const auto& [route, queue] : messages_)
      if (outcome_.problem.empty() && !queue.empty()) outcome_.problem = "a message is left over";
    for (const auto& [line, number] : seen_)
      outcome_.seen = stirred(outcome_.seen, stirred(number, line.first * 65536 + line.second));
    for (const auto& memory : memory_)
      for (const HeldSum& sum : memory) outcome_.seen = stirred(outcome_.seen, number_of(sum));
    for (const WorkloadData::Claim& claim : step_.data.claims)
      for (const std::vector<Rank>& group : claim.groups) judge(claim, group);
  }

  void judge(const WorkloadData::Claim& claim, const std::vector<Rank>& group) {
    for (std::uint32_t i = 0; i < claim.items.size(); ++i) {
      const std::uint32_t item = claim.items.begin + i;
      std::vector<HeldSum> worked;
      for (const Rank rank : group) worked.push_back(worked_[rank.index()][claim.of + i]);
      const bool is_same = claim.kind == WorkloadData::Claim::Kind::same;
      const bool is_sum = claim.kind == WorkloadData::Claim::Kind::sum;
      for (std::size_t member = 0; member < (is_sum ? 1 : group.size()); ++member) {
        const std::size_t rank = group[member].index();
        HeldSum wanted = is_same ? memory_[group.front().index()][item]
                                 : added(worked, is_sum ? Reduction::sum : Reduction::avg);
        if (claim.kind == WorkloadData::Claim::Kind::part_of_mean)
          wanted = part(wanted, claim.parts > 0 ? member % claim.parts : member);
        const HeldSum& found =
            !is_same && optimized_[rank][item] ? *optimized_[rank][item] : memory_[rank][item];
        if (!same_sum(found, wanted))
          outcome_.broken_claim = concat("item ", item, " of rank ", rank);
      }
    }
  }

  static constexpr std::uint64_t garbage = 1, torn = 2;

  const ListedWorkload& step_;
  const ExecutionTiming& timing_;
  std::mt19937_64 random_;
  std::size_t ranks_;
  std::vector<ExecutedStream> streams_;
  std::vector<std::vector<HeldSum>> memory_, worked_;  // by rank and item
  std::vector<std::vector<std::optional<HeldSum>>> optimized_;
  std::map<std::tuple<std::size_t, std::size_t, std::size_t>, std::int64_t> records_;
  std::map<std::tuple<std::size_t, std::size_t, std::size_t, std::size_t>,
           std::deque<std::pair<std::int64_t, std::vector<HeldSum>>>>
      messages_;
  std::map<std::tuple<std::size_t, Rank, std::size_t>, ExecutedCall> calls_;
  std::map<std::pair<std::size_t, std::size_t>, std::size_t> ended_;  // by communicator and rank
  std::vector<std::set<std::size_t>> calls_ended_;                    // by rank
  std::map<std::uint64_t, std::pair<std::uint64_t, std::size_t>> parts_;
  std::map<std::pair<std::size_t, std::size_t>, std::uint64_t> seen_;  // by rank and line
  StepExecution outcome_;
};

Script listed_script(std::shared_ptr<const std::vector<std::vector<ListedLine>>> lines, Rank rank) {
  std::uint32_t place = 0;
  for (const ListedLine& line : (*lines)[rank.index()]) {
    Action action = line.action;
    action.place = place++;
    co_yield action;
  }
}

}  // namespace

Workload ListedWorkload::workload() const {
  const auto shared = std::make_shared<const std::vector<std::vector<ListedLine>>>(lines);
  Workload::Parts parts;
  parts.group = first_ranks(lines.size());
  parts.stream_names = streams;
  parts.communicators = communicators;
  parts.script = [shared](Rank rank) { return listed_script(shared, rank); };
  WorkloadData all = data;
  all.uses = [shared](Rank rank, const Action& action, Uses& uses) {
    uses = (*shared)[rank.index()][action.place].uses;
  };
  parts.data = std::make_shared<const WorkloadData>(std::move(all));
  return Workload(std::move(parts));
}

ListedWorkload listed(const Workload& workload) {
  ListedWorkload step{std::make_shared<const Workload>(workload),
                      {},
                      workload.stream_names(),
                      workload.communicators(),
                      *workload.data()};
  for (const Rank rank : workload.group()) {
    step.lines.emplace_back();
    Script script = workload.script(rank);
    while (const Action* const action = script.next()) {
      ListedLine line{*action, {}};
      workload.data()->uses(rank, *action, line.uses);
      step.lines.back().push_back(std::move(line));
    }
  }
  return step;
}

StepExecution execute_step(const ListedWorkload& step, const ExecutionTiming& timing) {
  return StepExecutor(step, timing).run();
}

}  // namespace collsim::test_workloads
