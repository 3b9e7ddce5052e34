// SPDX-License-Identifier: Apache-2.0
#include "collectives/listed_schedule.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

namespace collsim {
namespace {

// What all programs of a listed schedule share.
struct ListPlan {
  std::shared_ptr<const ListedSchedule> list;
  Collective collective;
  std::int64_t block = 0;  // elements
  int runs = 1;
};

// The i-th block of an instruction, or all of them, in one run of several.
Instruction instruction_of(const ListPlan& plan, const ListedInstruction& listed, int block,
                           int blocks, int run) {
  const auto rank_of = [&plan](const Endpoint& endpoint) {
    return Endpoint{plan.collective.group[endpoint.rank.index()], endpoint.lane};
  };
  const Span part = Span{Buffer::scratch, 0, plan.block}.piece(run, plan.runs);
  Instruction result;
  result.op = listed.op;
  result.source_buffer = listed.source_buffer;
  result.destination_buffer = listed.destination_buffer;
  if (takes_from_lane(listed.op)) result.from = rank_of(listed.from);
  if (gives_to_lane(listed.op)) result.to = rank_of(listed.to);
  result.source_offset = (listed.source + block) * plan.block + part.offset;
  result.destination_offset = (listed.destination + block) * plan.block + part.offset;
  result.count = blocks * part.count;
  return result;
}

// In several runs the blocks of a message are not next to each other, and go one by one.
Program listed_program(const ListPlan* plan, const std::vector<ListedInstruction>* steps) {
  for (int run = 0; run < plan->runs; ++run)
    for (const ListedInstruction& step : *steps) {
      if (plan->runs == 1 || orders_lanes(step.op)) {
        co_yield whole(instruction_of(*plan, step, 0, step.count, run));
        continue;
      }
      for (int block = 0; block < step.count; ++block)
        co_yield whole(instruction_of(*plan, step, block, 1, run));
    }
}

std::string counted(std::int64_t number, const char* thing) {
  return std::to_string(number) + " " + thing + (number == 1 ? "" : "s");
}

void need_fitting_form(const Collective& collective, const ListedSchedule& list) {
  if (list.operation && *list.operation != collective.operation)
    throw_error(ErrorCode::invalid_argument,
                list.file + " holds a program for " + std::string(to_string(*list.operation)) +
                    ", not for " + std::string(to_string(collective.operation)));
  if (collective.size() != list.positions)
    throw_error(ErrorCode::unsupported_ranks, list.file + " holds programs for " +
                                                  counted(list.positions, "rank") + ", not " +
                                                  std::to_string(collective.size()));
  if (collective.in_place ? !list.in_place : !list.out_of_place)
    throw_error(ErrorCode::invalid_argument,
                list.file + " holds a program for buffers that are " +
                    (collective.in_place ? "not in place" : "in place"));
}

void need_even_blocks(const Collective& collective, const ListedSchedule& list) {
  const std::int64_t more = collective.count % list.blocks;
  if (more == 0) return;
  const std::int64_t below = collective.count - more;
  throw_error(ErrorCode::invalid_argument,
              list.file + " cuts the data into " + counted(list.blocks, "equal block") + ", and " +
                  counted(collective.count, "element") + " cannot be: use " +
                  (below == 0 ? "" : std::to_string(below * size_of(collective.type)) + "B or ") +
                  std::to_string((below + list.blocks) * size_of(collective.type)) + "B");
}

int runs_of(const Collective& collective, const AlgorithmChoice& choice, std::int64_t block) {
  if (!choice.chunk_size) return choice.chunks;
  const Bytes bytes = block * size_of(collective.type);
  const Bytes runs = bytes / *choice.chunk_size + (bytes % *choice.chunk_size > 0 ? 1 : 0);
  if (runs > max_chunks)
    throw_error(ErrorCode::too_large, "chunk_size " + std::to_string(*choice.chunk_size) +
                                          " bytes cuts a block of " + std::to_string(bytes) +
                                          " bytes into more than " + std::to_string(max_chunks) +
                                          " chunks");
  return std::max(1, static_cast<int>(runs));
}

std::int64_t most_scratch(const ListedSchedule& list) {
  const auto most = std::max_element(list.scratch.begin(), list.scratch.end());
  return most == list.scratch.end() ? 0 : *most;
}

constexpr std::size_t operations = 10;

std::array<Algorithm, operations> listed_algorithms() {
  std::array<Algorithm, operations> rows;
  for (const Operation operation : all_operations()) {
    Algorithm& row = rows[static_cast<std::size_t>(operation)];
    row.operation = operation;
    row.name = "msccl";
    row.summary = "the program that an MSCCL file lists";
  }
  return rows;
}

}  // namespace

const Algorithm& listed_algorithm(Operation operation) {
  static const std::array<Algorithm, operations> rows = listed_algorithms();
  return rows[static_cast<std::size_t>(operation)];
}

Schedule make_listed_schedule(const Collective& collective, const AlgorithmChoice& choice) {
  COLLSIM_CHECK(choice.list != nullptr, "a listed schedule comes with its list");
  const ListedSchedule& list = *choice.list;
  validate(collective);
  validate(choice, listed_algorithm(collective.operation), collective.size());
  need_fitting_form(collective, list);
  need_even_blocks(collective, list);
  if (choice.channels > 1)
    throw_error(ErrorCode::invalid_argument,
                list.file + " has its own channels; omit \"channels\"");
  auto plan = std::make_shared<ListPlan>();
  plan->list = choice.list;
  plan->collective = collective;
  plan->block = collective.count / list.blocks;
  plan->runs = runs_of(collective, choice, plan->block);
  std::int64_t scratch = 0;
  if (__builtin_mul_overflow(plan->block, most_scratch(list), &scratch) ||
      __builtin_mul_overflow(scratch, size_of(collective.type), &scratch))
    throw_error(ErrorCode::overflow, list.file + " needs more scratch than 64 bits can count");

  Schedule::Parts parts;
  parts.collective = collective;
  parts.algorithm = choice.name;
  parts.lanes = list.lanes;
  parts.slots = choice.slots;
  parts.chunks = plan->runs;
  if (most_scratch(list) > 0)
    parts.scratch_count = [plan](int position) {
      return plan->block * plan->list->scratch[static_cast<std::size_t>(position)];
    };
  parts.program = [plan](int position, Lane lane) -> LaneProgram {
    return listed_program(plan.get(), &plan->list->program(position, lane));
  };
  parts.exchanges_in_rounds = programs_exchange_in_rounds(Schedule(parts));
  return Schedule(std::move(parts));
}

CheckReport check_in_blocks(const ListedSchedule& list, Collective collective) {
  collective.count = list.blocks;
  AlgorithmChoice choice;
  choice.name = std::string(listed_prefix) + list.file;
  choice.list = {std::shared_ptr<void>(), &list};
  return check(make_listed_schedule(collective, choice));
}

std::string describe(const ListedSchedule& list) {
  return "\"" + list.title + "\" for " + counted(list.positions, "rank") + ", " + list.protocol +
         ", " + counted(list.blocks, "block") + ", " + counted(list.lanes, "lane") +
         " of a rank, " + counted(list.channels, "channel");
}

std::string fault_in_file(const ListedSchedule& list, const Collective& collective,
                          const Fault& fault) {
  const auto rank = std::find(collective.group.begin(), collective.group.end(), fault.rank);
  const auto position = static_cast<int>(rank - collective.group.begin());
  const std::vector<ListedInstruction>& program = list.program(position, fault.lane);
  if (fault.step < 0 || fault.step >= static_cast<std::int64_t>(program.size())) return fault.text;
  const ListedInstruction& at = program[static_cast<std::size_t>(fault.step)];
  return "gpu " + std::to_string(position) + ", thread block " +
         std::to_string(at.block_of_threads) + ", step " + std::to_string(at.step) + " (line " +
         std::to_string(at.line) + "): " + fault.text;
}

}  // namespace collsim
