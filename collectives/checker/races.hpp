// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "collectives/checker/interval_map.hpp"
#include "collectives/checker/knowledge.hpp"

namespace collsim::checker {

// The accesses to one region of a rank's memory that a later one may conflict with: per stretch the
// last write and the reads since then by each lane.
class RaceDetector {
 public:
  struct Conflict {
    Epoch earlier;
    bool earlier_wrote = false;
    std::int64_t begin = 0;  // where in the region
    std::int64_t end = 0;
  };

  [[nodiscard]] std::optional<Conflict> read(const Knowledge& knowledge, const Epoch& reader,
                                             std::int64_t begin, std::int64_t end);
  [[nodiscard]] std::optional<Conflict> write(const Knowledge& knowledge, const Epoch& writer,
                                              std::int64_t begin, std::int64_t end);

 private:
  struct Accesses {
    std::optional<Epoch> writer;
    std::vector<Epoch> readers;
    bool operator==(const Accesses&) const = default;
  };
  struct AccessValues {
    using Value = Accesses;
    static Value advanced(Value value, std::int64_t) { return value; }
    static bool continues(const Value& value, std::int64_t, const Value& following) {
      return value == following;
    }
  };
  struct Read {
    std::int64_t begin, end;
    Accesses accesses;
  };

  IntervalMap<AccessValues> accesses_;
  std::vector<Read> reads_;
};

}  // namespace collsim::checker
