// SPDX-License-Identifier: Apache-2.0
#include "validate/mpi/on_gpus.hpp"

#include <algorithm>
#include <utility>

namespace collsim {

std::vector<TeamMember> members_of(const Crew& crew) {
  std::vector<TeamMember> all;
  all.reserve(static_cast<std::size_t>(crew.size()));
  for (int process = 0; process < crew.size(); ++process)
    all.push_back({crew.name_of(process), crew.host_of(process)});
  return all;
}

RunOptions patient(RunOptions options) {
  constexpr double least_patience_s = 5;
  options.patience_s = std::max(options.patience_s, least_patience_s);
  return options;
}

Measurement run_on_gpus(Crew& crew, GpuWork work) {
  work.all = members_of(crew);
  work.options = patient(work.options);
  const int ranks = work.collective().size();
  // Who launches kernels has no use for a neighbour that spins.
  crew.set_idle(Idle::sleep);
  constexpr double to_report_s = 60;
  RunOutcome outcome = crew.carry_out_on_gpus(work, to_report_s);
  if (const auto* none = std::get_if<NoMeasurement>(&outcome)) throw NoMeasurement(*none);
  auto measured = std::get<Measurement>(std::move(outcome));
  measured.device += ", a process for each, on " + std::to_string(crew.hosts()) +
                     (crew.hosts() == 1 ? " host, " : " hosts, ") + mpi_library_name();
  if (crew.size() > ranks)
    measured.notes.push_back(std::to_string(crew.size() - ranks) +
                             " of the processes had no rank and only waited");
  return measured;
}

}  // namespace collsim
