// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/explain/page_style.hpp"
#include "app/explain/variations.hpp"
#include "app/json/value.hpp"
#include "app/results/case_result.hpp"
#include "app/scenario/scenario.hpp"
#include "app/study/nccl.hpp"
#include "collectives/cost/bounds.hpp"
#include "collectives/cost/closed_forms.hpp"
#include "collectives/programs.hpp"
#include "topo/units.hpp"

namespace collsim {

// Why one case takes as long as it does, as plain data; to_text() below puts it into words.

// --- the formula --------------------------------------------------------------------------------

struct ExplainedSymbol {
  std::string symbol;
  double value = 0;  // infinite: A where there is no limit
  Units units;
  std::string meaning;
};

// What vanishes from the formula's value when one thing becomes free: startup, N/B, ...
struct VanishingPart {
  std::string name;  // startup, wire, latency, reduction
  double seconds = 0;
};

struct FormulaExplanation {
  std::optional<ClosedForm> form;
  // The formula was made for exactly this case (then it is CaseResult::analytic).  Otherwise it
  // leaves out what `why_not` says: late ranks, cost of instructions, ...; without a form, why
  // there is none.
  bool applies = false;
  std::string why_not;
  std::vector<ExplainedSymbol> symbols;  // those that the formula uses
  std::vector<std::string> definitions;  // "tau(n) = alpha + n/B, ...": of functions that it uses
  std::vector<FormulaTerm> terms;        // they add up to the value; none of a formula in words
  std::vector<FormulaTerm> calls;        // values of the functions in the terms: tau(4 MiB)
  std::vector<VanishingPart> parts;
  bool parts_add_up = false;  // no max() in the way
};

// --- where the time goes ------------------------------------------------------------------------

// The time of a stretch of the critical path by what it was spent on; see CriticalPath.
struct TimeShares {
  Time start, reduction, copy, instructions, startup, wire, hops, sharing, flight, queue;

  [[nodiscard]] Time total() const;
  TimeShares& operator+=(const TimeShares& other);
};

// The link that was busy the longest (the first of equals): fill + busy + gaps + drain is the time.
struct BusiestLink {
  std::string name;
  std::uint64_t messages = 0;
  bool in_parts = false;  // messages are sprayed: these are parts of them
  Bytes bytes = 0;
  Time busy;
  std::size_t equally_busy = 0;  // other links
  // Known when every step was recorded.
  std::optional<Time> fill;   // until its first message
  std::optional<Time> gaps;   // between messages, and where others shared the path
  std::optional<Time> drain;  // after its last byte
  // Under a protocol of NCCL: what of the link's own bandwidth it has.
  struct Rate {
    LinkProtocol protocol{};
    Bandwidth has, own;
  };
  std::optional<Rate> rate;
};

// A line of the critical path: one event, or several of the same kind one after the other.
struct PathLine {
  enum class Shape : std::uint8_t {
    start,     // ranks[0] had not started
    train,     // ranks[0] sends `count` messages to ranks[1], one after the other
    relay,     // a message goes from ranks[0] to ranks[1] to ranks[2] ...
    fan_out,   // ranks[0] sends to ranks[1], ranks[2], ... in turn
    fan_in,    // ranks[1], ranks[2], ... send to ranks[0] in turn
    work,      // ranks[0] works, `count` instructions
    repeated,  // the `period` lines before come `count` more times
    skipped    // `count` lines that are not shown
  };
  Shape shape{};
  std::vector<std::uint32_t> ranks;     // at most max_ranks_shown; the last one is the last
  std::vector<Programs::Place> places;  // where their lanes run: in them, or in a switch for them
  bool more_ranks = false;              // some between were left out
  std::int64_t count = 0;
  int period = 0;
  Bytes smallest = 0, largest = 0;  // of its messages
  bool alike = true;                // its events cost the same
  bool waited_for_others = false;   // other ranks' messages held the links it wanted
  TimeShares shares;
  Time from, to;
};

struct Breakdown {
  bool every_step_recorded = false;  // otherwise there are too many, and no path
  std::uint64_t instructions = 0;    // estimated where recorded_run() did not simulate
  TimeShares path;                   // adds up to the time
  Time launch;                       // part of path.start
  Time waiting_for_others;     // of the path: its message waited for links that other ranks held
  std::string idle_in_hops;    // the link that the path is on longest
  std::uint64_t messages = 0;  // on the path
  // Of them, behind those of other ranks that had asked for the link at the same moment: the
  // lower rank's went first, but after them one that came over links without latency just then.
  std::uint64_t ties = 0;
  struct Tie {
    std::string link;
    Time asked;
    Rank first, second;  // who went first
  };
  std::optional<Tie> first_tie;
  std::uint64_t reductions = 0;
  std::vector<PathLine> lines;  // at most max_path_lines
  std::optional<BusiestLink> busiest;
};
inline constexpr std::uint64_t max_explained_instructions = 1'000'000;
inline constexpr std::size_t max_path_lines = 12;
inline constexpr std::size_t max_ranks_shown = 10;

// --- what would change it -----------------------------------------------------------------------

// One thing that could be changed, and the simulated time after that.
struct Knob {
  std::string name;             // "bandwidth of all links", "chunks", "algorithm"
  std::string now, then;        // "25 GB/s", "50 GB/s"
  bool by_degrees = false;      // a rate or a time: `then` is twice as good
  std::optional<Time> time;     // with `then`; none when it was not simulated
  std::optional<Time> time_20;  // by_degrees: 20% better
  std::string why_not;          // no time: why
  bool too_long = false;        // no time: it was not even tried
  bool chunks_untried = false;  // an algorithm: more chunks may suit it, but would take too long
  // What makes the change with --set, path by path; empty: it is none of single values.
  Params set;
  std::string key = {};  // of a preset: what the value is set by, though it was not tried so
};

struct BestChunks {
  std::optional<double> by_formula;  // real
  struct Tried {
    int chunks;
    Time time;
  };
  std::vector<Tried> tried;  // in order of chunks, with the case's own
  int best = 1;
  Time best_time;
  bool broken_off = false;  // the next would have taken too long
};

struct Knobs {
  std::vector<Knob> all;  // the one that saves most first
  // Of an algorithm that folds what is beyond a power of two: how many ranks that are, and the
  // others alone, if they take much less time.
  int folded_ranks = 0;
  std::optional<Knob> power_of_two;
  std::optional<BestChunks> chunks;
};

// What links_override or switches_down does to a run that takes longer with it.
struct ChangedOrder {
  std::string by;  // which of the two
  struct Pair {
    std::string link;
    Time at;
    Rank ahead, behind;  // the senders of messages that cross it the other way round without
  };
  std::optional<Pair> first;
  std::uint64_t other_ways = 0;  // messages that cross other links
};

// --- the bound ----------------------------------------------------------------------------------

struct BoundExplanation {
  enum class Kind : std::uint8_t { none, bandwidth, latency, compute };
  Kind binding = Kind::none;
  double ratio = 0;  // time / CaseResult::bound; 0: no bound
  Time launch;       // part of CaseResult::bound
  Time late;         // the run waited for a late rank, of which no bound knows
  std::optional<NarrowestLinks> narrowest;  // of the bandwidth bound
  // Of an all-reduce: a reduce-scatter and an all-gather at the network's best rates.
  std::optional<double> best_known_s;
};

// --- all of it ----------------------------------------------------------------------------------

struct Contender {
  std::string algorithm;
  std::optional<Time> time;
  std::string why_not;    // no time: why
  bool too_long = false;  // no time: it was not even tried
  Params set;             // as of a Knob
};

struct Explanation {
  Case one_case;  // its algorithm is the one that ran
  CaseResult row;
  std::string summary;                // of the algorithm
  bool chosen_automatically = false;  // "auto" or "nccl" was asked for
  std::optional<TunerVerdict> tuner;  // of NCCL, if it chose
  // What a run takes: the row's time, which is the kernel's here, with the host's part
  // (study/nccl.hpp); and the same with a process for each GPU.
  Time launched, launched_apart;
  std::vector<Contender> algorithms;  // all of the operation, the fastest first
  Bytes largest_message = 0;          // of one step: what chunks cut it into
  FormulaExplanation formula;
  Breakdown breakdown;
  Knobs knobs;
  std::optional<ChangedOrder> changed_order;
  BoundExplanation bound;
};

// Simulates the case, and it again with every knob turned, within a fixed amount of work (counted,
// not timed, so that the answer is the same everywhere).  Throws Error as run_case does.  The case
// is a point of a scenario, whose variations are what a run with that change takes; of a case
// that was made by hand only the choice itself changes.
[[nodiscard]] Explanation explain(const Case& one_case, Variations* variations = nullptr);

// An explanation in plain language; ends with a newline.
[[nodiscard]] std::string to_text(const Explanation& explanation, const PageStyle& style = {});

// An explanation as data.  SI units; null where something is not known.
//
//   question, algorithm_summary          sentences
//   tuner           {version, expected: [{nccl_algorithm, nccl_protocol, seconds}], channels,
//                    threads, ring, tree, nvls, collnet: {channels, intra_bytes_per_s,
//                    inter_bytes_per_s}}; null: it was not asked
//   operation, algorithm, chosen_automatically, ranks, size_bytes, chunks, channels, machine
//   time_s, algbw_bytes_per_s, busbw_bytes_per_s, busbw_factor     as a run takes
//   kernel_s, host_s                     what explains time_s: all below is about the kernel
//   algorithms      [{algorithm, time_s, why_not}], the fastest first
//   formula         {applies, why_not, formula, reference, exact, seconds, difference_s,
//                    best_chunks, comparison (a sentence), definitions: [...],
//                    symbols: [{symbol, value, unit, meaning}],
//                    terms and calls: [{text, with_values, seconds}],
//                    parts: [{name, seconds}], parts_add_up}; seconds null: there is none
//   breakdown       {every_step_recorded, instructions, launch_s, waiting_for_others_s, messages,
//                    ties, first_tie: {link, asked_s, first, second: ranks}, start_s, startup_s,
//                    wire_s, serial_hops_s, idle_in_hops: the link that is idle then, sharing_s,
//                    flight_s, queue_s, reduction_s, copy_s, instructions_s, busiest_link: {name,
//                    messages (parts of them where they are sprayed), bytes, busy_s, fill_s,
//                    gaps_s, drain_s, equally_busy}}; the kinds add up to kernel_s, as do fill,
//                    gaps, busy and drain
//   idle_links      {busy, alike, idle}: so many of the links that are like the busy one carry
//                   nothing; null: none that matter
//   critical_path   [{shape, ranks, count, period, from_s, to_s, smallest_bytes, largest_bytes,
//                    text}]
//   knobs           [{name, now, then, by_degrees, time_s, saves_s, time_20_percent_s,
//                    saves_20_percent_s, why_not, set: {path: value} for --set; null: no single
//                    values}], the one that saves most first
//   power_of_two    {ranks, time_s, set}: so many of the ranks alone would take much less; null: no
//   changed_order   {by: links_override or switches_down, first: {link, at_s, ahead, behind: ranks
//                    whose messages cross it the other way round without it}, other_ways: so many
//                    messages cross other links}; null: it costs no time, or no two changed places
//   best_chunks     {by_formula, best, time_s, broken_off: more would take too long to try,
//                    tried: [{chunks, time_s}]}
//   bound           {bound_s, launch_s, bandwidth_s, latency_s, compute_s, binding, ratio, text,
//                    best_known_s: of an all-reduce, reduce-scatter and all-gather at the best
//                    rates of the network without startups,
//                    cut: {ranks: [...] on its one side, direction: out, in or both, bytes,
//                    bytes_per_s, links, text}; ranks and links null: between several sets
//                    of ranks}
[[nodiscard]] JsonValue to_value(const Explanation& explanation);

}  // namespace collsim
