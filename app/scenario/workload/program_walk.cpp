// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "app/scenario/workload/program.hpp"
#include "topo/error.hpp"

namespace collsim {
namespace {

// Stated limits: of what one rank does, of a buffer, of a duration in seconds.
constexpr double max_things = 5'000'000;
constexpr std::int64_t max_rounds = 1'000'000'000;
constexpr std::int64_t max_elements = std::int64_t{1} << 50;
constexpr double max_seconds = 1e6;

std::int64_t piece_of(std::int64_t count, int pieces, int number) {
  return count / pieces + (number < count % pieces ? 1 : 0);
}

bool mentions(const std::vector<ProgramOp>& body, std::size_t variable) {
  return std::any_of(body.begin(), body.end(), [variable](const ProgramOp& op) {
    return op.number.names(variable) || mentions(op.body, variable);
  });
}

bool has_data(Operation operation) {
  return operation != Operation::barrier;
}

}  // namespace

ProgramWalk::ProgramWalk(const WrittenProgram& program, Rank rank, Diagnostics* mistakes)
    : program_(&program),
      rank_(static_cast<int>(rank.index())),
      mistakes_(mistakes),
      numbers_(program.numbers),
      shapes_(program.buffers.size()),
      memberships_(program.communicators.size()) {
  numbers_[0] = rank_;
  numbers_[1] = program.ranks;
  for (std::size_t i = 0; i < program.data.size(); ++i)
    shapes_[i] = program.data[i].shapes[rank.index()];
}

const ProgramStep* ProgramWalk::next() {
  if (taken_ == pending_.size()) {
    pending_.clear();
    taken_ = 0;
  }
  while (pending_.empty() && !failed_) {
    if (frames_.empty()) {
      while (block_ < program_->blocks.size() &&
             !program_->blocks[block_].on[static_cast<std::size_t>(rank_)])
        ++block_;
      if (block_ == program_->blocks.size()) return nullptr;
      frames_.push_back({&program_->blocks[block_++].body});
    }
    Frame& frame = frames_.back();
    if (frame.next < frame.body->size()) {
      if (frame.variable != ProgramOp::none)
        numbers_[frame.variable] = static_cast<double>(frame.round);
      carry_out((*frame.body)[frame.next++]);
    } else if (++frame.round < frame.rounds) {
      frame.next = 0;
    } else {
      frames_.pop_back();
    }
  }
  if (failed_) return nullptr;
  return &pending_[taken_++];
}

void ProgramWalk::fail(const ProgramOp& op, std::string code, std::string message,
                       std::string hint) {
  failed_ = true;
  if (mistakes_ == nullptr)
    throw_error(ErrorCode::invalid_argument, "rank ", std::to_string(rank_), ": ", message);
  mistakes_->add({.code = std::move(code),
                  .message = std::move(message),
                  .place = program_->places[op.place],
                  .pointer = "/workload/program",
                  .hint = std::move(hint)});
}

void ProgramWalk::count(const ProgramOp& op) {
  things_ += frames_.back().times;
  if (things_ <= max_things) return;
  const ProgramOp* const loop = frames_.back().loop;
  fail(loop != nullptr ? *loop : op, "too-large",
       fmt::format("the program is too long: {}rank {} does more than 5,000,000 things",
                   loop != nullptr ? "with these rounds " : "", rank_),
       "rounds that are alike take equally long: simulate some of them");
}

void ProgramWalk::carry_out(const ProgramOp& op) {
  if (mistakes_ != nullptr) count(op);
  if (failed_) return;
  switch (op.kind) {
    case ProgramOp::Kind::work: return work(op);
    case ProgramOp::Kind::send:
    case ProgramOp::Kind::receive: return message(op, op.is_async);
    case ProgramOp::Kind::collective: return call(op, op.is_async);
    case ProgramOp::Kind::set: return set(op);
    case ProgramOp::Kind::stream:
      frames_.push_back({&op.body, 0, 0, 1, ProgramOp::none, op.stream, frames_.back().times,
                         frames_.back().loop});
      return;
    case ProgramOp::Kind::record: return record_event(op, frames_.back().stream);
    case ProgramOp::Kind::wait: return wait_for(op);
    case ProgramOp::Kind::repeat: return repeat(op);
    case ProgramOp::Kind::group: return group(op);
  }
}

std::optional<std::int64_t> ProgramWalk::whole(const ProgramOp& op, const char* what,
                                               std::int64_t low, std::int64_t high) {
  const ProgramExpression::Value value = op.number(numbers_);
  const bool fits = value.number && *value.number == std::floor(*value.number) &&
                    *value.number >= static_cast<double>(low) &&
                    *value.number <= static_cast<double>(high);
  if (fits) return static_cast<std::int64_t>(*value.number);
  const std::string found =
      value.number ? fmt::format("is {:g}", *value.number) : "has no value: " + value.why_not;
  fail(op, "out-of-range", fmt::format("{} {} on rank {}", what, found, rank_),
       fmt::format("a whole number from {} to {} is needed", low, high));
  return std::nullopt;
}

void ProgramWalk::emit(Action action, const ProgramOp& op) {
  action.place = op.place;
  pending_.push_back({action, &op});
}

void ProgramWalk::work(const ProgramOp& op) {
  Time time;
  if (op.time) {
    time = *op.time;
  } else {
    const ProgramExpression::Value seconds = op.number(numbers_);
    if (!seconds.number || *seconds.number < 0 || *seconds.number > max_seconds)
      return fail(op, "out-of-range",
                  seconds.number
                      ? fmt::format("the work takes {:g} s on rank {}", *seconds.number, rank_)
                      : "the work has no duration: " + seconds.why_not,
                  "a time from 0 to 1,000,000 s is needed");
    time = Time(std::llround(*seconds.number * 1e12));
  }
  emit(collsim::work(frames_.back().stream, time), op);
}

void ProgramWalk::repeat(const ProgramOp& op) {
  std::optional<std::int64_t> rounds = whole(op, "the number of rounds", 0, max_rounds);
  if (!rounds || *rounds == 0 || op.body.empty()) return;
  const bool alike = op.variable == ProgramOp::none || !mentions(op.body, op.variable);
  double times = frames_.back().times;
  if (mistakes_ != nullptr && alike) times *= static_cast<double>(std::exchange(*rounds, 1));
  const ProgramOp* const outermost = frames_.back().loop != nullptr ? frames_.back().loop : &op;
  frames_.push_back(
      {&op.body, 0, 0, *rounds, op.variable, frames_.back().stream, times, outermost});
}

// --- streams -------------------------------------------------------------------------------------

void ProgramWalk::emit_record(std::uint16_t from, std::uint16_t to, const ProgramOp& op) {
  ++recorded_[{from, to}];
  emit(record(from, to), op);
}

void ProgramWalk::emit_wait(std::uint16_t stream, std::uint16_t from, std::int64_t number,
                            const ProgramOp& op) {
  emit(collsim::wait(stream, from, number), op);
}

void ProgramWalk::fork(std::uint16_t stream, const ProgramOp& op) {
  const std::uint16_t current = frames_.back().stream;
  emit_record(current, stream, op);
  emit_wait(stream, current, recorded_[{current, stream}], op);
}

void ProgramWalk::join(std::uint16_t stream, const ProgramOp& op) {
  const std::uint16_t current = frames_.back().stream;
  emit_record(stream, current, op);
  emit_wait(current, stream, recorded_[{stream, current}], op);
}

void ProgramWalk::record_event(const ProgramOp& op, std::uint16_t stream) {
  if (op.event == ProgramOp::none) return;
  Recorded recorded{stream, {}};
  for (const std::uint16_t waiter : program_->waiters[op.event]) {
    if (waiter != stream) emit_record(stream, waiter, op);
    recorded.numbers.push_back(recorded_[{stream, waiter}]);
  }
  events_[op.event] = std::move(recorded);
}

void ProgramWalk::wait_for(const ProgramOp& op) {
  const std::string name = '"' + program_->events[op.event] + '"';
  const std::uint16_t stream = frames_.back().stream;
  const auto found = events_.find(op.event);
  if (found == events_.end())
    return fail(op, "not-recorded",
                fmt::format("rank {} waits for {}, which nothing before this records", rank_, name),
                "streams that wait for each other never go on; record it first");
  if (found->second.stream == stream)
    return fail(op, "waits-for-itself",
                fmt::format("the stream {} waits for itself: {} is recorded on it",
                            program_->streams[stream], name),
                "a stream does everything in order anyway; omit the wait");
  const auto& waiters = program_->waiters[op.event];
  const auto at = std::find(waiters.begin(), waiters.end(), stream) - waiters.begin();
  emit_wait(stream, found->second.stream, found->second.numbers[static_cast<std::size_t>(at)], op);
}

void ProgramWalk::group(const ProgramOp& op) {
  for (const ProgramOp& member : op.body) {
    if (failed_) return;
    if (member.kind == ProgramOp::Kind::collective)
      call(member, true);
    else
      message(member, true);
  }
  if (mistakes_ != nullptr) return;
  std::vector<std::uint16_t> streams;
  for (const ProgramStep& step : pending_)
    if (step.action.kind != Action::Kind::record && step.action.kind != Action::Kind::wait &&
        std::find(streams.begin(), streams.end(), step.action.stream) == streams.end())
      streams.push_back(step.action.stream);
  for (const std::uint16_t stream : streams) join(stream, op);
}

// --- messages ------------------------------------------------------------------------------------

void ProgramWalk::message(const ProgramOp& op, bool alone) {
  const bool sends = op.kind == ProgramOp::Kind::send;
  const auto peer = whole(op, sends ? "the receiver" : "the sender", 0, program_->ranks - 1);
  if (!peer) return;
  if (*peer == rank_)
    return fail(op, "itself",
                fmt::format("rank {} {} itself", rank_, sends ? "sends to" : "receives from"));
  const BufferShape shape = op.buffer == ProgramOp::none ? BufferShape{} : shapes_[op.buffer];
  const Bytes bytes = op.size.value_or(shape.count * size_of(shape.type));
  const auto other = static_cast<int>(*peer);
  const auto message_on = [&](std::uint16_t on, int theirs) {
    const Rank to(static_cast<std::size_t>(other));
    Action action = sends ? send(on, to, bytes, theirs) : receive(on, to, bytes, theirs);
    if (shape.has_type && !op.size) action.type = shape.type;
    return action;
  };
  std::uint16_t stream = frames_.back().stream;
  if (!program_->routes_are_known) {  // the reader looks at these alone
    constexpr std::uint16_t not_yet_known = UINT16_MAX;
    emit(message_on(stream, alone ? 1 : 0), op);
    if (op.event != ProgramOp::none)
      events_[op.event] = {alone ? not_yet_known : stream,
                           std::vector<std::int64_t>(program_->waiters[op.event].size(), 1)};
    return;
  }
  using Ends = WrittenProgram::Ends;
  const auto route =
      program_->routes.at(sends ? Ends{rank_, other, op.tag} : Ends{other, rank_, op.tag});
  const bool own = sends ? route.sender_own : route.receiver_own;
  const int theirs = std::max(0, sends ? route.receiver : route.sender);
  if (own) {
    stream = static_cast<std::uint16_t>(sends ? route.sender : route.receiver);
    fork(stream, op);
  }
  emit(message_on(stream, theirs), op);
  if (sends && !op.is_posted) emit(drain(stream), op);
  if (own && !alone) join(stream, op);
  record_event(op, stream);
}

// --- collectives ---------------------------------------------------------------------------------

// As Call::count wants it: the gathered vector, or the input of the others.
std::optional<std::int64_t> ProgramWalk::count_of(const ProgramOp& op, int members, int root) {
  const Operation operation = op.call.operation;
  if (!has_data(operation)) return 0;
  const BufferShape shape = op.buffer == ProgramOp::none ? BufferShape{} : shapes_[op.buffer];
  std::int64_t count = shape.count;
  const bool from_root = operation == Operation::scatter || operation == Operation::broadcast;
  if (op.size) {
    if (*op.size % size_of(shape.type) != 0) {
      fail(op, "not-whole-elements",
           fmt::format("{} bytes are no whole number of elements of {} bytes", *op.size,
                       size_of(shape.type)));
      return std::nullopt;
    }
    return *op.size / size_of(shape.type);
  }
  // Who only receives need not have made room.
  if (from_root && root != rank_ && op.buffer < program_->data.size() &&
      (count == 0 || operation == Operation::scatter))
    count = program_->data[op.buffer].shapes[static_cast<std::size_t>(root)].count;
  if (operation == Operation::all_gather || operation == Operation::gather) count *= members;
  if (count <= max_elements) return count;
  fail(op, "too-large", "the buffer has more than 2^50 elements here");
  return std::nullopt;
}

ProgramWalk::Membership ProgramWalk::membership(std::size_t communicator) {
  Membership& known = memberships_[communicator];
  if (known.group != nullptr) return known;
  const auto me = static_cast<std::size_t>(rank_);
  for (const std::vector<Rank>& group : program_->communicators[communicator].groups) {
    const bool is_all = me < group.size() && group[me] == Rank(me);
    const auto found =
        is_all ? group.begin() + rank_ : std::find(group.begin(), group.end(), Rank(me));
    if (found == group.end()) continue;
    known = {&group, static_cast<int>(found - group.begin())};
    break;
  }
  return known;
}

void ProgramWalk::call(const ProgramOp& op, bool alone) {
  const Communicator& communicator = program_->communicators[op.communicator];
  const auto [group, position] = membership(op.communicator);
  if (group == nullptr)
    return fail(op, "not-a-member",
                fmt::format("rank {} is not in the group {}", rank_, communicator.name),
                "let only its members do this");
  int root = static_cast<int>(group->front().index());
  int root_position = 0;
  if (op.has_root) {
    const auto written = whole(op, "the root", 0, program_->ranks - 1);
    if (!written) return;
    root = static_cast<int>(*written);
    const auto at = std::find(group->begin(), group->end(), Rank(static_cast<std::size_t>(root)));
    if (at == group->end())
      return fail(
          op, "unknown-rank",
          fmt::format("rank {}, the root, is not in the group {}", root, communicator.name));
    root_position = static_cast<int>(at - group->begin());
  }
  const auto members = static_cast<int>(group->size());
  const auto count = count_of(op, members, root);
  if (!count) return;
  Call call = op.call;
  call.count = *count;
  call.root = root_position;
  call.choice = &op.choice;
  if (op.buffer != ProgramOp::none) call.type = shapes_[op.buffer].type;
  std::uint16_t stream = frames_.back().stream;
  if (alone) {
    stream = static_cast<std::uint16_t>(program_->async_streams[op.communicator]);
    fork(stream, op);
  }
  emit(collective(stream, op.communicator, call), op);
  const bool to_root = call.operation == Operation::reduce || call.operation == Operation::gather;
  if (op.into != ProgramOp::none && (!to_root || root == rank_)) {
    BufferShape& result = shapes_[op.into];
    const bool cuts =
        call.operation == Operation::reduce_scatter || call.operation == Operation::scatter;
    result = {cuts ? piece_of(*count, members, position) : *count, call.type,
              op.buffer != ProgramOp::none && shapes_[op.buffer].has_type};
  }
  record_event(op, stream);
}

void ProgramWalk::set(const ProgramOp& op) {
  for (std::size_t i = 0; i < op.assignments.size(); ++i) {
    const ProgramOp::Assignment& assignment = op.assignments[i];
    const std::vector<std::size_t> from = assignment.value.buffers();
    BufferShape shape = shapes_[assignment.buffer];
    if (from.empty() && shape.count == 0) shape.count = 1;
    if (!from.empty()) shape = shapes_[from.front()];
    for (const std::size_t buffer : from) {
      const std::int64_t count = shapes_[buffer].count;
      if (count != shape.count && count != 1 && shape.count != 1)
        return fail(
            op, "does-not-fit",
            fmt::format("{} has {} elements on rank {}, but {} has {}", program_->buffers[buffer],
                        count, rank_, program_->buffers[from.front()], shape.count),
            "an expression takes buffers element by element");
      shape.count = std::max(shape.count, count);
    }
    shapes_[assignment.buffer] = shape;
    Action action = update(frames_.back().stream);
    action.place = op.place;
    pending_.push_back({action, &op, true, i});
  }
}

}  // namespace collsim
