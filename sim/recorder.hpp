// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "collectives/programs.hpp"
#include "collectives/timeline.hpp"
#include "sim/activities.hpp"
#include "sim/connections.hpp"
#include "sim/simulate.hpp"

namespace collsim {

// Internal to sim/: what a simulation records.  Engines are compiled twice, with a recorder that
// keeps nothing and costs nothing, and with this one.
struct NoRecorder {
  static constexpr bool enabled = false;
};

class TimelineRecorder {
 public:
  static constexpr bool enabled = true;

  TimelineRecorder(const Topology& topology, const Programs& programs,
                   const SimulationOptions& options);

  struct Times {
    Time reached, began, ended;
  };
  // An instruction was executed.  Message numbers count on their connection; the message sent may
  // depart later.
  void step(Endpoint lane, std::uint32_t position, const Instruction& instruction,
            const Times& times, const Connection* in, const Connection* out);
  // The step's message takes this route; of several parts each takes its own, one after the other
  // in the numbering of places ...
  void sent(const Connection& connection, std::uint64_t message, std::span<const LinkId> route,
            Bytes bytes);
  // ... began on its first link and left the sender, the first or a later part ...
  void departed(const Connection& connection, std::uint64_t message, Time departed, Time left,
                bool is_first = true);
  // ... crossed a link of it, where it could have begun at `asked` ...
  void crossed(const Connection& connection, std::uint64_t message, LinkId link, std::size_t place,
               Time asked, Time begun, Time ended, Bytes bytes);
  // ... and arrived.
  void arrived(const Connection& connection, std::uint64_t message, Time arrived);

  // Moves the records into the result.
  void finish(Simulation& result);

 private:
  struct Ends {  // of one connection: the steps that sent and received its messages
    std::vector<std::uint32_t> sender, receiver;
  };
  [[nodiscard]] Step& step_of(const Connection& connection, std::uint64_t message) {
    return steps_[ends_[connection.number].sender[message]];
  }

  // The last message before that took the same way; Step::none: there is none.
  [[nodiscard]] std::uint32_t sent_before(const std::vector<std::uint32_t>& senders,
                                          std::uint64_t message) const;

  const Topology& topology_;
  const bool activities_only_;
  const bool full_;
  const std::uint64_t max_steps_;
  const std::uint64_t slots_;
  std::vector<RankUsage> ranks_;
  Activities activities_;
  std::vector<LinkUsage> links_;
  std::vector<Step> steps_;
  std::vector<std::uint32_t> steps_of_lane_;  // how many so far, by position and lane
  const std::size_t lanes_;
  std::vector<Ends> ends_;                // by connection number
  std::vector<std::uint32_t> last_user_;  // by resource: the step whose message held it last
  std::vector<Crossing> crossings_;
};

}  // namespace collsim
