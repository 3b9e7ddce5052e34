// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>

#include "topo/error.hpp"

namespace collsim {

[[noreturn]] void throw_too_large_id(const char* what, std::size_t value);

// An index that is its own type: a Rank cannot be passed where a NodeId is wanted.
// `Rank(7)` makes one, `rank.index()` uses it, a negative or too large number is an error.
template <class Tag, class Storage>
class Index {
 public:
  constexpr Index() = default;
  constexpr explicit Index(std::size_t value) : value_(static_cast<Storage>(value)) {
    if (value > static_cast<Storage>(-1)) [[unlikely]]
      throw_too_large_id(Tag::name, value);
  }
  [[nodiscard]] constexpr std::size_t index() const { return value_; }
  constexpr auto operator<=>(const Index&) const = default;

 private:
  Storage value_ = 0;
};

struct RankTag {
  static constexpr const char* name = "rank";
};
struct LaneTag {
  static constexpr const char* name = "lane";
};
struct NodeTag {
  static constexpr const char* name = "node";
};
struct LinkTag {
  static constexpr const char* name = "link";
};

// A process with one GPU, numbered as by the user.
using Rank = Index<RankTag, std::uint32_t>;
// One of the instruction streams of a rank (NCCL: a thread block).
using Lane = Index<LaneTag, std::uint16_t>;
// A device of the topology: GPU, switch, NIC, CPU.
using NodeId = Index<NodeTag, std::uint32_t>;
// One direction of a cable.
using LinkId = Index<LinkTag, std::uint32_t>;

// More ranks than this are a typing error; the limit also keeps every id within 32 bits.
constexpr std::size_t max_ranks = std::size_t{1} << 24;

}  // namespace collsim
