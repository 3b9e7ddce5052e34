// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "tests/contains.hpp"
#include "topo/error.hpp"
#include "topo/routes.hpp"
#include "topo/shapes.hpp"

namespace collsim {

// Expects an Error of this code whose text contains every one of `words`.
template <class Action>
void expect_error(ErrorCode code, const std::vector<std::string>& words, const Action& action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(to_string(error.code()), to_string(code)) << error.what();
    for (const std::string& word : words) expect_contains(error.what(), word);
    return;
  }
  ADD_FAILURE() << "no error, expected " << to_string(code);
}

inline const LinkParameters plain_link{.bandwidth = gigabytes_per_second(10),
                                       .latency = nanoseconds(100)};

inline LinkParameters link_of(std::int64_t gigabytes) {
  return {.bandwidth = gigabytes_per_second(gigabytes)};
}

inline std::vector<LinkId> route(Router& router, std::size_t from, std::size_t to) {
  const auto found = router.route(Rank(from), Rank(to));
  return {found.begin(), found.end()};
}

inline std::vector<LinkId> searched(Router& router, std::size_t from, std::size_t to) {
  const auto found = router.searched_route(Rank(from), Rank(to));
  return {found.begin(), found.end()};
}

// "gpu0 switch0 gpu1"; says so when a link does not start where the one before ends.
inline std::string way(const Topology& topology, const std::vector<LinkId>& links) {
  std::string text;
  for (std::size_t i = 0; i < links.size(); ++i) {
    const Link& link = topology.link(links[i]);
    if (i == 0)
      text = topology.name(link.from);
    else if (topology.link(links[i - 1]).to != link.from)
      text += " (broken)";
    text += " " + topology.name(link.to);
  }
  return text;
}

inline std::string way(const Topology& topology, std::size_t from, std::size_t to) {
  Router router(topology);
  return way(topology, route(router, from, to));
}

inline std::int64_t width(const Topology& topology, const std::vector<LinkId>& links) {
  std::int64_t narrowest = std::numeric_limits<std::int64_t>::max();
  for (const LinkId id : links)
    narrowest = std::min(narrowest, topology.link(id).bandwidth.bytes_per_second());
  return narrowest;
}

// The links join on to each other, from the one rank to the other, and none is used twice.
inline bool leads(const Topology& topology, const std::vector<LinkId>& links, std::size_t from,
                  std::size_t to) {
  NodeId at = topology.node_of(Rank(from));
  for (const LinkId id : links) {
    if (topology.link(id).from != at) return false;
    at = topology.link(id).to;
  }
  std::vector<LinkId> sorted = links;
  std::sort(sorted.begin(), sorted.end());
  return at == topology.node_of(Rank(to)) &&
         std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end();
}

}  // namespace collsim
