// SPDX-License-Identifier: Apache-2.0
#include "sim/busy_link.hpp"

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <set>
#include <utility>
#include <vector>

namespace collsim {
namespace {

// Of one connection on a link.
struct BusyShare {
  BusyLink::Connection connection;
  Time head;  // before its first message can be there
  Time tail;  // after its last one has left
  double seconds = 0;
};
using BusyShares = std::vector<BusyShare>;

double seconds_of(const BusyShares& shares) {
  double seconds = 0;
  for (const BusyShare& share : shares) seconds += share.seconds;
  return seconds;
}

struct SentOver {
  int messages = 0;
  Bytes bytes = 0, shortest = std::numeric_limits<Bytes>::max();
};

// A little less, for the errors of doubles.
Time a_little_less(double seconds) {
  return Time(static_cast<std::int64_t>(seconds * (1 - 1e-12) * 1e12));
}

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
      const Bytes bytes = instruction.count * schedule_.element_size();
      sent.bytes += bytes;
      sent.shortest = std::min(sent.shortest, bytes);
      if (connections.size() > most_peers) return;
    }
    for (const auto& [peer, sent] : connections) add(lane, peer, sent);
  }

  // Chains take time to find, so only those of links that are busy for long are looked at.
  void find_busier_than(BusyLink& busiest) {
    double most = 0;
    for (const auto& [link, shares] : links_) most = std::max(most, seconds_of(shares));
    for (auto& [link, shares] : links_) {
      if (seconds_of(shares) < most / 2) continue;
      for (BusyShare& share : shares) add_chains(share);
      find_busier_than(busiest, shares);
    }
  }

 private:
  void add(Endpoint from, Endpoint to, const SentOver& sent) {
    BusyShare share{.connection = {from, to, static_cast<std::uint64_t>(sent.messages), {}}};
    const auto route = router_.route(from, to);
    const auto is_fair = [&](LinkId id) { return topology_.link(id).sharing == Sharing::fair; };
    const bool all_fair = std::all_of(route.begin(), route.end(), is_fair);
    // A flow begins after the largest startup; on a way of both kinds some of it passes before.  It
    // crosses its links at once, behind the exclusive ones, and their latencies come after it.
    Time startup;
    for (const LinkId id : route) {
      startup = std::max(startup, topology_.link(id).startup);
      if (is_fair(id)) share.tail += topology_.link(id).latency;
    }
    if (all_fair) share.head += startup;
    const Time behind_flow = share.tail;
    Time behind_link = share.tail;
    for (auto id = route.rbegin(); id != route.rend(); ++id) {
      const Link& link = topology_.link(*id);
      if (!is_fair(*id)) behind_link += link.latency;
      share.tail = is_fair(*id) ? behind_flow : behind_link;
      const auto bytes_per_s = static_cast<double>(link.bandwidth.bytes_per_second());
      const double startup_s = link.sharing == Sharing::exclusive ? link.startup.seconds() : 0;
      share.seconds = static_cast<double>(sent.bytes) / bytes_per_s + sent.messages * startup_s;
      share.connection.of_each =
          a_little_less(static_cast<double>(sent.shortest) / bytes_per_s + startup_s);
      links_[*id].push_back(share);
    }
  }

  void add_chains(BusyShare& share) {
    constexpr ChainBudget budget{.messages = 500, .instructions = 10'000};
    const auto& [from, to, messages, of_each] = share.connection;
    const auto [known, is_new] = chains_of_.try_emplace({from, to});
    auto& [before, after] = known->second;
    if (is_new) {
      before = chains_.before({from, to, 0}, budget);
      after = chains_.after({from, to, static_cast<int>(messages) - 1}, budget);
    }
    share.head += before;
    share.tail += after;
  }

  // The sets that matter are all shares with large heads and tails.
  static void find_busier_than(BusyLink& busiest, const BusyShares& shares) {
    for (const BusyShare& first : shares)
      for (const BusyShare& last : shares) {
        double seconds = 0;
        BusyLink link{{}, last.tail, {}};
        for (const BusyShare& share : shares) {
          if (share.head < first.head || share.tail < last.tail) continue;
          seconds += share.seconds;
          link.connections.push_back(share.connection);
        }
        if (seconds == 0) continue;
        link.bound = first.head + a_little_less(seconds) + last.tail;
        if (link.bound > busiest.bound) busiest = std::move(link);
      }
  }

  const Topology& topology_;
  const Schedule& schedule_;
  CausalChains& chains_;
  MessageRouter router_;
  LaneReaders programs_;
  std::map<LinkId, BusyShares> links_;
  // Of a connection: before its first message, after its last.
  std::map<std::pair<Endpoint, Endpoint>, std::pair<Time, Time>> chains_of_;
};

}  // namespace

BusyLink busiest_link(const Topology& topology, const Schedule& schedule, CausalChains& chains) {
  BusyLink busiest;
  if (chooses_per_message(topology)) return busiest;
  const int of_channel = schedule.lanes() / schedule.channels();
  for (const int position : std::set<int>{0, schedule.size() / 2}) {
    BusyLinks links(topology, schedule, chains);
    for (int lane = 0; lane < of_channel; ++lane)
      links.add({schedule.rank(position), Lane(static_cast<std::size_t>(lane))});
    links.find_busier_than(busiest);
  }
  return busiest;
}

}  // namespace collsim
