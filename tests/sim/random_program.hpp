// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "collectives/workload.hpp"
#include "tests/sim/random_case.hpp"

namespace collsim::testing {

// Ranks with several streams that compute, send messages and run collectives on several groups,
// drawn by lot.  What happens is drawn as one sequence for all ranks, of which every rank's script
// is its part; so the programs never wait for each other in a circle.
class RandomProgram {
 public:
  explicit RandomProgram(RandomCase& lot, std::size_t ranks) : lot_(&lot), ranks_(ranks) {
    streams_ = 1 + lot.up_to(3);
    for (int i = lot.up_to(3); i >= 0; --i) add_communicator();
    scripts_.resize(ranks);
    for (int i = 5 + lot.up_to(25); i > 0; --i) add_event();
  }

  [[nodiscard]] Workload workload() const {
    Workload::Parts parts;
    parts.group = first_ranks(ranks_);
    for (int s = 0; s < streams_; ++s) parts.stream_names.push_back(std::to_string(s));
    parts.communicators = communicators_;
    const auto scripts = std::make_shared<const Scripts>(scripts_);
    parts.script = [scripts, choices = choices_](Rank rank) { return play(scripts, rank); };
    return Workload(std::move(parts));
  }

 private:
  using Scripts = std::vector<std::vector<Action>>;

  static Script play(std::shared_ptr<const Scripts> scripts, Rank rank) {
    for (const Action& action : (*scripts)[rank.index()]) co_yield action;
  }

  [[nodiscard]] int some_stream() { return lot_->up_to(streams_); }
  [[nodiscard]] Rank some_rank() {
    return Rank(static_cast<std::size_t>(lot_->up_to(static_cast<int>(ranks_))));
  }
  void add(Rank rank, const Action& action) { scripts_[rank.index()].push_back(action); }

  // All ranks, or two groups of them.
  void add_communicator() {
    std::vector<std::vector<Rank>> groups(lot_->chance(50) ? 1 : 2);
    for (std::size_t rank = 0; rank < ranks_; ++rank)
      groups[lot_->chance(50) ? 0 : groups.size() - 1].emplace_back(rank);
    std::erase_if(groups, [](const auto& group) { return group.empty(); });
    communicators_.push_back({std::to_string(communicators_.size()), groups, 2});
  }

  void add_event() {
    const Rank rank = some_rank();
    switch (lot_->up_to(6)) {
      case 0:
      case 1: return add(rank, work(some_stream(), picoseconds(lot_->up_to(50'000'000))));
      case 2: return add_message(rank, some_rank());
      case 3: return add_handing_over(rank);
      case 4: return add(rank, drain(some_stream()));
      default: return add_call();
    }
  }

  void add_message(Rank from, Rank to) {
    if (from == to) return;
    const int theirs = some_stream();
    const int ours = some_stream();
    const Bytes bytes = lot_->up_to(1'000'000);
    add(from, send(ours, to, bytes, theirs));
    add(to, receive(theirs, from, bytes, ours));
  }

  // From one stream to another; nobody may wait for it, or only later.
  void add_handing_over(Rank rank) {
    const int from = some_stream();
    const int to = some_stream();
    if (from == to) return;
    add(rank, record(from, to));
    if (lot_->chance(70)) add(rank, wait(to, from));
  }

  void add_call() {
    const int communicator = lot_->up_to(static_cast<int>(communicators_.size()));
    const auto& groups = communicators_[static_cast<std::size_t>(communicator)].groups;
    const auto& group =
        groups[static_cast<std::size_t>(lot_->up_to(static_cast<int>(groups.size())))];
    const auto all = algorithms();
    const Algorithm& algorithm =
        all[static_cast<std::size_t>(lot_->up_to(static_cast<int>(all.size())))];
    const auto members = static_cast<int>(group.size());
    if (algorithm.lanes > 2 || !algorithm.works_with(members)) return;
    const auto choice = std::make_shared<AlgorithmChoice>();
    choice->name = algorithm.name;
    if (lot_->chance(40)) choice->chunks = 1 + lot_->up_to(4);
    choices_.push_back(choice);
    Call call;
    call.operation = algorithm.operation;
    call.type = lot_->chance(50) ? ElementType::f32 : ElementType::u8;
    call.in_place = false;
    if (algorithm.operation != Operation::barrier) call.count = lot_->up_to(300'000);
    if (has_root(algorithm.operation)) call.root = lot_->up_to(members);
    call.choice = choice.get();
    for (const Rank rank : group) add(rank, collective(some_stream(), communicator, call));
  }

  RandomCase* lot_;
  std::size_t ranks_;
  int streams_ = 1;
  std::vector<Communicator> communicators_;
  std::vector<std::shared_ptr<AlgorithmChoice>> choices_;
  Scripts scripts_;
};

}  // namespace collsim::testing
