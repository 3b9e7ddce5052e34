// SPDX-License-Identifier: Apache-2.0
#include "collectives/workload_bounds.hpp"

#include <map>
#include <utility>
#include <vector>

#include "collectives/cost/bounds.hpp"
#include "topo/turns.hpp"

namespace collsim {

namespace {

// What a rank's script comes to.
struct RankTotals {
  int ranks = 0;  // that do the same
  Time longest_stream;
  Time forward, backward, other;
  std::map<std::uint16_t, std::map<Call, double>> calls;  // by communicator: how often
  std::map<Rank, double> sent;                            // bytes, by receiver
};

Time& phase_of(RankTotals& totals, Label::Kind kind) {
  switch (kind) {
    case Label::Kind::forward: return totals.forward;
    case Label::Kind::backward:
    case Label::Kind::weights: return totals.backward;
    default: return totals.other;
  }
}

RankTotals totals_of_script(const Workload& workload, Rank rank, std::optional<int> host) {
  RankTotals totals;
  std::vector<Time> work(workload.stream_names().size());
  Script script = workload.script(rank);
  while (const Action* const action = script.next()) {
    if (action->kind == Action::Kind::work) {
      work[action->stream] += Time(action->amount);
      if (action->stream != host) phase_of(totals, action->label.kind) += Time(action->amount);
    }
    if (action->kind == Action::Kind::collective)
      ++totals.calls[action->communicator][action->call];
    if (action->kind == Action::Kind::send)
      totals.sent[action->peer] += static_cast<double>(action->amount);
  }
  totals.longest_stream = *std::max_element(work.begin(), work.end());
  return totals;
}

// The workload by rank: one of each orbit stands for the others.
class TotalsByRank {
 public:
  TotalsByRank(const Workload& workload, std::optional<int> host)
      : workload_(workload), turns_(Turns::common(workload.turns(), workload.turns())) {
    for (const Rank rank : workload.group()) {
      const Rank one = representative(rank);
      auto found = of_ranks_.find(one);
      if (found == of_ranks_.end())
        found = of_ranks_.emplace(one, totals_of_script(workload, one, host)).first;
      ++found->second.ranks;
    }
  }
  [[nodiscard]] WorkPhases phases() const {
    WorkPhases sums;
    for (const auto& [rank, totals] : of_ranks_) {
      const double share = static_cast<double>(totals.ranks) / workload_.size();
      sums.forward_s += share * totals.forward.seconds();
      sums.backward_s += share * totals.backward.seconds();
      sums.other_s += share * totals.other.seconds();
    }
    return sums;
  }
  [[nodiscard]] Time longest_stream() const {
    Time longest;
    for (const auto& [rank, totals] : of_ranks_) longest = std::max(longest, totals.longest_stream);
    return longest;
  }
  // see(collective, times), of every group of every communicator.
  template <class See>
  void for_each_call(const See& see) const {
    const auto& communicators = workload_.communicators();
    for (std::size_t c = 0; c < communicators.size(); ++c)
      for (const std::vector<Rank>& group : communicators[c].groups) {
        const auto found = of_ranks_.find(representative(group.front()));
        if (group.size() < 2 || found == of_ranks_.end()) continue;
        const auto calls = found->second.calls.find(static_cast<std::uint16_t>(c));
        if (calls == found->second.calls.end()) continue;
        for (const auto& [call, times] : calls->second) see(collective_of(call, group), times);
      }
  }
  // see(from, to, bytes)
  template <class See>
  void for_each_message(const See& see) const {
    if (turns_.order() > 1) return;  // whose peers would have to be renamed
    for (const auto& [rank, totals] : of_ranks_)
      for (const auto& [to, bytes] : totals.sent) see(rank, to, bytes);
  }

 private:
  [[nodiscard]] Rank representative(Rank rank) const {
    return turns_.order() > 1 ? turns_.representative(rank) : rank;
  }

  const Workload& workload_;
  Turns turns_;
  std::map<Rank, RankTotals> of_ranks_;
};

double picoseconds(const Boundary& border, const CutTraffic& traffic) {
  constexpr double second = 1e12;
  const auto busy = [](double bytes, std::uint64_t capacity) {
    if (capacity == 0 || capacity >= Boundary::unlimited) return 0.0;
    return bytes / static_cast<double>(capacity) * second;
  };
  double longest = std::max(busy(traffic.out, border.out), busy(traffic.in, border.in));
  if (border.half_duplex > 0)
    longest = std::max(longest, busy(traffic.out + traffic.in, border.both_ways()));
  return longest;
}

void add_traffic(CutTraffic& sum, const CutTraffic& more, double times) {
  sum.out += times * more.out;
  sum.in += times * more.in;
}

// What crosses the borders of one division's blocks.
class DivisionTraffic {
 public:
  DivisionTraffic(const Division& division, const std::vector<std::uint32_t>& positions)
      : division_(division), positions_(positions), of_blocks_(division.blocks.size()) {}

  void add_call(const Collective& collective, double times) {
    std::map<std::uint32_t, std::vector<int>> members;  // by block
    for (int p = 0; p < collective.size(); ++p)
      members[block_of(collective.group[static_cast<std::size_t>(p)])].push_back(p);
    CutTraffic all;
    for (const auto& [block, inside] : members) {
      if (block == Division::no_block) continue;
      const CutTraffic traffic = traffic_across(collective, inside);
      add_traffic(of_blocks_[block], traffic, times);
      add_traffic(all, traffic, 1);
    }
    if (division_.is_complete) {  // what leaves one block enters another
      const double among = collective.operation == Operation::all_reduce
                               ? 2 * static_cast<double>(members.size() - 1) *
                                     static_cast<double>(collective.bytes())
                               : 0;
      all.out = all.in = std::max({all.out, all.in, among});
    }
    add_traffic(together_, all, times);
  }
  void add_message(Rank from, Rank to, double bytes) {
    const std::uint32_t source = block_of(from);
    const std::uint32_t target = block_of(to);
    if (source == target) return;
    if (source != Division::no_block) add_traffic(of_blocks_[source], {bytes, 0}, 1);
    if (source != Division::no_block) add_traffic(together_, {bytes, 0}, 1);
    if (target != Division::no_block) add_traffic(of_blocks_[target], {0, bytes}, 1);
    if (target != Division::no_block) add_traffic(together_, {0, bytes}, 1);
  }
  [[nodiscard]] double longest() const {
    Boundary all;
    double longest = 0;
    for (std::size_t block = 0; block < of_blocks_.size(); ++block) {
      longest = std::max(longest, picoseconds(division_.blocks[block], of_blocks_[block]));
      all.add(division_.blocks[block]);
    }
    return std::max(longest, picoseconds(all, together_));
  }

 private:
  [[nodiscard]] std::uint32_t block_of(Rank rank) const {
    if (rank.index() >= positions_.size()) return Division::no_block;
    return division_.block_of[positions_[rank.index()]];
  }

  const Division& division_;
  const std::vector<std::uint32_t>& positions_;  // by rank
  std::vector<CutTraffic> of_blocks_;
  CutTraffic together_;
};

}  // namespace

WorkloadTotals workload_totals(const Workload& workload, const NetworkCuts& cuts,
                               std::optional<int> host) {
  const TotalsByRank totals(workload, host);
  std::vector<std::uint32_t> positions;
  for (std::size_t position = 0; position < cuts.group().size(); ++position) {
    const std::size_t rank = cuts.group()[position].index();
    if (rank >= positions.size()) positions.resize(rank + 1);
    positions[rank] = static_cast<std::uint32_t>(position);
  }
  double bandwidth = 0;
  for (const Division& division : cuts.divisions()) {
    DivisionTraffic traffic(division, positions);
    totals.for_each_call(
        [&](const Collective& collective, double times) { traffic.add_call(collective, times); });
    totals.for_each_message(
        [&](Rank from, Rank to, double bytes) { traffic.add_message(from, to, bytes); });
    bandwidth = std::max(bandwidth, traffic.longest());
  }
  // Rates of fair links add up to their bandwidths but for 1e-9 (see MaxMin).
  constexpr double safely = 1 - 2e-9;
  constexpr double most_ps = 9e18;
  const double whole = std::min(std::max(0.0, bandwidth * safely - 1), most_ps);
  const WorkloadBounds bounds{totals.longest_stream(), Time(static_cast<std::int64_t>(whole))};
  return {bounds, totals.phases()};
}

}  // namespace collsim
