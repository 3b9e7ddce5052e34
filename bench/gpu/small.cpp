// SPDX-License-Identifier: Apache-2.0
#include "bench/gpu/cases.hpp"
#include "bench/gpu/phases.hpp"
#include "topo/shapes.hpp"

namespace collsim::bench {
namespace {

struct Small {
  Operation operation;
  const char* algorithm;
  std::int64_t count;
  ElementType type;
  Reduction reduction;
};

constexpr Small smalls[] = {
    {Operation::all_reduce, "ring", 1009, ElementType::f32, Reduction::sum},
    {Operation::all_reduce, "ring", 1009, ElementType::bf16, Reduction::avg},
    {Operation::all_reduce, "double-tree", 37, ElementType::i8, Reduction::max},
    {Operation::broadcast, "chain", 517, ElementType::u8, Reduction::sum},
    {Operation::all_to_all, "", 64, ElementType::f64, Reduction::sum},
    {Operation::barrier, "", 0, ElementType::f32, Reduction::sum},
};

Schedule schedule_of(const Small& small) {
  Collective collective = collective_of(small.operation, 4, 0);
  collective.count = small.count;
  collective.type = small.type;
  collective.reduction = small.reduction;
  return make_schedule(collective, {.name = small.algorithm, .chunks = 2});
}

}  // namespace

Verdict report_small(Part& part) {
  part.heading("Small cases");
  RunOptions options;
  options.iterations = 5;  // so that launches are timed too, with a CUDA graph
  options.timeline = true;
  options.patience_s = 100;
  Verdict verdict = Verdict::passed;
  std::size_t cases = 0;
  const auto run = [&](const RunCase& one) {
    const Ran ran = run_case(one, options);
    ++cases;
    if (ran.problem.empty()) return;
    part.text("- FAILED: " + std::string(to_string(one.schedule().collective().operation)) + " " +
              one.schedule().algorithm() + ": " + ran.problem);
    verdict = Verdict::failed;
  };
  for (const Small& small : smalls)
    for (const Protocol protocol : {Protocol::simple, Protocol::ll})
      run({schedule_of(small), protocol});
  RunCase paced{schedule_of(smalls[0])};
  LinkParameters link{Bandwidth(80'000'000)};
  link.latency = microseconds(10);
  paced.paced = EmulatedMachine{make_ring(4, link), {}, {}};
  run(paced);
  part.text(std::to_string(cases) + " cases ran.");
  return verdict;
}

}  // namespace collsim::bench
