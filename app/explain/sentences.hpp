// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "app/explain/explanation.hpp"

namespace collsim {

// Readable real numbers, as to_text() writes whole ones; zero is "0", and no value is an error.
[[nodiscard]] std::string seconds_text(double seconds);
[[nodiscard]] std::string rate_text(double bytes_per_second);

// Internal to explanations: the sentences that text and JSON share.

[[nodiscard]] std::string percent_more(Time part, Time whole);  // may be beyond 100%
[[nodiscard]] std::string percent(Time part, Time whole);       // "32%"
[[nodiscard]] std::string count_in_words(std::int64_t count, std::string_view one);  // "2 ranks"

// "A broadcast of 64 MiB from rank 0 to 8 ranks along a chain, cut into 16 messages."
[[nodiscard]] std::string question_of(const Explanation& explanation);
[[nodiscard]] std::string path_line_in_words(const PathLine& line);
[[nodiscard]] std::string bound_in_words(const Explanation& explanation);
// What simulation and formula differ by, and why.
[[nodiscard]] std::string comparison_in_words(const Explanation& explanation);
// "Twice the bandwidth of all links would save 1.2 ms (32%)."
[[nodiscard]] std::string knob_in_words(const Knob& knob, Time now);
// What one share of the path means; empty when it is zero.
struct ShareWords {
  std::string_view name;
  Time time;
  std::string meaning;
};
[[nodiscard]] std::vector<ShareWords> shares_in_words(const Explanation& explanation);

}  // namespace collsim
