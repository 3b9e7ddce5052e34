// SPDX-License-Identifier: Apache-2.0
#include "sim/flows.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "topo/error.hpp"

namespace collsim {

Flows::Flows(const Topology& topology, const ConnectionTable& connections)
    : topology_(topology), connections_(connections), constraint_of_(topology.links().size()) {}

void Flows::opened(const Connection& connection) {
  if (routes_.size() <= connection.number) routes_.resize(connection.number + std::size_t{1});
  Route& route = routes_[connection.number];
  route = Route{};
  for (const LinkId id : connections_.links(connection)) {
    const Link& link = topology_.link(id);
    if (link.sharing == Sharing::exclusive) continue;
    route.startup = std::max(route.startup, link.startup);
    route.latency += link.latency;
    route.bandwidth = std::min(route.bandwidth, link.bandwidth);
    std::uint32_t& known = constraint_of_[link.resource.index()];
    if (known == 0) {
      const auto bandwidth = static_cast<double>(link.bandwidth.bytes_per_second());
      known = static_cast<std::uint32_t>(sharing_.add_constraint(bandwidth).index()) + 1;
      under_way_.push_back(0);
    }
    route.links.emplace_back(known - 1);
  }
}

void Flows::add(const Connection& connection, std::uint64_t message, Bytes bytes, Time asked,
                Time not_before) {
  Route& route = routes_[connection.number];
  const Time ready = asked + route.startup;
  const TransferId id = new_transfer({connection.number, message, bytes, ready, not_before});
  route.in_order.push_back(id);
  for (const MaxMin::ConstraintId link : route.links) ++under_way_[link.index()];
  if (route.in_order.size() == 1) schedule(ready, Event::begin_flow, id);
}

Flows::TransferId Flows::new_transfer(const Flow& flow) {
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
  transfer.flow = flow;
  transfer.remaining = static_cast<double>(flow.bytes);
  transfer.rate = 0;
  transfer.flowing = false;
  return id;
}

void Flows::schedule(Time when, Event event, TransferId id) {
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
void Flows::push_event(TransferId id) {
  const Transfer& transfer = transfers_[id];
  const std::uint64_t kind = transfer.event == Event::begin_flow ? 1 : 0;
  events_.push(transfer.event_at.ps(),
               (kind << 63U) | (static_cast<std::uint64_t>(id) << 32U) | transfer.version);
  ++event_count_;
}

// Every change of a rate voids an event; this keeps void events from accumulating.
void Flows::drop_void_events() {
  events_.clear();
  event_count_ = 0;
  for (std::size_t id = 0; id < transfers_.size(); ++id)
    if (transfers_[id].event_at != Time::never()) push_event(static_cast<TransferId>(id));
}

void Flows::process(Time now) {
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

void Flows::begin_flow(TransferId id, Time now) {
  Transfer& transfer = transfers_[id];
  transfer.flow.begun = now;
  transfer.flowing = true;
  transfer.since = now;
  if (transfer.flow.bytes == 0) {
    end_flow(id, now);
    return;
  }
  transfer.variable = sharing_.add_variable(routes_[transfer.flow.connection].links);
  if (transfer_of_.size() <= transfer.variable.index())
    transfer_of_.resize(transfer.variable.index() + 1);
  transfer_of_[transfer.variable.index()] = id;
  sharing_changed_ = true;
}

void Flows::end_flow(TransferId id, Time now) {
  Transfer& transfer = transfers_[id];
  Route& route = routes_[transfer.flow.connection];
  transfer.flowing = false;
  if (transfer.flow.bytes > 0) {
    sharing_.remove_variable(transfer.variable);
    sharing_changed_ = true;
  }
  transfer.flow.ended = std::max(now, transfer.flow.not_before);
  ended_.push_back(transfer.flow);
  free_transfers_.push_back(id);
  route.in_order.pop_front();
  for (const MaxMin::ConstraintId link : route.links) --under_way_[link.index()];
  if (route.in_order.empty()) return;
  const TransferId next = route.in_order.front();
  schedule(std::max(now, transfers_[next].flow.ready), Event::begin_flow, next);
}

Time Flows::end_of(const Transfer& transfer, Time now) const {
  const Bandwidth alone = routes_[transfer.flow.connection].bandwidth;
  const bool undisturbed = transfer.remaining == static_cast<double>(transfer.flow.bytes) &&
                           transfer.rate == static_cast<double>(alone.bytes_per_second());
  if (undisturbed) return now + transfer_time(transfer.flow.bytes, alone);
  const double longest = (Time::never() - now).seconds() * (1 - 1e-12);
  if (transfer.remaining > transfer.rate * longest) return Time::never();  // at this rate
  // Less the rounding error of `remaining`, so that it cannot add a picosecond.
  const double noise = 2e-15 * static_cast<double>(transfer.flow.bytes);
  return now + transfer_time(std::max(0.0, transfer.remaining - noise), transfer.rate);
}

void Flows::check_that_flows_end() const {
  for (const Transfer& transfer : transfers_)
    if (transfer.flowing)
      throw_error(ErrorCode::overflow, "a message of " + bytes_to_text(transfer.flow.bytes) +
                                           " at its share of the bandwidth takes longer than 64 "
                                           "bits of picoseconds can hold (106 days)");
}

void Flows::share(Time now) {
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

}  // namespace collsim
