// SPDX-License-Identifier: Apache-2.0
//
// Ring all-reduce: 2 K (K-1) messages.  The dataflow engine where every link has a speed of its
// own, the symmetry engine where all are equal.
#include <random>

#include "bench/cases.hpp"
#include "sim/simulate.hpp"
#include "topo/shapes.hpp"

namespace collsim::bench {

namespace {

// No two links alike, so that nothing can be gained from symmetry.
Topology ring_of_random_links(std::size_t ranks) {
  const Topology ring = make_ring(ranks, usual_link);
  std::mt19937_64 random(1);
  std::vector<Topology::LinkChange> changes;
  for (std::size_t id = 0; id < ring.links().size(); ++id) {
    LinkParameters changed = usual_link;
    changed.bandwidth =
        Bandwidth(10'000'000'000 + static_cast<std::int64_t>(random() % 90'000'000'000));
    changes.push_back({LinkId(id), changed});
  }
  return ring.with_changed_links(changes);
}

// Blocks of 64 KiB.
Schedule ring_all_reduce(std::size_t ranks, std::optional<int> slots, int chunks = 1) {
  AlgorithmChoice choice{.name = "ring", .chunks = chunks};
  choice.slots = slots;
  return whole_machine(Operation::all_reduce, ranks, static_cast<std::int64_t>(ranks) << 14U,
                       choice);
}

std::function<Case::Work()> simulated(const std::function<Topology()>& make_topology,
                                      std::size_t ranks, std::optional<int> slots,
                                      const SimulationOptions& options = {}, int chunks = 1) {
  return [=] {
    return [options, topology = make_topology(), schedule = ring_all_reduce(ranks, slots, chunks)] {
      return static_cast<std::int64_t>(simulate(topology, schedule, {}, options).messages);
    };
  };
}

SimulationOptions late_by_up_to(std::size_t ranks, Time most) {
  std::mt19937_64 random(2);
  SimulationOptions options;
  for (std::size_t rank = 0; rank < ranks; ++rank)
    options.late.emplace_back(
        Rank(rank),
        Time(static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(most.ps()))));
  return options;
}

}  // namespace

std::vector<Case> ring_cases() {
  const auto random_ring = [](std::size_t ranks) {
    return [ranks] { return ring_of_random_links(ranks); };
  };
  const auto equal_ring = [](std::size_t ranks) {
    return [ranks] { return make_ring(ranks, usual_link); };
  };
  return {
      {.name = "ring_all_reduce/1024",
       .item = "messages",
       .limit = {.instructions = 136, .loops = 1.5, .peak_bytes = 32 * mebibyte},
       .prepare = simulated(random_ring(1024), 1024, 8)},
      {.name = "ring_all_reduce/1024_late",
       .item = "messages",
       .limit = {.times_slower_than = 1.3, .other_case = "ring_all_reduce/1024"},
       .prepare = simulated(random_ring(1024), 1024, 8, late_by_up_to(1024, milliseconds(20)))},
      {.name = "ring_all_reduce/512_8_chunks",
       .item = "messages",
       .limit = {.instructions = 144},
       .prepare = simulated(random_ring(512), 512, 9, {}, 8)},
      {.name = "ring_all_reduce/16384",
       .item = "messages",
       .limit = {.loops = 400, .peak_bytes = 64 * mebibyte},
       .only_once = true,
       .prepare = simulated(random_ring(16'384), 16'384, 8)},
      {.name = "ring_all_reduce/65536_symmetric",
       .item = "messages",
       .limit = {.loops = 0.2, .peak_bytes = 64 * mebibyte},
       .prepare = simulated(equal_ring(65'536), 65'536, std::nullopt)},
  };
}

}  // namespace collsim::bench
