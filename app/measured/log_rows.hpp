// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/measured/log_line.hpp"
#include "topo/units.hpp"

namespace collsim {

// Rows of nccl-tests, in the columns of any version:
//
//   size count type [redop] [root]   time algbw busbw [#wrong|error|res ...]   the same in place
//
// They are told apart by the header's names and by the number of words, never by position on the
// line, and an assignment of words to columns must make algbw = size / time.

// What a header says; before one is seen, what most versions print.
struct LogHeader {
  bool seen = false;
  bool reduction = true, root = true;
  bool halves = true;  // out of place and in place
  std::vector<std::string> half = {"time", "algbw", "busbw", "#wrong"};  // of one half
  bool counts_wrong = true;  // "#wrong"; older versions print the largest error
  bool of_2017 = false;      // "bytes", "N": times are in ms
};
// Nothing when these are not the words of a header.
[[nodiscard]] std::optional<LogHeader> read_log_header(const Words& words);

struct LogHalf {
  double time = 0, algbw = 0, busbw = 0;  // as printed: us or ms, GB/s; busbw < 0: it is not
  std::optional<std::int64_t> wrong;      // or whether the error was printed: 0
  bool checked = false;
};

struct LogRow {
  Bytes size = 0;
  std::int64_t count = 0;
  std::string type, reduction;  // as printed; reduction: empty when there is no such column
  bool has_root = false;
  int root = -1;
  LogHalf out;
  std::optional<LogHalf> in_place;
  std::string algorithm, protocol;  // where the row itself has them
  std::uint32_t line = 0;
  // Whether algbw is size / time in us, in ms; neither where it is too small to tell.
  bool fits_us = false, fits_ms = false;
};

// The part before the times, and how many words it took.
struct RowHead {
  LogRow row;
  std::size_t words = 0;
};
// `more`: further words may belong to it, such as the root.
[[nodiscard]] std::optional<RowHead> read_row_head(const Words& words);

// The numbers of a row behind size, count, type and redop: [root] and one or two halves.  Nothing
// when they are not.
[[nodiscard]] std::optional<LogRow> finish_row(LogRow head, const Words& words,
                                               const LogHeader& header);
// The same of a row that other lines run into, with algbw = size / time in both halves: what is
// left of such a row can look like another.
[[nodiscard]] std::optional<LogRow> finish_cut_row(const LogRow& head, const Words& words,
                                                   const LogHeader& header);

// Whether all of them are numbers, or "N/A" in place of one.
[[nodiscard]] bool are_values(const Words& words);

}  // namespace collsim
