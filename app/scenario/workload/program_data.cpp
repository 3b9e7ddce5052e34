// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "app/scenario/workload/program.hpp"

namespace collsim {
namespace {

Items buffer_item(std::size_t buffer) {
  const auto item = static_cast<std::uint32_t>(buffer);
  return {item, item + 1};
}

void index_ops(const std::vector<ProgramOp>& body, std::vector<const ProgramOp*>& by_place) {
  for (const ProgramOp& op : body) {
    by_place[op.place] = &op;
    index_ops(op.body, by_place);
  }
}

bool is_root(const Communicator& communicator, const Call& call, Rank rank) {
  return std::any_of(communicator.groups.begin(), communicator.groups.end(), [&](const auto& one) {
    return one.size() > static_cast<std::size_t>(call.root) &&
           one[static_cast<std::size_t>(call.root)] == rank;
  });
}

void add_uses_of_call(const ProgramOp& op, const Call& call, bool root, Uses& uses) {
  const bool from_root =
      call.operation == Operation::broadcast || call.operation == Operation::scatter;
  const bool to_root = call.operation == Operation::reduce || call.operation == Operation::gather;
  if (op.buffer != ProgramOp::none && (!from_root || root))
    uses.reads.push_back(buffer_item(op.buffer));
  const bool keeps = call.operation == Operation::broadcast && root && op.into == op.buffer;
  if (op.into != ProgramOp::none && (!to_root || root) && !keeps)
    uses.writes.push_back(buffer_item(op.into));
}

}  // namespace

std::shared_ptr<const WorkloadData> data_of(const std::shared_ptr<const WrittenProgram>& program) {
  std::vector<const ProgramOp*> by_place(program->places.size());
  for (const WrittenProgram::Block& block : program->blocks) index_ops(block.body, by_place);
  WorkloadData data;
  data.items = static_cast<std::uint32_t>(program->buffers.size());
  data.name = [program](std::uint32_t item) { return program->buffers[item]; };
  data.is_asynchronous = [program](std::uint16_t stream) {
    const auto& of_collectives = program->async_streams;
    if (std::find(of_collectives.begin(), of_collectives.end(), stream) != of_collectives.end())
      return true;
    return std::any_of(program->routes.begin(), program->routes.end(), [&](const auto& entry) {
      const WrittenProgram::Route& route = entry.second;
      return (route.sender_own && route.sender == stream) ||
             (route.receiver_own && route.receiver == stream);
    });
  };
  data.uses = [program, by_place](Rank rank, const Action& line, Uses& uses) {
    const ProgramOp* const op = by_place[line.place];
    if (op == nullptr) return;
    switch (line.kind) {
      case Action::Kind::send:
        if (op->buffer != ProgramOp::none) uses.reads.push_back(buffer_item(op->buffer));
        break;
      case Action::Kind::receive:
        if (op->buffer != ProgramOp::none) uses.writes.push_back(buffer_item(op->buffer));
        break;
      case Action::Kind::collective:
        add_uses_of_call(*op, line.call,
                         is_root(program->communicators[line.communicator], line.call, rank), uses);
        break;
      case Action::Kind::update:
        for (const ProgramOp::Assignment& assignment : op->assignments) {
          for (const std::size_t buffer : assignment.value.buffers())
            uses.reads.push_back(buffer_item(buffer));
          uses.writes.push_back(buffer_item(assignment.buffer));
        }
        break;
      default: break;
    }
  };
  return std::make_shared<const WorkloadData>(std::move(data));
}

}  // namespace collsim
