// SPDX-License-Identifier: Apache-2.0
#include "collectives/algorithms.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "collectives/listed_schedule.hpp"
#include "collectives/names.hpp"

namespace collsim {
namespace {

constexpr int max_lanes = 1 << 16;

// What all programs of a schedule share; tasks point into it.
struct Plan {
  Collective collective;
  const Algorithm* algorithm = nullptr;
  int chunks = 1;
  int channels = 1;
  int radix = 4;
  std::optional<int> aggregation;
  std::vector<int> dims;
  int per_node = 1;
  std::vector<std::vector<int>> orders;
  bool local_pass = false;
};

void need_range(const char* what, std::int64_t value, std::int64_t low, std::int64_t high) {
  if (value >= low && value <= high) return;
  throw_error(value > high ? ErrorCode::too_large : ErrorCode::invalid_argument, what, " must be ",
              low, " to ", high, ", not ", value);
}

void need_positive(const char* what, std::int64_t value) {
  if (value < 1) throw_error(ErrorCode::invalid_argument, what, " must be at least 1, not ", value);
}

void validate_dims(const std::vector<int>& dims, int ranks) {
  std::int64_t product = 1;
  std::string text;
  for (const int dim : dims) {
    need_positive("each of dims", dim);
    product = std::min<std::int64_t>(product * dim, std::int64_t{1} << 31);
    text += (text.empty() ? "" : " x ") + std::to_string(dim);
  }
  if (!dims.empty() && product != ranks)
    throw_error(ErrorCode::invalid_argument, "dims ", text, " do not arrange ", ranks,
                " ranks: their product must be that number");
}

void validate_orders(const AlgorithmChoice& choice, int ranks) {
  const int ordered = choice.per_node > 1 ? choice.per_node : ranks;
  for (const std::vector<int>& order : choice.orders) {
    std::vector<int> sorted = order;
    std::sort(sorted.begin(), sorted.end());
    for (int position = 0; position < ordered; ++position)
      if (sorted.size() != static_cast<std::size_t>(ordered) ||
          sorted[static_cast<std::size_t>(position)] != position)
        throw_error(ErrorCode::invalid_argument, "the order of a ring must have each of ", ordered,
                    choice.per_node > 1 ? " members of a node once" : " positions once");
  }
}

// How many pieces the longest message of a step is cut into.
int chunks_of(const Collective& collective, const AlgorithmChoice& choice,
              const Algorithm& algorithm) {
  if (!choice.chunk_size) return choice.chunks;
  Span message{Buffer::input, 0, collective.count};
  if (!algorithm.messages_exceed_a_block) message = message.piece(0, collective.size());
  const Bytes bytes = message.piece(0, choice.channels).count * size_of(collective.type);
  const Bytes chunks = bytes / *choice.chunk_size + (bytes % *choice.chunk_size > 0 ? 1 : 0);
  if (chunks > max_chunks)
    throw_error(ErrorCode::too_large, "chunk_size ", *choice.chunk_size,
                " bytes cuts a message of ", bytes, " bytes into more than ", max_chunks,
                " chunks");
  return std::max(1, static_cast<int>(chunks));
}

// Algorithms on one vector give every channel and every lane its part before they cut it into
// blocks, the others cut blocks first.
bool blocks_are_equal(const Collective& collective, const Algorithm& algorithm,
                      const AlgorithmChoice& choice) {
  std::int64_t parts = collective.size();
  if (collective.operation == Operation::all_reduce)
    parts *= std::int64_t{choice.channels} * algorithm.lanes;
  return collective.count % parts == 0;
}

bool ranks_are_positions(const Collective& collective) {
  for (std::size_t i = 0; i < collective.group.size(); ++i)
    if (collective.group[i] != Rank(i)) return false;
  return true;
}

// Positions run the same program only where all blocks are equally long; and ranks can be renamed
// like positions only where they are the same numbers.
bool claims_symmetry(const Collective& collective, const Algorithm& algorithm,
                     const AlgorithmChoice& choice) {
  if (algorithm.symmetry == Symmetry::none || choice.per_node > 1 || !choice.orders.empty() ||
      !ranks_are_positions(collective))
    return false;
  if (algorithm.symmetry == Symmetry::exchange &&
      !std::has_single_bit(static_cast<unsigned>(collective.size())))
    return false;  // i xor d is not always a position
  return blocks_are_equal(collective, algorithm, choice);
}

bool claims_node_turns(const Collective& collective, const Algorithm& algorithm,
                       const AlgorithmChoice& choice) {
  if (algorithm.node_pieces == nullptr || choice.per_node == 1 || !ranks_are_positions(collective))
    return false;
  if (choice.orders.empty() && algorithm.node_turns.channels &&
      choice.channels % choice.per_node != 0)
    return false;
  const std::int64_t pieces = algorithm.node_pieces(collective.size(), choice.per_node);
  return collective.count % (pieces * choice.channels) == 0;
}

Task task_of(const Plan& plan, int position, int channel, int role) {
  const Collective& collective = plan.collective;
  const Lane lane(static_cast<std::size_t>(channel * plan.algorithm->lanes + role));
  Task task;
  task.group = Group(collective.group.data(), collective.size(), position, lane);
  task.root = collective.root;
  task.role = role;
  task.channel = {channel, plan.channels};
  task.count = collective.count;
  task.input = {Buffer::input, 0, input_count(collective, position)};
  task.output = {Buffer::output, 0, output_count(collective, position)};
  task.in_place = collective.in_place;
  task.radix = plan.radix;
  task.aggregation = plan.aggregation;
  task.dims = plan.dims;
  task.per_node = plan.per_node;
  if (!plan.orders.empty())
    task.order = plan.orders[static_cast<std::size_t>(channel) % plan.orders.size()];
  task.collective = &plan.collective;
  return task;
}

// Every channel gets as much scratch as the first, whose share of the data is the largest.
std::int64_t scratch_per_channel(const Plan& plan, int position) {
  return plan.algorithm->scratch ? plan.algorithm->scratch(task_of(plan, position, 0, 0)) : 0;
}

Span own_block(const Task& task) {
  const int me = task.group.me();
  switch (task.collective->operation) {
    case Operation::all_reduce: return Blocks(task.share(task.output), task.group.size())[me];
    case Operation::all_gather: return task.blocks(task.output)[me];
    case Operation::reduce_scatter: return task.share(task.output);
    default: return {};
  }
}

Program with_local_pass(Program program, Span block) {
  co_yield std::move(program);
  if (block.count > 0) co_yield copy(block, block);
}

LaneProgram program_of(const Plan& plan, int position, Lane lane) {
  const int channel = static_cast<int>(lane.index()) / plan.algorithm->lanes;
  const int role = static_cast<int>(lane.index()) % plan.algorithm->lanes;
  Task task = task_of(plan, position, channel, role);
  const std::int64_t scratch = scratch_per_channel(plan, position);
  task.scratch = {Buffer::scratch, channel * scratch, scratch};
  Program program = plan.algorithm->program(task);
  if (plan.local_pass && plan.algorithm->lanes == 1)
    program = with_local_pass(std::move(program), own_block(task));
  return {std::move(program), plan.chunks};
}

}  // namespace

bool takes_root(const Algorithm& algorithm) {
  return has_root(algorithm.operation) || algorithm.knobs.root;
}

const std::vector<const Algorithm*>& algorithms(Operation operation) {
  static const std::map<Operation, std::vector<const Algorithm*>> found = [] {
    std::map<Operation, std::vector<const Algorithm*>> rows;
    for (const Algorithm& row : algorithms()) rows[row.operation].push_back(&row);
    return rows;
  }();
  return found.at(operation);
}

std::string algorithms_with(bool OwnKnobs::*knob) {
  std::vector<std::string_view> names;
  for (const Algorithm& row : algorithms())
    if (row.knobs.*knob && std::find(names.begin(), names.end(), row.name) == names.end())
      names.push_back(row.name);
  std::string text = names.size() == 1 ? "the algorithm " : "the algorithms ";
  for (std::size_t i = 0; i < names.size(); ++i)
    text += (i == 0 ? "" : i + 1 < names.size() ? ", " : " and ") + std::string(names[i]);
  return text;
}

const Algorithm& find_algorithm(Operation operation, std::string_view name) {
  const std::vector<const Algorithm*>& rows = algorithms(operation);
  if (name.empty()) return *rows.front();
  if (is_listed(name)) return listed_algorithm(operation);
  std::vector<std::string_view> known;
  for (const Algorithm* row : rows) {
    if (row->name == name) return *row;
    if (std::find(row->aliases.begin(), row->aliases.end(), name) != row->aliases.end())
      return *row;
    known.push_back(row->name);
  }
  throw_unknown_name(std::string(to_string(operation)) + " algorithm", name, known);
}

void validate(const AlgorithmChoice& choice, const Algorithm& algorithm, int ranks) {
  need_range("chunks", choice.chunks, 1, max_chunks);
  need_range("channels", choice.channels, 1, max_channels);
  need_range("channels times lanes of the algorithm",
             std::int64_t{choice.channels} * algorithm.lanes, 1, max_lanes);
  if (choice.chunk_size) need_positive("chunk_size", *choice.chunk_size);
  if (choice.chunk_size && choice.chunks > 1)
    throw_error(ErrorCode::invalid_argument, "chunks (", choice.chunks, ") and chunk_size (",
                *choice.chunk_size, " bytes) exclude each other: give one of them");
  if (choice.slots) need_positive("slots", *choice.slots);
  need_range("radix", choice.radix, 2, max_radix);
  if (choice.aggregation) need_positive("aggregation", *choice.aggregation);
  validate_dims(choice.dims, ranks);
  if (choice.per_node < 1 || ranks % choice.per_node != 0)
    throw_error(
        ErrorCode::invalid_argument,
        std::to_string(ranks) + " ranks do not fill nodes of " + std::to_string(choice.per_node));
  validate_orders(choice, ranks);
  const std::string reason = algorithm.why_not ? algorithm.why_not(ranks) : "";
  if (!reason.empty())
    throw_error(ErrorCode::unsupported_ranks, to_string(algorithm.operation), " '", algorithm.name,
                "' does not work with ", ranks, " ranks: ", reason);
}

Schedule make_schedule(const Collective& collective, const AlgorithmChoice& choice) {
  if (is_listed(choice.name)) return make_listed_schedule(collective, choice);
  validate(collective);
  const Algorithm& algorithm = find_algorithm(collective.operation, choice.name);
  validate(choice, algorithm, collective.size());
  auto plan = std::make_shared<Plan>();
  plan->collective = collective;
  plan->algorithm = &algorithm;
  plan->chunks = chunks_of(collective, choice, algorithm);
  plan->channels = choice.channels;
  plan->radix = choice.radix;
  plan->aggregation = choice.aggregation;
  plan->per_node = choice.per_node;
  plan->orders = choice.orders;
  plan->local_pass = choice.local_pass;
  plan->dims = choice.dims.empty() ? natural_dims(algorithm, collective.size()) : choice.dims;

  Schedule::Parts parts;
  parts.collective = collective;
  parts.algorithm = algorithm.name;
  parts.lanes = choice.channels * algorithm.lanes;
  parts.slots = choice.slots;
  if (algorithm.scratch)
    parts.scratch_count = [plan](int position) {
      return plan->channels * scratch_per_channel(*plan, position);
    };
  if (claims_symmetry(collective, algorithm, choice)) {
    parts.symmetry = algorithm.symmetry;
    parts.dims = plan->dims;
  }
  if (claims_node_turns(collective, algorithm, choice)) {
    parts.members = plan->per_node;
    parts.node_turns = algorithm.node_turns;
    // An order tells the members apart.
    if (!plan->orders.empty()) parts.node_turns.members = parts.node_turns.channels = false;
  }
  parts.exchanges_in_rounds =
      algorithm.exchanges_in_rounds && blocks_are_equal(collective, algorithm, choice);
  parts.chunks = plan->chunks;
  parts.channels = plan->channels;
  parts.lanes_in_switch = algorithm.lanes_in_switch;
  parts.lanes_in_network = algorithm.lanes_in_network;
  parts.program = [plan](int position, Lane lane) { return program_of(*plan, position, lane); };
  return Schedule(std::move(parts));
}

namespace {

bool is_grid(const Topology& topology) {
  return topology.shape() == "torus" || topology.shape() == "mesh";
}

bool is_in_order(std::span<const Rank> group) {
  for (std::size_t i = 0; i < group.size(); ++i)
    if (group[i] != Rank(i)) return false;
  return true;
}

// Ranks are arranged as {nodes, ranks of a node}.
bool has_nodes(const Topology& topology) {
  return topology.dims().size() == 2 && !is_grid(topology);
}

}  // namespace

int members_per_node(const Topology& topology, const std::vector<Rank>& group) {
  if (!has_nodes(topology)) return static_cast<int>(group.size());
  const std::vector<int>& dims = topology.dims();
  const auto node_of = [&](std::size_t position) {
    return group[position].index() / static_cast<std::size_t>(dims[1]);
  };
  std::size_t members = 1;
  while (members < group.size() && node_of(members) == node_of(0)) ++members;
  if (group.size() % members != 0) return 1;
  for (std::size_t position = 1; position < group.size(); ++position)
    if ((node_of(position) == node_of(position - 1)) != (position % members != 0)) return 1;
  return static_cast<int>(members);
}

namespace {

const Algorithm* row_of(const AlgorithmChoice& choice, Operation operation) {
  for (const Algorithm* row : algorithms(operation)) {
    const bool named =
        std::find(row->aliases.begin(), row->aliases.end(), choice.name) != row->aliases.end();
    if (row->name == choice.name || named) return row;
  }
  return nullptr;
}

// Whether its lanes need to know which ranks share a node, because their switches differ, or, on
// one node, because they need not go to the network's.
bool runs_in_switches(const AlgorithmChoice& choice, const Topology& topology,
                      const Collective& collective, bool several_nodes) {
  const Algorithm* const row = row_of(choice, collective.operation);
  if (row == nullptr) return false;
  if (row->lanes_in_network > 0)
    return several_nodes || (topology.network_adds() && has_nodes(topology));
  const bool adds = topology.link_to_adding_switch(collective.group.front()).has_value();
  return several_nodes && row->lanes_in_switch > 0 && adds;
}

}  // namespace

void spread_over_nodes(AlgorithmChoice& choice, const Topology& topology,
                       const Collective& collective) {
  const int members = members_per_node(topology, collective.group);
  const bool several_nodes = members < collective.size();
  if ((several_nodes && choice.channels > 1) ||
      runs_in_switches(choice, topology, collective, several_nodes))
    choice.per_node = members;
}

std::vector<int> squarest_dims(int ranks) {
  need_positive("ranks", ranks);
  int rows = 1;
  for (int a = 1; a <= ranks / a; ++a)
    if (ranks % a == 0) rows = a;
  return {rows, ranks / rows};
}

std::vector<int> natural_dims(const Algorithm& algorithm, int ranks) {
  if (algorithm.one_dimension_elsewhere) return {ranks};
  return squarest_dims(ranks);
}

std::vector<int> natural_dims(const Algorithm& algorithm, const Topology& topology,
                              std::span<const Rank> group) {
  const std::vector<int>& dims = topology.dims();
  std::size_t product = dims.empty() ? 0 : 1;
  for (const int dim : dims) product *= static_cast<std::size_t>(dim);
  const bool usable = !algorithm.one_dimension_elsewhere || is_grid(topology);
  if (product == group.size() && is_in_order(group) && usable) return dims;
  return natural_dims(algorithm, static_cast<int>(group.size()));
}

int dimensions_to_cross(std::span<const int> dims) {
  return static_cast<int>(std::count_if(dims.begin(), dims.end(), [](int dim) { return dim > 1; }));
}

int default_channels(const Algorithm& algorithm, std::span<const int> dims,
                     const Topology& topology, std::span<const Rank> group) {
  if (!algorithm.channel_per_direction || !is_grid(topology)) return 1;
  const std::vector<int>& of_network = topology.dims();
  if (!std::equal(dims.begin(), dims.end(), of_network.begin(), of_network.end())) return 1;
  if (!is_in_order(group)) return 1;
  const bool both_ways = topology.shape() == "torus" &&
                         std::any_of(dims.begin(), dims.end(), [](int dim) { return dim > 2; });
  return std::max(1, dimensions_to_cross(dims) * (both_ways ? 2 : 1));
}

}  // namespace collsim
