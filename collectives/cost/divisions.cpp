// SPDX-License-Identifier: Apache-2.0
#include "collectives/cost/divisions.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "collectives/cost/grid_lines.hpp"

namespace collsim {
namespace {

constexpr std::uint32_t no_block = Division::no_block;
// Links that may be looked at to find cuts.  Few networks need as many.
constexpr std::size_t most_looks = 10'000'000;
constexpr std::uint32_t most_levels = 8;

// What does not fit 64 bits is as good as unlimited.
void add_capacity(std::uint64_t& sum, std::uint64_t more) {
  if (sum == Boundary::unlimited || __builtin_add_overflow(sum, more, &sum))
    sum = Boundary::unlimited;
}

// Of one link that leaves the one block and enters the other.
void add_crossing(const Link& link, LinkId id, Boundary* from, Boundary* to) {
  const auto bandwidth = static_cast<std::uint64_t>(link.bandwidth.bytes_per_second());
  const auto cross = [&](Boundary& border, std::uint64_t& sum, std::uint32_t& links,
                         std::int64_t& startup) {
    add_capacity(sum, bandwidth);
    ++links;
    startup = std::min(startup, link.startup.ps());
    if (link.half_duplex && link.resource == id) add_capacity(border.half_duplex, bandwidth);
    if (link.sharing == Sharing::fair) border.fair = true;
  };
  if (from != nullptr) cross(*from, from->out, from->links_out, from->startup_out);
  if (to != nullptr) cross(*to, to->in, to->links_in, to->startup_in);
}

// Blocks get the numbers 0, 1, ... in the order in which members meet them.
std::vector<std::uint32_t> number_blocks(Division& division, const Topology& topology,
                                         std::span<const Rank> group,
                                         const BlockOfDevice& block_of_device) {
  std::uint32_t most = 0;
  for (const std::uint32_t block : block_of_device)
    if (block != no_block) most = std::max(most, block);
  std::vector<std::uint32_t> number(std::size_t{most} + 1, no_block);
  std::uint32_t count = 0;
  division.is_complete = !topology.network_adds();
  division.block_of.resize(group.size(), no_block);
  for (std::size_t p = 0; p < group.size(); ++p) {
    const std::uint32_t block = block_of_device[topology.node_of(group[p]).index()];
    const std::optional<LinkId> up = topology.link_to_adding_switch(group[p]);
    if (block == no_block || (up && block_of_device[topology.link(*up).to.index()] != block))
      division.is_complete = false;
    if (block == no_block) continue;
    if (number[block] == no_block) number[block] = count++;
    division.block_of[p] = number[block];
  }
  division.blocks.resize(count);
  return number;
}

}  // namespace

void Boundary::add(const Boundary& other) {
  add_capacity(out, other.out);
  add_capacity(in, other.in);
  add_capacity(half_duplex, other.half_duplex);
  links_out += other.links_out;
  links_in += other.links_in;
  startup_out = std::min(startup_out, other.startup_out);
  startup_in = std::min(startup_in, other.startup_in);
  fair = fair || other.fair;
}

std::uint64_t Boundary::both_ways() const {
  std::uint64_t sum = out;
  add_capacity(sum, in);
  return sum == unlimited ? unlimited : sum - half_duplex;
}

Division make_division(const Topology& topology, std::span<const Rank> group, Division::Kind kind,
                       const BlockOfDevice& block_of_device) {
  Division division;
  division.kind = kind;
  const std::vector<std::uint32_t> number =
      number_blocks(division, topology, group, block_of_device);
  const auto boundary_of = [&](std::uint32_t block) {
    return block == no_block || number[block] == no_block ? nullptr
                                                          : &division.blocks[number[block]];
  };
  for (std::size_t id = 0; id < topology.links().size(); ++id) {
    const Link& link = topology.links()[id];
    const std::uint32_t from = block_of_device[link.from.index()];
    const std::uint32_t to = block_of_device[link.to.index()];
    if (from != to && !link.down)
      add_crossing(link, LinkId(id), boundary_of(from), boundary_of(to));
  }
  return division;
}

namespace {

class DivisionFinder {
 public:
  DivisionFinder(const Topology& topology, std::span<const Rank> group)
      : topology_(topology), group_(group) {}

  std::vector<Division> find() {
    BlockOfDevice alone(topology_.node_count(), no_block);
    for (std::size_t p = 0; p < group_.size(); ++p)
      alone[topology_.node_of(group_[p]).index()] = static_cast<std::uint32_t>(p);
    divisions_.push_back(make_division(topology_, group_, Division::Kind::ranks, alone));
    if (group_.size() < 2) return std::move(divisions_);
    if (const auto lines = narrow_lines(topology_, group_)) {
      for (const GridLine& line : *lines) {
        if (!add(Division::Kind::line, line.block_of_device)) continue;
        divisions_.back().dimension = line.dimension;
        divisions_.back().from = line.from;
        divisions_.back().to = line.to;
      }
      return std::move(divisions_);
    }
    const std::vector<int>& dims = topology_.dims();
    const std::size_t unit = dims.size() == 2 ? static_cast<std::size_t>(dims[1]) : 1;
    const std::size_t units = topology_.rank_count() / unit;
    add_blocks_of(unit, Division::Kind::nodes);
    add_levels();
    add_blocks_of((units + 1) / 2 * unit, Division::Kind::other);
    for (std::size_t size = units / 2; size > 1; --size)
      if (units % size == 0) add_blocks_of(size * unit, Division::Kind::other);
    return std::move(divisions_);
  }

 private:
  [[nodiscard]] bool may_look() {
    looks_ += topology_.links().size() + topology_.node_count();
    return looks_ <= most_looks;
  }

  // Not what is there already or says nothing new, and not all members on one side.
  bool add(Division::Kind kind, const BlockOfDevice& block_of_device,
           const std::vector<std::uint32_t>& devices = {}) {
    if (!may_look()) return false;
    Division division = make_division(topology_, group_, kind, block_of_device);
    const auto first = division.block_of.front();
    if (std::all_of(division.block_of.begin(), division.block_of.end(),
                    [&](std::uint32_t block) { return block == first; }))
      return false;
    if (std::any_of(divisions_.begin(), divisions_.end(),
                    [&](const Division& finer) { return is_as_wide_as(finer, division); }))
      return false;
    for (std::size_t p = 0; p < group_.size() && !devices.empty(); ++p)
      if (division.block_of[p] != no_block)
        division.blocks[division.block_of[p]].device =
            devices[block_of_device[topology_.node_of(group_[p]).index()]];
    divisions_.push_back(std::move(division));
    return true;
  }

  // Then the cuts of the finer division say more: what crosses the block's border crosses those of
  // the blocks within it, too.
  [[nodiscard]] bool is_as_wide_as(const Division& finer, const Division& division) const {
    std::vector<std::uint32_t> around(finer.blocks.size(), between);
    for (std::size_t p = 0; p < group_.size(); ++p) {
      const std::uint32_t block = division.block_of[p];
      const std::uint32_t within = finer.block_of[p];
      if (within == no_block) {
        if (block != no_block) return false;
        continue;
      }
      if (around[within] != between && around[within] != block) return false;
      around[within] = block;
    }
    std::vector<Boundary> sums(division.blocks.size());
    for (std::size_t b = 0; b < finer.blocks.size(); ++b)
      if (around[b] != no_block) sums[around[b]].add(finer.blocks[b]);
    for (std::size_t b = 0; b < division.blocks.size(); ++b) {
      const Boundary& border = division.blocks[b];
      if (border.out < sums[b].out || border.in < sums[b].in ||
          border.both_ways() < sums[b].both_ways())
        return false;
    }
    return finer.is_complete || !division.is_complete;
  }

  // Ranks in blocks of this size, in order; then devices from the GPUs outwards join the block that
  // all their neighbours seen so far are in, and leave it again from the outside.
  void add_blocks_of(std::size_t size, Division::Kind kind) {
    if (size < 2 || size >= topology_.rank_count()) return;
    BlockOfDevice block(topology_.node_count(), no_block);
    for (std::size_t r = 0; r < topology_.rank_count(); ++r)
      block[topology_.node_of(Rank(r)).index()] = static_cast<std::uint32_t>(r / size);
    while (may_look() && join_neighbours(block)) {
    }
    for (std::replace(block.begin(), block.end(), between, no_block); may_look();) {
      add(kind, block);
      if (!peel(block)) return;
    }
  }

  [[nodiscard]] bool is_rank(NodeId node) const { return topology_.kind(node) == NodeKind::gpu; }

  // Devices that have joined nothing yet and have neighbours that have.
  [[nodiscard]] bool join_neighbours(BlockOfDevice& block) const {
    BlockOfDevice wanted(block.size(), no_block);
    const auto want = [&](NodeId device, NodeId neighbour) {
      const std::uint32_t its = block[neighbour.index()];
      if (block[device.index()] != no_block || its == no_block || its == between) return;
      std::uint32_t& mine = wanted[device.index()];
      mine = mine == no_block || mine == its ? its : between;
    };
    for (const Link& link : topology_.links()) {
      if (link.down) continue;
      want(link.from, link.to);
      want(link.to, link.from);
    }
    bool joined = false;
    for (std::size_t d = 0; d < block.size(); ++d) {
      if (wanted[d] == no_block) continue;
      block[d] = wanted[d];
      joined = true;
    }
    return joined;
  }

  // Takes away the devices other than ranks that have neighbours outside of their block.
  [[nodiscard]] bool peel(BlockOfDevice& block) const {
    std::vector<std::uint32_t> outer;
    for (const Link& link : topology_.links()) {
      if (link.down || block[link.from.index()] == block[link.to.index()]) continue;
      for (const NodeId end : {link.from, link.to})
        if (block[end.index()] != no_block && !is_rank(end))
          outer.push_back(static_cast<std::uint32_t>(end.index()));
    }
    for (const std::uint32_t device : outer) block[device] = no_block;
    return !outer.empty();
  }

  // Hops from every device to the nearest rank; at most most_levels.
  [[nodiscard]] std::vector<std::uint32_t> find_device_levels() {
    std::vector<std::uint32_t> level(topology_.node_count(), most_levels);
    for (std::size_t r = 0; r < topology_.rank_count(); ++r)
      level[topology_.node_of(Rank(r)).index()] = 0;
    for (bool changed = true; changed && may_look();) {
      changed = false;
      for (const Link& link : topology_.links()) {
        if (link.down) continue;
        std::uint32_t& a = level[link.from.index()];
        std::uint32_t& b = level[link.to.index()];
        if (a + 1 < b) b = a + 1, changed = true;
        if (b + 1 < a) a = b + 1, changed = true;
      }
    }
    return level;
  }

  // Level by level: the subtrees of its devices, and then what it joins.
  void add_levels() {
    const std::vector<std::uint32_t> level = find_device_levels();
    const std::uint32_t most = *std::max_element(level.begin(), level.end());
    std::vector<std::uint32_t> joined(level.size());  // a forest; its roots name the components
    std::iota(joined.begin(), joined.end(), 0U);
    const auto root = [&](std::size_t device) {
      while (joined[device] != device) device = joined[device] = joined[joined[device]];
      return static_cast<std::uint32_t>(device);
    };
    for (std::uint32_t now = 0; now < most && may_look(); ++now) {
      if (now > 0) add_subtrees(level, now, root);
      for (const Link& link : topology_.links())
        if (!link.down && level[link.from.index()] <= now && level[link.to.index()] <= now)
          joined[root(link.from.index())] = root(link.to.index());
      BlockOfDevice block(level.size(), no_block);
      for (std::size_t d = 0; d < level.size(); ++d)
        if (level[d] <= now) block[d] = root(d);
      add(Division::Kind::other, block);
    }
    if (most > 0 && may_look()) add_subtrees(level, most, root);
  }

  // Of the devices of a level: each with the components below that nothing else joins.
  template <class Root>
  void add_subtrees(const std::vector<std::uint32_t>& level, std::uint32_t now, const Root& root) {
    std::vector<std::uint32_t> owner(level.size(), no_block);
    for (const Link& link : topology_.links())
      for (const auto& [below, above] : {std::pair{link.from, link.to}, {link.to, link.from}}) {
        if (link.down || level[below.index()] >= now || level[above.index()] < now) continue;
        std::uint32_t& of = owner[root(below.index())];
        const auto device = static_cast<std::uint32_t>(above.index());
        of = of == no_block || of == device ? device : between;
      }
    BlockOfDevice block(level.size(), no_block);
    for (std::size_t d = 0; d < level.size(); ++d)
      if (level[d] < now)
        if (const std::uint32_t of = owner[root(d)]; of != between && of != no_block)
          block[d] = block[of] = of;
    std::vector<std::uint32_t> devices(level.size());
    std::iota(devices.begin(), devices.end(), 0U);
    add(Division::Kind::subtree, block, devices);
  }

  static constexpr std::uint32_t between = no_block - 1;

  const Topology& topology_;
  std::span<const Rank> group_;
  std::size_t looks_ = 0;
  std::vector<Division> divisions_;
};

}  // namespace

std::vector<Division> structural_divisions(const Topology& topology, std::span<const Rank> group) {
  return DivisionFinder(topology, group).find();
}

}  // namespace collsim
