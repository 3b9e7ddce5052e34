// SPDX-License-Identifier: Apache-2.0
#include "tests/sim/reference_simulator.hpp"

#include <algorithm>
#include <cmath>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <tuple>
#include <variant>

#include "tests/sim/testing.hpp"
#include "topo/routes.hpp"

namespace collsim::testing {
namespace {

__extension__ using LongInteger = __int128;

constexpr long double ps_per_second = 1e12L;
constexpr long double precision = 1e-15L;  // what rates and times are not told apart by

// A route: its exclusive links in order, and its fair ones, which are crossed last and at once.
// Queues and shares belong to what a link occupies.
struct Path {
  std::vector<Link> exclusive, fair;
  std::optional<Bandwidth> fair_bandwidth;
  Time fair_startup, fair_latency;
  [[nodiscard]] bool is_to_oneself() const { return exclusive.empty() && fair.empty(); }
};

struct Connection;
struct LaneState;

struct Message {
  Step* step = nullptr;        // of the sender; its departed, left and arrived are this message's
  LaneState* lane = nullptr;   // the sender
  Message* whole = nullptr;    // of which this is a part, or itself
  std::size_t parts_left = 1;  // of a whole: that have not arrived
  bool has_departed = false;   // of a whole: or a part of it has
  const Path* path = nullptr;
  Connection* connection = nullptr;
  std::size_t place = 0;  // in its connection
  std::size_t sent = 0;   // before it, by all lanes
  Bytes bytes = 0;
  std::size_t crossed = 0;         // exclusive links that it has asked for
  Time asks_at = Time::never();    // for the next one
  Time last_byte{};                // when it has come over the links so far
  bool has_arrived = false;        // step->arrived is known (it may lie in the future)
  std::optional<Time> may_flow{};  // fair: when its startup is over

  bool has_flowed = false;
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
  LongInteger left_to_compute = 0;  // of work, in millionths of a picosecond, as of ...
  Time computed_until{};
  std::size_t leaving = 0;  // messages of which it is not known when they leave
  Time left{};              // when the others have
};

class ReferenceSimulator {
 public:
  ReferenceSimulator(const Topology& topology, const Programs& programs, const CostModel& costs,
                     const std::vector<std::pair<Rank, Time>>& late)
      : topology_(topology),
        programs_(programs),
        costs_(costs),
        router_(topology),
        free_from_(topology.links().size()) {
    for (int position = 0; position < programs.size(); ++position) {
      Time start = costs.launch;
      for (const auto& [rank, delay] : late)
        if (rank == programs.rank(position)) start += delay;
      result_.finished.push_back(start);
      for (std::size_t lane = 0; lane < static_cast<std::size_t>(programs.lanes()); ++lane)
        lanes_.push_back({programs.rank(position), Lane(lane), position,
                          programs.program(position, Lane(lane)), false, start});
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
      if (!message.has_arrived || message.step->arrived > now_) return false;
    }
    if (sends(instruction.op) && programs_.slots()) {
      const Connection& to = outgoing(lane);
      const std::size_t held = to.messages.size() - to.received;
      if (held >= static_cast<std::size_t>(*programs_.slots())) return false;
    }
    if (instruction.op == Op::drain) return lane.leaving == 0 && lane.left <= now_;
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
      if (step.instruction.op == Op::work) compute(lane);
      return true;
    }
    if (*lane.works_until > now_ || sends(step.instruction.op)) return false;
    end(lane);
    return true;
  }

  // ----- computing, which goes slower while a collective is under way on the rank

  [[nodiscard]] std::int64_t speed(int position) {
    return CostModel::millionths - (under_way_[position] > 0 ? costs_.slowdown : 0);
  }
  void compute(LaneState& lane) {
    lane.left_to_compute = LongInteger{lane.steps.back().instruction.count} * CostModel::millionths;
    lane.computed_until = now_;
    lane.works_until = end_of_computing(lane);
  }
  [[nodiscard]] Time end_of_computing(const LaneState& lane) {
    const LongInteger speed = this->speed(lane.position);
    return now_ + Time(static_cast<std::int64_t>((lane.left_to_compute + speed - 1) / speed));
  }
  // What a lane of a communicator says to a stream, or hears from one.
  void note_call(const LaneState& lane, const Instruction& instruction) {
    const auto streams = static_cast<std::size_t>(programs_.streams());
    const bool begins = instruction.op == Op::wait;
    const Lane other = begins ? instruction.from.lane : instruction.to.lane;
    if (lane.lane.index() < streams || other.index() >= streams) return;
    const std::int64_t before = speed(lane.position);
    under_way_[lane.position] += begins ? 1 : -1;
    for (LaneState& one : lanes_) {
      if (one.position != lane.position || one.ended || !one.works_until) continue;
      if (one.steps.back().instruction.op != Op::work || *one.works_until <= now_) continue;
      one.left_to_compute -= LongInteger{before} * (now_ - one.computed_until).ps();
      one.computed_until = now_;
      one.works_until = end_of_computing(one);
    }
  }

  void work_on() {
    bool somebody_went_on = true;
    while (somebody_went_on) {
      somebody_went_on = false;
      for (LaneState& lane : lanes_)
        while (proceed(lane)) somebody_went_on = true;
    }
  }

  // Who asks for a link now: lanes with their next message, messages for their next link.
  bool round() {
    using Order = std::tuple<Rank, Lane, std::size_t>;
    std::map<Order, std::variant<LaneState*, Message*>> asking;
    for (LaneState& lane : lanes_)
      if (!lane.ended && lane.works_until && *lane.works_until <= now_)
        asking[{lane.rank, lane.lane, sent_}] = &lane;
    for (Message* message : live_)
      if (message->asks_at <= now_)
        asking[{message->step->rank, message->step->lane, message->sent}] = message;
    for (const auto& [order, who] : asking) {
      if (const auto* lane = std::get_if<LaneState*>(&who)) end(**lane);
      if (const auto* message = std::get_if<Message*>(&who)) ask(**message);
    }
    return !asking.empty();
  }

  [[nodiscard]] Bytes size(const Instruction& instruction) const {
    return instruction.count * programs_.element_size();
  }

  [[nodiscard]] Time work(const Instruction& instruction) const {
    if (instruction.op == Op::work) return Time(instruction.count);
    if (instruction.op == Op::drain) return Time{};
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
    if (orders_lanes(instruction.op)) note_call(lane, instruction);
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
    if (is_new) path = path_over(router_.route(from.rank, to, from.lane));
    return path;
  }

  [[nodiscard]] Path path_over(std::span<const LinkId> links) const {
    Path path;
    for (const LinkId id : links) {
      const Link& link = topology_.link(id);
      (link.sharing == Sharing::exclusive ? path.exclusive : path.fair).push_back(link);
      if (link.sharing == Sharing::exclusive) continue;
      COLLSIM_CHECK(topology_.link(link.resource).bandwidth == link.bandwidth,
                    "the reference knows half-duplex links of one bandwidth only");
      path.fair_startup = std::max(path.fair_startup, link.startup);
      path.fair_latency += link.latency;
      path.fair_bandwidth =
          path.fair_bandwidth ? std::min(*path.fair_bandwidth, link.bandwidth) : link.bandwidth;
    }
    return path;
  }

  Message& add_message(Connection& connection, LaneState& lane, Bytes bytes) {
    Message& message = connection.messages.emplace_back();
    message.step = &lane.steps.back();
    message.lane = &lane;
    message.whole = &message;
    message.connection = &connection;
    message.place = connection.messages.size() - 1;
    message.bytes = bytes;
    live_.push_back(&message);
    return message;
  }

  void hand_over(LaneState& lane) {
    Step& step = lane.steps.back();
    const Bytes bytes = size(step.instruction);
    Message& message = add_message(outgoing(lane), lane, bytes);
    const Rank to = step.instruction.to.rank;
    if (to != lane.rank && chooses_per_message(topology_)) {
      hand_over_parts(message, self(lane), step.instruction.to);
      return;
    }
    message.path = &path(self(lane), to);
    send(message);
  }

  // Each way is a connection of its own; a message goes over one of them, or a part over each.
  void hand_over_parts(Message& whole, Endpoint from, Endpoint to) {
    const auto [known, is_new] = ways_.try_emplace({from, to});
    std::vector<Way>& ways = known->second;
    if (is_new)
      for (const std::vector<LinkId>& links : router_.choices(from.rank, to.rank).ways)
        ways.push_back({path_over(links), {}});
    const auto add_part = [&](Way& way, Bytes bytes) {
      Message& part = add_message(way.connection, *whole.lane, bytes);
      part.whole = &whole;
      part.path = &way.path;
      send(part);
    };
    if (topology_.parts().routing == Routing::spray) {
      whole.parts_left = ways.size();
      const auto all = static_cast<Bytes>(ways.size());
      for (Way& way : ways)
        add_part(way, whole.bytes / all + (&way == &ways.front() ? whole.bytes % all : 0));
      return;
    }
    std::vector<std::pair<Time, std::size_t>> loads;
    loads.reserve(ways.size());
    for (const Way& way : ways) loads.push_back(load_of(way.path));
    const auto least = std::min_element(loads.begin(), loads.end()) - loads.begin();
    add_part(ways[static_cast<std::size_t>(least)], whole.bytes);
  }

  // How long the exclusive link with most work still has to serve those who have asked for it or
  // will; how many messages have come to the fair link that has most and not ended.
  std::pair<Time, std::size_t> load_of(const Path& path) {
    Time wait{};
    for (const Link& link : path.exclusive) {
      Time work = std::max(Time{}, free_from_[link.resource.index()] - now_);
      for (const Message* message : live_)
        for (std::size_t i = message->crossed; message->path && i < message->path->exclusive.size();
             ++i)
          if (const Link& other = message->path->exclusive[i]; other.resource == link.resource) {
            const LinkSegment row = row_of(topology_, other, message->bytes);
            work += row.startup + transfer_time(message->bytes, row.bandwidth);
          }
      wait = std::max(wait, work);
    }
    std::map<LinkId, std::size_t> messages;
    for (const Link& link : path.fair) messages[link.resource] = 0;
    for (const Message* message : live_) {
      if (!message->may_flow || message->has_flowed) continue;
      for (const LinkId link : shared_by(*message))
        if (messages.count(link) > 0) ++messages[link];
    }
    std::size_t most = 0;
    for (const auto& [link, count] : messages) most = std::max(most, count);
    return {wait, most};
  }

  void send(Message& message) {
    message.sent = sent_++;
    ++message.lane->leaving;
    if (message.path->is_to_oneself()) {
      depart(message, now_);
      leave(message, now_);
      arrive(message, now_);
    } else if (message.path->exclusive.empty()) {
      come_to_fair_links(message, now_);
    } else {
      ask(message);
    }
  }

  static void depart(Message& message, Time time) {
    Time& departed = message.step->departed;
    departed = message.whole->has_departed ? std::min(departed, time) : time;
    message.whole->has_departed = true;
  }
  void leave(const Message& message, Time time) {
    message.step->left = std::max(message.step->left, time);
    message.lane->left = std::max(message.lane->left, time);
    --message.lane->leaving;
  }
  static void arrive(Message& message, Time time) {
    message.has_arrived = message.whole != &message;  // a part is nobody's to receive
    message.step->arrived = std::max(message.step->arrived, time);
    if (--message.whole->parts_left == 0) message.whole->has_arrived = true;
  }

  // "A link serves in the order of asking, the begin is settled when it is asked."
  void ask(Message& message) {
    const Link& link = message.path->exclusive[message.crossed];
    Time& free_from = free_from_[link.resource.index()];
    const Time begin = std::max(now_, free_from);
    const auto [up_to, bandwidth, latency, startup] = row_of(topology_, link, message.bytes);
    free_from = begin + startup + transfer_time(message.bytes, bandwidth);
    if (message.crossed == 0) {
      depart(message, begin);
      leave(message, free_from);
    }
    message.last_byte = std::max(message.last_byte, free_from) + latency;
    message.asks_at = Time::never();
    if (++message.crossed < message.path->exclusive.size())
      message.asks_at = begin + latency;
    else if (message.path->fair.empty())
      arrive(message, message.last_byte);
    else
      come_to_fair_links(message, begin + latency);
  }

  static void come_to_fair_links(Message& message, Time time) {
    message.may_flow = time + message.path->fair_startup;
  }

  // ----- flows

  // True when something moved: then more may.
  bool move_flows() {
    const bool ended = end_flows();
    const bool flowing = start_flows();
    return ended || flowing;
  }

  bool end_flows() {
    bool moved = false;
    for (Message* message : live_) {
      if (!message->flowing || message->ends > now_) continue;
      message->flowing = false;
      message->has_flowed = true;
      moved = true;
      const Time end = std::max(now_, message->last_byte);
      if (message->path->exclusive.empty()) leave(*message, end);
      arrive(*message, end + message->path->fair_latency);
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
      if (message->flowing || message->has_flowed) continue;
      if (!message->may_flow || *message->may_flow > now_) continue;
      if (message->place > 0 && !message->connection->messages[message->place - 1].has_flowed)
        continue;
      message->flowing = true;
      moved = true;
      message->remaining = static_cast<long double>(message->bytes);
      if (message->path->exclusive.empty()) depart(*message, now_);
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
      for (const LinkId link : shared_by(*message))
        room[link] = static_cast<long double>(topology_.link(link).bandwidth.bytes_per_second());
    while (!growing.empty()) {
      std::map<LinkId, int> flows;
      for (const Message* message : growing)
        for (const LinkId link : shared_by(*message)) ++flows[link];
      std::pair<long double, LinkId> tightest{HUGE_VALL, {}};
      for (const auto& [link, count] : flows)
        tightest = std::min(tightest, {room[link] / count, link});
      std::vector<Message*> still_growing;
      for (Message* message : growing) {
        const std::set<LinkId> links = shared_by(*message);
        if (links.count(tightest.second) == 0) {
          still_growing.push_back(message);
          continue;
        }
        set_rate(*message, tightest.first);
        for (const LinkId link : links) room[link] -= tightest.first;
      }
      growing = still_growing;
    }
  }

  static std::set<LinkId> shared_by(const Message& message) {
    std::set<LinkId> links;
    for (const Link& link : message.path->fair) links.insert(link.resource);
    return links;
  }

  void set_rate(Message& message, long double rate) {
    if (std::abs(rate - message.rate) <= precision * rate) return;
    const Bandwidth full = *message.path->fair_bandwidth;
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
      if (!lane.ended) {
        consider(lane.works_until.value_or(lane.reached));
        if (lane.steps.back().instruction.op == Op::drain) consider(lane.left);
      }
    for (const Message* message : live_) {
      consider(message->asks_at);
      if (message->has_arrived) consider(message->step->arrived);
      if (message->may_flow) consider(*message->may_flow);
      if (message->flowing) consider(message->ends);
    }
    return next;
  }

  const Topology& topology_;
  const Programs& programs_;
  const CostModel& costs_;
  Router router_;
  Time now_;
  std::vector<LaneState> lanes_;  // by rank, then lane
  std::map<int, int> under_way_;  // lanes that carry out a collective, by position
  std::map<std::pair<Endpoint, Endpoint>, Connection> connections_;
  std::map<std::pair<Endpoint, Endpoint>, int> signals_;  // given, not yet waited for
  std::map<std::pair<Endpoint, Rank>, Path> paths_;
  struct Way {
    Path path;
    Connection connection;
  };
  std::map<std::pair<Endpoint, Endpoint>, std::vector<Way>> ways_;
  std::vector<Message*> live_;  // not yet received
  std::size_t sent_ = 0;
  std::vector<Time> free_from_;  // per resource
  Reference result_;
};

}  // namespace

Reference reference_simulate(const Topology& topology, const Programs& programs,
                             const CostModel& costs,
                             const std::vector<std::pair<Rank, Time>>& late) {
  return ReferenceSimulator(topology, programs, costs, late).run();
}

}  // namespace collsim::testing
