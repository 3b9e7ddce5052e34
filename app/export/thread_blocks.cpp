// SPDX-License-Identifier: Apache-2.0
#include "app/export/thread_blocks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

namespace collsim {
namespace {

constexpr int none = -1;

// A lane of a position to a lane of another.
struct Wire {
  int source = 0, source_lane = 0, target = 0, target_lane = 0;
  auto operator<=>(const Wire&) const = default;
};

struct Event {
  Instruction instruction;
  int in = none;   // message that it receives
  int out = none;  // message that it sends
  int block = none;
};

struct Message {
  int wire = 0;
  int next = none;            // the message that passes it on in the same instruction
  bool is_passed_on = false;  // it is itself such a message
  int channel = none;
};

// What one channel carries.
struct Channel {
  std::map<std::pair<int, int>, int> wire_between;  // ranks
  std::map<int, int> next, previous;                // wires that one block of a rank joins

  [[nodiscard]] bool agrees(const std::vector<Wire>& wires, int wire) const {
    const Wire& one = wires[static_cast<std::size_t>(wire)];
    const auto found = wire_between.find({one.source, one.target});
    return found == wire_between.end() || found->second == wire;
  }
  [[nodiscard]] bool agrees(int wire, int after) const {
    const auto onward = next.find(wire);
    const auto back = previous.find(after);
    return (onward == next.end() || onward->second == after) &&
           (back == previous.end() || back->second == wire);
  }
};

class Cutter {
 public:
  Cutter(const Schedule& schedule, const ThreadBlockLimits& limits)
      : schedule_(schedule), limits_(limits), lanes_(schedule.lanes()) {
    for (int position = 0; position < schedule.size(); ++position)
      position_of_[schedule.rank(position)] = position;
  }

  std::vector<std::vector<ThreadBlock>> cut() {
    pull();
    match();
    choose_channels();
    std::vector<std::vector<ThreadBlock>> all;
    for (int position = 0; position < schedule_.size(); ++position) {
      all.emplace_back();
      make_blocks(position, all.back());
      for (int lane = 0; lane < lanes_; ++lane) write_lane(position, lane, all.back());
      resolve_waits(all.back());
    }
    return all;
  }

 private:
  std::vector<Event>& events(int position, int lane) {
    return events_[static_cast<std::size_t>(position) * static_cast<std::size_t>(lanes_) +
                   static_cast<std::size_t>(lane)];
  }
  static int lane_number(const Endpoint& endpoint) {
    return static_cast<int>(endpoint.lane.index());
  }

  void pull() {
    const auto most =
        static_cast<std::size_t>(limits_.blocks) * static_cast<std::size_t>(limits_.steps);
    events_.resize(static_cast<std::size_t>(schedule_.size()) * static_cast<std::size_t>(lanes_));
    for (int position = 0; position < schedule_.size(); ++position) {
      std::size_t count = 0;
      for (int lane = 0; lane < lanes_; ++lane) {
        LaneProgram program = schedule_.program(position, Lane(static_cast<std::size_t>(lane)));
        while (const Instruction* const instruction = program.next()) {
          if (++count > most)
            throw_error(ErrorCode::too_large,
                        fmt::format("rank {} has more than {} instructions, which {} thread blocks "
                                    "of {} steps do not hold",
                                    position, most, limits_.blocks, limits_.steps));
          events(position, lane).push_back({*instruction, none, none, none});
        }
      }
    }
  }

  // The k-th send of a wire is its k-th receive.
  void match() {
    std::map<Wire, int> numbers;
    const auto wire_of = [&](const Wire& wire) {
      const auto [found, is_new] = numbers.emplace(wire, static_cast<int>(wires_.size()));
      if (is_new) wires_.push_back(wire);
      return found->second;
    };
    std::vector<std::vector<int>> sent;
    for (int lane = 0; lane < lanes_; ++lane)
      for (int position = 0; position < schedule_.size(); ++position)
        for (Event& event : events(position, lane)) {
          if (!sends(event.instruction.op)) continue;
          const Endpoint& to = event.instruction.to;
          const int wire = wire_of({position, lane, position_of_.at(to.rank), lane_number(to)});
          event.out = static_cast<int>(messages_.size());
          messages_.push_back({wire, none, false, none});
          sent.resize(wires_.size());
          sent[static_cast<std::size_t>(wire)].push_back(event.out);
        }
    std::vector<std::size_t> received(wires_.size());
    for (int lane = 0; lane < lanes_; ++lane)
      for (int position = 0; position < schedule_.size(); ++position)
        for (Event& event : events(position, lane)) {
          if (!receives(event.instruction.op)) continue;
          const Endpoint& from = event.instruction.from;
          const auto wire = static_cast<std::size_t>(
              wire_of({position_of_.at(from.rank), lane_number(from), position, lane}));
          received.resize(wires_.size());
          sent.resize(wires_.size());
          if (received[wire] == sent[wire].size())
            throw_error(ErrorCode::bad_schedule, "a message is received that nobody sends");
          event.in = sent[wire][received[wire]++];
          if (event.out == none) continue;
          messages_[static_cast<std::size_t>(event.in)].next = event.out;
          messages_[static_cast<std::size_t>(event.out)].is_passed_on = true;
        }
  }

  // --- channels ---------------------------------------------------------------------------------

  void choose_channels() {
    for (std::size_t first = 0; first < messages_.size(); ++first) {
      if (messages_[first].is_passed_on) continue;
      std::size_t channel = 0;
      while (channel < channels_.size() && !takes(channels_[channel], first)) ++channel;
      if (channel == channels_.size()) {
        if (channel == static_cast<std::size_t>(limits_.channels))
          throw_error(
              ErrorCode::too_large,
              fmt::format("it needs more than {} channels to tell apart what its lanes send "
                          "from one rank to another",
                          limits_.channels));
        channels_.emplace_back();
      }
      give(channels_[channel], static_cast<int>(channel), first);
    }
  }

  [[nodiscard]] bool takes(const Channel& channel, std::size_t first) const {
    for (int at = static_cast<int>(first); at != none;) {
      const Message& message = messages_[static_cast<std::size_t>(at)];
      if (!channel.agrees(wires_, message.wire)) return false;
      if (message.next != none &&
          !channel.agrees(message.wire, messages_[static_cast<std::size_t>(message.next)].wire))
        return false;
      at = message.next;
    }
    return true;
  }

  void give(Channel& channel, int number, std::size_t first) {
    for (int at = static_cast<int>(first); at != none;) {
      Message& message = messages_[static_cast<std::size_t>(at)];
      message.channel = number;
      const Wire& wire = wires_[static_cast<std::size_t>(message.wire)];
      const auto [known, is_new] =
          channel.wire_between.try_emplace({wire.source, wire.target}, message.wire);
      if (!is_new && known->second != message.wire)
        throw_error(ErrorCode::too_large,
                    fmt::format("a message that is passed on at once goes from rank {} to rank {} "
                                "twice, which one channel does not tell apart",
                                wire.source, wire.target));
      if (message.next != none) {
        const int after = messages_[static_cast<std::size_t>(message.next)].wire;
        channel.next[message.wire] = after;
        channel.previous[after] = message.wire;
      }
      at = message.next;
    }
  }

  // --- blocks -----------------------------------------------------------------------------------

  // In the order in which a lane needs them.
  void make_blocks(int position, std::vector<ThreadBlock>& blocks) {
    for (int lane = 0; lane < lanes_; ++lane) {
      const auto first = static_cast<int>(blocks.size());
      for (Event& event : events(position, lane)) {
        if (event.in == none && event.out == none) continue;
        event.block = block_of(event, lane, first, blocks);
      }
      if (blocks.size() > static_cast<std::size_t>(limits_.blocks))
        throw_error(ErrorCode::too_large,
                    fmt::format("rank {} needs more than {} thread blocks, each with one peer to "
                                "send to and one to receive from",
                                position, limits_.blocks));
      place_local_work(events(position, lane), lane, blocks);
    }
  }

  int block_of(const Event& event, int lane, int first, std::vector<ThreadBlock>& blocks) {
    const Message& any =
        messages_[static_cast<std::size_t>(event.in != none ? event.in : event.out)];
    const Channel& channel = channels_[static_cast<std::size_t>(any.channel)];
    int in = event.in != none ? any.wire : none;
    int out = event.out != none ? messages_[static_cast<std::size_t>(event.out)].wire : none;
    // Elsewhere in the program the two may be one instruction.
    if (in == none && channel.previous.contains(out)) in = channel.previous.at(out);
    if (out == none && channel.next.contains(in)) out = channel.next.at(in);
    const int receive = in == none ? none : wires_[static_cast<std::size_t>(in)].source;
    const int send = out == none ? none : wires_[static_cast<std::size_t>(out)].target;
    int free = none;
    for (int i = first; i < static_cast<int>(blocks.size()); ++i) {
      const ThreadBlock& block = blocks[static_cast<std::size_t>(i)];
      if (block.channel != any.channel) continue;
      if ((receive == none || block.receive == receive) && (send == none || block.send == send))
        return i;
      // What is not passed on shares a block with any that lacks it, best with its own partner's.
      const bool lacks_it =
          (receive == none && block.send == none) || (send == none && block.receive == none);
      const bool is_partner = receive == none ? block.receive == send : block.send == receive;
      if (lacks_it && (free == none || is_partner)) free = i;
    }
    if (free == none) {
      blocks.push_back({lane, send, receive, any.channel, {}});
      return static_cast<int>(blocks.size()) - 1;
    }
    ThreadBlock& block = blocks[static_cast<std::size_t>(free)];
    (receive == none ? block.send : block.receive) = receive == none ? send : receive;
    return free;
  }

  // Copies and sums go with the message before them, or else with the first one.
  static void place_local_work(std::vector<Event>& events, int lane,
                               std::vector<ThreadBlock>& blocks) {
    int block = none;
    for (const Event& event : events)
      if (block == none) block = event.block;
    for (Event& event : events) {
      if (orders_lanes(event.instruction.op)) continue;
      if (event.block != none) block = event.block;
      if (block == none) {
        block = static_cast<int>(blocks.size());
        blocks.push_back({lane, none, none, 0, {}});
      }
      event.block = block;
    }
  }

  // --- steps ------------------------------------------------------------------------------------

  struct Place {
    int block = none, step = none;
  };
  struct PendingWait {
    Place at;
    int lane = 0;       // that waits
    int other = 0;      // for this one
    std::size_t k = 0;  // for which of its signals
  };

  void write_lane(int position, int lane, std::vector<ThreadBlock>& blocks) {
    position_ = position;
    Place last;
    std::vector<std::pair<int, std::size_t>> waits;  // lane, which signal
    std::map<int, std::size_t> waited;
    for (const Event& event : events(position, lane)) {
      const Op op = event.instruction.op;
      if (op == Op::wait) {
        const int other = lane_number(event.instruction.from);
        waits.emplace_back(other, waited[other]++);
      } else if (op == Op::signal) {
        signals_[{lane, lane_number(event.instruction.to)}].push_back(last);
      } else {
        last = write_step(event, last, waits, blocks);
        waits.clear();
      }
    }
    if (!waits.empty())
      throw_error(ErrorCode::invalid_argument,
                  fmt::format("rank {} ends with a wait, and a step of MSCCL that only waits needs "
                              "another one behind it",
                              position));
  }

  Place write_step(const Event& event, Place last,
                   const std::vector<std::pair<int, std::size_t>>& waits,
                   std::vector<ThreadBlock>& blocks) {
    auto& steps = blocks[static_cast<std::size_t>(event.block)].steps;
    const auto add = [&](std::optional<Op> op) {
      if (steps.size() == static_cast<std::size_t>(limits_.steps))
        throw_error(ErrorCode::too_large,
                    fmt::format("a thread block of rank {} needs more than {} steps", position_,
                                limits_.steps));
      const bool works = op.has_value();
      steps.push_back({op, works ? event.instruction.source() : Span{},
                       works ? event.instruction.destination() : Span{}, none, none, false, false});
    };
    const Op op = event.instruction.op;
    const bool turns = last.block != none && last.block != event.block;
    const std::size_t dependencies = waits.size() + (turns ? 1 : 0);
    for (std::size_t i = 1; i < dependencies; ++i) add(std::nullopt);
    const std::size_t begin = steps.size() - (dependencies > 0 ? dependencies - 1 : 0);
    add(op == Op::copy_send ? Op::copy : op);
    std::size_t next = begin;
    const auto place = [&](std::size_t step) { return Place{event.block, static_cast<int>(step)}; };
    if (turns) {
      ThreadBlockStep& step = steps[next++];
      step.other_block = last.block;
      step.other_step = last.step;
      blocks[static_cast<std::size_t>(last.block)]
          .steps[static_cast<std::size_t>(last.step)]
          .is_awaited = true;
    }
    for (const auto& [lane, k] : waits)
      waits_.push_back(
          {place(next++), blocks[static_cast<std::size_t>(event.block)].lane, lane, k});
    if (op == Op::copy_send) {
      steps.back().is_half = true;
      add(Op::send);
      steps.back().source = event.instruction.destination();
    }
    return place(steps.size() - 1);
  }

  void resolve_waits(std::vector<ThreadBlock>& blocks) {
    for (const PendingWait& wait : waits_) {
      const auto found = signals_.find({wait.other, wait.lane});
      if (found == signals_.end() || wait.k >= found->second.size())
        throw_error(ErrorCode::bad_schedule, "a lane waits for a signal that nobody gives");
      const Place at = found->second[wait.k];
      if (at.block == none) continue;  // given before anything was done
      ThreadBlockStep& step = blocks[static_cast<std::size_t>(wait.at.block)]
                                  .steps[static_cast<std::size_t>(wait.at.step)];
      step.other_block = at.block;
      step.other_step = at.step;
      blocks[static_cast<std::size_t>(at.block)]
          .steps[static_cast<std::size_t>(at.step)]
          .is_awaited = true;
    }
    waits_.clear();
    signals_.clear();
  }

  const Schedule& schedule_;
  ThreadBlockLimits limits_;
  int lanes_;
  std::map<Rank, int> position_of_;
  std::vector<std::vector<Event>> events_;  // [position * lanes + lane]
  std::vector<Wire> wires_;
  std::vector<Message> messages_;
  std::vector<Channel> channels_;
  // Of the rank at hand.
  int position_ = 0;
  std::map<std::pair<int, int>, std::vector<Place>> signals_;  // from lane, to lane
  std::vector<PendingWait> waits_;
};

}  // namespace

std::vector<std::vector<ThreadBlock>> thread_blocks(const Schedule& schedule,
                                                    const ThreadBlockLimits& limits) {
  return Cutter(schedule, limits).cut();
}

}  // namespace collsim
