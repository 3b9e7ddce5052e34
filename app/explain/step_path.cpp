// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <tuple>

#include "app/explain/step_internal.hpp"
#include "app/results/action_text.hpp"
#include "app/study/run_step.hpp"
#include "sim/slack.hpp"

namespace collsim {
namespace {

using PathKind = CriticalPath::Kind;

constexpr std::size_t most_lines = 40;
constexpr std::size_t longest_turn = 8;  // lines that are looked for in turn

// Of layers 1, 2, 3, 2, 1, the first is 1 and the last is 3: whatever the order, all are named.
void widen(std::int32_t& first, std::int32_t& last, std::int32_t more) {
  if (first <= 0 || more <= 0) return;
  const bool rises = first == last ? more > last : first < last;
  std::int32_t& lowest = rises ? first : last;
  std::int32_t& highest = rises ? last : first;
  lowest = std::min(lowest, more);
  highest = std::max(highest, more);
}
void widen(Action& first, Action& last, const Action& more) {
  widen(first.label.number, last.label.number, more.label.number);
  widen(first.label.microbatch, last.label.microbatch, more.label.microbatch);
}

void add_number(std::set<std::int32_t>& numbers, std::int32_t number) {
  if (number > 0) numbers.insert(number);
}

// Actions that are told in one line where they follow each other.
struct ActionRun {
  Action first, last;
  std::optional<Rank> rank;  // that computes or sends; of a collective: all
  StepShares shares;
  Time from, to;
  int turns = 1, in_turn = 0;
  ActionNumbers numbers = {};

  [[nodiscard]] auto family() const {
    return std::tuple(first.kind, first.label.kind, first.call.operation, first.communicator, rank,
                      first.kind == Action::Kind::send ? first.peer : Rank(0));
  }
  void take(const Action& more) {
    widen(first, last, more);
    add_number(numbers.layers, more.label.number);
    add_number(numbers.microbatches, more.label.microbatch);
  }
  void append(const ActionRun& other) {
    take(other.first);
    take(other.last);
    numbers.layers.insert(other.numbers.layers.begin(), other.numbers.layers.end());
    numbers.microbatches.insert(other.numbers.microbatches.begin(),
                                other.numbers.microbatches.end());
    shares += other.shares;
    to = other.to;
  }
};

StepShares step_shares_of(const CriticalPath::Segment& segment, bool computes) {
  StepShares shares;
  const Time time = segment.to - segment.from;
  switch (segment.kind) {
    case PathKind::work: (computes ? shares.computing : shares.other) = time; break;
    case PathKind::startup: shares.startup = time; break;
    case PathKind::wire:
    case PathKind::hop: shares.wire = time; break;
    case PathKind::sharing: shares.sharing = time; break;
    case PathKind::flight: shares.flight = time; break;
    case PathKind::start:
    case PathKind::queue: shares.other = time; break;
  }
  return shares;
}

std::vector<ActionRun> runs_of(const CriticalPath& path, const Timeline& timeline,
                               const RecordedActions& actions) {
  std::vector<ActionRun> runs;
  for (const CriticalPath::Segment& segment : path.segments) {
    ActionRun run;
    if (segment.step != Step::none && actions.of_step[segment.step] != Step::none) {
      run.first = run.last = actions.all[actions.of_step[segment.step]].action;
      if (run.first.kind != Action::Kind::collective) run.rank = timeline.steps[segment.step].rank;
    }
    run.shares = step_shares_of(
        segment, run.first.kind == Action::Kind::work && run.first.label.kind != Label::Kind::late);
    run.from = segment.from;
    run.to = segment.to;
    run.take(run.first);
    if (!runs.empty() && runs.back().family() == run.family())
      runs.back().append(run);
    else
      runs.push_back(run);
  }
  return runs;
}

std::size_t turns_at(const std::vector<ActionRun>& runs, std::size_t at, std::size_t length) {
  std::size_t turns = 1;
  for (; at + (turns + 1) * length <= runs.size(); ++turns)
    for (std::size_t i = 0; i < length; ++i)
      if (runs[at + i].family() != runs[at + turns * length + i].family()) return turns;
  return turns;
}

// One line each for what comes in turn: a layer's computation and its all-reduce, a microbatch
// forward and one backward.
std::vector<ActionRun> in_turns(const std::vector<ActionRun>& runs) {
  std::vector<ActionRun> result;
  for (std::size_t i = 0; i < runs.size();) {
    std::size_t length = 1;
    std::size_t turns = 1;
    for (std::size_t tried = 2; tried <= longest_turn; ++tried) {
      const std::size_t found = turns_at(runs, i, tried);
      if (found < 2 || found * tried <= length * turns) continue;
      length = tried;
      turns = found;
    }
    const std::size_t first = result.size();
    for (std::size_t k = 0; k < length * turns; ++k)
      if (k < length)
        result.push_back(runs[i + k]);
      else
        result[first + k % length].append(runs[i + k]);
    if (turns > 1) {
      result[first].in_turn = static_cast<int>(length);
      for (std::size_t k = first; k < result.size(); ++k) result[k].turns = static_cast<int>(turns);
    }
    i += length * turns;
  }
  return result;
}

std::string run_text(const ActionRun& run, const Workload& workload) {
  if (run.shares.total() == run.shares.other && run.first.label.kind == Label::Kind::none &&
      run.first.kind == Action::Kind::work && !run.rank)
    return "before the first step";
  const std::string what = action_text(run.first, run.last, run.numbers, workload);
  return run.rank ? fmt::format("{}{} rank {}", what,
                                run.first.kind == Action::Kind::send ? ", from" : " on",
                                run.rank->index())
                  : what;
}

// Of `time`, what lies outside of the stretches, which are in order and apart.
Time outside(Time begin, Time end, const std::vector<std::pair<Time, Time>>& stretches) {
  Time sum = end - begin;
  for (const auto& [from, to] : stretches)
    if (to > begin && from < end) sum -= std::min(to, end) - std::max(from, begin);
  return sum;
}

// What the host launches hides nothing.
std::vector<std::pair<Time, Time>> computing_of(const RecordedActions& actions, Rank rank,
                                                std::optional<int> host) {
  std::vector<std::pair<Time, Time>> all;
  for (const RecordedAction& one : actions.all)
    if (one.rank == rank && one.action.kind == Action::Kind::work && one.end > one.begin &&
        one.action.stream != host)
      all.emplace_back(one.begin, one.end);
  std::sort(all.begin(), all.end());
  std::vector<std::pair<Time, Time>> apart;
  for (const auto& [from, to] : all)
    if (!apart.empty() && from <= apart.back().second)
      apart.back().second = std::max(apart.back().second, to);
    else
      apart.emplace_back(from, to);
  return apart;
}

void add_calls(const RecordedActions& actions, const Workload& workload, StepExplanation& result) {
  const auto computing = computing_of(actions, result.last_rank, host_of(workload));
  std::vector<std::pair<ActionRun, ExposedCalls>> families;
  for (const RecordedAction& one : actions.all) {
    if (one.rank != result.last_rank || one.action.kind != Action::Kind::collective) continue;
    ActionRun run{one.action, one.action, {}, {}, {}, {}};
    run.take(one.action);
    auto found = std::find_if(families.begin(), families.end(), [&](const auto& family) {
      return family.first.family() == run.family();
    });
    if (found == families.end()) found = families.insert(found, {run, {}});
    found->first.take(one.action);
    found->second.calls += 1;
    found->second.time += one.end - one.begin;
    found->second.exposed += outside(one.begin, one.end, computing);
  }
  for (auto& [run, calls] : families) {
    calls.what = action_text(run.first, run.last, run.numbers, workload);
    result.exposed.push_back(std::move(calls));
  }
  std::stable_sort(
      result.exposed.begin(), result.exposed.end(),
      [](const ExposedCalls& a, const ExposedCalls& b) { return a.exposed > b.exposed; });
}

void add_streams(const RecordedActions& actions, const Workload& workload,
                 StepExplanation& result) {
  for (const std::string& name : workload.stream_names()) result.streams.push_back({name});
  for (const RecordedAction& one : actions.all) {
    if (one.rank != result.last_rank) continue;
    StreamTimes& stream = result.streams[one.action.stream];
    if (one.action.kind == Action::Kind::work) stream.computing += one.end - one.begin;
    if (one.action.kind == Action::Kind::collective) stream.communicating += one.end - one.begin;
  }
  for (StreamTimes& stream : result.streams)
    stream.waiting = result.row.time - stream.computing - stream.communicating;
}

void add_slack(const Case& one_case, const Simulation& simulation, const RecordedActions& actions,
               StepExplanation& result) {
  const Workload& workload = one_case.step->workload;
  const std::vector<Time> slack = slack_of_steps(one_case.cluster->topology, simulation);
  std::vector<std::pair<ActionRun, SlackLine>> families;
  for (const RecordedAction& one : actions.all) {
    const bool is_told =
        one.action.kind == Action::Kind::work || one.action.kind == Action::Kind::collective;
    if (one.rank != result.last_rank || one.end == one.begin || !is_told) continue;
    ActionRun run{one.action, one.action, {}, {}, {}, {}};
    run.take(one.action);
    auto found = std::find_if(families.begin(), families.end(), [&](const auto& family) {
      return family.first.family() == run.family() &&
             family.first.first.stream == one.action.stream;
    });
    if (found == families.end()) found = families.insert(found, {run, {}});
    auto& [seen, line] = *found;
    seen.take(one.action);
    ++line.actions;
    const Time spare = slack[one.last_step];
    if (spare == Time{}) {
      ++line.without;
      continue;
    }
    line.least = line.least == Time{} ? spare : std::min(line.least, spare);
    line.most = std::max(line.most, spare);
  }
  for (auto& [run, line] : families) {
    line.stream = workload.stream_names()[run.first.stream];
    line.what = action_text(run.first, run.last, run.numbers, workload);
    result.slack.push_back(std::move(line));
  }
}

// `at`, or where the lines that come in turn there begin.
std::size_t first_of_turn(const std::vector<ActionRun>& runs, std::size_t at) {
  for (std::size_t i = 0; i < at; ++i)
    if (const auto end = i + static_cast<std::size_t>(runs[i].in_turn); at < end) return i;
  return at;
}

void leave_out_the_middle(std::vector<ActionRun>& runs, StepExplanation& result) {
  if (runs.size() <= most_lines) return;
  const std::size_t from = first_of_turn(runs, most_lines / 2);
  const std::size_t to = first_of_turn(runs, runs.size() - most_lines / 2);
  if (to <= from) return;
  result.left_out_after = from;
  result.lines_left_out = to - from;
  const auto begin = runs.begin() + static_cast<std::ptrdiff_t>(from);
  runs.erase(begin, begin + static_cast<std::ptrdiff_t>(to - from));
}

}  // namespace

StepShares& StepShares::operator+=(const StepShares& more) {
  computing += more.computing;
  startup += more.startup;
  wire += more.wire;
  sharing += more.sharing;
  flight += more.flight;
  other += more.other;
  return *this;
}

void explain_step_path(const Case& one_case, const Simulation& simulation,
                       StepExplanation& result) {
  const Workload& workload = one_case.step->workload;
  const RecordedActions actions = recorded_actions(workload, *simulation.timeline);
  const CriticalPath path = critical_path(one_case.cluster->topology, workload, simulation);
  std::vector<ActionRun> runs = in_turns(runs_of(path, *simulation.timeline, actions));
  for (const ActionRun& run : runs) result.path += run.shares;
  leave_out_the_middle(runs, result);
  for (const ActionRun& run : runs)
    result.lines.push_back(
        {run_text(run, workload), run.shares, run.from, run.to, run.turns, run.in_turn});
  const auto last = std::max_element(simulation.finished.begin(), simulation.finished.end());
  result.last_rank = workload.group()[static_cast<std::size_t>(last - simulation.finished.begin())];
  add_calls(actions, workload, result);
  add_streams(actions, workload, result);
  add_slack(one_case, simulation, actions, result);
}

}  // namespace collsim
