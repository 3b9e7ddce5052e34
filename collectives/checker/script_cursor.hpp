// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "collectives/script.hpp"
#include "topo/ids.hpp"

// How far the streams of a workload have come, while one complete run of it is followed.

namespace collsim::checker {

using StreamId = std::size_t;  // rank's position x streams + stream

struct StreamEnd {
  Rank rank;
  std::uint16_t stream;
  auto operator<=>(const StreamEnd&) const = default;
};

// Which call of a communicator: those of a group are numbered from 1.
struct CallId {
  std::uint16_t communicator;
  std::uint32_t group;
  std::int64_t number;
  auto operator<=>(const CallId&) const = default;
};

// A call that some members have come to.
struct OpenCall {
  std::vector<StreamId> here;  // at most one stream of a rank
};

// The events that one stream of a rank has recorded for another.
struct Records {
  std::int64_t recorded = 0, taken = 0;
  std::deque<std::uint32_t> tokens;  // of StepMemory, of those not taken
};

// A stream's place in the script of its rank.
struct Cursor {
  Rank rank;
  std::uint16_t stream = 0;
  bool is_ready = false;     // among those that may go on
  bool has_arrived = false;  // at the call or receive that it is in
  std::uint32_t last_place = 0;
  std::int64_t line = -1;          // of the script, that of the action
  std::int64_t all_calls = 0;      // so far in the script
  const Action* action = nullptr;  // the one to carry out; null: it has ended
  // What it needs until then: ranks may have a thousand streams with nothing to do.
  struct Reading {
    Script script;
    std::vector<std::int64_t> calls;                 // so far, by communicator
    std::map<std::uint16_t, std::int64_t> recorded;  // for this stream so far, by stream
  };
  std::unique_ptr<Reading> reading;
};

// Which calls of a rank have ended, in the order of its script.
struct RankCalls {
  std::int64_t ended = 0;         // the first so many, ...
  std::set<std::int64_t> beyond;  // ... and of those after them these
  bool holds_back = false;        // a stream, until one of them has ended

  void end(std::int64_t number) {
    beyond.insert(number);
    while (beyond.erase(ended + 1) > 0) ++ended;
  }
};

}  // namespace collsim::checker
