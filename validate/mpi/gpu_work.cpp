// SPDX-License-Identifier: Apache-2.0
#include "validate/mpi/gpu_work.hpp"

#include "validate/mpi/orders.hpp"

namespace collsim {
namespace {

using Texts = std::vector<std::pair<std::string, std::string>>;

}  // namespace

Note note_of(const GpuWork& work) {
  NoteWriter writer;
  writer.put(work.options);
  writer.put(static_cast<std::uint64_t>(work.all.size()));
  for (const TeamMember& member : work.all) {
    writer.put_text(member.name);
    writer.put_text(member.host);
  }
  put(writer, work.nccl.collective);
  writer.put(static_cast<std::uint64_t>(work.nccl.settings.variables.size()));
  for (const auto& [name, value] : work.nccl.settings.variables) {
    writer.put_text(name);
    writer.put_text(value);
  }
  writer.put(static_cast<std::uint64_t>(work.nccl.settings.notes.size()));
  for (const std::string& text : work.nccl.settings.notes) writer.put_text(text);
  return writer.take();
}

GpuWork gpu_work_from(const Note& note) {
  NoteReader reader(note);
  GpuWork work;
  work.options = reader.get<RunOptions>();
  work.all.resize(reader.get<std::uint64_t>());
  for (TeamMember& member : work.all) {
    member.name = reader.get_text();
    member.host = reader.get_text();
  }
  work.nccl.collective = get_collective(reader);
  Texts& variables = work.nccl.settings.variables;
  variables.resize(reader.get<std::uint64_t>());
  for (auto& [name, value] : variables) {
    name = reader.get_text();
    value = reader.get_text();
  }
  work.nccl.settings.notes.resize(reader.get<std::uint64_t>());
  for (std::string& text : work.nccl.settings.notes) text = reader.get_text();
  return work;
}

RunOutcome carry_out(const GpuWork& work, const Processes& processes) {
  const int ranks = work.nccl.collective.size();
  if (processes.me() >= ranks) return Measurement{};
  MpiTeam team(processes, work.all, ranks);
  // Until those that wait for this one inside NCCL have given up themselves.
  constexpr double least_s = 2, waits = 2;
  const double grace_s =
      least_s + waits * nccl_patience_s(work.nccl.collective, work.options.patience_s);
  return team.carry_out([&] { return run_on_nccl(work.nccl, work.options, team); }, grace_s);
}

}  // namespace collsim
