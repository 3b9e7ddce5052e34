// SPDX-License-Identifier: Apache-2.0
#include "app/scenario/workload/step_protocol.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "collectives/algorithms.hpp"
#include "collectives/workload.hpp"
#include "topo/routes.hpp"

namespace collsim {
namespace {

constexpr Bytes long_message = 1 << 20;

// Messages of a rank, as far as choosing goes: so many one after the other, of so many bytes.
struct MessageChain {
  double messages = 0;
  double bytes = 0;
  double times = 0;
  double crossing = 0;  // the share that goes to another node
  double channels = 1;  // each carries so many bytes at a time
  double shares = 1;    // of a link in a node, because so many channels cross it
  std::pair<Rank, Rank> inside, between;
};

double chain_length(const Call& call, double ranks) {
  switch (call.operation) {
    case Operation::all_reduce: return 2 * (ranks - 1);
    case Operation::all_gather:
    case Operation::reduce_scatter:
    case Operation::all_to_all:
    case Operation::gather:
    case Operation::scatter: return ranks - 1;
    case Operation::broadcast:  // scatter and all-gather, or the reverse
    case Operation::reduce: return ranks - 1 + std::ceil(std::log2(ranks));
    case Operation::barrier: return std::ceil(std::log2(ranks));
    case Operation::send_recv: return 1;
  }
  return 1;
}

MessageChain chain_of(const Call& call, const std::vector<Rank>& group, const Topology& network) {
  const auto ranks = static_cast<double>(group.size());
  const AlgorithmChoice plain;
  const AlgorithmChoice& choice = call.choice != nullptr ? *call.choice : plain;
  MessageChain chain{.messages = chain_length(call, ranks),
                     .bytes = static_cast<double>(call.count * size_of(call.type))};
  if (call.operation != Operation::send_recv) chain.bytes /= ranks;
  chain.channels = choice.channels;
  chain.bytes /= choice.channels;
  if (choice.orders.empty()) chain.shares = choice.channels;
  chain.inside = {group[0], group[1]};
  if (members_per_node(network, group) == static_cast<int>(group.size())) return chain;
  const auto of_node = static_cast<std::size_t>(network.dims().back());
  double crossing = 0;
  for (std::size_t i = 0; i < group.size(); ++i) {
    const std::pair neighbours(group[i], group[(i + 1) % group.size()]);
    const bool crosses = neighbours.first.index() / of_node != neighbours.second.index() / of_node;
    (crosses ? chain.between : chain.inside) = neighbours;
    if (crosses) ++crossing;
  }
  chain.crossing = crossing / ranks;
  if (call.operation == Operation::all_to_all && crossing > 1)
    chain.crossing = (ranks - ranks / crossing) / (ranks - 1);
  return chain;
}

// What ranks do, of whom a few stand for all; how often each does it.
class ChainsOfStep {
 public:
  ChainsOfStep(const Workload& workload, const Topology& network)
      : workload_(workload), network_(network) {
    constexpr std::size_t most_asked = 16;
    const std::vector<Rank>& all = workload.group();
    const std::size_t asked = std::min(all.size(), most_asked);
    for (std::size_t i = 0; i < asked; ++i) ask(all[i * all.size() / asked]);
  }
  [[nodiscard]] const std::vector<MessageChain>& all() const { return chains_; }

 private:
  void ask(Rank rank) {
    std::map<std::pair<std::uint16_t, Call>, double> calls;
    std::map<std::pair<Rank, std::int64_t>, double> sends;
    constexpr int most_actions = 100'000;  // rounds are alike, and there may be millions
    Script script = workload_.script(rank);
    for (int i = 0; i < most_actions; ++i) {
      const Action* const action = script.next();
      if (action == nullptr) break;
      if (action->kind == Action::Kind::collective)
        ++calls[{action->communicator, action->call}];
      else if (action->kind == Action::Kind::send && action->peer != rank)
        ++sends[{action->peer, action->amount}];
    }
    for (const auto& [send, times] : sends)
      chains_.push_back({.messages = 1,
                         .bytes = static_cast<double>(send.second),
                         .times = times,
                         .inside = {rank, send.first}});
    for (const auto& [call, times] : calls) {
      const auto& groups = workload_.communicators()[call.first].groups;
      const auto mine = std::find_if(groups.begin(), groups.end(), [&](const auto& group) {
        return std::find(group.begin(), group.end(), rank) != group.end();
      });
      if (mine == groups.end() || mine->size() < 2) continue;
      chains_.push_back(chain_of(call.second, *mine, network_));
      chains_.back().times = times;
    }
  }

  const Workload& workload_;
  const Topology& network_;
  std::vector<MessageChain> chains_;
};

// What a way between two ranks costs is asked for once.
class ProtocolWays {
 public:
  ProtocolWays(const Topology& network, LinkProtocol protocol)
      : network_(network), protocol_(protocol) {}

  const ProtocolWay& of(std::pair<Rank, Rank> ends) {
    const auto [known, is_new] = ways_.try_emplace(ends);
    if (is_new) known->second = way_between(network_, ends.first, ends.second, protocol_);
    return known->second;
  }

 private:
  const Topology& network_;
  LinkProtocol protocol_;
  std::map<std::pair<Rank, Rank>, ProtocolWay> ways_;
};

double seconds_of(const MessageChain& chain, ProtocolWays& ways) {
  const ProtocolWay& inside = ways.of(chain.inside);
  const ProtocolWay between = chain.crossing > 0 ? ways.of(chain.between) : ProtocolWay{};
  return chain_seconds(chain.messages, chain.bytes, chain.crossing, chain.shares, inside, between);
}

LinkProtocol fastest_protocol(const std::vector<MessageChain>& chains, const Topology& network,
                              const std::vector<LinkProtocol>& carried) {
  LinkProtocol best = carried.back();
  double least = std::numeric_limits<double>::infinity();
  for (const LinkProtocol protocol : carried) {
    double seconds = 0;
    ProtocolWays ways(network, protocol);
    for (const MessageChain& chain : chains) seconds += chain.times * seconds_of(chain, ways);
    if (seconds == 0 || seconds >= least) continue;
    least = seconds;
    best = protocol;
  }
  return best;
}

// Counted over all channels, as for the hops of a collective that runs by itself.
Bytes mean_message(const std::vector<MessageChain>& chains) {
  double bytes = 0, messages = 0;
  for (const MessageChain& chain : chains) {
    bytes += chain.times * chain.messages * chain.bytes * chain.channels;
    messages += chain.times * chain.messages;
  }
  return messages > 0 ? std::llround(bytes / messages) : long_message;
}

std::vector<LinkProtocol> carried_by(const Topology& network) {
  std::vector<LinkProtocol> carried;
  for (const LinkProtocol protocol : ring_protocols)
    if (network.carries(protocol)) carried.push_back(protocol);
  return carried;
}

std::string protocols_in_words(const Topology& network) {
  std::string carried;
  for (const LinkProtocol protocol : carried_by(network))
    carried += (carried.empty() ? "" : ", ") + std::string(to_string(protocol));
  if (carried.empty()) return "omit \"protocol\"; links of presets know NCCL's protocols";
  return "they say it of " + carried;
}

}  // namespace

ProtocolWish read_protocol_wish(ObjectReader& workload, const Topology* network) {
  static const Vocabulary words{.what = "protocol", .allowed = {"LL", "LL128", "Simple", "none"}};
  ProtocolWish wish;
  const auto word = workload.word("protocol", words);
  if (!word) return wish;
  wish.none = *word == "none";
  for (const LinkProtocol protocol : ring_protocols)
    if (*word == to_string(protocol)) wish.forced = protocol;
  if (wish.forced && network != nullptr && !network->carries(*wish.forced))
    workload.wrong("protocol", "not-applicable",
                   "the links of this cluster do not say what " + *word + " costs", {},
                   protocols_in_words(*network));
  return wish;
}

std::optional<StepProtocol> protocol_of(const ProtocolWish& wish, const Workload& workload,
                                        const Topology& network) {
  const std::vector<LinkProtocol> carried = carried_by(network);
  if (wish.none || carried.empty()) return std::nullopt;
  const ChainsOfStep chains(workload, network);
  const LinkProtocol protocol =
      wish.forced ? *wish.forced : fastest_protocol(chains.all(), network, carried);
  return StepProtocol{protocol, mean_message(chains.all())};
}

ProtocolWay way_between(const Topology& network, Rank from, Rank to, LinkProtocol protocol) {
  ProtocolWay way;
  Router router(network);
  for (const LinkId id : router.route(from, to)) {
    const Link& link = network.link(id);
    const std::optional<ProtocolCost>& cost = cost_of(network.protocols_of(link), protocol);
    if (!cost) return {};
    const double rate = cost->rate * static_cast<double>(link.bandwidth.bytes_per_second());
    way.flight += cost->flight_of(long_message, protocol).seconds();
    way.rate = way.rate > 0 ? std::min(way.rate, rate) : rate;
  }
  return way;
}

double chain_seconds(double messages, double bytes, double crossing, double shares,
                     const ProtocolWay& inside, const ProtocolWay& between) {
  const double wire_inside = crossing < 1 ? bytes * shares / inside.rate : 0;
  const double wire_between = crossing > 0 ? bytes / between.rate : 0;
  const double mean =
      (1 - crossing) * (inside.flight + wire_inside) + crossing * (between.flight + wire_between);
  return messages * std::max({mean, wire_inside, wire_between});
}

double ring_seconds(double steps, double n, double ranks, double members, const ProtocolWay& inside,
                    const ProtocolWay& between) {
  const bool crosses = members < ranks;
  const double channels = crosses ? members : 1;
  return chain_seconds(steps, n / ranks / channels, crosses ? 1 / members : 0, channels, inside,
                       between);
}

}  // namespace collsim
