// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "sim/busy_link.hpp"
#include "sim/rank_wiring.hpp"

namespace collsim {

// Internal to sim/: SimulationOptions::at_most.  What a busy link has not been sent yet it carries
// from now on, one after the other, and then follows what follows the last.
class TimeLimit {
 public:
  TimeLimit(const SimulationOptions& options, const Lanes& lanes, const RankWiring& wiring)
      : lanes_(lanes), at_most_(options.at_most) {
    if (options.busy_link == nullptr) return;
    tail_ = options.busy_link->tail;
    for (const BusyLink::Connection& connection : options.busy_link->connections)
      watched_.push_back({wiring.ends_of(connection.from, connection.to), connection.messages,
                          connection.of_each});
  }

  void check(Time now) {
    constexpr std::uint32_t between_looks = 64;
    if (at_most_ == Time::never() || ++moments_ % between_looks != 0) return;
    // The clock also goes to where a flow would have ended that became faster.
    if (ends_at_least(now) > at_most_ && !lanes_.all_finished())
      throw_error(ErrorCode::too_slow, "takes longer than " + to_text(at_most_));
  }

 private:
  struct Watched {
    RankWiring::Ends ends;
    std::uint64_t messages;
    Time of_each;
  };

  [[nodiscard]] Time ends_at_least(Time now) const {
    // One that was closed in between does not know how many messages it had before.
    if (lanes_.messages_of_closed > 0) return now;
    Time left;
    for (const Watched& watched : watched_) {
      const Connection* const connection =
          lanes_.connections.find(watched.ends.source, watched.ends.target);
      const std::uint64_t sent = connection != nullptr ? connection->queue.sent : 0;
      left += static_cast<std::int64_t>(watched.messages - sent) * watched.of_each;
    }
    return left > Time{} ? now + left + tail_ : now;
  }

  const Lanes& lanes_;
  const Time at_most_;
  Time tail_;
  std::vector<Watched> watched_;
  std::uint32_t moments_ = 0;
};

}  // namespace collsim
