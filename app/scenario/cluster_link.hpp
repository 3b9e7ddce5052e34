// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "app/scenario/object_reader.hpp"
#include "topo/topology.hpp"

namespace collsim {

// "exclusive", "fair".
[[nodiscard]] const Vocabulary& sharing_words();
[[nodiscard]] std::string_view to_string(Sharing sharing);

// Reads bandwidth (required), latency, overhead, sharing and duplex of a link from its object.
[[nodiscard]] std::optional<LinkParameters> read_link_keys(ObjectReader& link);
// In place of a link that is wrong, so that what stands on it is read for its own mistakes.
inline constexpr LinkParameters stand_in_link{.bandwidth = Bandwidth(1)};
// The same of the object at `key`, which must be there; when it is wrong, the stand-in.
[[nodiscard]] LinkParameters read_link(ObjectReader& owner, std::string_view key);

// Reads those of the keys that are written into `parameters`; false when one was wrong.  Values that
// are not written stay as they are.
struct LinkKeysRead {
  bool right = true;
  bool any = false;
};
[[nodiscard]] LinkKeysRead change_link(ObjectReader& change, LinkParameters& parameters);

// Reports a latency or an overhead that is too long for a link; false when it did.
[[nodiscard]] bool check_link_time(ObjectReader& reader, std::string_view key, Time time);

// For people: "25 GB/s, 5 us per message, 1 us latency".
[[nodiscard]] std::string in_words(const LinkParameters& link);

}  // namespace collsim
