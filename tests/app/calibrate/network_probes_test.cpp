// SPDX-License-Identifier: Apache-2.0
// A backend that answers with simulated times is a network whose numbers are known.
#include "app/calibrate/network_probes.hpp"

#include <gtest/gtest.h>

#include "sim/simulate.hpp"
#include "topo/shapes.hpp"

namespace collsim {
namespace {

// As libraries do that copy short messages and announce long ones.
LinkParameters with_two_protocols() {
  LinkParameters link{gigabytes_per_second(1)};
  link.segments = {{4096, gigabytes_per_second(2), microseconds(1), microseconds(1)},
                   {8192, gigabytes_per_second(10), microseconds(3), microseconds(8)}};
  take_best_of_segments(link);
  return link;
}
LinkParameters with_one_protocol() {
  return {gigabytes_per_second(5), microseconds(2), microseconds(3)};
}

template <LinkParameters (*link)()>
RunOutcome run_on_network(const RunCase& run_case, const RunOptions& options) {
  const Schedule& schedule = run_case.schedule();
  const Topology topology = make_fully_connected(static_cast<std::size_t>(schedule.size()), link());
  Measurement measured;
  measured.device = "a simulator";
  measured.times_s.assign(static_cast<std::size_t>(options.iterations),
                          simulate(topology, schedule).time.seconds());
  return measured;
}
template <LinkParameters (*link)()>
CalibratedNetwork calibrated_on() {
  static constexpr Backend simulated{"simulated", "", [] { return std::optional<std::string>(); },
                                     run_on_network<link>};
  NetworkOptions options;
  options.backend = &simulated;
  options.host_of_rank = {0, 0, 0};
  const auto outcome = calibrate_network(options);
  EXPECT_TRUE(std::holds_alternative<CalibratedNetwork>(outcome));
  return std::get<CalibratedNetwork>(outcome);
}

TEST(NetworkProbes, OneLineWhereOneLineFits) {
  const CalibratedNetwork network = calibrated_on<with_one_protocol>();
  ASSERT_EQ(network.within.rows.size(), 1U);
  const FittedLink::Row& row = network.within.rows.front();
  EXPECT_NEAR(row.bytes_per_s, 5e9, 5e7);
  EXPECT_NEAR(row.overhead_s, 3e-6, 3e-8);
  EXPECT_NEAR(row.latency_s, 2e-6, 2e-8);
  EXPECT_FALSE(network.within.shares_port);
  const JsonValue file = machine_value(network, "0.1.0", "2026-01-02");
  EXPECT_EQ(file.find("cluster")->find("link")->find("segments"), nullptr);
}

TEST(NetworkProbes, RowsBySizeWhereTheProtocolChanges) {
  const CalibratedNetwork network = calibrated_on<with_two_protocols>();
  ASSERT_EQ(network.within.rows.size(), 2U);
  const FittedLink::Row& small = network.within.rows[0];
  const FittedLink::Row& large = network.within.rows[1];
  EXPECT_EQ(small.up_to, 4096);
  EXPECT_NEAR(small.bytes_per_s, 2e9, 2e7);
  EXPECT_NEAR(small.overhead_s, 1e-6, 1e-8);
  EXPECT_NEAR(small.latency_s, 1e-6, 1e-8);
  EXPECT_NEAR(large.bytes_per_s, 10e9, 1e8);
  EXPECT_NEAR(large.overhead_s, 8e-6, 8e-8);
  EXPECT_NEAR(large.latency_s, 3e-6, 3e-8);
  EXPECT_LT(network.within.worst_error, 0.01);
  const JsonValue file = machine_value(network, "0.1.0", "2026-01-02");
  const JsonValue* segments = file.find("cluster")->find("link")->find("segments");
  ASSERT_NE(segments, nullptr);
  ASSERT_EQ(segments->items().size(), 2U);
  EXPECT_EQ(segments->items()[0].find("up_to")->string(), "4KiB");
  EXPECT_EQ(segments->items()[1].find("up_to"), nullptr);
}

// Acknowledgements take part of a port that sends and receives: a round of three hosts, with 8 or
// 16 messages from each, takes 4% longer.
RunOutcome run_on_ports(const RunCase& run_case, const RunOptions& options) {
  const Schedule& schedule = run_case.schedule();
  const Topology ports =
      make_switch(static_cast<std::size_t>(schedule.size()), {gigabytes_per_second(1)});
  const Simulation simulation = simulate(ports, schedule);
  const bool is_round = simulation.messages == 3 * 8 || simulation.messages == 3 * 16;
  Measurement measured;
  measured.times_s.assign(static_cast<std::size_t>(options.iterations),
                          simulation.time.seconds() * (is_round ? 1.04 : 1));
  return measured;
}

TEST(NetworkProbes, BandwidthIsWhatARoundOfHostsLeaves) {
  static constexpr Backend simulated{"simulated", "", [] { return std::optional<std::string>(); },
                                     run_on_ports};
  NetworkOptions options;
  options.backend = &simulated;
  options.host_of_rank = {0, 1, 2};
  const auto network = std::get<CalibratedNetwork>(calibrate_network(options));
  EXPECT_TRUE(network.between.shares_port);
  EXPECT_NEAR(network.between.slower_in_round, 0.04, 1e-3);
  EXPECT_NEAR(network.between.rows.back().bytes_per_s, 1e9 / 1.04, 1e6);
  options.host_of_rank = {0, 1};  // no third one
  EXPECT_EQ(std::get<CalibratedNetwork>(calibrate_network(options)).between.slower_in_round, 0);
}

}  // namespace
}  // namespace collsim
