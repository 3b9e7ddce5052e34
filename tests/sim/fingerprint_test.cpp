// SPDX-License-Identifier: Apache-2.0
//
// A fingerprint stands for every time of every step.  tests/data/fingerprints.txt holds those of
// every algorithm, in the order of the table, on four networks; they must be the same from every
// compiler, in debug and release builds, today and tomorrow.  A commit that changes one on purpose,
// or adds an algorithm, gets the file from UPDATE_GOLDEN=1 and says why.
#include <iomanip>
#include <sstream>

#include "tests/golden.hpp"
#include "tests/sim/testing.hpp"

namespace collsim::testing {
namespace {

std::vector<Topology> networks() {
  const Bandwidth nvlink = gigabytes_per_second(300);
  const Bandwidth nic = gigabytes_per_second(25);
  NodesShape nodes{.intra_link = link_of(nvlink, microseconds(1), nanoseconds(300)),
                   .inter_link = link_of(nic, microseconds(3), microseconds(2), Sharing::fair)};
  nodes.nodes = 2;
  nodes.gpus_per_node = 4;
  nodes.nics_per_node = 2;
  return {make_ring(8, link_of(nic, microseconds(5), microseconds(1))),
          make_switch(8, link_of(nic, microseconds(5), microseconds(1))),
          make_switch(8, link_of(nic, microseconds(5), microseconds(1), Sharing::fair)),
          make_nodes(nodes)};
}

std::string table() {
  std::ostringstream text;
  const std::vector<Topology> all = networks();
  for (const Algorithm& algorithm : algorithms()) {
    const Schedule schedule =
        byte_schedule(algorithm.operation, 8, 1'000'003, std::string(algorithm.name), 2);
    text << to_string(algorithm.operation) << ' ' << algorithm.name;
    for (const Topology& network : all)
      text << ' ' << std::hex << std::setw(16) << std::setfill('0')
           << simulate(network, schedule).fingerprint << std::dec;
    text << '\n';
  }
  return text.str();
}

TEST(Fingerprint, IsWhatItWas) {
  expect_golden(table(), COLLSIM_TEST_DATA "/fingerprints.txt");
}

TEST(Fingerprint, IsTheSameTwiceInOneProcess) {
  EXPECT_EQ(table(), table());
}

TEST(Fingerprint, ChangesWithAnyTime) {
  const auto fingerprint = [](Time startup, Bytes size, int chunks) {
    return simulate(make_ring(8, link_of(gigabytes_per_second(25), startup)),
                    byte_schedule(Operation::all_reduce, 8, size, "ring", chunks))
        .fingerprint;
  };
  const std::uint64_t base = fingerprint(microseconds(1), 800'000, 1);
  EXPECT_NE(fingerprint(microseconds(1) + picoseconds(1), 800'000, 1), base);
  EXPECT_NE(fingerprint(microseconds(1), 800'008, 1), base);
  EXPECT_NE(fingerprint(microseconds(1), 800'000, 2), base);
}

}  // namespace
}  // namespace collsim::testing
