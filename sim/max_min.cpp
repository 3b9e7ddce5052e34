// SPDX-License-Identifier: Apache-2.0
#include "sim/max_min.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <utility>

#include "topo/error.hpp"

namespace collsim {

MaxMin::ConstraintId MaxMin::add_constraint(double capacity, std::uint32_t copies) {
  COLLSIM_CHECK(capacity > 0 && std::isfinite(capacity),
                "a capacity must be positive and finite, not " + std::to_string(capacity));
  Constraint constraint;
  constraint.capacity = capacity;
  constraint.copies = copies;
  constraints_.push_back(std::move(constraint));
  return ConstraintId(constraints_.size() - 1);
}

MaxMin::VariableId MaxMin::add_variable(std::span<const ConstraintId> constraints) {
  COLLSIM_CHECK(!constraints.empty() && constraints.size() <= most_uses,
                "a variable needs a constraint, and fewer than 2^27");
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
  variable = Variable{};
  variable.first_use = room_for_uses(constraints.size());
  variable.use_count = static_cast<std::uint32_t>(constraints.size()) & most_uses;
  for (std::size_t use = 0; use < constraints.size(); ++use) {
    COLLSIM_CHECK(constraints[use].index() < constraints_.size(),
                  "no constraint " + std::to_string(constraints[use].index()));
    uses_[variable.first_use + use] = static_cast<std::uint32_t>(constraints[use].index());
  }
  return VariableId(id);
}

std::uint32_t MaxMin::room_for_uses(std::size_t count) {
  if (count < free_uses_.size() && !free_uses_[count].empty()) {
    const std::uint32_t place = free_uses_[count].back();
    free_uses_[count].pop_back();
    return place;
  }
  if (uses_.size() + count > std::numeric_limits<std::uint32_t>::max())
    throw_error(ErrorCode::too_large,
                "the flows under way cross more than 4,294,967,295 links in all");
  uses_.resize(uses_.size() + count);
  return static_cast<std::uint32_t>(uses_.size() - count);
}

MaxMin::Variable& MaxMin::known(VariableId variable) {
  COLLSIM_CHECK(variable.index() < variables_.size() && !variables_[variable.index()].removed,
                "variable " + std::to_string(variable.index()) + " does not exist");
  return variables_[variable.index()];
}

void MaxMin::change(std::uint32_t index) {
  Constraint& constraint = constraints_[index];
  if (std::exchange(constraint.touched, true)) return;
  touched_constraints_.push_back(index);
  constraint.joined = false;
  constraint.slowest_stopped = std::numeric_limits<double>::infinity();
}

void MaxMin::start(VariableId id) {
  Variable& variable = known(id);
  COLLSIM_CHECK(!variable.started, "a variable is started twice");
  variable.started = 1;
  if (variable.stopped) {
    if (!variable.resumed) resumed_.push_back(static_cast<std::uint32_t>(id.index()));
    variable.resumed = 1;
    return;
  }
  rates_[id.index()] = 0;
  for (const std::uint32_t constraint : uses(variable)) {
    change(constraint);
    ++constraints_[constraint].started;
    constraints_[constraint].joined = true;
  }
  if (variable.enlisted) return;
  variable.enlisted = 1;
  started_.push_back(static_cast<std::uint32_t>(id.index()));
}

void MaxMin::stop(VariableId id) {
  Variable& variable = known(id);
  COLLSIM_CHECK(variable.started, "a variable is stopped that was not started");
  variable.started = 0;
  if (variable.stopped) return;
  variable.stopped = 1;
  stopped_.push_back(static_cast<std::uint32_t>(id.index()));
}

// Their constraints strike them from their users when they are next looked at, all at once.
void MaxMin::note_stopped() {
  for (const std::uint32_t id : stopped_) {
    if (variables_[id].started) continue;
    for (const std::uint32_t index : uses(variables_[id])) {
      change(index);
      Constraint& constraint = constraints_[index];
      --constraint.started;
      constraint.slowest_stopped = std::min(constraint.slowest_stopped, rates_[id]);
    }
  }
}

void MaxMin::remove_variable(VariableId id) {
  Variable& variable = known(id);
  COLLSIM_CHECK(!variable.started, "a variable is removed that takes part");
  variable.removed = 1;
  if (!variable.enlisted) forget(static_cast<std::uint32_t>(id.index()));
}

void MaxMin::forget(std::uint32_t id) {
  const Variable& variable = variables_[id];
  if (variable.use_count >= free_uses_.size()) free_uses_.resize(variable.use_count + 1);
  free_uses_[variable.use_count].push_back(variable.first_use);
  free_variables_.push_back(id);
}

std::span<const MaxMin::VariableId> MaxMin::solve() {
  changed_.clear();
  note_stopped();
  enlist_started();
  if (!may_repair() || !repair()) fill_touched_components();
  for (const std::uint32_t index : touched_constraints_) constraints_[index].touched = false;
  touched_constraints_.clear();
  strike_stopped();
  report_resumed();
  return changed_;
}

void MaxMin::fill_touched_components() {
  begin_round();
  for (const std::uint32_t index : touched_constraints_) {
    Constraint& constraint = constraints_[index];
    if (constraint.found == round_ || changes_nothing(constraint)) continue;
    discover(index);
    fill_component();
  }
}

// Counts before it makes room: users that doubled their room one by one would leave much of it
// empty.
void MaxMin::enlist_started() {
  for (const std::uint32_t id : started_)
    for (const std::uint32_t constraint : uses(variables_[id])) ++constraints_[constraint].coming;
  for (const std::uint32_t id : started_) {
    for (const std::uint32_t index : uses(variables_[id])) {
      Constraint& constraint = constraints_[index];
      std::vector<std::uint32_t>& users = constraint.users;
      const std::size_t needed = users.size() + std::exchange(constraint.coming, 0);
      if (needed > users.capacity()) users.reserve(std::max(needed, users.size() * 3 / 2));
      users.push_back(id);
    }
  }
  started_.clear();
}

// If so, strikes those that stopped from its users.  Once sorted, these are the last ones.
bool MaxMin::changes_nothing(Constraint& constraint) {
  if (constraint.joined) return false;
  std::vector<std::uint32_t>& users = constraint.users;
  if (constraint.started == 0) {
    users.clear();
    constraint.level = std::numeric_limits<double>::infinity();
    return true;
  }
  const auto is_slower = [&](std::uint32_t id) { return rates_[id] < constraint.slowest_stopped; };
  if (!constraint.sorted) {
    for (const std::uint32_t id : users)
      if (variables_[id].started && !is_slower(id)) return false;
    std::sort(users.begin(), users.end(),
              [this](std::uint32_t a, std::uint32_t b) { return rates_[a] < rates_[b]; });
    constraint.sorted = true;
  }
  while (!variables_[users.back()].started) users.pop_back();
  if (!is_slower(users.back())) return false;
  constraint.level = std::numeric_limits<double>::infinity();
  return true;
}

// Every constraint of theirs has been looked at and names them no more.
void MaxMin::strike_stopped() {
  for (const std::uint32_t id : stopped_) {
    Variable& variable = variables_[id];
    variable.stopped = 0;
    if (variable.started || !variable.enlisted) continue;
    variable.enlisted = 0;
    if (variable.removed) forget(id);
  }
  stopped_.clear();
}

// Those that run on at the rate they had.
void MaxMin::report_resumed() {
  for (const std::uint32_t id : resumed_) {
    Variable& variable = variables_[id];
    if (variable.resumed && variable.started) changed_.emplace_back(id);
    variable.resumed = 0;
  }
  resumed_.clear();
}

void MaxMin::begin_round() {
  constexpr std::uint32_t rounds = std::uint32_t{1} << 30U;
  if (++round_ < rounds) return;
  for (Constraint& constraint : constraints_) constraint.found = 0;
  for (Variable& variable : variables_) variable.stamp = 0;
  round_ = 1;
}

// Collects the component of a constraint, with everything open.
void MaxMin::discover(std::uint32_t first) {
  component_.clear();
  open_variables_ = 0;
  edges_ = 0;
  touch(first);
  for (std::size_t next = 0; next < component_.size(); ++next) {
    std::vector<std::uint32_t>& users = constraints_[component_[next]].users;
    std::size_t kept = 0;
    for (const std::uint32_t id : users) {
      Variable& variable = variables_[id];
      if (!variable.started) continue;
      users[kept++] = id;
      if (variable.stamp == found()) continue;
      variable.stamp = found();
      ++open_variables_;
      for (const std::uint32_t constraint : uses(variable)) touch(constraint);
    }
    if (kept < users.size()) users.resize(kept);  // seldom
    edges_ += kept;
  }
}

void MaxMin::touch(std::uint32_t index) {
  Constraint& constraint = constraints_[index];
  if (constraint.found == round_) return;
  constraint.found = round_;
  constraint.sorted = false;
  constraint.level = std::numeric_limits<double>::infinity();
  if (constraint.started == 0) {
    constraint.users.clear();
    return;
  }
  component_.push_back(index);
  constraint.open = std::int64_t{constraint.started} * constraint.copies;
  constraint.remaining = constraint.capacity;
  constraint.settled = 0;
  constraint.share = constraint.capacity / static_cast<double>(constraint.open);
}

// Most components have a few levels, which are found sooner by looking at all constraints than by
// keeping these in a heap.
void MaxMin::fill_component() {
  constexpr int few = 8;
  last_level_ = 0;
  for (int levels = 0; open_variables_ > 0; ++levels) {
    if (levels == few) make_heap_of_shares();
    losing_.clear();
    settle(levels < few ? close_lowest_of_all() : close_lowest_of_heap());
  }
}

// All constraints with the lowest share are bottlenecks together: closing one after the other would
// round differently for different orders.
double MaxMin::close_lowest_of_all() {
  double level = std::numeric_limits<double>::infinity();
  std::size_t kept = 0;
  for (const std::uint32_t index : component_) {
    const Constraint& constraint = constraints_[index];
    if (constraint.open == 0) continue;
    component_[kept++] = index;
    if (constraint.share > level) continue;
    if (constraint.share < level) lowest_.clear();
    level = constraint.share;
    lowest_.push_back(index);
  }
  component_.resize(kept);
  begin_pass(level);
  for (const std::uint32_t index : lowest_) close_users(index, level);
  lowest_.clear();
  return level;
}

double MaxMin::close_lowest_of_heap() {
  const double level = lowest_share();
  begin_pass(level);
  while (lowest_share() == level) {
    const std::uint32_t index = shares_.front().second;
    std::pop_heap(shares_.begin(), shares_.end(), std::greater<>());
    shares_.pop_back();
    close_users(index, level);
  }
  return level;
}

// What a level leaves may round to that level: it closes more in another pass.
void MaxMin::begin_pass(double level) {
  late_ = level == last_level_;
  last_level_ = level;
}

void MaxMin::make_heap_of_shares() {
  shares_.clear();
  for (const std::uint32_t index : component_)
    if (constraints_[index].open > 0) shares_.emplace_back(constraints_[index].share, index);
  std::make_heap(shares_.begin(), shares_.end(), std::greater<>());
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
  return std::numeric_limits<double>::infinity();
}

void MaxMin::close_users(std::uint32_t constraint, double level) {
  constraints_[constraint].level = level;
  constraints_[constraint].late = late_;
  for (const std::uint32_t variable : constraints_[constraint].users) close(variable, level);
}

void MaxMin::close(std::uint32_t id, double level) {
  Variable& variable = variables_[id];
  if (variable.stamp == closed()) return;
  variable.stamp = closed();
  --open_variables_;
  // Now: reading them stalls where a bit beside their number has just been written.
  const std::span<const std::uint32_t> used = uses(variable);
  if (rates_[id] != level || variable.resumed) {
    rates_[id] = level;
    variable.resumed = 0;
    changed_.emplace_back(id);
  }
  for (const std::uint32_t index : used)
    if (constraints_[index].closing++ == 0) losing_.push_back(index);
}

void MaxMin::settle(double level) {
  for (const std::uint32_t index : losing_) settle_one(constraints_[index], level);
}

void MaxMin::settle_one(Constraint& constraint, double level) {
  const std::int64_t closing = std::int64_t{constraint.closing} * constraint.copies;
  if (constraint.settled != level) {
    constraint.settled = level;
    constraint.before = constraint.remaining;
    constraint.closed = 0;
  }
  constraint.open -= closing;
  constraint.closed += closing;
  constraint.remaining = constraint.before - static_cast<double>(constraint.closed) * level;
  constraint.closing = 0;
  if (constraint.open > 0)
    constraint.share = std::max(level, constraint.remaining / static_cast<double>(constraint.open));
}

// A region that grows too large costs a share of a component; the next ones are likely to grow,
// too.
bool MaxMin::may_repair() {
  constexpr std::size_t large = 256;
  if (edges_ < large) return false;
  if (solves_to_skip_ == 0) return true;
  --solves_to_skip_;
  return false;
}

}  // namespace collsim
