// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "topo/units.hpp"

namespace collsim {

// Quantities in readable form: "64MiB", "12.5us", "25 GB/s", "400Gb/s".
//
//   size       B kB MB GB TB KiB MiB GiB TiB
//   time       ns us µs ms s
//   bandwidth  a size or kb Mb Gb Tb (bits) per second: "/s", or "ps" after bits
//
// Case matters (b: bits, B: bytes).  Digits, perhaps a point and more digits, perhaps one blank,
// the unit; no sign, no exponent.  Exact: sizes must come out as whole bytes, times are rounded to
// picoseconds, bandwidths to whole bytes per second; what would round to nothing is refused.
enum class Dimension { size, time, bandwidth };

struct QuantityError {
  std::string code;        // no-unit, ambiguous-unit, bad-unit, not-a-quantity, overflow, not-whole
  std::string message;     // "64M" could mean two sizes
  std::string suggestion;  // the fix when there is one likely; may be empty
  std::string hint;        // write "64MiB" (67108864 bytes, what nccl-tests -b 64M means) or "64MB"
};

template <class T>
struct Parsed {
  std::optional<T> value;
  QuantityError error;  // when there is no value
};
[[nodiscard]] Parsed<Bytes> parse_size(std::string_view text);
[[nodiscard]] Parsed<Time> parse_time(std::string_view text);
[[nodiscard]] Parsed<Bandwidth> parse_bandwidth(std::string_view text);  // never 0

// As on the command lines of nccl-tests: a bare number is bytes, K, M, G, T (either case) are
// binary; the units above work too.
[[nodiscard]] Parsed<Bytes> parse_command_line_size(std::string_view text);

// What reads back as exactly the same, in the unit that is shortest: "64MiB", "1500B", "12.5us",
// "25GB/s".  Zero is "0B", "0s".
[[nodiscard]] std::string exact_size(Bytes size);
[[nodiscard]] std::string exact_time(Time time);
[[nodiscard]] std::string exact_bandwidth(Bandwidth bandwidth);

}  // namespace collsim
