// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "validate/lane_job.hpp"
#include "validate/pacing.hpp"
#include "validate/plan.hpp"

namespace collsim {

// The emulated machine of a paced run: when the lanes' steps begin and end on it, and when their
// messages arrive, to the picosecond.
//
// A link serves messages in the order in which they reach it, which is not the order in which real
// threads send them.  So a message gets its place on a link only when no message can still ask for
// that link earlier: every lane that is at work says when its step will end, and asks for nothing
// before.  A lane that waits for a message, a signal or a slot holds nobody up: whatever it waits
// for is yet to come.  If all wait, all messages under way arrive, and a broken schedule stalls as
// it would anywhere.
//
// Who asks at the same moment is served as the scenario format says: first who does so because of
// earlier moments, then who does so because of them, and so on; among these by rank, lane and order
// of sending.
//
// Who calls go_on() holds lock(); begin_run() is called when no lane runs.
class EmulatedLinks {
 public:
  // Records the times of messages in `recorded`, one for each step of the plan, unless it is empty.
  EmulatedLinks(const Plan& plan, const Pacing& pacing, std::vector<StepTimes>& recorded);

  // Before the lanes of a run start, at `start`, ns.
  void begin_run(std::uint64_t start);

  // The lane has done the real work of the step at which it is; it goes on to the next.  Of the
  // lanes in `may_begin`, which grows, it is now known when their steps begin; tell them.
  void go_on(std::uint32_t lane, std::vector<std::uint32_t>& may_begin);

  // How many steps of a lane have a known beginning, which the lane is told by this count; and the
  // times of the last of these, ns.
  struct alignas(128) Known {
    std::uint64_t steps = 0;
    std::uint64_t began = 0, ended = 0;
  };
  [[nodiscard]] Known& known(std::uint32_t lane) { return known_[lane]; }
  // What to tell a lane that may begin; it does nothing before it is told.
  [[nodiscard]] std::uint64_t known_steps(std::uint32_t lane) const {
    return std::uint64_t{lanes_[lane].step} + 1;
  }
  [[nodiscard]] std::uint64_t* lock() { return &lock_; }

 private:
  // A moment, and in which round of what happens then.
  struct Instant {
    Time time{};
    std::uint32_t round = 0;
    auto operator<=>(const Instant&) const = default;
  };
  // When something is so, and the latest instant because of which.
  struct Moment {
    Time time{};
    Instant cause;
  };
  struct OneWire {
    std::vector<Moment> moments;  // see Wire::arrivals
    std::uint32_t arrived = 0;    // messages and signals whose arrival is known
    std::uint32_t freed = 0;      // messages that have been taken out
  };
  struct OneLane {
    enum class State : std::uint8_t { works, waits, ended };
    State state = State::waits;
    std::uint32_t step = 0;
    std::uint32_t order = 0;    // among lanes, by rank, then lane
    std::uint32_t staying = 0;  // messages of which it is not known when they leave
    Moment now;                 // works: when the step ends; waits: when the last one ended
    Time left{};                // when all others have left
  };
  // A message that asks for a link of its route.
  struct Ask {
    Instant at;
    std::uint32_t order = 0;           // of its lane
    std::uint32_t link = 0;            // in Pacing::route_links
    std::uint64_t number = 0;          // in order of sending
    std::uint32_t lane = 0, step = 0;  // which sent it
    Time last_byte{};                  // when it is there, or later
  };

  // What follows from a moment at once happens then, in this round.
  [[nodiscard]] static Instant follows(const Moment& moment);
  static void join(Moment& moment, const Moment& other);
  static bool goes_after(const Ask& a, const Ask& b);

  [[nodiscard]] std::optional<Moment> all_is_there(const OneLane& lane, const LaneStep& step);
  void consider(std::uint32_t lane, std::vector<std::uint32_t>& may_begin);
  void send(std::uint32_t lane, std::vector<std::uint32_t>& may_begin);
  void serve(std::vector<std::uint32_t>& may_begin);
  void cross(Ask ask, std::vector<std::uint32_t>& may_begin);
  void arrive(std::uint32_t wire, Moment moment, std::vector<std::uint32_t>& may_begin);
  void push(const Ask& ask);

  [[nodiscard]] std::size_t place_of(std::uint32_t lane, std::uint32_t step) const {
    return plan_.lanes[lane].first_step + std::size_t{step};
  }
  [[nodiscard]] Moment& moment_of(std::uint32_t wire, std::uint32_t message);
  [[nodiscard]] Time cost_of(std::size_t place) const;
  [[nodiscard]] std::uint64_t ns(Time time) const {
    return start_ + static_cast<std::uint64_t>(time.ps()) / 1000;
  }

  const Plan& plan_;
  const Pacing& pacing_;
  std::vector<StepTimes>& recorded_;
  std::uint64_t lock_ = 0;
  std::uint64_t start_ = 0;
  std::vector<Known> known_;
  std::vector<OneLane> lanes_;
  std::vector<OneWire> wires_;
  std::vector<Time> free_at_;  // per resource
  std::vector<Ask> asks_;      // a heap, the first to be served on top
  std::uint64_t sent_ = 0;
};

}  // namespace collsim
