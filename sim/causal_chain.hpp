// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "collectives/message_router.hpp"
#include "collectives/schedule.hpp"
#include "sim/lane_reader.hpp"
#include "topo/topology.hpp"

namespace collsim {

// How far programs are read before a search for chains gives up.
struct ChainBudget {
  int messages = 0;
  int instructions = 0;
};

// Chains of causes in the programs of a schedule: a message, one that its receiver's lane sends (or
// signals to another lane of its rank) after having received it, and so on.  Whatever else happens,
// a message takes as long as it does alone:
//   max over its links of (startup + n/B), of fair ones the largest startup and n/B, + sum(L)
// and no run of the schedule takes less than such a chain.
//
// What is found within a budget is a chain, too: there may be longer ones.  Of a message's effects
// only those are followed that come before the next message on its connection, of many that are
// alike the first and the last.  Everything is 0 where messages choose among ways one by one, since
// nobody knows how long one takes alone.
class CausalChains {
 public:
  CausalChains(const Topology& topology, const Schedule& schedule);

  // The number-th message, or signal, of a connection, from 0.
  struct Message {
    Endpoint from;
    Endpoint to;
    int number = 0;
    auto operator<=>(const Message&) const = default;
  };

  // A long chain that begins with the first message of a lane of the first channel of one of five
  // ranks; or, once one takes `enough`, how long it is by then.
  [[nodiscard]] Time longest(Time enough, ChainBudget budget);
  // After a message has arrived; before it is sent.
  [[nodiscard]] Time after(const Message& message, ChainBudget budget);
  [[nodiscard]] Time before(const Message& message, ChainBudget budget);

 private:
  enum class Towards : std::uint8_t { effects, causes };
  struct Neighbour {
    Message message;
    Time alone;  // how long it takes
  };
  // On the chain that is being followed.
  struct Step {
    Message message;
    Time alone;
    Time length;  // of the chain, this message included
    std::vector<Neighbour> neighbours = {};
    std::size_t next = 0;
    Time beyond = {};  // the longest chain from here, this message not included
  };

  Time follow(const Message& message, Towards towards, Time enough);
  void go_on_to(std::vector<Step>& chain, const Neighbour& next, Towards towards, Time& found);
  [[nodiscard]] std::vector<Neighbour> effects(const Message& message);
  [[nodiscard]] std::vector<Neighbour> causes(const Message& message);
  [[nodiscard]] LaneReader& reader_at(const Message& message);
  void advance(LaneReader& reader);
  [[nodiscard]] Time alone(Endpoint from, Endpoint to, std::int64_t count);
  [[nodiscard]] bool may_go_on() const { return left_.messages > 0 && left_.instructions > 0; }

  const Topology& topology_;
  const Schedule& schedule_;
  const bool is_known_;  // how long messages take alone
  MessageRouter router_;
  LaneReaders programs_;
  std::map<Endpoint, LaneReader> readers_;
  std::array<std::map<Message, Time>, 2> beyond_;  // what has been followed to its ends
  ChainBudget left_;
};

}  // namespace collsim
