// SPDX-License-Identifier: Apache-2.0
#include "app/output/row_remarks.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>

#include "app/scenario/document_path.hpp"

namespace collsim {
namespace {

constexpr std::string_view chunks = "collective.chunks";

// What one chooses for a given task on a given machine; rows that differ in anything else answer
// different questions, and the faster is not the better.
bool is_a_choice(std::string_view path) {
  constexpr std::array<std::string_view, 3> given{"workload.model", "workload.slow",
                                                  "workload.jitter"};
  constexpr std::array<std::string_view, 4> of_model{
      "workload.model.transformer.micro_batch", "workload.model.transformer.recompute",
      "workload.model.transformer.attention", "workload.model.transformer.loss"};
  if (lies_in(path, "workload"))
    return std::find(of_model.begin(), of_model.end(), path) != of_model.end() ||
           std::none_of(given.begin(), given.end(),
                        [&](std::string_view outer) { return lies_in(path, outer); });
  constexpr std::array<std::string_view, 11> choices{
      "collective.nccl_algo",   "collective.nccl_proto", "collective.nccl_tuner",
      "collective.algorithm",   "collective.chunks",     "collective.chunk_size",
      "collective.channels",    "collective.slots",      "collective.radix",
      "collective.aggregation", "collective.dims"};
  return std::find(choices.begin(), choices.end(), path) != choices.end();
}

// The values of the parameters that `counts` says, as one text.
template <class Counts>
std::string key_of(const CaseResult& row, const Counts& counts) {
  std::string key;
  for (const auto& [path, value] : row.params)
    if (counts(path)) key += plain_text(value) + '\n';
  return key;
}

bool fits(const CaseResult& row) {
  return !row.step || row.step->fits();
}

// Of rows with the same task: the fastest whose ranks have room on their devices, and the slowest
// of all.  Where steps differ in their tokens, the shorter step is not the better: what counts is
// tokens per second.
struct Group {
  Time fastest = Time::never();
  Time slowest{};
  double most_tokens_per_s = 0, fewest_tokens = 0, most_tokens = 0;  // of those; of a step
  bool some_do_not_fit = false;
  bool some_have_nccls_costs = false, some_are_ideal = false;

  [[nodiscard]] bool steps_differ() const {
    constexpr double rounding = 1e-6;
    return most_tokens - fewest_tokens > rounding * most_tokens;
  }
};

double tokens_per_s(const CaseResult& row) {
  return row.step && row.step->work ? row.step->work->tokens_per_s : 0;
}

void add(Group& group, const CaseResult& row) {
  const double tokens = tokens_per_s(row) * row.time.seconds();
  const bool is_first = group.slowest == Time{};
  group.fewest_tokens = is_first ? tokens : std::min(group.fewest_tokens, tokens);
  group.most_tokens = std::max(group.most_tokens, tokens);
  group.slowest = std::max(group.slowest, row.time);
  group.some_do_not_fit = group.some_do_not_fit || !fits(row);
  (row.nccl ? group.some_have_nccls_costs : group.some_are_ideal) = true;
  if (!fits(row)) return;
  group.fastest = std::min(group.fastest, row.time);
  group.most_tokens_per_s = std::max(group.most_tokens_per_s, tokens_per_s(row));
}

// More microbatches are more work, unless tokens are counted.
bool is_more_work(std::string_view path, const CaseResult& row) {
  return tokens_per_s(row) == 0 && (path.ends_with(".microbatches") || path.ends_with(".no_sync"));
}

std::string task_of(const CaseResult& row) {
  return key_of(
      row, [&](const std::string& path) { return !is_a_choice(path) || is_more_work(path, row); });
}

std::map<std::string, Group> groups_of(const std::vector<CaseResult>& rows) {
  std::map<std::string, Group> groups;
  for (const CaseResult& row : rows) add(groups[task_of(row)], row);
  return groups;
}

void mark_best(const std::vector<CaseResult>& rows, std::vector<std::string>& remarks) {
  const std::map<std::string, Group> groups = groups_of(rows);
  const char* const best = groups.size() == 1 ? "<- best of these" : "<- best";
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Group& group = groups.at(task_of(rows[i]));
    if (group.some_have_nccls_costs && group.some_are_ideal) {
      if (!rows[i].nccl) remarks[i] = "without launch and protocol: not comparable";
      continue;
    }
    if (group.steps_differ()) {
      if (fits(rows[i]) && tokens_per_s(rows[i]) == group.most_tokens_per_s)
        remarks[i] = best + std::string(" by tokens/s");
      continue;
    }
    const bool is_best = fits(rows[i]) && rows[i].time == group.fastest;
    if (is_best && (group.slowest > group.fastest || group.some_do_not_fit)) remarks[i] = best;
  }
}

void mark_worse_than_whole(const std::vector<CaseResult>& rows, std::vector<std::string>& remarks) {
  const auto other = [](const std::string& path) { return path != chunks; };
  std::map<std::string, Time> whole;
  for (const CaseResult& row : rows)
    if (row.chunks == 1) whole.try_emplace(key_of(row, other), row.time);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto found = whole.find(key_of(rows[i], other));
    if (found != whole.end() && rows[i].chunks > 1 && rows[i].time > found->second)
      remarks[i] = "worse than not cutting at all";
  }
}

}  // namespace

std::vector<std::string> row_remarks(const Results& results) {
  std::vector<std::string> remarks(results.rows.size());
  if (std::find(results.axes.begin(), results.axes.end(), chunks) != results.axes.end())
    mark_worse_than_whole(results.rows, remarks);
  if (std::any_of(results.axes.begin(), results.axes.end(), is_a_choice))
    mark_best(results.rows, remarks);
  for (std::size_t i = 0; i < remarks.size(); ++i)
    if (!fits(results.rows[i])) remarks[i] = "does not fit: out of memory";
  return remarks;
}

}  // namespace collsim
