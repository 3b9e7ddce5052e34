// SPDX-License-Identifier: Apache-2.0
#include "collectives/checker/values.hpp"

#include <algorithm>

namespace collsim::checker {

namespace {

// splitmix64's finaliser: every bit of the argument reaches every bit of the result.
std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15U;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31);
}

std::string name_of_run(const Schedule& schedule, std::pair<int, int> run) {
  const auto rank = [&](int position) { return std::to_string(schedule.rank(position).index()); };
  const auto [first, last] = run;
  if (first == last) return rank(first);
  bool consecutive = true;
  for (int position = first; position < last; ++position)
    consecutive &= schedule.rank(position + 1).index() == schedule.rank(position).index() + 1;
  if (consecutive && last > first + 1) return rank(first) + " to " + rank(last);
  const int shown = std::min(last, first + 7);
  std::string names = rank(first);
  for (int position = first + 1; position <= shown; ++position) names += ", " + rank(position);
  return shown < last ? concat(names, " and ", last - shown, " more") : names;
}

}  // namespace

LinearForms::LinearForms(int positions, std::uint64_t seed) {
  inputs_.reserve(static_cast<std::size_t>(positions));
  const std::uint64_t key = mix(seed);
  for (std::uint64_t j = 0; j < static_cast<std::uint64_t>(positions); ++j) {
    inputs_.push_back({mix(mix(2 * j) ^ key) % prime, mix(mix(2 * j + 1) ^ key) % prime, 1});
    add(all_, inputs_.back());
  }
}

std::optional<AddFault> ContributorLists::add(Value& left, const Value& right) {
  if (left.offset != right.offset)
    return AddFault{FaultKind::mixed_elements, right.positions.front().first};
  std::vector<std::pair<int, int>> runs = left.positions;
  runs.insert(runs.end(), right.positions.begin(), right.positions.end());
  std::inplace_merge(runs.begin(),
                     runs.begin() + static_cast<std::ptrdiff_t>(left.positions.size()), runs.end());
  std::vector<std::pair<int, int>> sum;
  for (const auto& run : runs) {
    if (!sum.empty() && run.first <= sum.back().second)
      return AddFault{FaultKind::double_contribution, run.first};
    if (!sum.empty() && run.first == sum.back().second + 1)
      sum.back().second = run.second;
    else
      sum.push_back(run);
  }
  left.positions = std::move(sum);
  return std::nullopt;
}

std::string ContributorLists::contributors(const Schedule& schedule, const Value& value) {
  const auto& runs = value.positions;
  const bool all = runs.size() == 1 && runs.front() == std::pair(0, schedule.size() - 1);
  const std::string element = concat("element ", value.offset, " of ");
  if (runs.size() == 1 && runs.front().first == runs.front().second)
    return element + "rank " + name_of_run(schedule, runs.front()) + "'s input";
  if (all) return concat(element, "the sum over all ", schedule.size(), " ranks");
  constexpr std::size_t shown = 8;
  std::string names;
  for (std::size_t i = 0; i < std::min(shown, runs.size()); ++i)
    names += (i > 0 ? ", " : "") + name_of_run(schedule, runs[i]);
  if (runs.size() > shown) names += ", ...";
  return element + "the sum over ranks " + names;
}

}  // namespace collsim::checker
