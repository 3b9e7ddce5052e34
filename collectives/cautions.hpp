// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "collectives/algorithms.hpp"
#include "topo/units.hpp"

namespace collsim {

// The relevant facts about a simulated case.
struct RanCase {
  const Algorithm* algorithm = nullptr;
  int ranks = 1, chunks = 1, channels = 1;
  std::int64_t elements = 0;  // as in Collective
  std::uint64_t messages = 0;
  Bytes wire_bytes = 0;
  Time time;
  bool links_are_free = false;  // known to have neither overhead nor latency
};

// Warnings about a case that is not wrong: the answer is valid, but probably not for the question
// that was meant.
enum class Caution { chunks_above_elements, small_chunks, free_messages };
inline constexpr std::array all_cautions{Caution::chunks_above_elements, Caution::small_chunks,
                                         Caution::free_messages};

[[nodiscard]] bool applies(Caution caution, const RanCase& ran);
// In words; only where it applies.
[[nodiscard]] std::string to_text(Caution caution, const RanCase& ran);

// Bytes; infinite without messages.
[[nodiscard]] double average_message(const RanCase& ran);

}  // namespace collsim
