// SPDX-License-Identifier: Apache-2.0
//
// The costs in an algorithm's row are what it takes where they are exact, and each of them is
// compared somewhere.
#include <functional>
#include <set>

#include "collectives/cost/closed_forms.hpp"
#include "tests/collectives/rows.hpp"
#include "tests/sanitized.hpp"
#include "tests/sim/testing.hpp"

namespace collsim::testing {
namespace {

struct CostTrial {
  Collective collective;
  AlgorithmChoice choice;
  CostModel costs;
};

std::string text_of(const CostTrial& trial, const Topology& topology, const ClosedForm& form) {
  const Collective& c = trial.collective;
  const Link& link = topology.links().front();
  return std::string(to_string(c.operation)) + " " + trial.choice.name + ", " +
         std::string(topology.shape()) + " of " + std::to_string(c.size()) + " ranks, root " +
         std::to_string(c.root) + ", " + std::to_string(c.count) + " bytes in " +
         std::to_string(trial.choice.chunks) + " chunks, overhead " +
         std::to_string(link.startup.ps()) + " ps, latency " + std::to_string(link.latency.ps()) +
         " ps, " + (trial.costs.reduce_bandwidth ? "adding takes time" : "adding is free") +
         "\nformula " + form.formula;
}

// What there is besides the network.  In sizes of 5040 bytes per block and chunk, and at rates of a
// whole number of picoseconds per byte, nothing is rounded.
std::vector<CostTrial> trials_of(const Algorithm& row, int ranks) {
  const std::vector<int> radixes = row.knobs.radix ? std::vector{2, 3, 4} : std::vector{4};
  const std::vector<int> aggregations =
      row.knobs.aggregation ? std::vector{0, 1, 2} : std::vector{0};
  const std::vector<int> roots = takes_root(row) ? std::vector{0, ranks - 1} : std::vector{0};
  const std::vector<int> rates = reduces(row.operation) ? std::vector{0, 2, 40} : std::vector{0};
  std::vector<CostTrial> trials;
  for (const int chunks : {1, 2, 5})
    for (const int radix : radixes)
      for (const int aggregation : aggregations)
        for (const int root : roots)
          for (const int rate : rates) {
            CostTrial trial;
            trial.collective = byte_collective(row.operation, static_cast<std::size_t>(ranks),
                                               Bytes{5040} * ranks * chunks);
            trial.collective.root = root;
            trial.choice.name = row.name;
            trial.choice.chunks = chunks;
            trial.choice.radix = radix;
            if (aggregation > 0) trial.choice.aggregation = aggregation;
            if (rate > 0) trial.costs.reduce_bandwidth = gigabytes_per_second(rate);
            trials.push_back(trial);
          }
  return trials;
}

std::vector<Topology> uniform_networks(int ranks) {
  const auto size = static_cast<std::size_t>(ranks);
  std::vector<Topology> all;
  for (const Time startup : {Time{}, microseconds(2)})
    for (const Time latency : {Time{}, nanoseconds(300), microseconds(40)}) {
      const LinkParameters link = link_of(ten, startup, latency);
      all.push_back(make_chain(size, link));
      all.push_back(make_ring(size, link));
      all.push_back(make_fully_connected(size, link));
      all.push_back(make_switch(size, link));
    }
  return all;
}

class CostsOfAlgorithm : public ::testing::TestWithParam<const Algorithm*> {};

TEST_P(CostsOfAlgorithm, AreWhatItTakes) {
  const Algorithm& row = *GetParam();
  std::set<std::string, std::less<>> held;
  for (const int ranks : nearest_ranks(row, listed_cases<int>({2, 3, 4, 6}, {5, 7, 8, 12, 15, 16})))
    for (const Topology& topology : uniform_networks(ranks))
      for (const CostTrial& trial : trials_of(row, ranks)) {
        const auto form =
            closed_form(trial.collective, trial.choice, topology, trial.costs.reduce_bandwidth);
        if (!form || !form->exact) continue;
        const Schedule schedule = make_schedule(trial.collective, trial.choice);
        const double simulated = simulate(topology, schedule, trial.costs).time.seconds();
        ASSERT_NEAR(form->seconds, simulated, 1e-9 * simulated) << text_of(trial, topology, *form);
        held.insert(form->formula);
      }
  for (const Cost& cost : row.costs) {
    if (cost.networks == 0) continue;
    EXPECT_TRUE(held.contains(cost.time)) << "no trial is for the formula " << cost.time;
  }
}

INSTANTIATE_TEST_SUITE_P(Table, CostsOfAlgorithm, ::testing::ValuesIn(all_rows()), name_of);

}  // namespace
}  // namespace collsim::testing
