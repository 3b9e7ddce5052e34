// SPDX-License-Identifier: Apache-2.0
//
// The negative space of training steps: generators' steps and random ones, broken in every way we
// can think of.  An executor that runs them on data, at moments drawn by lot, is the judge.
// What the checker passes gives the same data at all of them, and what it refuses goes wrong; but
// of one race in ten no moment shows it, because only what another rank does in between orders
// the two, or because what they disagree about is never looked at.

#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <map>
#include <random>
#include <set>

#include "collectives/workload_checker.hpp"
#include "collectives/workloads/workloads.hpp"
#include "tests/collectives/workload_execution.hpp"

namespace collsim::test_workloads {
namespace {

using StepLot = std::mt19937_64;

std::size_t drawn(StepLot& lot, std::size_t below) {
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

std::optional<std::size_t> some_line(const std::vector<ListedLine>& lines, Action::Kind kind,
                                     StepLot& lot) {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < lines.size(); ++i)
    if (lines[i].action.kind == kind) found.push_back(i);
  if (found.empty()) return std::nullopt;
  return found[drawn(lot, found.size())];
}

bool drop_line(ListedWorkload& step, Action::Kind kind, StepLot& lot) {
  auto& lines = step.lines[drawn(lot, step.lines.size())];
  const auto line = some_line(lines, kind, lot);
  if (line) lines.erase(lines.begin() + static_cast<std::ptrdiff_t>(*line));
  return line.has_value();
}

// So that calls still match, and what they should have handed over is missing.
bool drop_call_of_all(ListedWorkload& step, StepLot& lot) {
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

bool swap_calls(ListedWorkload& step, StepLot& lot) {
  auto& lines = step.lines[drawn(lot, step.lines.size())];
  const auto one = some_line(lines, Action::Kind::collective, lot);
  const auto other = some_line(lines, Action::Kind::collective, lot);
  if (!one || *one == *other) return false;
  std::swap(lines[*one], lines[*other]);
  return true;
}

bool retarget_send(ListedWorkload& step, StepLot& lot) {
  auto& lines = step.lines[drawn(lot, step.lines.size())];
  const auto line = some_line(lines, Action::Kind::send, lot);
  if (!line) return false;
  const Rank to(drawn(lot, step.lines.size()));
  return std::exchange(lines[*line].action.peer, to) != to;
}

// Something else is written over an item: memory that was freed, and taken again.
bool free_early(ListedWorkload& step, StepLot& lot) {
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
constexpr StepMutation step_mutations[] = {
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

// --- the judge -----------------------------------------------------------------------------------

struct StepTally {
  int mutants = 0, refused = 0, races = 0;
  int races_unseen = 0;  // that the executor never saw
};
using StepTallies = std::map<std::string, StepTally>;

bool has_race(const WorkloadReport& report) {
  return report.fault && report.fault->kind == WorkloadFault::Kind::race;
}

// Whether lots of timings show more than one outcome.
bool shows_race(const ListedWorkload& step, int timings) {
  std::set<std::uint64_t> seen;
  for (int seed = 0; seed < timings && seen.size() < 2; ++seed) {
    const StepExecution run = execute_step(step, {.seed = static_cast<std::uint64_t>(seed)});
    EXPECT_EQ(run.problem, "");
    seen.insert(run.seen);
  }
  return seen.size() > 1;
}

void judge_data(const ListedWorkload& step, const WorkloadReport& report, int timings) {
  const bool wrong = report.fault.has_value();
  std::set<std::uint64_t> seen;
  for (int seed = 0; seed < timings; ++seed) {
    const StepExecution run = execute_step(
        step, {.seed = static_cast<std::uint64_t>(seed), .all_must_come = seed % 2 == 0});
    EXPECT_EQ(run.problem, "");
    EXPECT_EQ(!run.broken_claim.empty(), wrong) << run.broken_claim;
    seen.insert(run.seen);
  }
  EXPECT_EQ(seen.size(), 1U) << "it depends on the timing";
}

// Checker and executor agree on what hangs under a stricter launch.
void judge_launch(const ListedWorkload& step, const Workload& workload) {
  const bool rendezvous = !check(workload, {Sends::rendezvous}).fault;
  EXPECT_EQ(execute_step(step, {.all_must_come = true, .rendezvous = true}).problem.empty(),
            rendezvous);
  const bool one_at_a_time = !check(workload, {.collectives_at_a_time = 1}).fault;
  EXPECT_EQ(execute_step(step, {.all_must_come = true, .collectives_at_a_time = 1}).problem.empty(),
            one_at_a_time);
}

void judge_step(const ListedWorkload& step, StepTally& tally, int timings) {
  const Workload workload = step.workload();
  const WorkloadReport report = check(workload);
  ++tally.mutants;
  tally.refused += report.fault ? 1 : 0;
  if (has_race(report)) {
    ++tally.races;
    tally.races_unseen += shows_race(step, 10 * timings) ? 0 : 1;
  } else if (!report.fault || concerns_data_only(*report.fault)) {
    judge_data(step, report, timings);
    judge_launch(step, workload);
  } else {
    EXPECT_NE(execute_step(step, {.all_must_come = true}).problem, "")
        << to_text(*report.fault) << ", but it ends";
  }
}

void judge_mutants(const ListedWorkload& step, StepTallies& tallies, StepLot& lot, int timings) {
  for (const StepMutation& mutation : step_mutations) {
    SCOPED_TRACE(mutation.name);
    ListedWorkload mutant = step;
    if (mutation.apply(mutant, lot)) judge_step(mutant, tallies[mutation.name], timings);
  }
}

void print(const StepTallies& tallies) {
  std::cout << "mutation: mutants, refused, of these races, races that no timing showed\n";
  for (const auto& [name, tally] : tallies)
    std::cout << "  " << name << ": " << tally.mutants << ", " << tally.refused << ", "
              << tally.races << ", " << tally.races_unseen << "\n";
}

// COLLSIM_MUTANTS=n: n times as many.
int step_repetitions() {
  const char* const asked = std::getenv("COLLSIM_MUTANTS");
  return asked == nullptr ? 1 : std::max(1, std::atoi(asked));
}

TEST(WorkloadMutation, OfRandomSteps) {
  StepTallies tallies;
  const int cases = 40 * step_repetitions();
  for (int seed = 0; seed < cases && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    StepLot lot(static_cast<std::uint64_t>(seed));
    const ListedWorkload step = RandomStep(lot).take();
    StepTally unchanged;
    judge_step(step, unchanged, 4);
    EXPECT_EQ(unchanged.refused, 0);
    judge_mutants(step, tallies, lot, 4);
  }
  print(tallies);
  EXPECT_GT(tallies["drop a wait"].races, 2 * tallies["drop a wait"].races_unseen);
  EXPECT_GT(tallies["free early"].races, 0);
  EXPECT_EQ(tallies["drop a collective"].refused, tallies["drop a collective"].mutants);
}

std::vector<Workload> small_steps() {
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
      make_workload(
          Train{.tp = 1, .pp = 3, .dp = 2, .microbatches = 3, .schedule = PipelineSchedule::zb_h1},
          model)};
}

TEST(WorkloadMutation, OfGenerators) {
  StepTallies tallies;
  for (const Workload& workload : small_steps()) {
    const ListedWorkload step = listed(workload);
    StepTally unchanged;
    judge_step(step, unchanged, 3);
    EXPECT_EQ(unchanged.refused, 0);
    for (int seed = 0; seed < 2 * step_repetitions() && !::testing::Test::HasFailure(); ++seed) {
      SCOPED_TRACE("seed " + std::to_string(seed));
      StepLot lot(static_cast<std::uint64_t>(seed));
      judge_mutants(step, tallies, lot, 3);
    }
  }
  print(tallies);
  EXPECT_EQ(tallies["drop a collective"].refused, tallies["drop a collective"].mutants);
  EXPECT_GT(tallies["drop a collective of all ranks"].refused, 0);
}

}  // namespace
}  // namespace collsim::test_workloads
