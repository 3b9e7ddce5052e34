// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "app/output/writers.hpp"

namespace collsim {
namespace {

constexpr std::string_view chunks = "collective.chunks";

// What one chooses for a given task on a given machine; rows that differ in anything else answer
// different questions, and the faster is not the better.
bool is_a_choice(std::string_view path) {
  constexpr std::array<std::string_view, 8> choices{
      "collective.algorithm", "collective.chunks", "collective.chunk_size",  "collective.channels",
      "collective.slots",     "collective.radix",  "collective.aggregation", "collective.dims"};
  return std::find(choices.begin(), choices.end(), path) != choices.end();
}

// The values of the parameters that `counts` says, as one text.
template <class Counts>
std::string key_of(const Row& row, const Counts& counts) {
  std::string key;
  for (const auto& [path, value] : row.params)
    if (counts(path)) key += cell_text(value) + '\n';
  return key;
}

// Of rows with the same task: the fastest and the slowest.
struct Group {
  std::size_t fastest = 0;
  Time slowest;
};

std::map<std::string, Group> groups_of(const std::vector<Row>& rows) {
  std::map<std::string, Group> groups;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto key = key_of(rows[i], [](const std::string& path) { return !is_a_choice(path); });
    Group& group = groups.try_emplace(key, Group{i, rows[i].time}).first->second;
    if (rows[i].time < rows[group.fastest].time) group.fastest = i;
    group.slowest = std::max(group.slowest, rows[i].time);
  }
  return groups;
}

void mark_fastest(const std::vector<Row>& rows, std::vector<std::string>& remarks) {
  const std::map<std::string, Group> groups = groups_of(rows);
  for (const auto& [key, group] : groups)
    if (group.slowest > rows[group.fastest].time)
      remarks[group.fastest] = groups.size() == 1 ? "<- best of these" : "<- best";
}

void mark_worse_than_whole(const std::vector<Row>& rows, std::vector<std::string>& remarks) {
  const auto other = [](const std::string& path) { return path != chunks; };
  std::map<std::string, Time> whole;
  for (const Row& row : rows)
    if (row.chunks == 1) whole.try_emplace(key_of(row, other), row.time);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto found = whole.find(key_of(rows[i], other));
    if (found != whole.end() && rows[i].chunks > 1 && rows[i].time > found->second)
      remarks[i] = "worse than not cutting at all";
  }
}

}  // namespace

std::vector<std::string> remarks_about(const Results& results) {
  std::vector<std::string> remarks(results.rows.size());
  if (std::find(results.axes.begin(), results.axes.end(), chunks) != results.axes.end())
    mark_worse_than_whole(results.rows, remarks);
  if (std::any_of(results.axes.begin(), results.axes.end(), is_a_choice))
    mark_fastest(results.rows, remarks);
  return remarks;
}

}  // namespace collsim
