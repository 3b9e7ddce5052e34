// SPDX-License-Identifier: Apache-2.0
#include "app/scenario/nccl_rings.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <map>
#include <utility>

#include "topo/routes.hpp"

namespace collsim {
namespace {

constexpr std::size_t most_gpus = 8;

// What the links between two members carry.
class DirectLinks {
 public:
  DirectLinks(const Topology& topology, const std::vector<Rank>& group)
      : size_(group.size()), bandwidth_(size_ * size_), load_(size_ * size_) {
    for (const Link& link : topology.links()) {
      const std::size_t from = member(topology, group, link.from);
      const std::size_t to = member(topology, group, link.to);
      if (from < size_ && to < size_)
        bandwidth_[from * size_ + to] += static_cast<double>(link.bandwidth.bytes_per_second());
    }
  }

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] bool join(std::size_t from, std::size_t to) const {
    return bandwidth_[from * size_ + to] > 0;
  }

  // The longest that a link would take, and all together, with one more ring.
  [[nodiscard]] std::pair<double, double> times_with(const std::vector<int>& ring) const {
    std::pair<double, double> times;
    for (std::size_t i = 0; i < size_; ++i) {
      const std::size_t link = link_after(ring, i);
      const double time = (load_[link] + 1) / bandwidth_[link];
      times.first = std::max(times.first, time);
      times.second += time;
    }
    return times;
  }
  void add(const std::vector<int>& ring) {
    for (std::size_t i = 0; i < size_; ++i) load_[link_after(ring, i)] += 1;
  }
  [[nodiscard]] double longest_time() const {
    double longest = 0;
    for (std::size_t link = 0; link < load_.size(); ++link)
      if (load_[link] > 0) longest = std::max(longest, load_[link] / bandwidth_[link]);
    return longest;
  }

 private:
  static std::size_t member(const Topology& topology, const std::vector<Rank>& group, NodeId node) {
    const auto at = std::find_if(group.begin(), group.end(),
                                 [&](Rank rank) { return topology.node_of(rank) == node; });
    return static_cast<std::size_t>(at - group.begin());
  }
  [[nodiscard]] std::size_t link_after(const std::vector<int>& ring, std::size_t place) const {
    const auto from = static_cast<std::size_t>(ring[place]);
    return from * size_ + static_cast<std::size_t>(ring[(place + 1) % size_]);
  }

  std::size_t size_;
  std::vector<double> bandwidth_, load_;
};

// All rings from position 0 on.
void extend(const DirectLinks& links, std::vector<int>& ring,
            std::vector<std::vector<int>>& found) {
  const auto last = static_cast<std::size_t>(ring.back());
  if (ring.size() == links.size()) {
    if (links.join(last, 0)) found.push_back(ring);
    return;
  }
  for (std::size_t next = 1; next < links.size(); ++next) {
    const int position = static_cast<int>(next);
    if (!links.join(last, next) || std::find(ring.begin(), ring.end(), position) != ring.end())
      continue;
    ring.push_back(position);
    extend(links, ring, found);
    ring.pop_back();
  }
}

}  // namespace

std::vector<std::vector<int>> rings_of_direct_links(const Topology& topology,
                                                    const std::vector<Rank>& group) {
  if (group.size() < 3 || group.size() > most_gpus) return {};
  DirectLinks links(topology, group);
  std::vector<std::vector<int>> all;
  std::vector<int> ring{0};
  extend(links, ring, all);
  if (all.empty()) return {};

  // One ring after the other where it delays the least; as many as carry the most.
  constexpr std::size_t most_rings = 12;
  std::vector<std::vector<int>> chosen;
  std::size_t best_count = 0;
  double best_rate = 0;
  while (chosen.size() < most_rings) {
    const auto next = std::min_element(all.begin(), all.end(), [&](const auto& a, const auto& b) {
      return links.times_with(a) < links.times_with(b);
    });
    links.add(*next);
    chosen.push_back(*next);
    const double rate = static_cast<double>(chosen.size()) / links.longest_time();
    constexpr double better = 1 + 1e-9;
    if (rate > best_rate * better) best_rate = rate, best_count = chosen.size();
  }
  chosen.resize(best_count);
  return chosen;
}

namespace {

bool are_alike(const std::vector<Rank>& group, std::size_t members, std::size_t of_node) {
  for (std::size_t position = members; position < group.size(); ++position)
    if (group[position].index() % of_node != group[position % members].index() % of_node)
      return false;
  return true;
}

// By which device each member of the first node enters it: a NIC, or itself.
std::vector<NodeId> doors(const Topology& topology, const std::vector<Rank>& group,
                          std::size_t members) {
  Router router(topology);
  std::vector<NodeId> found;
  for (std::size_t member = 0; member < members; ++member) {
    NodeId door = topology.node_of(group[member]);
    for (const LinkId id : router.route(group[member], group[members + member]))
      if (const NodeId to = topology.link(id).to; topology.kind(to) == NodeKind::nic) {
        door = to;
        break;
      }
    found.push_back(door);
  }
  return found;
}

// How many channels enter and leave by each door, of which the busiest delays all.
class DoorTurns {
 public:
  explicit DoorTurns(std::vector<NodeId> doors) : doors_(std::move(doors)) {}

  // The ring begun where that is the least used door.
  std::vector<int> cut_open(std::vector<int> ring) {
    std::vector<int> best = ring;
    for (std::size_t turn = 1; turn < ring.size(); ++turn) {
      std::rotate(ring.begin(), ring.begin() + 1, ring.end());
      if (uses(ring) < uses(best)) best = ring;
    }
    ++entered_[door_of(best.front())];
    ++left_[door_of(best.back())];
    return best;
  }
  [[nodiscard]] int busiest() const {
    int most = 1;
    for (const auto& [door, times] : entered_) most = std::max(most, times);
    for (const auto& [door, times] : left_) most = std::max(most, times);
    return most;
  }

 private:
  [[nodiscard]] NodeId door_of(int member) const {
    return doors_[static_cast<std::size_t>(member)];
  }
  [[nodiscard]] std::pair<int, int> uses(const std::vector<int>& path) {
    const int in = entered_[door_of(path.front())], out = left_[door_of(path.back())];
    return {std::max(in, out), in + out};
  }

  std::vector<NodeId> doors_;
  std::map<NodeId, int> entered_, left_;
};

}  // namespace

std::vector<std::vector<int>> paths_of_direct_links(const Topology& topology,
                                                    const std::vector<Rank>& group, int members) {
  const auto of_node = static_cast<std::size_t>(topology.dims().back());
  const auto count = static_cast<std::size_t>(members);
  if (members < 3 || !are_alike(group, count, of_node)) return {};
  const std::vector<Rank> node(group.begin(), group.begin() + members);
  const std::vector<std::vector<int>> rings = rings_of_direct_links(topology, node);
  if (rings.empty()) return {};
  // All rings as often as the doors are used the most evenly, at most twice.
  DoorTurns turns(doors(topology, group, count));
  std::vector<std::vector<int>> once, twice;
  for (const auto& ring : rings) once.push_back(turns.cut_open(ring));
  const int busiest_once = turns.busiest();
  twice = once;
  for (const auto& ring : rings) twice.push_back(turns.cut_open(ring));
  return turns.busiest() < 2 * busiest_once ? twice : once;
}

std::vector<std::vector<int>> nccl_rings(const Topology& topology, const std::vector<Rank>& group,
                                         int members) {
  if (static_cast<std::size_t>(members) == group.size())
    return rings_of_direct_links(topology, group);
  return paths_of_direct_links(topology, group, members);
}

}  // namespace collsim
