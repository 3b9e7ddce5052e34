// SPDX-License-Identifier: Apache-2.0
#include "sim/busy_link.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <vector>

namespace collsim {
namespace {

// Of one connection on a link.
struct BusyShare {
  Time head;  // before its first message can be there
  Time tail;  // after its last one has left
  double seconds = 0;
};

struct SentOver {
  int messages = 0;
  Bytes bytes = 0;
};

class BusyLinks {
 public:
  BusyLinks(const Topology& topology, const Schedule& schedule, CausalChains& chains)
      : topology_(topology),
        schedule_(schedule),
        chains_(chains),
        router_(topology, schedule),
        programs_(topology, schedule) {}

  void add(Endpoint lane) {
    constexpr std::size_t most_peers = 8;
    std::map<Endpoint, SentOver> connections;
    for (LaneReader reader = programs_.from_start(lane); reader.current() != nullptr;
         reader.advance()) {
      const Instruction& instruction = *reader.current();
      if (!sends(instruction.op) || instruction.to.rank == lane.rank) continue;
      SentOver& sent = connections[instruction.to];
      ++sent.messages;
      sent.bytes += instruction.count * schedule_.element_size();
      if (connections.size() > most_peers) return;
    }
    for (const auto& [peer, sent] : connections) add(lane, peer, sent);
  }

  [[nodiscard]] Time bound() const {
    Time longest;
    for (const auto& [link, shares] : links_) longest = std::max(longest, bound_of(shares));
    return longest;
  }

 private:
  void add(Endpoint from, Endpoint to, const SentOver& sent) {
    constexpr ChainBudget budget{.messages = 500, .instructions = 40'000};
    BusyShare share{chains_.before({from, to, 0}, budget),
                    chains_.after({from, to, sent.messages - 1}, budget)};
    const auto route = router_.route(from, to);
    const auto is_fair = [&](LinkId id) { return topology_.link(id).sharing == Sharing::fair; };
    const bool all_fair = std::all_of(route.begin(), route.end(), is_fair);
    // A flow begins after the largest startup; on a way of both kinds some of it passes before.
    Time startup;
    for (const LinkId id : route) startup = std::max(startup, topology_.link(id).startup);
    if (all_fair) share.head += startup;
    for (auto id = route.rbegin(); id != route.rend(); ++id) {
      const Link& link = topology_.link(*id);
      if (all_fair || link.sharing == Sharing::exclusive) share.tail += link.latency;
      share.seconds =
          static_cast<double>(sent.bytes) / static_cast<double>(link.bandwidth.bytes_per_second());
      if (link.sharing == Sharing::exclusive)
        share.seconds += sent.messages * link.startup.seconds();
      links_[*id].push_back(share);
    }
  }

  // The sets that matter are all shares with large heads and tails.
  static Time bound_of(const std::vector<BusyShare>& shares) {
    Time longest;
    for (const BusyShare& first : shares)
      for (const BusyShare& last : shares) {
        double seconds = 0;
        for (const BusyShare& share : shares)
          if (share.head >= first.head && share.tail >= last.tail) seconds += share.seconds;
        if (seconds == 0) continue;
        // A little less, for the errors of doubles.
        const Time busy(static_cast<std::int64_t>(seconds * (1 - 1e-12) * 1e12));
        longest = std::max(longest, first.head + busy + last.tail);
      }
    return longest;
  }

  const Topology& topology_;
  const Schedule& schedule_;
  CausalChains& chains_;
  MessageRouter router_;
  LaneReaders programs_;
  std::map<LinkId, std::vector<BusyShare>> links_;
};

}  // namespace

Time busy_link_bound(const Topology& topology, const Schedule& schedule, CausalChains& chains) {
  if (chooses_per_message(topology)) return {};
  Time longest;
  const int of_channel = schedule.lanes() / schedule.channels();
  for (const int position : std::set<int>{0, schedule.size() / 2}) {
    BusyLinks links(topology, schedule, chains);
    for (int lane = 0; lane < of_channel; ++lane)
      links.add({schedule.rank(position), Lane(static_cast<std::size_t>(lane))});
    longest = std::max(longest, links.bound());
  }
  return longest;
}

}  // namespace collsim
