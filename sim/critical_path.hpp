// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "sim/simulate.hpp"

namespace collsim {

// Why a run took as long as it did: one chain of causes from time 0 to the end of the last rank,
// without a gap.  Shortening something on it may shorten the run.  Shortening anything else cannot,
// provided the order on every link is unchanged and no flow shares a link with one on the chain.
//
//   start     the first rank of the chain had not started yet (launch, late rank)
//   work      an instruction kept its lane busy (overhead, reduction, copy)
//   startup   a message paid alpha on a link
//   wire      its bytes crossed a link at full bandwidth, with others of its sender
//   hop       the same, while the link that it is on longest is idle: sim/serial_hops.hpp
//   sharing   they took longer than that because messages of other ranks shared it
//   flight    latency, of all links that it crosses meanwhile
//   queue     a message waited for a link, and what held it was not recorded
//
// Waiting needs no kind of its own: waiting for a message, a slot or a link is waiting for the
// work, wire or latency of another rank, and the chain continues there.
struct CriticalPath {
  enum class Kind : std::uint8_t { start, work, startup, wire, hop, sharing, flight, queue };
  // All, in this order.
  static constexpr Kind kinds[] = {Kind::start, Kind::work,    Kind::startup, Kind::wire,
                                   Kind::hop,   Kind::sharing, Kind::flight,  Kind::queue};
  struct Segment {
    Kind kind;
    Time from, to;
    // In the timeline: the step that did the work or sent the message.  Step::none for the start of
    // a rank that has no instructions.
    std::uint32_t step;
    // startup, wire, hop, sharing: in the timeline's crossings, the one that took the time.
    std::uint32_t crossing = Step::none;
  };
  std::vector<Segment>
      segments;  // in time order, none empty, each begins where the one before ends
  std::optional<LinkId> longest_on;  // a link; none: no bytes cross any

  [[nodiscard]] Time total(Kind kind) const;
};
[[nodiscard]] std::string_view to_string(CriticalPath::Kind kind);
// Whether a message has a link then: startup, wire, hop or sharing.
[[nodiscard]] bool is_on_link(CriticalPath::Kind kind);

// Error{invalid_argument} when the simulation was not fully recorded.
[[nodiscard]] CriticalPath critical_path(const Topology& topology, const Programs& programs,
                                         const Simulation& simulation);

// Of a message of so many bytes, those that took the crossing at `place` of its crossings: all,
// unless its parts took several ways.
[[nodiscard]] Bytes bytes_of_crossing(const Topology& topology, std::span<const Crossing> crossings,
                                      std::size_t place, Bytes whole);

// Of the path, the time during which the message that the path came to later was at a link that
// messages of other ranks held: contention.  It is part of the kinds above.
[[nodiscard]] Time waiting_for_others(const Timeline& timeline, const CriticalPath& path);

}  // namespace collsim
