// SPDX-License-Identifier: Apache-2.0
// Rates near a change.  In a large network a flow that ends seldom moves more than a few others, so
// progressive filling is done again for a region only: the constraints whose users may move.
//
// A user of the region that is not known to move is held: at its rate it either has a bottleneck
// outside, or one inside has just this share, or it is let go and joins those that move, with all
// its constraints.  So does one that a constraint of the region closes at a lower level.  A
// constraint that joins the region at a level begins with what it had left there: lower levels have
// closed what they closed before.  Each level therefore closes what it would close in the whole
// component, with the same subtractions, and the rates are the same to the last bit.
#include <algorithm>
#include <functional>
#include <limits>
#include <utility>

#include "sim/max_min.hpp"

namespace collsim {

bool MaxMin::repair() {
  begin_round();
  moved_.clear();
  shares_.clear();
  held_.clear();
  passed_ = 0;
  looked_at_ = 0;
  circular_ = false;
  for (const std::uint32_t index : touched_constraints_)
    if (!changes_nothing(constraints_[index])) join_region(index, 0);
  while (true) {
    if (looked_at_ > edges_ || circular_) {
      for (const auto& [id, rate] : moved_) rates_[id] = rate;
      last_skip_ = std::min(2 * last_skip_ + 1, 255U);
      solves_to_skip_ = last_skip_;
      return false;
    }
    const double level = std::min(lowest_share(), lowest_held());
    if (level == std::numeric_limits<double>::infinity()) break;
    repair_level(level);
  }
  last_skip_ /= 2;
  for (const auto& [id, rate] : moved_) {
    if (rates_[id] == rate && !variables_[id].resumed) continue;
    variables_[id].resumed = 0;
    changed_.emplace_back(id);
  }
  return true;
}

void MaxMin::repair_level(double level) {
  doubtful_.clear();
  for (bool late = false; !late || lowest_share() == level; late = true) {
    losing_.clear();
    do {
      hold_those_at(level);
      while (lowest_share() == level) {
        const std::uint32_t index = shares_.front().second;
        std::pop_heap(shares_.begin(), shares_.end(), std::greater<>());
        shares_.pop_back();
        constraints_[index].level = level;
        constraints_[index].late = late;
        for (const std::uint32_t id : constraints_[index].users) close_in_region(id, level);
      }
    } while (lowest_held() == level);
    settle(level);
  }
  passed_ = level;
  let_go_of_doubtful(level);
}

double MaxMin::lowest_held() const {
  return held_.empty() ? std::numeric_limits<double>::infinity() : held_.front().first;
}

void MaxMin::hold_those_at(double level) {
  while (lowest_held() == level) {
    const std::uint32_t id = held_.front().second;
    std::pop_heap(held_.begin(), held_.end(), std::greater<>());
    held_.pop_back();
    if (variables_[id].stamp != held()) continue;
    bool is_held = false;
    bool by_late = false;
    for (const std::uint32_t index : uses(variables_[id])) {
      const Constraint& constraint = constraints_[index];
      if (constraint.found == round_ || constraint.level != level) continue;
      (constraint.late ? by_late : is_held) = true;
    }
    if (is_held)
      count_closed(id);
    else
      doubtful_.push_back(id);
    circular_ = circular_ || (by_late && !is_held);
  }
}

// What held them at this level is a bottleneck no more.
void MaxMin::let_go_of_doubtful(double level) {
  const auto is_closed = [this](std::uint32_t id) { return variables_[id].stamp == closed(); };
  doubtful_.erase(std::remove_if(doubtful_.begin(), doubtful_.end(), is_closed), doubtful_.end());
  for (const std::uint32_t id : doubtful_) variables_[id].stamp = found();
  for (const std::uint32_t id : doubtful_)
    for (const std::uint32_t index : uses(variables_[id])) join_region(index, level);
}

void MaxMin::close_in_region(std::uint32_t id, double level) {
  Variable& variable = variables_[id];
  if (variable.stamp == closed()) return;
  if (rates_[id] != level) {
    variable.stamp = found();
    for (const std::uint32_t index : uses(variable)) join_region(index, level);
    moved_.emplace_back(id, rates_[id]);
    rates_[id] = level;
  }
  count_closed(id);
}

void MaxMin::count_closed(std::uint32_t id) {
  variables_[id].stamp = closed();
  for (const std::uint32_t index : uses(variables_[id]))
    if (constraints_[index].found == round_ && constraints_[index].closing++ == 0)
      losing_.push_back(index);
}

// With what lower levels have left of it.  Variables without a rate have just started.
void MaxMin::join_region(std::uint32_t index, double level) {
  Constraint& constraint = constraints_[index];
  if (constraint.found == round_) return;
  constraint.found = round_;
  constraint.sorted = false;
  constraint.level = std::numeric_limits<double>::infinity();
  std::vector<std::uint32_t>& users = constraint.users;
  users.erase(std::remove_if(users.begin(), users.end(),
                             [this](std::uint32_t id) { return !variables_[id].started; }),
              users.end());
  if (users.empty()) return;
  looked_at_ += 4 * users.size();
  std::sort(users.begin(), users.end(),
            [this](std::uint32_t a, std::uint32_t b) { return rates_[a] < rates_[b]; });
  constraint.open = std::int64_t{constraint.started} * constraint.copies;
  constraint.remaining = constraint.capacity;
  constraint.settled = 0;
  constraint.share = constraint.capacity / static_cast<double>(constraint.open);
  double replayed = 0;
  const auto settle_alone = [&] {
    if (constraint.closing > 0) settle_one(constraint, replayed);
  };
  for (const std::uint32_t id : users) {
    Variable& variable = variables_[id];
    const double rate = rates_[id];
    if (rate == 0) variable.stamp = found();
    if (variable.stamp == found()) continue;
    if (rate < level || rate <= passed_) {
      if (rate != replayed) settle_alone();
      replayed = rate;
      variable.stamp = closed();
      ++constraint.closing;
    } else if (variable.stamp != closed() && variable.stamp != held()) {
      variable.stamp = held();
      held_.emplace_back(rate, id);
      std::push_heap(held_.begin(), held_.end(), std::greater<>());
    }
  }
  settle_alone();
  for (const std::uint32_t id : users)  // at this very level
    if (variables_[id].stamp == closed() && rates_[id] == level && level > passed_ &&
        constraint.closing++ == 0)
      losing_.push_back(index);
  if (constraint.open == 0) return;
  shares_.emplace_back(constraint.share, index);
  std::push_heap(shares_.begin(), shares_.end(), std::greater<>());
}

}  // namespace collsim
