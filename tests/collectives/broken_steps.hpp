// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "collectives/workloads/workloads.hpp"
#include "tests/collectives/workload_execution.hpp"

namespace collsim::test_workloads {

// Steps of training to break: drawn by lot, and what the generators make; and ways to break them.

using StepLot = std::mt19937_64;

inline std::size_t drawn(StepLot& lot, std::size_t below) {
  return static_cast<std::size_t>(lot() % below);
}

// --- random steps --------------------------------------------------------------------------------

// What happens is drawn as one sequence for all ranks, of which each rank's script is its part, so
// nothing waits in a circle.  Before a stream uses an item that another stream has used, it waits
// for that one (more often than need be), so there are no races.
class RandomStep {
 public:
  explicit RandomStep(StepLot& lot) : lot_(lot) {
    const std::size_t ranks = 2 + drawn(lot, 3);
    step_.lines.resize(ranks);
    step_.streams = {"a", "b", "c"};
    step_.communicators = {{"all", {first_ranks(ranks)}, 1}, {"both", {first_ranks(2)}, 1}};
    step_.data.items = items;
    step_.data.name = [](std::uint32_t item) {
      return std::string(1, static_cast<char>('p' + item));
    };
    step_.data.initial = [](Rank rank, std::uint32_t item) {
      return 100 * rank.index() + item + 1;
    };
    users_.resize(ranks, std::vector<std::set<std::uint16_t>>(items));
    for (std::size_t i = 6 + drawn(lot, 14); i > 0; --i) add_something();
  }

  [[nodiscard]] ListedWorkload take() { return std::move(step_); }

 private:
  static constexpr std::uint32_t items = 4;

  [[nodiscard]] std::uint16_t some_stream() { return static_cast<std::uint16_t>(drawn(lot_, 3)); }
  [[nodiscard]] Items some_item() {
    const auto item = static_cast<std::uint32_t>(drawn(lot_, items));
    return {item, item + 1};
  }

  void add(std::size_t rank, const Action& action, const Uses& uses = {}) {
    for (const auto& ranges : {uses.reads, uses.writes})
      for (const Items& range : ranges) {
        std::set<std::uint16_t>& users = users_[rank][range.begin];
        for (const std::uint16_t other : users) {
          if (other == action.stream) continue;
          step_.lines[rank].push_back({drain(other), {}});
          step_.lines[rank].push_back({record(other, action.stream), {}});
          step_.lines[rank].push_back({collsim::wait(action.stream, other), {}});
        }
        if (users.contains(action.stream)) step_.lines[rank].push_back({drain(action.stream), {}});
        users = {action.stream};
      }
    step_.lines[rank].push_back({action, uses});
  }

  void add_something() {
    const std::size_t rank = drawn(lot_, step_.lines.size());
    switch (drawn(lot_, 4)) {
      case 0: return add(rank, work(some_stream(), picoseconds(5)), {{some_item()}, {some_item()}});
      case 1: return add_message(rank);
      default: return add_call();
    }
  }

  void add_message(std::size_t from) {
    const std::size_t to = (from + 1 + drawn(lot_, step_.lines.size() - 1)) % step_.lines.size();
    const std::uint16_t ours = some_stream();
    const std::uint16_t theirs = some_stream();
    add(from, send(ours, Rank(to), 8, theirs), {{some_item()}, {}});
    add(to, receive(theirs, Rank(from), 8, ours), {{}, {some_item()}});
  }

  void add_call() {
    const std::size_t communicator = drawn(lot_, 2);
    Call call;
    const Operation operations[] = {Operation::all_reduce, Operation::broadcast, Operation::reduce,
                                    Operation::all_gather};
    call.operation = operations[drawn(lot_, 4)];
    call.count = 8 << drawn(lot_, 2);
    const Items from = some_item(), into = some_item();
    for (const Rank rank : step_.communicators[communicator].groups.front()) {
      Uses uses;
      const bool is_root = rank == Rank(0);
      if (call.operation != Operation::broadcast || is_root) uses.reads.push_back(from);
      if (call.operation != Operation::reduce || is_root) uses.writes.push_back(into);
      add(rank.index(), collective(some_stream(), static_cast<int>(communicator), call), uses);
    }
  }

  StepLot& lot_;
  ListedWorkload step_;
  std::vector<std::vector<std::set<std::uint16_t>>> users_;  // since it was last handed over
};

// --- mutations -----------------------------------------------------------------------------------

inline std::optional<std::size_t> some_line(const std::vector<ListedLine>& lines, Action::Kind kind,
                                            StepLot& lot) {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < lines.size(); ++i)
    if (lines[i].action.kind == kind) found.push_back(i);
  if (found.empty()) return std::nullopt;
  return found[drawn(lot, found.size())];
}

inline bool drop_line(ListedWorkload& step, Action::Kind kind, StepLot& lot) {
  auto& lines = step.lines[drawn(lot, step.lines.size())];
  const auto line = some_line(lines, kind, lot);
  if (line) lines.erase(lines.begin() + static_cast<std::ptrdiff_t>(*line));
  return line.has_value();
}

// So that calls still match, and what they should have handed over is missing.
inline bool drop_call_of_all(ListedWorkload& step, StepLot& lot) {
  const auto is_call = [](const ListedLine& line) {
    return line.action.kind == Action::Kind::collective;
  };
  const auto calls = static_cast<std::size_t>(
      std::count_if(step.lines.front().begin(), step.lines.front().end(), is_call));
  if (calls == 0) return false;
  const std::size_t dropped = drawn(lot, calls);
  for (auto& lines : step.lines) {
    auto found = lines.begin();
    for (std::size_t number = 0; (found = std::find_if(found, lines.end(), is_call)) != lines.end();
         ++number, ++found)
      if (number == dropped) break;
    if (found != lines.end()) lines.erase(found);
  }
  return true;
}

inline bool swap_calls(ListedWorkload& step, StepLot& lot) {
  auto& lines = step.lines[drawn(lot, step.lines.size())];
  const auto one = some_line(lines, Action::Kind::collective, lot);
  const auto other = some_line(lines, Action::Kind::collective, lot);
  if (!one || *one == *other) return false;
  std::swap(lines[*one], lines[*other]);
  return true;
}

inline bool retarget_send(ListedWorkload& step, StepLot& lot) {
  auto& lines = step.lines[drawn(lot, step.lines.size())];
  const auto line = some_line(lines, Action::Kind::send, lot);
  if (!line) return false;
  const Rank to(drawn(lot, step.lines.size()));
  return std::exchange(lines[*line].action.peer, to) != to;
}

// Something else is written over an item: memory that was freed, and taken again.
inline bool free_early(ListedWorkload& step, StepLot& lot) {
  auto& lines = step.lines[drawn(lot, step.lines.size())];
  if (lines.empty()) return false;
  const auto item = static_cast<std::uint32_t>(drawn(lot, step.data.items));
  ListedLine line{update(static_cast<int>(drawn(lot, step.streams.size()))), {}};
  line.action.label.number = 12345;
  line.uses.writes.push_back({item, item + 1});
  lines.insert(lines.begin() + static_cast<std::ptrdiff_t>(drawn(lot, lines.size() + 1)), line);
  return true;
}

struct StepMutation {
  const char* name;
  bool (*apply)(ListedWorkload& step, StepLot& lot);
};
inline constexpr StepMutation step_mutations[] = {
    {"drop a wait",
     [](ListedWorkload& step, StepLot& lot) { return drop_line(step, Action::Kind::wait, lot); }},
    {"drop a record",
     [](ListedWorkload& step, StepLot& lot) { return drop_line(step, Action::Kind::record, lot); }},
    {"drop a drain",
     [](ListedWorkload& step, StepLot& lot) { return drop_line(step, Action::Kind::drain, lot); }},
    {"drop a collective",
     [](ListedWorkload& step, StepLot& lot) {
       return drop_line(step, Action::Kind::collective, lot);
     }},
    {"drop a collective of all ranks", drop_call_of_all},
    {"swap two collectives", swap_calls},
    {"retarget a send", retarget_send},
    {"free early", free_early},
};

// --- steps of the generators ---------------------------------------------------------------------

inline std::vector<Workload> small_steps() {
  Model model;
  for (int i = 0; i < 3; ++i)
    model.layers.push_back({"", microseconds(5), microseconds(9), 4096, 1024});
  return {
      make_workload(Ddp{.bucket = 4096, .first_bucket = 4096}, model, 3),
      make_workload(Ddp{.bucket = 4096, .first_bucket = 1, .sharded_optimizer = true}, model, 2),
      make_workload(Fsdp{}, model, 2),
      make_workload(Fsdp{.prefetch = Fsdp::Prefetch::post}, model, 3),
      make_workload(Fsdp{.shards = 2, .microbatches = 2}, model, 4),
      make_workload(Ddp{.microbatches = 2,
                        .bucket = 1,
                        .broadcast_parameters = true,
                        .devices_per_replica = 2},
                    model, 4),
      make_workload(DataParallel{4096, 4096}, model, 3),
      make_workload(Experts{}, model, 3),
      make_workload(ParameterServer{2}, model, 4),
      make_workload(Train{.tp = 2, .pp = 1, .dp = 2, .microbatches = 1}, model),
      make_workload(Train{.tp = 1, .pp = 3, .dp = 1, .microbatches = 3}, model),
      make_workload(Train{.tp = 1, .pp = 2, .dp = 2, .microbatches = 2, .zero = 3}, model),
      make_workload(
          Train{.tp = 1, .pp = 3, .dp = 2, .microbatches = 3, .schedule = PipelineSchedule::zb_h1},
          model)};
}

}  // namespace collsim::test_workloads
