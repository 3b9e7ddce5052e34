// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "collectives/algorithms.hpp"

// The rows of the algorithm table, for tests that go through all of them.  A test asks for rank
// counts through these, so that no row is left out because it refuses the count at hand.
namespace collsim {

inline std::string text_of(const Algorithm& row) {
  return std::string(to_string(row.operation)) + " " + std::string(row.name);
}

// `ranks`, or the count next to it that the algorithm takes; of two, the smaller.
inline int nearest_ranks(const Algorithm& row, int ranks) {
  for (int distance = 0;; ++distance) {
    if (ranks > distance && row.works_with(ranks - distance)) return ranks - distance;
    if (row.works_with(ranks + distance)) return ranks + distance;
  }
}

// The nearest of each, once.
inline std::set<int> nearest_ranks(const Algorithm& row, const std::vector<int>& wanted) {
  std::set<int> ranks;
  for (const int one : wanted) ranks.insert(nearest_ranks(row, one));
  return ranks;
}

inline std::vector<int> from_to(int first, int last) {
  std::vector<int> all(static_cast<std::size_t>(last - first + 1));
  std::iota(all.begin(), all.end(), first);
  return all;
}

inline bool has_in_place_form(Operation operation) {
  return operation != Operation::all_to_all && operation != Operation::send_recv &&
         operation != Operation::barrier;
}

inline std::vector<const Algorithm*> all_rows() {
  std::vector<const Algorithm*> rows;
  for (const Algorithm& row : algorithms()) rows.push_back(&row);
  return rows;
}

// The name of a test about one row.
inline std::string name_of(const ::testing::TestParamInfo<const Algorithm*>& one) {
  std::string name =
      std::string(to_string(one.param->operation)) + "_" + std::string(one.param->name);
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

}  // namespace collsim
