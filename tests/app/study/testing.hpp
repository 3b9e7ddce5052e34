// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "app/study/run_case.hpp"
#include "tests/sim/testing.hpp"

namespace collsim::testing {

inline std::shared_ptr<Cluster> cluster_of(Topology topology,
                                           std::optional<LinkParameters> link = {}) {
  return std::make_shared<Cluster>(Cluster{.topology = std::move(topology),
                                           .link = link,
                                           .late = {},
                                           .preset = "",
                                           .description = "",
                                           .overridden = false});
}

// 64 MiB through a chain of 8 ranks at 25 GB/s and 5 us, as in the lecture.
inline Case lecture_case(int chunks = 1) {
  const LinkParameters link{gigabytes_per_second(25), Time{}, microseconds(5)};
  Case point;
  point.cluster = cluster_of(make_chain(8, link), link);
  point.collective = byte_collective(Operation::broadcast, 8, mebibytes(64));
  point.choice.name = "chain";
  point.choice.chunks = chunks;
  return point;
}

inline Case case_on(Topology topology, Operation operation, Bytes size,
                    const std::string& algorithm) {
  Case point;
  const std::size_t ranks = topology.rank_count();
  point.cluster = cluster_of(std::move(topology));
  point.collective = byte_collective(operation, ranks, size);
  point.choice.name = algorithm;
  return point;
}

// Of so many elements for each rank, on ranks that are all joined with each other.
inline Case connected_case(Operation operation, std::size_t ranks,
                           const std::string& algorithm = "", std::int64_t count = 6) {
  const LinkParameters link{gigabytes_per_second(25), Time{}, microseconds(5)};
  Case point;
  point.cluster = cluster_of(make_fully_connected(ranks, link), link);
  point.collective.operation = operation;
  point.collective.group = first_ranks(ranks);
  point.collective.count = operation == Operation::barrier ? 0 : count;
  point.choice.name = algorithm;
  return point;
}

// The same case on a cluster that differs in something.
template <class Change>
Case changed(Case point, const Change& change) {
  auto cluster = std::make_shared<Cluster>(*point.cluster);
  change(*cluster);
  point.cluster = cluster;
  return point;
}

}  // namespace collsim::testing
