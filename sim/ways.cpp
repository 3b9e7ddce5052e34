// SPDX-License-Identifier: Apache-2.0
#include "sim/ways.hpp"

namespace collsim {

std::vector<Connection*> Ways::open(const Connection& connection, const Router::Choices& choices) {
  if (ways_.size() <= connection.number) ways_.resize(connection.number + std::size_t{1});
  belongs_to(connection, {connection.number, 0});
  std::vector<Connection*> opened;
  std::uint32_t place = 0;
  const auto nobody = static_cast<LaneNumber>(lanes_.all.size() + connection.number);
  for (const std::vector<LinkId>& links : choices.ways) {
    Connection& way = lanes_.connections.open(connection.source, nobody);
    lanes_.connections.set_links(way, links);
    ways_[connection.number].push_back(way.number);
    belongs_to(way, {connection.number, place});
    if (are_sprayed_over()) place += static_cast<std::uint32_t>(links.size());
    opened.push_back(&way);
  }
  return opened;
}

void Ways::belongs_to(const Connection& way, Belongs belongs) {
  if (belongs_.size() <= way.number) belongs_.resize(way.number + std::size_t{1});
  belongs_[way.number] = belongs;
}

void Ways::close(const Connection& connection) {
  if (!has(connection)) return;
  for (const std::uint32_t number : ways_[connection.number])
    lanes_.connections.close(lanes_.connections[number]);
  ways_[connection.number].clear();
}

void Ways::chose(const Connection& way, Bytes bytes) {
  for (const LinkId id : lanes_.connections.links(way)) {
    const Link& link = topology_.link(id);
    if (link.sharing != Sharing::exclusive) continue;
    const LinkSegment cost = topology_.cost_on(link, bytes);
    promised_[link.resource.index()] += cost.startup + transfer_time(bytes, cost.bandwidth);
  }
}

bool Ways::is_last_of_parts(const Connection& connection, std::uint64_t message, Time& arrival) {
  const auto found = parts_.find({connection.number, message});
  if (found == parts_.end()) return true;
  Parts& parts = found->second;
  parts.arrival = std::max(parts.arrival, arrival);
  arrival = parts.arrival;
  if (--parts.left > 0) return false;
  parts_.erase(found);
  return true;
}

bool Ways::is_first_to_depart(const Connection& connection, std::uint64_t message) {
  const auto found = parts_.find({connection.number, message});
  return found == parts_.end() || !std::exchange(found->second.departed, true);
}

}  // namespace collsim
