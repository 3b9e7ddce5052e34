// SPDX-License-Identifier: Apache-2.0
#include "collectives/cost/bounds.hpp"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "collectives/cost/uniform_cuts.hpp"

namespace collsim {

Time LowerBounds::largest() const {
  return std::max({bandwidth, latency, compute});
}

const char* to_string(CutDirection direction) {
  switch (direction) {
    case CutDirection::out: return "out";
    case CutDirection::in: return "in";
    case CutDirection::both: return "both";
  }
  return "";
}

namespace {

__extension__ using Wide = unsigned __int128;

constexpr std::uint64_t ps_per_second = 1'000'000'000'000U;
constexpr std::int64_t most_ps = std::numeric_limits<std::int64_t>::max();

Time whole_picoseconds(Wide ps) {
  return Time(static_cast<std::int64_t>(std::min(ps, static_cast<Wide>(most_ps))));
}

Wide wide(Time time) {
  return static_cast<Wide>(time.ps());
}

// What must leave and enter a block of members, in bytes.
struct Traffic {
  Wide out = 0;
  Wide in = 0;
  bool operator==(const Traffic&) const = default;
};

// Of the pieces of the members; the longer ones come first.
class PieceLengths {
 public:
  explicit PieceLengths(const Collective& collective)
      : shorter_(collective.count / collective.size()),
        longer_(collective.count % collective.size()),
        element_size_(size_of(collective.type)) {}
  [[nodiscard]] Wide bytes_of(int position) const {
    const Bytes bytes = (shorter_ + (position < longer_ ? 1 : 0)) * element_size_;
    return static_cast<Wide>(bytes);
  }

 private:
  std::int64_t shorter_;
  std::int64_t longer_;
  Bytes element_size_;
};

// The members of a block, as far as traffic depends on it.
struct BlockTotals {
  Wide members = 0;
  Wide bytes = 0;  // of their pieces
  bool has_root = false;
  Traffic messages;  // send_recv
  bool operator==(const BlockTotals&) const = default;
};

Traffic rooted(bool has_root, Wide others, Wide own, bool away_from_root) {
  const Traffic away = has_root ? Traffic{others, 0} : Traffic{0, own};
  return away_from_root ? away : Traffic{away.in, away.out};
}

Traffic traffic_of(const Collective& collective, const BlockTotals& part) {
  const auto members = static_cast<Wide>(collective.size());
  if (part.members == 0 || part.members == members) return {};
  const auto all = static_cast<Wide>(collective.bytes());
  const Wide others = all - part.bytes;
  switch (collective.operation) {
    case Operation::broadcast: return rooted(part.has_root, all, all, true);
    case Operation::reduce: return rooted(part.has_root, all, all, false);
    case Operation::all_reduce: return {all, all};
    case Operation::all_gather: return {part.bytes, others};
    case Operation::reduce_scatter: return {others, part.bytes};
    case Operation::scatter: return rooted(part.has_root, others, part.bytes, true);
    case Operation::gather: return rooted(part.has_root, others, part.bytes, false);
    case Operation::all_to_all:
      return {part.members * others, (members - part.members) * part.bytes};
    case Operation::send_recv: return part.messages;
    case Operation::barrier: break;
  }
  return {};
}

std::vector<std::pair<int, int>> messages_of(const Collective& collective) {
  std::vector<std::pair<int, int>> messages;
  if (collective.pattern.kind == Pattern::Kind::pairs) return collective.pattern.pairs;
  for (int p = 0; p < collective.size(); ++p)
    if (const std::optional<int> to = target_of(collective, p)) messages.emplace_back(p, *to);
  return messages;
}

std::vector<BlockTotals> totals_of(const Collective& collective, const Division& division) {
  std::vector<BlockTotals> parts(division.blocks.size());
  const auto part_of = [&](int position) -> BlockTotals* {
    COLLSIM_CHECK(position >= 0 && position < collective.size(),
                  "a valid collective's pairs are in its group");
    const std::uint32_t block = division.block_of[static_cast<std::size_t>(position)];
    return block == Division::no_block ? nullptr : &parts[block];
  };
  const PieceLengths lengths(collective);
  for (int p = 0; p < collective.size(); ++p)
    if (BlockTotals* const part = part_of(p)) {
      ++part->members;
      part->bytes += lengths.bytes_of(p);
      part->has_root = part->has_root || p == collective.root;
    }
  if (collective.operation != Operation::send_recv) return parts;
  for (const auto& [from, to] : messages_of(collective)) {
    BlockTotals* const source = part_of(from);
    BlockTotals* const target = part_of(to);
    if (source == target) continue;
    if (source != nullptr) source->messages.out += static_cast<Wide>(collective.bytes());
    if (target != nullptr) target->messages.in += static_cast<Wide>(collective.bytes());
  }
  return parts;
}

// see(traffic) of every block, in order.  Members alone need no table: there are most of them.
template <class See>
void for_each_block(const Collective& collective, const Division& division, const See& see) {
  BlockTotals latest;
  Traffic traffic;
  const auto see_block = [&](const BlockTotals& totals) {
    if (totals != latest) traffic = traffic_of(collective, latest = totals);  // few are not alike
    see(traffic);
  };
  if (division.kind == Division::Kind::ranks && collective.operation != Operation::send_recv) {
    const PieceLengths lengths(collective);
    for (int p = 0; p < collective.size(); ++p)
      see_block({1, lengths.bytes_of(p), p == collective.root, {}});
  } else {
    for (const BlockTotals& totals : totals_of(collective, division)) see_block(totals);
  }
}

// For how long `bytes` keep links of this capacity busy.  Nothing where there is no link: such a
// collective cannot run at all.
Wide busy(Wide bytes, Wide capacity) {
  if (capacity == 0 || capacity >= Boundary::unlimited) return 0;
  const Wide ps = bytes * ps_per_second;
  constexpr Wide fits = std::numeric_limits<std::uint64_t>::max();
  if (ps <= fits) return static_cast<std::uint64_t>(ps) / static_cast<std::uint64_t>(capacity);
  return ps / capacity;
}

// The cut whose traffic takes longest.
struct LargestTraffic {
  Wide time = 0;  // startup and flight included
  Wide startup = 0;
  Wide flight = 0;
  Wide bytes = 0;
  Wide capacity = 0;
  std::size_t division = 0;
  std::optional<std::size_t> block;  // none: all of the division
  CutDirection direction = CutDirection::out;

  // Exact only where it may be the longest: there are many cuts, and dividing takes its time.
  void see(LargestTraffic other, bool fair) {
    if (other.bytes == 0 || other.capacity == 0) return;
    constexpr double safely = 1 + 1e-9;
    const double about =
        static_cast<double>(other.bytes) * ps_per_second / static_cast<double>(other.capacity) +
        static_cast<double>(other.startup + other.flight);
    if (about * safely < static_cast<double>(time)) return;
    Wide traffic = busy(other.bytes, other.capacity);
    // Fair rates add up to the capacity but for 1e-9 (see MaxMin).
    if (fair) traffic -= std::min(traffic, traffic / 1'000'000'000U + 1);
    if (traffic == 0) return;
    other.time = other.startup + other.flight + traffic;
    if (other.time > time) *this = other;
  }
};

Wide startup_ps(std::int64_t startup) {
  return startup == Boundary::no_startup ? 0 : static_cast<Wide>(startup);
}

void see_border(LargestTraffic& largest, const Boundary& border, const Traffic& traffic,
                Wide flight, std::size_t division, std::optional<std::size_t> block) {
  const auto see = [&](std::int64_t startup, Wide bytes, std::uint64_t capacity,
                       CutDirection direction) {
    // A link of half duplex may be busy from the first moment to the last: with what leaves, and
    // then with what enters.
    largest.see({0, startup_ps(startup), direction == CutDirection::both ? 0 : flight, bytes,
                 capacity, division, block, direction},
                border.fair);
  };
  see(border.startup_out, traffic.out, border.out, CutDirection::out);
  see(border.startup_in, traffic.in, border.in, CutDirection::in);
  if (border.half_duplex > 0)
    see(std::min(border.startup_out, border.startup_in), traffic.out + traffic.in,
        border.both_ways(), CutDirection::both);
}

// As far as see_border() looks.
bool are_alike(const Boundary& a, const Boundary& b) {
  return a.out == b.out && a.in == b.in && a.startup_out == b.startup_out &&
         a.startup_in == b.startup_in && a.half_duplex == b.half_duplex && a.fair == b.fair;
}

LargestTraffic largest_traffic(const Collective& collective, const NetworkCuts& cuts) {
  const auto bytes = static_cast<Wide>(collective.bytes());
  // Fair links are crossed last: while one is busy, messages may fly over the exclusive ones.
  const bool flies_alone = cuts.around().exclusive || cuts.around().fair;
  const Wide flight = flies_alone ? wide(cuts.around().latency) : 0;
  LargestTraffic largest;
  for (std::size_t number = 0; number < cuts.divisions().size(); ++number) {
    const Division& division = cuts.divisions()[number];
    Traffic latest;
    std::size_t b = 0;
    for_each_block(collective, division, [&](const Traffic& traffic) {
      // Most blocks are like the one before.
      const bool alike =
          b > 0 && traffic == latest && are_alike(division.blocks[b], division.blocks[b - 1]);
      if (!alike) see_border(largest, division.blocks[b], traffic, flight, number, b);
      latest = traffic;
      ++b;
    });
    if (collective.operation != Operation::all_reduce || !division.is_complete) continue;
    Boundary all;
    for (const Boundary& border : division.blocks) all.add(border);
    // 2 (M-1) N among M blocks that know all of their own data.
    const Wide among_blocks = 2 * static_cast<Wide>(division.blocks.size() - 1) * bytes;
    see_border(largest, all, {among_blocks, among_blocks}, flight, number, std::nullopt);
  }
  return largest;
}

// The same of the fewer cuts of a group that is the whole network.
LargestTraffic largest_traffic(const Collective& collective, const UniformCuts& cuts) {
  const Wide flight = wide(cuts.around.latency);
  LargestTraffic largest;
  const auto see = [&](std::uint64_t links, const Traffic& traffic) {
    see_border(largest, cuts.border(links), traffic, flight, 0, std::nullopt);
  };
  const PieceLengths lengths(collective);
  const int root = collective.root;
  const int last = collective.size() - 1;
  // Every other member is like one of these: as far from being the root, with as long a piece.
  for (const int p : {0, 1, last - 1, last, root})
    see(cuts.links_of_rank, traffic_of(collective, {1, lengths.bytes_of(p), p == root, {}}));
  for (const UniformCuts::Line& line : cuts.lines) {
    const auto below = [&](std::int64_t rank) -> Wide {
      return line.ranks_below(static_cast<std::size_t>(rank));
    };
    const Wide members = below(collective.size());
    const Wide bytes =
        members * lengths.bytes_of(last) + below(collective.count % collective.size()) *
                                               (lengths.bytes_of(0) - lengths.bytes_of(last));
    see(line.links, traffic_of(collective, {members, bytes, below(root + 1) > below(root), {}}));
  }
  if (collective.operation == Operation::all_reduce) {
    const Wide among_ranks = 2 * static_cast<Wide>(last) * static_cast<Wide>(collective.bytes());
    see(cuts.links_of_rank * collective.group.size(), {among_ranks, among_ranks});
  }
  return largest;
}

// No piece is empty, so that every member sends or receives.
bool all_have_traffic(const Collective& collective) {
  return collective.operation != Operation::send_recv && collective.count >= collective.size();
}

std::size_t spread_over(const Collective& collective, const UniformCuts&) {
  return collective.group.size();
}

// How many ranks are involved when one must reach them, or they one.
std::size_t spread_over(const Collective& collective, const NetworkCuts& cuts) {
  if (collective.operation == Operation::barrier || all_have_traffic(collective))
    return collective.group.size();
  std::size_t with_traffic = 0;
  for_each_block(collective, cuts.divisions().front(), [&](const Traffic& traffic) {
    if (traffic.in > 0 || traffic.out > 0) ++with_traffic;
  });
  return collective.operation == Operation::send_recv ? std::min<std::size_t>(with_traffic, 2)
                                                      : with_traffic;
}

// Ranks that one can have reached by time t, itself included; not less than the truth.
double reached_by(Wide t, Wide startup, Wide latency, double ports, double enough) {
  double reached = 1;
  double power = 1;
  for (unsigned hops = 1; hops <= 64 && reached < enough; ++hops) {
    if (t < hops * (startup + latency)) break;
    const Wide whole_starts = (t - hops * latency) / startup;
    const auto starts = static_cast<double>(whole_starts);
    power *= ports;
    double ways = 1;  // C(starts, hops)
    for (unsigned i = 0; i < hops; ++i) ways *= (starts - i) / (i + 1);
    reached += power * ways * (1 + 1e-9);
  }
  return reached;
}

// A message pays the largest startup on its way out of one member and into another.
Wide one_message_takes(const Surroundings& around) {
  return wide(std::max(around.startup_out, around.startup_in)) + wide(around.latency);
}

Wide spreading_time(std::size_t ranks, std::uint32_t ports, Wide startup,
                    const Surroundings& around) {
  if (ranks < 2) return 0;
  const Wide one_message = one_message_takes(around);
  const Wide latency = wide(around.latency);
  if (!around.exclusive || startup == 0 || ports == 0 || around.adding_switches) return one_message;
  const auto enough = static_cast<double>(ranks);
  Wide low = 0;                          // too early
  Wide high = 64 * (startup + latency);  // doubling once per message reaches 2^64 ranks
  while (high - low > 1) {
    const Wide middle = low + (high - low) / 2;
    const double reached = reached_by(middle, startup, latency, ports, enough);
    (reached >= enough ? high : low) = middle;
  }
  return std::max(high, one_message);
}

// Information spreads from one to many, gathers from many to one, or both.
Wide spreading_time(Operation operation, std::size_t ranks, const Surroundings& around) {
  const Wide out = spreading_time(ranks, around.most_out, wide(around.startup_out), around);
  const Wide in = spreading_time(ranks, around.most_in, wide(around.startup_in), around);
  switch (operation) {
    case Operation::broadcast:
    case Operation::scatter:
    case Operation::all_gather: return out;
    case Operation::reduce:
    case Operation::gather:
    case Operation::reduce_scatter:
    case Operation::all_to_all: return in;  // position 0 hears from all
    default: return std::max(out, in);
  }
}

template <class Cuts>
LowerBounds bounds_by(const Cuts& cuts, const Surroundings& around, const Collective& collective,
                      std::optional<Bandwidth> reduce_bandwidth, int lanes) {
  if (lanes < 1)
    throw_error(ErrorCode::invalid_argument,
                "lanes must be at least 1, not " + std::to_string(lanes));
  if (collective.size() == 1) return {};
  const std::size_t involved = spread_over(collective, cuts);
  if (involved < 2) return {};
  const LargestTraffic largest = largest_traffic(collective, cuts);

  LowerBounds bounds;
  bounds.latency = whole_picoseconds(spreading_time(collective.operation, involved, around));
  if (largest.time > 0) {
    bounds.startup = whole_picoseconds(largest.startup);
    bounds.flight = whole_picoseconds(largest.flight);
    bounds.bandwidth = whole_picoseconds(largest.time);
  }
  if (reduce_bandwidth && reduces(collective.operation) && collective.count > 0) {
    const auto all = static_cast<Wide>(collective.size());
    const Wide added = (all - 1) * static_cast<Wide>(collective.bytes());
    const Wide rate =
        all * static_cast<Wide>(lanes) * static_cast<Wide>(reduce_bandwidth->bytes_per_second());
    bounds.first_startup = std::max(around.startup_out, around.startup_in);
    bounds.first_flight = around.latency;
    bounds.compute = whole_picoseconds(one_message_takes(around) + added * ps_per_second / rate);
  }
  return bounds;
}

bool is_all_in_order(std::span<const Rank> group, std::size_t ranks) {
  for (std::size_t p = 0; p < group.size(); ++p)
    if (group[p].index() != p) return false;
  return group.size() == ranks;
}

}  // namespace

LowerBounds lower_bounds(const Collective& collective, const NetworkCuts& cuts,
                         std::optional<Bandwidth> reduce_bandwidth, int lanes) {
  COLLSIM_CHECK(std::equal(collective.group.begin(), collective.group.end(), cuts.group().begin(),
                           cuts.group().end()),
                "the cuts are of another group");
  return bounds_by(cuts, cuts.around(), collective, reduce_bandwidth, lanes);
}

LowerBounds lower_bounds(const Collective& collective, const Topology& topology,
                         std::optional<Bandwidth> reduce_bandwidth, int lanes) {
  if (collective.size() > 1 && all_have_traffic(collective) &&
      is_all_in_order(collective.group, topology.rank_count()))
    if (const std::optional<UniformCuts> cuts = uniform_cuts(topology))
      return bounds_by(*cuts, cuts->around, collective, reduce_bandwidth, lanes);
  return lower_bounds(collective, NetworkCuts(topology, collective.group), reduce_bandwidth, lanes);
}

CutTraffic traffic_across(const Collective& collective, std::span<const int> positions) {
  BlockTotals part;
  const PieceLengths lengths(collective);
  for (const int p : positions) {
    ++part.members;
    part.bytes += lengths.bytes_of(p);
    part.has_root = part.has_root || p == collective.root;
  }
  const Traffic traffic = traffic_of(collective, part);
  return {static_cast<double>(traffic.out), static_cast<double>(traffic.in)};
}

std::optional<NarrowestLinks> narrowest_links(const Collective& collective,
                                              const NetworkCuts& cuts) {
  if (collective.size() == 1 || spread_over(collective, cuts) < 2) return std::nullopt;
  const LargestTraffic largest = largest_traffic(collective, cuts);
  if (largest.time == 0) return std::nullopt;
  const Division& division = cuts.divisions()[largest.division];
  NarrowestLinks narrowest;
  narrowest.kind = division.kind;
  narrowest.direction = largest.direction;
  constexpr auto most_bytes = static_cast<Wide>(std::numeric_limits<Bytes>::max());
  narrowest.bytes = static_cast<Bytes>(std::min(largest.bytes, most_bytes));
  narrowest.bytes_per_second = static_cast<double>(largest.capacity);
  narrowest.blocks = division.blocks.size();
  narrowest.dimension = division.dimension;
  narrowest.from = division.from;
  narrowest.to = division.to;
  narrowest.together = !largest.block;
  const std::size_t block = largest.block.value_or(0);
  const Boundary& border = division.blocks[block];
  if (!narrowest.together)
    narrowest.links = largest.direction == CutDirection::in ? border.links_in : border.links_out;
  narrowest.device = NodeId(border.device);
  for (int p = 0; p < collective.size(); ++p)
    if (division.block_of[static_cast<std::size_t>(p)] == block) narrowest.positions.push_back(p);
  return narrowest;
}

std::optional<double> best_known_all_reduce(const Collective& collective, NetworkCuts& cuts) {
  if (cuts.topology().network_adds()) return std::nullopt;
  for (const Rank rank : collective.group)
    if (cuts.topology().link_to_adding_switch(rank)) return std::nullopt;
  double seconds_per_piece = 0;
  for (const Operation half : {Operation::reduce_scatter, Operation::all_gather}) {
    const std::optional<NetworkCuts::Rate> rate = cuts.search(half, 0);
    if (!rate || !rate->exact) return std::nullopt;
    seconds_per_piece += static_cast<double>(rate->members) / static_cast<double>(rate->capacity);
  }
  return static_cast<double>(collective.bytes()) / collective.size() * seconds_per_piece;
}

}  // namespace collsim
