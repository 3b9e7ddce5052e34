// SPDX-License-Identifier: Apache-2.0
#include "app/scenario/quantities.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <span>

#include "app/json/screen_text.hpp"
#include "app/json/value.hpp"
#include "topo/error.hpp"

namespace collsim {

namespace {

__extension__ using Wide = unsigned __int128;

constexpr std::int64_t kilo = 1000, mega = kilo * 1000, giga = mega * 1000, tera = giga * 1000;
constexpr std::int64_t kibi = 1024, mebi = kibi * 1024, gibi = mebi * 1024, tebi = gibi * 1024;

struct Unit {
  std::string_view name;
  std::int64_t size;         // in bytes, picoseconds, or bytes or bits per second
  std::int64_t divisor = 1;  // 8 for bits
};

// Those that are written first; other spellings follow.
constexpr std::array<Unit, 9> size_units{{{"B", 1},
                                          {"kB", kilo},
                                          {"MB", mega},
                                          {"GB", giga},
                                          {"TB", tera},
                                          {"KiB", kibi},
                                          {"MiB", mebi},
                                          {"GiB", gibi},
                                          {"TiB", tebi}}};
constexpr std::array<Unit, 8> time_units{{{"ns", kilo},
                                          {"us", mega},
                                          {"ms", giga},
                                          {"s", tera},
                                          {"min", 60 * tera},
                                          {"h", 3600 * tera},
                                          {"\u00B5s", mega},
                                          {"\u03BCs", mega}}};
constexpr std::size_t time_spellings = 4;  // of those: the last ones, never written
constexpr std::array<Unit, 19> bandwidth_units{{{"B/s", 1},
                                                {"kB/s", kilo},
                                                {"MB/s", mega},
                                                {"GB/s", giga},
                                                {"TB/s", tera},
                                                {"KiB/s", kibi},
                                                {"MiB/s", mebi},
                                                {"GiB/s", gibi},
                                                {"TiB/s", tebi},
                                                {"b/s", 1, 8},
                                                {"kb/s", kilo, 8},
                                                {"Mb/s", mega, 8},
                                                {"Gb/s", giga, 8},
                                                {"Tb/s", tera, 8},
                                                {"bps", 1, 8},
                                                {"kbps", kilo, 8},
                                                {"Mbps", mega, 8},
                                                {"Gbps", giga, 8},
                                                {"Tbps", tera, 8}}};
constexpr std::size_t byte_bandwidths = 9;  // the first ones

// What messages say about a dimension.
struct Words {
  std::string_view name;     // a size
  std::string_view unit_of;  // of a size
  std::string_view example;
  std::string_view allowed;
  std::string_view largest;
};

const Words& words_of(Dimension dimension) {
  static constexpr Words size{"a size", "of sizes", "64MiB", "B kB MB GB TB KiB MiB GiB TiB",
                              "2^63 bytes (8 EiB)"};
  static constexpr Words time{"a time", "of times", "12.5us", "ns us ms s min h",
                              "2^63 picoseconds (106 days)"};
  static constexpr Words bandwidth{"a bandwidth", "of bandwidths", "25GB/s",
                                   "B/s kB/s MB/s GB/s TB/s, KiB/s MiB/s GiB/s TiB/s (bytes), b/s "
                                   "kb/s Mb/s Gb/s Tb/s (bits)",
                                   "2^63 bytes per second"};
  if (dimension == Dimension::size) return size;
  return dimension == Dimension::time ? time : bandwidth;
}

std::span<const Unit> units_of(Dimension dimension) {
  if (dimension == Dimension::size) return size_units;
  if (dimension == Dimension::time) return time_units;
  return bandwidth_units;
}

std::string shown(std::string_view text) {
  return quoted(shortened(text, 40));
}

// "12.5 us" taken apart.
struct Parts {
  std::string_view digits;    // "12"
  std::string_view fraction;  // "5"; empty: none
  std::string_view unit;      // "us"
  [[nodiscard]] std::string number() const {
    return std::string(digits) + (fraction.empty() ? "" : "." + std::string(fraction));
  }
};

std::optional<Parts> split(std::string_view text) {
  const auto skip_digits = [&](std::size_t i) {
    while (i < text.size() && is_digit(text[i])) ++i;
    return i;
  };
  Parts parts;
  std::size_t end = skip_digits(0);
  if (end == 0) return std::nullopt;
  parts.digits = text.substr(0, end);
  if (end < text.size() && text[end] == '.') {
    const std::size_t fraction = end + 1;
    end = skip_digits(fraction);
    if (end == fraction) return std::nullopt;
    parts.fraction = text.substr(fraction, end - fraction);
  }
  std::size_t unit = end;
  if (unit + 1 < text.size() && text[unit] == ' ') ++unit;
  parts.unit = text.substr(unit);
  // What may belong to a number is no unit, and a unit begins with a letter.
  const auto of_number = [](char c) {
    return is_digit(c) || std::string_view(" .,+-_'").find(c) != std::string_view::npos;
  };
  if (!parts.unit.empty() && of_number(parts.unit.front())) return std::nullopt;
  if (parts.unit.find_first_of(" \t") != std::string_view::npos) return std::nullopt;
  const bool exponent = (parts.unit.starts_with('e') || parts.unit.starts_with('E')) &&
                        parts.unit.size() > 1 && of_number(parts.unit[1]);
  return exponent ? std::nullopt : std::optional(parts);
}

// A number of digits, written as numerator / 10^decimals.
struct Decimal {
  Wide numerator = 0;
  Wide denominator = 1;
  bool fits = true;  // else it has too many digits
};

Decimal decimal_of(const Parts& parts) {
  // 22 digits times the largest unit, 3.6e15, are less than 2^128.
  constexpr std::size_t max_digits = 22;
  std::string_view digits = parts.digits;
  std::string_view fraction = parts.fraction;
  while (digits.starts_with('0')) digits.remove_prefix(1);
  while (fraction.ends_with('0')) fraction.remove_suffix(1);
  Decimal decimal;
  decimal.fits = digits.size() + fraction.size() <= max_digits;
  if (!decimal.fits) return decimal;
  for (const char digit : digits)
    decimal.numerator = decimal.numerator * 10 + static_cast<unsigned>(digit - '0');
  for (const char digit : fraction) {
    decimal.numerator = decimal.numerator * 10 + static_cast<unsigned>(digit - '0');
    decimal.denominator *= 10;
  }
  return decimal;
}

using Number = Parsed<std::int64_t>;

Number failure(std::string code, std::string message, std::string suggestion = {},
               std::string hint = {}) {
  return {std::nullopt,
          {std::move(code), std::move(message), std::move(suggestion), std::move(hint)}};
}

std::string allowed_units(Dimension dimension) {
  return fmt::format("units {}: {}", words_of(dimension).unit_of, words_of(dimension).allowed);
}

// Rates are whole bytes per second; by no more than this part of a rate is it rounded.
constexpr Wide unnoticed_part = 1000;
constexpr const char* least_rate = "the least is 1B/s";

Number not_whole_bytes(std::string_view text, std::int64_t floor) {
  return failure("not-whole",
                 fmt::format("{} is not a whole number of bytes per second", shown(text)), "",
                 floor == 0 ? std::string(least_rate)
                            : fmt::format("write \"{}B/s\" or \"{}B/s\"", floor, floor + 1));
}

// The number of base units; sizes must be whole, others are rounded to the nearest.
Number scaled(std::string_view text, const Parts& parts, const Unit& unit, Dimension dimension) {
  const Decimal decimal = decimal_of(parts);
  const Words& words = words_of(dimension);
  if (!decimal.fits) {
    if (parts.digits.size() - std::min(parts.digits.find_first_not_of('0'), parts.digits.size()) >
        20)
      return failure("overflow", fmt::format("{} is too large", shown(text)), "",
                     fmt::format("{} must be less than {}", words.name, words.largest));
    return failure("not-a-quantity", fmt::format("{} has too many digits", shown(text)), "",
                   "at most 22 digits are read");
  }
  const Wide numerator = decimal.numerator * static_cast<Wide>(unit.size);
  const Wide denominator = decimal.denominator * static_cast<Wide>(unit.divisor);
  Wide whole = numerator / denominator;
  const Wide rest = numerator % denominator;
  if (dimension == Dimension::size && rest != 0)
    return failure("not-whole", fmt::format("{} is not a whole number of bytes", shown(text)));
  const Wide floor = whole;
  if (rest >= denominator - rest) ++whole;
  if (whole > static_cast<Wide>(std::numeric_limits<std::int64_t>::max()))
    return failure("overflow", fmt::format("{} is too large", shown(text)), "",
                   fmt::format("{} must be less than {}", words.name, words.largest));
  if (whole == 0 && dimension == Dimension::bandwidth)
    return numerator == 0
               ? failure("out-of-range", "a bandwidth must not be 0")
               : failure("out-of-range",
                         fmt::format("{} is less than half a byte per second", shown(text)), "",
                         least_rate);
  if (whole == 0 && numerator != 0)
    return failure("out-of-range", fmt::format("{} is less than half a picosecond", shown(text)),
                   "", "write \"0\" if it takes no time");
  const Wide change = rest >= denominator - rest ? denominator - rest : rest;
  if (dimension == Dimension::bandwidth && change * unnoticed_part > numerator)
    return not_whole_bytes(text, static_cast<std::int64_t>(floor));
  return {static_cast<std::int64_t>(whole), {}};
}

// A unit that is none here, but can be understood: the one that was meant.
std::string meant_unit(std::string_view unit, Dimension dimension) {
  std::string small = lower(unit);
  const auto replace_end = [&](std::string_view from, std::string_view to) {
    if (small.size() < from.size() || !small.ends_with(from)) return false;
    small.replace(small.size() - from.size(), from.size(), to);
    return true;
  };
  if (dimension == Dimension::time) {
    static constexpr std::array<std::pair<std::string_view, std::string_view>, 14> words{
        {{"sec", "s"},
         {"secs", "s"},
         {"second", "s"},
         {"seconds", "s"},
         {"nanoseconds", "ns"},
         {"microseconds", "us"},
         {"milliseconds", "ms"},
         {"mus", "us"},
         {"minute", "min"},
         {"minutes", "min"},
         {"mins", "min"},
         {"hour", "h"},
         {"hours", "h"},
         {"hrs", "h"}}};
    for (const auto& [word, meaning] : words)
      if (small == word) small = meaning;
    replace_end("secs", "s") || replace_end("sec", "s");
    for (const Unit& known : time_units)
      if (small == known.name) return std::string(known.name);
    return "";
  }
  // The letter before "/s" or "ps" tells bits from bytes, if it is not hidden in a word.
  const bool per_second = replace_end("/sec", "") || replace_end("/s", "") || replace_end("ps", "");
  const bool bits = replace_end("bits", "b") || replace_end("bit", "b");
  const bool bytes = !bits && (replace_end("bytes", "b") || replace_end("byte", "b"));
  const std::size_t letter = unit.find_last_of("bB");
  const bool capital = letter != std::string_view::npos && unit[letter] == 'B';
  const bool binary = small.size() == 3 && small.ends_with("ib");
  const bool is_bytes = bytes || binary || (!bits && capital);
  if (dimension == Dimension::size) {
    if (per_second || bits) return "";
    if (small.size() == 2 && small.ends_with('i')) small += 'b';
    for (const Unit& known : size_units)
      if (small == lower(known.name)) return std::string(known.name);
    return "";
  }
  const bool surely_bits = bits || (!capital && unit.size() > 1 && unit.find_first_of("KMGT") == 0);
  for (const Unit& known : bandwidth_units) {
    const bool known_bits = known.divisor == 8;
    if (lower(known.name) != small + "/s") continue;
    if ((is_bytes && !known_bits) || (surely_bits && !is_bytes && known_bits))
      return std::string(known.name);
  }
  return "";
}

std::optional<Dimension> dimension_with(std::string_view unit) {
  for (const Dimension dimension : {Dimension::size, Dimension::time, Dimension::bandwidth})
    for (const Unit& known : units_of(dimension))
      if (known.name == unit) return dimension;
  return std::nullopt;
}

std::string bytes_or_bits(const std::string& number, std::string_view prefix) {
  return fmt::format("write \"{0}{1}B/s\" (bytes) or \"{0}{1}b/s\" (bits; 8 times slower)", number,
                     prefix);
}

Number no_unit(std::string_view text, const std::string& number, Dimension dimension) {
  std::string hint;
  if (dimension == Dimension::bandwidth)
    hint = bytes_or_bits(number, "G");
  else if (dimension == Dimension::time)
    hint = fmt::format("write \"{0}us\" (microseconds), \"{0}ns\", \"{0}ms\" or \"{0}s\"", number);
  else
    hint = fmt::format("write \"{0}B\" (bytes), \"{0}KiB\" or \"{0}MiB\"", number);
  return failure("no-unit", fmt::format("{} has no unit", shown(text)), "", std::move(hint));
}

// "64M", "25G": the unit stops after its prefix.
std::optional<Number> only_prefix(std::string_view text, const Parts& parts, Dimension dimension) {
  const std::string number = parts.number();
  constexpr std::array<std::string_view, 4> decimal{"kB", "MB", "GB", "TB"};
  constexpr std::array<std::string_view, 4> binary{"KiB", "MiB", "GiB", "TiB"};
  const std::size_t prefix = std::string_view("kmgt").find(lower(parts.unit));
  if (parts.unit.size() != 1 || prefix == std::string_view::npos || dimension == Dimension::time)
    return std::nullopt;
  if (dimension == Dimension::bandwidth)
    return failure("ambiguous-unit", fmt::format("{} could mean bytes or bits", shown(text)), "",
                   bytes_or_bits(number, decimal.at(prefix).substr(0, 1)));
  const auto reading = [&](std::string_view unit) {
    const auto bytes = parse_size(number + std::string(unit));
    return fmt::format("\"{}{}\"", number, unit) +
           (bytes.value ? fmt::format(" ({} byte{})", *bytes.value, *bytes.value == 1 ? "" : "s")
                        : "");
  };
  std::string as_in_nccl = reading(binary.at(prefix));
  if (as_in_nccl.ends_with(')')) {
    as_in_nccl.pop_back();
    as_in_nccl += fmt::format(", what nccl-tests -b {} means)", shortened(text, 40));
  }
  return failure("ambiguous-unit", fmt::format("{} could mean two sizes", shown(text)), "",
                 fmt::format("write {} or {}", as_in_nccl, reading(decimal.at(prefix))));
}

Number bad_unit(std::string_view text, const Parts& parts, Dimension dimension) {
  const std::string number = parts.number();
  if (const auto result = only_prefix(text, parts, dimension)) return *result;
  if (const std::string meant = meant_unit(parts.unit, dimension); !meant.empty())
    return failure("bad-unit",
                   fmt::format("{} has the unknown unit {}", shown(text), shown(parts.unit)),
                   number + meant, allowed_units(dimension));
  if (const auto other = dimension_with(parts.unit))
    return failure("bad-unit",
                   fmt::format("{} is {}, but {} is needed", shown(text), words_of(*other).name,
                               words_of(dimension).name),
                   "", allowed_units(dimension));
  const std::string small = lower(parts.unit);
  const bool any_bandwidth =
      dimension == Dimension::bandwidth &&
      std::any_of(bandwidth_units.begin(), bandwidth_units.end(), [&](const Unit& known) {
        return lower(known.name) == small || lower(known.name) == small + "/s";
      });
  if (any_bandwidth) {
    const std::string prefix(1, static_cast<char>(small[0] == 'k' ? 'k' : small[0] - 'a' + 'A'));
    return failure("ambiguous-unit", fmt::format("{} could mean bytes or bits", shown(text)), "",
                   bytes_or_bits(number, small[0] == 'b' ? "" : prefix));
  }
  std::string hint = allowed_units(dimension);
  if (dimension == Dimension::size && parts.unit.find('b') != std::string_view::npos)
    hint += "; B is a byte, b would be a bit";
  return failure("bad-unit",
                 fmt::format("{} has the unknown unit {}", shown(text), shown(parts.unit)), "",
                 std::move(hint));
}

Number parse(std::string_view text, Dimension dimension);

// The mistake `message`, when that is the only one: when `mended` is right.
Number with_fix(std::string_view text, std::string_view message, std::string mended,
                Dimension dimension) {
  Number rest = parse(mended, dimension);
  if (!rest.value) return rest;
  return failure("not-a-quantity", fmt::format("{} {}", shown(text), message), std::move(mended));
}

// Not even digits and a unit: what is most likely wrong.
Number not_a_quantity(std::string_view text, Dimension dimension) {
  const Words& words = words_of(dimension);
  const auto result = [&](std::string_view message, std::string hint) {
    return failure("not-a-quantity", fmt::format("{} {}", shown(text), message), "",
                   std::move(hint));
  };
  const std::string example =
      fmt::format("write a number and a unit, such as \"{}\"", words.example);
  std::string mended(text);
  std::erase_if(mended, [](char c) { return c == ' ' || c == '\t'; });
  if (mended.empty()) return result("is empty", example);
  const bool number_follows = mended.size() > 1 && (is_digit(mended[1]) || mended[1] == '.');
  if (mended[0] == '-' && number_follows)
    return failure("out-of-range",
                   fmt::format("{} is negative; use {} of at least 0", shown(text), words.name));
  if (mended[0] == '+' && number_follows)
    return with_fix(text, "has a sign", mended.substr(1), dimension);
  if (mended[0] == '.' && number_follows)
    return with_fix(text, "has no digit before the decimal point", "0" + mended, dimension);
  if (!is_digit(mended[0])) return result(fmt::format("is not {}", words.name), example);
  if (mended != text) return with_fix(text, "has too many spaces", mended, dimension);

  const std::size_t end = mended.find_first_not_of("0123456789.");
  const char after_number = end == std::string::npos ? '\0' : mended[end];
  const std::size_t point = mended.find('.');
  if (point < end && std::count(mended.begin(), mended.end(), '.') == 1)
    if (point + 1 == mended.size() || !is_digit(mended[point + 1]))
      return with_fix(text, "has no digit after the decimal point", mended.erase(point, 1),
                      dimension);
  if (after_number == ',' || after_number == '_' || after_number == '\'')
    return result("has a separator within its number",
                  "use \".\" as decimal separator and no thousands separators");
  if (after_number == 'e' || after_number == 'E')
    return result("has an exponent",
                  fmt::format("use a larger or smaller unit, such as \"{}\"", words.example));
  return result(fmt::format("is not {}", words.name), example);
}

Number parse(std::string_view text, Dimension dimension) {
  constexpr std::size_t longest = 100;
  if (text.size() > longest)
    return failure("not-a-quantity", fmt::format("{} is too long", shown(text)));
  const auto parts = split(text);
  if (!parts) return not_a_quantity(text, dimension);
  if (parts->unit.empty()) {
    const Decimal decimal = decimal_of(*parts);
    if (decimal.fits && decimal.numerator == 0) return scaled(text, *parts, {"", 1}, dimension);
    return no_unit(text, parts->number(), dimension);
  }
  for (const Unit& unit : units_of(dimension))
    if (unit.name == parts->unit) return scaled(text, *parts, unit, dimension);
  return bad_unit(text, *parts, dimension);
}

// value / unit as a decimal number, when that is exact and takes at most `longest` letters.
std::optional<std::string> exact_in(std::int64_t value, const Unit& unit, std::size_t longest) {
  std::string text = std::to_string(value / unit.size);
  std::int64_t rest = value % unit.size;
  if (rest != 0) text += '.';
  for (; rest != 0; rest %= unit.size) {
    if (text.size() >= longest) return std::nullopt;
    rest *= 10;
    text += static_cast<char>('0' + rest / unit.size);
  }
  text += unit.name;
  return text.size() <= longest ? std::optional(text) : std::nullopt;
}

std::string exact(std::int64_t value, std::span<const Unit> units) {
  COLLSIM_CHECK(value >= 0, "no quantity is negative");
  std::string shortest;
  for (const Unit& unit : units) {
    const std::size_t longest = shortest.empty() ? 40 : shortest.size();
    const auto text = exact_in(value, unit, longest);
    if (!text) continue;
    const bool simpler =
        text->find('.') == std::string::npos && shortest.find('.') != std::string::npos;
    if (shortest.empty() || text->size() < shortest.size() || simpler) shortest = *text;
  }
  return shortest;
}

}  // namespace

Parsed<Bytes> parse_size(std::string_view text) {
  return parse(text, Dimension::size);
}

Parsed<Time> parse_time(std::string_view text) {
  Number picoseconds = parse(text, Dimension::time);
  if (!picoseconds.value) return {std::nullopt, std::move(picoseconds.error)};
  return {Time(*picoseconds.value), {}};
}

Parsed<Bandwidth> parse_bandwidth(std::string_view text) {
  Number bytes = parse(text, Dimension::bandwidth);
  if (!bytes.value) return {std::nullopt, std::move(bytes.error)};
  return {Bandwidth(*bytes.value), {}};
}

Parsed<Bytes> parse_command_line_size(std::string_view text) {
  constexpr std::array<std::int64_t, 4> binary{kibi, mebi, gibi, tebi};
  const auto parts = split(text);
  if (parts && parts->unit.empty()) return scaled(text, *parts, {"", 1}, Dimension::size);
  if (parts && parts->unit.size() == 1) {
    const std::size_t prefix = std::string_view("kmgt").find(lower(parts->unit));
    if (prefix != std::string_view::npos)
      return scaled(text, *parts, {"", binary.at(prefix)}, Dimension::size);
  }
  return parse_size(text);
}

std::string exact_size(Bytes size) {
  return size == 0 ? "0B" : exact(size, size_units);
}

std::string exact_time(Time time) {
  if (time == Time{}) return "0s";
  return exact(time.ps(), std::span(time_units).first(time_units.size() - time_spellings));
}

std::string exact_bandwidth(Bandwidth bandwidth) {
  return exact(bandwidth.bytes_per_second(), std::span(bandwidth_units).first(byte_bandwidths));
}

}  // namespace collsim
