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

bool is_of_rings(Operation operation) {
  return operation == Operation::all_reduce || operation == Operation::all_gather ||
         operation == Operation::reduce_scatter;
}

// A call whose work a ring does, of one rank; how often it is made, and with whom.
struct RingCall {
  const std::vector<Rank>* group = nullptr;
  double bytes = 0;
  double steps = 0;
  double times = 0;
};

std::vector<RingCall> ring_calls(const Workload& workload, Rank rank) {
  std::map<std::pair<std::uint16_t, Call>, double> times;
  Script script = workload.script(rank);
  while (const Action* const action = script.next())
    if (action->kind == Action::Kind::collective && is_of_rings(action->call.operation))
      ++times[{action->communicator, action->call}];
  std::vector<RingCall> calls;
  for (const auto& [key, count] : times) {
    const auto& [communicator, call] = key;
    const auto& groups = workload.communicators()[communicator].groups;
    const auto mine = std::find_if(groups.begin(), groups.end(), [&](const auto& group) {
      return std::find(group.begin(), group.end(), rank) != group.end();
    });
    if (mine == groups.end() || mine->size() < 2) continue;
    const double there_and_back = call.operation == Operation::all_reduce ? 2 : 1;
    calls.push_back({&*mine, static_cast<double>(call.count * size_of(call.type)),
                     there_and_back * static_cast<double>(mine->size() - 1), count});
  }
  return calls;
}

double seconds_of(const RingCall& call, const Topology& network, LinkProtocol protocol) {
  const std::vector<Rank>& group = *call.group;
  const auto members = static_cast<std::size_t>(members_per_node(network, group));
  ProtocolWay inside, between;
  if (members > 1) inside = way_between(network, group[0], group[1], protocol);
  if (members < group.size())
    between = way_between(network, group[members - 1], group[members], protocol);
  return ring_seconds(call.steps, call.bytes, static_cast<double>(group.size()),
                      static_cast<double>(members), inside, between);
}

LinkProtocol fastest_protocol(const std::vector<RingCall>& calls, const Topology& network) {
  LinkProtocol best = LinkProtocol::simple;
  double least = std::numeric_limits<double>::infinity();
  for (const LinkProtocol protocol : ring_protocols) {
    double seconds = 0;
    for (const RingCall& call : calls) seconds += call.times * seconds_of(call, network, protocol);
    if (seconds == 0 || seconds >= least) continue;
    least = seconds;
    best = protocol;
  }
  return best;
}

Bytes mean_message(const std::vector<RingCall>& calls) {
  double bytes = 0, times = 0;
  for (const RingCall& call : calls) {
    bytes += call.times * call.bytes / static_cast<double>(call.group->size());
    times += call.times;
  }
  return times > 0 ? std::llround(bytes / times) : long_message;
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
                   "omit \"protocol\"; links of presets know NCCL's protocols");
  return wish;
}

std::optional<StepProtocol> protocol_of(const ProtocolWish& wish, const Workload& workload,
                                        const Topology& network) {
  const bool carried = std::all_of(ring_protocols.begin(), ring_protocols.end(),
                                   [&](LinkProtocol one) { return network.carries(one); });
  if (wish.none || (!wish.forced && !carried)) return std::nullopt;
  const std::vector<RingCall> calls = ring_calls(workload, workload.group().front());
  const LinkProtocol protocol = wish.forced ? *wish.forced : fastest_protocol(calls, network);
  return StepProtocol{protocol, mean_message(calls)};
}

ProtocolWay way_between(const Topology& network, Rank from, Rank to, LinkProtocol protocol) {
  ProtocolWay way;
  Router router(network);
  for (const LinkId id : router.route(from, to)) {
    const Link& link = network.link(id);
    const std::optional<ProtocolCost>& cost = cost_of(network.protocols_of(link), protocol);
    if (!cost) return {};
    const double rate = cost->rate * static_cast<double>(link.bandwidth.bytes_per_second());
    way.flight += cost->hop_of(long_message).seconds();
    way.rate = way.rate > 0 ? std::min(way.rate, rate) : rate;
  }
  return way;
}

double ring_seconds(double steps, double n, double ranks, double members, const ProtocolWay& inside,
                    const ProtocolWay& between) {
  const double crossing = members < ranks ? 1 / members : 0;
  const double channels = crossing > 0 ? members : 1;
  const double block = n / ranks / channels;
  const double wire_inside = members > 1 ? block / inside.rate * channels : 0;
  const double wire_between = crossing > 0 ? block / between.rate : 0;
  const double mean =
      (1 - crossing) * (inside.flight + wire_inside) + crossing * (between.flight + wire_between);
  return steps * std::max({mean, wire_inside, wire_between});
}

}  // namespace collsim
