// SPDX-License-Identifier: Apache-2.0
//
//   collsim_bench_peers [PART OF A NAME]     the cases whose names contain it; default all
//
// The median of three runs.  Every SimGrid run has a process of its own; --simgrid=CASE is for the
// program itself.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <sstream>
#include <string>

#include "bench/simgrid/peer_cases.hpp"
#include "bench/this_process.hpp"

namespace collsim::bench {

namespace {

constexpr std::string_view simgrid_argument = "--simgrid=";

Outcome run_in_a_process_of_simgrid(const PeerCase& peer_case) {
  Outcome outcome;
  std::istringstream output(
      output_of_this_program(std::string(simgrid_argument) + std::string(peer_case.name)));
  output >> outcome.wall_seconds >> outcome.simulated_seconds;
  return outcome;
}

struct Both {
  Outcome simgrid, collsim;
  [[nodiscard]] double ratio() const { return simgrid.wall_seconds / collsim.wall_seconds; }
};

// One after the other, so that both see the same machine; the run with the middle ratio of three.
Both middle_run(const PeerCase& peer_case) {
  std::array<Both, 3> runs;
  for (Both& run : runs) run = {run_in_a_process_of_simgrid(peer_case), run_in_collsim(peer_case)};
  std::sort(runs.begin(), runs.end(),
            [](const Both& a, const Both& b) { return a.ratio() < b.ratio(); });
  return runs[1];
}

void compare(const PeerCase& peer_case) {
  const Both both = middle_run(peer_case);
  const auto& [simgrid, collsim] = both;
  const double ratio = both.ratio();
  const auto rate = [&](const Outcome& outcome) {
    return static_cast<double>(peer_case.messages) / outcome.wall_seconds * 1e-6;
  };
  const double difference = std::abs(collsim.simulated_seconds - simgrid.simulated_seconds);
  std::printf(
      "| %s | %lld | %.3g s, %.3g M/s | %.3g s, %.3g M/s | %.0f | %.0f | %s | %.9f ms | %.2g |\n",
      std::string(peer_case.name).c_str(), static_cast<long long>(peer_case.messages),
      simgrid.wall_seconds, rate(simgrid), collsim.wall_seconds, rate(collsim), ratio,
      peer_case.wanted_ratio, ratio >= peer_case.wanted_ratio ? "yes" : "**no**",
      collsim.simulated_seconds * 1e3, difference / collsim.simulated_seconds);
  std::fflush(stdout);
}

int print_simgrid_run(std::string_view name) {
  for (const PeerCase& peer_case : peer_cases()) {
    if (peer_case.name != name) continue;
    const Outcome outcome = run_in_simgrid(peer_case);
    std::printf("%.17g %.17g\n", outcome.wall_seconds, outcome.simulated_seconds);
    return 0;
  }
  return 1;
}

}  // namespace

}  // namespace collsim::bench

int main(int argc, char** argv) {
  using namespace collsim::bench;
  const std::string_view argument = argc > 1 ? argv[1] : "";
  if (argument.starts_with(simgrid_argument))
    return print_simgrid_run(argument.substr(simgrid_argument.size()));
  std::printf("%s\n\n", describe_machine().c_str());
  std::printf(
      "| case | messages | SimGrid | collsim | ratio | wanted | ok | simulated | apart |\n"
      "|---|---|---|---|---|---|---|---|---|\n");
  bool any = false;
  for (const PeerCase& peer_case : peer_cases()) {
    if (peer_case.name.find(argument) == std::string_view::npos) continue;
    compare(peer_case);
    any = true;
  }
  return any ? 0 : 2;
}
