// SPDX-License-Identifier: Apache-2.0
#include "collectives/checker/layout.hpp"

#include <algorithm>

namespace collsim::checker {

namespace {

constexpr std::uint32_t no_position = ~std::uint32_t{0};
constexpr std::int64_t max_lanes = std::int64_t{1} << 28;

}  // namespace

Layout::Layout(const Schedule& schedule)
    : positions_(static_cast<std::uint32_t>(schedule.size())),
      lanes_(static_cast<std::uint32_t>(schedule.lanes())) {
  const std::int64_t all = std::int64_t{positions_} * lanes_;
  if (all > max_lanes)
    throw_error(ErrorCode::too_large, "a schedule of ", all, " lanes cannot be checked, ",
                max_lanes, " is the most");
  const Collective& collective = schedule.collective();
  memories_.resize(positions_);
  std::size_t highest = 0;
  for (int position = 0; position < schedule.size(); ++position) {
    Memory& memory = memories_[static_cast<std::size_t>(position)];
    memory.sizes = {input_count(collective, position), output_count(collective, position),
                    std::max<std::int64_t>(0, schedule.scratch_count(position))};
    if (const Aliasing shared = aliasing(collective, position); shared.shared) {
      memory.starts = {shared.input_at, shared.output_at, 0};
      memory.regions[0] = Region::output;
    }
    highest = std::max(highest, schedule.rank(position).index());
  }
  const bool dense = highest / 8 <= positions_;
  if (dense) by_rank_.assign(highest + 1, no_position);
  for (std::uint32_t position = 0; position < positions_; ++position) {
    const Rank rank = schedule.rank(static_cast<int>(position));
    if (dense)
      by_rank_[rank.index()] = position;
    else
      sorted_ranks_.emplace_back(rank, position);
  }
  std::sort(sorted_ranks_.begin(), sorted_ranks_.end());
}

std::optional<std::uint32_t> Layout::find(const Endpoint& endpoint) const {
  std::uint32_t position = no_position;
  if (!by_rank_.empty()) {
    if (endpoint.rank.index() < by_rank_.size()) position = by_rank_[endpoint.rank.index()];
  } else {
    const auto at = std::lower_bound(sorted_ranks_.begin(), sorted_ranks_.end(),
                                     std::pair(endpoint.rank, std::uint32_t{0}));
    if (at != sorted_ranks_.end() && at->first == endpoint.rank) position = at->second;
  }
  if (position == no_position || endpoint.lane.index() >= lanes_) return std::nullopt;
  return lane_number(position, static_cast<std::uint32_t>(endpoint.lane.index()));
}

bool Layout::is_shared_output(std::uint32_t position, const Span& span) const {
  if (!is_input_shared(position)) return false;
  const Area output = area(position, {Buffer::output, 0, size_of(position, Buffer::output)});
  const Area written = area(position, span);
  return written.begin >= output.begin && written.end <= output.end;
}

std::string name_of(const Endpoint& endpoint) {
  return concat("rank ", endpoint.rank.index(), " lane ", endpoint.lane.index());
}

std::string name_of(const Span& span) {
  std::string name = concat(to_string(span.buffer), "[", span.offset);
  // A garbage span must not overflow while it is being described.
  std::int64_t last = 0;
  if (span.count < 1 || __builtin_add_overflow(span.offset, span.count - 1, &last))
    return concat(name, ", ", span.count, " elements]");
  return span.count == 1 ? name + "]" : concat(name, "..", last, "]");
}

std::string name_of(const Instruction& instruction) {
  const Op op = instruction.op;
  std::string name = to_string(op);
  if (op == Op::signal || op == Op::wait) {
    const Endpoint& other = op == Op::signal ? instruction.to : instruction.from;
    return name + (op == Op::signal ? " to " : " for ") + name_of(other);
  }
  if (receives(op)) name += " from " + name_of(instruction.from) + ",";
  const bool same = reads(op) && stores(op) && instruction.source() == instruction.destination();
  if (reads(op)) name += " " + name_of(instruction.source());
  if (stores(op) && !same) name += (reads(op) ? " to " : " ") + name_of(instruction.destination());
  if (sends(op)) name += ", to " + name_of(instruction.to);
  return name;
}

}  // namespace collsim::checker
