// SPDX-License-Identifier: Apache-2.0
#include "collectives/cost/cuts.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <span>
#include <utility>

#include "collectives/cost/max_flow.hpp"
#include "collectives/cost/uniform_network.hpp"

namespace collsim {

// Into which members enough must come, and from whom.
struct NetworkCuts::Question {
  bool backwards = false;   // along the links against their direction
  bool from_all = false;    // every member has a piece; otherwise only the root, which has all
  bool at_everyone = true;  // otherwise only into the root
  std::size_t root = 0;     // a position
};

namespace {

__extension__ using Product = unsigned __int128;

bool is_tighter(std::int64_t capacity, std::int64_t members, const NetworkCuts::Rate& than) {
  return static_cast<Product>(capacity) * static_cast<Product>(than.members) <
         static_cast<Product>(than.capacity) * static_cast<Product>(members);
}

// Divided by what all bandwidths have in common, so that products stay small.
std::pair<std::vector<MaxFlow::Arc>, std::int64_t> arcs_of(const Topology& topology,
                                                           bool backwards) {
  std::int64_t common = 0;
  for (const Link& link : topology.links())
    common = std::gcd(common, link.bandwidth.bytes_per_second());
  std::vector<MaxFlow::Arc> arcs;
  arcs.reserve(topology.links().size());
  for (const Link& link : topology.links()) {
    if (link.down) continue;
    auto from = static_cast<std::uint32_t>(link.from.index());
    auto to = static_cast<std::uint32_t>(link.to.index());
    if (backwards) std::swap(from, to);
    arcs.push_back({from, to, link.bandwidth.bytes_per_second() / common});
  }
  return {std::move(arcs), common};
}

// Every cable is as wide in both directions, so a cut is, too.
bool is_as_wide_backwards(const Topology& topology) {
  const std::span<const Link> links = topology.links();
  if (links.size() % 2 != 0) return false;
  for (std::size_t id = 0; id < links.size(); id += 2) {
    const Link &there = links[id], &back = links[id + 1];
    if (there.from != back.to || there.to != back.from || there.bandwidth != back.bandwidth ||
        there.down != back.down)
      return false;
  }
  return true;
}

struct LeastTime {
  Time value = Time::never();
  void see(Time time) { value = std::min(value, time); }
  [[nodiscard]] bool seen() const { return value != Time::never(); }
};

Surroundings surroundings_of(const Topology& topology, std::span<const Rank> group,
                             const Division& alone) {
  std::vector<bool> is_member(topology.node_count(), false);
  for (const Rank rank : group) is_member[topology.node_of(rank).index()] = true;
  Surroundings around;
  LeastTime startup_out, startup_in, latency_between_members, latency_out, latency_in;
  for (const Link& link : topology.links()) {
    const bool from = is_member[link.from.index()];
    const bool to = is_member[link.to.index()];
    if (link.down || (!from && !to)) continue;
    (link.sharing == Sharing::exclusive ? around.fair : around.exclusive) = false;
    if (from) startup_out.see(link.startup);
    if (to) startup_in.see(link.startup);
    (!to ? latency_out : from ? latency_between_members : latency_in).see(link.latency);
  }
  for (const Boundary& border : alone.blocks) {
    around.most_out = std::max(around.most_out, border.links_out);
    around.most_in = std::max(around.most_in, border.links_in);
  }
  around.adding_switches =
      topology.network_adds() || std::all_of(group.begin(), group.end(), [&](Rank rank) {
        return topology.link_to_adding_switch(rank).has_value();
      });
  if (startup_out.seen()) around.startup_out = startup_out.value;
  if (startup_in.seen()) around.startup_in = startup_in.value;
  // Either some link of a route joins two members, or it leaves to and comes from another device.
  LeastTime latency = latency_between_members;
  if (latency_out.seen() && latency_in.seen()) latency.see(latency_out.value + latency_in.value);
  if (latency.seen()) around.latency = latency.value;
  return around;
}

// Only to look at more would take too long.
constexpr std::size_t most_arcs = NetworkCuts::most_work / 10;
constexpr std::int64_t unknown_capacity = std::numeric_limits<std::int64_t>::max();

}  // namespace

NetworkCuts::NetworkCuts(const Topology& topology, std::span<const Rank> group)
    : topology_(topology), group_(group.begin(), group.end()) {
  check_members(group, topology.rank_count());
  divisions_ = structural_divisions(topology_, group_);
  around_ = surroundings_of(topology_, group_, divisions_.front());
}

NetworkCuts::Rate NetworkCuts::tightest_known(const Question& question) const {
  Rate best{unknown_capacity, 1, false};
  const auto all = static_cast<std::int64_t>(group_.size());
  for (const Division& division : divisions_) {
    std::vector<std::int64_t> members(division.blocks.size(), 0);
    for (const std::uint32_t block : division.block_of)
      if (block != Division::no_block) ++members[block];
    const std::uint32_t roots = division.block_of[question.root];
    for (std::size_t b = 0; b < members.size(); ++b) {
      if (members[b] == all) continue;
      const Boundary& border = division.blocks[b];
      const auto see = [&](std::uint64_t capacity, std::int64_t sending, bool with_root) {
        if (question.from_all ? with_root && !question.at_everyone : !with_root) return;
        const std::int64_t pieces = question.from_all ? sending : 1;
        if (capacity < static_cast<std::uint64_t>(unknown_capacity) &&
            is_tighter(static_cast<std::int64_t>(capacity), pieces, best))
          best = {static_cast<std::int64_t>(capacity), pieces, false};
      };
      const bool has_root = roots == b;
      see(question.backwards ? border.in : border.out, members[b], has_root);
      see(question.backwards ? border.out : border.in, all - members[b], !has_root);
    }
  }
  return best;
}

// Newton's method, with one largest flow after the other.
class NetworkCuts::Search {
 public:
  Search(const NetworkCuts& cuts, const Question& question, Rate best)
      : cuts_(cuts), question_(question), best_(best) {
    for (const Rank rank : cuts.group_)
      members_.push_back(static_cast<std::uint32_t>(cuts.topology_.node_of(rank).index()));
    auto [arcs, common] = arcs_of(cuts.topology_, question.backwards);
    common_ = common;
    flow_.emplace(cuts.topology_.node_count(), std::move(arcs));
  }

  // Nothing: some member cannot be reached.
  std::optional<Rate> find() {
    std::vector<bool> is_member(cuts_.topology_.node_count(), false);
    for (const std::uint32_t member : members_) is_member[member] = true;
    std::vector<std::uint32_t> order = flow_->nodes_by_distance(members_[question_.root]);
    std::erase_if(order, [&](std::uint32_t node) { return !is_member[node]; });
    if (order.size() < members_.size()) return std::nullopt;
    passed_.assign(is_member.size(), false);
    if (!question_.from_all) passed_[order.front()] = true;
    if (!set_out()) return best_;
    std::size_t left = order.size();
    for (const std::uint32_t target : order) {
      --left;
      if (passed_[target]) continue;
      if (!question_.at_everyone && target != order.front()) break;
      if (takes_too_long(left)) return best_;
      MaxFlow::Answer answer;
      while ((answer = flow_->brings(target, needed_, most_work)) == MaxFlow::Answer::no) {
        if (flow_->capacity_of_cut() == 0) return std::nullopt;
        take_cut();
        targets_since_ = 0;
        if (!set_out()) return best_;
      }
      if (answer == MaxFlow::Answer::unknown) return best_;
      if (targets_since_++ == 0) work_before_ = flow_->work();
      passed_[target] = true;
      flow_->supply(target, MaxFlow::unlimited);
    }
    best_.exact = true;
    return best_;
  }

  // Of the tightest cut, if it is none that was known: block 0 is X.
  [[nodiscard]] const BlockOfDevice& found() const { return found_; }

 private:
  // At the rate of the latest targets those that are left would take far more than is allowed.  The
  // first one, and the first after a new cut, may look at all of the network.
  [[nodiscard]] bool takes_too_long(std::size_t left) const {
    constexpr std::uint64_t to_tell = most_work / 20, far = 2 * most_work;
    constexpr std::size_t few = 32;
    if (targets_since_ < few) return false;
    const std::uint64_t work = flow_->work() - work_before_;
    return work > to_tell && work / (targets_since_ - 1) * left > far;
  }

  // With best_ = p / q: a supply of p for every member, links of q B, and p (K-1) needed.
  bool set_out() {
    const std::int64_t capacity = best_.capacity / common_;
    const std::int64_t divisor = std::gcd(capacity, best_.members);
    const std::int64_t piece = capacity / divisor;
    if (!flow_->scale(best_.members / divisor)) return false;
    for (const std::uint32_t member : members_)
      flow_->supply(member, passed_[member] ? MaxFlow::unlimited : question_.from_all ? piece : 0);
    const auto others = question_.from_all ? static_cast<std::int64_t>(members_.size()) - 1 : 1;
    return !__builtin_mul_overflow(piece, others, &needed_);
  }

  void take_cut() {
    const auto sending = std::count_if(members_.begin(), members_.end(), [&](std::uint32_t member) {
      return !flow_->behind_cut(member);
    });
    best_.capacity = flow_->capacity_of_cut() * common_;
    best_.members = question_.from_all ? sending : 1;
    found_.assign(cuts_.topology_.node_count(), Division::no_block);
    for (std::size_t node = 0; node < found_.size(); ++node)
      if (!flow_->behind_cut(node)) found_[node] = 0;
  }

  const NetworkCuts& cuts_;
  const Question& question_;
  Rate best_;
  std::vector<std::uint32_t> members_;  // devices
  std::vector<bool> passed_;            // by device
  std::int64_t common_ = 1;             // divides all bandwidths
  std::int64_t needed_ = 0;
  std::optional<MaxFlow> flow_;
  std::size_t targets_since_ = 0;  // the latest cut
  std::uint64_t work_before_ = 0;  // those but the first
  BlockOfDevice found_;
};

std::optional<NetworkCuts::Rate> NetworkCuts::answer(const Question& question) {
  const Rate known = tightest_known(question);
  if (known.capacity == 0 || known.capacity == unknown_capacity) return std::nullopt;
  if (topology_.links().size() > most_arcs) return known;
  Search search(*this, question, known);
  const std::optional<Rate> rate = search.find();
  if (rate && !search.found().empty())
    divisions_.push_back(make_division(topology_, group_, Division::Kind::other, search.found()));
  return rate;
}

std::optional<NetworkCuts::Rate> NetworkCuts::search(Operation operation, int root) {
  if (group_.size() < 2) return std::nullopt;
  Question question;
  question.root = has_root(operation) ? static_cast<std::size_t>(root) : 0;
  switch (operation) {
    case Operation::broadcast: return answer(question);
    case Operation::reduce: question.backwards = true; return answer(question);
    case Operation::scatter: question.backwards = true; [[fallthrough]];
    case Operation::gather:
      question.from_all = true;
      question.at_everyone = false;
      return answer(question);
    case Operation::reduce_scatter: question.backwards = true; [[fallthrough]];
    case Operation::all_gather: question.from_all = true; return answer(question);
    case Operation::all_reduce: {
      // Any cut has the first member on one side or on the other.
      const std::optional<Rate> out = answer(question);
      if (is_as_wide_backwards(topology_)) return out;
      question.backwards = true;
      const std::optional<Rate> in = answer(question);
      if (!out || !in) return std::nullopt;
      Rate least = out->capacity <= in->capacity ? *out : *in;
      least.exact = out->exact && in->exact;
      return least;
    }
    case Operation::all_to_all:
    case Operation::barrier:
    case Operation::send_recv: break;
  }
  return std::nullopt;
}

}  // namespace collsim
