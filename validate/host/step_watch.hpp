// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "collectives/workload_checker.hpp"
#include "collectives/workload_data.hpp"
#include "validate/host/host_policy.hpp"
#include "validate/plan.hpp"

namespace collsim {

// Puts data through a step that threads run, and checks them, with the numbers that check() of
// collectives/workload_checker.hpp has for what every line reads and writes.
//
//   items     Each rank has a number in memory for each of its items.  A line finds there what
//             check() says it reads, or the threads did not wait for each other as the script says;
//             then it writes what check() says.
//   messages  are filled with bytes that follow from what their line has found, and calls with
//             inputs that do; every byte that arrives is compared with what the sender's line, or
//             those of all members, must have found.
//
// As check() has it, a communicator does one call at a time on a rank: a call looks at memory when
// the one before has ended, on whatever stream that was.
//
// What a workload does not say to use is empty, so of one that says nothing messages and calls are
// checked, each with bytes of its own.  The numbers are plain memory: ThreadSanitizer sees whether
// the signals between streams order what they should.
class StepWatch {
 public:
  // `contents` of the plan's workload; both must live as long as this.
  StepWatch(const Plan& plan, const StepContents& contents, std::uint64_t seed);
  ~StepWatch();
  StepWatch(const StepWatch&) = delete;
  StepWatch& operator=(const StepWatch&) = delete;

  // Before a run; `memory` of the ranks by position.
  void begin_run(std::vector<std::byte*> memory);
  [[nodiscard]] std::span<LaneWatch* const> of_lanes() const { return of_lanes_; }
  // After a complete run: the first thing that was wrong, as "rank 1 stream comm, all-reduce of
  // world (call 2): element 17 is 5, not 6"; "": nothing.
  [[nodiscard]] std::string wrong() const;

 private:
  class OfLane;
  // What is known of a line before anything runs.
  struct Known {
    const PlannedLine* planned = nullptr;
    int position = 0;
    Uses uses;
    StepContents::OfLine contents;
    const Schedule* schedule = nullptr;  // of a call
    int member = 0;                      // the rank's position in it
    std::uint64_t name = 0;  // the same for both ends of a message, and all members of a call
  };
  using CallKey = std::tuple<std::uint16_t, Rank, std::uint32_t>;  // communicator, first rank, call
  using RouteKey = std::tuple<int, std::uint16_t, int, std::uint16_t>;

  void know(const PlannedLane& lane, const PlannedLine& planned);
  void begins(const Known& line, std::vector<std::uint64_t>& found);
  void ended(const Known& line, const std::vector<std::uint64_t>& found);
  [[nodiscard]] std::vector<std::uint64_t> look(const Known& line) const;
  void write(const Known& line, bool right);
  [[nodiscard]] std::vector<std::byte> input_of(const Known& line,
                                                const std::vector<std::uint64_t>& found) const;
  void await_turn(const Known& line);
  void fill_call(const Known& line, const std::vector<std::uint64_t>& found);
  [[nodiscard]] std::string difference_in_call(const Known& line) const;
  [[nodiscard]] std::string difference_in_message(const Known& line) const;
  void complain(const Known& line, const std::string& what);
  [[nodiscard]] std::byte* data_of(const Known& line) const {
    return memory_[static_cast<std::size_t>(line.position)] + line.planned->at;
  }

  const Plan& plan_;
  const Workload& workload_;
  const WorkloadData* data_;
  const StepContents& contents_;
  std::uint64_t seed_;
  std::vector<Known> lines_;                              // of the plan
  std::map<CallKey, std::vector<const Known*>> members_;  // by position in the group
  std::map<RouteKey, std::uint64_t> sent_, received_;     // so far, while lines become known
  std::vector<std::unique_ptr<OfLane>> lanes_;
  std::vector<LaneWatch*> of_lanes_;
  std::vector<std::byte*> memory_;
  std::vector<std::vector<std::uint64_t>> items_;        // by position
  std::vector<std::vector<std::uint32_t>> ended_calls_;  // by position and communicator
  std::mutex mutex_;
  std::condition_variable call_has_ended_;
  std::string wrong_;
};

}  // namespace collsim
