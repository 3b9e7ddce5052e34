// SPDX-License-Identifier: Apache-2.0
#include "validate/mpi/orders.hpp"

namespace collsim {

void put(NoteWriter& writer, const Collective& collective) {
  writer.put(collective.operation);
  writer.put(collective.count);
  writer.put(collective.type);
  writer.put(collective.reduction);
  writer.put_all(collective.group);
  writer.put(collective.root);
  writer.put(collective.in_place);
  writer.put(collective.pattern.kind);
  writer.put(collective.pattern.distance);
  std::vector<int> ends;
  for (const auto& [from, to] : collective.pattern.pairs) ends.insert(ends.end(), {from, to});
  writer.put_all(ends);
}

Collective get_collective(NoteReader& reader) {
  Collective collective;
  collective.operation = reader.get<Operation>();
  collective.count = reader.get<std::int64_t>();
  collective.type = reader.get<ElementType>();
  collective.reduction = reader.get<Reduction>();
  collective.group = reader.get_all<Rank>();
  collective.root = reader.get<int>();
  collective.in_place = reader.get<bool>();
  collective.pattern.kind = reader.get<Pattern::Kind>();
  collective.pattern.distance = reader.get<int>();
  const std::vector<int> ends = reader.get_all<int>();
  for (std::size_t i = 0; i + 1 < ends.size(); i += 2)
    collective.pattern.pairs.emplace_back(ends[i], ends[i + 1]);
  return collective;
}

int process_of(std::size_t position, std::size_t ranks, int processes) {
  return static_cast<int>(position * static_cast<std::size_t>(processes) / ranks);
}

void put(NoteWriter& writer, const std::vector<TeamMember>& members) {
  writer.put(static_cast<std::uint64_t>(members.size()));
  for (const TeamMember& member : members) {
    writer.put_text(member.name);
    writer.put_text(member.host);
  }
}

std::vector<TeamMember> get_members(NoteReader& reader) {
  std::vector<TeamMember> members(reader.get<std::uint64_t>());
  for (TeamMember& member : members) {
    member.name = reader.get_text();
    member.host = reader.get_text();
  }
  return members;
}

Note note_of(const Introduction& introduction) {
  NoteWriter writer;
  writer.put_text(introduction.program);
  writer.put_text(introduction.host);
  writer.put_text(introduction.clock);
  writer.put(introduction.pid);
  writer.put(introduction.cores);
  return writer.take();
}

Introduction introduction_from(const Note& note) {
  NoteReader reader(note);
  Introduction introduction;
  introduction.program = reader.get_text();
  introduction.host = reader.get_text();
  introduction.clock = reader.get_text();
  introduction.pid = reader.get<std::int64_t>();
  introduction.cores = reader.get<std::uint64_t>();
  return introduction;
}

Note note_of_part(const Plan& plan, int process, int processes,
                  const std::vector<TeamMember>& on_gpus) {
  std::vector<PlannedLane> lanes = plan.lanes;
  std::vector<LaneStep> steps;
  for (PlannedLane& lane : lanes) {
    const auto begin = plan.steps.begin() + lane.first_step;
    const bool here = process_of(lane.position, plan.memory.size(), processes) == process;
    lane.first_step = static_cast<std::uint32_t>(steps.size());
    if (here)
      steps.insert(steps.end(), begin, begin + lane.step_count);
    else
      lane.step_count = 0;
  }
  NoteWriter writer;
  put(writer, plan.schedule->collective());
  writer.put(processes);
  writer.put_all(plan.memory);
  writer.put_all(lanes);
  writer.put_all(plan.wires);
  writer.put_all(steps);
  put(writer, on_gpus);
  return writer.take();
}

void put(NoteWriter& writer, const Plan& plan) {
  put(writer, plan.schedule->collective());
  writer.put(plan.protocol);
  writer.put_all(plan.memory);
  writer.put_all(plan.lanes);
  writer.put_all(plan.wires);
  writer.put_all(plan.steps);
}

Plan get_plan(NoteReader& reader) {
  Schedule::Parts parts;
  parts.collective = get_collective(reader);
  parts.program = [](int, Lane) -> LaneProgram {
    COLLSIM_CHECK(false, "only process 0 has the programs of a plan");
  };
  const Schedule schedule(std::move(parts));
  Plan plan{.programs = schedule, .schedule = schedule, .protocol = reader.get<Protocol>()};
  plan.memory = reader.get_all<PlannedMemory>();
  plan.lanes = reader.get_all<PlannedLane>();
  plan.wires = reader.get_all<PlannedWire>();
  plan.steps = reader.get_all<LaneStep>();
  return plan;
}

PlanPart part_from(const Note& note) {
  NoteReader reader(note);
  PlanPart part;
  part.collective = get_collective(reader);
  part.processes = reader.get<int>();
  part.memory = reader.get_all<PlannedMemory>();
  part.lanes = reader.get_all<PlannedLane>();
  part.wires = reader.get_all<PlannedWire>();
  part.steps = reader.get_all<LaneStep>();
  part.on_gpus = get_members(reader);
  return part;
}

}  // namespace collsim
