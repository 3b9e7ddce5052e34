// SPDX-License-Identifier: Apache-2.0
#include "collectives/cost/bounds.hpp"

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "collectives/cost/uniform_network.hpp"

namespace collsim {

Time LowerBounds::largest() const {
  return std::max({bandwidth, latency, compute});
}

namespace {

__extension__ using Wide = unsigned __int128;

constexpr Wide ps_per_second = 1'000'000'000'000U;
constexpr std::int64_t most_ps = std::numeric_limits<std::int64_t>::max();

Time whole_picoseconds(Wide ps) {
  return Time(static_cast<std::int64_t>(std::min(ps, static_cast<Wide>(most_ps))));
}

// The links at a member's device, in one direction.
struct Side {
  std::uint64_t capacity = 0;
  std::uint32_t links = 0;

  void add(Bandwidth bandwidth) {
    const auto more = static_cast<std::uint64_t>(bandwidth.bytes_per_second());
    ++links;
    // What does not fit 64 bits is as good as unlimited.
    if (capacity == unlimited || __builtin_add_overflow(capacity, more, &capacity))
      capacity = unlimited;
  }
  static constexpr std::uint64_t unlimited = std::numeric_limits<std::uint64_t>::max();
};

struct Least {
  std::int64_t value = most_ps;
  void see(Time time) { value = std::min(value, time.ps()); }
};

// What members see of the network; everything that lies between is better than any real one.
struct Surroundings {
  std::vector<Side> out, in;  // per position
  Wide all_out = 0;
  Wide all_in = 0;
  std::uint32_t most_out = 0;
  std::uint32_t most_in = 0;
  bool exclusive = true;         // all links at members are
  bool fair = true;              // likewise
  bool adding_switches = false;  // every member is behind one
  Wide startup_out = 0;          // the least of a link out of a member
  Wide startup_in = 0;
  Wide latency = 0;
};

constexpr std::uint32_t not_a_member = std::numeric_limits<std::uint32_t>::max();

std::vector<std::uint32_t> positions_of_nodes(const Collective& collective,
                                              const Topology& topology) {
  std::vector<std::uint32_t> position(topology.node_count(), not_a_member);
  for (std::size_t p = 0; p < collective.group.size(); ++p)
    position[topology.node_of(collective.group[p]).index()] = static_cast<std::uint32_t>(p);
  return position;
}

void add_up(const std::vector<Side>& sides, Wide& all, std::uint32_t& most) {
  for (const Side& side : sides) {
    all += side.capacity;
    most = std::max(most, side.links);
  }
}

Surroundings surroundings_of(const Collective& collective, const Topology& topology) {
  const std::vector<std::uint32_t> position = positions_of_nodes(collective, topology);
  Surroundings around;
  around.out.resize(collective.group.size());
  around.in.resize(collective.group.size());
  Least startup_out, startup_in, latency_between_members, latency_out, latency_in;
  for (const Link& link : topology.links()) {
    const std::uint32_t from = position[link.from.index()];
    const std::uint32_t to = position[link.to.index()];
    if (from == not_a_member && to == not_a_member) continue;
    (link.sharing == Sharing::exclusive ? around.fair : around.exclusive) = false;
    if (from != not_a_member) {
      around.out[from].add(link.bandwidth);
      startup_out.see(link.startup);
      (to == not_a_member ? latency_out : latency_between_members).see(link.latency);
    }
    if (to != not_a_member) {
      around.in[to].add(link.bandwidth);
      startup_in.see(link.startup);
      if (from == not_a_member) latency_in.see(link.latency);
    }
  }
  around.adding_switches =
      std::all_of(collective.group.begin(), collective.group.end(),
                  [&](Rank rank) { return topology.link_to_adding_switch(rank).has_value(); });
  add_up(around.out, around.all_out, around.most_out);
  add_up(around.in, around.all_in, around.most_in);
  if (startup_out.value != most_ps) around.startup_out = static_cast<Wide>(startup_out.value);
  if (startup_in.value != most_ps) around.startup_in = static_cast<Wide>(startup_in.value);
  // Either some link of a route joins two members, or it leaves to and comes from another rank.
  Wide latency = static_cast<Wide>(latency_between_members.value);
  if (latency_out.value != most_ps && latency_in.value != most_ps)
    latency = std::min(latency,
                       static_cast<Wide>(latency_out.value) + static_cast<Wide>(latency_in.value));
  if (latency < static_cast<Wide>(most_ps)) around.latency = latency;
  return around;
}

struct Traffic {
  Bytes out = 0;
  Bytes in = 0;
};

Traffic rooted_traffic(bool at_root, Bytes others, Bytes own, bool away_from_root) {
  const Traffic away = at_root ? Traffic{others, 0} : Traffic{0, own};
  return away_from_root ? away : Traffic{away.in, away.out};
}

// What must leave and enter a position, in bytes.
Traffic needed_traffic(const Collective& collective, int position) {
  const Bytes all = collective.bytes();
  const Bytes own =
      Span{Buffer::input, 0, collective.count}.piece(position, collective.size()).count *
      size_of(collective.type);
  const bool at_root = position == collective.root;
  switch (collective.operation) {
    case Operation::broadcast: return rooted_traffic(at_root, all, all, true);
    case Operation::reduce: return rooted_traffic(at_root, all, all, false);
    case Operation::all_reduce: return {all, all};
    case Operation::all_gather: return {own, all - own};
    case Operation::reduce_scatter: return {all - own, own};
    case Operation::scatter: return rooted_traffic(at_root, all - own, own, true);
    case Operation::gather: return rooted_traffic(at_root, all - own, own, false);
    case Operation::all_to_all: return {all - own, (collective.size() - 1) * own};
    case Operation::barrier:
    case Operation::send_recv: return {};
  }
  return {};
}

std::vector<Traffic> needed_traffic(const Collective& collective) {
  std::vector<Traffic> needed(collective.group.size());
  const auto message = [&](int from, int to) {
    COLLSIM_CHECK(std::min(from, to) >= 0 && std::max(from, to) < collective.size(),
                  "a valid collective's pairs are in its group");
    if (from == to) return;
    needed[static_cast<std::size_t>(from)].out += collective.bytes();
    needed[static_cast<std::size_t>(to)].in += collective.bytes();
  };
  if (collective.operation != Operation::send_recv) {
    for (int p = 0; p < collective.size(); ++p)
      needed[static_cast<std::size_t>(p)] = needed_traffic(collective, p);
  } else if (collective.pattern.kind == Pattern::Kind::pairs) {
    for (const auto& [from, to] : collective.pattern.pairs) message(from, to);
  } else {
    for (int p = 0; p < collective.size(); ++p)
      if (const std::optional<int> to = target_of(collective, p)) message(p, *to);
  }
  return needed;
}

// For how long `bytes` keep links of this capacity busy.  Nothing where there is no link: such a
// collective cannot run at all.
Wide busy(Wide bytes, Wide capacity) {
  if (capacity == 0 || capacity >= Side::unlimited) return 0;
  const Wide ps = bytes * ps_per_second;
  constexpr Wide fits = std::numeric_limits<std::uint64_t>::max();
  if (ps <= fits) return static_cast<std::uint64_t>(ps) / static_cast<std::uint64_t>(capacity);
  return ps / capacity;
}

// The traffic that takes longest, and whose it is.
struct LargestTraffic {
  Wide time = 0;
  Wide bytes = 0;
  Wide capacity = 0;
  std::optional<int> position;
  bool sends = false;
  std::uint32_t links = 0;

  void see(const LargestTraffic& other) {
    if (other.time > time) *this = other;
  }
};

LargestTraffic traffic_of_all(const Collective& collective, const Surroundings& around) {
  const Wide all =
      2 * static_cast<Wide>(collective.size() - 1) * static_cast<Wide>(collective.bytes());
  LargestTraffic largest;
  largest.see({busy(all, around.all_out), all, around.all_out, std::nullopt, true, 0});
  largest.see({busy(all, around.all_in), all, around.all_in, std::nullopt, false, 0});
  return largest;
}

LargestTraffic largest_traffic(const Collective& collective, const std::vector<Traffic>& needed,
                               const Surroundings& around) {
  LargestTraffic largest;
  for (std::size_t p = 0; p < needed.size(); ++p) {
    const auto see = [&](Bytes bytes, const Side& side, bool sends) {
      const auto wide = static_cast<Wide>(bytes);
      largest.see(
          {busy(wide, side.capacity), wide, side.capacity, static_cast<int>(p), sends, side.links});
    };
    see(needed[p].out, around.out[p], true);
    see(needed[p].in, around.in[p], false);
  }
  if (collective.operation == Operation::all_reduce && !around.adding_switches)
    largest.see(traffic_of_all(collective, around));
  return largest;
}

// How many ranks are involved when one must reach them, or they one.
std::size_t spread_over(const Collective& collective, const std::vector<Traffic>& needed) {
  const auto with_traffic = static_cast<std::size_t>(std::count_if(
      needed.begin(), needed.end(), [](const Traffic& t) { return t.in > 0 || t.out > 0; }));
  switch (collective.operation) {
    case Operation::barrier: return collective.group.size();
    case Operation::send_recv: return std::min<std::size_t>(with_traffic, 2);
    default: return with_traffic;
  }
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

Wide spreading_time(std::size_t ranks, std::uint32_t ports, Wide startup,
                    const Surroundings& around) {
  if (ranks < 2) return 0;
  // A message pays the largest startup on its way out of one member and into another.
  const Wide one_message = std::max(around.startup_out, around.startup_in) + around.latency;
  if (!around.exclusive || startup == 0 || ports == 0 || around.adding_switches) return one_message;
  const auto enough = static_cast<double>(ranks);
  Wide low = 0;                                 // too early
  Wide high = 64 * (startup + around.latency);  // doubling once per message reaches 2^64 ranks
  while (high - low > 1) {
    const Wide middle = low + (high - low) / 2;
    const double reached = reached_by(middle, startup, around.latency, ports, enough);
    (reached >= enough ? high : low) = middle;
  }
  return std::max(high, one_message);
}

// Information spreads from one to many, gathers from many to one, or both.
Wide spreading_time(Operation operation, std::size_t ranks, const Surroundings& around) {
  const Wide out = spreading_time(ranks, around.most_out, around.startup_out, around);
  const Wide in = spreading_time(ranks, around.most_in, around.startup_in, around);
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

}  // namespace

LowerBounds lower_bounds(const Collective& collective, const Topology& topology,
                         std::optional<Bandwidth> reduce_bandwidth, int lanes) {
  check_members(collective.group, topology.rank_count());
  if (lanes < 1)
    throw_error(ErrorCode::invalid_argument,
                "lanes must be at least 1, not " + std::to_string(lanes));
  const std::vector<Traffic> needed = needed_traffic(collective);
  const std::size_t involved = spread_over(collective, needed);
  if (collective.size() == 1 || involved < 2) return {};
  const Surroundings around = surroundings_of(collective, topology);
  const LargestTraffic largest = largest_traffic(collective, needed, around);
  const Wide startup = largest.sends ? around.startup_out : around.startup_in;
  // Fair links are crossed last: while one is busy, messages may fly over the exclusive ones.
  const bool flies_alone = around.exclusive || around.fair;
  const Wide latency = flies_alone ? around.latency : 0;
  const Wide one_message = startup + latency;

  LowerBounds bounds;
  bounds.latency = whole_picoseconds(spreading_time(collective.operation, involved, around));
  bounds.startup = whole_picoseconds(startup);
  bounds.flight = whole_picoseconds(latency);
  Wide traffic = largest.time;
  if (traffic > 0) {
    // Fair rates add up to the capacity but for 1e-9 (see MaxMin).
    if (!around.exclusive) traffic -= std::min(traffic, traffic / 1'000'000'000U + 1);
    bounds.bandwidth = whole_picoseconds(one_message + traffic);
  }
  if (reduce_bandwidth && reduces(collective.operation) && collective.count > 0) {
    const Wide added = static_cast<Wide>(collective.size() - 1) *
                       static_cast<Wide>(collective.bytes()) /
                       static_cast<Wide>(std::int64_t{collective.size()} * lanes);
    const auto rate = static_cast<Wide>(reduce_bandwidth->bytes_per_second());
    bounds.compute = whole_picoseconds(one_message + added * ps_per_second / rate);
  }
  return bounds;
}

std::optional<NarrowestLinks> narrowest_links(const Collective& collective,
                                              const Topology& topology) {
  check_members(collective.group, topology.rank_count());
  const std::vector<Traffic> needed = needed_traffic(collective);
  if (collective.size() == 1 || spread_over(collective, needed) < 2) return std::nullopt;
  const LargestTraffic largest =
      largest_traffic(collective, needed, surroundings_of(collective, topology));
  if (largest.time == 0) return std::nullopt;
  NarrowestLinks narrowest;
  narrowest.position = largest.position;
  narrowest.sends = largest.sends;
  constexpr auto most_bytes = static_cast<Wide>(std::numeric_limits<Bytes>::max());
  narrowest.bytes = static_cast<Bytes>(std::min(largest.bytes, most_bytes));
  narrowest.bytes_per_second = static_cast<double>(largest.capacity);
  narrowest.links = largest.links;
  return narrowest;
}

}  // namespace collsim
