// SPDX-License-Identifier: Apache-2.0
#include "collectives/workload_bounds.hpp"

#include <gtest/gtest.h>

#include "collectives/workloads/workloads.hpp"
#include "topo/shapes.hpp"

namespace collsim {
namespace {

constexpr Bytes megabyte = 1'000'000;

Topology switch_of(std::size_t ranks) {
  return make_switch(ranks, {.bandwidth = Bandwidth(1'000 * megabyte)});
}

WorkloadTotals totals_of(const Workload& workload, const Topology& topology) {
  return workload_totals(workload, NetworkCuts(topology, workload.group()));
}

Model two_layers() {
  Model model;
  model.layers = {{"a", Time(1'000'000'000), Time(2'000'000'000), megabyte, 0},
                  {"b", Time(3'000'000'000), Time(4'000'000'000), 3 * megabyte, 0}};
  model.optimizer = Time(500'000'000);
  return model;
}

// 4 MB in all-reduces: each of K ranks sends 2 (K-1)/K of it in the mean, at 1 GB/s.
TEST(WorkloadBounds, AreTheWorkOfAStreamAndTheBytesOfAllCollectives) {
  const Workload ddp = make_workload(Ddp{}, two_layers(), 4);
  const WorkloadTotals totals = totals_of(ddp, switch_of(4));
  EXPECT_EQ(totals.bounds.compute, Time(10'500'000'000));
  EXPECT_NEAR(totals.bounds.bandwidth.seconds(), 2 * 3 / 4.0 * 4e-3, 1e-10);
  EXPECT_LT(totals.bounds.bandwidth.seconds(), 2 * 3 / 4.0 * 4e-3);
  EXPECT_EQ(totals.bounds.largest(), totals.bounds.compute);
  EXPECT_NEAR(totals.phases.forward_s, 4e-3, 1e-12);
  EXPECT_NEAR(totals.phases.backward_s, 6e-3, 1e-12);
  EXPECT_NEAR(totals.phases.other_s, 0.5e-3, 1e-12);
}

// Parameters are gathered twice but for the last layer, and gradients scattered.
TEST(WorkloadBounds, OfShardedParametersCountEachCall) {
  const WorkloadTotals totals = totals_of(make_workload(Fsdp{}, two_layers(), 4), switch_of(4));
  EXPECT_NEAR(totals.bounds.bandwidth.seconds(), 3 / 4.0 * (4 + 1 + 4) * 1e-3, 1e-10);
}

// The slow rank decides, and messages count where no turns are claimed.
TEST(WorkloadBounds, AreOfTheBusiestRank) {
  const Workload even = make_workload(Ddp{}, two_layers(), 4);
  const Workload slow = slowed(even, {{Rank(2), 2, Time{}}});
  EXPECT_EQ(totals_of(slow, switch_of(4)).bounds.compute, Time(21'000'000'000));
  const Workload servers = make_workload(ParameterServer{}, two_layers(), 3);
  EXPECT_NEAR(totals_of(servers, switch_of(3)).bounds.bandwidth.seconds(), 2 * 4e-3, 1e-10);
}

}  // namespace
}  // namespace collsim
