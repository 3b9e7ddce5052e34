// SPDX-License-Identifier: Apache-2.0
#include "validate/pacing.hpp"

#include <algorithm>
#include <string>

#include "topo/routes.hpp"

namespace collsim {
namespace {

class Pacer {
 public:
  Pacer(const Plan& plan, const EmulatedMachine& machine)
      : plan_(plan),
        topology_(machine.topology),
        router_(machine.topology),
        carries_(topology_.links().size(), no_wire) {
    pacing_.links = static_cast<std::uint32_t>(topology_.links().size());
    pacing_.costs = machine.costs;
    for (int position = 0; position < plan.programs.size(); ++position)
      pacing_.late.push_back(machine.costs.launch + late_of(machine, plan.programs.rank(position)));
  }

  Pacing pacing() {
    for (std::uint32_t wire = 0; wire < plan_.wires.size(); ++wire) {
      pacing_.wires.emplace_back();
      if (plan_.wires[wire].slots > 0) pace(wire);
    }
    return std::move(pacing_);
  }

 private:
  static Time late_of(const EmulatedMachine& machine, Rank rank) {
    for (const auto& [late_rank, time] : machine.late)
      if (late_rank == rank) return time;
    return {};
  }

  [[nodiscard]] Rank rank_of(std::uint32_t lane) const {
    return plan_.programs.rank(static_cast<int>(plan_.lanes[lane].position));
  }

  void pace(std::uint32_t wire) {
    const PlannedWire& planned = plan_.wires[wire];
    const Lane lane(plan_.lanes[planned.sender].lane);
    PacedWire& paced = pacing_.wires.back();
    paced.first_link = static_cast<std::uint32_t>(pacing_.route_links.size());
    std::optional<EmulatedLink> fair;
    for (const LinkId id :
         router_.route(rank_of(planned.sender), rank_of(planned.receiver), lane)) {
      const Link& link = topology_.link(id);
      if (link.segments != 0)
        throw_error(ErrorCode::invalid_argument,
                    "a paced run cannot emulate the link " + topology_.name(id) +
                        ", which costs what the size of a message says (\"segments\")");
      EmulatedLink next{link.startup, link.bandwidth, link.latency,
                        static_cast<std::uint32_t>(link.resource.index()), false};
      if (link.sharing == Sharing::exclusive) {
        pacing_.route_links.push_back(next);
        continue;
      }
      refuse_sharing(link, wire);
      next.startup_is_delay = true;
      if (fair) {
        next.startup = std::max(next.startup, fair->startup);
        next.bandwidth = std::min(next.bandwidth, fair->bandwidth);
        next.latency += fair->latency;
      }
      fair = next;
    }
    if (fair) pacing_.route_links.push_back(*fair);
    paced.link_count = static_cast<std::uint32_t>(pacing_.route_links.size()) - paced.first_link;
  }

  // A fair link that only one connection uses is that connection's own.
  void refuse_sharing(const Link& link, std::uint32_t wire) {
    std::uint32_t& carries = carries_[link.resource.index()];
    if (carries != no_wire && carries != wire)
      throw_error(ErrorCode::invalid_argument,
                  "a paced run cannot emulate the fair link " + topology_.name(link.resource) +
                      ", which several connections share; use \"sharing\": \"exclusive\"");
    carries = wire;
  }

  const Plan& plan_;
  const Topology& topology_;
  Router router_;
  std::vector<std::uint32_t> carries_;  // per link resource
  Pacing pacing_;
};

}  // namespace

Pacing make_pacing(const Plan& plan, const EmulatedMachine& machine) {
  return Pacer(plan, machine).pacing();
}

}  // namespace collsim
