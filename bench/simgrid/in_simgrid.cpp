// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <chrono>
#include <simgrid/s4u.hpp>
#include <string>

#include "bench/simgrid/peer_cases.hpp"

namespace collsim::bench {

namespace {

namespace sg = simgrid::s4u;

constexpr double delay = 1e-9 * delay_ns;

// Messages carry no data.
char nothing;

// A mailbox whose owner is set receives like collsim's connections: a message starts when it is
// sent, not only when its receiver asks for it.
sg::Mailbox* own_mailbox(int me) {
  sg::Mailbox* const mailbox = sg::Mailbox::by_name(std::to_string(me));
  mailbox->set_receiver(sg::Actor::self());
  return mailbox;
}

void ring_all_reduce(const PeerCase& peer_case, int me) {
  const auto bytes = static_cast<std::uint64_t>(peer_case.message_bytes);
  sg::Mailbox* const mine = own_mailbox(me);
  sg::Mailbox* const next = sg::Mailbox::by_name(std::to_string((me + 1) % peer_case.ranks));
  sg::CommPtr sent = next->put_async(&nothing, bytes);
  for (int step = 1; step < 2 * (peer_case.ranks - 1); ++step) {
    mine->get<char>();
    sent->wait();
    sent = next->put_async(&nothing, bytes);
  }
  mine->get<char>();
  sent->wait();
  mine->set_receiver(nullptr);
}

void chain_broadcast(const PeerCase& peer_case, int me) {
  const auto bytes = static_cast<std::uint64_t>(peer_case.message_bytes);
  sg::Mailbox* const mine = own_mailbox(me);
  const bool last = me == peer_case.ranks - 1;
  sg::Mailbox* const next = sg::Mailbox::by_name(std::to_string(me + 1));
  sg::CommPtr sent;
  for (int chunk = 0; chunk < peer_case.chunks; ++chunk) {
    if (me != 0) mine->get<char>();
    if (sent) sent->wait();
    if (!last) sent = next->put_async(&nothing, bytes);
  }
  if (sent) sent->wait();
  mine->set_receiver(nullptr);
}

void pairwise_all_to_all(const PeerCase& peer_case, int me) {
  const auto bytes = static_cast<std::uint64_t>(peer_case.message_bytes);
  const int ranks = peer_case.ranks;
  for (int distance = 1; distance < ranks; ++distance) {
    const int target = (me + distance) % ranks;
    const int source = (me + ranks - distance) % ranks;
    const auto mailbox = [](int from, int to) {
      return sg::Mailbox::by_name(std::to_string(from) + ">" + std::to_string(to));
    };
    const sg::CommPtr sent = mailbox(me, target)->put_async(&nothing, bytes);
    mailbox(source, me)->get<char>();
    sent->wait();
  }
}

std::vector<sg::Host*> build_ring(int ranks) {
  sg::NetZone* const zone = sg::create_full_zone("ring");
  std::vector<sg::Host*> hosts;
  for (int rank = 0; rank < ranks; ++rank)
    hosts.push_back(zone->create_host(std::to_string(rank), 1e9));
  const std::vector<std::int64_t> speeds = link_speeds(ranks);
  for (std::size_t from = 0; from < hosts.size(); ++from) {
    sg::Link* const link =
        zone->create_link("link" + std::to_string(from), static_cast<double>(speeds[from]));
    link->set_latency(delay)->seal();
    zone->add_route(hosts[from]->get_netpoint(), hosts[(from + 1) % hosts.size()]->get_netpoint(),
                    nullptr, nullptr, {sg::LinkInRoute(link)}, false);
  }
  zone->seal();
  return hosts;
}

std::vector<sg::Host*> build_star(int ranks) {
  sg::NetZone* const zone = sg::create_star_zone("star");
  std::vector<sg::Host*> hosts;
  for (int rank = 0; rank < ranks; ++rank) {
    sg::Host* const host = zone->create_host(std::to_string(rank), 1e9);
    const auto port = [&](const char* direction) {
      sg::Link* const link =
          zone->create_link(direction + std::to_string(rank), static_cast<double>(port_speed));
      link->set_latency(delay)->seal();
      return std::vector{sg::LinkInRoute(link)};
    };
    zone->add_route(host->get_netpoint(), nullptr, nullptr, nullptr, port("out"), false);
    zone->add_route(nullptr, host->get_netpoint(), nullptr, nullptr, port("in"), false);
    hosts.push_back(host);
  }
  zone->seal();
  return hosts;
}

}  // namespace

Outcome run_in_simgrid(const PeerCase& peer_case) {
  // The plain model, without TCP's windows, slow start and reverse traffic, and times finer than
  // the default of a nanosecond.
  std::array<std::string, 7> arguments{"peers",
                                       "--log=root.thres:error",
                                       "--cfg=network/model:CM02",
                                       "--cfg=network/crosstraffic:0",
                                       "--cfg=network/TCP-gamma:0",
                                       "--cfg=surf/precision:1e-13",
                                       "--cfg=contexts/stack-size:64"};
  std::array<char*, 8> argv{};
  for (std::size_t i = 0; i < arguments.size(); ++i) argv[i] = arguments[i].data();
  int argc = static_cast<int>(arguments.size());
  sg::Engine engine(&argc, argv.data());

  const std::vector<sg::Host*> hosts = peer_case.shape == Shape::all_to_all
                                           ? build_star(peer_case.ranks)
                                           : build_ring(peer_case.ranks);
  const auto rank = peer_case.shape == Shape::ring    ? ring_all_reduce
                    : peer_case.shape == Shape::chain ? chain_broadcast
                                                      : pairwise_all_to_all;
  for (int me = 0; me < peer_case.ranks; ++me)
    sg::Actor::create(std::to_string(me), hosts[static_cast<std::size_t>(me)],
                      [&peer_case, rank, me] { rank(peer_case, me); });
  const auto begin = std::chrono::steady_clock::now();
  engine.run();
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin;
  return {elapsed.count(), sg::Engine::get_clock()};
}

}  // namespace collsim::bench
