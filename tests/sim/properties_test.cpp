// SPDX-License-Identifier: Apache-2.0
//
// What must hold whatever the numbers: nothing gets faster when something gets worse, and names do
// not matter.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <random>

#include "tests/collectives/rows.hpp"
#include "tests/sim/random_case.hpp"
#include "tests/sim/testing.hpp"

namespace collsim::testing {
namespace {

struct Setting {
  std::size_t ranks = 8;
  Bytes size = 1'000'000;
  Time startup = microseconds(2);
  Time latency = microseconds(1);
  std::int64_t rate = 10;
  int chunks = 3;
  Time late{};
};

Time time_of(const Algorithm& algorithm, const Setting& setting, bool on_ring) {
  const LinkParameters link =
      link_of(gigabytes_per_second(setting.rate), setting.startup, setting.latency);
  const Topology topology =
      on_ring ? make_ring(setting.ranks, link) : make_fully_connected(setting.ranks, link);
  SimulationOptions options;
  if (setting.late > Time{}) options.late = {{Rank(2), setting.late}};
  const Schedule schedule = byte_schedule(algorithm.operation, setting.ranks, setting.size,
                                          std::string(algorithm.name), setting.chunks);
  return simulate(topology, schedule, {}, options).time;
}

// On independent links nobody competes, so these hold for every algorithm (first come first served
// queues can make a run faster when somebody comes later: that is their nature, not checked here).
TEST(Properties, NothingGetsFasterWhenSomethingGetsWorse) {
  for (const Algorithm& algorithm : algorithms()) {
    SCOPED_TRACE(text_of(algorithm));
    const Time base = time_of(algorithm, {}, false);
    EXPECT_GE(time_of(algorithm, {.size = 1'500'000}, false), base);
    EXPECT_GE(time_of(algorithm, {.startup = microseconds(3)}, false), base);
    EXPECT_GE(time_of(algorithm, {.latency = microseconds(4)}, false), base);
    EXPECT_GE(time_of(algorithm, {.rate = 5}, false), base);
    EXPECT_GE(time_of(algorithm, {.late = microseconds(50)}, false), base);
  }
}

TEST(Properties, OneSlowerLinkNeverHelps) {
  for (const Algorithm& algorithm : algorithms()) {
    const auto ranks = static_cast<std::size_t>(nearest_ranks(algorithm, 6));
    const Topology topology =
        make_fully_connected(ranks, link_of(gigabytes_per_second(10), microseconds(1)));
    const Schedule schedule =
        byte_schedule(algorithm.operation, ranks, 600'000, std::string(algorithm.name), 2);
    const Time base = simulate(topology, schedule).time;
    for (std::size_t link = 0; link < topology.links().size(); ++link) {
      const std::vector<Topology::LinkChange> slow{
          {LinkId(link), link_of(gigabytes_per_second(3), microseconds(1))}};
      EXPECT_GE(simulate(topology.with_changed_links(slow), schedule).time, base)
          << algorithm.name << ", " << topology.name(LinkId(link));
    }
  }
}

TEST(Properties, MoreRanksNeverMakeARingFaster) {
  const Algorithm& ring = find_algorithm(Operation::all_reduce, "ring");
  Time previous{};
  for (std::size_t ranks = 2; ranks < 40; ++ranks) {
    const Time time = time_of(ring, {.ranks = ranks, .size = 720'720 * 4, .chunks = 1}, true);
    EXPECT_GT(time, previous) << ranks;
    previous = time;
  }
}

TEST(Properties, NamesOfRanksDoNotMatterOnASymmetricNetwork) {
  std::mt19937_64 random(7);
  const Topology topology =
      make_fully_connected(8, link_of(gigabytes_per_second(10), microseconds(1), microseconds(1)));
  for (const Algorithm& algorithm : algorithms()) {
    AlgorithmChoice choice;
    choice.name = algorithm.name;
    Collective collective = byte_collective(algorithm.operation, 8, 100'001);
    const Time base = simulate(topology, make_schedule(collective, choice)).time;
    std::shuffle(collective.group.begin(), collective.group.end(), random);
    EXPECT_EQ(simulate(topology, make_schedule(collective, choice)).time, base) << algorithm.name;
  }
}

TEST(Properties, AllGatherIsReduceScatterBackwards) {
  for (const bool on_ring : {true, false})
    for (const char* name : {"ring", "direct"})
      EXPECT_EQ(
          time_of(find_algorithm(Operation::all_gather, name), {.size = 800'000}, on_ring),
          time_of(find_algorithm(Operation::reduce_scatter, name), {.size = 800'000}, on_ring))
          << name;
}

TEST(Properties, ALateRankDelaysARingByExactlyItsLateness) {
  const Algorithm& ring = find_algorithm(Operation::all_reduce, "ring");
  const Setting even{.size = 800'000, .latency = {}, .chunks = 1};
  Setting late = even;
  for (const Time lateness : {picoseconds(1), microseconds(3), milliseconds(20)}) {
    late.late = lateness;
    EXPECT_EQ(time_of(ring, late, true), time_of(ring, even, true) + lateness);
  }
}

TEST(Properties, SlotsOnlyEverSlowDown) {
  const Topology topology =
      make_ring(8, link_of(gigabytes_per_second(10), microseconds(1), microseconds(20)));
  AlgorithmChoice choice;
  choice.name = "chain";
  choice.chunks = 64;
  Time previous = Time::never();
  for (const int slots : {1, 2, 3, 4, 8, 16, 64}) {
    choice.slots = slots;
    const Time time =
        simulate(topology,
                 make_schedule(byte_collective(Operation::broadcast, 8, 6'400'000), choice))
            .time;
    EXPECT_LE(time, previous) << slots;
    previous = time;
  }
  choice.slots.reset();
  EXPECT_EQ(
      simulate(topology, make_schedule(byte_collective(Operation::broadcast, 8, 6'400'000), choice))
          .time,
      previous);
}

// Links with other costs: bandwidths of 10^12 / 2k bytes/s, so that every n/B is an even number of
// picoseconds, and `faster` times that.
Topology with_even_times(const Topology& topology, std::uint64_t seed, int faster, int fair) {
  std::mt19937_64 random(seed);
  constexpr std::array<std::int64_t, 7> halves{1, 2, 4, 5, 10, 20, 50};
  std::vector<Topology::LinkChange> changes;
  for (std::size_t i = 0; i < topology.links().size(); ++i) {
    const std::int64_t per_byte = 2 * halves.at(random() % halves.size()) / faster;
    LinkParameters link{Bandwidth(1'000'000'000'000 / per_byte)};
    link.startup = picoseconds(2 * static_cast<std::int64_t>(random() % 1'000'000) / faster);
    link.latency = picoseconds(2 * static_cast<std::int64_t>(random() % 1'000'000) / faster);
    if (random() % 100 < static_cast<std::uint64_t>(fair)) link.sharing = Sharing::fair;
    changes.push_back({LinkId(i), link});
  }
  return topology.with_changed_links(changes);
}

// How many picoseconds from half the time twice as fast links are, of many cases.
struct OffHalf {
  std::int64_t time = 0;
  std::int64_t messages = 0;
};
std::vector<OffHalf> off_half_the_time(int fair) {
  std::vector<OffHalf> off;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    RandomCase lot(seed, {.half_duplex = 0});
    const Topology drawn = lot.topology();
    const Schedule schedule = lot.schedule(drawn.rank_count());
    try {
      const Simulation whole = simulate(with_even_times(drawn, seed, 1, fair), schedule);
      const Time half = simulate(with_even_times(drawn, seed, 2, fair), schedule).time;
      off.push_back(
          {std::abs((whole.time - half - half).ps()), static_cast<std::int64_t>(whole.messages)});
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::deadlock);  // for lack of slots
    }
  }
  std::sort(off.begin(), off.end(),
            [](const OffHalf& a, const OffHalf& b) { return a.time < b.time; });
  return off;
}

TEST(Properties, TwiceAsFastEverywhereIsExactlyHalfTheTime) {
  EXPECT_EQ(off_half_the_time(0).back().time, 0);
  // A flow ends at a whole picosecond, and others follow from that.
  for (const int fair : {35, 100}) {
    const std::vector<OffHalf> off = off_half_the_time(fair);
    EXPECT_LE(off[off.size() * 95 / 100].time, 2 * 2) << fair;
    for (const OffHalf& one : off)
      EXPECT_LE(one.time, std::max<std::int64_t>(2 * 10, one.messages / 4)) << fair;
  }
}

TEST(Properties, NamesOfDevicesChangeNothing) {
  const auto box = [](const std::string& prefix) {
    TopologyBuilder builder;
    std::vector<NodeId> gpus;
    for (int i = 0; i < 6; ++i)
      gpus.push_back(builder.add_node(NodeKind::gpu, prefix + std::to_string(7 * i % 6)));
    const NodeId left = builder.add_node(NodeKind::network_switch, prefix + "b");
    const NodeId right = builder.add_node(NodeKind::network_switch, prefix + "a");
    for (std::size_t i = 0; i < gpus.size(); ++i)
      builder.connect(gpus[i], i < 3 ? left : right,
                      link_of(gigabytes_per_second(10), microseconds(1)));
    builder.connect(left, right, link_of(gigabytes_per_second(20), {}, nanoseconds(300)));
    return builder.build();
  };
  for (const Algorithm& algorithm : algorithms()) {
    if (!algorithm.works_with(6)) continue;
    const Schedule schedule =
        byte_schedule(algorithm.operation, 6, 600'000, std::string(algorithm.name), 2);
    EXPECT_EQ(simulate(box("x"), schedule).fingerprint, simulate(box("zz"), schedule).fingerprint)
        << algorithm.name;
  }
}

}  // namespace
}  // namespace collsim::testing
