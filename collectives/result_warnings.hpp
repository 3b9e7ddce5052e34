// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "collectives/algorithms.hpp"
#include "topo/units.hpp"

namespace collsim {

// A case that was simulated, as far as it matters here.
struct RunFacts {
  const Algorithm* algorithm = nullptr;
  int ranks = 1, chunks = 1, channels = 1;
  std::int64_t elements = 0;  // as in Collective
  std::uint64_t messages = 0;
  Bytes wire_bytes = 0;
  Time time;
  bool links_are_free = false;  // known to have neither startup nor latency
};

// What is worth saying about a case though nothing is wrong with it: the answer is valid, but
// probably not to the question that was meant.
enum class ResultWarning {
  chunks_above_elements,
  channels_above_elements,
  small_chunks,
  free_messages
};
inline constexpr std::array all_result_warnings{
    ResultWarning::chunks_above_elements, ResultWarning::channels_above_elements,
    ResultWarning::small_chunks, ResultWarning::free_messages};

[[nodiscard]] bool applies(ResultWarning warning, const RunFacts& ran);
// In words; only where it applies.
[[nodiscard]] std::string to_text(ResultWarning warning, const RunFacts& ran);

// Bytes; infinite without messages.
[[nodiscard]] double average_message(const RunFacts& ran);

}  // namespace collsim
