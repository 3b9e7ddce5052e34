// SPDX-License-Identifier: Apache-2.0
#include "sim/idle_links.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <vector>

#include "topo/routes.hpp"

namespace collsim {
namespace {

constexpr std::uint64_t most_instructions = 300'000;
constexpr std::size_t most_searched_ranks = 256;
constexpr std::size_t most_pairs = 1000;

// What lanes send to other ranks: all messages of one take one way.
struct Sent {
  double messages = 0;
  double bytes = 0;
};
using Sender = std::tuple<Rank, Lane, Rank>;
using Traffic = std::map<Sender, Sent>;

// Nothing when the programs are too long to be read.
std::optional<Traffic> traffic_of(const Schedule& schedule) {
  Traffic traffic;
  std::uint64_t read = 0;
  for (int position = 0; position < schedule.size(); ++position)
    for (int number = 0; number < schedule.lanes(); ++number) {
      const Lane lane(static_cast<std::size_t>(number));
      const Rank from = schedule.rank(position);
      LaneProgram program = schedule.program(position, lane);
      while (const Instruction* const instruction = program.next()) {
        if (++read > most_instructions) return std::nullopt;
        if (!sends(instruction->op) || instruction->to.rank == from) continue;
        Sent& sent = traffic[{from, lane, instruction->to.rank}];
        ++sent.messages;
        sent.bytes += static_cast<double>(instruction->count * size_of(schedule.collective().type));
      }
    }
  return traffic;
}

// Seconds for which messages occupy each link.
std::vector<double> loads(const Topology& topology, const Traffic& traffic, Router& router) {
  std::vector<double> busy(topology.links().size());
  for (const auto& [sender, sent] : traffic) {
    const auto& [from, lane, to] = sender;
    for (const LinkId id : router.route(from, to, lane)) {
      const Link& link = topology.link(id);
      const double startup = link.sharing == Sharing::exclusive ? link.startup.seconds() : 0;
      busy[link.resource.index()] +=
          sent.messages * startup +
          sent.bytes / static_cast<double>(link.bandwidth.bytes_per_second());
    }
  }
  return busy;
}

// The links at the same place of other ways, for all messages that cross this one.
std::set<LinkId> links_alike(LinkId busiest, const Traffic& traffic, Router& router) {
  std::set<LinkId> alike;
  std::set<std::pair<Rank, Rank>> pairs;
  for (const auto& [sender, sent] : traffic) {
    const auto& [from, lane, to] = sender;
    const auto route = router.route(from, to, lane);
    const auto on = std::find(route.begin(), route.end(), busiest);
    if (on == route.end()) continue;
    const auto place = static_cast<std::size_t>(on - route.begin());
    const std::size_t hops = route.size();
    if (!pairs.emplace(from, to).second) continue;
    if (pairs.size() > most_pairs) break;
    for (const std::vector<LinkId>& way : router.choices(from, to).ways)
      if (way.size() == hops) alike.insert(way[place]);
  }
  return alike;
}

// Whether the farthest ranks have several equal ways, for a quick no.
bool has_equal_ways(const Topology& topology, Router& router) {
  const std::size_t ranks = topology.rank_count();
  if (topology.parts().ways == nullptr && ranks > most_searched_ranks) return false;
  for (const std::size_t rank : {std::size_t{1}, ranks / 2, ranks - 1})
    if (rank > 0 && rank < ranks && router.choices(Rank(0), Rank(rank)).ways.size() > 1)
      return true;
  return false;
}

}  // namespace

std::optional<IdleLinks> find_idle_links(const Topology& topology, const Schedule& schedule,
                                         Time time) {
  if (chooses_per_message(topology) || schedule.some_in_switches()) return std::nullopt;
  Router router(topology);
  if (!has_equal_ways(topology, router)) return std::nullopt;
  const std::optional<Traffic> traffic = traffic_of(schedule);
  if (!traffic) return std::nullopt;
  const std::vector<double> busy = loads(topology, *traffic, router);
  const auto busiest = std::max_element(busy.begin(), busy.end());
  if (busiest == busy.end() || *busiest < 0.5 * time.seconds()) return std::nullopt;
  const LinkId link(static_cast<std::size_t>(busiest - busy.begin()));
  const std::set<LinkId> alike = links_alike(link, *traffic, router);
  // Spread over all of them, messages would wait for their parts on a narrower one.
  const auto is_narrower = [&](LinkId id) {
    return topology.link(id).bandwidth < topology.link(link).bandwidth;
  };
  if (std::any_of(alike.begin(), alike.end(), is_narrower)) return std::nullopt;
  const auto idle = std::count_if(alike.begin(), alike.end(), [&](LinkId id) {
    return busy[topology.link(id).resource.index()] == 0;
  });
  if (idle == 0) return std::nullopt;
  return IdleLinks{
      .busy = topology.name(link), .alike = alike.size(), .idle = static_cast<std::size_t>(idle)};
}

std::string to_text(const IdleLinks& links) {
  return std::to_string(links.idle) + " of " + std::to_string(links.alike) +
         " equal links carry nothing, while " + links.busy +
         ", whose messages could take them, is the busiest: the routing chose so; "
         "cluster.routing=spray uses them all";
}

}  // namespace collsim
