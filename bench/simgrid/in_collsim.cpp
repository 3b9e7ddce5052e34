// SPDX-License-Identifier: Apache-2.0
#include <chrono>

#include "bench/simgrid/peer_cases.hpp"
#include "collectives/algorithms.hpp"
#include "sim/simulate.hpp"
#include "topo/shapes.hpp"

namespace collsim::bench {

namespace {

constexpr LinkParameters link{.bandwidth = Bandwidth(port_speed), .startup = nanoseconds(delay_ns)};
constexpr LinkParameters port{.bandwidth = Bandwidth(port_speed), .latency = nanoseconds(delay_ns)};

Topology network_of(const PeerCase& peer_case) {
  const auto ranks = static_cast<std::size_t>(peer_case.ranks);
  if (peer_case.shape == Shape::all_to_all) return make_switch(ranks, port);
  const Topology equal =
      peer_case.shape == Shape::ring ? make_ring(ranks, link) : make_chain(ranks, link);
  const std::vector<std::int64_t> speeds = link_speeds(peer_case.ranks);
  std::vector<Topology::LinkChange> changes;
  for (std::size_t id = 0; id < equal.links().size(); ++id) {
    const Link& old = equal.link(LinkId(id));
    if (old.to.index() != (old.from.index() + 1) % ranks) continue;
    LinkParameters changed = link;
    changed.bandwidth = Bandwidth(speeds[old.from.index()]);
    changes.push_back({LinkId(id), changed});
  }
  return equal.with_changed_links(changes);
}

Schedule schedule_of(const PeerCase& peer_case) {
  Collective collective;
  collective.type = ElementType::u8;
  collective.group = first_ranks(static_cast<std::size_t>(peer_case.ranks));
  switch (peer_case.shape) {
    case Shape::ring:
      collective.operation = Operation::all_reduce;
      collective.count = peer_case.message_bytes * peer_case.ranks;
      return make_schedule(collective, {.name = "ring"});
    case Shape::chain:
      collective.operation = Operation::broadcast;
      collective.count = peer_case.message_bytes * peer_case.chunks;
      return make_schedule(collective, {.name = "chain", .chunks = peer_case.chunks});
    case Shape::all_to_all:
      collective.operation = Operation::all_to_all;
      collective.count = peer_case.message_bytes * peer_case.ranks;
      return make_schedule(collective, {.name = "pairwise"});
  }
  COLLSIM_CHECK(false, "a shape without a schedule");
}

}  // namespace

// A simulation takes milliseconds, so it is repeated and the mean is taken.
Outcome run_in_collsim(const PeerCase& peer_case) {
  using Clock = std::chrono::steady_clock;
  const Topology network = network_of(peer_case);
  const Schedule schedule = schedule_of(peer_case);
  // As in the other cases of the benchmark, no symmetry: SimGrid has none either.
  SimulationOptions options;
  options.engine = peer_case.shape == Shape::all_to_all ? Engine::event : Engine::automatic;
  Outcome outcome;
  int runs = 0;
  std::chrono::duration<double> elapsed{};
  const Clock::time_point begin = Clock::now();
  do {
    const Simulation simulation = simulate(network, schedule, {}, options);
    COLLSIM_CHECK(simulation.messages == static_cast<std::uint64_t>(peer_case.messages),
                  std::to_string(simulation.messages) + " messages");
    outcome.simulated_seconds = simulation.time.seconds();
    ++runs;
    elapsed = Clock::now() - begin;
  } while (elapsed.count() < 0.5);
  outcome.wall_seconds = elapsed.count() / runs;
  return outcome;
}

}  // namespace collsim::bench
