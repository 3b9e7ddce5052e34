// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "collectives/schedule.hpp"
#include "topo/topology.hpp"

namespace collsim {

// A program that is read forwards, with how much was given to each peer and taken from it.
class LaneReader {
 public:
  explicit LaneReader(LaneProgram program)
      : program_(std::move(program)), current_(program_.next()) {}

  // Null when the program has ended.
  [[nodiscard]] const Instruction* current() const { return current_; }
  [[nodiscard]] int given_to(Endpoint peer) const { return count(given_, peer); }
  [[nodiscard]] int taken_from(Endpoint peer) const { return count(taken_, peer); }
  [[nodiscard]] bool takes_from(Endpoint peer) const {
    return takes_from_lane(current_->op) && current_->from == peer;
  }
  [[nodiscard]] bool gives_to(Endpoint peer) const {
    return gives_to_lane(current_->op) && current_->to == peer;
  }
  void advance() {
    if (gives_to_lane(current_->op)) ++given_[current_->to];
    if (takes_from_lane(current_->op)) ++taken_[current_->from];
    current_ = program_.next();
  }

 private:
  using Counts = std::map<Endpoint, int>;
  [[nodiscard]] static int count(const Counts& counts, Endpoint peer) {
    const auto known = counts.find(peer);
    return known == counts.end() ? 0 : known->second;
  }

  LaneProgram program_;
  const Instruction* current_;
  Counts given_, taken_;
};

// The programs of a schedule by rank and lane.
class LaneReaders {
 public:
  LaneReaders(const Topology& topology, const Schedule& schedule)
      : schedule_(schedule), positions_(topology.rank_count(), -1) {
    for (int position = 0; position < schedule.size(); ++position)
      positions_[schedule.rank(position).index()] = position;
  }
  [[nodiscard]] LaneReader from_start(Endpoint lane) const {
    return LaneReader(schedule_.program(positions_[lane.rank.index()], lane.lane));
  }

 private:
  const Schedule& schedule_;
  std::vector<int> positions_;
};

}  // namespace collsim
