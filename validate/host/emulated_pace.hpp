// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "validate/host/emulated_links.hpp"
#include "validate/lane_job.hpp"
#include "validate/lane_waits.hpp"

namespace collsim {

// The Pace of LaneRunner on CPU threads: EmulatedLinks says when its steps begin and end.
template <class Policy>
class EmulatedPace {
 public:
  // Without links: not paced.
  EmulatedPace(Policy& policy, const LaneJob& job, EmulatedLinks* links)
      : policy_(policy), job_(job), links_(links) {}

  static constexpr bool works_ahead = true, writes_moments = false;

  [[nodiscard]] bool is_on() const { return links_ != nullptr; }
  void starts_run(std::uint64_t start) { links_->begin_run(start); }

  bool begins(std::uint32_t step, std::uint64_t& ready) {
    const EmulatedLinks::Known& known = links_->known(job_.number);
    LaneWaits<Policy> waits(policy_, job_);
    if (!waits.until(&known.steps, step + std::uint64_t{1}, WaitKind::links, step,
                     job_.steps[step].to))
      return false;
    ready = known.began;
    return true;
  }

  // Before the moment has come at which the step ends: others may need to know what follows.
  bool ends(std::uint32_t step, std::uint64_t& ready) {
    ready = links_->known(job_.number).ended;
    may_begin_.clear();
    LaneWaits<Policy> waits(policy_, job_);
    if (!waits.lock(links_->lock(), step, job_.steps[step].to)) return false;
    links_->go_on(job_.number, may_begin_);
    policy_.unclaim(links_->lock());
    for (const std::uint32_t lane : may_begin_)
      policy_.store_release(&links_->known(lane).steps, links_->known_steps(lane));
    return true;
  }

 private:
  Policy& policy_;
  const LaneJob& job_;
  EmulatedLinks* links_;
  std::vector<std::uint32_t> may_begin_;
};

}  // namespace collsim
