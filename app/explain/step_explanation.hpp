// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/explain/page_style.hpp"
#include "app/json/value.hpp"
#include "app/results/case_result.hpp"
#include "app/scenario/scenario.hpp"

namespace collsim {

// Why a training step takes as long as it does, as plain data.

// What a stretch of the critical path was spent on.  `other` is what instructions of collectives
// cost besides links, late starts, and queueing of which the cause was not recorded.
struct StepShares {
  Time computing, startup, wire, sharing, flight, other;

  [[nodiscard]] Time total() const { return computing + startup + wire + sharing + flight + other; }
  StepShares& operator+=(const StepShares& more);
};

// Actions of one kind that follow each other on the path.
struct StepPathLine {
  std::string what;  // "backward of layers 24 to 3 on rank 0", "all-reduce of buckets 1 to 24"
  StepShares shares;
  Time from, to;
  int turns = 1;    // that this line and others come in
  int in_turn = 0;  // how many lines these are; said at the first of them
};

// What of the collectives of a kind the computation of a rank did not hide.
struct ExposedCalls {
  std::string what;
  std::size_t calls = 0;
  Time time, exposed;
};

struct StreamTimes {
  std::string name;
  Time computing, communicating, waiting;  // waiting: for other streams and ranks
};

// By how much actions of a stream could end later without the step taking longer (sim/slack.hpp).
struct SlackLine {
  std::string stream, what;
  std::size_t actions = 0, without = 0;  // how many there are, and how many of them have no slack
  Time least, most;                      // of the others
};

struct StepKnob {
  std::string name, now, then;
  std::optional<Time> time;  // none: `why_not`
  std::string why_not;

  [[nodiscard]] std::string change() const { return now + " -> " + then; }
};

// The one setting of the scheme, tried at several values.  Times apart by a billionth of the step
// are equal; of equal ones the best is that of now, or the nearest to it.
struct BestSetting {
  std::string path;
  struct Tried {
    std::string value;
    Time time;
    bool fits = true;     // on its devices
    std::string without;  // the path of what is written and goes only with the value of now
  };
  std::vector<Tried> tried;  // in the order of values, the case's own among them
  std::size_t now = 0;
  std::optional<std::size_t> best;  // none: none of them fits
};

struct StepExplanation {
  CaseResult row;
  std::string scheme, machine;
  bool every_step_recorded = false;  // otherwise there are too many: only row, knobs and settings,
  std::shared_ptr<StepExplanation> smaller;  // and of a smaller step, if there is one, the path:
  Params changes;                            // so it differs from what was asked for
  StepShares path;
  std::vector<StepPathLine> lines;
  std::size_t lines_left_out = 0;     // in the middle,
  std::size_t left_out_after = 0;     // after so many
  Rank last_rank{};                   // that finished last, of which the following is told
  std::vector<ExposedCalls> exposed;  // most exposed first
  std::vector<StreamTimes> streams;
  std::vector<SlackLine> slack;  // by stream, in order of time
  std::vector<StepKnob> knobs;   // the one that saves most first
  std::vector<BestSetting> settings;
};

// `chosen` is the scenario's case at this point.  Throws Error when the case cannot be simulated.
[[nodiscard]] StepExplanation explain_step(const Scenario& scenario, std::size_t point,
                                           const Case& chosen);

[[nodiscard]] std::string to_text(const StepExplanation& explanation, const PageStyle& style = {});
// {workload, step_s, compute_s, exposed_s, hidden_s, bubble, job: shares of its time, or null,
// shares, path: [{from_s, to_s, what, turns, shares}], path_left_out: {after: entries, entries} of
// the middle of a long path, or null, exposed: [{what, calls, time_s,
// exposed_s}], streams,
// slack: [{stream, what, actions, without, least_s, most_s}], knobs: [{name, now, then,
// time_s, saves_s, why_not}], settings: [{path, now, best, tried: [{value, time_s, fits, set}]}]};
// path, exposed, streams and slack are null where there are too many steps to record; `smaller` is
// then {changes: {path: value}, step_s, shares, path, ...}, or null.  `set`: what --set takes.
[[nodiscard]] JsonValue to_value(const StepExplanation& explanation);

}  // namespace collsim
