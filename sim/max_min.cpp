// SPDX-License-Identifier: Apache-2.0
#include "sim/max_min.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>

namespace collsim {

MaxMin::ConstraintId MaxMin::add_constraint(double capacity) {
  COLLSIM_CHECK(capacity > 0 && std::isfinite(capacity),
                "a capacity must be positive and finite, not " + std::to_string(capacity));
  Constraint constraint;
  constraint.capacity = capacity;
  constraints_.push_back(std::move(constraint));
  return ConstraintId(constraints_.size() - 1);
}

MaxMin::VariableId MaxMin::add_variable(std::span<const ConstraintId> constraints, double bound) {
  COLLSIM_CHECK(bound > 0 && (std::isfinite(bound) || !constraints.empty()),
                "a variable needs a positive bound or a constraint, not " + std::to_string(bound));
  std::uint32_t id = 0;
  if (free_variables_.empty()) {
    id = static_cast<std::uint32_t>(VariableId(variables_.size()).index());
    variables_.emplace_back();
    rates_.push_back(0);
  } else {
    id = free_variables_.back();
    free_variables_.pop_back();
    rates_[id] = 0;
  }
  Variable& variable = variables_[id];
  variable.alive = true;
  variable.bound = bound;
  variable.use_count = static_cast<std::uint32_t>(constraints.size());
  if (constraints.size() > few) variable.many_uses = std::make_unique<Use[]>(constraints.size());
  if (constraints.empty()) lone_variables_.push_back(id);

  Use* uses = variable.uses();
  for (std::uint32_t use = 0; use < variable.use_count; ++use) {
    const auto index = static_cast<std::uint32_t>(constraints[use].index());
    COLLSIM_CHECK(index < constraints_.size(), "no constraint " + std::to_string(index));
    Constraint& constraint = constraints_[index];
    uses[use] = {index, static_cast<std::uint32_t>(constraint.users.size())};
    constraint.users.push_back({id, use});
    touched_constraints_.push_back(index);
  }
  return VariableId(id);
}

void MaxMin::remove_variable(VariableId removed) {
  const auto id = static_cast<std::uint32_t>(removed.index());
  COLLSIM_CHECK(id < variables_.size() && variables_[id].alive,
                "variable " + std::to_string(id) + " does not exist");
  Variable& variable = variables_[id];
  const Use* uses = variable.uses();
  for (std::uint32_t use = 0; use < variable.use_count; ++use) {
    std::vector<User>& users = constraints_[uses[use].constraint].users;
    const User moved = users.back();
    users[uses[use].place] = moved;
    variables_[moved.variable].uses()[moved.use].place = uses[use].place;
    users.pop_back();
    touched_constraints_.push_back(uses[use].constraint);
  }
  if (variable.use_count == 0) std::erase(lone_variables_, id);
  variable.many_uses.reset();
  variable.use_count = 0;
  variable.alive = false;
  free_variables_.push_back(id);
}

std::span<const MaxMin::VariableId> MaxMin::solve() {
  changed_.clear();
  begin_round();
  for (const std::uint32_t constraint : touched_constraints_) {
    if (constraints_[constraint].found == round_) continue;
    discover(constraint);
    fill_component();
  }
  touched_constraints_.clear();
  for (const std::uint32_t variable : lone_variables_) {
    rates_[variable] = variables_[variable].bound;
    changed_.emplace_back(variable);
  }
  lone_variables_.clear();
  return changed_;
}

void MaxMin::begin_round() {
  if (++round_ != 0) return;
  for (Constraint& constraint : constraints_) constraint.found = 0;
  for (Variable& variable : variables_) variable.found = variable.closed = 0;
  round_ = 1;
}

// Collects the component of a constraint, with everything open.
void MaxMin::discover(std::uint32_t first) {
  component_.clear();
  shares_.clear();
  bounds_.clear();
  open_variables_ = 0;
  touch(first);
  for (std::size_t next = 0; next < component_.size(); ++next) {
    for (const User& user : constraints_[component_[next]].users) {
      Variable& variable = variables_[user.variable];
      if (variable.found == round_) continue;
      variable.found = round_;
      ++open_variables_;
      if (variable.bound < unbounded) bounds_.emplace_back(variable.bound, user.variable);
      const Use* uses = variable.uses();
      for (std::uint32_t use = 0; use < variable.use_count; ++use) touch(uses[use].constraint);
    }
  }
  std::make_heap(shares_.begin(), shares_.end(), std::greater<>());
  std::sort(bounds_.begin(), bounds_.end());
  next_bound_ = 0;
}

void MaxMin::touch(std::uint32_t index) {
  Constraint& constraint = constraints_[index];
  if (constraint.found == round_) return;
  constraint.found = round_;
  if (constraint.users.empty()) return;
  component_.push_back(index);
  constraint.open = static_cast<std::uint32_t>(constraint.users.size());
  constraint.remaining = constraint.capacity;
  constraint.share = constraint.capacity / constraint.open;
  shares_.emplace_back(constraint.share, index);
}

void MaxMin::fill_component() {
  while (open_variables_ > 0) {
    double level = lowest_share();
    while (next_bound_ < bounds_.size() && variables_[bounds_[next_bound_].second].closed == round_)
      ++next_bound_;
    if (next_bound_ < bounds_.size()) level = std::min(level, bounds_[next_bound_].first);

    losing_.clear();
    close_users_at(level);
    for (; next_bound_ < bounds_.size() && bounds_[next_bound_].first <= level; ++next_bound_)
      close(bounds_[next_bound_].second, level);
    settle(level);
  }
}

// Shares only grow, so a key that is out of date is too small: it comes up early and goes back in.
double MaxMin::lowest_share() {
  while (!shares_.empty()) {
    const auto [key, index] = shares_.front();
    const Constraint& constraint = constraints_[index];
    if (constraint.open > 0 && constraint.share == key) return key;
    std::pop_heap(shares_.begin(), shares_.end(), std::greater<>());
    if (constraint.open > 0) {
      shares_.back().first = constraint.share;
      std::push_heap(shares_.begin(), shares_.end(), std::greater<>());
    } else {
      shares_.pop_back();
    }
  }
  return unbounded;
}

// All constraints with this share are bottlenecks together: closing one after the other would
// round differently for different orders.
void MaxMin::close_users_at(double level) {
  while (lowest_share() == level) {
    const std::uint32_t index = shares_.front().second;
    std::pop_heap(shares_.begin(), shares_.end(), std::greater<>());
    shares_.pop_back();
    for (const User& user : constraints_[index].users) close(user.variable, level);
  }
}

void MaxMin::close(std::uint32_t id, double level) {
  Variable& variable = variables_[id];
  if (variable.closed == round_) return;
  variable.closed = round_;
  --open_variables_;
  if (rates_[id] != level) {
    rates_[id] = level;
    changed_.emplace_back(id);
  }
  const Use* uses = variable.uses();
  for (std::uint32_t use = 0; use < variable.use_count; ++use) {
    Constraint& constraint = constraints_[uses[use].constraint];
    if (constraint.closing++ == 0) losing_.push_back(uses[use].constraint);
  }
}

void MaxMin::settle(double level) {
  for (const std::uint32_t index : losing_) {
    Constraint& constraint = constraints_[index];
    constraint.open -= constraint.closing;
    constraint.remaining -= constraint.closing * level;
    constraint.closing = 0;
    if (constraint.open > 0)
      constraint.share = std::max(level, constraint.remaining / constraint.open);
  }
}

}  // namespace collsim
