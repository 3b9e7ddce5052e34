// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "collectives/programs.hpp"
#include "sim/simulate.hpp"

namespace collsim {

// Internal to sim/: when the streams of a workload work and when its collectives are under way, as
// the recorder sees it.  Memory grows with the number of separate stretches.
class Activities {
 public:
  Activities(const Programs& programs, Time timeout, std::optional<int> host);

  // An instruction of a lane was executed, in the order of that lane.
  void step(std::size_t position, Lane lane, const Instruction& instruction, Time began,
            Time ended);
  // Of every rank.
  [[nodiscard]] std::vector<RankActivity> of_ranks() const;

 private:
  struct Stretch {
    Time begin, end;
  };
  using Stretches = std::vector<Stretch>;  // in order of time, of one lane

  void end_call(std::size_t position, Time entered, Time ended);
  [[nodiscard]] Time gives_up(std::size_t position) const;
  static void add(Stretches& stretches, Time begin, Time end);
  [[nodiscard]] static Stretches together(std::vector<Stretches>::const_iterator first,
                                          std::size_t lanes, std::optional<int> without = {});
  [[nodiscard]] static Time length(const Stretches& stretches);
  [[nodiscard]] static Time outside(const Stretches& of, const Stretches& others);

  std::size_t streams_;
  std::optional<int> host_;
  std::size_t lanes_;
  std::vector<int> lanes_of_communicators_;
  std::vector<Stretches> stretches_;  // by position and lane
  std::vector<Time> entered_;  // likewise: a communicator's lane began its latest call; never():
                               // it is in none
  struct Calls {
    Time longest{};
    Time gives_up = Time::never();
  };
  std::vector<Calls> calls_;  // by position
  Time timeout_;
};

}  // namespace collsim
