// SPDX-License-Identifier: Apache-2.0
#include "collectives/cost/max_flow.hpp"

#include <algorithm>

namespace collsim {

MaxFlow::MaxFlow(std::size_t nodes, std::vector<Arc> arcs)
    : arcs_(std::move(arcs)),
      halves_(2 * arcs_.size()),
      first_(nodes + 1, 0),
      leaving_(2 * arcs_.size()),
      supply_(nodes, 0),
      seen_(nodes, 0),
      level_(nodes),
      next_(nodes) {
  for (const Arc& arc : arcs_) {
    ++first_[arc.from];
    ++first_[arc.to];
  }
  std::uint32_t sum = 0;
  for (std::uint32_t& first : first_) sum += std::exchange(first, sum);
  std::vector<std::uint32_t> at(first_.begin(), first_.end() - 1);
  for (std::uint32_t a = 0; a < arcs_.size(); ++a) {
    halves_[2 * a] = {arcs_[a].to, arcs_[a].capacity};
    halves_[2 * a + 1] = {arcs_[a].from, 0};
    leaving_[at[arcs_[a].from]++] = 2 * a;
    leaving_[at[arcs_[a].to]++] = 2 * a + 1;
  }
}

bool MaxFlow::scale(std::int64_t factor) {
  reset();
  for (std::size_t a = 0; a < arcs_.size(); ++a)
    if (__builtin_mul_overflow(arcs_[a].capacity, factor, &halves_[2 * a].rest)) return false;
  factor_ = factor;
  return true;
}

void MaxFlow::reset() {
  for (const std::uint32_t a : touched_) {
    halves_[2 * a].rest = arcs_[a].capacity * factor_;
    halves_[2 * a + 1].rest = 0;
  }
  touched_.clear();
  for (const auto& [node, units] : drawn_) supply_[node] += units;
  drawn_.clear();
}

// Backwards from the target to the nearest supplies.  Whoever finds one without limit need not look
// further: one path is progress enough.
bool MaxFlow::find_levels(std::size_t target) {
  ++search_;
  reached_.assign(1, static_cast<std::uint32_t>(target));
  seen_[target] = search_;
  level_[target] = 0;
  next_[target] = first_[target];
  bool found = false;
  std::uint32_t last = UINT32_MAX;
  for (std::size_t i = 0; i < reached_.size(); ++i) {
    const std::uint32_t node = reached_[i];
    if (level_[node] >= last) break;
    for (std::uint32_t k = first_[node]; k < first_[node + 1]; ++k) {
      ++work_;
      const std::uint32_t half = leaving_[k];
      const std::uint32_t other = halves_[half].to;
      if (seen_[other] == search_ || halves_[half ^ 1U].rest == 0) continue;
      seen_[other] = search_;
      level_[other] = level_[node] + 1;
      next_[other] = first_[other];
      reached_.push_back(other);
      if (supply_[other] == unlimited) return true;
      if (supply_[other] == 0) continue;
      found = true;
      last = level_[other];
    }
  }
  return found;
}

void MaxFlow::take(std::uint32_t end, std::int64_t units) {
  for (const std::uint32_t half : path_) {
    halves_[half ^ 1U].rest -= units;
    halves_[half].rest += units;
    touched_.push_back(half / 2);
  }
  if (supply_[end] == unlimited) return;
  supply_[end] -= units;
  drawn_.emplace_back(end, units);
}

// Along one path of increasing levels, from the target to a supply; 0: there is none left.
std::int64_t MaxFlow::push_along_levels(std::size_t target, std::int64_t wanted) {
  path_.clear();
  auto node = static_cast<std::uint32_t>(target);
  for (;;) {
    if (node != target && supply_[node] > 0) {
      std::int64_t units = std::min(wanted, supply_[node]);
      for (const std::uint32_t half : path_) units = std::min(units, halves_[half ^ 1U].rest);
      take(node, units);
      return units;
    }
    std::uint32_t& k = next_[node];
    for (; k < first_[node + 1]; ++k) {
      ++work_;
      const std::uint32_t half = leaving_[k];
      const std::uint32_t other = halves_[half].to;
      if (seen_[other] == search_ && level_[other] == level_[node] + 1 &&
          halves_[half ^ 1U].rest > 0)
        break;
    }
    if (k < first_[node + 1]) {
      path_.push_back(leaving_[k]);
      node = halves_[leaving_[k]].to;
    } else {
      if (path_.empty()) return 0;
      node = halves_[path_.back() ^ 1U].to;
      path_.pop_back();
      ++next_[node];
    }
  }
}

MaxFlow::Answer MaxFlow::brings(std::size_t target, std::int64_t needed, std::uint64_t most_work) {
  reset();
  while (needed > 0) {
    if (!find_levels(target)) return Answer::no;
    while (needed > 0) {
      if (work_ > most_work) return Answer::unknown;
      const std::int64_t units = push_along_levels(target, needed);
      if (units == 0) break;
      needed -= units;
    }
  }
  return Answer::yes;
}

std::vector<std::uint32_t> MaxFlow::nodes_by_distance(std::size_t from) const {
  std::vector<bool> seen(first_.size() - 1, false);
  std::vector<std::uint32_t> order{static_cast<std::uint32_t>(from)};
  seen[from] = true;
  for (std::size_t i = 0; i < order.size(); ++i)
    for (std::uint32_t k = first_[order[i]]; k < first_[order[i] + 1]; ++k) {
      const std::uint32_t other = halves_[leaving_[k]].to;
      if (seen[other]) continue;
      seen[other] = true;
      order.push_back(other);
    }
  return order;
}

std::int64_t MaxFlow::capacity_of_cut() const {
  std::int64_t sum = 0;
  for (const std::uint32_t node : reached_)
    for (std::uint32_t k = first_[node]; k < first_[node + 1]; ++k) {
      const std::uint32_t half = leaving_[k];
      if (half % 2 == 0 || behind_cut(halves_[half].to)) continue;
      if (__builtin_add_overflow(sum, arcs_[half / 2].capacity, &sum)) return unlimited;
    }
  return sum;
}

}  // namespace collsim
