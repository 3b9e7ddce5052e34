// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "app/scenario/workload/program.hpp"

namespace collsim {
namespace {

using Ends = WrittenProgram::Ends;
using Route = WrittenProgram::Route;

constexpr std::size_t max_streams = 1000;
constexpr double max_things_of_all = 50'000'000;

// Between the same streams, messages of one tag would be taken for those of another.
void separate_tags(WrittenProgram& program) {
  std::set<std::array<int, 4>> used;
  for (auto& [ends, route] : program.routes) {
    if (route.sender_own || route.receiver_own) continue;
    const bool is_first =
        used.insert({ends.from, ends.to, std::max(0, route.sender), std::max(0, route.receiver)})
            .second;
    if (is_first) continue;
    (route.receiver != Route::unknown ? route.receiver_own : route.sender_own) = true;
  }
}

// The messages that have streams for themselves: numbered on each rank.
void number_routes(WrittenProgram& program, const SourceRange& place, Diagnostics& diagnostics) {
  std::vector<std::size_t> used(static_cast<std::size_t>(program.ranks));
  const std::size_t first = program.streams.size();
  for (auto& [ends, route] : program.routes) {
    const auto from = static_cast<std::size_t>(ends.from);
    const auto to = static_cast<std::size_t>(ends.to);
    if (route.sender_own) route.sender = static_cast<int>(first + used[from]++);
    if (route.receiver_own) route.receiver = static_cast<int>(first + used[to]++);
  }
  const std::size_t most = used.empty() ? 0 : *std::max_element(used.begin(), used.end());
  for (std::size_t i = 0; i < most && first + i <= max_streams; ++i)
    program.streams.push_back(fmt::format("message {}", i + 1));
  if (first + most > max_streams)
    diagnostics.add({.code = "too-large",
                     .message = "a rank has more than 1,000 streams, counting those of its "
                                "asynchronous messages, one per other rank and direction",
                     .place = place,
                     .pointer = "/workload/program"});
}

// The buffers of a rank, each as large as it becomes.
class LargestBuffers {
 public:
  explicit LargestBuffers(std::size_t buffers) : bytes_(buffers) {}

  void see(const ProgramWalk& walk) {
    for (std::size_t buffer = 0; buffer < bytes_.size(); ++buffer) see_shape(walk, buffer);
  }
  void see(const ProgramWalk& walk, const ProgramOp& op) {
    for (const std::size_t buffer : {op.buffer, op.into})
      if (buffer != ProgramOp::none) see_shape(walk, buffer);
    for (const ProgramOp::Assignment& one : op.assignments) see_shape(walk, one.buffer);
    if (op.size && op.buffer != ProgramOp::none)
      bytes_[op.buffer] = std::max(bytes_[op.buffer], *op.size);
  }
  [[nodiscard]] double sum() const {
    double sum = 0;
    for (const Bytes bytes : bytes_) sum += static_cast<double>(bytes);
    return sum;
  }

 private:
  void see_shape(const ProgramWalk& walk, std::size_t buffer) {
    const BufferShape& shape = walk.shapes()[buffer];
    bytes_[buffer] = std::max(bytes_[buffer], shape.count * size_of(shape.type));
  }

  std::vector<Bytes> bytes_;
};

Script program_script(std::shared_ptr<const WrittenProgram> program, Rank rank) {
  ProgramWalk walk(*program, rank);
  while (const ProgramStep* const step = walk.next()) co_yield step->action;
}

}  // namespace

void find_routes(WrittenProgram& program, const SourceRange& place, Diagnostics& diagnostics) {
  std::set<std::uint32_t> reported;  // where another rank made the same mistake
  double things = 0;
  for (int rank = 0; rank < program.ranks && things <= max_things_of_all; ++rank) {
    Diagnostics of_rank;
    ProgramWalk walk(program, Rank(static_cast<std::size_t>(rank)), &of_rank);
    LargestBuffers buffers(program.buffers.size());
    buffers.see(walk);
    while (const ProgramStep* const step = walk.next()) {
      const Action& action = step->action;
      buffers.see(walk, *step->op);
      const bool sends = action.kind == Action::Kind::send;
      if (step->is_set || (!sends && action.kind != Action::Kind::receive)) continue;
      const auto peer = static_cast<int>(action.peer.index());
      const int tag = step->op->tag;
      auto& route = program.routes[sends ? Ends{rank, peer, tag} : Ends{peer, rank, tag}];
      int& stream = sends ? route.sender : route.receiver;
      bool& own = sends ? route.sender_own : route.receiver_own;
      own = own || action.other != 0 ||
            (stream != WrittenProgram::Route::unknown && stream != action.stream);
      stream = action.stream;
    }
    for (const Diagnostic& mistake : of_rank.sorted())
      if (reported.insert(mistake.place.begin).second) diagnostics.add(mistake);
    things += walk.things();
    program.memory.push_back(buffers.sum());
  }
  if (things > max_things_of_all && reported.empty())
    diagnostics.add({.code = "too-large",
                     .message = "the program is too long: all ranks together do more than "
                                "50,000,000 things",
                     .place = place,
                     .pointer = "/workload/program",
                     .hint = "rounds that are alike take equally long: simulate some of them"});
  separate_tags(program);
  number_routes(program, place, diagnostics);
  program.routes_are_known = true;
}

Workload make_workload(std::shared_ptr<const WrittenProgram> program) {
  Workload::Parts parts;
  parts.group = first_ranks(static_cast<std::size_t>(program->ranks));
  parts.stream_names = program->streams;
  parts.communicators = program->communicators;
  parts.script = [program](Rank rank) { return program_script(program, rank); };
  parts.data = data_of(program);
  return Workload(std::move(parts));
}

}  // namespace collsim
