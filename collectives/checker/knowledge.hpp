// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "collectives/checker/interval_map.hpp"

namespace collsim::checker {

// When a lane of a rank did something: its number of signals, and the step for messages.
struct Epoch {
  std::uint32_t lane = 0;  // numbered over all ranks
  std::uint32_t tick = 0;
  std::int64_t step = -1;
  bool operator==(const Epoch&) const = default;
};

// What follows what.  A lane knows the ranks whose start it follows (kept for a barrier only; it
// learns from messages and signals) and, for each lane of its own rank, how many of its signals it
// follows (kept when ranks have several lanes; it learns from signals only).  A token stands for
// what a sender knew; 0 stands for nothing.
class Knowledge {
 public:
  Knowledge(int positions, int lanes, bool barrier);

  [[nodiscard]] bool orders_lanes() const { return lanes_ > 1; }
  [[nodiscard]] std::uint32_t at_send(std::uint32_t lane) {
    return words_ > 0 ? capture(lane, false) : 0;
  }
  [[nodiscard]] std::uint32_t at_signal(std::uint32_t lane);
  void learn(std::uint32_t lane, std::uint32_t token) {
    if (token != 0) learn_snapshot(lane, token);
  }

  [[nodiscard]] Epoch now(std::uint32_t lane, std::int64_t step) const {
    return {lane, ticks_[lane], step};
  }
  // Whether all that `lane` does from now on follows the epoch.
  [[nodiscard]] bool follows(std::uint32_t lane, const Epoch& epoch) const;

  // A position whose start the end of `position` need not follow.
  [[nodiscard]] std::optional<int> not_awaited_by(int position) const;

 private:
  using Clock = std::vector<std::pair<std::uint32_t, std::uint32_t>>;  // lane, ticks; by lane
  struct Snapshot {
    std::vector<std::uint64_t> came;
    Clock clock;
  };
  [[nodiscard]] std::uint32_t capture(std::uint32_t lane, bool with_clock);
  void learn_snapshot(std::uint32_t lane, std::uint32_t token);

  int positions_;
  int lanes_;
  std::size_t words_;                // of a set of positions; 0: not a barrier
  std::vector<std::uint64_t> came_;  // words_ per lane: positions whose start it follows
  std::vector<Clock> clocks_;        // per lane, of the other lanes of its rank
  std::vector<std::uint32_t> ticks_;
  std::vector<Snapshot> snapshots_;  // by token - 1
  std::vector<std::uint32_t> free_tokens_;
};

// The accesses to one region of a rank's memory that a later one may conflict with: per stretch the
// last write and the reads since then by each lane.
class RaceDetector {
 public:
  struct Conflict {
    Epoch earlier;
    bool earlier_wrote = false;
    std::int64_t begin = 0;  // where in the region
    std::int64_t end = 0;
  };

  [[nodiscard]] std::optional<Conflict> read(const Knowledge& knowledge, const Epoch& reader,
                                             std::int64_t begin, std::int64_t end);
  [[nodiscard]] std::optional<Conflict> write(const Knowledge& knowledge, const Epoch& writer,
                                              std::int64_t begin, std::int64_t end);

 private:
  struct Accesses {
    std::optional<Epoch> writer;
    std::vector<Epoch> readers;
    bool operator==(const Accesses&) const = default;
  };
  struct AccessValues {
    using Value = Accesses;
    static Value advanced(Value value, std::int64_t) { return value; }
    static bool continues(const Value& value, std::int64_t, const Value& following) {
      return value == following;
    }
  };
  struct Read {
    std::int64_t begin, end;
    Accesses accesses;
  };

  IntervalMap<AccessValues> accesses_;
  std::vector<Read> reads_;
};

}  // namespace collsim::checker
