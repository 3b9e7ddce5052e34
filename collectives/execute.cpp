// SPDX-License-Identifier: Apache-2.0
#include "collectives/execute.hpp"

#include <algorithm>
#include <cstring>
#include <deque>
#include <map>
#include <random>
#include <utility>

namespace collsim {

namespace {

using Bytestring = std::vector<std::byte>;
constexpr std::int64_t max_memory = std::int64_t{4} << 30;

std::string name(int position, Lane lane) {
  return concat("position ", position, " lane ", lane.index());
}

class Executor {
 public:
  Executor(const Schedule& schedule, const std::vector<Bytestring>& inputs,
           const ExecutionOptions& options)
      : schedule_(schedule), options_(options), random_(options.visit_seed.value_or(0)) {
    for (int position = 0; position < schedule.size(); ++position) {
      memory_.emplace_back(schedule, position, inputs[static_cast<std::size_t>(position)]);
      positions_[schedule.rank(position)] = position;
      if (position == options.held_back) continue;
      for (int lane = 0; lane < schedule.lanes(); ++lane) {
        const Lane id{static_cast<std::size_t>(lane)};
        runners_.push_back({position, id, schedule.program(position, id)});
      }
    }
  }

  ExecutionResult run() {
    for (Runner& runner : runners_) fetch(runner);
    for (bool progress = true; progress && result_.problem.empty();) {
      progress = false;
      for (Runner* runner : visiting_order()) {
        std::int64_t turns = options_.visit_seed ? 1 + static_cast<std::int64_t>(random_() % 3) : 1;
        while (turns-- > 0 && runner->current && result_.problem.empty() && step(*runner))
          progress = true;
      }
    }
    conclude();
    return std::move(result_);
  }

 private:
  using LaneKey = std::pair<int, Lane>;
  struct Runner {
    int position;
    Lane lane;
    LaneProgram program;
    const Instruction* current = nullptr;
    std::int64_t step = -1;
  };

  std::vector<Runner*> visiting_order() {
    std::vector<Runner*> order;
    for (Runner& runner : runners_) order.push_back(&runner);
    if (!options_.visit_seed) return order;
    for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random_() % i]);
    return order;
  }

  void fetch(Runner& runner) {
    runner.current = runner.program.next();
    ++runner.step;
  }

  void refuse(const Runner& runner, const std::string& why,
              ExecutionResult::Status status = ExecutionResult::Status::invalid) {
    result_.status = status;
    result_.problem = concat(name(runner.position, runner.lane), " step ", runner.step, " (",
                             to_string(runner.current->op), ") ", why);
  }

  // The place of an endpoint, or nothing when there is no such place.
  [[nodiscard]] std::optional<LaneKey> find(const Endpoint& endpoint) const {
    const auto at = positions_.find(endpoint.rank);
    if (at == positions_.end() ||
        endpoint.lane.index() >= static_cast<std::size_t>(schedule_.lanes()))
      return std::nullopt;
    return LaneKey{at->second, endpoint.lane};
  }

  // What a lane cannot go on without, or "".
  [[nodiscard]] std::string blocked_by(const Runner& runner) const {
    const Instruction& instruction = *runner.current;
    const LaneKey me{runner.position, runner.lane};
    const auto from = find(instruction.from);
    const auto to = find(instruction.to);
    if (receives(instruction.op) && from) {
      const auto queue = messages_.find({*from, me});
      if (queue == messages_.end() || queue->second.empty())
        return "a message from " + name(from->first, from->second);
    }
    if (sends(instruction.op) && to && schedule_.slots()) {
      const auto queue = messages_.find({me, *to});
      if (queue != messages_.end() &&
          queue->second.size() >= static_cast<std::size_t>(*schedule_.slots()))
        return "a free slot to " + name(to->first, to->second);
    }
    if (instruction.op == Op::wait && from) {
      const auto count = signals_.find({*from, me});
      if (count == signals_.end() || count->second == 0)
        return "a signal from " + name(from->first, from->second);
    }
    return "";
  }

  // Executes the current instruction if nothing blocks it; says whether it did.
  bool step(Runner& runner) {
    const Instruction& instruction = *runner.current;
    if (!check_operands(runner)) return false;
    if (!blocked_by(runner).empty()) return false;
    if (!apply(runner)) return false;
    if (options_.after_each)
      options_.after_each({runner.position, runner.lane, runner.step, instruction,
                           memory_[static_cast<std::size_t>(runner.position)]});
    if (++result_.instructions >= options_.max_instructions)
      refuse(runner, "is one instruction too many", ExecutionResult::Status::too_long);
    else
      fetch(runner);
    return true;
  }

  bool check_operands(const Runner& runner) {
    const Instruction& instruction = *runner.current;
    const Op op = instruction.op;
    const RankMemory& memory = memory_[static_cast<std::size_t>(runner.position)];
    const auto is_buffer = [](Buffer buffer) { return buffer <= Buffer::scratch; };
    if (!exists(op) || !is_buffer(instruction.source_buffer) ||
        !is_buffer(instruction.destination_buffer))
      return refuse(runner, "is not an instruction"), false;
    const bool waits = op == Op::wait;
    const bool signals = op == Op::signal;
    if (((receives(op) || waits) && !find(instruction.from)) ||
        ((sends(op) || signals) && !find(instruction.to)))
      return refuse(runner, "names a lane that does not exist"), false;
    if ((waits && find(instruction.from)->first != runner.position) ||
        (signals && find(instruction.to)->first != runner.position))
      return refuse(runner, "names a lane of another rank"), false;
    if ((reads(op) && !memory.contains(instruction.source())) ||
        ((stores(op)) && !memory.contains(instruction.destination())))
      return refuse(runner, "leaves its buffer"), false;
    return true;
  }

  bool apply(Runner& runner) {
    const Instruction& instruction = *runner.current;
    const Op op = instruction.op;
    const LaneKey me{runner.position, runner.lane};
    if (op == Op::signal) return ++signals_[{me, *find(instruction.to)}], true;
    if (op == Op::wait) return --signals_[{*find(instruction.from), me}], true;
    RankMemory& memory = memory_[static_cast<std::size_t>(runner.position)];
    const Collective& collective = schedule_.collective();
    Bytestring value;
    if (receives(op)) {
      auto& queue = messages_[{*find(instruction.from), me}];
      value = std::move(queue.front());
      queue.pop_front();
      const Bytes wanted = instruction.count * size_of(collective.type);
      if (static_cast<Bytes>(value.size()) != wanted)
        return refuse(runner, concat("gets ", value.size(), " bytes, not ", wanted)), false;
    }
    if (op == Op::local_reduce) value = memory.copy_of(instruction.destination());
    if (reduces(op)) {
      const Bytestring source = memory.copy_of(instruction.source());
      reduce_elements(collective.type, collective.reduction, value.data(), source.data(),
                      instruction.count);
    } else if (reads(op)) {
      value = memory.copy_of(instruction.source());
    }
    if (stores(op) && !value.empty())
      std::memcpy(memory.at(instruction.destination()), value.data(), value.size());
    if (sends(op)) messages_[{me, *find(instruction.to)}].push_back(std::move(value));
    return true;
  }

  void conclude() {
    result_.finished.assign(static_cast<std::size_t>(schedule_.size()), true);
    if (options_.held_back) result_.finished[static_cast<std::size_t>(*options_.held_back)] = false;
    for (const Runner& runner : runners_) {
      if (!runner.current) continue;
      result_.finished[static_cast<std::size_t>(runner.position)] = false;
      if (result_.status == ExecutionResult::Status::completed)
        result_.stuck.push_back(
            {runner.position, runner.lane, runner.step, *runner.current, blocked_by(runner)});
    }
    if (!result_.stuck.empty()) {
      const auto& first = result_.stuck.front();
      result_.status = ExecutionResult::Status::stuck;
      result_.problem = concat(name(first.position, first.lane), " step ", first.step,
                               " waits forever for ", first.waits_for);
    }
    if (result_.status == ExecutionResult::Status::completed && !options_.held_back)
      look_for_leftovers();
    collect_outputs();
  }

  void look_for_leftovers() {
    const auto report = [&](const std::pair<LaneKey, LaneKey>& connection, const char* what) {
      result_.status = ExecutionResult::Status::invalid;
      result_.problem = std::string(what) + " from " +
                        name(connection.first.first, connection.first.second) + " to " +
                        name(connection.second.first, connection.second.second) +
                        " is left over at the end";
    };
    for (const auto& [connection, count] : signals_)
      if (count > 0) report(connection, "a signal");
    for (const auto& [connection, queue] : messages_)
      if (!queue.empty()) report(connection, "a message");
  }

  void collect_outputs() {
    for (int position = 0; position < schedule_.size(); ++position) {
      const RankMemory& memory = memory_[static_cast<std::size_t>(position)];
      result_.outputs.push_back(
          finished_output(schedule_.collective(), position,
                          memory.copy_of({Buffer::output, 0, memory.size(Buffer::output)})));
    }
  }

  const Schedule& schedule_;
  const ExecutionOptions& options_;
  std::mt19937_64 random_;
  std::map<Rank, int> positions_;
  std::vector<RankMemory> memory_;  // by position
  std::vector<Runner> runners_;
  std::map<std::pair<LaneKey, LaneKey>, std::deque<Bytestring>> messages_;
  std::map<std::pair<LaneKey, LaneKey>, std::int64_t> signals_;
  ExecutionResult result_;
};

void check_inputs(const Schedule& schedule, const std::vector<Bytestring>& inputs) {
  const Collective& collective = schedule.collective();
  if (inputs.size() != collective.group.size())
    throw_error(ErrorCode::invalid_argument, "an execution needs ", collective.size(),
                " inputs, not ", inputs.size());
  Bytes total = 0;
  for (int position = 0; position < schedule.size(); ++position) {
    const Bytes wanted = input_count(collective, position) * size_of(collective.type);
    const std::size_t given = inputs[static_cast<std::size_t>(position)].size();
    if (given != static_cast<std::size_t>(wanted))
      throw_error(ErrorCode::invalid_argument, "the input of position ", position, " must have ",
                  wanted, " bytes, not ", given);
    const std::int64_t scratch = schedule.scratch_count(position);
    Bytes more = 0;
    if (__builtin_add_overflow(scratch, output_count(collective, position), &more) ||
        __builtin_mul_overflow(more, size_of(collective.type), &more) ||
        __builtin_add_overflow(more, wanted, &more) ||
        __builtin_add_overflow(total, more, &total) || scratch < 0 || total > max_memory)
      throw_error(ErrorCode::too_large,
                  "an execution in one process is limited to 4 GiB of memory for all ranks");
  }
}

// As large as f32 counts exactly: more tells nothing more.
constexpr double largest_input_sum = 16'777'216;

// The largest n for which 2^n is a number of the type.
int exponent_limit(ElementType type) {
  switch (type) {
    case ElementType::i8: return 6;
    case ElementType::u8: return 7;
    case ElementType::f16: return 15;
    default: return 30;
  }
}

Bytestring drawn_input(const Collective& collective, int position, std::uint64_t seed,
                       std::mt19937_64& random) {
  const int ranks = collective.size();
  const Bytes element = size_of(collective.type);
  const bool product = collective.reduction == Reduction::prod;
  // With more ranks than the type can add up or multiply, only every n-th may contribute.
  const double limit = product ? exponent_limit(collective.type)
                               : std::min(exact_limit(collective.type), largest_input_sum);
  const auto every = static_cast<std::uint64_t>(ranks / limit) + 1;
  const auto largest = static_cast<std::uint64_t>(
      std::clamp(limit * static_cast<double>(every) / ranks, 1.0, 100.0));
  const bool contributes = (static_cast<std::uint64_t>(position) + seed) % every == 0;
  const std::int64_t count = input_count(collective, position);
  Bytestring input(static_cast<std::size_t>(count * element));
  for (std::int64_t i = 0; i < count; ++i) {
    std::uint64_t value = product ? random() % 2 : random() % (largest + 1);
    if (!contributes) value = 0;
    from_number(collective.type, static_cast<double>(product ? value + 1 : value),
                input.data() + i * element);
  }
  return input;
}

}  // namespace

RankMemory::RankMemory(const Schedule& schedule, int position, const Bytestring& input)
    : element_(static_cast<std::size_t>(size_of(schedule.collective().type))) {
  const Collective& collective = schedule.collective();
  const Aliasing shared = aliasing(collective, position);
  areas_[0] = {0, 0, input_count(collective, position)};
  areas_[1] = {1, 0, output_count(collective, position)};
  areas_[2] = {2, 0, schedule.scratch_count(position)};
  if (shared.shared) {
    areas_[0].block = 1;
    areas_[0].offset = shared.input_at;
    areas_[1].offset = shared.output_at;
  }
  for (const Area& area : areas_) {
    Bytestring& block = blocks_[area.block];
    const std::size_t bytes = static_cast<std::size_t>(area.offset + area.count) * element_;
    block.resize(std::max(block.size(), bytes), poison);
  }
  if (!input.empty())
    std::memcpy(at({Buffer::input, 0, areas_[0].count}), input.data(), input.size());
}

bool RankMemory::contains(const Span& span) const {
  const std::int64_t count = size(span.buffer);
  return span.offset >= 0 && span.count >= 0 && span.offset <= count &&
         span.count <= count - span.offset;
}

std::byte* RankMemory::at(const Span& span) {
  const Area& place = area(span.buffer);
  return blocks_[place.block].data() +
         static_cast<std::size_t>(place.offset + span.offset) * element_;
}

const std::byte* RankMemory::at(const Span& span) const {
  const Area& place = area(span.buffer);
  return blocks_[place.block].data() +
         static_cast<std::size_t>(place.offset + span.offset) * element_;
}

Bytestring RankMemory::copy_of(const Span& span) const {
  const std::byte* first = at(span);
  return {first, first + static_cast<std::size_t>(span.count) * element_};
}

ExecutionResult execute(const Schedule& schedule, const std::vector<Bytestring>& inputs,
                        const ExecutionOptions& options) {
  check_inputs(schedule, inputs);
  return Executor(schedule, inputs, options).run();
}

Bytestring finished_output(const Collective& collective, int position, Bytestring raw) {
  if (collective.reduction != Reduction::avg) return raw;
  for (const Requirement& required : requirements(collective, position))
    if (!required.from)
      finish_average(collective.type,
                     raw.data() + required.output_offset * size_of(collective.type), required.count,
                     collective.size());
  return raw;
}

Bytestring expected_output(const Collective& collective, const std::vector<Bytestring>& inputs,
                           int position) {
  const Bytes element = size_of(collective.type);
  Bytestring output(static_cast<std::size_t>(output_count(collective, position) * element), poison);
  for (const Requirement& required : requirements(collective, position)) {
    if (required.count == 0) continue;
    std::byte* to = output.data() + required.output_offset * element;
    const auto input_of = [&](int j) {
      return inputs[static_cast<std::size_t>(j)].data() + required.input_offset * element;
    };
    std::memcpy(to, input_of(required.from.value_or(0)),
                static_cast<std::size_t>(required.count * element));
    if (required.from) continue;
    for (int j = 1; j < collective.size(); ++j)
      reduce_elements(collective.type, collective.reduction, to, input_of(j), required.count);
    if (collective.reduction == Reduction::avg)
      finish_average(collective.type, to, required.count, collective.size());
  }
  return output;
}

std::vector<Bytestring> make_test_inputs(const Collective& collective, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<Bytestring> inputs;
  inputs.reserve(static_cast<std::size_t>(collective.size()));
  for (int position = 0; position < collective.size(); ++position)
    inputs.push_back(drawn_input(collective, position, seed, random));
  return inputs;
}

Bytestring make_test_input(const Collective& collective, int position, std::uint64_t seed,
                           std::uint64_t variant) {
  std::mt19937_64 random(variant);
  return drawn_input(collective, position, seed, random);
}

}  // namespace collsim
