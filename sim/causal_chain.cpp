// SPDX-License-Identifier: Apache-2.0
#include "sim/causal_chain.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace collsim {

namespace {

bool are_alike(const auto& a, const auto& b) {
  return a.alone == b.alone && a.message.to.lane == b.message.to.lane &&
         (a.message.from.rank == a.message.to.rank) == (b.message.from.rank == b.message.to.rank);
}

}  // namespace

CausalChains::CausalChains(const Topology& topology, const Schedule& schedule)
    : topology_(topology),
      schedule_(schedule),
      is_known_(!chooses_per_message(topology)),
      router_(topology, schedule),
      programs_(topology, schedule) {}

Time CausalChains::longest(Time enough, ChainBudget budget) {
  if (!is_known_) return {};
  left_ = budget;
  Time longest;
  const int of_channel = schedule_.lanes() / schedule_.channels();
  const int ranks = schedule_.size();
  for (const int position : std::set<int>{0, ranks / 3, ranks / 2, 2 * ranks / 3, ranks - 1})
    for (int lane = 0; lane < of_channel && longest < enough && may_go_on(); ++lane) {
      const Endpoint from{schedule_.rank(position), Lane(static_cast<std::size_t>(lane))};
      LaneReader reader = programs_.from_start(from);
      while (reader.current() != nullptr && !gives_to_lane(reader.current()->op)) advance(reader);
      if (reader.current() == nullptr) continue;
      const Endpoint to = reader.current()->to;
      const Time first = alone(from, to, reader.current()->count);
      longest = std::max(longest, first + follow({from, to, 0}, Towards::effects, enough - first));
    }
  return longest;
}

Time CausalChains::after(const Message& message, ChainBudget budget) {
  left_ = budget;
  return is_known_ ? follow(message, Towards::effects, Time::never()) : Time{};
}

Time CausalChains::before(const Message& message, ChainBudget budget) {
  left_ = budget;
  return is_known_ ? follow(message, Towards::causes, Time::never()) : Time{};
}

// Depth first.  What lies beyond a message is kept once all of it was seen.
Time CausalChains::follow(const Message& message, Towards towards, Time enough) {
  std::map<Message, Time>& known = beyond_[static_cast<std::size_t>(towards)];
  if (const auto entry = known.find(message); entry != known.end()) return entry->second;
  Time found;
  std::vector<Step> chain;
  go_on_to(chain, {message, Time{}}, towards, found);
  while (!chain.empty() && found < enough) {
    Step& step = chain.back();
    if (step.next < step.neighbours.size()) {
      go_on_to(chain, Neighbour(step.neighbours[step.next++]), towards, found);
      continue;
    }
    if (may_go_on()) known[step.message] = step.beyond;
    const Time through = step.alone + step.beyond;
    chain.pop_back();
    if (!chain.empty()) chain.back().beyond = std::max(chain.back().beyond, through);
  }
  return found;
}

void CausalChains::go_on_to(std::vector<Step>& chain, const Neighbour& next, Towards towards,
                            Time& found) {
  const Time length = next.alone + (chain.empty() ? Time{} : chain.back().length);
  found = std::max(found, length);
  const auto& known = beyond_[static_cast<std::size_t>(towards)];
  if (const auto entry = known.find(next.message); entry != known.end()) {
    found = std::max(found, length + entry->second);
    chain.back().beyond = std::max(chain.back().beyond, next.alone + entry->second);
    return;
  }
  if (!may_go_on()) return;
  --left_.messages;
  chain.push_back({next.message, next.alone, length,
                   towards == Towards::effects ? effects(next.message) : causes(next.message)});
}

std::vector<CausalChains::Neighbour> CausalChains::effects(const Message& message) {
  std::vector<Neighbour> found;
  LaneReader& reader = reader_at(message);
  for (; reader.current() != nullptr && may_go_on(); advance(reader)) {
    const Instruction& instruction = *reader.current();
    if (reader.takes_from(message.from) && reader.taken_from(message.from) > message.number) break;
    if (!gives_to_lane(instruction.op)) continue;
    const Neighbour effect{{message.to, instruction.to, reader.given_to(instruction.to)},
                           alone(message.to, instruction.to, instruction.count)};
    // Of many that are alike the last one takes the place of the one before.
    const auto n = found.size();
    if (n > 1 && are_alike(found[n - 2], effect) && are_alike(found[n - 1], effect))
      found.back() = effect;
    else
      found.push_back(effect);
  }
  return found;
}

// The receiver's program at the instruction that takes the message.
LaneReader& CausalChains::reader_at(const Message& message) {
  auto known = readers_.find(message.to);
  if (known != readers_.end() && known->second.taken_from(message.from) > message.number) {
    readers_.erase(known);
    known = readers_.end();
  }
  if (known == readers_.end())
    known = readers_.emplace(message.to, programs_.from_start(message.to)).first;
  LaneReader& reader = known->second;
  while (reader.current() != nullptr && may_go_on() &&
         !(reader.takes_from(message.from) && reader.taken_from(message.from) == message.number))
    advance(reader);
  return reader;
}

// What the sender took last from each of its peers.
std::vector<CausalChains::Neighbour> CausalChains::causes(const Message& message) {
  std::map<Endpoint, Neighbour> found;
  LaneReader reader = programs_.from_start(message.from);
  for (; reader.current() != nullptr && may_go_on(); advance(reader)) {
    const Instruction& instruction = *reader.current();
    if (takes_from_lane(instruction.op))
      found[instruction.from] = {
          {instruction.from, message.from, reader.taken_from(instruction.from)},
          alone(instruction.from, message.from, instruction.count)};
    if (reader.gives_to(message.to) && reader.given_to(message.to) == message.number) break;
  }
  std::vector<Neighbour> causes;
  if (may_go_on())
    for (const auto& [peer, cause] : found) causes.push_back(cause);
  return causes;
}

void CausalChains::advance(LaneReader& reader) {
  reader.advance();
  --left_.instructions;
}

// Rounded down.
Time CausalChains::alone(Endpoint from, Endpoint to, std::int64_t count) {
  if (from.rank == to.rank) return {};
  const auto bytes = static_cast<double>(count * size_of(schedule_.collective().type));
  double startup = 0;
  double flow = 0;
  double occupied = 0;
  Time latency;
  for (const LinkId id : router_.route(from, to)) {
    const Link& link = topology_.link(id);
    const double transfer = bytes / static_cast<double>(link.bandwidth.bytes_per_second());
    latency += link.latency;
    if (link.sharing == Sharing::exclusive) {
      occupied = std::max(occupied, link.startup.seconds() + transfer);
    } else {
      startup = std::max(startup, link.startup.seconds());
      flow = std::max(flow, transfer);
    }
  }
  // On a way of both kinds a startup may pass while earlier links are busy.
  const double seconds = std::max(occupied, occupied > 0 ? flow : startup + flow);
  constexpr double ps_per_second = 1e12;
  return latency + Time(static_cast<std::int64_t>(seconds * (1 - 1e-12) * ps_per_second));
}

}  // namespace collsim
