// SPDX-License-Identifier: Apache-2.0
// The negative space: schedules broken in every way we can think of.  The executor, which runs them
// on real data, is the judge: whatever it finds wrong, the checker must find wrong.

#include <gtest/gtest.h>

#include <functional>
#include <iostream>
#include <map>
#include <random>
#include <set>

#include "collectives/algorithms.hpp"
#include "collectives/checker.hpp"
#include "tests/collectives/rows.hpp"
#include "tests/collectives/schedules_for_tests.hpp"
#include "tests/sanitized.hpp"

namespace collsim {
namespace {

using namespace test_schedules;

struct Tally {
  int mutants = 0;
  int executor_wrong = 0;
  int checker_wrong = 0;
};

class Scores {
 public:
  void add(const std::string& mutation, const Schedule& mutant, const std::string& name) {
    const std::string judged = judge(mutant);
    const CheckReport report = check(mutant);
    ASSERT_EQ(report.ok, !report.fault.has_value());
    Tally& tally = tallies_[mutation];
    ++tally.mutants;
    tally.executor_wrong += !judged.empty();
    tally.checker_wrong += !report.ok;
    EXPECT_TRUE(judged.empty() || !report.ok)
        << name << ", " << mutation << ": the executor says \"" << judged
        << "\" and the checker nothing";
    if (judged.empty() && !report.ok) ++only_checker_[report.fault->kind];
  }

  [[nodiscard]] Tally total() const {
    Tally sum;
    for (const auto& [mutation, tally] : tallies_) {
      sum.mutants += tally.mutants;
      sum.executor_wrong += tally.executor_wrong;
      sum.checker_wrong += tally.checker_wrong;
    }
    return sum;
  }
  [[nodiscard]] const std::map<std::string, Tally>& by_mutation() const { return tallies_; }
  [[nodiscard]] const std::map<FaultKind, int>& only_checker() const { return only_checker_; }

  void print() const {
    std::cout << "mutation: mutants, wrong by the executor, wrong by the checker\n";
    for (const auto& [mutation, tally] : tallies_)
      std::cout << "  " << mutation << ": " << tally.mutants << ", " << tally.executor_wrong << ", "
                << tally.checker_wrong << "\n";
    std::cout << "found by the checker only:\n";
    for (const auto& [kind, count] : only_checker_)
      std::cout << "  " << to_string(kind) << ": " << count << "\n";
  }

 private:
  std::map<std::string, Tally> tallies_;
  std::map<FaultKind, int> only_checker_;
};

// One way to break a list of programs at one instruction; false when it does not apply there.
struct Mutation {
  const char* name;
  std::function<bool(ListedPrograms&, std::size_t lane, std::size_t step, const Schedule&)> apply;
};

bool exchange_reduce_and_copy(Instruction& instruction) {
  switch (instruction.op) {
    case Op::receive_reduce: instruction.op = Op::receive; return true;
    case Op::receive_reduce_store_send: instruction.op = Op::receive_send; return true;
    case Op::local_reduce: instruction.op = Op::copy; return true;
    case Op::copy: instruction.op = Op::local_reduce; return true;
    case Op::receive: instruction.op = Op::receive_reduce; return true;
    case Op::receive_send: instruction.op = Op::receive_reduce_send; return true;
    case Op::receive_reduce_send: instruction.op = Op::copy_send; return true;
    default: return false;
  }
}

Buffer next_buffer(Buffer buffer) {
  return static_cast<Buffer>((static_cast<int>(buffer) + 1) % 3);
}

// Changes to the order of instructions and to who runs them.
std::vector<Mutation> order_mutations() {
  const auto here = [](std::size_t i) { return static_cast<std::ptrdiff_t>(i); };
  return {
      {"drop",
       [=](ListedPrograms& programs, std::size_t lane, std::size_t step, const Schedule&) {
         programs[lane].erase(programs[lane].begin() + here(step));
         return true;
       }},
      {"duplicate",
       [=](ListedPrograms& programs, std::size_t lane, std::size_t step, const Schedule&) {
         const Instruction same = programs[lane][step];
         programs[lane].insert(programs[lane].begin() + here(step), same);
         return true;
       }},
      {"swap neighbours",
       [](ListedPrograms& programs, std::size_t lane, std::size_t step, const Schedule&) {
         std::vector<Instruction>& list = programs[lane];
         if (step + 1 >= list.size()) return false;
         std::swap(list[step], list[step + 1]);
         return true;
       }},
      {"move to another lane",
       [](ListedPrograms& programs, std::size_t lane, std::size_t step, const Schedule& schedule) {
         const auto lanes = static_cast<std::size_t>(schedule.lanes());
         if (lanes == 1) return false;
         const std::size_t other = lane / lanes * lanes + (lane + 1) % lanes;
         const Instruction moved = programs[lane][step];
         programs[lane].erase(programs[lane].begin() + static_cast<std::ptrdiff_t>(step));
         programs[other].insert(programs[other].begin() + static_cast<std::ptrdiff_t>(std::min(
                                                              step, programs[other].size())),
                                moved);
         return true;
       }},
  };
}

// Changes to what an instruction says.
std::vector<Mutation> operand_mutations() {
  return {
      {"retarget",
       [](ListedPrograms& programs, std::size_t lane, std::size_t step, const Schedule& schedule) {
         Instruction& instruction = programs[lane][step];
         const auto ranks = static_cast<std::size_t>(schedule.size());
         if (sends(instruction.op))
           instruction.to.rank = Rank((instruction.to.rank.index() + 1) % ranks);
         else if (receives(instruction.op))
           instruction.from.rank = Rank((instruction.from.rank.index() + 1) % ranks);
         else
           return false;
         return true;
       }},
      {"shift source",
       [](ListedPrograms& programs, std::size_t lane, std::size_t step, const Schedule&) {
         Instruction& instruction = programs[lane][step];
         instruction.source_offset += instruction.source_offset > 0 ? -1 : 1;
         return reads(instruction.op);
       }},
      {"shift destination",
       [](ListedPrograms& programs, std::size_t lane, std::size_t step, const Schedule&) {
         Instruction& instruction = programs[lane][step];
         instruction.destination_offset += instruction.destination_offset > 0 ? -1 : 1;
         return stores(instruction.op);
       }},
      {"shorten", [](ListedPrograms& programs, std::size_t lane, std::size_t step,
                     const Schedule&) { return programs[lane][step].count-- > 0; }},
      {"other source buffer",
       [](ListedPrograms& programs, std::size_t lane, std::size_t step, const Schedule&) {
         Instruction& instruction = programs[lane][step];
         instruction.source_buffer = next_buffer(instruction.source_buffer);
         return reads(instruction.op);
       }},
      {"other destination buffer",
       [](ListedPrograms& programs, std::size_t lane, std::size_t step, const Schedule&) {
         Instruction& instruction = programs[lane][step];
         instruction.destination_buffer = next_buffer(instruction.destination_buffer);
         return stores(instruction.op);
       }},
      {"reduce <-> copy",
       [](ListedPrograms& programs, std::size_t lane, std::size_t step, const Schedule&) {
         return exchange_reduce_and_copy(programs[lane][step]);
       }},
  };
}

void mutate_instructions(Scores& scores, const Schedule& schedule, const std::string& name,
                         std::mt19937_64& random) {
  constexpr int tries = 10;  // per mutation and schedule
  const ListedPrograms programs = record(schedule);
  std::vector<std::pair<std::size_t, std::size_t>> places;
  for (std::size_t lane = 0; lane < programs.size(); ++lane)
    for (std::size_t step = 0; step < programs[lane].size(); ++step)
      places.emplace_back(lane, step);
  if (places.empty()) return;
  std::vector<Mutation> mutations = order_mutations();
  for (Mutation& mutation : operand_mutations()) mutations.push_back(std::move(mutation));
  for (const Mutation& mutation : mutations) {
    for (int i = 0; i < tries; ++i) {
      const auto [lane, step] = places[random() % places.size()];
      ListedPrograms mutated = programs;
      if (!mutation.apply(mutated, lane, step, schedule)) continue;
      scores.add(mutation.name, replay(schedule, std::move(mutated)),
                 name + " lane " + std::to_string(lane) + " step " + std::to_string(step));
    }
  }
}

Schedule schedule_of(const Algorithm& algorithm, int ranks, int chunks, bool in_place) {
  Collective collective = in_place_if(
      in_place, collective_of(algorithm.operation, ranks, 2 * ranks + 1, ElementType::i32));
  collective.root = (ranks - 1) / 2;
  AlgorithmChoice choice;
  choice.name = algorithm.name;
  choice.chunks = chunks;
  return make_schedule(collective, choice);
}

void mutate_algorithm(Scores& scores, const Algorithm& algorithm, std::mt19937_64& random) {
  for (const int ranks : nearest_ranks(algorithm, testing::listed_cases<int>({3, 4}, {2, 7, 8}))) {
    for (const bool in_place : {false, true}) {
      if (in_place && !has_in_place_form(algorithm.operation)) continue;
      const Schedule schedule = schedule_of(algorithm, ranks, ranks % 2 == 0 ? 1 : 2, in_place);
      const std::string name =
          text_of(algorithm) + " of " + std::to_string(ranks) + (in_place ? " in place" : "");
      const CheckReport report = check(schedule);
      ASSERT_TRUE(report.ok) << name << ": " << report.fault->text;
      ASSERT_EQ(judge(schedule), "") << name;
      const auto least = least_slots(schedule);
      ASSERT_TRUE(least.has_value()) << name;
      const Schedule tight = schedule.with_slots(*least);
      ASSERT_TRUE(check(tight).ok) << name << " with " << *least << " slots";
      ASSERT_EQ(judge(tight), "") << name << " with " << *least << " slots";
      if (*least > 1) scores.add("one slot too few", schedule.with_slots(*least - 1), name);
      mutate_instructions(scores, in_place ? tight : schedule, name, random);
      if (has_in_place_form(algorithm.operation))
        scores.add("wrong aliasing", pretend_in_place(schedule, !in_place), name);
    }
  }
}

TEST(Mutation, WhatTheExecutorFindsWrongTheCheckerFindsWrong) {
  Scores scores;
  std::mt19937_64 random(20240607);
  for (const Algorithm& algorithm : algorithms()) {
    mutate_algorithm(scores, algorithm, random);
    if (HasFatalFailure()) return;
  }
  scores.print();
  EXPECT_GE(scores.total().mutants, testing::random_cases(5000));
  EXPECT_GE(scores.total().executor_wrong, testing::random_cases(4000));
  EXPECT_GE(scores.by_mutation().size(), 13U);
  for (const auto& [mutation, tally] : scores.by_mutation())
    EXPECT_GE(tally.executor_wrong, 10) << mutation;
  // What may be wrong although these data came out right: an order that happened to be kept, an
  // unfortunate overlap, a value that nobody used or that was the same by chance.
  const std::set<FaultKind> allowed{FaultKind::race,           FaultKind::overlap,
                                    FaultKind::unwritten_read, FaultKind::input_write,
                                    FaultKind::wrong_result,   FaultKind::double_contribution,
                                    FaultKind::bad_peer,       FaultKind::mixed_elements};
  for (const auto& [kind, count] : scores.only_checker())
    EXPECT_TRUE(allowed.count(kind) == 1) << to_string(kind) << ": " << count;
}

// ---- an algorithm that is wrong on purpose

// Recursive doubling as it is written down too often: right for powers of two, and for other
// numbers of ranks it skips partners that do not exist.
Program careless_recursive_doubling(Group group, Span in, Span out) {
  co_yield copy(in, out);
  for (int distance = 1; distance < group.size(); distance *= 2) {
    const int partner = group.me() ^ distance;
    if (partner >= group.size()) continue;
    co_yield send(group[partner], out);
    co_yield receive_reduce(group[partner], out, out);
  }
}

Schedule careless(int ranks) {
  Schedule::Parts parts;
  parts.collective = collective_of(Operation::all_reduce, ranks, 10, ElementType::i32);
  parts.algorithm = "careless";
  auto group = std::make_shared<const std::vector<Rank>>(parts.collective.group);
  parts.program = [group, ranks](int position, Lane lane) {
    return careless_recursive_doubling(Group(group->data(), ranks, position, lane), input(0, 10),
                                       output(0, 10));
  };
  return Schedule(std::move(parts));
}

TEST(Mutation, AnAlgorithmWrongOnPurposeIsRefused) {
  for (const int ranks : {1, 2, 4, 8}) EXPECT_TRUE(check(careless(ranks)).ok);
  for (const int ranks : {3, 5, 6, 7}) {
    const CheckReport report = check(careless(ranks));
    ASSERT_FALSE(report.ok) << ranks;
    EXPECT_NE(judge(careless(ranks)), "");
  }
  const CheckReport report = check(careless(3));
  EXPECT_EQ(report.fault->kind, FaultKind::wrong_result);
  EXPECT_EQ(report.fault->rank, Rank(1));
  EXPECT_EQ(report.fault->step, 2);
  EXPECT_EQ(report.fault->text,
            "rank 1 lane 0 step 2 (receive_reduce from rank 0 lane 0, output[0..9]): stores a "
            "wrong result: output[0..9] must start with element 0 of the sum over all 3 ranks but "
            "starts with element 0 of the sum over ranks 0, 1");
}

// ---- garbage

class Garbage {
 public:
  explicit Garbage(std::uint64_t seed) : random_(seed) {}

  Schedule schedule() {
    HandMade parts;
    parts.collective = collective_of(all_operations()[below(all_operations().size())], 1 + below(4),
                                     below(3) == 0 ? 0 : 16, ElementType::i32);
    parts.collective.in_place = has_in_place_form(parts.collective.operation) && below(2) == 0;
    parts.lanes = 1 + below(3);
    if (below(2) == 0) parts.slots = 1 + below(2);
    parts.scratch = 4 * below(3);
    ranks_ = parts.collective.size();
    lanes_ = parts.lanes;
    wildness_ = below(3) * 3;
    parts.programs.resize(static_cast<std::size_t>(ranks_ * lanes_));
    for (int i = below(14); i > 0; --i) add_something(parts.programs);
    return make(std::move(parts));
  }

 private:
  int below(std::size_t n) { return static_cast<int>(random_() % n); }
  bool wild() { return below(100) < wildness_; }

  std::int64_t number() {
    static constexpr std::int64_t strange[] = {-1, 5, 1 << 20, INT64_MAX, INT64_MIN, INT64_MAX - 1};
    return wild() ? strange[below(std::size(strange))] : below(3);
  }
  Endpoint endpoint() {
    if (wild()) return {Rank(random_() >> 32), Lane(random_() >> 48)};
    return at(below(static_cast<std::size_t>(ranks_)), below(static_cast<std::size_t>(lanes_)));
  }
  Span span(std::int64_t count) {
    return {static_cast<Buffer>(wild() ? below(256) : below(3)), below(2) == 0 ? 0 : number(),
            count};
  }
  Span target(std::int64_t count) { return below(4) == 0 ? span(count) : output(number(), count); }
  Span source(std::int64_t count) { return below(4) == 0 ? span(count) : input(number(), count); }

  // Mostly pairs that match, so that some of it gets far.
  void add_something(ListedPrograms& programs) {
    const Endpoint here = endpoint();
    const auto lane = Lane(static_cast<std::size_t>(below(static_cast<std::size_t>(lanes_))));
    Endpoint there = endpoint();
    if (there.rank == here.rank && !wild() && ranks_ > 1)
      there.rank = Rank((there.rank.index() + 1) % static_cast<std::size_t>(ranks_));
    const std::int64_t count = number();
    switch (below(6)) {
      case 0: add(programs, here, copy(source(count), target(count))); break;
      case 1: add(programs, here, local_reduce(source(count), target(count))); break;
      case 2:
        if (lane == here.lane && !wild()) break;
        if (below(8) > 0) add(programs, here, signal(here.on(lane)));
        if (below(8) > 0) add(programs, here.on(lane), wait(here));
        break;
      default:
        if (ranks_ == 1 && !wild()) break;
        if (below(16) > 0)
          add(programs, here,
              below(2) == 0 ? send(there, source(count))
                            : copy_send(source(count), target(count), there));
        if (below(16) > 0)
          add(programs, there,
              below(2) == 0 ? receive(here, target(count))
                            : receive_reduce(here, source(count), target(count)));
    }
  }

  // Usually at the end, sometimes not.
  void add(ListedPrograms& programs, const Endpoint& where, Instruction instruction) {
    if (where.rank.index() >= static_cast<std::size_t>(ranks_)) return;
    if (where.lane.index() >= static_cast<std::size_t>(lanes_)) return;
    auto& list =
        programs[where.rank.index() * static_cast<std::size_t>(lanes_) + where.lane.index()];
    if (wild()) instruction.op = static_cast<Op>(below(256));
    const std::size_t before = below(4) > 0 ? list.size() : random_() % (list.size() + 1);
    list.insert(list.begin() + static_cast<std::ptrdiff_t>(before), instruction);
  }

  std::mt19937_64 random_;
  int ranks_ = 1;
  int lanes_ = 1;
  int wildness_ = 0;
};

TEST(Mutation, GarbageIsJudgedAndNeverCrashes) {
  std::map<std::string_view, int> kinds;
  int right = 0;
  for (std::uint64_t seed = 0; seed < testing::random_cases(30'000U); ++seed) {
    const Schedule schedule = Garbage(seed).schedule();
    const CheckReport report = check(schedule);
    const CheckReport exact = check(schedule, {.exact = true});
    EXPECT_TRUE(report.ok || !exact.ok) << seed;
    if (report.ok) {
      ++right;
      EXPECT_EQ(judge(schedule), "") << seed;
      EXPECT_TRUE(least_slots(schedule).has_value()) << seed;
    } else {
      ++kinds[to_string(report.fault->kind)];
      EXPECT_EQ(report.fault->text, exact.fault->text) << seed;
      EXPECT_FALSE(report.fault->expected.empty() || report.fault->found.empty()) << seed;
    }
  }
  std::cout << "right: " << right << "\n";
  for (const auto& [kind, count] : kinds) std::cout << "  " << kind << ": " << count << "\n";
  EXPECT_GE(right, testing::random_cases(1000));
  if (!testing::is_sanitized) {
    EXPECT_EQ(kinds.size(), 18U);  // all but an endless program
  }
}

}  // namespace
}  // namespace collsim
