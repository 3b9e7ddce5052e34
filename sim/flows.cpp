// SPDX-License-Identifier: Apache-2.0
#include "sim/flows.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "topo/error.hpp"
#include "topo/routes.hpp"

namespace collsim {

Flows::Flows(const Topology& topology, const ConnectionTable& connections, const Quotient* quotient)
    : topology_(topology),
      connections_(connections),
      quotient_(quotient),
      counts_messages_(chooses_per_message(topology)),
      constraint_of_(topology.links().size()) {
  latest_.fill(none);
}

void Flows::opened(const Connection& connection) {
  if (routes_.size() <= connection.number) routes_.resize(connection.number + std::size_t{1});
  Route& route = routes_[connection.number];
  route.links.clear();
  route.startup = route.latency = Time{};
  route.bandwidth = Path::unlimited;
  for (const LinkId id : connections_.links(connection)) {
    const Link& link = topology_.link(id);
    if (link.sharing == Sharing::exclusive) continue;
    route.startup = std::max(route.startup, link.startup);
    route.latency += link.latency;
    route.bandwidth = std::min(route.bandwidth, link.bandwidth);
    std::uint32_t& known = constraint_of_[link.resource.index()];
    if (known == 0) {
      const auto bandwidth = static_cast<double>(link.bandwidth.bytes_per_second());
      const std::uint32_t copies = quotient_ != nullptr ? quotient_->copies(link.resource) : 1;
      known = static_cast<std::uint32_t>(sharing_.add_constraint(bandwidth, copies).index()) + 1;
      under_way_.push_back(0);
    }
    route.links.emplace_back(known - 1);
  }
}

Flows::Stream Flows::leave(const Connection& connection, std::uint32_t guest) {
  const Stream stream = std::exchange(routes_[connection.number].stream, none);
  COLLSIM_CHECK(stream != none && guest < (std::uint32_t{1} << 31U),
                "connection " + std::to_string(connection.number) + " has no message under way");
  streams_[stream].owner = guest & 0x7fffffffU;
  streams_[stream].is_guest = 1;
  return stream;
}

void Flows::come_back(const Connection& connection, Stream stream) {
  streams_[stream].owner = connection.number & 0x7fffffffU;
  streams_[stream].is_guest = 0;
  routes_[connection.number].stream = stream;
}

void Flows::add(const Connection& connection, std::uint64_t number, Bytes bytes, Time asked,
                Time not_before) {
  Route& route = routes_[connection.number];
  const Message message{number, bytes, asked + route.startup, not_before, none};
  count(route, 1);
  if (route.stream != none) {
    wait(route, message);
    return;
  }
  route.stream = static_cast<Stream>(sharing_.add_variable(route.links).index());
  if (streams_.size() <= route.stream) streams_.resize(route.stream + std::size_t{1});
  streams_[route.stream].owner = connection.number & 0x7fffffffU;
  streams_[route.stream].is_guest = 0;
  begin_when_ready(route.stream, route, message, message.ready);
}

void Flows::count(const Route& route, int messages) {
  if (!counts_messages_) return;
  for (const MaxMin::ConstraintId link : route.links)
    under_way_[link.index()] += static_cast<std::uint32_t>(messages);
}

void Flows::wait(Route& route, const Message& message) {
  std::uint32_t place = 0;
  if (free_waiting_.empty()) {
    place = static_cast<std::uint32_t>(waiting_.size());
    COLLSIM_CHECK(place != none, "2^32 messages wait for others of their connections");
    waiting_.push_back(message);
  } else {
    place = free_waiting_.back();
    free_waiting_.pop_back();
    waiting_[place] = message;
  }
  std::uint32_t& before =
      route.first_waiting == none ? route.first_waiting : waiting_[route.last_waiting].next;
  before = route.last_waiting = place;
}

void Flows::begin_when_ready(Stream stream, const Route& route, const Message& message, Time now) {
  const BatchId id =
      gathering({message.bytes, message.ready, message.not_before, route.latency, route.bandwidth},
                std::max(now, message.ready));
  streams_[stream].message = message.number;
  streams_[stream].batch = id;
  batches_[id].members.push_back(stream);
  ++batches_[id].size;
}

// The batch of this kind that will begin then.  It is not looked for among all: two batches that
// could be one cost a little more.
Flows::BatchId Flows::gathering(const Kind& kind, Time begins) {
  for (const BatchId id : latest_)
    if (id != none && batches_[id].event_at == begins && batches_[id].event == Event::begin &&
        batches_[id].kind == kind)
      return id;
  const BatchId id = new_batch(kind);
  latest_[next_latest_++ % latest_.size()] = id;
  schedule(begins, Event::begin, id);
  return id;
}

Flows::BatchId Flows::new_batch(Kind kind) {
  BatchId id = 0;
  if (free_batches_.empty()) {
    COLLSIM_CHECK(batches_.size() < (std::size_t{1} << 31U), "2^31 batches in flight at once");
    id = static_cast<BatchId>(batches_.size());
    batches_.emplace_back();
  } else {
    id = free_batches_.back();
    free_batches_.pop_back();
  }
  Batch& batch = batches_[id];
  batch.kind = kind;
  batch.remaining = static_cast<double>(kind.bytes);
  batch.rate = 0;
  batch.heir = none;
  if (!spare_room_.empty()) {
    batch.members = std::move(spare_room_.back());
    spare_room_.pop_back();
  }
  return id;
}

// Batches come and go with every message, so their room is kept, but for that of huge ones.
void Flows::keep_room(std::vector<Stream> members) {
  constexpr std::size_t most_kept = 64, most_members = 4096;
  const std::size_t room = members.capacity();
  if (room == 0 || room > most_members || spare_room_.size() >= most_kept) return;
  members.clear();
  spare_room_.push_back(std::move(members));
}

void Flows::let_go(BatchId id) {
  Batch& batch = batches_[id];
  if (--batch.size > 0) return;
  if (batch.event_at != Time::never()) schedule(Time::never(), batch.event, id);
  keep_room(std::exchange(batch.members, {}));
  free_batches_.push_back(id);
}

void Flows::schedule(Time when, Event event, BatchId id) {
  Batch& batch = batches_[id];
  if (batch.event_at == Time::never() && when != Time::never()) ++live_event_count_;
  if (batch.event_at != Time::never() && when == Time::never()) --live_event_count_;
  ++batch.version;
  batch.event_at = when;
  batch.event = event;
  if (when == Time::never()) return;
  if (event_count_ > 1024 && event_count_ > 2 * live_event_count_)
    drop_void_events();
  else
    push_event(id);
}

// One word that orders events of the same time: ends first, then by batch.
void Flows::push_event(BatchId id) {
  const Batch& batch = batches_[id];
  const std::uint64_t kind = batch.event == Event::begin ? 1 : 0;
  events_.push(batch.event_at.ps(),
               (kind << 63U) | (static_cast<std::uint64_t>(id) << 32U) | batch.version);
  ++event_count_;
}

// Whenever a batch ends sooner than it seemed, an event is void; this keeps them from accumulating.
void Flows::drop_void_events() {
  events_.clear();
  event_count_ = 0;
  for (std::size_t id = 0; id < batches_.size(); ++id)
    if (batches_[id].event_at != Time::never()) push_event(static_cast<BatchId>(id));
}

// The next batch whose event is due; false when there is none.
bool Flows::take_due(Time now, BatchId& id) {
  while (!events_.empty() && events_.top_time() == now.ps()) {
    const std::uint64_t event = events_.pop();
    --event_count_;
    id = static_cast<BatchId>((event >> 32U) & 0x7fffffffU);
    Batch& batch = batches_[id];
    if (batch.version != static_cast<std::uint32_t>(event)) continue;
    batch.event_at = Time::never();
    --live_event_count_;
    if (batch.event == Event::end) {
      const Time end = end_of(batch);
      if (end != now) {
        schedule(end, Event::end, id);
        continue;
      }
    }
    return true;
  }
  return false;
}

void Flows::begin_batch(BatchId id, Time now) {
  Batch& batch = batches_[id];
  batch.begun = batch.since = now;
  if (batch.kind.bytes == 0) return;
  for (const Stream stream : batch.members) sharing_.start(MaxMin::VariableId(stream));
  sharing_changed_ = true;
}

// The next message of a connection whose first one has ended.
void Flows::go_on_after(Stream stream, Time now) {
  const FirstMessage& first = streams_[stream];
  if (first.is_guest != 0) {
    sharing_.remove_variable(MaxMin::VariableId(stream));
    return;
  }
  Route& route = routes_[first.owner];
  count(route, -1);
  const std::uint32_t next = route.first_waiting;
  if (next == none) {
    sharing_.remove_variable(MaxMin::VariableId(stream));
    route.stream = none;
    return;
  }
  const Message message = waiting_[next];
  route.first_waiting = message.next;
  free_waiting_.push_back(next);
  begin_when_ready(stream, route, message, now);
}

Time Flows::end_of(const Batch& batch) {
  const Bytes bytes = batch.kind.bytes;
  const Time now = batch.since;
  const bool undisturbed = batch.remaining == static_cast<double>(bytes) &&
                           batch.rate == static_cast<double>(batch.kind.alone.bytes_per_second());
  if (undisturbed) return now + transfer_time(bytes, batch.kind.alone);
  const double longest = (Time::never() - now).seconds() * (1 - 1e-12);
  if (batch.remaining > batch.rate * longest) return Time::never();  // at this rate
  return now + transfer_time(bytes_left(batch), batch.rate);
}

// Less the rounding error of `remaining`, so that it cannot add a picosecond.
double Flows::bytes_left(const Batch& batch) {
  const double noise = 2e-15 * static_cast<double>(batch.kind.bytes);
  return std::max(0.0, batch.remaining - noise);
}

bool Flows::ends_after(const Batch& batch, Time when) {
  constexpr double surely = 1 - 1e-12;
  constexpr double ps_per_second = 1e12;
  const auto ps = static_cast<double>((when - batch.since).ps());
  return bytes_left(batch) * (surely * ps_per_second) > batch.rate * ps;
}

// Most changes of a rate move the end to and fro behind an event that lies before it.
void Flows::schedule_end(BatchId id) {
  const Batch& batch = batches_[id];
  if (batch.event_at != Time::never() && ends_after(batch, batch.event_at)) return;
  schedule(end_of(batch), Event::end, id);
}

void Flows::check_that_flows_end() const {
  for (const Batch& batch : batches_)
    if (batch.size > 0)
      throw_error(ErrorCode::overflow, "a message of " + bytes_to_text(batch.kind.bytes) +
                                           " at its share of the bandwidth takes longer than 64 "
                                           "bits of picoseconds can hold (106 days)");
}

void Flows::share(Time now) {
  if (!sharing_changed_) return;
  sharing_changed_ = false;
  for (const MaxMin::VariableId variable : sharing_.solve())
    change_rate(static_cast<Stream>(variable.index()), sharing_.rate(variable), now);
  for (const BatchId id : with_heirs_) batches_[id].heir = none;
  with_heirs_.clear();
}

// Members of a batch that get one rate form a batch of their own.
void Flows::change_rate(Stream stream, double rate, Time now) {
  const BatchId id = streams_[stream].batch;
  if (batches_[id].size == 1) {
    advance(batches_[id], rate, now);
    schedule_end(id);
    return;
  }
  BatchId heir = batches_[id].heir;
  if (heir == none || batches_[heir].rate != rate) {
    heir = new_batch(batches_[id].kind);
    const Batch& before = batches_[id];
    Batch& batch = batches_[heir];
    batch.begun = before.begun;
    batch.remaining = before.remaining;
    batch.rate = before.rate;
    batch.since = before.since;
    advance(batch, rate, now);
    schedule_end(heir);
    if (before.heir == none) with_heirs_.push_back(id);
    batches_[id].heir = heir;
  }
  streams_[stream].batch = heir;
  batches_[heir].members.push_back(stream);
  ++batches_[heir].size;
  let_go(id);
}

void Flows::advance(Batch& batch, double rate, Time now) {
  const double flown = batch.rate * (now - batch.since).seconds();
  batch.remaining = std::max(0.0, batch.remaining - flown);
  batch.rate = rate;
  batch.since = now;
}

}  // namespace collsim
