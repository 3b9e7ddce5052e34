// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "bench/gpu/cases.hpp"
#include "bench/gpu/phases.hpp"
#include "collectives/checker.hpp"

namespace collsim::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double time_for_algorithms_s = 90;
constexpr std::size_t shown_failures = 20;

struct Case {
  Collective collective;
  AlgorithmChoice choice;
  Protocol protocol = Protocol::simple;
  int slots_variant = 0;  // of slots_for()
};

// Knobs that are not swept in full take turns, so that every value meets every other sooner or
// later.
Case make_case(const Algorithm& row, int ranks, std::size_t turn) {
  constexpr std::int64_t counts[] = {1009, 0, 1, 37, 4097, 5, 100'003};
  constexpr int chunks[] = {1, 3, 2, 7};
  Case made;
  Collective& collective = made.collective;
  collective.operation = row.operation;
  collective.type = all_element_types()[turn % all_element_types().size()];
  collective.reduction = all_reductions()[turn / 2 % all_reductions().size()];
  collective.count = row.operation == Operation::barrier ? 0 : counts[turn % std::size(counts)];
  for (int i = 0; i < ranks; ++i)
    collective.group.emplace_back(
        static_cast<std::size_t>(turn % 2 == 0 ? i : 2 * (ranks - i) + 1));
  if (takes_root(row)) collective.root = static_cast<int>(turn % static_cast<std::size_t>(ranks));
  const bool may_be_in_place = row.operation != Operation::all_to_all &&
                               row.operation != Operation::send_recv &&
                               row.operation != Operation::barrier;
  collective.in_place = may_be_in_place && turn % 3 == 1;
  made.choice.name = row.name;
  made.choice.chunks = chunks[turn / 3 % std::size(chunks)];
  made.choice.channels = 1 + static_cast<int>(turn / 5 % 2);
  return made;
}

// As few slots as work, one more, 8, as many as there are messages.
std::optional<int> slots_for(const Case& made) {
  if (made.slots_variant == 3) return std::nullopt;
  const int least = least_slots(make_schedule(made.collective, made.choice)).value_or(1);
  return made.slots_variant == 2 ? std::max(8, least) : least + made.slots_variant;
}

class Sweep {
 public:
  void run(const Case& made) {
    RunOptions options;
    options.warmup = 1;
    options.iterations = 1;
    const Ran ran = run_case({make_schedule(made.collective, made.choice), made.protocol}, options);
    auto& [right, all] = by_operation_[std::string(to_string(made.collective.operation))];
    ++all;
    if (ran.problem.empty())
      ++right;
    else
      failures_.push_back(to_text(made.collective, made.choice, made.protocol) + ": " +
                          ran.problem);
  }

  Verdict report(Part& part, std::size_t planned) const {
    std::size_t ran = 0;
    for (const auto& [operation, counts] : by_operation_) ran += counts.second;
    const double took_s = seconds();
    part.text(concat(ran, " of ", planned, " cases in ", number(took_s, 0), " s, ",
                     ran - failures_.size(), " with every byte right",
                     (ran < planned ? "; no time for the others" : "")));
    part.columns({"operation", "cases", "right"});
    for (const auto& [operation, counts] : by_operation_)
      part.row({operation, std::to_string(counts.second), std::to_string(counts.first)});
    part.end_of_table();
    for (std::size_t i = 0; i < std::min(failures_.size(), shown_failures); ++i)
      part.text("- FAILED: " + failures_[i]);
    return failures_.empty() && ran > 0 ? Verdict::passed : Verdict::failed;
  }

  [[nodiscard]] double seconds() const {
    return std::chrono::duration<double>(Clock::now() - begin_).count();
  }

 private:
  Clock::time_point begin_ = Clock::now();
  std::map<std::string, std::pair<std::size_t, std::size_t>> by_operation_;  // right, all
  std::vector<std::string> failures_;
};

// Every type with every reduction, through the fused instructions of a ring, aligned and not.
std::vector<Case> type_cases() {
  std::vector<Case> cases;
  for (const ElementType type : all_element_types())
    for (const Reduction reduction : all_reductions())
      for (const Protocol protocol : {Protocol::simple, Protocol::ll})
        for (const std::int64_t count : {7, 1021, 65'536}) {
          Case made;
          made.collective = collective_of(Operation::all_reduce, 3, 0);
          made.collective.count = count;
          made.collective.type = type;
          made.collective.reduction = reduction;
          made.choice.name = "ring";
          made.choice.slots = 2;
          made.protocol = protocol;
          cases.push_back(made);
        }
  return cases;
}

// Algorithms vary fastest: when the time is over, all have been there.
std::vector<Case> algorithm_cases() {
  std::vector<Case> cases;
  for (int variant = 0; variant < 4; ++variant)
    for (const Protocol protocol : {Protocol::simple, Protocol::ll})
      for (int ranks = 2; ranks <= 8; ++ranks)
        for (const Algorithm& row : algorithms()) {
          if (!row.works_with(ranks)) continue;
          Case made = make_case(row, ranks, cases.size());
          made.slots_variant = variant;
          made.protocol = protocol;
          cases.push_back(made);
        }
  return cases;
}

}  // namespace

Verdict report_correctness(Part& part) {
  part.heading("Correctness");
  part.text(
      "Random inputs, poison everywhere else; outputs are compared byte by byte after the first "
      "run and, out of place, after the last one.");
  part.text(
      "**Types.** All element types and reductions, both protocols, 3 ranks, 7, 1021 and 65536 "
      "elements.");
  Sweep types;
  const std::vector<Case> of_types = type_cases();
  for (const Case& made : of_types) types.run(made);
  const Verdict types_verdict = types.report(part, of_types.size());

  part.text(
      "**Algorithms.** All algorithms, 2 to 8 ranks, both protocols, four numbers of slots (the "
      "least that works, one more, 8, no limit); types, reductions, counts, chunks, channels, "
      "roots and "
      "places take turns.");
  Sweep sweep;
  const std::vector<Case> of_algorithms = algorithm_cases();
  for (Case made : of_algorithms) {
    if (sweep.seconds() > time_for_algorithms_s) break;
    made.choice.slots = slots_for(made);
    sweep.run(made);
  }
  const Verdict verdict = sweep.report(part, of_algorithms.size());
  return types_verdict == Verdict::passed ? verdict : types_verdict;
}

}  // namespace collsim::bench
