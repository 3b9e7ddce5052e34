// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace collsim::bench {

// The same networks, messages and dependencies in collsim and in SimGrid, so that both must
// predict the same time.
//
//   ring, chain   A message keeps its link busy for alpha + n/B.  collsim calls alpha `overhead`;
//                 in SimGrid it is the link's latency, and the sender waits for the end of one
//                 message before it starts the next.  Every link has a B of its own.
//   all-to-all    Full-duplex ports into a star, alpha = 0: n/B and then the latency of two ports.
//                 All ports are equal, so that no two messages of a round meet in one and it does
//                 not matter that SimGrid's links share where collsim's serve one message after the
//                 other.
enum class Shape { ring, chain, all_to_all };

struct PeerCase {
  std::string_view name;
  Shape shape{};
  int ranks = 0;
  int chunks = 1;                  // chain only
  std::int64_t message_bytes = 0;  // of every message
  std::int64_t messages = 0;       // of the whole run
  double wanted_ratio = 0;         // collsim at least that much faster
};

struct Outcome {
  double wall_seconds = 0;  // of the simulation itself; the network was built before
  double simulated_seconds = 0;
};

[[nodiscard]] const std::vector<PeerCase>& peer_cases();

// Bytes per second of the link from rank i to rank i + 1, between 10 and 100 GB/s.
[[nodiscard]] std::vector<std::int64_t> link_speeds(int ranks);
constexpr std::int64_t port_speed = 25'000'000'000;
constexpr std::int64_t delay_ns = 1'000;  // alpha of a link, latency of a port

[[nodiscard]] Outcome run_in_collsim(const PeerCase& peer_case);
// Once per process: SimGrid's engine cannot be made twice.
[[nodiscard]] Outcome run_in_simgrid(const PeerCase& peer_case);

}  // namespace collsim::bench
