// SPDX-License-Identifier: Apache-2.0
#include "validate/cuda/nccl_calls.hpp"

#include <algorithm>
#include <cstdlib>
#include <string_view>

namespace collsim {
namespace {

class Work {
 public:
  explicit Work(const Collective& collective)
      : collective_(collective), element_(static_cast<std::uint64_t>(size_of(collective.type))) {}

  // The same function at every rank, on its whole input and output.
  void everybody(NcclFunction function, std::int64_t count) {
    for (int position = 0; position < collective_.size(); ++position) {
      NcclPlace from = input(0);
      NcclPlace to = output(0);
      // Ranks that have but one of the two name it twice, as if in place.
      if (function == NcclFunction::broadcast && position != collective_.root) from = to;
      if (function == NcclFunction::reduce && position != collective_.root) to = from;
      add({function, position, from, to, as_count(count), collective_.root});
    }
  }

  // An all-gather of pieces of any length: every rank gets each piece from its owner.
  void broadcast_pieces() {
    for (const Requirement& piece : requirements(collective_, 0))
      for (int position = 0; position < collective_.size(); ++position) {
        const NcclPlace to = output(piece.output_offset);
        const NcclPlace from = position == *piece.from ? input(0) : to;
        add({NcclFunction::broadcast, position, from, to, as_count(piece.count), *piece.from});
      }
  }

  // A reduce-scatter likewise.
  void reduce_pieces() {
    for (int owner = 0; owner < collective_.size(); ++owner)
      for (const Requirement& piece : requirements(collective_, owner))
        for (int position = 0; position < collective_.size(); ++position) {
          const NcclPlace from = input(piece.input_offset);
          const NcclPlace to = position == owner ? output(0) : from;
          add({NcclFunction::reduce, position, from, to, as_count(piece.count), owner});
        }
  }

  void sends_and_receives() {
    for (int position = 0; position < collective_.size(); ++position)
      for (const Requirement& piece : requirements(collective_, position)) {
        const int owner = *piece.from;
        if (owner == position && aliasing(collective_, position).shared) continue;
        add({NcclFunction::send,
             owner,
             input(piece.input_offset),
             {},
             as_count(piece.count),
             position});
        add({NcclFunction::receive,
             position,
             {},
             output(piece.output_offset),
             as_count(piece.count),
             owner});
      }
  }

  void barrier() {
    const NcclPlace word{Buffer::scratch, 0};
    for (int position = 0; position < collective_.size(); ++position)
      add({NcclFunction::all_reduce, position, word, word, 1, 0});
  }

  [[nodiscard]] std::vector<NcclCall> take() { return std::move(calls_); }

 private:
  void add(const NcclCall& call) {
    if (call.count > 0) calls_.push_back(call);
  }
  [[nodiscard]] NcclPlace input(std::int64_t offset) const {
    return {Buffer::input, static_cast<std::uint64_t>(offset) * element_};
  }
  [[nodiscard]] NcclPlace output(std::int64_t offset) const {
    return {Buffer::output, static_cast<std::uint64_t>(offset) * element_};
  }
  static std::uint64_t as_count(std::int64_t count) { return static_cast<std::uint64_t>(count); }

  const Collective& collective_;
  std::uint64_t element_;
  std::vector<NcclCall> calls_;
};

// An algorithm of ours that NCCL has too.
struct Counterpart {
  Operation operation;
  std::string_view algorithm;
  const char* name;    // as NCCL_ALGO takes it
  const char* remark;  // null: the same shape
};
constexpr Counterpart counterparts[] = {
    {Operation::broadcast, "chain", "Ring", nullptr},
    {Operation::reduce, "chain", "Ring", nullptr},
    {Operation::all_reduce, "ring", "Ring", nullptr},
    {Operation::all_reduce, "chain", "Tree", nullptr},
    {Operation::all_reduce, "double-tree", "Tree",
     "inside one machine NCCL's Tree is a chain up and down, not two binary trees: the algorithm "
     "\"chain\" is closer to it"},
    {Operation::all_gather, "ring", "Ring", nullptr},
    {Operation::reduce_scatter, "ring", "Ring", nullptr},
};

const Counterpart* counterpart_of(const Schedule& schedule) {
  for (const Counterpart& row : counterparts)
    if (row.operation == schedule.collective().operation && row.algorithm == schedule.algorithm())
      return &row;
  return nullptr;
}

bool is_sends_and_receives(Operation operation) {
  switch (operation) {
    case Operation::gather:
    case Operation::scatter:
    case Operation::all_to_all:
    case Operation::send_recv: return true;
    default: return false;
  }
}

std::uint64_t aligned(std::uint64_t bytes) {
  constexpr std::uint64_t alignment = 256;
  return (bytes + alignment - 1) / alignment * alignment;
}

}  // namespace

int nccl_type(ElementType type) {
  switch (type) {
    case ElementType::i8: return 0;
    case ElementType::u8: return 1;
    case ElementType::i32: return 2;
    case ElementType::u32: return 3;
    case ElementType::i64: return 4;
    case ElementType::u64: return 5;
    case ElementType::f16: return 6;
    case ElementType::f32: return 7;
    case ElementType::f64: return 8;
    case ElementType::bf16: return 9;
  }
  return -1;
}

int nccl_reduction(Reduction reduction) {
  switch (reduction) {
    case Reduction::sum: return 0;
    case Reduction::prod: return 1;
    case Reduction::max: return 2;
    case Reduction::min: return 3;
    case Reduction::avg: return 4;
  }
  return -1;
}

const char* to_string(NcclFunction function) {
  switch (function) {
    case NcclFunction::all_reduce: return "ncclAllReduce";
    case NcclFunction::broadcast: return "ncclBroadcast";
    case NcclFunction::reduce: return "ncclReduce";
    case NcclFunction::all_gather: return "ncclAllGather";
    case NcclFunction::reduce_scatter: return "ncclReduceScatter";
    case NcclFunction::send: return "ncclSend";
    case NcclFunction::receive: return "ncclRecv";
  }
  return "?";
}

NcclWork nccl_work(const Collective& collective) {
  validate(collective);
  NcclWork result;
  result.type = nccl_type(collective.type);
  result.reduction = nccl_reduction(collective.reduction);
  Work work(collective);
  const bool is_even = collective.count % collective.size() == 0;
  switch (collective.operation) {
    case Operation::broadcast: work.everybody(NcclFunction::broadcast, collective.count); break;
    case Operation::reduce: work.everybody(NcclFunction::reduce, collective.count); break;
    case Operation::all_reduce: work.everybody(NcclFunction::all_reduce, collective.count); break;
    case Operation::all_gather:
      if (is_even)
        work.everybody(NcclFunction::all_gather, collective.count / collective.size());
      else
        work.broadcast_pieces();
      break;
    case Operation::reduce_scatter:
      if (is_even)
        work.everybody(NcclFunction::reduce_scatter, collective.count / collective.size());
      else
        work.reduce_pieces();
      break;
    case Operation::gather:
    case Operation::scatter:
    case Operation::all_to_all:
    case Operation::send_recv: work.sends_and_receives(); break;
    case Operation::barrier:
      work.barrier();
      result.type = nccl_type(ElementType::i32);
      result.reduction = nccl_reduction(Reduction::sum);
      result.notes.emplace_back(
          "NCCL has no barrier: an all-reduce of one number was timed instead");
      break;
  }
  if (!is_even && collective.operation == Operation::all_gather)
    result.notes.emplace_back(
        "NCCL gathers equal pieces only: a group of broadcasts, one per piece, was timed");
  if (!is_even && collective.operation == Operation::reduce_scatter)
    result.notes.emplace_back(
        "NCCL scatters equal pieces only: a group of reduces, one per piece, was timed");
  result.calls = work.take();
  return result;
}

PlannedMemory nccl_memory(const Collective& collective, int position) {
  const auto element = static_cast<std::uint64_t>(size_of(collective.type));
  const auto bytes = [&](std::int64_t count) {
    return static_cast<std::uint64_t>(count) * element;
  };
  PlannedMemory memory;
  memory.input_bytes = bytes(input_count(collective, position));
  memory.output_bytes = bytes(output_count(collective, position));
  const Aliasing alias = aliasing(collective, position);
  memory.input = alias.shared ? bytes(alias.input_at) : 0;
  memory.output = alias.shared ? bytes(alias.output_at) : aligned(memory.input_bytes);
  memory.scratch =
      aligned(std::max(memory.input + memory.input_bytes, memory.output + memory.output_bytes));
  memory.bytes = memory.scratch + aligned(sizeof(std::int32_t));
  return memory;
}

int make_call(const NcclFunctions& nccl, const NcclWork& work, const NcclCall& call,
              const NcclRank& rank) {
  const auto at = [&](const NcclPlace& place) {
    const std::uint64_t start = place.buffer == Buffer::input    ? rank.layout.input
                                : place.buffer == Buffer::output ? rank.layout.output
                                                                 : rank.layout.scratch;
    return rank.memory + start + place.offset;
  };
  std::byte* from = at(call.from);
  std::byte* to = at(call.to);
  switch (call.function) {
    case NcclFunction::all_reduce:
      return nccl.all_reduce(from, to, call.count, work.type, work.reduction, rank.communicator,
                             rank.stream);
    case NcclFunction::broadcast:
      return nccl.broadcast(from, to, call.count, work.type, call.peer, rank.communicator,
                            rank.stream);
    case NcclFunction::reduce:
      return nccl.reduce(from, to, call.count, work.type, work.reduction, call.peer,
                         rank.communicator, rank.stream);
    case NcclFunction::all_gather:
      return nccl.all_gather(from, to, call.count, work.type, rank.communicator, rank.stream);
    case NcclFunction::reduce_scatter:
      return nccl.reduce_scatter(from, to, call.count, work.type, work.reduction, rank.communicator,
                                 rank.stream);
    case NcclFunction::send:
      return nccl.send(from, call.count, work.type, call.peer, rank.communicator, rank.stream);
    case NcclFunction::receive:
      return nccl.receive(to, call.count, work.type, call.peer, rank.communicator, rank.stream);
  }
  return nccl_success;
}

NcclSettings nccl_settings(const Schedule& schedule, Protocol protocol, NcclChoice choice) {
  if (schedule.size() == 1)
    return {{}, {"with one rank NCCL only copies: nothing is communicated"}};
  if (choice == NcclChoice::free)
    return {{}, {"NCCL chose algorithm, protocol and channels itself"}};
  const Operation operation = schedule.collective().operation;
  if (is_sends_and_receives(operation))
    return {{},
            {"made of ncclSend and ncclRecv, for which NCCL chooses the protocol: LL for "
             "small messages, else Simple"}};
  const Counterpart* row = counterpart_of(schedule);
  if (row == nullptr)
    return {{},
            {"NCCL has no counterpart of " + std::string(to_string(operation)) + " " +
             schedule.algorithm() + ": it chose algorithm, protocol and channels itself"}};
  const char* protocol_name = protocol == Protocol::ll ? "LL" : "Simple";
  NcclSettings settings{{{"NCCL_ALGO", row->name}, {"NCCL_PROTO", protocol_name}},
                        {std::string("NCCL was told to use ") + row->name + " with " +
                         protocol_name + "; it chose the channels itself"}};
  if (row->remark) settings.notes.emplace_back(row->remark);
  return settings;
}

NcclVariables::NcclVariables(const NcclSettings& settings) {
  for (const char* name : {"NCCL_ALGO", "NCCL_PROTO"})
    if (const char* value = std::getenv(name))
      notes_.push_back(std::string("NCCL follows the environment: ") + name + "=" + value);
  if (!notes_.empty()) return;
  notes_ = settings.notes;
  for (const auto& [name, value] : settings.variables) {
    setenv(name.c_str(), value.c_str(), 1);
    set_.push_back(name);
  }
}

NcclVariables::~NcclVariables() {
  for (const std::string& name : set_) unsetenv(name.c_str());
}

double nccl_patience_s(const Collective& collective, double patience_s) {
  constexpr double slowest_bytes_per_s = 1e8;
  const double bytes =
      static_cast<double>(collective.bytes()) * static_cast<double>(collective.size());
  return patience_s + bytes / slowest_bytes_per_s;
}

}  // namespace collsim
