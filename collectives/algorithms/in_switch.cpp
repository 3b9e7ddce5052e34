// SPDX-License-Identifier: Apache-2.0
#include "collectives/algorithms/in_switch.hpp"

#include "collectives/algorithms/idioms.hpp"

namespace collsim {
namespace {

bool sums_up(const Task& task) {
  return task.collective->operation == Operation::all_reduce;
}

Columns columns_of(const Task& task, const Blocks& blocks, int size) {
  return {blocks, sums_up(task) ? 1 : task.group.size() / size, size};
}

}  // namespace

Columns given_columns(const Task& task, int size) {
  if (sums_up(task)) return columns_of(task, Blocks(source_vector(task), size), size);
  const Blocks blocks = scattered_blocks(task);
  Columns columns = columns_of(task, blocks, size);
  if (task.in_place) columns.replace(task.group.me(), scattered_block(task));
  return columns;
}

Columns result_columns(const Task& task, int size) {
  const bool whole = sums_up(task);
  return columns_of(task, whole ? Blocks(result_vector(task), size) : task.blocks(task.output),
                    size);
}

std::int64_t longest_column(const Task& task, int size) {
  if (sums_up(task)) return Blocks(task.share(task.output), size)[0].count;
  const bool gathers = task.collective->operation == Operation::all_gather;
  const Blocks blocks = task.blocks(gathers ? task.output : task.input);
  return task.group.size() / size * blocks[0].count;
}

Spans kept(const Task& task, int size, int place, const Spans& column) {
  const std::int64_t longest = longest_column(task, size);
  Span rest = task.scratch.sub(place * longest, longest);
  Spans spans;
  for (const Span& span : column) {
    spans.push_back(rest.sub(0, span.count));
    rest = rest.sub(span.count, rest.count - span.count);
  }
  return spans;
}

Program in_step(Steps steps) {
  co_yield steps;
}

Steps pass_on(const Endpoint& from, const Spans& spans, const Endpoint& to) {
  Steps steps;
  for (const Span& span : spans) steps.push_back(receive_send(from, span, to));
  return steps;
}

Program alone(const Task& task) {
  if (task.role != 0) return {};
  switch (task.collective->operation) {
    case Operation::all_gather:
      return copy_alone(gathered_block(task), task.blocks(task.output)[0]);
    case Operation::reduce_scatter:
      return copy_alone(scattered_blocks(task)[0], scattered_block(task));
    default: return copy_alone(source_vector(task), result_vector(task));
  }
}

Endpoint into_network(const InNode& at) {
  return at.node() == 0 ? at.lane_of_node(SwitchRole::network_up, 1)
                        : at.lane_of_node(SwitchRole::add, 0);
}
Endpoint out_of_network(const InNode& at) {
  return at.node() == 0 ? at.lane_of_node(SwitchRole::network_down, 1)
                        : at.lane_of_node(SwitchRole::add, 0);
}

namespace {

Steps add_steps(const InNode& at, Operation operation, const Spans& sums) {
  const auto from_node = [&](int node) {
    return node == 0 ? at.lane_of_node(SwitchRole::network_up, 1)
                     : at.lane_of_node(SwitchRole::up, node);
  };
  const auto to_node = [&](int node) {
    return node == 0 ? at.lane_of_node(SwitchRole::network_down, 1)
                     : at.lane_of_node(SwitchRole::down, node);
  };
  Steps steps;
  for (int row = 0; row < static_cast<int>(sums.size()); ++row) {
    const Span sum = sums[static_cast<std::size_t>(row)];
    if (operation == Operation::all_gather) {
      steps.push_back(receive(from_node(row), sum));
    } else {
      steps.push_back(receive(from_node(0), sum));
      for (int node = 1; node < at.nodes(); ++node)
        steps.push_back(receive_reduce(from_node(node), sum, sum));
    }
    if (operation == Operation::reduce_scatter)
      steps.push_back(send(to_node(row), sum));
    else
      for (int node = 0; node < at.nodes(); ++node) steps.push_back(send(to_node(node), sum));
  }
  return steps;
}

}  // namespace

Steps network_steps(const InNode& at, Operation operation, const Spans& kept) {
  const Spans of_node_0(kept.begin(), kept.begin() + 1);
  switch (at.role()) {
    case SwitchRole::add:
      return at.node() == 0 && at.nodes() > 1 ? add_steps(at, operation, kept) : Steps();
    case SwitchRole::network_up:
      if (at.node() != 1) return {};
      return pass_on(at.lane_of_node(SwitchRole::up, 0),
                     operation == Operation::all_gather ? of_node_0 : kept,
                     at.lane_of_node(SwitchRole::add, 0));
    case SwitchRole::network_down:
      if (at.node() != 1) return {};
      return pass_on(at.lane_of_node(SwitchRole::add, 0),
                     operation == Operation::reduce_scatter ? of_node_0 : kept,
                     at.lane_of_node(SwitchRole::down, 0));
    default: return {};
  }
}

}  // namespace collsim
