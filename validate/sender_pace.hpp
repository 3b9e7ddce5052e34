// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "collectives/instruction.hpp"
#include "validate/lane_job.hpp"
#include "validate/lane_waits.hpp"
#include "validate/portable.hpp"

namespace collsim {

// The Pace of LaneRunner on GPUs, where a thread has no registers left for more: the sender takes
// all links of a message's route when it sends.  So where messages overtake each other on the way,
// links do not serve them in the order in which they come (host/emulated_pace.hpp does that).
template <class Policy>
class SenderPace {
 public:
  COLLSIM_LANE_CODE SenderPace(Policy& policy, const LaneJob& job) : policy_(policy), job_(job) {}

  static constexpr bool works_ahead = false, writes_moments = true;

  [[nodiscard]] COLLSIM_LANE_CODE bool is_on() const { return job_.paced != nullptr; }
  COLLSIM_LANE_CODE void starts_run(std::uint64_t /*start*/) {}
  COLLSIM_LANE_CODE void not_before(const std::uint64_t* moment, std::uint64_t& ready) {
    const std::uint64_t time = policy_.load(moment);
    if (time > ready) ready = time;
  }
  COLLSIM_LANE_CODE bool begins(std::uint32_t number, std::uint64_t& ready) {
    const std::uint64_t left = job_.times->left;
    if (job_.steps[number].op == Op::drain && left > ready) ready = left;
    return true;
  }
  COLLSIM_LANE_CODE bool ends(std::uint32_t number, std::uint64_t& ready) {
    ready += emulated_cost(job_.steps[number]);
    return true;
  }
  // When what is sent arrives, and when the slot is free again, for whoever fills it next.
  COLLSIM_LANE_CODE bool notes(std::uint32_t number, std::uint64_t* sent, std::uint64_t* freed,
                               std::uint64_t now) {
    const LaneStep& step = job_.steps[number];
    if (sent && step.op == Op::signal) policy_.store(sent, now);
    if (sent && step.op != Op::signal && !post(number, sent, now)) return false;
    if (freed) policy_.store(freed, now);
    return true;
  }

 private:
  [[nodiscard]] COLLSIM_LANE_CODE std::uint64_t emulated_cost(const LaneStep& step) const {
    if (step.op == Op::work) return step.bytes;
    if (takes_time_only(step.op)) return 0;
    const PacedLinks& paced = *job_.paced;
    double per_byte = reduces(step.op) ? paced.reduce_ns_per_byte : paced.copy_ns_per_byte;
    if (stores(step.op) && sends(step.op)) per_byte += paced.second_write_ns_per_byte;
    const double bytes = orders_lanes(step.op) ? 0 : static_cast<double>(step.bytes);
    return static_cast<std::uint64_t>(paced.instruction_overhead_ns + per_byte * bytes);
  }

  // Takes the links of the route for this message, each as soon as its head gets there.
  COLLSIM_LANE_CODE bool post(std::uint32_t number, std::uint64_t* arrival, std::uint64_t now) {
    const LaneStep& step = job_.steps[number];
    const PacedLinks& paced = *job_.paced;
    const PacedWire& route = paced.wires[step.to];
    const auto bytes = static_cast<double>(step.bytes);
    double head = static_cast<double>(now);
    double departs = head, leaves = head, arrives = head;
    if (!LaneWaits<Policy>(policy_, job_).lock(paced.lock, number, step.to)) return false;
    for (std::uint32_t i = 0; i < route.link_count; ++i) {
      const PacedLink& link = paced.route_links[route.first_link + i];
      double& free_at = paced.free_at[link.resource];
      const double ready = link.startup_is_delay ? head + link.startup_ns : head;
      const double begins = free_at > ready ? free_at : ready;
      free_at = begins + (link.startup_is_delay ? 0 : link.startup_ns) + link.ns_per_byte * bytes;
      if (i == 0) departs = begins;
      if (i == 0) leaves = free_at;
      arrives = (free_at > arrives ? free_at : arrives) + link.latency_ns;
      head = begins + link.latency_ns;
    }
    policy_.unclaim(paced.lock);
    policy_.store(arrival, static_cast<std::uint64_t>(arrives));
    const auto left = static_cast<std::uint64_t>(leaves);
    if (left > job_.times->left) job_.times->left = left;
    if (!job_.step_times) return true;
    StepTimes& times = job_.step_times[number];
    times.departed = static_cast<std::uint64_t>(departs);
    times.left = static_cast<std::uint64_t>(leaves);
    times.arrives = static_cast<std::uint64_t>(arrives);
    return true;
  }

  Policy& policy_;
  const LaneJob& job_;
};

}  // namespace collsim
