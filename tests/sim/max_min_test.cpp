// SPDX-License-Identifier: Apache-2.0
#include "sim/max_min.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <random>
#include <set>
#include <vector>

namespace collsim {
namespace {

using C = MaxMin::ConstraintId;
using V = MaxMin::VariableId;

V add(MaxMin& system, const std::vector<C>& constraints) {
  const V variable = system.add_variable(constraints);
  system.start(variable);
  return variable;
}

void remove(MaxMin& system, V variable) {
  system.stop(variable);
  system.remove_variable(variable);
}

TEST(MaxMin, VariableAloneGetsExactlyTheSmallestCapacity) {
  MaxMin system;
  const C wide = system.add_constraint(20e9 / 3);
  const C narrow = system.add_constraint(10e9 / 7);
  const V flow = add(system, {wide, narrow});
  EXPECT_EQ(system.rate(flow), 0);
  ASSERT_EQ(system.solve().size(), 1U);
  EXPECT_EQ(system.rate(flow), 10e9 / 7);
}

TEST(MaxMin, EqualVariablesGetExactlyCapacityOverTheirNumber) {
  for (int k = 1; k <= 100; ++k) {
    MaxMin system;
    const C link = system.add_constraint(25e9);
    std::vector<V> flows;
    for (int i = 0; i < k; ++i) flows.push_back(add(system, {link}));
    (void)system.solve();
    for (const V flow : flows) EXPECT_EQ(system.rate(flow), 25e9 / k);
  }
}

// l1 = 10 GB/s carries f1, f2; l2 = 20 GB/s carries f1, f3.  l1 is the bottleneck of f1 and f2
// (5 each); f3 takes what f1 leaves of l2: 15.  When f1 goes, both others have a link each.
TEST(MaxMin, TextbookTwoLinks) {
  MaxMin system;
  const C l1 = system.add_constraint(10e9);
  const C l2 = system.add_constraint(20e9);
  const V f1 = add(system, {l1, l2});
  const V f2 = add(system, {l1});
  const V f3 = add(system, {l2});
  EXPECT_EQ(system.solve().size(), 3U);
  EXPECT_EQ(system.rate(f1), 5e9);
  EXPECT_EQ(system.rate(f2), 5e9);
  EXPECT_EQ(system.rate(f3), 15e9);

  remove(system, f1);
  EXPECT_EQ(system.solve().size(), 2U);
  EXPECT_EQ(system.rate(f2), 10e9);
  EXPECT_EQ(system.rate(f3), 20e9);
}

// One long flow over n links, one short flow on each: everybody gets half, however long the path.
TEST(MaxMin, LongPathSharesEveryLink) {
  for (const std::size_t n : {1U, 6U, 7U, 50U}) {
    MaxMin system;
    std::vector<C> path;
    for (std::size_t i = 0; i < n; ++i) path.push_back(system.add_constraint(8));
    const V longest = add(system, path);
    std::vector<V> shorts;
    for (const C link : path) shorts.push_back(add(system, {link}));
    (void)system.solve();
    EXPECT_EQ(system.rate(longest), 4);
    for (const V flow : shorts) EXPECT_EQ(system.rate(flow), 4);
    remove(system, longest);
    EXPECT_EQ(system.solve().size(), n);
    for (const V flow : shorts) EXPECT_EQ(system.rate(flow), 8);
  }
}

TEST(MaxMin, ReportsOnlyWhatChanged) {
  MaxMin system;
  const C busy = system.add_constraint(10);
  const C other = system.add_constraint(10);
  const V first = add(system, {busy});
  const V elsewhere = add(system, {other});
  (void)system.solve();
  EXPECT_TRUE(system.solve().empty()) << "nothing happened since";

  const V second = add(system, {busy});
  const auto changed = system.solve();
  EXPECT_EQ(std::set<V>(changed.begin(), changed.end()), (std::set<V>{first, second}));
  EXPECT_EQ(system.rate(elsewhere), 10);
}

// In the same component, but held back by its own narrow link: its rate does not change and it is
// not reported.
TEST(MaxMin, DoesNotReportAMemberOfTheComponentThatKeepsItsRate) {
  MaxMin system;
  const C wide = system.add_constraint(100);
  const C narrow = system.add_constraint(1);
  const V slow = add(system, {wide, narrow});
  const V fast = add(system, {wide});
  (void)system.solve();
  EXPECT_EQ(system.rate(fast), 99);
  const V third = add(system, {wide});
  const auto changed = system.solve();
  EXPECT_EQ(std::set<V>(changed.begin(), changed.end()), (std::set<V>{fast, third}));
  EXPECT_EQ(system.rate(slow), 1);
  EXPECT_EQ(system.rate(fast), 49.5);
}

TEST(MaxMin, IdsAreUsedAgainAndStartAtZero) {
  MaxMin system;
  const C link = system.add_constraint(10);
  const V first = add(system, {link});
  (void)system.solve();
  remove(system, first);
  (void)system.solve();
  const V again = add(system, {link});
  EXPECT_EQ(again, first);
  EXPECT_EQ(system.rate(again), 0);
  // The same rate as its predecessor, but a new variable: it must be reported.
  ASSERT_EQ(system.solve().size(), 1U);
  EXPECT_EQ(system.rate(again), 10);
}

TEST(MaxMin, AVariableThatStopsAndStartsAgainCountsOnce) {
  MaxMin system;
  const C link = system.add_constraint(12);
  const V restless = add(system, {link});
  system.stop(restless);
  system.start(restless);
  const V other = add(system, {link});
  EXPECT_EQ(system.solve().size(), 2U);
  EXPECT_EQ(system.rate(restless), 6);
  for (int i = 0; i < 2; ++i) {
    system.stop(restless);
    system.start(restless);
  }
  // It runs on at its rate, and is reported.
  const auto changed = system.solve();
  EXPECT_EQ(std::set<V>(changed.begin(), changed.end()), (std::set<V>{restless}));
  EXPECT_EQ(system.rate(restless), 6);
  system.stop(restless);
  ASSERT_EQ(system.solve().size(), 1U);
  EXPECT_EQ(system.rate(other), 12);
  system.start(restless);
  ASSERT_EQ(system.solve().size(), 2U);
  EXPECT_EQ(system.rate(other), 6);
}

TEST(MaxMin, AConstraintNamedTwiceIsUsedTwice) {
  MaxMin system;
  const C link = system.add_constraint(12);
  const V twice = add(system, {link, link});
  const V once = add(system, {link});
  ASSERT_EQ(system.solve().size(), 2U);
  EXPECT_EQ(system.rate(twice), 4);
  EXPECT_EQ(system.rate(once), 4);
  remove(system, once);
  ASSERT_EQ(system.solve().size(), 1U);
  EXPECT_EQ(system.rate(twice), 6);
  remove(system, twice);
  const V alone = add(system, {link});
  ASSERT_EQ(system.solve().size(), 1U);
  EXPECT_EQ(system.rate(alone), 12);
}

TEST(MaxMinDeathTest, RefusesNonsense) {
  MaxMin system;
  EXPECT_DEATH(system.add_constraint(0), "positive and finite");
  EXPECT_DEATH(system.add_constraint(std::numeric_limits<double>::infinity()),
               "positive and finite");
  EXPECT_DEATH(add(system, {}), "needs a constraint");
  EXPECT_DEATH(add(system, {C(7)}), "no constraint 7");
  EXPECT_DEATH(system.start(V(3)), "does not exist");
}

// A random system beside what it was made from, so that a test can check or rebuild it.
struct RandomSystem {
  using Flow = std::vector<C>;  // its constraints
  std::mt19937_64 random;
  std::vector<double> capacities;
  std::map<V, Flow> flows;
  std::map<V, double> seen;  // rates as reported by solve; a new flow starts at 0
  MaxMin system;

  explicit RandomSystem(std::uint64_t seed) : random(seed) {
    const std::size_t constraints = 1 + random() % 30;
    const bool alike = random() % 2 == 0;
    for (std::size_t i = 0; i < constraints; ++i) {
      capacities.push_back(alike ? 25e9 : 1.0 + static_cast<double>(random() % 1000000) / 7);
      (void)system.add_constraint(capacities.back());
    }
  }
  void add_flow() {
    std::set<C> used;
    const std::size_t most = 1 + random() % 9;
    for (std::size_t i = 0; i < most; ++i) used.insert(C(random() % capacities.size()));
    Flow flow{used.begin(), used.end()};
    std::shuffle(flow.begin(), flow.end(), random);
    const V id = add(system, flow);
    ASSERT_TRUE(flows.emplace(id, std::move(flow)).second) << "an id is in use twice";
  }
  void remove_flow() {
    if (flows.empty()) return;
    auto flow = flows.begin();
    std::advance(flow, static_cast<std::ptrdiff_t>(random() % flows.size()));
    remove(system, flow->first);
    seen.erase(flow->first);
    flows.erase(flow);
  }
};

// The definition of max-min fairness, checked directly; it has exactly one solution.
void expect_fair(const RandomSystem& made, std::uint64_t seed) {
  std::vector<double> load(made.capacities.size(), 0);
  std::vector<double> largest(made.capacities.size(), 0);
  for (const auto& [id, flow] : made.flows)
    for (const C c : flow) {
      load[c.index()] += made.system.rate(id);
      largest[c.index()] = std::max(largest[c.index()], made.system.rate(id));
    }
  for (std::size_t c = 0; c < load.size(); ++c)
    EXPECT_LE(load[c], made.capacities[c] * (1 + 1e-9)) << "seed " << seed;
  for (const auto& [id, flow] : made.flows) {
    const double rate = made.system.rate(id);
    EXPECT_GT(rate, 0) << "seed " << seed;
    const bool has_bottleneck = std::any_of(flow.begin(), flow.end(), [&](C c) {
      return load[c.index()] >= made.capacities[c.index()] * (1 - 1e-9) &&
             rate == largest[c.index()];
    });
    EXPECT_TRUE(has_bottleneck) << "seed " << seed << ": a rate of " << rate << " could grow";
  }
}

TEST(MaxMin, RandomSystemsAreFairAfterEveryChange) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    RandomSystem made(seed);
    const int flows = 1 + static_cast<int>(made.random() % 60);
    for (int i = 0; i < flows; ++i) made.add_flow();
    (void)made.system.solve();
    expect_fair(made, seed);
    for (int change = 0; change < 10; ++change) {
      made.random() % 2 == 0 ? made.add_flow() : made.remove_flow();
      (void)made.system.solve();
      expect_fair(made, seed);
    }
  }
}

// Whatever the history, the rates are those of a fresh system with the same variables added in
// another order, to the last bit; and the list of changes tells exactly what moved.
TEST(MaxMin, StepByStepEqualsFromScratchBitForBit) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    RandomSystem made(seed + 1000);
    for (int change = 0; change < 80; ++change) {
      made.random() % 3 != 0 ? made.add_flow() : made.remove_flow();
      if (made.random() % 3 == 0) continue;  // several changes before one solve
      for (const V id : made.system.solve()) {
        EXPECT_NE(made.seen[id], made.system.rate(id))
            << "seed " << seed << ": reported but the same";
        made.seen[id] = made.system.rate(id);
      }
      for (const auto& [id, flow] : made.flows)
        ASSERT_EQ(made.seen[id], made.system.rate(id)) << "seed " << seed << ": changed in silence";
    }
    (void)made.system.solve();

    MaxMin fresh;
    for (const double capacity : made.capacities) (void)fresh.add_constraint(capacity);
    std::vector<V> order;
    for (const auto& [id, flow] : made.flows) order.push_back(id);
    std::shuffle(order.begin(), order.end(), made.random);
    std::map<V, V> twin;
    for (const V id : order) {
      std::vector<C> constraints = made.flows[id];
      std::shuffle(constraints.begin(), constraints.end(), made.random);
      twin[id] = add(fresh, constraints);
    }
    (void)fresh.solve();
    for (const V id : order)
      ASSERT_EQ(made.system.rate(id), fresh.rate(twin[id])) << "seed " << seed;
  }
}

// In a large component only what moves is looked at, and the rates are those of a fresh system.
// Equal capacities and their multiples make many levels meet.
TEST(MaxMin, AFewChangesInALargeSystemEqualFromScratchBitForBit) {
  for (std::uint64_t seed = 0; seed < 24; ++seed) {
    std::mt19937_64 random(seed);
    const std::size_t links = 50 + random() % 400;
    const auto capacity = [&] { return seed % 2 == 0 ? 25e9 : 25e9 * double(1 + random() % 3); };
    std::vector<double> capacities(links);
    std::generate(capacities.begin(), capacities.end(), capacity);
    MaxMin system;
    for (const double one : capacities) (void)system.add_constraint(one);
    std::map<V, std::vector<C>> flows;
    const auto add_flow = [&] {
      std::vector<C> used(1 + random() % 4, C(0));
      for (C& c : used) c = C(random() % links);
      flows[add(system, used)] = used;
    };
    for (std::size_t i = 0; i < 2 * links; ++i) add_flow();
    for (int change = 0; change < 40; ++change) {
      (void)system.solve();
      MaxMin fresh;
      for (const double one : capacities) (void)fresh.add_constraint(one);
      std::map<V, V> twin;
      for (const auto& [id, used] : flows) twin[id] = add(fresh, used);
      (void)fresh.solve();
      for (const auto& [id, used] : flows)
        ASSERT_EQ(system.rate(id), fresh.rate(twin[id])) << "seed " << seed << ", " << change;
      const auto gone = std::next(flows.begin(), std::ptrdiff_t(random() % flows.size()));
      remove(system, gone->first);
      flows.erase(gone);
      if (change % 3 != 0) add_flow();
    }
  }
}

// When the fastest stop nobody's rate changes, and hardly anything is looked at; when others stop,
// it does.  Step by step until none is left.
TEST(MaxMin, TheFastestStopWithoutAChange) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    RandomSystem made(seed + 5000);
    for (int i = 0; i < 60; ++i) made.add_flow();
    (void)made.system.solve();
    while (!made.flows.empty()) {
      const auto fastest =
          std::max_element(made.flows.begin(), made.flows.end(), [&](const auto& a, const auto& b) {
            return made.system.rate(a.first) < made.system.rate(b.first);
          });
      const double rate = made.system.rate(fastest->first);
      std::vector<V> equal;
      for (const auto& [id, flow] : made.flows)
        if (made.system.rate(id) == rate) equal.push_back(id);
      for (const V id : equal) {
        remove(made.system, id);
        made.flows.erase(id);
      }
      EXPECT_TRUE(made.system.solve().empty()) << "seed " << seed;
      expect_fair(made, seed);
      if (made.random() % 4 != 0) continue;
      made.remove_flow();
      if (made.random() % 2 == 0) made.add_flow();
      (void)made.system.solve();
      expect_fair(made, seed);
    }
  }
}

// A direct all-to-all through a switch: K (K-1) flows, each over its sender's and its receiver's
// port.  Everybody is equal, so every flow gets exactly port / (K-1).
TEST(MaxMin, AllToAllOnASwitchIsExactlyEven) {
  constexpr std::size_t ranks = 48;
  MaxMin system;
  for (std::size_t port = 0; port < 2 * ranks; ++port) (void)system.add_constraint(25e9);
  std::vector<V> flows;
  for (std::size_t from = 0; from < ranks; ++from)
    for (std::size_t to = 0; to < ranks; ++to)
      if (from != to) flows.push_back(add(system, {C(from), C(ranks + to)}));
  EXPECT_EQ(system.solve().size(), flows.size());
  for (const V flow : flows) ASSERT_EQ(system.rate(flow), 25e9 / (ranks - 1));
}

}  // namespace
}  // namespace collsim
