// SPDX-License-Identifier: Apache-2.0
#include "collectives/contributions.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <map>
#include <numeric>
#include <vector>

namespace collsim {
namespace {

// Of one buffer of one rank: how many ranks' data are added up at each place that was written.
class WrittenSums {
 public:
  void write(std::int64_t begin, std::int64_t end, std::int32_t sum) {
    if (begin >= end) return;
    cut(begin);
    cut(end);
    sums_.erase(sums_.lower_bound(begin), sums_.lower_bound(end));
    sums_.emplace(begin, Stretch{end, sum});
  }

  // What nobody has written holds the rank's own data.
  [[nodiscard]] std::int32_t at(std::int64_t place) const {
    const auto next = sums_.upper_bound(place);
    if (next == sums_.begin()) return 1;
    const Stretch& before = std::prev(next)->second;
    return place < before.end ? before.sum : 1;
  }

 private:
  struct Stretch {
    std::int64_t end = 0;
    std::int32_t sum = 0;
  };

  // So that no stretch goes beyond `place`.
  void cut(std::int64_t place) {
    const auto next = sums_.lower_bound(place);
    if (next == sums_.begin()) return;
    Stretch& before = std::prev(next)->second;
    if (before.end <= place) return;
    sums_.emplace(place, before);
    before.end = place;
  }

  std::map<std::int64_t, Stretch> sums_;  // by where they begin
};

class Contributions {
 public:
  explicit Contributions(const Timeline& timeline)
      : steps_(timeline.steps), states_(steps_.size()), sums_(steps_.size()) {}

  std::vector<std::int32_t> of_messages() {
    std::vector<std::uint32_t> order(steps_.size());
    std::iota(order.begin(), order.end(), 0U);
    std::stable_sort(order.begin(), order.end(), [this](std::uint32_t a, std::uint32_t b) {
      return steps_[a].ended < steps_[b].ended;
    });
    for (const std::uint32_t step : order) visit(step);
    for (std::size_t i = 0; i < steps_.size(); ++i)
      if (!sends(steps_[i].instruction.op)) sums_[i] = 0;
    return std::move(sums_);
  }

 private:
  // `entered`: what it follows from comes first.  Should times of a real run be so equal that steps
  // follow from each other, the second one does not wait.
  enum class State : std::uint8_t { unknown, entered, done };

  // Carries out a step after the one before in its lane and the one whose message or signal it
  // took, also where that takes no time.
  void visit(std::uint32_t wanted) {
    pending_.assign(1, wanted);
    while (!pending_.empty()) {
      const std::uint32_t step = pending_.back();
      if (states_[step] == State::unknown) {
        states_[step] = State::entered;
        if (step > 0 && follows(step, step - 1)) ask_for(step - 1);
        if (steps_[step].message_from != Step::none) ask_for(steps_[step].message_from);
        continue;
      }
      pending_.pop_back();
      if (states_[step] == State::entered) carry_out(step);
      states_[step] = State::done;
    }
  }

  void ask_for(std::uint32_t step) {
    if (states_[step] == State::unknown) pending_.push_back(step);
  }
  [[nodiscard]] bool follows(std::uint32_t step, std::uint32_t other) const {
    return steps_[step].rank == steps_[other].rank && steps_[step].lane == steps_[other].lane;
  }

  void carry_out(std::uint32_t index) {
    const Step& step = steps_[index];
    const Instruction& instruction = step.instruction;
    if (orders_lanes(instruction.op) || takes_time_only(instruction.op)) return;
    std::int32_t sum = 0;
    if (receives(instruction.op) && step.message_from != Step::none) sum = sums_[step.message_from];
    if (reads(instruction.op))
      sum += at(step, instruction.source_buffer).at(instruction.source_offset);
    if (instruction.op == Op::local_reduce)
      sum += at(step, instruction.destination_buffer).at(instruction.destination_offset);
    if (stores(instruction.op))
      at(step, instruction.destination_buffer)
          .write(instruction.destination_offset, instruction.destination_offset + instruction.count,
                 sum);
    sums_[index] = sum;
  }

  WrittenSums& at(const Step& step, Buffer buffer) {
    const std::size_t rank = step.rank.index();
    if (written_.size() <= rank) written_.resize(rank + 1);
    return written_[rank][static_cast<std::size_t>(buffer)];
  }

  const std::vector<Step>& steps_;
  std::vector<State> states_;                        // by step
  std::vector<std::int32_t> sums_;                   // by step, of its value
  std::vector<std::uint32_t> pending_;               // each waits for those behind it
  std::vector<std::array<WrittenSums, 3>> written_;  // by rank and buffer
};

}  // namespace

std::vector<std::int32_t> find_contributions(const Schedule& schedule, const Timeline& timeline) {
  if (!reduces(schedule.collective().operation)) return {};
  return Contributions(timeline).of_messages();
}

}  // namespace collsim
