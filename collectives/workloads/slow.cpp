// SPDX-License-Identifier: Apache-2.0
//
// Ranks that take longer than the others: a GPU that throttles, a spike, an older machine.
#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <utility>

#include "collectives/workloads/workloads.hpp"

namespace collsim {

namespace {

// Exponential draws with mean 1, one after the other.
class Noise {
 public:
  explicit Noise(std::uint64_t seed) : state_(seed) {}
  double next() {
    constexpr double steps = 9007199254740992.0;  // 2^53
    state_ += 0x9e3779b97f4a7c15U;                // splitmix64
    std::uint64_t bits = state_;
    bits = (bits ^ (bits >> 30U)) * 0xbf58476d1ce4e5b9U;
    bits = (bits ^ (bits >> 27U)) * 0x94d049bb133111ebU;
    return -std::log1p(-static_cast<double>((bits ^ (bits >> 31U)) >> 11U) / steps);
  }

 private:
  std::uint64_t state_;
};

// Far from those of other ranks and of the next seeds, whose draws would be the same, later.
std::uint64_t seed_of(std::uint64_t seed, Rank rank) {
  return 0xd6e8feb86659fd93U * (seed + 1) ^ 0xa0761d6478bd642fU * (rank.index() + 1);
}

Script slow_step(Workload workload, SlowRank slow) {
  const auto streams = static_cast<int>(workload.stream_names().size());
  const bool is_late = slow.delay > Time{};
  if (is_late) co_yield labelled(work(0, slow.delay), {Label::Kind::late});
  for (int stream = 1; is_late && stream < streams; ++stream) {
    co_yield record(0, stream);
    co_yield wait(stream, 0);
  }
  Noise noise(slow.seed);
  Script script = workload.script(slow.rank);
  while (const Action* const action = script.next()) {
    Action slower = *action;
    const bool counts_records = slower.kind == Action::Kind::wait && slower.amount > 0;
    if (is_late && counts_records && slower.other == 0) ++slower.amount;  // after the one above
    if (slower.kind == Action::Kind::work && slower.label.kind != Label::Kind::late) {
      const double factor = slow.factor * (slow.jitter > 0 ? 1 + slow.jitter * noise.next() : 1);
      slower.amount = std::llround(static_cast<double>(slower.amount) * factor);
    }
    co_yield slower;
  }
}

bool all_alike(const std::vector<SlowRank>& slow) {
  return std::all_of(slow.begin(), slow.end(), [&](const SlowRank& one) {
    return one.factor == slow.front().factor && one.delay == slow.front().delay && one.jitter == 0;
  });
}

}  // namespace

Workload slowed(const Workload& workload, const std::vector<SlowRank>& slow) {
  Workload::Parts parts;
  parts.group = workload.group();
  parts.stream_names = workload.stream_names();
  parts.communicators = workload.communicators();
  parts.slots = workload.slots();
  parts.data = workload.data();
  std::unordered_map<std::size_t, SlowRank> by_rank;
  for (const SlowRank& one : slow) by_rank.emplace(one.rank.index(), one);
  if (by_rank.size() == parts.group.size() && all_alike(slow)) parts.turns = workload.turns();
  parts.script = [workload, by_rank = std::move(by_rank)](Rank rank) {
    const auto found = by_rank.find(rank.index());
    return found == by_rank.end() ? workload.script(rank) : slow_step(workload, found->second);
  };
  return Workload(std::move(parts));
}

std::vector<SlowRank> with_jitter(std::vector<SlowRank> slow, const Jitter& jitter,
                                  const std::vector<Rank>& ranks) {
  std::unordered_map<std::size_t, std::size_t> places;
  for (std::size_t i = 0; i < slow.size(); ++i) places.emplace(slow[i].rank.index(), i);
  for (const Rank rank : ranks) {
    const auto [place, is_new] = places.emplace(rank.index(), slow.size());
    if (is_new) slow.push_back({.rank = rank});
    SlowRank& one = slow[place->second];
    const std::uint64_t seed = seed_of(jitter.seed, rank);
    const double mean = static_cast<double>(jitter.delay.ps());
    one.delay += Time(std::llround(mean * Noise(~seed).next()));
    one.jitter = jitter.share;
    one.seed = seed;
  }
  return slow;
}

}  // namespace collsim
