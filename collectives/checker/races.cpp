// SPDX-License-Identifier: Apache-2.0
#include "collectives/checker/races.hpp"

#include <algorithm>
#include <utility>

namespace collsim::checker {

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
