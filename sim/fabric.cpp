// SPDX-License-Identifier: Apache-2.0
#include "sim/fabric.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "topo/error.hpp"

namespace collsim {

Fabric::Fabric(const Topology& topology, const ConnectionTable& connections)
    : topology_(topology),
      connections_(connections),
      free_at_(topology.links().size()),
      constraint_of_(topology.links().size()) {}

void Fabric::opened(const Connection& connection) {
  if (!connection.path.crosses(Path::fair)) return;
  if (routes_.size() <= connection.number) routes_.resize(connection.number + std::size_t{1});
  Route& route = routes_[connection.number];
  route = Route{};
  route.bandwidth = connection.path.bandwidth;
  route.startup = connection.path.startup;
  for (const LinkId id : connections_.links(connection)) {
    const Link& link = topology_.link(id);
    const auto bandwidth = static_cast<double>(link.bandwidth.bytes_per_second());
    if (link.sharing == Sharing::exclusive) {
      route.exclusive.push_back(id);
      route.exclusive_bandwidth = std::min(route.exclusive_bandwidth, bandwidth);
      continue;
    }
    std::uint32_t& known = constraint_of_[id.index()];
    if (known == 0)
      known = static_cast<std::uint32_t>(sharing_.add_constraint(bandwidth).index()) + 1;
    route.fair.push_back(MaxMin::ConstraintId(known - 1));
  }
}

std::span<const LinkId> Fabric::exclusive_links(const Connection& connection) const {
  if (connection.path.crosses(Path::fair)) return routes_[connection.number].exclusive;
  return connections_.links(connection);
}

bool Fabric::others_wait_for(std::span<const LinkId> links) const {
  return !queues_.empty() && std::any_of(links.begin(), links.end(), [this](LinkId link) {
    return queues_.contains(link.index());
  });
}

std::optional<Fabric::Passage> Fabric::carry_among_others(const Passage& passage, Time duration) {
  const Connection& connection = connections_[passage.connection];
  const std::span<const LinkId> links = exclusive_links(connection);
  const Time start = all_free_at(links, passage.ready);
  const bool must_wait = start == Time::never() || others_wait_for(links);
  if (!connection.path.crosses(Path::fair) && !must_wait)
    return settle(passage, links, start, duration);

  const TransferId id = new_transfer(passage, duration);
  if (links.empty()) {
    std::deque<TransferId>& in_order = routes_[connection.number].in_order;
    in_order.push_back(id);
    if (in_order.size() == 1)
      schedule(passage.ready + connection.path.startup, Event::begin_flow, id);
  } else if (must_wait) {
    for (const LinkId link : links) queues_[link.index()].push_back(id);
  } else {
    take_links(id, passage.ready);
  }
  return std::nullopt;
}

Fabric::TransferId Fabric::new_transfer(const Passage& passage, Time duration) {
  TransferId id = 0;
  if (free_transfers_.empty()) {
    COLLSIM_CHECK(transfers_.size() < (std::size_t{1} << 31U), "2^31 messages in flight at once");
    id = static_cast<TransferId>(transfers_.size());
    transfers_.emplace_back();
  } else {
    id = free_transfers_.back();
    free_transfers_.pop_back();
  }
  Transfer& transfer = transfers_[id];
  transfer.passage = passage;
  transfer.duration = duration;
  transfer.remaining = static_cast<double>(passage.bytes);
  transfer.rate = 0;
  transfer.flowing = false;
  return id;
}

void Fabric::schedule(Time when, Event event, TransferId id) {
  Transfer& transfer = transfers_[id];
  if (transfer.event_at == Time::never()) ++live_event_count_;
  if (when == Time::never()) --live_event_count_;
  ++transfer.version;
  transfer.event_at = when;
  transfer.event = event;
  if (when == Time::never()) return;
  if (event_count_ > 1024 && event_count_ > 2 * live_event_count_)
    drop_void_events();
  else
    push_event(id);
}

// One word that orders events of the same time: ends first, then by transfer.
void Fabric::push_event(TransferId id) {
  const Transfer& transfer = transfers_[id];
  const std::uint64_t kind = transfer.event == Event::begin_flow ? 1 : 0;
  events_.push(transfer.event_at.ps(),
               (kind << 63U) | (static_cast<std::uint64_t>(id) << 32U) | transfer.version);
  ++event_count_;
}

// Every change of a rate voids an event; this keeps void events from accumulating.
void Fabric::drop_void_events() {
  events_.clear();
  event_count_ = 0;
  for (std::size_t id = 0; id < transfers_.size(); ++id)
    if (transfers_[id].event_at != Time::never()) push_event(static_cast<TransferId>(id));
}

void Fabric::process(Time now) {
  while (!events_.empty() && events_.top_time() == now.ps()) {
    const std::uint64_t event = events_.pop();
    --event_count_;
    const auto id = static_cast<TransferId>((event >> 32U) & 0x7fffffffU);
    Transfer& transfer = transfers_[id];
    if (transfer.version != static_cast<std::uint32_t>(event)) continue;
    transfer.event_at = Time::never();
    --live_event_count_;
    if ((event >> 63U) != 0)
      begin_flow(id, now);
    else
      end_flow(id, now);
  }
}

void Fabric::take_links(TransferId id, Time now) {
  Transfer& transfer = transfers_[id];
  const std::uint32_t connection = transfer.passage.connection;
  const std::span<const LinkId> links = exclusive_links(connections_[connection]);
  const Time start = all_free_at(links, now);
  COLLSIM_CHECK(start != Time::never(), "a message takes a link that a flow holds");
  if (!connections_[connection].path.crosses(Path::fair)) {
    transfer.passage = settle(transfer.passage, links, start, transfer.duration);
    deliver(id, transfer.passage.left);
    return;
  }
  transfer.passage.departed = start;
  for (const LinkId link : links) free_at_[link.index()] = Time::never();
  schedule(transfer.passage.departed + routes_[connection].startup, Event::begin_flow, id);
}

void Fabric::begin_flow(TransferId id, Time now) {
  Transfer& transfer = transfers_[id];
  const Route& route = routes_[transfer.passage.connection];
  if (route.exclusive.empty()) transfer.passage.departed = now;
  transfer.flowing = true;
  transfer.since = now;
  if (transfer.passage.bytes == 0) {
    end_flow(id, now);
    return;
  }
  transfer.variable = sharing_.add_variable(route.fair, route.exclusive_bandwidth);
  if (transfer_of_.size() <= transfer.variable.index())
    transfer_of_.resize(transfer.variable.index() + 1);
  transfer_of_[transfer.variable.index()] = id;
  sharing_changed_ = true;
}

void Fabric::end_flow(TransferId id, Time now) {
  Transfer& transfer = transfers_[id];
  Route& route = routes_[transfer.passage.connection];
  transfer.flowing = false;
  if (transfer.passage.bytes > 0) {
    sharing_.remove_variable(transfer.variable);
    sharing_changed_ = true;
  }
  deliver(id, now);
  if (route.exclusive.empty()) {
    route.in_order.pop_front();
    if (route.in_order.empty()) return;
    const TransferId next = route.in_order.front();
    schedule(std::max(now, transfers_[next].passage.ready + route.startup), Event::begin_flow,
             next);
    return;
  }
  for (const LinkId link : route.exclusive) free_at_[link.index()] = now;
  serve_queues(route.exclusive, now);
}

bool Fabric::may_start(TransferId id) const {
  const std::span<const LinkId> links =
      exclusive_links(connections_[transfers_[id].passage.connection]);
  return std::all_of(links.begin(), links.end(), [this, id](LinkId link) {
    return free_at_[link.index()] != Time::never() && queues_.at(link.index()).front() == id;
  });
}

// A start may let the next in line start too, so repeat until none can.
void Fabric::serve_queues(std::vector<LinkId> links, Time now) {
  while (!links.empty()) {
    const LinkId freed = links.back();
    links.pop_back();
    const auto queue = queues_.find(freed.index());
    if (queue == queues_.end() || !may_start(queue->second.front())) continue;
    const TransferId id = queue->second.front();
    for (const LinkId link : exclusive_links(connections_[transfers_[id].passage.connection])) {
      const auto behind = queues_.find(link.index());
      behind->second.pop_front();
      if (behind->second.empty()) queues_.erase(behind);
      links.push_back(link);
    }
    take_links(id, now);
  }
}

Time Fabric::end_of(const Transfer& transfer, Time now) const {
  const Bandwidth alone = routes_[transfer.passage.connection].bandwidth;
  const bool undisturbed = transfer.remaining == static_cast<double>(transfer.passage.bytes) &&
                           transfer.rate == static_cast<double>(alone.bytes_per_second());
  if (undisturbed) return now + transfer_time(transfer.passage.bytes, alone);
  const double longest = (Time::never() - now).seconds() * (1 - 1e-12);
  if (transfer.remaining > transfer.rate * longest) return Time::never();  // at this rate
  // Less the rounding error of `remaining`, so that it cannot add a picosecond.
  const double noise = 2e-15 * static_cast<double>(transfer.passage.bytes);
  return now + transfer_time(std::max(0.0, transfer.remaining - noise), transfer.rate);
}

void Fabric::check_that_flows_end() const {
  for (const Transfer& transfer : transfers_)
    if (transfer.flowing)
      throw_error(ErrorCode::overflow, "a message of " + bytes_to_text(transfer.passage.bytes) +
                                           " at its share of the bandwidth takes longer than 64 "
                                           "bits of picoseconds can hold (106 days)");
}

void Fabric::share(Time now) {
  if (!sharing_changed_) return;
  sharing_changed_ = false;
  for (const MaxMin::VariableId variable : sharing_.solve()) {
    const TransferId id = transfer_of_[variable.index()];
    Transfer& transfer = transfers_[id];
    const double flown = transfer.rate * (now - transfer.since).seconds();
    transfer.remaining = std::max(0.0, transfer.remaining - flown);
    transfer.rate = sharing_.rate(variable);
    transfer.since = now;
    schedule(end_of(transfer, now), Event::end, id);
  }
}

void Fabric::deliver(TransferId id, Time left) {
  transfers_[id].passage.left = left;
  delivered_.push_back(transfers_[id].passage);
  free_transfers_.push_back(id);
}

}  // namespace collsim
