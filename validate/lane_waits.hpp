// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "validate/lane_job.hpp"
#include "validate/portable.hpp"

namespace collsim {

// How a lane of LaneRunner (lane_runner.hpp says what a Policy is) waits.  Nothing waits forever:
// the first lane to time out writes down what it waited for, and all lanes stop.
template <class Policy>
class LaneWaits {
 public:
  COLLSIM_LANE_CODE LaneWaits(Policy& policy, const LaneJob& job) : policy_(policy), job_(job) {}

  // Until the word is at least `least`. Stops if another lane has stalled, or when this lane times
  // out, and then records what it waited for.
  COLLSIM_LANE_CODE bool until(const std::uint64_t* word, std::uint64_t least, WaitKind kind,
                               std::uint32_t step, std::uint32_t wire) {
    std::uint64_t seen = policy_.load_acquire(word);
    if (seen >= least) return true;
    const std::uint64_t begin = policy_.now();
    // Whoever is to give a signal may itself wait for a message, and then tells more.
    const std::uint64_t patience = job_.patience_ns * (kind == WaitKind::signal ? 2 : 1);
    for (std::uint32_t times = 1;; ++times) {
      policy_.pause(word, seen, times);
      seen = policy_.load_acquire(word);
      if (seen >= least) return true;
      if (is_time_to_look(times) && is_hopeless(begin, patience)) {
        complain(kind, step, wire, least, seen);
        return false;
      }
    }
  }

  // Takes the lock of the emulated links, whose holder may have been descheduled.
  COLLSIM_LANE_CODE bool lock(std::uint64_t* word, std::uint32_t step, std::uint32_t wire) {
    const std::uint64_t begin = policy_.now();
    for (std::uint32_t times = 1; !policy_.claim(word); ++times) {
      policy_.pause_for_line(times);
      if (!is_time_to_look(times) || !is_hopeless(begin, job_.patience_ns)) continue;
      complain(WaitKind::links, step, wire, 0, 0);
      return false;
    }
    return true;
  }

  // Reading the clock and the abort word may be slow: not at every turn.
  [[nodiscard]] COLLSIM_LANE_CODE bool is_time_to_look(std::uint32_t times) const {
    return times % Policy::turns_between_looks == 0;
  }
  [[nodiscard]] COLLSIM_LANE_CODE bool is_hopeless(std::uint64_t begin, std::uint64_t patience) {
    return gave_up() || policy_.now() - begin > patience;
  }
  [[nodiscard]] COLLSIM_LANE_CODE bool gave_up() const {
    return policy_.load(&verdict().abort) != 0;
  }

  COLLSIM_LANE_CODE void complain(WaitKind kind, std::uint32_t step, std::uint32_t wire,
                                  std::uint64_t wanted, std::uint64_t seen) {
    RunShared& shared = verdict();
    if (policy_.load(&shared.abort) == 0 && policy_.claim(&shared.trouble.claimed)) {
      shared.trouble.kind = kind;
      shared.trouble.lane = job_.number;
      shared.trouble.step = step;
      shared.trouble.wire = wire;
      shared.trouble.wanted = wanted;
      shared.trouble.seen = seen;
    }
    policy_.store_release(&shared.abort, 1);
  }

 private:
  [[nodiscard]] COLLSIM_LANE_CODE RunShared& verdict() const {
    return job_.verdict ? *job_.verdict : *job_.shared;
  }

  Policy& policy_;
  const LaneJob& job_;
};

}  // namespace collsim
