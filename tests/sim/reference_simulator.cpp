// SPDX-License-Identifier: Apache-2.0
#include "tests/sim/reference_simulator.hpp"

#include <algorithm>
#include <cmath>
#include <deque>
#include <map>
#include <optional>
#include <set>

#include "topo/routes.hpp"

namespace collsim::testing {
namespace {

constexpr long double ps_per_second = 1e12L;
constexpr long double precision = 1e-15L;  // what rates and times are not told apart by

// A route, as far as the model cares.  Links are named by what they occupy.
struct Path {
  std::set<LinkId> exclusive, fair;
  Time alpha, latency;
  std::optional<Bandwidth> bandwidth;  // none: to oneself
};

struct Connection;

struct Message {
  Step* step = nullptr;  // of the sender; its departed, left and arrived are this message's
  const Path* path = nullptr;
  Connection* connection = nullptr;
  std::size_t place = 0;  // in its connection
  Bytes bytes = 0;
  bool has_left = false;           // left and arrived are known (they may lie in the future)
  std::optional<Time> may_flow{};  // fair: when its startup is over

  bool flowing = false;
  Time ends = Time::never();
  long double rate = 0;  // bytes per second, since `since`, when `remaining` bytes were left
  long double remaining = 0;
  Time since{};
};

struct Connection {
  std::deque<Message> messages;  // all there ever were
  std::size_t received = 0;      // receiving instructions that have ended
};

struct LaneState {
  Rank rank;
  Lane lane;
  int position = 0;
  LaneProgram program;
  bool ended = false;
  Time reached;                       // the current instruction
  std::optional<Time> works_until{};  // the current instruction has begun
  std::deque<Step> steps{};
};

class ReferenceSimulator {
 public:
  ReferenceSimulator(const Topology& topology, const Schedule& schedule, const CostModel& costs,
                     const std::vector<std::pair<Rank, Time>>& late)
      : topology_(topology),
        schedule_(schedule),
        costs_(costs),
        router_(topology),
        free_from_(topology.links().size()) {
    for (int position = 0; position < schedule.size(); ++position) {
      Time start = costs.launch;
      for (const auto& [rank, delay] : late)
        if (rank == schedule.rank(position)) start += delay;
      result_.finished.push_back(start);
      for (std::size_t lane = 0; lane < static_cast<std::size_t>(schedule.lanes()); ++lane)
        lanes_.push_back({schedule.rank(position), Lane(lane), position,
                          schedule.program(position, Lane(lane)), false, start});
    }
    std::sort(lanes_.begin(), lanes_.end(), [](const LaneState& a, const LaneState& b) {
      return std::pair(a.rank, a.lane) < std::pair(b.rank, b.lane);
    });
    for (LaneState& lane : lanes_) go_on(lane);
  }

  Reference run() {
    for (now_ = Time{}; now_ != Time::never(); now_ = next_instant()) {
      bool again = true;
      while (again) {
        while (move_flows()) {
        }
        work_on();
        while (round()) work_on();
        again = move_flows();
        if (again) continue;
        share();
        again = a_flow_ends_now();
      }
    }
    for (LaneState& lane : lanes_) conclude(lane);
    for (const Time finished : result_.finished) result_.time = std::max(result_.time, finished);
    return std::move(result_);
  }

 private:
  // ----- lanes

  void go_on(LaneState& lane) {
    const Instruction* next = lane.program.next();
    lane.works_until.reset();
    lane.ended = next == nullptr;
    if (lane.ended) return;
    Step step;
    step.rank = lane.rank;
    step.lane = lane.lane;
    step.index = static_cast<std::uint32_t>(lane.steps.size());
    step.instruction = *next;
    step.reached = lane.reached;
    lane.steps.push_back(step);
  }

  [[nodiscard]] static Endpoint self(const LaneState& lane) { return {lane.rank, lane.lane}; }
  Connection& incoming(const LaneState& lane) {
    return connections_[{lane.steps.back().instruction.from, self(lane)}];
  }
  Connection& outgoing(const LaneState& lane) {
    return connections_[{self(lane), lane.steps.back().instruction.to}];
  }

  [[nodiscard]] bool can_begin(const LaneState& lane) {
    if (lane.reached > now_) return false;
    const Instruction& instruction = lane.steps.back().instruction;
    if (receives(instruction.op)) {
      const Connection& from = incoming(lane);
      if (from.messages.size() <= from.received) return false;
      const Message& message = from.messages[from.received];
      if (!message.has_left || message.step->arrived > now_) return false;
    }
    if (sends(instruction.op) && schedule_.slots()) {
      const Connection& to = outgoing(lane);
      const std::size_t held = to.messages.size() - to.received;
      if (held >= static_cast<std::size_t>(*schedule_.slots())) return false;
    }
    if (instruction.op == Op::wait) return signals_[{instruction.from, self(lane)}] > 0;
    return true;
  }

  // One step of a lane that hands over no message; false when there is none now.
  bool proceed(LaneState& lane) {
    if (lane.ended) return false;
    Step& step = lane.steps.back();
    if (!lane.works_until) {
      if (!can_begin(lane)) return false;
      step.began = now_;
      lane.works_until = now_ + work(step.instruction);
      return true;
    }
    if (*lane.works_until > now_ || sends(step.instruction.op)) return false;
    end(lane);
    return true;
  }

  void work_on() {
    bool somebody_went_on = true;
    while (somebody_went_on) {
      somebody_went_on = false;
      for (LaneState& lane : lanes_)
        while (proceed(lane)) somebody_went_on = true;
    }
  }

  bool round() {
    std::vector<LaneState*> ready;
    for (LaneState& lane : lanes_)
      if (!lane.ended && lane.works_until && *lane.works_until <= now_) ready.push_back(&lane);
    for (LaneState* lane : ready) end(*lane);
    return !ready.empty();
  }

  [[nodiscard]] Bytes size(const Instruction& instruction) const {
    return instruction.count * static_cast<Bytes>(size_of(schedule_.collective().type));
  }

  [[nodiscard]] Time work(const Instruction& instruction) const {
    const auto& bandwidth =
        reduces(instruction.op) ? costs_.reduce_bandwidth : costs_.copy_bandwidth;
    Time work = costs_.instruction_overhead;
    if (bandwidth) work += transfer_time(size(instruction), *bandwidth);
    const bool writes_twice = stores(instruction.op) && sends(instruction.op);
    if (writes_twice && costs_.second_write_bandwidth)
      work += transfer_time(size(instruction), *costs_.second_write_bandwidth);
    return work;
  }

  void end(LaneState& lane) {
    Step& step = lane.steps.back();
    const Instruction& instruction = step.instruction;
    step.ended = now_;
    if (receives(instruction.op)) {
      Connection& from = incoming(lane);
      Message* message = &from.messages[from.received++];
      COLLSIM_CHECK(message->bytes == size(instruction), "the reference needs matching sizes");
      live_.erase(std::find(live_.begin(), live_.end(), message));
    }
    if (instruction.op == Op::signal) {
      ++signals_[{self(lane), instruction.to}];
      step.departed = step.left = step.arrived = now_;
    }
    if (instruction.op == Op::wait) --signals_[{instruction.from, self(lane)}];
    if (sends(instruction.op)) hand_over(lane);
    lane.reached = now_;
    go_on(lane);
  }

  void conclude(LaneState& lane) {
    result_.deadlock |= !lane.ended;
    Time& finished = result_.finished[static_cast<std::size_t>(lane.position)];
    for (const Step& step : lane.steps) {
      finished = std::max({finished, step.ended, step.left});
      result_.timeline.steps.push_back(step);
    }
  }

  // ----- messages

  const Path& path(Endpoint from, Rank to) {
    const auto [place, is_new] = paths_.try_emplace({from, to});
    Path& path = place->second;
    if (!is_new) return path;
    for (const LinkId id : router_.route(from.rank, to, from.lane)) {
      const Link& link = topology_.link(id);
      (link.sharing == Sharing::exclusive ? path.exclusive : path.fair).insert(link.resource);
      COLLSIM_CHECK(topology_.link(link.resource).bandwidth == link.bandwidth,
                    "the reference knows half-duplex links of one bandwidth only");
      path.alpha = std::max(path.alpha, link.startup);
      path.latency += link.latency;
      path.bandwidth = path.bandwidth ? std::min(*path.bandwidth, link.bandwidth) : link.bandwidth;
    }
    return path;
  }

  void hand_over(LaneState& lane) {
    Connection& connection = outgoing(lane);
    Step& step = lane.steps.back();
    Message& message = connection.messages.emplace_back();
    message.step = &step;
    message.path = &path(self(lane), step.instruction.to.rank);
    message.connection = &connection;
    message.place = connection.messages.size() - 1;
    message.bytes = size(step.instruction);
    live_.push_back(&message);
    if (!message.path->bandwidth) {
      step.departed = now_;
      leave(message, now_);
    } else if (message.path->exclusive.empty()) {
      message.may_flow = now_ + message.path->alpha;
    } else {
      waiting_.push_back(&message);
      start_waiting();
    }
  }

  static void leave(Message& message, Time left) {
    message.has_left = true;
    message.step->left = left;
    message.step->arrived = left + message.path->latency;
  }

  // "Starts when every link of its route is free and no earlier comer waits for any of them."
  bool start_waiting() {
    std::set<LinkId> wanted;
    std::vector<Message*> still_waiting;
    for (Message* message : waiting_) {
      const std::set<LinkId>& links = message->path->exclusive;
      const bool starts = std::all_of(links.begin(), links.end(), [&](LinkId link) {
        return free_from_[link.index()] <= now_ && wanted.count(link) == 0;
      });
      if (starts) {
        start(*message);
      } else {
        still_waiting.push_back(message);
        wanted.insert(links.begin(), links.end());
      }
    }
    const bool moved = still_waiting.size() < waiting_.size();
    waiting_ = still_waiting;
    return moved;
  }

  void start(Message& message) {
    const Path& path = *message.path;
    message.step->departed = now_;
    Time free = Time::never();
    if (path.fair.empty()) {
      free = now_ + path.alpha + transfer_time(message.bytes, *path.bandwidth);
      leave(message, free);
    } else {
      message.may_flow = now_ + path.alpha;
    }
    for (const LinkId link : path.exclusive) free_from_[link.index()] = free;
  }

  // ----- flows

  // True when something moved: then more may.
  bool move_flows() {
    const bool ended = end_flows();
    const bool started = start_waiting();
    const bool flowing = start_flows();
    return ended || started || flowing;
  }

  bool end_flows() {
    bool moved = false;
    for (Message* message : live_) {
      if (!message->flowing || message->ends > now_) continue;
      message->flowing = false;
      moved = true;
      leave(*message, now_);
      for (const LinkId link : message->path->exclusive) free_from_[link.index()] = now_;
    }
    return moved;
  }

  [[nodiscard]] bool a_flow_ends_now() const {
    return std::any_of(live_.begin(), live_.end(), [&](const Message* message) {
      return message->flowing && message->ends <= now_;
    });
  }

  bool start_flows() {
    bool moved = false;
    for (Message* message : live_) {
      if (message->flowing || message->has_left) continue;
      if (!message->may_flow || *message->may_flow > now_) continue;
      if (message->place > 0 && !message->connection->messages[message->place - 1].has_left)
        continue;
      message->flowing = true;
      moved = true;
      message->remaining = static_cast<long double>(message->bytes);
      if (message->path->exclusive.empty()) message->step->departed = now_;
      if (message->bytes == 0) message->ends = now_;
    }
    return moved;
  }

  // Progressive filling: all rates grow together until a link is full; its flows stay at that.
  void share() {
    std::vector<Message*> growing;
    for (Message* message : live_)
      if (message->flowing && message->bytes > 0) growing.push_back(message);
    std::map<LinkId, long double> room;
    for (const Message* message : growing)
      for (const auto* links : {&message->path->exclusive, &message->path->fair})
        for (const LinkId link : *links)
          room[link] = static_cast<long double>(topology_.link(link).bandwidth.bytes_per_second());
    while (!growing.empty()) {
      std::map<LinkId, int> flows;
      for (const Message* message : growing)
        for (const auto* links : {&message->path->exclusive, &message->path->fair})
          for (const LinkId link : *links) ++flows[link];
      std::pair<long double, LinkId> tightest{HUGE_VALL, {}};
      for (const auto& [link, count] : flows)
        tightest = std::min(tightest, {room[link] / count, link});
      std::vector<Message*> still_growing;
      for (Message* message : growing) {
        const Path& path = *message->path;
        if (path.exclusive.count(tightest.second) + path.fair.count(tightest.second) == 0) {
          still_growing.push_back(message);
          continue;
        }
        set_rate(*message, tightest.first);
        for (const auto* links : {&path.exclusive, &path.fair})
          for (const LinkId link : *links) room[link] -= tightest.first;
      }
      growing = still_growing;
    }
  }

  void set_rate(Message& message, long double rate) {
    if (std::abs(rate - message.rate) <= precision * rate) return;
    const Bandwidth full = *message.path->bandwidth;
    const bool from_its_start = message.rate == 0;
    message.remaining -=
        message.rate * static_cast<long double>((now_ - message.since).ps()) / ps_per_second;
    message.since = now_;
    message.rate = rate;
    if (from_its_start && rate == static_cast<long double>(full.bytes_per_second())) {
      message.ends = now_ + transfer_time(message.bytes, full);
      return;
    }
    ++result_.rate_changes;
    // Forgives what rounding may have left of the message, lest it end a picosecond late.
    const long double left =
        message.remaining - precision * static_cast<long double>(message.bytes);
    const long double duration = std::max(0.0L, left) / rate * ps_per_second;
    message.ends = now_ + Time(static_cast<std::int64_t>(std::ceil(duration)));
  }

  // ----- time

  [[nodiscard]] Time next_instant() const {
    Time next = Time::never();
    const auto consider = [&](Time time) {
      if (time > now_) next = std::min(next, time);
    };
    for (const LaneState& lane : lanes_)
      if (!lane.ended) consider(lane.works_until.value_or(lane.reached));
    for (const Time free : free_from_) consider(free);
    for (const Message* message : live_) {
      if (message->has_left) consider(message->step->arrived);
      if (message->may_flow) consider(*message->may_flow);
      if (message->flowing) consider(message->ends);
    }
    return next;
  }

  const Topology& topology_;
  const Schedule& schedule_;
  const CostModel& costs_;
  Router router_;
  Time now_;
  std::vector<LaneState> lanes_;  // by rank, then lane
  std::map<std::pair<Endpoint, Endpoint>, Connection> connections_;
  std::map<std::pair<Endpoint, Endpoint>, int> signals_;  // given, not yet waited for
  std::map<std::pair<Endpoint, Rank>, Path> paths_;
  std::vector<Message*> live_;     // not yet received
  std::vector<Message*> waiting_;  // for exclusive links, in the order in which they came
  std::vector<Time> free_from_;    // per link; never: not known yet
  Reference result_;
};

}  // namespace

Reference reference_simulate(const Topology& topology, const Schedule& schedule,
                             const CostModel& costs,
                             const std::vector<std::pair<Rank, Time>>& late) {
  return ReferenceSimulator(topology, schedule, costs, late).run();
}

}  // namespace collsim::testing
