// SPDX-License-Identifier: Apache-2.0
#include "collectives/checker/knowledge.hpp"

#include <algorithm>
#include <utility>

namespace collsim::checker {

Knowledge::Knowledge(int positions, int lanes, bool barrier)
    : positions_(positions),
      lanes_(lanes),
      words_(barrier ? (static_cast<std::size_t>(positions) + 63) / 64 : 0) {
  const std::size_t all = static_cast<std::size_t>(positions) * static_cast<std::size_t>(lanes);
  came_.resize(all * words_);
  if (words_ > 0) {
    for (std::size_t lane = 0; lane < all; ++lane) {
      const std::size_t position = lane / static_cast<std::size_t>(lanes);
      came_[lane * words_ + position / 64] |= std::uint64_t{1} << (position % 64);
    }
  }
  if (orders_lanes()) {
    clocks_.resize(all);
    ticks_.resize(all);
  }
}

std::uint32_t Knowledge::capture(std::uint32_t lane, bool with_clock) {
  if (free_tokens_.empty()) {
    snapshots_.emplace_back();
    free_tokens_.push_back(static_cast<std::uint32_t>(snapshots_.size()));
  }
  const std::uint32_t token = free_tokens_.back();
  free_tokens_.pop_back();
  Snapshot& snapshot = snapshots_[token - 1];
  const auto first = came_.begin() + static_cast<std::ptrdiff_t>(lane * words_);
  snapshot.came.assign(first, first + static_cast<std::ptrdiff_t>(words_));
  snapshot.clock.clear();
  if (with_clock) snapshot.clock = clocks_[lane];
  return token;
}

std::uint32_t Knowledge::at_signal(std::uint32_t lane) {
  const std::uint32_t token = capture(lane, true);
  Clock& clock = snapshots_[token - 1].clock;
  const std::pair own{lane, ticks_[lane] + 1};
  clock.insert(std::lower_bound(clock.begin(), clock.end(), own), own);
  ++ticks_[lane];
  return token;
}

void Knowledge::learn_snapshot(std::uint32_t lane, std::uint32_t token) {
  const Snapshot& snapshot = snapshots_[token - 1];
  for (std::size_t word = 0; word < words_; ++word)
    came_[lane * words_ + word] |= snapshot.came[word];
  if (!snapshot.clock.empty()) {
    Clock& own = clocks_[lane];
    for (const auto& heard : snapshot.clock) {
      if (heard.first == lane) continue;
      const auto at = std::lower_bound(own.begin(), own.end(), std::pair(heard.first, 0U));
      if (at != own.end() && at->first == heard.first)
        at->second = std::max(at->second, heard.second);
      else
        own.insert(at, heard);
    }
  }
  free_tokens_.push_back(token);
}

bool Knowledge::follows(std::uint32_t lane, const Epoch& epoch) const {
  if (lane == epoch.lane) return true;
  const Clock& clock = clocks_[lane];
  const auto at = std::lower_bound(clock.begin(), clock.end(), std::pair(epoch.lane, 0U));
  return at != clock.end() && at->first == epoch.lane && at->second > epoch.tick;
}

std::optional<int> Knowledge::not_awaited_by(int position) const {
  for (std::size_t word = 0; word < words_; ++word) {
    std::uint64_t came = 0;
    for (std::size_t lane = 0; lane < static_cast<std::size_t>(lanes_); ++lane) {
      const std::size_t index =
          static_cast<std::size_t>(position) * static_cast<std::size_t>(lanes_);
      came |= came_[(index + lane) * words_ + word];
    }
    for (std::size_t bit = 0; bit < 64; ++bit) {
      const std::size_t other = word * 64 + bit;
      if (other >= static_cast<std::size_t>(positions_)) break;
      if ((came >> bit & 1U) == 0) return static_cast<int>(other);
    }
  }
  return std::nullopt;
}

std::optional<RaceDetector::Conflict> RaceDetector::read(const Knowledge& knowledge,
                                                         const Epoch& reader, std::int64_t begin,
                                                         std::int64_t end) {
  std::optional<Conflict> conflict;
  reads_.clear();
  accesses_.visit(begin, end, [&](std::int64_t from, std::int64_t to, const auto* segment) {
    Read read{from, to, segment ? segment->value : Accesses{}};
    const auto& writer = read.accesses.writer;
    if (!conflict && writer && !knowledge.follows(reader.lane, *writer))
      conflict = Conflict{*writer, true, from, to};
    auto& readers = read.accesses.readers;
    // Of two reads by one lane the later one is the harder to follow.
    std::erase_if(readers, [&](const Epoch& epoch) { return epoch.lane == reader.lane; });
    readers.insert(std::lower_bound(readers.begin(), readers.end(), reader,
                                    [](const Epoch& a, const Epoch& b) { return a.lane < b.lane; }),
                   reader);
    if (!segment || segment->value != read.accesses) reads_.push_back(std::move(read));
  });
  for (Read& read : reads_) accesses_.write(read.begin, read.end, std::move(read.accesses));
  return conflict;
}

std::optional<RaceDetector::Conflict> RaceDetector::write(const Knowledge& knowledge,
                                                          const Epoch& writer, std::int64_t begin,
                                                          std::int64_t end) {
  std::optional<Conflict> conflict;
  accesses_.visit(begin, end, [&](std::int64_t from, std::int64_t to, const auto* segment) {
    if (!segment || conflict) return;
    const auto& last = segment->value.writer;
    if (last && !knowledge.follows(writer.lane, *last)) conflict = Conflict{*last, true, from, to};
    for (const Epoch& reader : segment->value.readers)
      if (!conflict && !knowledge.follows(writer.lane, reader))
        conflict = Conflict{reader, false, from, to};
  });
  accesses_.write(begin, end, Accesses{writer, {}});
  return conflict;
}

}  // namespace collsim::checker
