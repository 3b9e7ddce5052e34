// SPDX-License-Identifier: Apache-2.0
#include "validate/mpi/gpu_work.hpp"

#include "validate/cuda/cuda_backend.hpp"
#include "validate/mpi/orders.hpp"

namespace collsim {
namespace {

void put(NoteWriter& writer, const NcclTask& task) {
  put(writer, task.collective);
  writer.put(static_cast<std::uint64_t>(task.settings.variables.size()));
  for (const auto& [name, value] : task.settings.variables) {
    writer.put_text(name);
    writer.put_text(value);
  }
  writer.put(static_cast<std::uint64_t>(task.settings.notes.size()));
  for (const std::string& text : task.settings.notes) writer.put_text(text);
}

NcclTask get_nccl_task(NoteReader& reader) {
  NcclTask task;
  task.collective = get_collective(reader);
  task.settings.variables.resize(reader.get<std::uint64_t>());
  for (auto& [name, value] : task.settings.variables) {
    name = reader.get_text();
    value = reader.get_text();
  }
  task.settings.notes.resize(reader.get<std::uint64_t>());
  for (std::string& text : task.settings.notes) text = reader.get_text();
  return task;
}

RunOutcome run(const GpuWork& work, const Plan* plan, MpiTeam& team) {
  if (plan != nullptr) return run_on_cuda(*plan, work.options, team);
  return run_on_nccl(std::get<NcclTask>(work.what), work.options, team);
}

}  // namespace

const Collective& GpuWork::collective() const {
  const auto* const task = std::get_if<NcclTask>(&what);
  return task != nullptr ? task->collective : std::get<Plan>(what).schedule->collective();
}

Note note_of(const GpuWork& work) {
  NoteWriter writer;
  writer.put(work.options);
  put(writer, work.all);
  writer.put(work.what.index() == 0);
  std::visit([&writer](const auto& what) { put(writer, what); }, work.what);
  return writer.take();
}

GpuWork gpu_work_from(const Note& note) {
  NoteReader reader(note);
  GpuWork work;
  work.options = reader.get<RunOptions>();
  work.options.meanwhile = nullptr;  // it is the other process's
  work.all = get_members(reader);
  if (reader.get<bool>())
    work.what = get_nccl_task(reader);
  else
    work.what = get_plan(reader);
  return work;
}

RunOutcome carry_out(const GpuWork& work, const Processes& processes) {
  const Collective& collective = work.collective();
  if (processes.me() >= collective.size()) return Measurement{};
  MpiTeam team(processes, work.all, collective.size());
  const Plan* const plan = std::get_if<Plan>(&work.what);
  // Until those that wait for this one have given up themselves.
  constexpr double least_s = 2, waits = 2;
  const double patience_s = plan != nullptr ? work.options.patience_s
                                            : nccl_patience_s(collective, work.options.patience_s);
  return team.carry_out([&] { return run(work, plan, team); }, least_s + waits * patience_s);
}

}  // namespace collsim
