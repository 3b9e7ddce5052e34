// SPDX-License-Identifier: Apache-2.0
#include "app/scenario/quantities.hpp"
#include "tests/golden.hpp"
#include "tests/sanitized.hpp"

#include <gtest/gtest.h>

#include <random>
#include <string>

namespace collsim {
namespace {

std::int64_t plain(Bytes value) {
  return value;
}
std::int64_t plain(Time value) {
  return value.ps();
}
std::int64_t plain(Bandwidth value) {
  return value.bytes_per_second();
}

template <class T>
std::int64_t good(const Parsed<T>& parsed) {
  EXPECT_TRUE(parsed.value) << parsed.error.message;
  return parsed.value ? plain(*parsed.value) : -1;
}

// "code: message | suggestion | hint"
template <class T>
std::string bad(const Parsed<T>& parsed) {
  EXPECT_FALSE(parsed.value);
  const QuantityError& error = parsed.error;
  return error.code + ": " + error.message + " | " + error.suggestion + " | " + error.hint;
}

const std::string sizes = "units of sizes: B kB MB GB TB KiB MiB GiB TiB";
const std::string times = "units of times: ns us ms s min h";
const std::string bandwidths =
    "units of bandwidths: B/s kB/s MB/s GB/s TB/s, KiB/s MiB/s GiB/s TiB/s (bytes), b/s kb/s Mb/s "
    "Gb/s Tb/s (bits)";

TEST(Quantities, Sizes) {
  EXPECT_EQ(good(parse_size("0")), 0);
  EXPECT_EQ(good(parse_size("0.0")), 0);
  EXPECT_EQ(good(parse_size("0GiB")), 0);
  EXPECT_EQ(good(parse_size("1B")), 1);
  EXPECT_EQ(good(parse_size("3kB")), 3'000);
  EXPECT_EQ(good(parse_size("3MB")), 3'000'000);
  EXPECT_EQ(good(parse_size("3GB")), 3'000'000'000);
  EXPECT_EQ(good(parse_size("3TB")), 3'000'000'000'000);
  EXPECT_EQ(good(parse_size("3KiB")), 3 << 10);
  EXPECT_EQ(good(parse_size("64MiB")), 64 << 20);
  EXPECT_EQ(good(parse_size("64 MiB")), 64 << 20);
  EXPECT_EQ(good(parse_size("0064MiB")), 64 << 20);
  EXPECT_EQ(good(parse_size("12.5GiB")), 13'421'772'800);
  EXPECT_EQ(good(parse_size("1TiB")), std::int64_t{1} << 40);
  EXPECT_EQ(good(parse_size("0.001kB")), 1);
  EXPECT_EQ(good(parse_size("9223372036854775807B")), 9'223'372'036'854'775'807);
}

TEST(Quantities, Times) {
  EXPECT_EQ(good(parse_time("0")), 0);
  EXPECT_EQ(good(parse_time("0s")), 0);
  EXPECT_EQ(good(parse_time("1ns")), 1'000);
  EXPECT_EQ(good(parse_time("0.1us")), 100'000);
  EXPECT_EQ(good(parse_time("12.5us")), 12'500'000);
  EXPECT_EQ(good(parse_time("5\xC2\xB5s")), 5'000'000);
  EXPECT_EQ(good(parse_time("5 \xCE\xBCs")), 5'000'000);
  EXPECT_EQ(good(parse_time("2ms")), 2'000'000'000);
  EXPECT_EQ(good(parse_time("2s")), 2'000'000'000'000);
  EXPECT_EQ(good(parse_time("1.5min")), 90'000'000'000'000);
  EXPECT_EQ(good(parse_time("3.09h")), 11'124'000'000'000'000);
}

TEST(Quantities, TimesAreRoundedToPicosecondsHalvesUp) {
  EXPECT_EQ(good(parse_time("0.0005ns")), 1);
  EXPECT_EQ(good(parse_time("1.0004ns")), 1'000);
  EXPECT_EQ(good(parse_time("1.0005ns")), 1'001);
  EXPECT_EQ(good(parse_time("0.333333333333333us")), 333'333);
  expect_text(bad(parse_time("0.00049ns")),
              "out-of-range: \"0.00049ns\" is less than half a picosecond |  | write \"0\" if it "
              "takes no time");
}

TEST(Quantities, Bandwidths) {
  EXPECT_EQ(good(parse_bandwidth("25GB/s")), 25'000'000'000);
  EXPECT_EQ(good(parse_bandwidth("25 GB/s")), 25'000'000'000);
  EXPECT_EQ(good(parse_bandwidth("1GiB/s")), 1 << 30);
  EXPECT_EQ(good(parse_bandwidth("400Gb/s")), 50'000'000'000);
  EXPECT_EQ(good(parse_bandwidth("400Gbps")), 50'000'000'000);
  EXPECT_EQ(good(parse_bandwidth("8kbps")), 1'000);
  EXPECT_EQ(good(parse_bandwidth("8001b/s")), 1000);
  expect_text(bad(parse_bandwidth("3b/s")),
              "out-of-range: \"3b/s\" is less than half a byte per second |  | the least is 1B/s");
  // Rounding that would be noticed is not done.
  EXPECT_EQ(bad(parse_bandwidth("4b/s")),
            "not-whole: \"4b/s\" is not a whole number of bytes per second |  | the least is 1B/s");
  EXPECT_EQ(bad(parse_bandwidth("1.5B/s")),
            "not-whole: \"1.5B/s\" is not a whole number of bytes per second |  | write \"1B/s\" "
            "or \"2B/s\"");
  for (const char* zero : {"0", "0GB/s", "0.0 Gbps"})
    expect_text(bad(parse_bandwidth(zero)), "out-of-range: a bandwidth must not be 0 |  | ");
}

TEST(Quantities, WithoutAUnitTheReadingsAreOffered) {
  expect_text(bad(parse_size("25")),
              "no-unit: \"25\" has no unit |  | write \"25B\" (bytes), \"25KiB\" or \"25MiB\"");
  expect_text(bad(parse_time("5")),
              "no-unit: \"5\" has no unit |  | write \"5us\" (microseconds), \"5ns\", \"5ms\" or "
              "\"5s\"");
  expect_text(
      bad(parse_bandwidth("25")),
      "no-unit: \"25\" has no unit |  | write \"25GB/s\" (bytes) or \"25Gb/s\" (bits; 8 times "
      "slower)");
}

TEST(Quantities, APrefixAloneIsAmbiguous) {
  expect_text(
      bad(parse_size("64M")),
      "ambiguous-unit: \"64M\" could mean two sizes |  | write \"64MiB\" (67108864 bytes, what "
      "nccl-tests -b 64M means) or \"64MB\" (64000000 bytes)");
  expect_text(
      bad(parse_size("1.5k")),
      "ambiguous-unit: \"1.5k\" could mean two sizes |  | write \"1.5KiB\" (1536 bytes, what "
      "nccl-tests -b 1.5k means) or \"1.5kB\" (1500 bytes)");
  expect_text(bad(parse_bandwidth("25G")),
              "ambiguous-unit: \"25G\" could mean bytes or bits |  | write \"25GB/s\" (bytes) or "
              "\"25Gb/s\" (bits; 8 times slower)");
  expect_text(
      bad(parse_bandwidth("25gb/s")),
      "ambiguous-unit: \"25gb/s\" could mean bytes or bits |  | write \"25GB/s\" (bytes) or "
      "\"25Gb/s\" (bits; 8 times slower)");
}

// unit as written -> unit that was meant
template <class Parse>
void expect_meant(Parse parse, const std::string& written, const std::string& meant,
                  const std::string& hint) {
  EXPECT_EQ(bad(parse("5" + written)), "bad-unit: \"5" + written + "\" has the unknown unit \"" +
                                           written + "\" | 5" + meant + " | " + hint);
}

TEST(Quantities, UnitsThatAreNearlyRight) {
  for (const char* written : {"mib", "MIB", "Mib", "miB", "Mi"})
    expect_meant(parse_size, written, "MiB", sizes);
  for (const char* written : {"KB", "kb", "Kbyte", "kbytes", "KBytes"})
    expect_meant(parse_size, written, "kB", sizes);
  for (const char* written : {"b", "byte", "bytes", "Bytes"})
    expect_meant(parse_size, written, "B", sizes);
  for (const char* written : {"US", "Us", "usec", "usecs", "microseconds", "mus"})
    expect_meant(parse_time, written, "us", times);
  expect_meant(parse_time, "\xC2\xB5sec", "\xC2\xB5s", times);
  for (const char* written : {"sec", "S", "seconds", "second"})
    expect_meant(parse_time, written, "s", times);
  for (const char* written : {"MS", "msec", "milliseconds"})
    expect_meant(parse_time, written, "ms", times);
  for (const char* written : {"GBps", "GB", "GBytes/s", "Gbytes/sec", "GByte/s", "gB/s", "GB/S"})
    expect_meant(parse_bandwidth, written, "GB/s", bandwidths);
  for (const char* written : {"Gbit/s", "gbit/s", "GBit/s", "Gbits/sec", "Gbit", "Gb", "Gbitps"})
    expect_meant(parse_bandwidth, written, "Gb/s", bandwidths);
  for (const char* written : {"GiBps", "GiB", "gib/s", "Gib/s"})
    expect_meant(parse_bandwidth, written, "GiB/s", bandwidths);
}

TEST(Quantities, UnitsOfSomethingElse) {
  EXPECT_EQ(bad(parse_size("5us")),
            "bad-unit: \"5us\" is a time, but a size is needed |  | " + sizes);
  EXPECT_EQ(bad(parse_time("25GB/s")),
            "bad-unit: \"25GB/s\" is a bandwidth, but a time is needed |  | " + times);
  EXPECT_EQ(bad(parse_bandwidth("5us")),
            "bad-unit: \"5us\" is a time, but a bandwidth is needed |  | " + bandwidths);
  EXPECT_EQ(bad(parse_size("5GB/s")),
            "bad-unit: \"5GB/s\" is a bandwidth, but a size is needed |  | " + sizes);
}

TEST(Quantities, UnknownUnits) {
  EXPECT_EQ(bad(parse_time("5hrs")),
            "bad-unit: \"5hrs\" has the unknown unit \"hrs\" | 5h | " + times);
  EXPECT_EQ(bad(parse_time("5m")), "bad-unit: \"5m\" has the unknown unit \"m\" |  | " + times);
  EXPECT_EQ(bad(parse_time("5ps")), "bad-unit: \"5ps\" has the unknown unit \"ps\" |  | " + times);
  EXPECT_EQ(bad(parse_size("5PB")), "bad-unit: \"5PB\" has the unknown unit \"PB\" |  | " + sizes);
  EXPECT_EQ(bad(parse_size("5Mbit")), "bad-unit: \"5Mbit\" has the unknown unit \"Mbit\" |  | " +
                                          sizes + "; B is a byte, b would be a bit");
  EXPECT_EQ(bad(parse_bandwidth("5GT/s")),
            "bad-unit: \"5GT/s\" has the unknown unit \"GT/s\" |  | " + bandwidths);
}

TEST(Quantities, WhatIsNoNumberOfAUnit) {
  const std::string example = "write a number and a unit, such as \"64MiB\"";
  EXPECT_EQ(bad(parse_size("")), "not-a-quantity: \"\" is empty |  | " + example);
  EXPECT_EQ(bad(parse_size("  ")), "not-a-quantity: \"  \" is empty |  | " + example);
  EXPECT_EQ(bad(parse_size("MiB")), "not-a-quantity: \"MiB\" is not a size |  | " + example);
  EXPECT_EQ(bad(parse_size("nan")), "not-a-quantity: \"nan\" is not a size |  | " + example);
  expect_text(
      bad(parse_time("inf")),
      "not-a-quantity: \"inf\" is not a time |  | write a number and a unit, such as \"12.5us\"");
  EXPECT_EQ(bad(parse_size("-")), "not-a-quantity: \"-\" is not a size |  | " + example);
  expect_text(bad(parse_size("-5MiB")),
              "out-of-range: \"-5MiB\" is negative; use a size of at least 0 |  | ");
  expect_text(bad(parse_time("-0s")),
              "out-of-range: \"-0s\" is negative; use a time of at least 0 |  | ");
  expect_text(bad(parse_size("+5MiB")), "not-a-quantity: \"+5MiB\" has a sign | 5MiB | ");
  expect_text(bad(parse_time(".5us")),
              "not-a-quantity: \".5us\" has no digit before the decimal point | 0.5us | ");
  expect_text(bad(parse_time("5.us")),
              "not-a-quantity: \"5.us\" has no digit after the decimal point | 5us | ");
  expect_text(bad(parse_time(" 5us")), "not-a-quantity: \" 5us\" has too many spaces | 5us | ");
  expect_text(bad(parse_time("5  us")), "not-a-quantity: \"5  us\" has too many spaces | 5us | ");
  expect_text(bad(parse_time("5us ")), "not-a-quantity: \"5us \" has too many spaces | 5us | ");
  expect_text(bad(parse_time("5 ")),
              "no-unit: \"5\" has no unit |  | write \"5us\" (microseconds), \"5ns\", \"5ms\" or "
              "\"5s\"");
  expect_text(bad(parse_size("1,000B")),
              "not-a-quantity: \"1,000B\" has a separator within its number |  | use \".\" as "
              "decimal separator and no thousands separators");
  expect_text(
      bad(parse_time("1e-6s")),
      "not-a-quantity: \"1e-6s\" has an exponent |  | use a larger or smaller unit, such as "
      "\"12.5us\"");
  expect_text(bad(parse_size("1e3")),
              "not-a-quantity: \"1e3\" has an exponent |  | use a larger or smaller unit, such as "
              "\"64MiB\"");
  EXPECT_EQ(bad(parse_size("1.2.3B")), "not-a-quantity: \"1.2.3B\" is not a size |  | " + example);
}

TEST(Quantities, TooLargeAndNotWhole) {
  expect_text(
      bad(parse_size("9223372036854775808B")),
      "overflow: \"9223372036854775808B\" is too large |  | a size must be less than 2^63 bytes "
      "(8 EiB)");
  expect_text(
      bad(parse_size("8388608TiB")),
      "overflow: \"8388608TiB\" is too large |  | a size must be less than 2^63 bytes (8 EiB)");
  EXPECT_EQ(bad(parse_time("1" + std::string(60, '0') + "s")),
            "overflow: \"1" + std::string(36, '0') +
                "...\" is too large |  | a time must be less than 2^63 picoseconds (106 days)");
  expect_text(
      bad(parse_bandwidth("9999999999999TB/s")),
      "overflow: \"9999999999999TB/s\" is too large |  | a bandwidth must be less than 2^63 "
      "bytes per second");
  expect_text(bad(parse_size("1.5B")), "not-whole: \"1.5B\" is not a whole number of bytes |  | ");
  expect_text(bad(parse_size("0.0001KiB")),
              "not-whole: \"0.0001KiB\" is not a whole number of bytes |  | ");
  expect_text(
      bad(parse_time("0.00000000000000000000000001s")),
      "not-a-quantity: \"0.00000000000000000000000001s\" has too many digits |  | at most 22 "
      "digits are read");
}

TEST(Quantities, OfTheCommandLineAreBinary) {
  EXPECT_EQ(good(parse_command_line_size("8")), 8);
  EXPECT_EQ(good(parse_command_line_size("0")), 0);
  EXPECT_EQ(good(parse_command_line_size("8K")), 8 << 10);
  EXPECT_EQ(good(parse_command_line_size("8k")), 8 << 10);
  EXPECT_EQ(good(parse_command_line_size("64M")), 64 << 20);
  EXPECT_EQ(good(parse_command_line_size("8G")), std::int64_t{8} << 30);
  EXPECT_EQ(good(parse_command_line_size("1t")), std::int64_t{1} << 40);
  EXPECT_EQ(good(parse_command_line_size("1.5G")), 3 << 29);
  EXPECT_EQ(good(parse_command_line_size("64MiB")), 64 << 20);
  EXPECT_EQ(good(parse_command_line_size("64MB")), 64'000'000);
  expect_text(bad(parse_command_line_size("0.3")),
              "not-whole: \"0.3\" is not a whole number of bytes |  | ");
  EXPECT_EQ(bad(parse_command_line_size("8Q")),
            "bad-unit: \"8Q\" has the unknown unit \"Q\" |  | " + sizes);
  expect_text(bad(parse_command_line_size("-1")),
              "out-of-range: \"-1\" is negative; use a size of at least 0 |  | ");
}

TEST(Quantities, AreWrittenExactlyInTheShortestUnit) {
  EXPECT_EQ(exact_size(0), "0B");
  EXPECT_EQ(exact_size(1), "1B");
  EXPECT_EQ(exact_size(1'000), "1kB");
  EXPECT_EQ(exact_size(1'500), "1500B");
  EXPECT_EQ(exact_size(1'024), "1KiB");
  EXPECT_EQ(exact_size(1'536), "1536B");
  EXPECT_EQ(exact_size(64 << 20), "64MiB");
  EXPECT_EQ(exact_size(64'000'000), "64MB");
  EXPECT_EQ(exact_size(13'421'772'800), "12.5GiB");
  EXPECT_EQ(exact_size(67'108'865), "67108865B");
  EXPECT_EQ(exact_size(9'223'372'036'854'775'807), "9223372036854775807B");
  EXPECT_EQ(exact_time(Time{}), "0s");
  EXPECT_EQ(exact_time(Time(1)), "0.001ns");
  EXPECT_EQ(exact_time(Time(12'500'000)), "12.5us");
  EXPECT_EQ(exact_time(Time(100'000'000)), "100us");
  EXPECT_EQ(exact_time(Time(5'000'000'000)), "5ms");
  EXPECT_EQ(exact_time(Time(1'000'000'000'000)), "1s");
  EXPECT_EQ(exact_time(Time::never()), "9223372.036854775807s");
  EXPECT_EQ(exact_bandwidth(Bandwidth(1)), "1B/s");
  EXPECT_EQ(exact_bandwidth(Bandwidth(25'000'000'000)), "25GB/s");
  EXPECT_EQ(exact_bandwidth(Bandwidth(12'500'000'000)), "12.5GB/s");
  EXPECT_EQ(exact_bandwidth(Bandwidth(1 << 30)), "1GiB/s");
}

TEST(Quantities, WhatIsWrittenReadsBackAsTheSame) {
  std::mt19937_64 random(1);
  for (int i = 0; i < testing::random_cases(20'000); ++i) {
    auto value = static_cast<std::int64_t>(random() >> (1 + random() % 63));
    if (i % 3 == 0) value = value / 1'000'000 * 1'000'000;
    if (i % 3 == 1) value = value >> 20 << 20;
    if (value == 0) value = 1;
    EXPECT_EQ(good(parse_size(exact_size(value))), value);
    EXPECT_EQ(good(parse_time(exact_time(Time(value)))), value);
    EXPECT_EQ(good(parse_bandwidth(exact_bandwidth(Bandwidth(value)))), value);
  }
}

TEST(Quantities, NoTextCrashesThem) {
  const std::string alphabet = "0123456789..  BbKkMmGgTtiIsSuUnpP/eE+-,\xC2\xB5\xCE\xBC";
  std::mt19937 random(2);
  for (int i = 0; i < testing::random_cases(200'000); ++i) {
    std::string text;
    for (std::size_t length = random() % 12; length > 0; --length)
      text += alphabet[random() % alphabet.size()];
    const auto check = [&](const auto& parsed) {
      EXPECT_NE(parsed.value.has_value(), !parsed.error.message.empty()) << text;
    };
    check(parse_size(text));
    check(parse_time(text));
    check(parse_bandwidth(text));
    check(parse_command_line_size(text));
  }
}

}  // namespace
}  // namespace collsim
