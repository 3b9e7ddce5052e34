// SPDX-License-Identifier: Apache-2.0
#include "app/show/program_buffers.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <deque>
#include <map>
#include <memory>
#include <tuple>
#include <utility>

#include "app/output/text_table.hpp"
#include "app/scenario/workload/program.hpp"
#include "app/scenario/workload/workload.hpp"
#include "collectives/element.hpp"
#include "collectives/workload_checker.hpp"
#include "topo/error.hpp"

namespace collsim {
namespace {

using Values = ProgramBuffers::Values;

double rounded(ElementType type, double value) {
  std::array<std::byte, 8> element{};
  from_number(type, value, element.data());
  return to_number(type, element.data());
}

std::vector<std::byte> elements(ElementType type, const std::vector<double>& values) {
  const auto size = static_cast<std::size_t>(size_of(type));
  std::vector<std::byte> bytes(values.size() * size);
  for (std::size_t e = 0; e < values.size(); ++e)
    from_number(type, values[e], bytes.data() + e * size);
  return bytes;
}

// One stream of a rank, and what it is to do next.
struct StreamCursor {
  int rank = 0;
  std::uint16_t stream = 0;
  std::unique_ptr<ProgramWalk> walk;
  const ProgramStep* step = nullptr;  // null: it has ended
  std::vector<std::int64_t> calls;    // so far in the program, by communicator
  bool has_arrived = false;           // at the call that it is in
};

struct CallInputs {
  std::vector<Values> inputs;  // by position
  std::size_t here = 0, gone = 0;
};

class ProgramRun {
 public:
  explicit ProgramRun(const WrittenProgram& program) : program_(program) {
    buffers_.names = program.buffers;
    const auto ranks = static_cast<std::size_t>(program.ranks);
    buffers_.before.assign(ranks, std::vector<Values>(program.buffers.size()));
    for (std::size_t b = 0; b < program.data.size(); ++b)
      for (std::size_t rank = 0; rank < program.data[b].values.size(); ++rank)
        if (!program.data[b].values[rank].empty())
          buffers_.before[rank][b] = program.data[b].values[rank];
    buffers_.after = buffers_.before;
  }

  ProgramBuffers run() {
    for (int rank = 0; rank < program_.ranks; ++rank)
      for (std::size_t stream = 0; stream < program_.streams.size(); ++stream) begin(rank, stream);
    for (bool progress = true; progress;) {
      progress = false;
      for (StreamCursor& cursor : cursors_)
        while (cursor.step != nullptr && carry_out(cursor)) {
          next(cursor);
          progress = true;
        }
    }
    const bool ended = std::all_of(cursors_.begin(), cursors_.end(),
                                   [](const StreamCursor& one) { return one.step == nullptr; });
    if (!ended) buffers_.problem = "the program never ends: \"collsim check\" says why";
    return std::move(buffers_);
  }

 private:
  void begin(int rank, std::size_t stream) {
    StreamCursor cursor{rank, static_cast<std::uint16_t>(stream)};
    cursor.walk = std::make_unique<ProgramWalk>(program_, Rank(static_cast<std::size_t>(rank)));
    cursor.calls.resize(program_.communicators.size());
    next(cursor);
    if (cursor.step != nullptr) cursors_.push_back(std::move(cursor));
  }

  static void next(StreamCursor& cursor) {
    cursor.has_arrived = false;
    while ((cursor.step = cursor.walk->next()) != nullptr) {
      const Action& action = cursor.step->action;
      if (!cursor.step->is_set && action.kind == Action::Kind::collective)
        ++cursor.calls[action.communicator];
      if (action.stream == cursor.stream) return;
    }
  }

  // A message of no buffer.
  static bool is_bare(const ProgramStep& step) { return step.op->buffer == ProgramOp::none; }
  [[nodiscard]] Values& value(int rank, std::size_t buffer) {
    return buffers_.after[static_cast<std::size_t>(rank)][buffer];
  }

  // False: it has to wait.
  bool carry_out(StreamCursor& cursor) {
    const ProgramStep& step = *cursor.step;
    if (step.is_set) {
      set(cursor);
      return true;
    }
    const Action& action = step.action;
    const auto peer = static_cast<int>(action.peer.index());
    switch (action.kind) {
      case Action::Kind::work:
      case Action::Kind::update:
      case Action::Kind::drain: return true;
      case Action::Kind::record:
        ++records_[{cursor.rank, action.stream, action.other}];
        return true;
      case Action::Kind::wait:
        return records_[{cursor.rank, action.other, action.stream}] >= action.amount;
      case Action::Kind::send:
        messages_[{cursor.rank, action.stream, peer, action.other}].push_back(
            is_bare(step) ? Values() : value(cursor.rank, step.op->buffer));
        return true;
      case Action::Kind::receive: {
        auto& queue = messages_[{peer, action.other, cursor.rank, action.stream}];
        if (queue.empty()) return false;
        if (!is_bare(step)) value(cursor.rank, step.op->buffer) = std::move(queue.front());
        queue.pop_front();
        return true;
      }
      case Action::Kind::collective: return call(cursor);
    }
    return true;
  }

  void set(const StreamCursor& cursor) {
    const ProgramOp::Assignment& assignment = cursor.step->op->assignments[cursor.step->assignment];
    const std::vector<std::size_t> from = assignment.value.buffers();
    const ElementType type = cursor.walk->shapes()[assignment.buffer].type;
    Values& result = value(cursor.rank, assignment.buffer);
    std::size_t count = from.empty() && result ? result->size() : 1;
    for (const std::size_t buffer : from) {
      const Values& operand = value(cursor.rank, buffer);
      if (!operand) {
        result.reset();
        return;
      }
      count = std::max(count, operand->size());
    }
    std::vector<double> values(count);
    for (std::size_t i = 0; i < count; ++i) {
      const auto element = [&](std::size_t buffer) {
        const std::vector<double>& operand = *value(cursor.rank, buffer);
        return operand[operand.size() == 1 ? 0 : i];
      };
      const auto found = assignment.value(cursor.walk->numbers(), element);
      if (!found.number) {
        buffers_.problem =
            fmt::format("{} has no value on rank {}: {}", program_.buffers[assignment.buffer],
                        cursor.rank, found.why_not);
        result.reset();
        return;
      }
      values[i] = rounded(type, *found.number);
    }
    result = std::move(values);
  }

  bool call(StreamCursor& cursor) {
    const Action& action = cursor.step->action;
    const auto& groups = program_.communicators[action.communicator].groups;
    const Rank me(static_cast<std::size_t>(cursor.rank));
    const auto group = std::find_if(groups.begin(), groups.end(), [me](const auto& ranks) {
      return std::find(ranks.begin(), ranks.end(), me) != ranks.end();
    });
    const auto position =
        static_cast<std::size_t>(std::find(group->begin(), group->end(), me) - group->begin());
    const std::tuple key{action.communicator, group - groups.begin(),
                         cursor.calls[action.communicator]};
    CallInputs& open = calls_[key];
    open.inputs.resize(group->size());
    const std::size_t buffer = cursor.step->op->buffer;
    if (!cursor.has_arrived) {
      cursor.has_arrived = true;
      ++open.here;
      if (buffer != ProgramOp::none) open.inputs[position] = value(cursor.rank, buffer);
    }
    if (open.here < group->size()) return false;
    if (buffer != ProgramOp::none) {
      const auto root = static_cast<std::size_t>(action.call.root);
      const bool only_root =
          action.call.operation == Operation::reduce || action.call.operation == Operation::gather;
      if (!only_root || position == root)
        value(cursor.rank, cursor.step->op->into) = output(action.call, open.inputs, position);
    }
    if (++open.gone == group->size()) calls_.erase(key);
    return true;
  }

  static Values output(const Call& call, const std::vector<Values>& inputs, std::size_t position) {
    const auto members = static_cast<std::int64_t>(inputs.size());
    const auto piece = [&](std::size_t which) {
      const auto number = static_cast<std::int64_t>(which);
      const std::int64_t longer = call.count % members;
      const std::int64_t begin = number * (call.count / members) + std::min(number, longer);
      return std::pair(begin, begin + call.count / members + (number < longer ? 1 : 0));
    };
    const auto cut = [](const Values& whole, std::pair<std::int64_t, std::int64_t> part) {
      if (!whole || static_cast<std::int64_t>(whole->size()) < part.second) return Values();
      return Values(std::vector<double>(whole->begin() + part.first, whole->begin() + part.second));
    };
    const auto joined = [&](const auto& part_of) {
      std::vector<double> all;
      for (std::size_t i = 0; i < inputs.size(); ++i) {
        const Values part = part_of(i);
        if (!part) return Values();
        all.insert(all.end(), part->begin(), part->end());
      }
      return Values(std::move(all));
    };
    const auto root = static_cast<std::size_t>(call.root);
    switch (call.operation) {
      case Operation::broadcast: return inputs[root];
      case Operation::scatter: return cut(inputs[root], piece(position));
      case Operation::all_gather:
      case Operation::gather: return joined([&](std::size_t i) { return inputs[i]; });
      case Operation::all_to_all:
        return joined([&](std::size_t i) { return cut(inputs[i], piece(position)); });
      case Operation::reduce_scatter: return cut(reduced(call, inputs), piece(position));
      default: return reduced(call, inputs);
    }
  }

  static Values reduced(const Call& call, const std::vector<Values>& inputs) {
    Values result = inputs.front();
    if (!result) return result;
    const auto count = static_cast<std::int64_t>(result->size());
    std::vector<std::byte> reduced = elements(call.type, *result);
    for (std::size_t i = 1; i < inputs.size(); ++i) {
      if (!inputs[i] || inputs[i]->size() != result->size()) return std::nullopt;
      const std::vector<std::byte> other = elements(call.type, *inputs[i]);
      reduce_elements(call.type, call.reduction, reduced.data(), other.data(), count);
    }
    if (call.reduction == Reduction::avg)
      finish_average(call.type, reduced.data(), count, static_cast<std::int64_t>(inputs.size()));
    for (std::size_t e = 0; e < result->size(); ++e)
      (*result)[e] =
          to_number(call.type, reduced.data() + e * static_cast<std::size_t>(size_of(call.type)));
    return result;
  }

  const WrittenProgram& program_;
  ProgramBuffers buffers_;
  std::vector<StreamCursor> cursors_;
  std::map<std::tuple<int, std::uint16_t, std::uint16_t>, std::int64_t> records_;
  std::map<std::tuple<int, std::uint16_t, int, std::uint16_t>, std::deque<Values>> messages_;
  std::map<std::tuple<std::uint16_t, std::ptrdiff_t, std::int64_t>, CallInputs> calls_;
};

// Whole numbers with all digits, as long as these are true.
std::string number_in_full(double number) {
  constexpr double exact = 9'007'199'254'740'992;  // 2^53
  const bool is_whole = std::trunc(number) == number && std::abs(number) <= exact;
  return is_whole ? fmt::format("{:.0f}", number) : fmt::format("{:.6g}", number);
}

std::string numbers_text(const Values& values) {
  constexpr std::size_t most = 20;
  if (!values) return "-";
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < std::min(values->size(), most); ++i)
    texts.push_back(number_in_full((*values)[i]));
  if (values->size() > most) texts.emplace_back("...");
  return fmt::format("[{}]", fmt::join(texts, ", "));
}

}  // namespace

ProgramBuffers show_program(const Case& one_case) {
  const auto& program = one_case.step->program;
  if (!program)
    throw_error(ErrorCode::invalid_argument,
                "only a workload with a \"program\" has numbers to show, not a scheme; --expand "
                "shows the program that this one stands for");
  const bool any = std::any_of(program->data.begin(), program->data.end(),
                               [](const auto& data) { return !data.values.empty(); });
  if (!any)
    throw_error(ErrorCode::invalid_argument,
                "there is nothing to show: give \"data\" of the workload one list of numbers per "
                "rank, as in {\"x\": [[1, 2], [3, 4]]}");
  ProgramBuffers buffers = ProgramRun(*program).run();
  const WorkloadReport report = check(*one_case.step);
  if (report.fault && !concerns_data_only(*report.fault))
    buffers.problem = why_it_cannot_run(*report.fault) + "; \"collsim check\" names the lines";
  return buffers;
}

std::string to_text(const ProgramBuffers& buffers) {
  TextTable table;
  table.add_column("rank");
  for (const char* heading : {"buffer", "before", "after"})
    table.add_column(heading, TextTable::Align::left);
  for (std::size_t rank = 0; rank < buffers.after.size(); ++rank)
    for (std::size_t b = 0; b < buffers.names.size(); ++b) {
      const Values& before = buffers.before[rank][b];
      const Values& after = buffers.after[rank][b];
      if (before || after)
        table.add_row(
            {std::to_string(rank), buffers.names[b], numbers_text(before), numbers_text(after)});
    }
  return table.text() + (buffers.problem.empty() ? "" : "\n" + buffers.problem + "\n");
}

JsonValue to_value(const ProgramBuffers& buffers) {
  JsonValue::Array ranks;
  const auto held = [&](const std::vector<Values>& values) {
    JsonValue all = JsonValue::object();
    for (std::size_t b = 0; b < values.size(); ++b)
      if (values[b]) all.set(buffers.names[b], JsonValue::array(*values[b]));
    return all;
  };
  for (std::size_t rank = 0; rank < buffers.after.size(); ++rank)
    ranks.push_back(JsonValue::object({{"rank", rank},
                                       {"before", held(buffers.before[rank])},
                                       {"after", held(buffers.after[rank])}}));
  return JsonValue::object(
      {{"ranks", std::move(ranks)},
       {"problem", buffers.problem.empty() ? JsonValue() : JsonValue(buffers.problem)}});
}

}  // namespace collsim
