// SPDX-License-Identifier: Apache-2.0
//
// simulate() aborts when a result beats its bound; here with the tightest cuts that a search finds,
// which rows of studies have.
#include <string>

#include "tests/sanitized.hpp"
#include "tests/sim/random_case.hpp"
#include "tests/sim/testing.hpp"

namespace collsim::testing {
namespace {

// GPUs and switches in any order, joined to some earlier one and to some others, by any links.
Topology random_graph(RandomCase& random) {
  TopologyBuilder builder;
  std::vector<NodeId> devices;
  const int count = 4 + random.up_to(9);
  for (int d = 0; d < count; ++d) {
    const bool gpu = d < 2 || random.chance(60);
    devices.push_back(builder.add_node(gpu ? NodeKind::gpu : NodeKind::network_switch));
    if (d > 0)
      builder.connect(devices[static_cast<std::size_t>(random.up_to(d))], devices.back(),
                      random.link());
  }
  for (int more = random.up_to(count); more > 0; --more) {
    const auto a = static_cast<std::size_t>(random.up_to(count));
    const auto b = static_cast<std::size_t>(random.up_to(count));
    if (a != b) builder.connect(devices[a], devices[b], random.link());
  }
  return builder.build();
}

TEST(Bounds, NoRandomCaseBeatsThem) {
  int close = 0;
  for (std::uint64_t seed = 0; seed < random_cases(7'000U); ++seed) {
    RandomCase random(seed, {.half_duplex = 20});
    const Topology topology = seed % 2 == 0 ? random.topology() : random_graph(random);
    const Schedule schedule = random.schedule(topology.rank_count());
    const Collective& collective = schedule.collective();
    SCOPED_TRACE("seed " + std::to_string(seed));
    NetworkCuts cuts(topology, collective.group);
    cuts.search(collective.operation, collective.root);
    SimulationOptions options;
    options.cuts = &cuts;
    try {
      const Simulation result = simulate(topology, schedule, random.costs(), options);
      if (result.time < Time(result.bounds.largest().ps() / 100 * 102)) ++close;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::deadlock) << error.what();
    }
  }
  EXPECT_GT(close, random_cases(300)) << "or the bounds are far from everything";
}

}  // namespace
}  // namespace collsim::testing
