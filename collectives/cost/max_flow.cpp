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
      next_(nodes),
      width_(nodes) {
  for (const Arc& arc : arcs_) {
    ++first_[arc.from];
    ++first_[arc.to];
  }
  std::uint32_t sum = 0;
  for (std::uint32_t& first : first_) sum += std::exchange(first, sum);
  std::vector<std::uint32_t> at(first_.begin(), first_.end() - 1);
  for (std::size_t a = 0; a < arcs_.size(); ++a) {
    halves_[2 * a] = {arcs_[a].to, arcs_[a].capacity};
    halves_[2 * a + 1] = {arcs_[a].from, 0};
    leaving_[at[arcs_[a].from]++] = static_cast<std::uint32_t>(2 * a);
    leaving_[at[arcs_[a].to]++] = static_cast<std::uint32_t>(2 * a + 1);
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
  for (const std::size_t a : touched_) {
    halves_[2 * a].rest = arcs_[a].capacity * factor_;
    halves_[2 * a + 1].rest = 0;
  }
  touched_.clear();
  for (const auto& [node, units] : drawn_) supply_[node] += units;
  drawn_.clear();
}

// Backwards from the target, until the supplies found look like enough.  Each counts as far as its
// own way there is wide; what such ways share makes another search necessary.
bool MaxFlow::find_levels(std::size_t target, std::int64_t wanted) {
  ++search_;
  reached_.assign(1, static_cast<std::uint32_t>(target));
  seen_[target] = search_;
  level_[target] = 0;
  next_[target] = first_[target];
  width_[target] = wanted;
  std::int64_t missing = wanted;
  for (std::size_t i = 0; i < reached_.size(); ++i) {
    const std::uint32_t node = reached_[i];
    for (std::uint32_t k = first_[node]; k < first_[node + 1]; ++k) {
      ++work_;
      const std::uint32_t half = leaving_[k];
      const std::uint32_t other = halves_[half].to;
      const std::int64_t rest = halves_[half ^ 1U].rest;
      if (seen_[other] == search_ || rest == 0) continue;
      seen_[other] = search_;
      level_[other] = level_[node] + 1;
      next_[other] = first_[other];
      width_[other] = std::min(width_[node], rest);
      reached_.push_back(other);
      missing -= std::min({width_[other], supply_[other], missing});
      if (missing == 0) return true;
    }
  }
  return missing < wanted;
}

std::int64_t MaxFlow::take_supply(std::uint32_t node, std::int64_t wanted) {
  const std::int64_t units = std::min(wanted, supply_[node]);
  if (units == 0 || supply_[node] == unlimited) return units;
  supply_[node] -= units;
  drawn_.emplace_back(node, units);
  return units;
}

// All that levels allow, in one walk: a node asks one after the other of those a level further for
// what it still lacks.
std::int64_t MaxFlow::push_along_levels(std::size_t target, std::int64_t wanted) {
  steps_.assign(1, {static_cast<std::uint32_t>(target), wanted, 0});
  for (;;) {
    const std::uint32_t node = steps_.back().node;
    std::uint32_t& k = next_[node];
    for (; steps_.back().got < steps_.back().wanted && k < first_[node + 1]; ++k) {
      ++work_;
      const std::uint32_t half = leaving_[k];
      const std::uint32_t other = halves_[half].to;
      const std::int64_t rest = halves_[half ^ 1U].rest;
      if (seen_[other] != search_ || level_[other] != level_[node] + 1 || rest == 0) continue;
      const std::int64_t asked = std::min(steps_.back().wanted - steps_.back().got, rest);
      steps_.push_back({other, asked, take_supply(other, asked)});
      break;
    }
    if (steps_.back().node != node) continue;
    const std::int64_t got = steps_.back().got;
    const bool dry = got < steps_.back().wanted;
    steps_.pop_back();
    if (steps_.empty()) return got;
    std::uint32_t& asking = next_[steps_.back().node];
    const std::uint32_t half = leaving_[asking];
    steps_.back().got += got;
    halves_[half ^ 1U].rest -= got;
    halves_[half].rest += got;
    if (got > 0) touched_.push_back(half / 2);
    if (dry) ++asking;
  }
}

MaxFlow::Answer MaxFlow::brings(std::size_t target, std::int64_t needed, std::uint64_t most_work) {
  reset();
  while (needed > 0) {
    if (work_ > most_work) return Answer::unknown;
    if (!find_levels(target, needed)) return Answer::no;
    needed -= push_along_levels(target, needed);
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
