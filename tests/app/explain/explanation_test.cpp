// SPDX-License-Identifier: Apache-2.0
#include "app/explain/explanation.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "app/explain/explanation_internal.hpp"
#include "tests/app/study/testing.hpp"
#include "tests/collectives/rows.hpp"
#include "tests/contains.hpp"
#include "tests/golden.hpp"
#include "tests/sanitized.hpp"
#include "topo/routes.hpp"
#include "topo/shapes.hpp"

namespace collsim::testing {
namespace {

const LinkParameters cable{gigabytes_per_second(25), microseconds(2), microseconds(5)};

const Knob* find_knob(const Explanation& e, const std::string& name, const std::string& then) {
  for (const Knob& knob : e.knobs.all)
    if (knob.name == name && knob.then == then) return &knob;
  return nullptr;
}

// What must hold of every explanation that has a critical path.
void expect_consistent(const Explanation& e, const std::string& what) {
  const Breakdown& b = e.breakdown;
  ASSERT_TRUE(b.every_step_recorded) << what;
  EXPECT_EQ(b.path.total(), e.row.time) << what;
  EXPECT_LE(b.lines.size(), max_path_lines) << what;
  EXPECT_LE(b.waiting_for_others, e.row.time) << what;
  Time now{};
  TimeShares shares;
  for (const PathLine& line : b.lines) {
    EXPECT_EQ(line.from, now) << what;
    EXPECT_EQ(line.shares.total(), line.to - line.from) << what;
    EXPECT_LE(line.ranks.size(), max_ranks_shown) << what;
    now = line.to;
    shares += line.shares;
  }
  EXPECT_EQ(now, e.row.time) << what;
  EXPECT_EQ(shares.wire, b.path.wire + b.path.hops) << what;
  EXPECT_EQ(shares.startup, b.path.startup) << what;
  if (b.busiest && b.busiest->fill &&
      e.one_case.cluster->topology.links().front().sharing == Sharing::exclusive) {
    EXPECT_EQ(*b.busiest->fill + b.busiest->busy + *b.busiest->gaps + *b.busiest->drain, e.row.time)
        << what;
  }
  if (!e.formula.terms.empty()) {
    double sum = 0;
    for (const FormulaTerm& term : e.formula.terms) sum += term.value;
    EXPECT_NEAR(sum, e.formula.form->seconds, 1e-9 * sum) << what;
  }
  for (const Knob& knob : e.knobs.all)
    EXPECT_TRUE(knob.time.has_value() != !knob.why_not.empty()) << what << " " << knob.name;
  EXPECT_TRUE(std::is_sorted(e.knobs.all.begin(), e.knobs.all.end(),
                             [](const Knob& a, const Knob& b2) {
                               return a.time.value_or(Time::never()) <
                                      b2.time.value_or(Time::never());
                             }))
      << what;
}

TEST(Explanation, TheLectureCaseIsAPipelineThatFillsAndDrains) {
  const Explanation e = explain(lecture_case(16));
  expect_consistent(e, "lecture");
  ASSERT_TRUE(e.formula.applies);
  EXPECT_EQ(e.formula.terms.size(), 2U);
  EXPECT_EQ(e.formula.terms[0].text, "(K-2+S)*tau(N/S)");
  EXPECT_EQ(e.formula.terms[0].with_values, "(8-2+16)*172.8 us");
  ASSERT_EQ(e.formula.calls.size(), 1U);
  EXPECT_EQ(e.formula.calls[0].text, "tau(4 MiB)");
  expect_text(e.formula.calls[0].with_values, "5 us + 167.8 us");
  EXPECT_TRUE(e.formula.parts_add_up);
  ASSERT_EQ(e.formula.parts.size(), 2U);
  EXPECT_NEAR(e.formula.parts[0].seconds, 22 * 5e-6, 1e-12);

  EXPECT_EQ(e.breakdown.path.startup, 22 * microseconds(5));
  EXPECT_EQ(e.breakdown.messages, 22U);
  EXPECT_EQ(e.breakdown.waiting_for_others, Time{});
  ASSERT_EQ(e.breakdown.lines.size(), 2U);
  EXPECT_EQ(e.breakdown.lines[0].shape, PathLine::Shape::train);
  EXPECT_EQ(e.breakdown.lines[0].count, 16);
  EXPECT_EQ(e.breakdown.lines[1].shape, PathLine::Shape::relay);
  EXPECT_EQ(e.breakdown.lines[1].ranks, (std::vector<std::uint32_t>{1, 2, 3, 4, 5, 6, 7}));
  ASSERT_TRUE(e.breakdown.busiest);
  EXPECT_EQ(e.breakdown.busiest->equally_busy, 6U);
  EXPECT_EQ(*e.breakdown.busiest->fill, Time{});
  EXPECT_EQ(*e.breakdown.busiest->drain, e.breakdown.lines[1].to - e.breakdown.lines[1].from);

  ASSERT_TRUE(e.knobs.chunks);
  EXPECT_EQ(e.knobs.chunks->best, 57);
  EXPECT_NEAR(*e.knobs.chunks->by_formula, 56.76, 0.01);
  EXPECT_EQ(e.bound.binding, BoundExplanation::Kind::bandwidth);
  ASSERT_TRUE(e.bound.narrowest);
  EXPECT_EQ(e.bound.narrowest->positions, std::vector<int>{0});
  EXPECT_EQ(e.bound.narrowest->direction, CutDirection::out);
  EXPECT_EQ(e.bound.narrowest->bytes, mebibytes(64));
}

TEST(Explanation, KnobsSayWhatSimulatingTheChangeSays) {
  const Case point = lecture_case(16);
  const Explanation e = explain(point);
  Case more = point;
  more.choice.chunks = 32;
  ASSERT_NE(find_knob(e, "chunks", "32"), nullptr);
  EXPECT_EQ(find_knob(e, "chunks", "32")->time, run_case(more).time);
  Case channels = point;
  channels.choice.channels = 2;
  EXPECT_EQ(find_knob(e, "channels", "2")->time, run_case(channels).time);
  Case other = point;
  other.choice.name = "flat";
  EXPECT_EQ(find_knob(e, "algorithm", "flat")->time, run_case(other).time);
  const LinkParameters wide{gigabytes_per_second(50), Time{}, microseconds(5)};
  const Case faster = changed(point, [&](Cluster& c) { c.topology = make_chain(8, wide); });
  EXPECT_EQ(find_knob(e, "bandwidth of all links", "50 GB/s")->time, run_case(faster).time);
  const LinkParameters bit_wider{gigabytes_per_second(30), Time{}, microseconds(5)};
  const Case bit = changed(point, [&](Cluster& c) { c.topology = make_chain(8, bit_wider); });
  EXPECT_EQ(find_knob(e, "bandwidth of all links", "50 GB/s")->time_20, run_case(bit).time);
  const LinkParameters quick{gigabytes_per_second(25), Time{}, nanoseconds(2500)};
  const Case prompt = changed(point, [&](Cluster& c) { c.topology = make_chain(8, quick); });
  EXPECT_EQ(find_knob(e, "overhead of all links", "2.5 us")->time, run_case(prompt).time);
}

// Each enters a node at another rank, and so through another NIC.
TEST(Explanation, TriesAsManyChannelsAsANodeHasRanks) {
  const LinkParameters link{gigabytes_per_second(50), Time{}, microseconds(1)};
  Case point = lecture_case(1);
  point.collective.operation = Operation::all_reduce;
  point.choice.name = "ring";
  const Case on_nodes = changed(point, [&](Cluster& c) {
    c.topology = make_nodes({.nodes = 2,
                             .gpus_per_node = 4,
                             .nics_per_node = 4,
                             .intra_link = link,
                             .inter_link = link});
  });
  const Explanation e = explain(on_nodes);
  ASSERT_NE(find_knob(e, "channels", "4"), nullptr);
  Case four = on_nodes;
  four.choice.channels = 4;
  EXPECT_EQ(find_knob(e, "channels", "4")->time, run_case(four).time);
}

TEST(Explanation, AlgorithmsAreAllNamedAndAutoBecomesTheFastest) {
  Case point = case_on(make_switch(8, cable), Operation::all_reduce, kibibytes(64), "auto");
  const Explanation e = explain(point);
  EXPECT_TRUE(e.chosen_automatically);
  EXPECT_EQ(e.one_case.choice.name, e.row.algorithm);
  EXPECT_EQ(e.algorithms.front().algorithm, e.row.algorithm);
  const auto all = algorithms(Operation::all_reduce);
  EXPECT_EQ(static_cast<std::ptrdiff_t>(e.algorithms.size()),
            std::count_if(all.begin(), all.end(), [](const Algorithm* algorithm) {
              return !algorithm->for_adding_networks;  // as no switch here does
            }));
  for (const Contender& one : e.algorithms) {
    point.choice.name = one.algorithm;
    ASSERT_TRUE(one.time) << one.algorithm;
    EXPECT_EQ(one.time, run_case(point).time) << one.algorithm;
    EXPECT_GE(one.time, e.row.time);
  }
}

TEST(Explanation, ALateRankIsOnThePathAndAKnob) {
  const Case point = changed(
      case_on(make_ring(8, cable), Operation::all_reduce, mebibytes(64), "ring"), [](Cluster& c) {
        c.late = {{Rank(3), milliseconds(5)}};
      });
  const Explanation e = explain(point);
  expect_consistent(e, "late");
  EXPECT_EQ(e.breakdown.path.start, milliseconds(5));
  EXPECT_EQ(e.breakdown.lines.front().shape, PathLine::Shape::start);
  EXPECT_EQ(e.breakdown.lines.front().ranks, std::vector<std::uint32_t>{3});
  EXPECT_FALSE(e.formula.applies);
  expect_text(e.formula.why_not, "rank 3 starts 5 ms late");
  ASSERT_TRUE(e.formula.form);
  const Knob* punctual = find_knob(e, "late rank 3", "on time");
  ASSERT_NE(punctual, nullptr);
  EXPECT_EQ(*punctual->time, e.row.time - milliseconds(5));
}

TEST(Explanation, TheBoundCountsTheLaunchAndKnowsWhoIsLate) {
  Case point = case_on(make_ring(8, cable), Operation::all_reduce, mebibytes(64), "ring");
  point.costs.launch = microseconds(20);
  const Explanation launched = explain(point);
  EXPECT_EQ(launched.bound.launch, microseconds(20));
  EXPECT_EQ(launched.bound.late, Time{});
  EXPECT_DOUBLE_EQ(launched.bound.ratio,
                   launched.row.time.seconds() / launched.row.bound.seconds());
  const Explanation late = explain(changed(point, [](Cluster& c) {
    c.late = {{Rank(3), milliseconds(5)}};
  }));
  EXPECT_EQ(late.bound.launch, microseconds(20));
  EXPECT_EQ(late.bound.late, milliseconds(5));
}

TEST(Explanation, EqualLinksThatCarryNothingAreCounted) {
  TopologyBuilder builder;
  for (int rank = 0; rank < 4; ++rank) builder.add_node(NodeKind::gpu);
  for (int leaf_or_spine = 0; leaf_or_spine < 5; ++leaf_or_spine)
    builder.add_node(NodeKind::network_switch);
  for (std::size_t rank = 0; rank < 4; ++rank)
    builder.connect(NodeId(rank), NodeId(4 + rank / 2), cable);
  for (std::size_t spine = 6; spine < 9; ++spine)
    for (const std::size_t leaf : {4U, 5U}) builder.connect(NodeId(leaf), NodeId(spine), cable);
  const auto explained = [&](Routing routing, Operation operation, const char* algorithm) {
    return explain(
        case_on(with_routing(builder.build(), routing, 0), operation, mebibytes(4), algorithm));
  };
  const Explanation first = explained(Routing::first, Operation::all_to_all, "direct");
  ASSERT_TRUE(first.row.idle_links);
  EXPECT_EQ(first.row.idle_links->busy, "switch0->switch2");
  EXPECT_EQ(first.row.idle_links->alike, 3U);
  EXPECT_EQ(first.row.idle_links->idle, 2U);
  EXPECT_NE(to_text(first).find("2 of 3 equal links carry nothing, while switch0->switch2"),
            std::string::npos);
  EXPECT_FALSE(explained(Routing::spray, Operation::all_to_all, "direct").row.idle_links);
  // Ports are as busy as the cables above.
  EXPECT_FALSE(explained(Routing::first, Operation::all_reduce, "ring").row.idle_links);
}

TEST(Explanation, OneSlowLinkIsTheKnobAndTheOthersAreNot) {
  const Topology ring = make_ring(8, cable);
  LinkParameters slow = cable;
  slow.bandwidth = gigabytes_per_second(5);
  const Topology::LinkChange change{
      ring.links_between(ring.node_of(Rank(3)), ring.node_of(Rank(4))).front(), slow};
  const Explanation e = explain(case_on(ring.with_changed_links(std::span(&change, 1)),
                                        Operation::all_reduce, mebibytes(64), "ring"));
  expect_consistent(e, "slow link");
  EXPECT_EQ(e.breakdown.busiest->name, "gpu3->gpu4");
  EXPECT_EQ(e.breakdown.busiest->equally_busy, 0U);
  const Knob* wider = find_knob(e, "bandwidth of link gpu3->gpu4", "10 GB/s");
  ASSERT_NE(wider, nullptr);
  EXPECT_LT(wider->time->seconds(), 0.51 * e.row.time_s());
  const Knob* others = find_knob(e, "bandwidth of the 15 links like gpu0->gpu1", "50 GB/s");
  ASSERT_NE(others, nullptr);
  EXPECT_GT(others->time->seconds(), 0.98 * e.row.time_s());
}

TEST(Explanation, AdditionsAreToldFromCopiesAndOverhead) {
  Case point = case_on(make_ring(4, cable), Operation::all_reduce, mebibytes(4), "ring");
  point.costs.reduce_bandwidth = gigabytes_per_second(10);
  point.costs.copy_bandwidth = gigabytes_per_second(100);
  point.costs.instruction_overhead = microseconds(1);
  point.costs.launch = microseconds(20);
  const Explanation e = explain(point);
  expect_consistent(e, "costs");
  EXPECT_EQ(e.breakdown.launch, microseconds(20));
  EXPECT_EQ(e.breakdown.path.start, microseconds(20));
  // Three blocks of 1 MiB are added on the way.
  EXPECT_EQ(e.breakdown.reductions, 3U);
  EXPECT_EQ(e.breakdown.path.reduction, 3 * transfer_time(mebibytes(1), gigabytes_per_second(10)));
  EXPECT_GT(e.breakdown.path.copy, Time{});
  EXPECT_EQ(e.breakdown.path.instructions.ps() % microseconds(1).ps(), 0);
  EXPECT_NE(find_knob(e, "reduce_bandwidth", "20 GB/s"), nullptr);
  EXPECT_NE(find_knob(e, "copy_bandwidth", "200 GB/s"), nullptr);
  EXPECT_NE(find_knob(e, "instruction_overhead", "500 ns"), nullptr);
  EXPECT_NE(find_knob(e, "launch", "10 us"), nullptr);
}

TEST(Explanation, RanksThatGatherAtOneWaitForEachOther) {
  const Explanation e =
      explain(case_on(make_switch(8, cable), Operation::gather, mebibytes(8), "flat"));
  expect_consistent(e, "gather");
  // Seven messages share the root's port: all but the first wait for another rank's.
  const Time one = microseconds(5) + transfer_time(mebibytes(1), gigabytes_per_second(25));
  EXPECT_EQ(e.breakdown.waiting_for_others, 6 * one);
  EXPECT_EQ(e.breakdown.lines.front().shape, PathLine::Shape::fan_in);
  // A broadcast's root only waits for itself.
  const Explanation own =
      explain(case_on(make_switch(8, cable), Operation::broadcast, mebibytes(8), "flat"));
  EXPECT_EQ(own.breakdown.waiting_for_others, Time{});
  EXPECT_EQ(own.breakdown.lines.front().shape, PathLine::Shape::fan_out);
}

TEST(Explanation, CountsMessagesThatLostATie) {
  const auto ties = [](std::vector<Rank> group) {
    Case point =
        case_on(make_switch(9, LinkParameters{gigabytes_per_second(25), Time{}, microseconds(1)}),
                Operation::all_reduce, Bytes{13432}, "recursive-doubling");
    if (!group.empty()) point.collective.group = std::move(group);
    return explain(point);
  };
  const Explanation in_order = ties({});
  const Explanation mixed =
      ties({Rank(7), Rank(8), Rank(3), Rank(4), Rank(6), Rank(2), Rank(5), Rank(0), Rank(1)});
  EXPECT_GT(mixed.row.time, in_order.row.time);
  EXPECT_GT(mixed.breakdown.ties, 0U);
  ASSERT_TRUE(mixed.breakdown.first_tie);
  expect_contains(to_text(mixed), "(ranks 5 and 7, for switch0->gpu3 at 3.075 us)");
  // Of whom a message gets to the third link at once the one that began there goes first.
  Case later = case_on(make_chain(4, LinkParameters{gigabytes_per_second(10)}),
                       Operation::send_recv, Bytes{10'000'000}, "direct");
  later.collective.pattern.kind = Pattern::Kind::pairs;
  later.collective.pattern.pairs = {{0, 2}, {1, 3}};
  const Explanation crossed = explain(later);
  ASSERT_TRUE(crossed.breakdown.first_tie);
  EXPECT_EQ(crossed.breakdown.first_tie->first, Rank(1));
  expect_contains(to_text(crossed), "the lower rank's goes first, but last one");
  // Alone on its links, nobody ties.
  EXPECT_EQ(explain(case_on(make_ring(4, cable), Operation::all_gather, mebibytes(1), "ring"))
                .breakdown.ties,
            0U);
}

TEST(Explanation, SharedLinksCostSharingNotQueueing) {
  LinkParameters fair = cable;
  fair.sharing = Sharing::fair;
  const Explanation incast =
      explain(case_on(make_switch(8, fair), Operation::gather, mebibytes(64), "flat"));
  expect_consistent(incast, "fair");
  EXPECT_GT(incast.breakdown.path.sharing, incast.breakdown.path.wire);
  // A link that a rank fills with its own messages is shared with nobody.
  const Explanation e =
      explain(case_on(make_switch(8, fair), Operation::all_to_all, mebibytes(64), "direct"));
  expect_consistent(e, "fair");
  EXPECT_EQ(e.breakdown.path.sharing, Time{});
  EXPECT_FALSE(e.formula.form);
  expect_text(e.formula.why_not, "none is known for links that messages share");
}

TEST(Explanation, MissingFormulasSayWhy) {
  Case slots = lecture_case(16);
  slots.choice.slots = 1;
  expect_text(explain(slots).formula.why_not,
              "none is known if a sender may have to wait for a free slot (here 1 per connection)");
  Case channels = lecture_case(16);
  channels.choice.channels = 2;
  expect_text(explain(channels).formula.why_not, "none is known for more than one channel");
}

TEST(Explanation, TooManyStepsAreSummarised) {
  Case point = case_on(make_ring(512, cable), Operation::all_gather, mebibytes(64), "ring");
  point.choice.chunks = 16;
  const Explanation e = explain(point);
  EXPECT_FALSE(e.breakdown.every_step_recorded);
  EXPECT_TRUE(e.breakdown.lines.empty());
  ASSERT_TRUE(e.breakdown.busiest);
  EXPECT_FALSE(e.breakdown.busiest->fill);
  EXPECT_FALSE(e.knobs.all.empty());
}

TEST(Explanation, EveryAlgorithmAndOddCaseIsConsistent) {
  LinkParameters fair = cable;
  fair.sharing = Sharing::fair;
  for (const Algorithm& algorithm : algorithms())
    for (const int ranks : nearest_ranks(algorithm, listed_cases<int>({1, 3}, {2, 8})))
      for (const Bytes size : {Bytes{0}, Bytes{5}, Bytes{100'000}})
        for (const bool shared : {false, true}) {
          Case point =
              case_on(make_switch(static_cast<std::size_t>(ranks), shared ? fair : cable),
                      algorithm.operation, algorithm.operation == Operation::barrier ? 0 : size,
                      std::string(algorithm.name));
          point.choice.chunks = size == 5 ? 3 : 1;
          if (shared) point.costs.reduce_bandwidth = gigabytes_per_second(1);
          expect_consistent(explain(point), text_of(algorithm) + " " + std::to_string(ranks) + " " +
                                                std::to_string(size));
        }
}

TEST(Explanation, HugeNumbersAreErrorsOrAnswersButNeverCrash) {
  LinkParameters fastest = cable;
  fastest.bandwidth = Bandwidth(std::numeric_limits<std::int64_t>::max());
  const Explanation e =
      explain(case_on(make_chain(3, fastest), Operation::broadcast, mebibytes(1), "chain"));
  expect_consistent(e, "fastest");
  for (const Knob& knob : e.knobs.all) EXPECT_NE(knob.name, "bandwidth of all links");
  LinkParameters slowest = cable;
  slowest.bandwidth = Bandwidth(1);
  EXPECT_THROW(static_cast<void>(explain(
                   case_on(make_chain(3, slowest), Operation::broadcast, gibibytes(1), "chain"))),
               Error);
}

// Only what this case needs: messages in one piece have no S, and what is free is not added.
TEST(Explanation, FunctionsInFormulasAreDefinedAsSimplyAsTheCaseAllows) {
  const auto step = [](int chunks, bool adding_takes_time) {
    Case point = case_on(make_switch(8, cable), Operation::all_reduce, mebibytes(8), "naive");
    point.choice.chunks = chunks;
    if (adding_takes_time) point.costs.reduce_bandwidth = gigabytes_per_second(100);
    const FormulaExplanation f = explain(point).formula;
    EXPECT_EQ(f.calls.size(), 2U);  // of reduce_hop, and of tau in it
    const std::string& text = f.definitions.front();
    return text.substr(0, text.find(':'));
  };
  expect_text(step(1, false), "reduce_hop(n) = tau(n) + L");
  expect_text(step(1, true), "reduce_hop(n) = tau(n) + L + n*gamma");
  expect_text(step(4, false), "reduce_hop(n) = S*tau(n/S) + L");
  expect_text(step(4, true),
              "reduce_hop(n) = tau(n/S) + L + (S-1)*max(tau(n/S), n/S*gamma) + n/S*gamma");
}

TEST(Explanation, FormulasAreTakenApart) {
  int apart = 0;
  for (const Algorithm& algorithm : algorithms())
    for (const int chunks : {1, 4}) {
      Case point = case_on(make_switch(8, cable), algorithm.operation,
                           algorithm.operation == Operation::barrier ? 0 : mebibytes(8),
                           std::string(algorithm.name));
      point.choice.chunks = chunks;
      const FormulaExplanation f = explain(point).formula;
      if (!f.form) continue;
      EXPECT_NE(f.terms.empty(), !f.form->in_words) << f.form->formula;
      apart += f.form->in_words ? 0 : 1;
    }
  EXPECT_GE(apart, 40);
}

// K and N of a level are not those of the case, so the table of symbols has neither.
TEST(Explanation, SumsOverLevelsSpeakOfALevelsRanks) {
  const FormulaExplanation f =
      explain(case_on(make_torus({2, 4}, cable), Operation::all_reduce, mebibytes(8), "torus"))
          .formula;
  ASSERT_TRUE(f.form);
  ASSERT_FALSE(f.symbols.empty());
  for (const ExplainedSymbol& symbol : f.symbols)
    EXPECT_TRUE(symbol.symbol != "K" && symbol.symbol != "N") << symbol.symbol;
}

TEST(Explanation, SaysThatPartsWereMadeEqual) {
  Explanation e = explain(lecture_case(16));
  EXPECT_EQ(comparison_in_words(e).find("as long as the longest"), std::string::npos);
  e.row.evened = true;
  expect_contains(comparison_in_words(e), "as long as the longest");
}

}  // namespace
}  // namespace collsim::testing
