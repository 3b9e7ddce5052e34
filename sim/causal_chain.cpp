// SPDX-License-Identifier: Apache-2.0
#include "sim/causal_chain.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "sim/message_router.hpp"

namespace collsim {
namespace {

std::vector<int> positions_of_ranks(const Topology& topology, const Schedule& schedule) {
  std::vector<int> positions(topology.rank_count(), -1);
  for (int position = 0; position < schedule.size(); ++position)
    positions[schedule.rank(position).index()] = position;
  return positions;
}

// A program that is read forwards, with what has been sent to and received from each peer.
class LaneReader {
 public:
  explicit LaneReader(LaneProgram program) : program_(std::move(program)) { advance(); }

  // Null when the program has ended.
  [[nodiscard]] const Instruction* current() const { return current_; }
  [[nodiscard]] int sent_before(Endpoint peer) { return sent_[peer]; }

  // To the instruction that takes the number-th message or signal of a peer.
  void go_to_receipt(Endpoint from, int number) {
    while (current_ != nullptr &&
           !(takes_from_lane(current_->op) && current_->from == from && received_[from] == number))
      advance();
  }
  void go_to_giving() {
    while (current_ != nullptr && !gives_to_lane(current_->op)) advance();
  }

 private:
  void advance() {
    if (current_ != nullptr && gives_to_lane(current_->op)) ++sent_[current_->to];
    if (current_ != nullptr && takes_from_lane(current_->op)) ++received_[current_->from];
    current_ = program_.next();
  }

  LaneProgram program_;
  const Instruction* current_ = nullptr;
  std::map<Endpoint, int> sent_, received_;
};

class ChainFollower {
 public:
  ChainFollower(const Topology& topology, const Schedule& schedule)
      : topology_(topology),
        schedule_(schedule),
        router_(topology, schedule),
        positions_(positions_of_ranks(topology, schedule)) {}

  Time follow(Endpoint lane, Time enough, int most_messages) {
    readers_.clear();
    Time time;
    for (int messages = 0; messages < most_messages && time < enough; ++messages) {
      LaneReader& reader = reader_of(lane);
      reader.go_to_giving();
      const Instruction* const gives = reader.current();
      if (gives == nullptr) break;
      const Endpoint to = gives->to;
      const int number = reader.sent_before(to);
      if (to.rank != lane.rank) time += alone(lane, *gives);
      LaneReader& receiver = reader_of(to);
      receiver.go_to_receipt(lane, number);
      if (receiver.current() == nullptr) break;
      lane = to;
    }
    return time;
  }

 private:
  LaneReader& reader_of(Endpoint lane) {
    const auto known = readers_.find(lane);
    if (known != readers_.end()) return known->second;
    const int position = positions_[lane.rank.index()];
    return readers_.emplace(lane, LaneReader(schedule_.program(position, lane.lane))).first->second;
  }

  // Rounded down.
  [[nodiscard]] Time alone(Endpoint from, const Instruction& sends) {
    const auto bytes = static_cast<double>(sends.count * size_of(schedule_.collective().type));
    double startup = 0;
    double flow = 0;
    double occupied = 0;
    Time latency;
    for (const LinkId id : router_.route(from, sends.to)) {
      const Link& link = topology_.link(id);
      const double transfer = bytes / static_cast<double>(link.bandwidth.bytes_per_second());
      latency += link.latency;
      if (link.sharing == Sharing::exclusive) {
        occupied = std::max(occupied, link.startup.seconds() + transfer);
      } else {
        startup = std::max(startup, link.startup.seconds());
        flow = std::max(flow, transfer);
      }
    }
    // On a way of both kinds a startup may pass while earlier links are busy.
    const double seconds = std::max(occupied, occupied > 0 ? flow : startup + flow);
    constexpr double ps_per_second = 1e12;
    return latency + Time(static_cast<std::int64_t>(seconds * (1 - 1e-12) * ps_per_second));
  }

  const Topology& topology_;
  const Schedule& schedule_;
  MessageRouter router_;
  std::vector<int> positions_;
  std::map<Endpoint, LaneReader> readers_;
};

}  // namespace

Time causal_chain(const Topology& topology, const Schedule& schedule, Time enough,
                  int most_messages) {
  if (chooses_per_message(topology)) return {};
  ChainFollower follower(topology, schedule);
  Time longest;
  const int of_channel = schedule.lanes() / schedule.channels();
  const int ranks = schedule.size();
  for (const int position : std::set<int>{0, ranks / 3, ranks / 2, 2 * ranks / 3, ranks - 1})
    for (int lane = 0; lane < of_channel && longest < enough; ++lane)
      longest = std::max(
          longest, follower.follow({schedule.rank(position), Lane(static_cast<std::size_t>(lane))},
                                   enough, most_messages));
  return longest;
}

}  // namespace collsim
