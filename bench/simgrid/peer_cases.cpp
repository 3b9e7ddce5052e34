// SPDX-License-Identifier: Apache-2.0
#include "bench/simgrid/peer_cases.hpp"

#include <random>

namespace collsim::bench {

namespace {

constexpr std::int64_t bytes = 1 << 16;

constexpr PeerCase ring(std::string_view name, int ranks) {
  return {name, Shape::ring, ranks, 1, bytes, std::int64_t{2} * ranks * (ranks - 1), 100};
}
constexpr PeerCase chain(std::string_view name, int ranks, int chunks) {
  return {name, Shape::chain, ranks, chunks, bytes, std::int64_t{ranks - 1} * chunks, 100};
}
constexpr PeerCase all_to_all(std::string_view name, int ranks) {
  return {name, Shape::all_to_all, ranks, 1, bytes, std::int64_t{ranks} * (ranks - 1), 30};
}

}  // namespace

const std::vector<PeerCase>& peer_cases() {
  static const std::vector<PeerCase> all{
      ring("ring all-reduce, 256 ranks", 256),
      ring("ring all-reduce, 1,024 ranks", 1024),
      chain("chain broadcast, 256 ranks x 256 chunks", 256, 256),
      chain("chain broadcast, 1,024 ranks x 1,024 chunks", 1024, 1024),
      all_to_all("pairwise all-to-all, 128 ranks", 128),
      all_to_all("pairwise all-to-all, 512 ranks", 512),
  };
  return all;
}

std::vector<std::int64_t> link_speeds(int ranks) {
  std::mt19937_64 random(1);
  std::vector<std::int64_t> speeds;
  for (int rank = 0; rank < ranks; ++rank)
    speeds.push_back(10'000'000'000 + static_cast<std::int64_t>(random() % 90'000'000'000));
  return speeds;
}

}  // namespace collsim::bench
