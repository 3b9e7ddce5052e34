// SPDX-License-Identifier: Apache-2.0
#include "collectives/cost/link_load.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <utility>

#include "collectives/message_router.hpp"

namespace collsim {
namespace {

constexpr int most_instructions = 200'000;
constexpr std::size_t most_links = 200'000;  // of all routes together
// Devices that searches for routes may look at, if each search looks at all of them.
constexpr std::size_t most_searched = 20'000'000;

struct MessagesOnLink {
  double messages = 0;
  double bytes = 0;

  void add(const MessagesOnLink& more) {
    messages += more.messages;
    bytes += more.bytes;
  }
};
// What a position sends and what it gets, apart: another's messages may be the same ones.
using PartOfLink = std::pair<int, LinkId>;
using MessagesOnLinks = std::map<PartOfLink, MessagesOnLink>;

std::set<int> positions_to_read(const Collective& collective) {
  const int ranks = collective.size();
  std::set<int> positions{0};
  for (const int distance : {0, 1, ranks / 2, ranks - 1})
    positions.insert((collective.root + distance) % ranks);
  return positions;
}

class MessageReader {
 public:
  MessageReader(const Schedule& schedule, const Topology& topology)
      : schedule_(schedule),
        router_(topology, schedule),
        devices_to_search_(topology.parts().ways == nullptr ? topology.node_count() : 0) {}

  // Of all lanes of a rank: the first links of what it sends, the last of what it gets.
  void read(int position) {
    const Rank me = schedule_.rank(position);
    for (int number = 0; number < schedule_.lanes(); ++number) {
      const Lane lane(static_cast<std::size_t>(number));
      LaneProgram program = schedule_.program(position, lane);
      LastPeer sent, received;
      while (const Instruction* const instruction = program.next()) {
        has_read_all_ = has_read_all_ && ++read_ <= most_instructions && walked_ <= most_links &&
                        searched_ <= most_searched;
        if (!has_read_all_) return;
        const Bytes bytes = instruction->count * size_of(schedule_.collective().type);
        if (sends(instruction->op) && instruction->to.rank != me) {
          if (const Endpoint to = instruction->to; sent.peer != to) {
            const std::span<const LinkId> links = route({me, lane}, to);
            sent = {to, links.empty() ? nullptr : &links_[{2 * position, links.front()}]};
          }
          sent.add(bytes);
        }
        if (receives(instruction->op) && instruction->from.rank != me) {
          if (const Endpoint from = instruction->from; received.peer != from) {
            const std::span<const LinkId> links = route(from, {me, lane});
            received = {from, links.empty() ? nullptr : &links_[{2 * position + 1, links.back()}]};
          }
          received.add(bytes);
        }
      }
    }
  }

  [[nodiscard]] bool has_read_all() const { return has_read_all_; }
  [[nodiscard]] const MessagesOnLinks& links() const { return links_; }

 private:
  // Of a lane's last message: most lanes go on with the same peers.
  struct LastPeer {
    std::optional<Endpoint> peer;
    MessagesOnLink* on_link = nullptr;  // nullptr: both lanes run in one switch

    void add(Bytes bytes) const {
      if (on_link != nullptr) on_link->add({1, static_cast<double>(bytes)});
    }
  };

  // Where routes are searched, peers that were not met before take time.
  [[nodiscard]] std::span<const LinkId> route(Endpoint from, Endpoint to) {
    if (devices_to_search_ > 0 && met_.emplace(from.rank, to.rank).second)
      searched_ += devices_to_search_;
    const std::span<const LinkId> links = router_.route(from, to);
    walked_ += links.size();
    return links;
  }

  const Schedule& schedule_;
  MessageRouter router_;
  const std::size_t devices_to_search_;
  std::size_t searched_ = 0;
  std::set<std::pair<Rank, Rank>> met_;
  int read_ = 0;
  std::size_t walked_ = 0;
  bool has_read_all_ = true;
  MessagesOnLinks links_;
};

// By link, of all lanes of all ranks.
std::vector<MessagesOnLink> messages_on_all_links(const Schedule& schedule,
                                                  const Topology& topology) {
  std::vector<MessagesOnLink> links(topology.links().size());
  MessageRouter router(topology, schedule);
  std::map<Endpoint, MessagesOnLink> sent;
  for (int position = 0; position < schedule.size(); ++position)
    for (int number = 0; number < schedule.lanes(); ++number) {
      const Rank me = schedule.rank(position);
      const Lane lane(static_cast<std::size_t>(number));
      sent.clear();
      LaneProgram program = schedule.program(position, lane);
      while (const Instruction* const instruction = program.next())
        if (sends(instruction->op) && instruction->to.rank != me)
          sent[instruction->to].add(
              {1, static_cast<double>(instruction->count * schedule.element_size())});
      for (const auto& [peer, messages] : sent)
        for (const LinkId link : router.route({me, lane}, peer)) links[link.index()].add(messages);
    }
  return links;
}

Schedule in_chunks(const Collective& collective, AlgorithmChoice choice, int chunks) {
  choice.chunk_size.reset();
  choice.chunks = chunks;
  return make_schedule(collective, choice);
}

// One for every message; a fair link overlaps them.
bool takes_startups(const Link& link) {
  return link.sharing == Sharing::exclusive && link.startup > Time{};
}

}  // namespace

LinkLoad::LinkLoad(const Collective& collective, const AlgorithmChoice& choice,
                   const Topology& topology) {
  const Schedule once = in_chunks(collective, choice, 1);
  const Schedule twice = in_chunks(collective, choice, 2);
  if (chooses_per_message(topology)) return;
  MessageReader whole(once, topology);
  MessageReader cut(twice, topology);
  const std::span<const Link> all = topology.links();
  const bool startups_add_up = std::any_of(all.begin(), all.end(), takes_startups);
  for (const int position : positions_to_read(collective)) {
    whole.read(position);
    if (startups_add_up) cut.read(position);
  }
  const bool complete = startups_add_up && whole.has_read_all() && cut.has_read_all();
  for (const auto& [part, of_whole] : whole.links())
    add(topology.link(part.second), of_whole.messages, of_whole.bytes,
        complete ? cut.links().at(part).messages - of_whole.messages : 0);
}

LinkLoad LinkLoad::of_all_links(const Collective& collective, const AlgorithmChoice& choice,
                                const Topology& topology) {
  LinkLoad load;
  if (chooses_per_message(topology)) return load;
  const auto whole = messages_on_all_links(in_chunks(collective, choice, 1), topology);
  const auto cut = messages_on_all_links(in_chunks(collective, choice, 2), topology);
  for (std::size_t i = 0; i < whole.size(); ++i)
    if (whole[i].messages > 0)
      load.add(topology.link(LinkId(i)), whole[i].messages, whole[i].bytes,
               cut[i].messages - whole[i].messages);
  return load;
}

void LinkLoad::add(const Link& link, double messages, double bytes, double more_per_chunk) {
  const double startup = takes_startups(link) ? link.startup.seconds() : 0;
  const auto bandwidth = static_cast<double>(link.bandwidth.bytes_per_second());
  loads_.push_back(
      {messages * startup + bytes / bandwidth + link.latency.seconds(), more_per_chunk * startup});
}

Time LinkLoad::at_least(int chunks) const {
  double seconds = 0;
  for (const Load& load : loads_)
    seconds = std::max(seconds, load.fixed + (chunks - 1) * load.per_chunk);
  // A little less, for the errors of doubles.
  constexpr double surely = 1 - 1e-12;
  constexpr double longest = 9e6;  // a Time holds no more
  return Time(static_cast<std::int64_t>(std::min(seconds, longest) * surely * 1e12));
}

}  // namespace collsim
