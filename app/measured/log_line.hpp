// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace collsim {

// The lines of a log as their program wrote them, without what was put around them on the way to
// the reader: by mpirun, srun, kubectl, a terminal, a web page.

// The same text, in which terminal colours, bars of tables, blanks of web pages and other controls
// are plain blanks, so that every byte stays where it was.
[[nodiscard]] std::string plain_log(std::string_view text);

// Without blanks around it and tags before it: "[1,0]<stdout>:", "0: " (srun --label), "[0] ", ">
// ", a time stamp, "[pod/worker-0/main] ", "host: " or "pod container " before a number or a '#'.
[[nodiscard]] std::string_view without_tags(std::string_view line);

[[nodiscard]] std::string_view trimmed(std::string_view text);

// Words between blanks; no more of them than any line of interest has.
using Words = std::vector<std::string_view>;
inline constexpr std::size_t most_words = 64;
void split_words(std::string_view line, Words& words);

// The whole word as a finite number: "12.5", "1e+06", "-1".
[[nodiscard]] std::optional<double> decimal_in(std::string_view word);
[[nodiscard]] std::optional<std::int64_t> integer_in(std::string_view word);
// The number that follows `key` in the text: of "nThread 1 nGpus 8" after "nGpus" 8.
[[nodiscard]] std::optional<std::int64_t> integer_after(std::string_view text,
                                                        std::string_view key);

// "HOST:PID:TID [0] NCCL INFO text", which other lines may run into.
struct DebugLine {
  std::string_view before;  // what another line left there, without tags behind it
  std::string_view prefix;  // "HOST:PID:TID"; may begin with the end of `before`: "-1HOST:PID:TID"
  std::string_view text;    // behind "NCCL INFO"
};
[[nodiscard]] std::optional<DebugLine> find_debug_line(std::string_view line);

}  // namespace collsim
