// SPDX-License-Identifier: Apache-2.0
#include "app/scenario/workload/folding.hpp"

#include <algorithm>
#include <span>

namespace collsim {
namespace {

constexpr std::size_t longest_round = 500;

struct Loop {
  std::size_t length = 0, rounds = 1;
  [[nodiscard]] std::size_t saves() const { return length * (rounds - 1); }
};

Loop best_loop(std::span<const int> lines) {
  Loop best;
  for (std::size_t length = 1; length <= std::min(longest_round, lines.size() / 2); ++length) {
    const auto differs = std::mismatch(lines.begin() + static_cast<std::ptrdiff_t>(length),
                                       lines.end(), lines.begin());
    const auto alike = static_cast<std::size_t>(differs.first - lines.begin());
    const Loop loop{length, alike / length};
    if (loop.saves() > best.saves()) best = loop;
  }
  return best;
}

std::vector<FoldedLine> fold(std::span<const int> lines) {
  constexpr std::size_t worth_it = 2;
  std::vector<FoldedLine> result;
  while (!lines.empty()) {
    const Loop loop = best_loop(lines);
    if (loop.saves() < worth_it) {
      result.push_back({lines.front()});
      lines = lines.subspan(1);
      continue;
    }
    result.push_back({0, static_cast<std::int64_t>(loop.rounds), fold(lines.first(loop.length))});
    lines = lines.subspan(loop.length * loop.rounds);
  }
  return result;
}

}  // namespace

std::vector<FoldedLine> folded(const std::vector<int>& lines) {
  return fold(lines);
}

}  // namespace collsim
