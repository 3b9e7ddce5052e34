// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "collectives/schedule.hpp"

namespace collsim::checker {

// The three pieces of memory of a rank that are really separate: input and output are one region
// where the collective is in place, and both then lie in `output`.
enum class Region : std::uint8_t { input, output, scratch };

struct Area {
  Region region{};
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

// Who is who and what lies where.  Lanes are numbered over all ranks, position by position.
class Layout {
 public:
  explicit Layout(const Schedule& schedule);

  [[nodiscard]] std::uint32_t all_lanes() const { return positions_ * lanes_; }
  [[nodiscard]] std::uint32_t lane_number(std::uint32_t position, std::uint32_t lane) const {
    return position * lanes_ + lane;
  }
  [[nodiscard]] std::uint32_t position_of(std::uint32_t lane_number) const {
    return lanes_ == 1 ? lane_number : lane_number / lanes_;
  }
  [[nodiscard]] Lane lane_of(std::uint32_t lane_number) const { return Lane(lane_number % lanes_); }
  // Empty when there is no such rank in the group or no such lane.
  [[nodiscard]] std::optional<std::uint32_t> find(const Endpoint& endpoint) const;

  [[nodiscard]] bool is_input_shared(std::uint32_t position) const {
    return memories_[position].regions[0] == Region::output;
  }
  [[nodiscard]] std::int64_t size_of(std::uint32_t position, Buffer buffer) const {
    return memories_[position].sizes[static_cast<std::size_t>(buffer)];
  }
  [[nodiscard]] bool lies_inside(std::uint32_t position, const Span& span) const {
    const std::int64_t size = size_of(position, span.buffer);
    return span.count >= 0 && span.offset >= 0 && span.offset <= size &&
           span.count <= size - span.offset;
  }
  // Where a span that lies inside its buffer really is.
  [[nodiscard]] Area area(std::uint32_t position, const Span& span) const {
    const Memory& memory = memories_[position];
    const auto buffer = static_cast<std::size_t>(span.buffer);
    const std::int64_t begin = memory.starts[buffer] + span.offset;
    return {memory.regions[buffer], begin, begin + span.count};
  }
  [[nodiscard]] bool is_writable(std::uint32_t position, const Span& span) const {
    return span.buffer != Buffer::input || span.count == 0 || is_shared_output(position, span);
  }

 private:
  struct Memory {  // by buffer
    std::array<std::int64_t, 3> sizes{};
    std::array<std::int64_t, 3> starts{};  // within its region
    std::array<Region, 3> regions{Region::input, Region::output, Region::scratch};
  };
  [[nodiscard]] bool is_shared_output(std::uint32_t position, const Span& span) const;

  std::uint32_t positions_;
  std::uint32_t lanes_;
  std::vector<Memory> memories_;
  std::vector<std::uint32_t> by_rank_;  // position of a rank, when the ranks are dense enough
  std::vector<std::pair<Rank, std::uint32_t>> sorted_ranks_;  // else
};

// ---- words

[[nodiscard]] std::string name_of(const Endpoint& endpoint);  // rank 3 lane 0
[[nodiscard]] std::string name_of(const Span& span);          // output[128..255]
// receive_reduce_send from rank 2 lane 0, output[128..255], to rank 4 lane 0
[[nodiscard]] std::string name_of(const Instruction& instruction);

}  // namespace collsim::checker
